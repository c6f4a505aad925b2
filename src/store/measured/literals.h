/*
 * literals.h: the settings that the text of a program states as literals, and which of them differ between two texts.
 *
 * A literal is identified by its name and by where it is: the class or function around it, and the call or dictionary that
 * it belongs to. Lines have no part in that, so moving a line is not a change.
 *
 * A text becomes tokens (tokens.c). The readers of statements, entries and commands (scan_program.c, scan_config.c,
 * scan_shell.c) know where an expression is and what it is assigned to; items.c finds the literals in an expression,
 * constant.c their values, and literals.c compares two texts.
 */
#pragma once

#include <lineage/trial.h>

#include "../fail.h"
#include "../format/arena.h"

/* ---- the language of a text ---- */

enum language {
    LANGUAGE_NONE, /* text that is not searched for literals */
    LANGUAGE_PYTHON,
    LANGUAGE_C, /* and C++, CUDA */
    LANGUAGE_SHELL,
    LANGUAGE_YAML,
    LANGUAGE_TOML, /* and files of [section] and key = value */
    LANGUAGE_JSON
};

static inline bool is_configuration(enum language language)
{
    return language >= LANGUAGE_YAML;
}

/* The language of a file, by its name, or by its first line if the name has no ending. */
enum language language_of(const char *path, const char *text, size_t length);

/* ---- tokens ---- */

enum token_kind {
    CODE_NAME,
    CODE_NUMBER,
    CODE_STRING, /* of one line, without prefixes that change its meaning */
    CODE_TEXT,   /* any other string: of several lines, formatted, bytes */
    CODE_OP,
    CODE_NEWLINE /* the end of a logical line; in C only that of a line of the preprocessor */
};

struct code_token {
    uint32_t at, length, line;
    uint32_t indent; /* columns before the first token of a line; of other tokens unspecified */
    uint32_t close;  /* of an opening bracket: the token that closes it, or that ends the line or text in which it stays open */
    enum token_kind kind;
};

struct code_tokens {
    const char *text;
    struct code_token *items;
    size_t n, capacity;
    enum language language;
    bool failed;    /* out of memory */
};

/* Splits text[0..length), length < 4 GiB, whose first line is number 1. Takes any bytes. Release with free(tokens->items). */
void code_tokens_split(struct code_tokens *tokens, enum language language, const char *text, size_t length);

static inline const char *code_text(const struct code_tokens *tokens, size_t at)
{
    return tokens->text + tokens->items[at].at;
}

/* The end of the token's text. */
static inline size_t code_end(const struct code_tokens *tokens, size_t at)
{
    return (size_t)tokens->items[at].at + tokens->items[at].length;
}

/* Whether token `at` exists and is that text. */
bool code_is(const struct code_tokens *tokens, size_t at, const char *text);

/* Whether a name is one of the words in the list, each surrounded by blanks. */
bool code_among(const struct code_tokens *tokens, size_t at, const char *list);

/* The character of an operator of one character, else NUL. */
static inline char code_op(const struct code_tokens *tokens, size_t at)
{
    const struct code_token *t = &tokens->items[at];
    return t->kind == CODE_OP && t->length == 1 ? tokens->text[t->at] : '\0';
}

static inline bool is_opening(char c)
{
    return c == '(' || c == '[' || c == '{';
}

static inline bool is_closing(char c)
{
    return c == ')' || c == ']' || c == '}';
}

/* The token that closes the bracket at `open`; `to` if there is none before it. */
static inline size_t code_close(const struct code_tokens *tokens, size_t open, size_t to)
{
    return tokens->items[open].close < to ? tokens->items[open].close : to;
}

/* The first token in [from, to) that is the operator `op` outside of brackets, `to` if there is none. With `last`, the last
 * one. */
size_t code_find(const struct code_tokens *tokens, size_t from, size_t to, const char *op, bool last);

/* The contents of a CODE_STRING, without quotes. */
static inline const char *code_string(const struct code_tokens *tokens, size_t at, size_t *length)
{
    *length = tokens->items[at].length >= 2 ? tokens->items[at].length - 2 : 0;
    return code_text(tokens, at) + 1;
}

/* ---- values ---- */

/* Limits per file. A file with more literals is a table of data; what follows the limit is not compared. */
enum { LITERALS_MAX = 20000, LITERAL_VALUE_MAX = 96, LITERAL_NAME_MAX = 96 };

/* A value as text and, if it is one, as a number. */
struct constant {
    char text[LITERAL_VALUE_MAX];
    size_t length;
    struct lineage_number number;
};

/*
 * Reads tokens[from..to) as a constant. Besides literals it accepts arithmetic on numbers (2**20), conversions
 * (float("0.1")), and defaults: os.environ.get("LR", 0.02), field(default=0.1), value or 0.1. Returns false for
 * anything else and for expressions of more than CONSTANT_TOKENS tokens.
 */
enum { CONSTANT_TOKENS = 64 };
bool constant_read(struct constant *value, const struct code_tokens *tokens, size_t from, size_t to);

/* Reads one token, or the word of a configuration file or command line. A word is a number, a truth value or a text. */
bool constant_of_token(struct constant *value, const struct code_tokens *tokens, size_t at);
bool constant_of_word(struct constant *value, const char *word, size_t length);

/* ---- a set of literals ---- */

struct literal {
    uint64_t key;       /* hash of where it is and of its name */
    uint64_t within;    /* the call or dictionary that it belongs to, one of literal_set.calls; 0 for none */
    uint64_t name_hash; /* hash of the name alone */
    const char *scope;  /* enclosing classes and functions, "GPT.forward"; "" outside of them */
    const char *name; /* "" for a call or dictionary itself, which has no value */
    const char *value;
    struct lineage_number number;
    uint32_t line;      /* from 1 */
    uint32_t order;     /* the number of literals before it in the text */
    bool setting;       /* at a place where a new literal is a new setting: a default, a constant, an entry of a file */
};

/* From which line on which class or function encloses the lines. */
struct scope_line {
    uint32_t line;
    const char *scope;
};

/* Everything that was found in one text. A zeroed set is empty and ready. All texts belong to the set. */
struct literal_set {
    struct arena arena;
    struct literal *items;
    size_t n, capacity;
    struct scope_line *scopes; /* [n_scopes] by line */
    size_t n_scopes, scopes_capacity;
    bool truncated; /* LITERALS_MAX was reached */
    bool failed;    /* out of memory */
};

/* Hashes a text, or a number, into a hash that was made before. */
uint64_t literal_hash(uint64_t hash, const char *text, size_t length);
static inline uint64_t literal_mix(uint64_t hash, uint64_t value)
{
    return literal_hash(hash, (const char *)&value, sizeof value);
}

/* Whether a text can be shown as a name: UTF-8 without control characters, and not empty. */
bool literal_name_ok(const char *text, size_t length);

/* What a caller knows about a literal before it is added. Texts are copied, except the scope. A name that cannot be shown is
 * left out. */
struct literal_place {
    uint64_t context; /* hash of where it is */
    uint64_t within;
    const char *scope; /* kept as a pointer: it must live as long as the set */
    const char *name;
    size_t name_length;
    uint32_t line;
    bool setting;
};
void literals_add(struct literal_set *set, const struct literal_place *place, const struct constant *value);
void literals_add_call(struct literal_set *set, uint64_t key);
void literals_add_scope(struct literal_set *set, uint32_t line, const char *scope);
void literals_release(struct literal_set *set);

/* The scope of a line; "" before the first. */
const char *literals_scope_of(const struct literal_set *set, uint32_t line);

/*
 * Compares two sets. Calls `found` for each literal of `to` whose value differs from that of the same literal in `from`,
 * and, with before NULL, for each setting that is new; in the order of the lines of `to`. Sorts both sets. Returns false
 * if memory is exhausted.
 *
 * If a key occurs several times, the equal values at the beginning and at the end are matched; the others are compared
 * in order if both sides have equally many, else left out.
 */
bool literals_compare(struct literal_set *from, struct literal_set *to,
                      void (*found)(void *context, const struct literal *before, const struct literal *after), void *context);

/* ---- the literals of one expression ---- */

struct reading {
    struct literal_set *set;
    struct code_tokens tokens;
    const char *scope; /* enclosing classes and functions; lives as long as the set */
    bool in_function; /* a new literal in a function is a variable, not a setting */
    size_t defaults; /* how many defaults of environment variables and options were added */
};

/* What an expression is assigned to. */
struct target {
    const char *name; /* NULL if the expression is not assigned */
    size_t length;
    bool setting; /* a new value is a new setting */
};

/* Reads tokens[from..to) as one expression. If the whole expression is a constant, it is one literal with the name of
 * the target. Otherwise each literal in it is identified by the call, argument or tokens around it. */
void expression_read(struct reading *r, size_t from, size_t to, struct target target);

/* Reads the parameters of a function between tokens[from..to): each default is a setting with the parameter's name. */
void parameters_read(struct reading *r, size_t from, size_t to);

/* Reads the value of an entry of a configuration with that dotted name; with the name "", entries "key": value. */
void entries_read(struct reading *r, size_t from, size_t to, const char *name);

/* ---- the literals of one text ---- */

/*
 * Reads the literals of a text. `scope` is the class or function that encloses the first line: "" for a whole file, the
 * heading of a hunk for a part of a diff; it must live as long as the set. Takes time in proportion to the length; any
 * bytes are accepted.
 */
void literals_read(struct literal_set *set, enum language language, const char *scope, bool in_function, const char *text,
                   size_t length);

/* The readers of scan_config.c and scan_shell.c, for literals_read. */
void scan_configuration(struct literal_set *set, enum language language, const char *text, size_t length);
void scan_shell(struct literal_set *set, const char *text, size_t length);

/* In the words of a command, in place of a {name} that lineage fills in: the value is that of a parameter, which states it itself. */
#define LITERALS_FILLED_IN '\x01'

/* Reads the options, overrides and environment of a command: --lr 3e-4, --lr=3e-4, lr=3e-4, LR=3e-4 before the
 * command. A word that is followed by -c is a shell, whose script is read. A value with LITERALS_FILLED_IN is left out. */
void literals_read_command(struct literal_set *set, const char *const *words, size_t n);
