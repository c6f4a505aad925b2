/*
 * code_tokens.c: splits programs and configuration files into tokens.
 *
 * The splitter accepts any bytes. Text that is not a valid program, such as a part of a diff, gives tokens too; it is
 * only less certain where a statement ends.
 */
#include "code_tokens.h"

#include <stdlib.h>
#include <string.h>

struct splitter {
    struct code_tokens *tokens;
    const char *text;
    size_t at, length;
    uint32_t line, line_start;
    uint32_t indent;
    size_t depth; /* open brackets */
    size_t unclosed[2]; /* of ' and ": up to here none is closed, so that a line of such quotes is not read again from each */
    bool at_start;      /* no token on this line yet */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

static bool is_name(char c)
{
    return is_name_start(c) || is_digit(c);
}

static char peek(const struct splitter *s, size_t ahead)
{
    return s->at + ahead < s->length ? s->text[s->at + ahead] : '\0';
}

static void put(struct splitter *s, enum token_kind kind, size_t from, uint32_t line)
{
    struct code_tokens *t = s->tokens;
    if (!LIST_ROOM(t->items, t->n, t->capacity)) {
        t->failed = true;
        return;
    }
    t->items[t->n++] = (struct code_token){(uint32_t)from, (uint32_t)(s->at - from), line, s->indent, kind};
}

static void end_line(struct splitter *s)
{
    s->line++;
    s->at_start = true;
    s->indent = 0;
}

/* Reads a string from its opening quote. The token begins at `from`, where a prefix may be. */
static void read_string(struct splitter *s, size_t from, bool plain)
{
    char quote = s->text[s->at];
    enum language language = s->tokens->language;
    bool triple = (language == LANGUAGE_PYTHON || language == LANGUAGE_TOML) && peek(s, 1) == quote && peek(s, 2) == quote;
    uint32_t line = s->line;
    size_t *unclosed = &s->unclosed[quote == '"'];
    bool escapes = false, closed = false;
    if (!triple && s->at < *unclosed) {
        s->at = from + 1;
        put(s, CODE_OP, from, line);
        return;
    }
    s->at += triple ? 3 : 1;
    while (s->at < s->length && !closed) {
        char c = s->text[s->at];
        if (c == '\\' && s->at + 1 < s->length) {
            escapes = true;
            s->line += s->text[s->at + 1] == '\n';
            s->at += 2;
        } else if (c == '\n' && !triple) {
            break; /* the string is not closed, and the rest of the file must not become part of it */
        } else if (c == quote && (!triple || (peek(s, 1) == quote && peek(s, 2) == quote))) {
            s->at += triple ? 3 : 1;
            closed = true;
        } else {
            s->line += c == '\n';
            s->at++;
        }
    }
    if (!closed && !triple && is_configuration(s->tokens->language)) {
        *unclosed = s->at;
        s->at = from + 1;
        put(s, CODE_OP, from, line);
        return;
    }
    put(s, plain && !triple && (!escapes || is_configuration(language)) && closed ? CODE_STRING : CODE_TEXT, from, line);
}

static void read_number(struct splitter *s)
{
    size_t from = s->at;
    bool hex = s->text[from] == '0' && (peek(s, 1) | 0x20) == 'x';
    while (s->at < s->length) {
        char c = s->text[s->at], last = s->at > from ? (char)(s->text[s->at - 1] | 0x20) : '\0';
        bool exponent_sign = (c == '+' || c == '-') && last == (hex ? 'p' : 'e');
        bool separator = c == '\'' && s->tokens->language == LANGUAGE_C && is_digit(peek(s, 1));
        if (!is_name(c) && c != '.' && !exponent_sign && !separator)
            break;
        s->at++;
    }
    put(s, CODE_NUMBER, from, s->line);
}

/* A line of the preprocessor, with the lines that backslashes join to it. */
static void read_directive(struct splitter *s)
{
    size_t from = s->at;
    uint32_t line = s->line;
    while (s->at < s->length && s->text[s->at] != '\n') {
        if (s->text[s->at] == '\\' && peek(s, 1) == '\n') {
            s->line++;
            s->at++;
        }
        s->at++;
    }
    put(s, CODE_DIRECTIVE, from, line);
}

/* Whether a comment begins here. In a configuration, # in a word does not begin one, and JSON with comments has those of C. */
static bool begins_comment(const struct splitter *s)
{
    enum language language = s->tokens->language;
    char c = s->text[s->at], before = s->at ? s->text[s->at - 1] : '\n';
    bool slashes = c == '/' && (peek(s, 1) == '/' || peek(s, 1) == '*');
    if (language == LANGUAGE_C || (slashes && language == LANGUAGE_JSON))
        return slashes;
    if (c == ';' && s->at_start && language == LANGUAGE_TOML)
        return true;
    return c == '#' && (language == LANGUAGE_PYTHON || before == ' ' || before == '\t' || before == '\n');
}

static void skip_comment(struct splitter *s)
{
    bool block = s->text[s->at] == '/' && peek(s, 1) == '*';
    if (block)
        s->at += 2;
    while (s->at < s->length && (block ? !(s->text[s->at] == '*' && peek(s, 1) == '/') : s->text[s->at] != '\n')) {
        if (block && s->text[s->at] == '\n')
            end_line(s);
        s->at++;
    }
    if (block)
        s->at = s->at + 2 < s->length ? s->at + 2 : s->length;
}

static void read_operator(struct splitter *s)
{
    size_t from = s->at;
    char c = s->text[s->at], next = peek(s, 1);
    s->at++;
    if (c && next == c && strchr("*/<>&|:+-", c)) {
        s->at++;
        next = peek(s, 0);
        if (next == '=' && strchr("*/<>", c))
            s->at++;
    } else if ((c == '-' && next == '>') || (next == '=' && c && strchr("=<>!:+-*/%@&|^", c)))
        s->at++;
    /* In the text of an entry of YAML a bracket is only a character. */
    const struct code_token *last = s->tokens->n ? &s->tokens->items[s->tokens->n - 1] : NULL;
    bool plain = s->tokens->language == LANGUAGE_YAML && !s->depth && last && last->kind != CODE_NEWLINE &&
                 !(last->kind == CODE_OP && strchr(":-!&", s->text[last->at]));
    if (s->at - from == 1 && is_opening(c) && !plain)
        s->depth++;
    else if (s->at - from == 1 && is_closing(c) && s->depth)
        s->depth--;
    put(s, CODE_OP, from, s->line);
}

/* Words that cannot begin a line inside of brackets. A bracket that is still open there was left open by mistake, or
 * the text is a part of a file, so it counts as closed. */
static bool begins_statement(const char *word, size_t length)
{
    static const char *const words[] = {"def",   "class",  "import", "return", "while", "with",  "try",      "except", "finally",
                                        "raise", "assert", "del",    "global", "pass",  "break", "continue", "elif"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0)
            return true;
    return false;
}

static void read_name(struct splitter *s)
{
    size_t from = s->at;
    bool first = s->at_start;
    while (s->at < s->length && is_name(s->text[s->at]))
        s->at++;
    size_t length = s->at - from;
    /* A prefix makes a string a pattern, bytes, or a text with expressions in it, which are not settings. */
    if ((peek(s, 0) == '"' || peek(s, 0) == '\'') && length <= 3) {
        bool prefix = true;
        for (size_t i = 0; i < length; i++)
            prefix = prefix && strchr("rRbBuUfFL8", s->text[from + i]);
        if (prefix) {
            read_string(s, from, false);
            return;
        }
    }
    if (first && s->depth && s->tokens->language == LANGUAGE_PYTHON && begins_statement(s->text + from, length)) {
        size_t end = s->at;
        s->depth = 0;
        s->at = from;
        put(s, CODE_NEWLINE, from, s->line);
        s->at = end;
    }
    put(s, CODE_NAME, from, s->line);
}

/* Whether a quote of a configuration is only a character, because it follows a letter: don't. */
static bool is_apostrophe(const struct splitter *s)
{
    return is_configuration(s->tokens->language) && s->at && is_name(s->text[s->at - 1]);
}

/* Reads one token, or skips blanks or a comment. */
static void step(struct splitter *s)
{
    bool c_like = s->tokens->language == LANGUAGE_C;
    char c = s->text[s->at];
    if (c == '\n') {
        if (!c_like && !s->depth && !s->at_start)
            put(s, CODE_NEWLINE, s->at, s->line);
        s->at++;
        end_line(s);
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == '\0') {
        if (s->at_start)
            s->indent += c == '\t' ? 8 - s->indent % 8 : 1;
        s->at++;
    } else if (c == '\\' && (peek(s, 1) == '\n' || (peek(s, 1) == '\r' && peek(s, 2) == '\n'))) {
        s->at += peek(s, 1) == '\n' ? 2 : 3;
        s->line++;
    } else if (begins_comment(s)) {
        skip_comment(s);
    } else {
        if (c_like && c == '#' && s->at_start)
            read_directive(s);
        else if ((c == '"' || c == '\'') && !is_apostrophe(s))
            read_string(s, s->at, true);
        else if (is_digit(c) || (c == '.' && is_digit(peek(s, 1))))
            read_number(s);
        else if (is_name_start(c))
            read_name(s);
        else
            read_operator(s);
        s->at_start = false;
    }
}

void code_tokens_split(struct code_tokens *tokens, enum language language, const char *text, size_t length, uint32_t line)
{
    struct splitter s = {.tokens = tokens, .text = text, .length = length, .line = line, .at_start = true};
    *tokens = (struct code_tokens){.text = text, .language = language};
    while (s.at < length && !tokens->failed)
        step(&s);
    s.at = length;
    if (language != LANGUAGE_C)
        put(&s, CODE_NEWLINE, length, s.line);
}

void code_tokens_release(struct code_tokens *tokens)
{
    free(tokens->items);
    *tokens = (struct code_tokens){0};
}

bool code_is(const struct code_tokens *tokens, size_t at, const char *text)
{
    const struct code_token *t = &tokens->items[at];
    return at < tokens->n && t->length == strlen(text) && memcmp(tokens->text + t->at, text, t->length) == 0;
}

bool code_among(const struct code_tokens *tokens, size_t at, const char *list)
{
    char word[40];
    const struct code_token *t = &tokens->items[at];
    if (at >= tokens->n || t->kind != CODE_NAME || t->length + 3 > sizeof word)
        return false; /* longer than any word of a list */
    word[0] = ' ';
    memcpy(word + 1, tokens->text + t->at, t->length);
    memcpy(word + 1 + t->length, " ", 2);
    return strstr(list, word);
}

size_t code_close(const struct code_tokens *tokens, size_t open, size_t to)
{
    size_t depth = 0;
    for (size_t i = open; i < to; i++) {
        const int bracket = code_bracket(tokens, i);
        if (bracket > 0)
            depth++;
        else if (bracket < 0 && --depth == 0)
            return i;
    }
    return to;
}

size_t code_find(const struct code_tokens *tokens, size_t from, size_t to, const char *op, bool last)
{
    size_t depth = 0, found = to;
    for (size_t i = from; i < to && (last || found == to); i++) {
        const int bracket = code_bracket(tokens, i);
        if (depth == 0 && !bracket && tokens->items[i].kind == CODE_OP && code_is(tokens, i, op))
            found = i;
        depth += bracket > 0;
        depth -= bracket < 0 && depth > 0;
    }
    return found;
}
