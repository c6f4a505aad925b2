/* tokens.c: splits programs and configuration files into tokens. Text that is not a valid program, such as a part of a diff, gives
 * tokens too; it is only less certain where a statement ends. */
#include "literals.h"

struct splitter {
    struct code_tokens *tokens;
    const char *text;
    size_t at, length;
    uint32_t line, indent;
    uint32_t open; /* the innermost bracket that is open, as its token + 1; its `close` has the one around it */
    uint32_t around; /* the bracket that is open around a line of the preprocessor */
    bool at_start; /* no token on this line yet */
    bool directive; /* C: on a line that begins with # */
    size_t unclosed[2]; /* of ' and ": up to here none is closed, so that a line of such quotes is not read again from each */
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

/* Ends the innermost open bracket at the next token. */
static void close_bracket(struct splitter *s)
{
    struct code_token *bracket = &s->tokens->items[s->open - 1];
    s->open = bracket->close;
    bracket->close = (uint32_t)s->tokens->n;
}

/* Adds the token text[from..at). */
static void put(struct splitter *s, enum token_kind kind, size_t from, uint32_t line)
{
    struct code_tokens *t = s->tokens;
    if (!LIST_ROOM(t->items, t->n, t->capacity)) {
        t->failed = true;
        return;
    }
    t->items[t->n++] = (struct code_token){
        .at = (uint32_t)from, .length = (uint32_t)(s->at - from), .line = line, .indent = s->indent, .kind = kind};
    s->at_start = false;
}

/* Ends a logical line, and with it the brackets that are still open. */
static void put_newline(struct splitter *s)
{
    while (s->open)
        close_bracket(s);
    put(s, CODE_NEWLINE, s->at, s->line);
}

/* Whether a statement or entry ends with its line. */
static bool has_lines(enum language language)
{
    return language != LANGUAGE_C && language != LANGUAGE_JSON;
}

static void end_line(struct splitter *s)
{
    if (s->directive) {
        put_newline(s);
        s->open = s->around;
        s->directive = false;
    } else if (has_lines(s->tokens->language) && !s->open && !s->at_start)
        put_newline(s);
    s->at++;
    s->line++;
    s->at_start = true;
    s->indent = 0;
}

/* Reads a string from its opening quote. The token begins at `from`, where a prefix may be. */
static void read_string(struct splitter *s, size_t from, bool plain)
{
    const char quote = s->text[s->at];
    const enum language language = s->tokens->language;
    const bool triple = (language == LANGUAGE_PYTHON || language == LANGUAGE_TOML) && peek(s, 1) == quote && peek(s, 2) == quote;
    const uint32_t line = s->line;
    size_t *unclosed = &s->unclosed[quote == '"'];
    bool escapes = false, closed = false;
    for (s->at += triple ? 3 : 1; s->at < s->length && !closed && (triple || s->at > *unclosed); s->at++) {
        const char c = s->text[s->at];
        if (c == '\n' && !triple)
            break; /* the string is not closed, and the rest of the file must not become part of it */
        if (c == '\\' && s->at + 1 < s->length) {
            escapes = true;
            s->at++;
        }
        s->line += s->text[s->at] == '\n';
        closed = c == quote && (!triple || (peek(s, 1) == quote && peek(s, 2) == quote));
        s->at += closed && triple ? 2 : 0;
    }
    if (!closed && !triple && is_configuration(language)) {
        *unclosed = s->at > *unclosed ? s->at : *unclosed;
        s->at = from + 1;
        put(s, CODE_OP, from, line);
        return;
    }
    put(s, plain && !triple && (!escapes || is_configuration(language)) && closed ? CODE_STRING : CODE_TEXT, from, line);
}

static void read_number(struct splitter *s)
{
    const size_t from = s->at;
    const char exponent = s->text[from] == '0' && (peek(s, 1) | 0x20) == 'x' ? 'p' : 'e';
    for (char c, last = '\0'; (c = peek(s, 0)); last = (char)(c | 0x20), s->at++)
        if (!is_name(c) && c != '.' && !((c == '+' || c == '-') && last == exponent) &&
            !(c == '\'' && s->tokens->language == LANGUAGE_C && is_digit(peek(s, 1))))
            break;
    put(s, CODE_NUMBER, from, s->line);
}

/* Whether a comment begins here. In a configuration, # in a word does not begin one, and JSON with comments has those of C. */
static bool begins_comment(const struct splitter *s)
{
    const enum language language = s->tokens->language;
    const char c = s->text[s->at], before = s->at ? s->text[s->at - 1] : '\n';
    const bool slashes = c == '/' && (peek(s, 1) == '/' || peek(s, 1) == '*');
    if (language == LANGUAGE_C || (slashes && language == LANGUAGE_JSON))
        return slashes;
    if (c == ';' && s->at_start && language == LANGUAGE_TOML)
        return true;
    return c == '#' && (language == LANGUAGE_PYTHON || before == ' ' || before == '\t' || before == '\n');
}

static void skip_comment(struct splitter *s)
{
    const bool block = s->text[s->at] == '/' && peek(s, 1) == '*';
    for (s->at += block ? 2 : 0; s->at < s->length; s->at++) {
        if (block ? s->text[s->at] == '*' && peek(s, 1) == '/' : s->text[s->at] == '\n')
            break;
        s->line += s->text[s->at] == '\n';
    }
    s->at += !block ? 0 : s->at + 2 < s->length ? 2 : s->length - s->at;
}

static void read_operator(struct splitter *s)
{
    const size_t from = s->at;
    const char c = s->text[s->at++], next = peek(s, 0);
    if (next && next == c && strchr("*/<>&|:+-", c)) {
        s->at++;
        s->at += peek(s, 0) == '=' && strchr("*/<>", c);
    } else if ((c == '-' && next == '>') || (next == '=' && strchr("=<>!:+-*/%@&|^", c)))
        s->at++;
    /* In the text of an entry of YAML a bracket is only a character. */
    const struct code_token *last = s->tokens->n ? &s->tokens->items[s->tokens->n - 1] : NULL;
    const bool plain = s->tokens->language == LANGUAGE_YAML && !s->open && last && last->kind != CODE_NEWLINE &&
                       !(last->kind == CODE_OP && strchr(":-!&", s->text[last->at]));
    if (is_closing(c) && s->open)
        close_bracket(s);
    put(s, CODE_OP, from, s->line);
    if (is_opening(c) && !s->tokens->failed) {
        s->tokens->items[s->tokens->n - 1].close = plain ? (uint32_t)s->tokens->n : s->open;
        s->open = plain ? s->open : (uint32_t)s->tokens->n;
    }
}

static void read_name(struct splitter *s)
{
    const size_t from = s->at;
    const bool first = s->at_start;
    while (s->at < s->length && is_name(s->text[s->at]))
        s->at++;
    /* A prefix makes a string a pattern, bytes, or a text with expressions in it, which are not settings. */
    const size_t length = s->at - from;
    if ((peek(s, 0) == '"' || peek(s, 0) == '\'') && length <= 3 && strspn(s->text + from, "rRbBuUfFL8") >= length) {
        read_string(s, from, false);
        return;
    }
    put(s, CODE_NAME, from, s->line);
    /* Words that cannot begin a line inside of brackets. A bracket that is still open there was left open by mistake, or the text is
     * a part of a file, so it counts as closed. */
    if (first && s->open && s->tokens->language == LANGUAGE_PYTHON && !s->tokens->failed &&
        code_among(s->tokens, s->tokens->n - 1,
                   " def class import return while with try except finally raise assert del global pass break continue elif ")) {
        const size_t end = s->at;
        s->tokens->n--;
        s->at = from;
        put_newline(s);
        s->at = end;
        put(s, CODE_NAME, from, s->line);
    }
}

/* Reads one token, or skips blanks or a comment. */
static void step(struct splitter *s)
{
    const enum language language = s->tokens->language;
    const char c = s->text[s->at];
    /* A quote of a configuration that follows a letter is only a character: don't. */
    const bool apostrophe = is_configuration(language) && s->at && is_name(s->text[s->at - 1]);
    if (c == '\n') {
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
    } else if ((c == '"' || c == '\'') && !apostrophe) {
        read_string(s, s->at, true);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(s, 1)))) {
        read_number(s);
    } else if (is_name_start(c)) {
        read_name(s);
    } else {
        if (c == '#' && s->at_start && language == LANGUAGE_C && !s->directive) {
            s->directive = true;
            s->around = s->open;
            s->open = 0;
        }
        read_operator(s);
    }
}

void code_tokens_split(struct code_tokens *tokens, enum language language, const char *text, size_t length)
{
    struct splitter s = {.tokens = tokens, .text = text, .length = length, .line = 1, .at_start = true};
    *tokens = (struct code_tokens){.text = text, .language = language};
    while (s.at < length && !tokens->failed)
        step(&s);
    s.at = length;
    if (tokens->failed)
        return;
    if (s.directive) {
        put_newline(&s);
        s.open = s.around;
    }
    while (s.open && !tokens->failed)
        close_bracket(&s);
    if (has_lines(language))
        put_newline(&s);
}

bool code_is(const struct code_tokens *tokens, size_t at, const char *text)
{
    return at < tokens->n && tokens->items[at].length == strlen(text) &&
           memcmp(code_text(tokens, at), text, tokens->items[at].length) == 0;
}

bool code_among(const struct code_tokens *tokens, size_t at, const char *list)
{
    char word[40];
    if (at >= tokens->n || tokens->items[at].kind != CODE_NAME || tokens->items[at].length + 3 > sizeof word)
        return false; /* longer than any word of a list */
    const size_t length = tokens->items[at].length;
    word[0] = ' ';
    memcpy(word + 1, code_text(tokens, at), length);
    memcpy(word + 1 + length, " ", 2);
    return strstr(list, word);
}

size_t code_find(const struct code_tokens *tokens, size_t from, size_t to, const char *op, bool last)
{
    size_t found = to;
    for (size_t i = from; i < to && (last || found == to); i++) {
        if (is_opening(code_op(tokens, i)))
            i = code_close(tokens, i, to);
        else if (tokens->items[i].kind == CODE_OP && code_is(tokens, i, op))
            found = i;
    }
    return found;
}
