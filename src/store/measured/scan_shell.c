/*
 * scan_shell.c: assignments, defaults and options in a shell script, and the words of one command.
 *
 * A script is split into words and simple commands. Of a command, the assignments in front, the options (--lr 3e-4,
 * --lr=3e-4) and the overrides (optimizer.lr=3e-4) are settings. Anything with an expansion in it is not a literal,
 * except ${LR:-3e-4}, which is a default.
 */
#include <stdlib.h>
#include <string.h>

#include "expressions.h"

enum { DELIMITER_MAX = 64, NESTED_MAX = 2, CONTEXT_VARIABLE = 17, CONTEXT_OPTION = 19 };

/* A word without its quotes. */
struct word {
    const char *text;
    size_t length, offset; /* offset: in the unquoted text, of which the address changes until the command ends */
    uint32_t line;
    bool literal; /* nothing in it is expanded */
};

static bool is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static size_t name_length(const char *text, size_t length)
{
    size_t n = 0;
    while (n < length && is_name_byte(text[n]) && (n || !(text[0] >= '0' && text[0] <= '9')))
        n++;
    return n;
}

static void add(struct literal_set *set, uint64_t context, const char *name, size_t name_length, const char *value,
                size_t value_length, uint32_t line)
{
    struct constant constant;
    struct literal_place place = {
        .context = context, .scope = "", .name = name, .name_length = name_length, .line = line, .setting = true};
    if (!memchr(value, LITERALS_FILLED_IN, value_length) && constant_of_word(&constant, value, value_length))
        literals_add(set, &place, &constant);
}

/* Whether a word is an option's value rather than the next option: -0.5 is a number. */
static bool is_value(const struct word *word)
{
    struct constant value;
    if (!word->length || word->text[0] != '-')
        return word->length > 0;
    return word->length > 1 && constant_of_word(&value, word->text, word->length) && value.number.present;
}

static bool is_script(const struct word *word)
{
    static const char *const ends[] = {".py", ".sh", ".pl", ".jl", ".lua"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (word->length > strlen(ends[i]) && memcmp(word->text + word->length - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
            return true;
    return false;
}

/* optimizer.lr=0.1: another setting, not the value of the option in front of it. */
static bool is_override(const struct word *word)
{
    const char *equals = memchr(word->text, '=', word->length);
    size_t n = 0, length = equals ? (size_t)(equals - word->text) : 0;
    while (n < length && (is_name_byte(word->text[n]) || strchr("+.-/@:", word->text[n])))
        n++;
    return length > 0 && n == length;
}

static bool is_option(const struct word *word)
{
    return word->length > 2 && word->text[0] == '-' && word->text[1] == '-' && is_name_byte(word->text[2]);
}

/* --lr=VALUE, --lr VALUE, --fast. Returns the number of words. */
static size_t read_option(struct literal_set *set, const struct word *words, size_t n)
{
    const char *name = words[0].text + 2, *equals = memchr(name, '=', words[0].length - 2);
    size_t length = equals ? (size_t)(equals - name) : words[0].length - 2;
    if (equals) {
        if (words[0].literal)
            add(set, CONTEXT_OPTION, name, length, equals + 1, words[0].length - 2 - length - 1, words[0].line);
        return 1;
    }
    if (n > 1 && is_value(&words[1]) && !is_script(&words[1]) && !is_override(&words[1])) {
        if (words[1].literal)
            add(set, CONTEXT_OPTION, name, length, words[1].text, words[1].length, words[1].line);
        return 2;
    }
    add(set, CONTEXT_OPTION, name, length, "true", 4, words[0].line);
    return 1;
}

/* LR=3e-4 and, behind the command, optimizer.lr=3e-4 or +optimizer.lr=3e-4. */
static bool read_assignment(struct literal_set *set, const struct word *word, bool variable)
{
    const char *text = word->text, *equals = memchr(text, '=', word->length);
    size_t length = equals ? (size_t)(equals - text) : 0;
    while (!variable && length && *text == '+')
        text++, length--;
    size_t good = 0;
    while (good < length && (is_name_byte(text[good]) || (!variable && strchr(".-/@:", text[good]))))
        good++;
    if (!length || good != length || (text[0] >= '0' && text[0] <= '9'))
        return false;
    if (word->literal)
        add(set, variable ? CONTEXT_VARIABLE : CONTEXT_OPTION, text, length, equals + 1,
            word->length - (size_t)(equals + 1 - word->text), word->line);
    return true;
}

static bool word_is(const struct word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

static void read_script(struct literal_set *set, const char *text, size_t length, uint32_t line, unsigned nested);

static void read_simple_command(struct literal_set *set, const struct word *words, size_t n, unsigned nested)
{
    static const char *const before[] = {"export",  "local", "readonly", "declare", "typeset", "env",   "exec", "time", "nohup",
                                         "command", "then",  "do",       "else",    "if",      "while", "!",    "{"};
    size_t at = 0;
    for (bool more = true; more && at < n;) {
        more = read_assignment(set, &words[at], true);
        for (size_t i = 0; !more && i < sizeof before / sizeof *before; i++)
            more = word_is(&words[at], before[i]);
        at += more;
    }
    for (at++; at < n;) {
        if (is_option(&words[at]))
            at += read_option(set, &words[at], n - at);
        else if (word_is(&words[at], "-c") && at + 1 < n && nested < NESTED_MAX) {
            read_script(set, words[at + 1].text, words[at + 1].length, words[at + 1].line, nested + 1);
            at += 2;
        } else if (words[at].length == 2 && words[at].text[0] == '-' && at + 1 < n && is_name_byte(words[at].text[1]) &&
                   words[at + 1].literal) {
            struct constant value; /* -n 5: only a number is certain to belong to the option */
            bool number = constant_of_word(&value, words[at + 1].text, words[at + 1].length) && value.number.present;
            if (number)
                add(set, CONTEXT_OPTION, words[at].text, 2, words[at + 1].text, words[at + 1].length, words[at + 1].line);
            at += number ? 2 : 1;
        } else {
            read_assignment(set, &words[at], false);
            at++;
        }
    }
}

void literals_read_command(struct literal_set *set, const char *const *argv, size_t n)
{
    struct word *words = calloc(n + 1, sizeof *words);
    if (!words) {
        set->failed = true;
        return;
    }
    for (size_t i = 0; i < n; i++)
        words[i] = (struct word){.text = argv[i], .length = strlen(argv[i]), .line = 1, .literal = true};
    read_simple_command(set, words, n, 0);
    free(words);
}

struct script {
    struct literal_set *set;
    const char *text;
    size_t at, length;
    uint32_t line;
    unsigned nested;
    struct word *words;
    size_t n, capacity;
    struct buf unquoted; /* the text of the words of this command */
    char delimiter[DELIMITER_MAX]; /* of a here-document that begins after this line */
    bool has_delimiter;
};

/* ${LR:-3e-4} or ${LR:=3e-4} at text[at], where `$` is. Returns the position behind it, or at + 1. */
static size_t read_default(struct script *s, size_t at)
{
    const char *text = s->text;
    size_t from = at + 2, end;
    if (at + 3 >= s->length || text[at + 1] != '{')
        return at + 1;
    size_t name = name_length(text + from, s->length - from), value = from + name;
    if (!name)
        return at + 1;
    if (value < s->length && text[value] == ':')
        value++;
    if (value >= s->length || (text[value] != '-' && text[value] != '='))
        return at + 1;
    value++;
    for (end = value; end < s->length && text[end] != '}' && text[end] != '\n' && text[end] != '$' && end - value < 200; end++)
        ;
    if (end >= s->length || text[end] != '}')
        return at + 1;
    size_t length = end - value, first = value;
    if (length >= 2 && (text[first] == '"' || text[first] == '\'') && text[first + length - 1] == text[first])
        first++, length -= 2;
    add(s->set, CONTEXT_VARIABLE, text + from, name, text + first, length, s->line);
    return end + 1;
}

static void end_command(struct script *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->words[i].text = s->unquoted.data + s->words[i].offset;
    if (s->n && !s->unquoted.failed)
        read_simple_command(s->set, s->words, s->n, s->nested);
    s->set->failed = s->set->failed || s->unquoted.failed;
    s->n = 0;
    buf_reset(&s->unquoted);
}

/* Reads the text behind << as the delimiter, and skips the documents after the line. */
static void read_here(struct script *s)
{
    size_t n = 0;
    s->at += 2;
    s->at += s->at < s->length && s->text[s->at] == '-';
    while (s->at < s->length && s->text[s->at] == ' ')
        s->at++;
    for (char quote = '\0'; s->at < s->length && (quote ? s->text[s->at] != '\n' : !strchr(" \t\n;|&<>()", s->text[s->at]));
         s->at++) {
        const char c = s->text[s->at];
        if (quote ? c == quote : c == '"' || c == '\'')
            quote = quote ? '\0' : c;
        else if (n + 1 < sizeof s->delimiter && c != '\\')
            s->delimiter[n++] = c;
    }
    s->delimiter[n] = '\0';
    s->has_delimiter = n > 0;
}

static void skip_document(struct script *s)
{
    s->has_delimiter = false;
    while (s->at < s->length) {
        const char *line = s->text + s->at, *end = memchr(line, '\n', s->length - s->at);
        size_t length = end ? (size_t)(end - line) : s->length - s->at;
        s->at += length + (end != NULL);
        s->line++;
        while (length && *line == '\t')
            line++, length--;
        if (length == strlen(s->delimiter) && memcmp(line, s->delimiter, length) == 0)
            return;
    }
}

/* Reads one word into s->unquoted. */
static void read_word(struct script *s)
{
    if (!LIST_ROOM(s->words, s->n, s->capacity)) {
        s->set->failed = true;
        return;
    }
    struct word word = {.offset = s->unquoted.length, .line = s->line, .literal = true};
    char quote = '\0';
    for (; s->at < s->length; s->at++) {
        char c = s->text[s->at];
        if (!quote && strchr(" \t\r\n;|&()<>", c) && c)
            break;
        s->line += c == '\n';
        if (quote && c == quote)
            quote = '\0';
        else if (!quote && (c == '"' || c == '\''))
            quote = c;
        else if (c == '\\' && quote != '\'' && s->at + 1 < s->length) {
            s->at++;
            s->line += s->text[s->at] == '\n';
            if (s->text[s->at] != '\n')
                buf_put(&s->unquoted, s->text[s->at]);
        } else {
            if (quote != '\'' && (c == '$' || c == '`'))
                word.literal = false;
            if (quote != '\'' && c == '$')
                read_default(s, s->at);
            buf_put(&s->unquoted, c);
        }
    }
    word.length = s->unquoted.length - word.offset;
    buf_put(&s->unquoted, '\0');
    s->words[s->n++] = word;
}

/* Skips the arithmetic of ((1 << n)) on this line, which has no here-documents. */
static void skip_arithmetic(struct script *s)
{
    size_t depth = 0;
    do {
        const char c = s->text[s->at++];
        depth += c == '(';
        depth -= c == ')';
    } while (depth && s->at < s->length && s->text[s->at] != '\n');
}

static void read_script(struct literal_set *set, const char *text, size_t length, uint32_t line, unsigned nested)
{
    struct script s = {.set = set, .text = text, .length = length, .line = line, .nested = nested};
    while (s.at < length && !set->failed) {
        char c = text[s.at];
        if (c == '#') {
            while (s.at < length && text[s.at] != '\n')
                s.at++;
        } else if (c == '\\' && s.at + 1 < length && text[s.at + 1] == '\n') {
            s.at += 2;
            s.line++;
        } else if (c == '(' && s.at + 1 < length && text[s.at + 1] == '(') {
            end_command(&s);
            skip_arithmetic(&s);
        } else if (c == '\n' || strchr(";|&()", c)) {
            end_command(&s);
            s.at++;
            s.line += c == '\n';
            if (c == '\n' && s.has_delimiter)
                skip_document(&s);
        } else if (length - s.at > 2 && memcmp(text + s.at, "<<<", 3) == 0) {
            for (s.at += 3; s.at < length && (text[s.at] == ' ' || text[s.at] == '\t');)
                s.at++;
            read_word(&s); /* an input is not a word of the command */
            s.n -= s.n > 0;
        } else if (c == '<' && s.at + 1 < length && text[s.at + 1] == '<')
            read_here(&s);
        else if (c == ' ' || c == '\t' || c == '\r' || c == '<' || c == '>' || c == '\0')
            s.at++;
        else
            read_word(&s);
    }
    end_command(&s);
    free(s.words);
    buf_release(&s.unquoted);
}

void scan_shell(struct literal_set *set, const char *text, size_t length)
{
    read_script(set, text, length, 1, 0);
}
