/*
 * idea_tokens.h: splits prose about trials into words, numbers, arrows and marks.
 *
 * One pass over the text, linear in its length. Words keep their underscores, dots and hyphens ("muon_wd_mlp",
 * "attn.proj", "warmup-frac"); numbers are read with their units and exponents (32K, 28%, 2^15, 1/3, 0.25×, 10⁻⁴).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../format/ascii.h"

static inline bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}
static inline bool is_lower(uint32_t c)
{
    return c >= 'a' && c <= 'z';
}
static inline bool is_upper(uint32_t c)
{
    return c >= 'A' && c <= 'Z';
}

enum token_kind { TOKEN_WORD, TOKEN_NUMBER, TOKEN_ARROW, TOKEN_MARK };

/* Marks are one ASCII character: the character itself, '|' for a dash between clauses, 'x' for a multiplication sign,
 * '~' for "about", and ' ' for everything else that separates words. */
struct token {
    uint32_t at, length; /* bytes of the text */
    uint32_t clause;     /* clauses end at . ; : and dashes, counted from 0 */
    uint32_t sentence;   /* sentences end at . and line ends, counted from 0 */
    uint16_t depth;      /* number of open brackets around the token */
    uint8_t kind;
    char mark;
    bool glued;     /* no white space before it */
    bool has_value; /* the token is one number; false for lists and ranges such as 32/64/64 and 3-5 */
    bool percent, times;
    double value;
    double slack; /* largest rounding error of the value, as in 786k */
    double other; /* the other value that may be meant: 32000 for 32K; 0 if there is none */
};

struct tokens {
    const char *text;
    size_t length;
    struct token *items;
    size_t n;
};

enum { TOKENS_MAX = 16384 }; /* most tokens of one text; the rest of the text is ignored */

/* Splits text[0..length) into tokens. Returns false when out of memory. Release with free(tokens->items). */
bool tokens_read(struct tokens *tokens, const char *text, size_t length);

/* Likewise, for the part of a trial's text that is read. */
bool tokens_of_text(struct tokens *tokens, const char *text);

/* Decodes one code point at text[at..length) and sets *size to its byte length. An invalid byte gives 0xFFFD and size
 * 1. */
uint32_t code_point(const char *text, size_t at, size_t length, size_t *size);

/* Whether the token is exactly this word, letters compared without case. */
bool token_is(const struct tokens *tokens, size_t i, const char *word);

/* Whether a word, or a token, is in `list`, lower-case words separated and surrounded by blanks: " raise lower ". */
bool text_in(const char *word, size_t length, const char *list);
bool token_in(const struct tokens *tokens, size_t i, const char *list);

bool token_has_digit(const struct tokens *tokens, size_t i);

static inline bool token_is_mark(const struct tokens *tokens, size_t i, char mark)
{
    return i < tokens->n && tokens->items[i].kind == TOKEN_MARK && tokens->items[i].mark == mark;
}
/* Whether the token is one of these marks. */
static inline bool token_is_of(const struct tokens *tokens, size_t i, const char *marks)
{
    return i < tokens->n && tokens->items[i].kind == TOKEN_MARK && strchr(marks, tokens->items[i].mark);
}
static inline bool same_clause(const struct tokens *tokens, size_t a, size_t b)
{
    return tokens->items[a].clause == tokens->items[b].clause;
}
static inline bool token_is_kind(const struct tokens *tokens, size_t i, enum token_kind kind)
{
    return i < tokens->n && tokens->items[i].kind == kind;
}

/* ---- quantity.c ---- */

/* Whether token i may be the unit of the number before it: letters directly behind the number, or a unit of time or of
 * storage behind a blank. */
bool unit_at(const struct tokens *tokens, size_t i);

/* Whether two units mean the same, and *ratio, how many b are in one a: 1024 for GB and MB. Units are texts of letters; an
 * empty one, which is of length 0, agrees with every unit. Storage counts in steps of 1024. */
bool units_agree(double *ratio, const char *a, size_t a_length, const char *b, size_t b_length);

/* ---- citations.c ---- */

/* Calls visit for the ids of other trials that a text mentions, in the order of the text. */
void citations_each(const struct tokens *tokens, void (*visit)(void *context, const char *id, size_t length), void *context);
