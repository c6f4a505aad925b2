/* code_tokens.h: the text of a program or of a configuration file as tokens. */
#pragma once

#include "literals.h"

enum token_kind {
    CODE_NAME,
    CODE_NUMBER,
    CODE_STRING,    /* of one line, without prefixes that change its meaning */
    CODE_TEXT,      /* any other string: of several lines, formatted, bytes */
    CODE_OP,
    CODE_NEWLINE,   /* the end of a logical line, except in C */
    CODE_DIRECTIVE  /* C: a line that begins with #, continued lines included */
};

struct code_token {
    uint32_t at, length, line;
    uint32_t indent; /* columns before the first token of a line; of other tokens unspecified */
    enum token_kind kind;
};

struct code_tokens {
    const char *text;
    struct code_token *items;
    size_t n, capacity;
    enum language language;
    bool failed; /* out of memory */
};

/* Splits text[0..length), length < 4 GiB. The first line has the number `line`. Release with code_tokens_release. */
void code_tokens_split(struct code_tokens *tokens, enum language language, const char *text, size_t length, uint32_t line);
void code_tokens_release(struct code_tokens *tokens);

/* Whether token `at` exists and is that text. */
bool code_is(const struct code_tokens *tokens, size_t at, const char *text);

/* Whether a name is one of the words in the list, each surrounded by blanks. */
bool code_among(const struct code_tokens *tokens, size_t at, const char *list);

/* Whether a character opens or closes a bracket. */
static inline bool is_opening(char c)
{
    return c == '(' || c == '[' || c == '{';
}

static inline bool is_closing(char c)
{
    return c == ')' || c == ']' || c == '}';
}

/* Whether the token is an operator of one character. */
static inline bool code_op(const struct code_tokens *tokens, size_t at, char op)
{
    const struct code_token *t = &tokens->items[at];
    return t->kind == CODE_OP && t->length == 1 && tokens->text[t->at] == op;
}

/* The token that closes the bracket at `open`; `to` if there is none before it. */
size_t code_close(const struct code_tokens *tokens, size_t open, size_t to);

/* The first token in [from, to) that is the operator `op` outside of brackets, `to` if there is none. With `last`, the last one. */
size_t code_find(const struct code_tokens *tokens, size_t from, size_t to, const char *op, bool last);

/* Whether the token opens or closes a bracket: 1 or -1, else 0. */
static inline int code_bracket(const struct code_tokens *tokens, size_t at)
{
    const struct code_token *t = &tokens->items[at];
    const char c = tokens->text[t->at];
    return t->kind != CODE_OP || t->length != 1 ? 0 : is_opening(c) ? 1 : is_closing(c) ? -1 : 0;
}

/* The contents of a CODE_STRING, without quotes. */
static inline const char *code_string(const struct code_tokens *tokens, size_t at, size_t *length)
{
    *length = tokens->items[at].length >= 2 ? tokens->items[at].length - 2 : 0;
    return tokens->text + tokens->items[at].at + 1;
}
