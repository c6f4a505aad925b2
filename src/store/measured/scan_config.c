/*
 * scan_config.c: entries of YAML, TOML and JSON files by their dotted names.
 *
 * These readers accept what a parser would refuse: templates, comments in JSON, and the part of a file that a diff
 * shows. An entry of a list has the name of the list, without its index, so inserting an element moves no other.
 */
#include "literals.h"

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
    f->path[length] = '\0';
    for (size_t i = from; i < to; i++) {
        size_t n = t->items[i].length;
        const char *text = t->items[i].kind == CODE_STRING ? code_string(t, i, &n) : code_text(t, i);
        const bool dot = i == from && length;
        if (length + dot + n >= sizeof f->path)
            return 0;
        length += (size_t)sprintf(f->path + length, "%s%.*s", dot ? "." : "", (int)n, text);
    }
    return length;
}

/* The first token in [from, to) that ends a key: a colon with a blank behind it, or in TOML an equals sign; to if there is none. */
static size_t end_of_key(const struct code_tokens *t, size_t from, size_t to)
{
    for (size_t i = from; i < to && !is_opening(code_op(t, from)); i++)
        if ((code_op(t, i) == '=' && t->language == LANGUAGE_TOML) ||
            (code_op(t, i) == ':' && (i + 1 == to || t->items[i + 1].at > t->items[i].at + 1u)))
            return i;
    return to;
}

/* [section] and key = value. */
static void read_toml_line(struct config *f, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    const size_t end = end_of_key(t, from, to);
    if (end < to && f->skip && add_key(f, f->section, from, end)) {
        entries_read(&f->r, end + 1, to, f->path);
    } else if (end == to && code_op(t, from) == '[') {
        while (from < to && code_op(t, from) == '[')
            from++;
        while (to > from && code_op(t, to - 1) == ']')
            to--;
        f->section = add_key(f, 0, from, to);
        f->skip = f->section ? SIZE_MAX : 0;
    }
}

/* Skips anchors and tags: &name, !!float. */
static size_t skip_marks(const struct code_tokens *t, size_t from, size_t to)
{
    while (from < to && (code_op(t, from) == '&' || code_op(t, from) == '!'))
        for (from++; from < to && t->items[from].at == code_end(t, from - 1); from++)
            ;
    return from;
}

static void read_yaml_line(struct config *f, size_t from, size_t to)
{
    const struct code_tokens *t = &f->r.tokens;
    const size_t indent = t->items[from].indent, start = t->items[from].at;
    if (f->skip != SIZE_MAX && indent > f->skip)
        return;
    f->skip = SIZE_MAX;
    if (indent == 0 && code_end(t, to - 1) - start >= 3 &&
        (memcmp(t->text + start, "---", 3) == 0 || memcmp(t->text + start, "...", 3) == 0)) {
        f->n = 0;
        return;
    }
    bool item = false;
    for (; from + 1 < to && code_op(t, from) == '-' && t->items[from + 1].at > t->items[from].at + 1u; from++)
        item = true;
    /* "- a" belongs to the key above it even if it is not indented; "- lr: 1" opens entries at the column of lr. */
    const size_t column = indent + t->items[from].at - start, end = end_of_key(t, from, to);
    while (f->n && (item ? f->levels[f->n - 1].column > indent : f->levels[f->n - 1].column >= indent))
        f->n--;
    const size_t around = f->n ? f->levels[f->n - 1].path : 0;
    const size_t length = f->n < LEVELS_MAX || end == to ? add_key(f, around, from, end < to ? end : from) : 0;
    if (end < to && !length)
        f->skip = column;
    if ((end < to && !length) || (end == to && !item))
        return;
    if (end < to) {
        f->levels[f->n].column = column;
        f->levels[f->n++].path = length;
    }
    const size_t value = skip_marks(t, end < to ? end + 1 : from, to);
    if (value < to && strchr("|>", *code_text(t, value)))
        f->skip = end < to ? column : indent;
    else
        entries_read(&f->r, value, to, f->path);
}

void scan_configuration(struct literal_set *set, enum language language, const char *text, size_t length)
{
    struct config f = {.r = {.set = set, .scope = ""}, .skip = SIZE_MAX};
    const struct code_tokens *t = &f.r.tokens;
    code_tokens_split(&f.r.tokens, language, text, length);
    set->failed = set->failed || t->failed;
    if (!set->failed && language == LANGUAGE_JSON)
        entries_read(&f.r, 0, t->n, "");
    for (size_t from = 0, to; from < t->n && !set->failed && language != LANGUAGE_JSON; from = to + 1) {
        for (to = from; to < t->n && t->items[to].kind != CODE_NEWLINE; to++)
            ;
        if (to > from)
            (language == LANGUAGE_TOML ? read_toml_line : read_yaml_line)(&f, from, to);
    }
    free(f.r.tokens.items);
}
