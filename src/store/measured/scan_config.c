/*
 * scan_config.c: entries of YAML, TOML and JSON files by their dotted names.
 *
 * These readers accept what a parser would refuse: templates, comments in JSON, and the part of a file that a diff
 * shows. An entry of a list has the name of the list, without its index, so inserting an element moves no other.
 */
#include <stdlib.h>
#include <string.h>

#include "expressions.h"

enum { LEVELS_MAX = 32 };

struct config {
    struct reading r;
    char path[LITERAL_NAME_MAX]; /* of TOML the section, of YAML the keys of the levels */
    size_t section;              /* length of the path of the section */
    struct {
        size_t column, path; /* of YAML: columns before the key; length of the path with the key */
    } levels[LEVELS_MAX];
    size_t n;
    size_t skip; /* columns: deeper lines belong to a text block or to a key that does not fit; SIZE_MAX for none */
};

/* Adds a key, which is tokens[from..to), to the path of a length. Returns the new length, 0 if it is too long. */
static size_t add_key(struct config *f, size_t length, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    for (size_t i = from; i < to; i++) {
        size_t n = t->items[i].length;
        const char *text = t->items[i].kind == CODE_STRING ? code_string(t, i, &n) : t->text + t->items[i].at;
        bool dot = i == from && length;
        if (length + dot + n >= sizeof f->path)
            return 0;
        if (dot)
            f->path[length++] = '.';
        memcpy(f->path + length, text, n);
        length += n;
    }
    f->path[length] = '\0';
    return length;
}

/* The first token in [from, to) that ends a key: a colon with a blank behind it, or in TOML an equals sign; to if there is none. */
static size_t end_of_key(const struct code_tokens *t, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        if (code_op(t, i, '=') && t->language == LANGUAGE_TOML)
            return i;
        if (code_op(t, i, ':') && (i + 1 == to || t->items[i + 1].at > t->items[i].at + 1))
            return i;
    }
    return to;
}

/* [section] and key = value. */
static void read_toml_line(struct config *f, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    size_t end = end_of_key(t, from, to);
    if (end == to && code_op(t, from, '[')) {
        while (from < to && code_op(t, from, '['))
            from++;
        while (to > from && code_op(t, to - 1, ']'))
            to--;
        f->section = add_key(f, 0, from, to);
        f->skip = f->section ? SIZE_MAX : 0;
    } else if (end < to && f->skip && add_key(f, f->section, from, end))
        entries_read(&f->r, end + 1, to, f->path);
}

/* Skips anchors and tags: &name, !!float. */
static size_t skip_marks(const struct code_tokens *t, size_t from, size_t to)
{
    while (from < to && (code_op(t, from, '&') || code_op(t, from, '!')))
        for (from++; from < to && t->items[from].at == t->items[from - 1].at + t->items[from - 1].length; from++)
            ;
    return from;
}

static void read_yaml_line(struct config *f, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    const size_t indent = t->items[from].indent, start = t->items[from].at;
    const char *text = t->text + start;
    bool item = false;
    if (f->skip != SIZE_MAX && indent > f->skip)
        return;
    f->skip = SIZE_MAX;
    const struct code_token *last = &t->items[to - 1];
    if (indent == 0 && last->at + last->length - start >= 3 && (memcmp(text, "---", 3) == 0 || memcmp(text, "...", 3) == 0)) {
        f->n = 0;
        return;
    }
    for (; from + 1 < to && code_op(t, from, '-') && t->items[from + 1].at > t->items[from].at + 1; from++)
        item = true;
    /* "- a" belongs to the key above it even if it is not indented; "- lr: 1" opens entries at the column of lr. */
    size_t column = indent + t->items[from].at - start, end = end_of_key(t, from, to);
    while (f->n && (item ? f->levels[f->n - 1].column > indent : f->levels[f->n - 1].column >= indent))
        f->n--;
    size_t length = f->n ? f->levels[f->n - 1].path : 0;
    f->path[length] = '\0';
    if (end < to) {
        length = f->n < LEVELS_MAX ? add_key(f, length, from, end) : 0;
        if (!length) {
            f->skip = column;
            return;
        }
        f->levels[f->n].column = column;
        f->levels[f->n++].path = length;
    } else if (!item)
        return;
    size_t value = skip_marks(t, end < to ? end + 1 : from, to);
    if (value < to && strchr("|>", t->text[t->items[value].at]))
        f->skip = end < to ? column : indent;
    else
        entries_read(&f->r, value, to, f->path);
}

void scan_configuration(struct literal_set *set, enum language language, const char *text, size_t length)
{
    struct config *f = calloc(1, sizeof *f);
    if (!f) {
        set->failed = true;
        return;
    }
    f->r = (struct reading){.set = set, .scope = ""};
    f->skip = SIZE_MAX;
    code_tokens_split(&f->r.tokens, language, text, length, 1);
    const struct code_tokens *t = &f->r.tokens;
    f->r.pending = malloc((t->n + 1) * sizeof *f->r.pending);
    set->failed = set->failed || t->failed || !f->r.pending;
    if (!set->failed && language == LANGUAGE_JSON)
        entries_read(&f->r, 0, t->n, "");
    for (size_t from = 0, to; from < t->n && !set->failed && language != LANGUAGE_JSON; from = to + 1) {
        for (to = from; to < t->n && t->items[to].kind != CODE_NEWLINE; to++)
            ;
        if (to > from)
            (language == LANGUAGE_TOML ? read_toml_line : read_yaml_line)(f, from, to);
    }
    free(f->r.pending);
    code_tokens_release(&f->r.tokens);
    free(f);
}
