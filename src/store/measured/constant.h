/* constant.h: expressions of Python and C whose value is written down: numbers, texts, truth values, short lists. */
#ifndef MEASURED_CONSTANT_H
#define MEASURED_CONSTANT_H

#include "literals.h"
#include "code_tokens.h"

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

#endif
