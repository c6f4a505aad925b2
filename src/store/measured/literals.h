/*
 * literals.h: the settings that the text of a program states as literals, and which of them differ between two texts.
 *
 * A literal is identified by its name and by where it is: the class or function around it, and the call, list or
 * dictionary that it belongs to. Lines have no part in that, so moving a line is not a change.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lineage/trial.h>

#include "../format/arena.h"

/* Limits per file. A file with more literals is a table of data; what follows the limit is not compared. */
enum { LITERALS_MAX = 20000, LITERAL_VALUE_MAX = 96, LITERAL_NAME_MAX = 96 };

/* A value as text and, if it is one, as a number. */
struct constant {
    char text[LITERAL_VALUE_MAX];
    size_t length;
    struct lineage_number number;
};

struct literal {
    uint64_t key;       /* hash of where it is and of its name */
    uint64_t within;    /* the call or dictionary that it belongs to, one of literal_set.calls; 0 for none */
    uint64_t name_hash; /* hash of the name alone */
    const char *scope;  /* enclosing classes and functions, "GPT.forward"; "" outside of them */
    const char *name;
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
    uint64_t *calls; /* [n_calls] keys of calls and dictionaries; sorted by literals_settle */
    size_t n_calls, calls_capacity;
    struct scope_line *scopes; /* [n_scopes] by line */
    size_t n_scopes, scopes_capacity;
    bool truncated; /* LITERALS_MAX was reached */
    bool failed;    /* out of memory */
};

/* Hashes a text into a hash that was made before. */
uint64_t literal_hash(uint64_t hash, const char *text, size_t length);

/* Whether a text can be shown as a name: UTF-8 without control characters, and not empty. */
bool literal_name_ok(const char *text, size_t length);

/* What a caller knows about a literal before it is added. Texts are copied. A name that cannot be shown is
 * left out. */
struct literal_place {
    uint64_t context; /* hash of where it is, without the scope's name if `global` is set */
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

/* ---- reading ---- */

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

/*
 * Reads the literals of a text. `scope` is the class or function that encloses the first line: "" for a whole file, the
 * heading of a hunk for a part of a diff; it must live as long as the set. Takes time in proportion to the length; any
 * bytes are accepted.
 */
void literals_read(struct literal_set *set, enum language language, const char *scope, bool in_function, const char *text,
                   size_t length);

/* In the words of a command, in place of a {name} that lineage fills in: the value is that of a parameter, which states it itself. */
#define LITERALS_FILLED_IN '\x01'

/* Reads the options, overrides and environment of a command: --lr 3e-4, --lr=3e-4, lr=3e-4, LR=3e-4 before the
 * command. A word that is followed by -c is a shell, whose script is read. A value with LITERALS_FILLED_IN is left out. */
void literals_read_command(struct literal_set *set, const char *const *words, size_t n);
