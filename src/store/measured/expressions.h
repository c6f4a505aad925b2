/* expressions.h: the literals of one expression or call, and where in it they are. */
#pragma once

#include "code_tokens.h"

/* ---- constant.c: expressions whose value is written down: numbers, texts, truth values, short lists ---- */

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

/* ---- expressions.c ---- */

struct reading {
    struct literal_set *set;
    struct code_tokens tokens;
    const char *scope;   /* enclosing classes and functions; lives as long as the set */
    bool in_function;    /* a new literal in a function is a variable, not a setting */
    uint32_t *pending;   /* [capacity of tokens] literals of the items that are being read; a stack */
    size_t n_pending;
};

/* What an expression is assigned to. */
struct target {
    const char *name; /* "" if the expression is not assigned */
    size_t length;
    bool setting;     /* a new value is a new setting */
};

/* Reads tokens[from..to) as one expression. If the whole expression is a constant, it is one literal with the name of
 * the target. Otherwise each literal in it is identified by the call, argument or operation that it belongs to. */
void expression_read(struct reading *r, size_t from, size_t to, const struct target *target);

/* Reads the parameters of a function between tokens[from..to): each default is a setting with the parameter's name. */
void parameters_read(struct reading *r, size_t from, size_t to);

/* Reads the value of an entry of a configuration with that dotted name; with the name "", entries "key": value. */
void entries_read(struct reading *r, size_t from, size_t to, const char *name);

/* The last part of tokens[from..to) that is a name with dots, without a leading self or this; false if it is none. */
bool target_of(struct target *target, const struct reading *r, size_t from, size_t to);

/* ---- the readers of other languages, see literals_read ---- */

void scan_shell(struct literal_set *set, const char *text, size_t length);
