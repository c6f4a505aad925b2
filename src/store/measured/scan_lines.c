/*
 * scan_lines.c: the literals of configuration files, shell scripts and commands, line by line; and which reader a file gets.
 *
 * The readers accept what a parser would refuse: templates, and the part of a file that a diff shows. A value that goes on on the
 * next line is left out.
 */
#include "literals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

/* ---- values ---- */

static bool set_text(struct constant *value, const char *text, size_t length)
{
    if (length && length < sizeof value->text && literal_name_ok(text, length)) {
        memcpy(value->text, text, length);
        value->length = length;
    }
    return value->length > 0;
}

/* A number of Python, C, TOML or YAML: 786_432, 1e-8, 0.1f, 10UL, 0x10, 1'000. */
static bool read_number(struct constant *value, const char *text, size_t length)
{
    char clean[LITERAL_VALUE_MAX], *end;
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        if (n + 1 >= sizeof clean)
            return false;
        if (text[i] != '_' && text[i] != '\'')
            clean[n++] = text[i];
    }
    clean[n] = '\0';
    if (n > 2 && clean[0] == '0' && (clean[1] | 0x20) == 'x') {
        value->number.value = (double)strtoull(clean + 2, &end, 16);
        value->number.present = !*end && clean[2] != '-' && clean[2] != '+' && n <= 18;
    } else {
        while (n > 1 && strchr("fFlLuU", clean[n - 1]))
            n--;
        value->number.present = lineage_number_parse(&value->number.value, clean, n) && isfinite(value->number.value);
    }
    return value->number.present && set_text(value, clean, n);
}

bool constant_of_word(struct constant *value, const char *word, size_t length)
{
    static const char *const words[][2] = {
        {"True", "true"}, {"False", "false"}, {"None", "none"}, {"NULL", "none"}, {"nullptr", "none"}};
    *value = (struct constant){0};
    if (length && strchr("-+.0123456789", word[0]) && word[0] && read_number(value, word, length))
        return true;
    *value = (struct constant){0};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i][0]) == length && memcmp(words[i][0], word, length) == 0)
            return set_text(value, words[i][1], strlen(words[i][1]));
    return length ? set_text(value, word, length) : set_text(value, "''", 2);
}

/* ---- entries of YAML, TOML and INI files by their dotted names ---- */

enum { LEVELS_MAX = 32, CONTEXT_ENTRY = 11, CONTEXT_VARIABLE = 17, CONTEXT_OPTION = 19 };

static void add(struct literal_set *set, uint64_t context, const char *name, size_t name_length, const char *value,
                size_t value_length, uint32_t line)
{
    struct constant constant;
    const struct literal_place place = {
        .context = context, .scope = "", .name = name, .name_length = name_length, .line = line, .setting = true};
    if (!memchr(value, LITERALS_FILLED_IN, value_length) && constant_of_word(&constant, value, value_length))
        literals_add(set, &place, &constant);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct entries {
    struct literal_set *set;
    bool toml;
    char path[LITERAL_NAME_MAX]; /* of TOML the section, of YAML the keys of the levels */
    size_t section;
    struct {
        size_t column, path; /* of YAML: columns before the key; length of the path with the key */
    } levels[LEVELS_MAX];
    size_t n;
    size_t skip; /* columns: deeper lines belong to a text block; SIZE_MAX for none */
    uint32_t line;
};

/* Adds a key, without quotes, to the path of that length. Returns the new length, 0 if it is too long. */
static size_t add_key(struct entries *e, size_t length, const char *key, size_t n)
{
    if (n >= 2 && (*key == '"' || *key == '\'') && key[n - 1] == *key)
        key++, n -= 2;
    if (!n || length + n + 2 >= sizeof e->path)
        return 0;
    if (length)
        e->path[length++] = '.';
    memcpy(e->path + length, key, n);
    return length + n;
}

/* The value without a comment, anchors, tags and quotes. Returns false for a text block, and for a value that goes on. */
static bool trim_value(const char **value, size_t *length)
{
    const char *text = *value, *end = text + *length, *at;
    int depth = 0;
    char quote = '\0';
    while (text < end && (is_blank(*text) || ((*text == '&' || *text == '!') && memchr(text, ' ', (size_t)(end - text)))))
        for (at = text++; !is_blank(*at) && text < end && !is_blank(*text);)
            text++;
    for (at = text; at < end; at++) {
        if ((*at == '#' || *at == ';') && !quote && (at == text || is_blank(at[-1])))
            break;
        if ((*at == '"' || *at == '\'') && (quote ? quote == *at : at == text || strchr(" [{,=:", at[-1])))
            quote = quote ? '\0' : *at;
        depth += quote || (*text != '[' && *text != '{') ? 0 : strchr("[{", *at) ? 1 : strchr("]}", *at) ? -1 : 0;
    }
    while (at > text && is_blank(at[-1]))
        at--;
    at -= at > text + 1 && at[-1] == ','; /* of a map in braces that goes on */
    if (depth || quote || at - text > LITERAL_VALUE_MAX)
        return false;
    if (at - text >= 2 && (*text == '"' || *text == '\'') && at[-1] == *text)
        text++, at--;
    *value = text;
    *length = (size_t)(at - text);
    return true;
}

static void read_entry_line(struct entries *e, const char *text, size_t length)
{
    size_t column = 0, from = 0, key = 0, path;
    bool item = false, quoted = false;
    while (from < length && is_blank(text[from]))
        from++;
    column = from;
    if (from == length || text[from] == '#' || (e->toml && text[from] == ';') || (e->skip != SIZE_MAX && column > e->skip))
        return;
    e->skip = SIZE_MAX;
    if (e->toml && text[from] == '[') {
        size_t end = from;
        while (from < length && text[from] == '[')
            from++;
        for (end = from; end < length && text[end] != ']'; end++)
            ;
        e->section = add_key(e, 0, text + from, end - from);
        return;
    }
    for (; !e->toml && from + 1 < length && text[from] == '-' && text[from + 1] == ' '; from += 2)
        item = true;
    for (key = from; key < length; key++) {
        quoted = quoted != ((text[key] == '"' || text[key] == '\'') && (quoted || key == from));
        if (!quoted && ((e->toml && text[key] == '=') || (text[key] == ':' && (key + 1 == length || is_blank(text[key + 1])))))
            break;
    }
    const char *value = key < length ? text + key + 1 : text + from;
    size_t value_length = (size_t)(text + length - value), key_end = key;
    while (key_end > from && is_blank(text[key_end - 1]))
        key_end--;
    if (e->toml) {
        path = key < length ? add_key(e, e->section, text + from, key_end - from) : 0;
    } else {
        /* "- a" belongs to the key above it even if it is not indented; "- lr: 1" opens entries at the column of lr. */
        while (e->n && (item ? e->levels[e->n - 1].column > column : e->levels[e->n - 1].column >= column))
            e->n--;
        path = e->n ? e->levels[e->n - 1].path : 0;
        if (key < length && e->n < LEVELS_MAX && (path = add_key(e, path, text + from, key_end - from))) {
            e->levels[e->n].column = from;
            e->levels[e->n++].path = path;
        } else if (key < length || !item)
            path = 0;
    }
    while (value_length && is_blank(*value))
        value++, value_length--;
    if (!e->toml && value_length && (*value == '|' || *value == '>'))
        e->skip = column;
    else if (path && value_length && trim_value(&value, &value_length) && value_length)
        add(e->set, CONTEXT_ENTRY, e->path, path, value, value_length, e->line);
}

static void scan_entries(struct literal_set *set, bool toml, const char *text, size_t length)
{
    struct entries e = {.set = set, .toml = toml, .skip = SIZE_MAX};
    bool block = false; /* in a string of several lines */
    for (const char *at = text, *end = text + length, *stop; at < end && !set->failed; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        e.line++;
        bool marks = false;
        for (const char *c = at; toml && c + 2 < stop; c++)
            if (memcmp(c, "\"\"\"", 3) == 0 || memcmp(c, "'''", 3) == 0)
                marks = !marks, c += 2;
        if (!block && !marks)
            read_entry_line(&e, at, (size_t)(stop - at));
        block = block != marks;
    }
}

/* ---- shell: the assignments in front of a command, its options (--lr 3e-4, --lr=3e-4) and overrides (optimizer.lr=3e-4).
 * Anything with an expansion in it is not a literal, except ${LR:-3e-4}, which is a default. ---- */

enum { WORDS_MAX = 4096 };

struct word {
    const char *text;
    size_t length;
    uint32_t line;
    bool literal; /* nothing in it is expanded */
};

/* How much of a text is a name, or with `more` a dotted name of an override. */
static size_t name_length(const char *text, size_t length, const char *more)
{
    size_t n = 0;
    while (n < length && text[n] &&
           ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z') || text[n] == '_' ||
            (n && text[n] >= '0' && text[n] <= '9') || strchr(more, text[n])))
        n++;
    return n;
}

/* The length of NAME in NAME=VALUE, 0 if the word is something else. */
static size_t assigned(const struct word *word, const char *more)
{
    const size_t n = name_length(word->text, word->length, more);
    return n && n < word->length && word->text[n] == '=' ? n : 0;
}

static bool is_number(const struct word *word)
{
    struct constant value;
    return word->length && constant_of_word(&value, word->text, word->length) && value.number.present;
}

/* Whether a word is the value of the option before it: not an option, an override or the script that is run. */
static bool is_value(const struct word *word)
{
    const char *end = word->text + word->length;
    return word->length && (*word->text != '-' || is_number(word)) && !assigned(word, "+.-/@:") &&
           !(word->length > 3 && (memcmp(end - 3, ".py", 3) == 0 || memcmp(end - 3, ".sh", 3) == 0));
}

/* Whether assignments may follow the word, which is not the name of a command. */
static bool stands_before(const struct word *word)
{
    char text[16];
    const int n = snprintf(text, sizeof text, " %.*s ", word->length < 12 ? (int)word->length : 0, word->text);
    return n > 2 && strstr(" export local readonly declare typeset env exec time nohup command then do else if while ! { ", text);
}

static void scan_shell(struct literal_set *set, const char *text, size_t length, uint32_t line, bool nested);

static void read_words(struct literal_set *set, const struct word *words, size_t n, bool nested)
{
    static const char more[] = "+.-/@:";
    bool command = false;
    for (size_t i = 0; i < n; i++) {
        const struct word *w = &words[i], *next = i + 1 < n ? w + 1 : NULL;
        const bool option = w->length > 2 && w->text[0] == '-' && w->text[1] == '-';
        const size_t skip = option ? 2 : 0, equals = assigned(&(struct word){w->text + skip, w->length - skip, 0, true}, more);
        const size_t plus = !option && command && *w->text == '+' ? strspn(w->text, "+") : 0;
        if (equals > plus && w->literal) {
            add(set, option || command ? CONTEXT_OPTION : CONTEXT_VARIABLE, w->text + skip + plus, equals - plus,
                w->text + skip + equals + 1, w->length - skip - equals - 1, w->line);
        } else if (option && !equals) {
            const bool value = next && is_value(next);
            if (!value || next->literal)
                add(set, CONTEXT_OPTION, w->text + 2, w->length - 2, value ? next->text : "true", value ? next->length : 4,
                    w->line);
            i += value;
        } else if (next && w->length == 2 && w->text[0] == '-') {
            if (w->text[1] == 'c' && !nested)
                scan_shell(set, next->text, next->length, next->line, true);
            else if (next->literal && is_number(next)) /* -n 5: only a number is certain to belong to the option */
                add(set, CONTEXT_OPTION, w->text, 2, next->text, next->length, next->line);
        }
        command = command || (!equals && !stands_before(w));
    }
}

void literals_read_command(struct literal_set *set, const char *const *argv, size_t n)
{
    struct word *words = calloc(n + 1, sizeof *words);
    set->failed = set->failed || !words;
    for (size_t i = 0; words && i < n; i++)
        words[i] = (struct word){argv[i], strlen(argv[i]), 1, true};
    if (words)
        read_words(set, words, n, false);
    free(words);
}

/* ${LR:-3e-4} or ${LR:=3e-4}: the default of a variable. */
static void read_default(struct literal_set *set, const char *text, size_t length, uint32_t line)
{
    const size_t name = length > 3 && text[1] == '{' ? name_length(text + 2, length - 2, "") : 0;
    size_t from = 2 + name;
    from += from < length && text[from] == ':';
    if (!name || from >= length || (text[from] != '-' && text[from] != '='))
        return;
    const char *value = text + from + 1, *end = memchr(value, '}', length - from - 1);
    size_t n = end ? (size_t)(end - value) : 0;
    if (end && !memchr(value, '$', n) && !memchr(value, '\n', n) && trim_value(&value, &n))
        add(set, CONTEXT_VARIABLE, text + 2, name, value, n, line);
}

static void scan_shell(struct literal_set *set, const char *text, size_t length, uint32_t line, bool nested)
{
    struct word *words = calloc(WORDS_MAX, sizeof *words);
    char *plain = malloc(length + 1); /* the words without their quotes */
    size_t n = 0, at = 0, used = 0, here_length = 0;
    const char *here = NULL; /* the word that ends the here-document after this line */
    set->failed = set->failed || !words || !plain;
    while (at < length && !set->failed) {
        const char c = text[at];
        if (c == '#') {
            while (at < length && text[at] != '\n')
                at++;
        } else if (c == '\\' && at + 1 < length && text[at + 1] == '\n') {
            at += 2;
            line++;
        } else if (c && strchr("\n;|&()", c)) {
            read_words(set, words, n, nested);
            n = used = 0;
            line += c == '\n';
            at++;
            for (size_t start = at; c == '\n' && here_length && at < length; start = at) {
                while (at < length && text[at] != '\n')
                    at++;
                if (at - start >= here_length && memcmp(text + at - here_length, here, here_length) == 0 &&
                    strspn(text + start, "\t") + here_length == at - start)
                    here_length = 0;
                line += at < length;
                at += at < length;
            }
        } else if (c == '<' && at + 2 < length && text[at + 1] == '<') {
            for (at += 2; at < length && (text[at] == '-' || text[at] == '"' || text[at] == '\'' || is_blank(text[at]));)
                at++;
            here = text + at;
            here_length = name_length(here, length - at, "");
            at += here_length;
            at += at < length && (text[at] == '"' || text[at] == '\'');
        } else if (is_blank(c) || c == '\0' || c == '<' || c == '>') {
            at++;
        } else {
            struct word word = {plain + used, 0, line, true};
            char quote = '\0';
            for (; at < length && (quote || !text[at] || !strchr(" \t\r\n;|&()<>", text[at])); at++) {
                line += text[at] == '\n';
                if (text[at] == '$' && quote != '\'')
                    read_default(set, text + at, length - at, line);
                word.literal = word.literal && (quote == '\'' || (text[at] != '$' && text[at] != '`'));
                if (quote ? text[at] == quote : text[at] == '"' || text[at] == '\'')
                    quote = quote ? '\0' : text[at];
                else if (text[at] != '\\' || quote == '\'')
                    plain[used + word.length++] = text[at];
            }
            used += word.length;
            if (n < WORDS_MAX)
                words[n++] = word;
        }
    }
    if (!set->failed)
        read_words(set, words, n, nested);
    free(words);
    free(plain);
}

/* ---- the language of a file ---- */

enum language language_of(const char *path, const char *text, size_t length)
{
    static const char *const ends[] = {
        [LANGUAGE_PYTHON] = " py pyi ",          [LANGUAGE_C] = " c h cc cpp cxx hh hpp hxx cu cuh ",
        [LANGUAGE_SHELL] = " sh bash zsh env ",  [LANGUAGE_YAML] = " yaml yml ",
        [LANGUAGE_TOML] = " toml ini cfg conf ", [LANGUAGE_JSON] = " json jsonc json5 "};
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *dot = strrchr(name, '.');
    char word[128];
    if (dot && strlen(dot) < 16) {
        snprintf(word, sizeof word, " %s ", dot + 1);
        for (int i = LANGUAGE_PYTHON; i <= LANGUAGE_JSON; i++)
            if (strstr(ends[i], word))
                return (enum language)i;
    }
    if (dot || length < 3 || text[0] != '#' || text[1] != '!')
        return LANGUAGE_NONE;
    const char *end = memchr(text, '\n', length); /* #!/bin/sh, #!/usr/bin/env python3 */
    snprintf(word, sizeof word, "%.*s", (int)(end ? end - text : length < 120 ? (ptrdiff_t)length : 120), text);
    return strstr(word, "python") ? LANGUAGE_PYTHON : strstr(word, "sh") ? LANGUAGE_SHELL : LANGUAGE_NONE;
}

void literals_read(struct literal_set *set, enum language language, const char *scope, bool in_function, const char *text,
                   size_t length)
{
    if (language == LANGUAGE_SHELL)
        scan_shell(set, text, length, 1, false);
    else if (language == LANGUAGE_YAML || language == LANGUAGE_TOML)
        scan_entries(set, language == LANGUAGE_TOML, text, length);
    else if (language != LANGUAGE_NONE)
        scan_code(set, language, scope, in_function, text, length);
}
