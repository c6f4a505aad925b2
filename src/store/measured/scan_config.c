/*
 * scan_config.c: entries of YAML, TOML and JSON files by their dotted names.
 *
 * These readers accept what a parser would refuse: templates, comments in JSON, and the part of a file that a diff
 * shows. An entry of a list has the name of the list, without its index, so inserting an element moves no other.
 */
#include <stdlib.h>
#include <string.h>

#include "constant.h"
#include "scan.h"

enum { PATH_MAX_LENGTH = LITERAL_NAME_MAX, LEVELS_MAX = 32, ELEMENTS_MAX = 16, CONTEXT_ENTRY = 23 };

void scan_entry(struct literal_set *set, const char *path, const char *key, size_t key_length, const char *value,
                size_t value_length, uint32_t line)
{
    char name[LITERAL_NAME_MAX];
    size_t length = strlen(path);
    struct constant constant;
    bool dot = length && key_length;
    if (length + dot + key_length >= sizeof name)
        return;
    memcpy(name, path, length);
    if (dot)
        name[length++] = '.';
    memcpy(name + length, key, key_length);
    length += key_length;
    struct literal_place place = {.context = CONTEXT_ENTRY,
                                  .scope = "",
                                  .name = name,
                                  .name_length = length,
                                  .line = line,
                                  .setting = true};
    if (constant_of_word(&constant, value, value_length))
        literals_add(set, &place, &constant);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static void trim(const char **text, size_t *length)
{
    while (*length && is_blank(**text))
        (*text)++, (*length)--;
    while (*length && is_blank((*text)[*length - 1]))
        (*length)--;
}

/* The length of the quoted text at text[0], quotes included; all of it if it is not closed on this line. */
static size_t quoted_length(const char *text, size_t length)
{
    size_t i = 1;
    while (i < length && text[i] != text[0] && text[i] != '\n')
        i += text[i] == '\\' && text[0] == '"' ? 2 : 1;
    return i < length && text[i] == text[0] ? i + 1 : (i < length ? i : length);
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'';
}

static void unquote(const char **text, size_t *length)
{
    if (*length >= 2 && is_quote(**text) && (*text)[*length - 1] == **text) {
        (*text)++;
        *length -= 2;
    }
}

/* ---- JSON and the flow style ---- */

struct level {
    size_t path;  /* length of the path in this container */
    bool list, simple; /* simple: a list that holds only scalars so far */
    char text[LITERAL_VALUE_MAX]; /* the scalars of a list */
    size_t length, n;
    uint32_t line;
};

struct flow {
    struct literal_set *set;
    char path[PATH_MAX_LENGTH];
    size_t path_length;
    struct level *levels;
    size_t n, deeper; /* containers beyond LEVELS_MAX */
    bool too_long;    /* the path was cut, so entries are not recorded */
};

static void take_element(struct level *level, const char *value, size_t length)
{
    size_t blanks = level->n ? 2 : 0;
    if (level->n == ELEMENTS_MAX || level->length + blanks + length + 3 >= sizeof level->text) {
        level->simple = false;
        return;
    }
    memcpy(level->text + level->length, ", ", blanks);
    level->length += blanks;
    memcpy(level->text + level->length, value, length);
    level->length += length;
    level->n++;
}

static void take_scalar(struct flow *f, const char *key, size_t key_length, const char *value, size_t length, uint32_t line)
{
    struct level *level = &f->levels[f->n - 1];
    if (f->deeper || f->too_long)
        return;
    f->path[f->path_length] = '\0';
    if (level->list)
        take_element(level, value, length);
    else if (key)
        scan_entry(f->set, f->path, key, key_length, value, length, line);
}

static void open_level(struct flow *f, bool list, const char *key, size_t key_length, uint32_t line)
{
    struct level *outer = f->n ? &f->levels[f->n - 1] : NULL;
    if (outer)
        outer->simple = false;
    if (f->n == LEVELS_MAX || f->too_long) {
        f->deeper++;
        return;
    }
    struct level *level = &f->levels[f->n++];
    *level = (struct level){.path = f->path_length, .list = list, .simple = true, .length = 1, .line = line};
    level->text[0] = '[';
    if (!key_length)
        return;
    bool dot = f->path_length > 0;
    if (f->path_length + dot + key_length + 1 >= sizeof f->path) {
        f->n--;
        f->deeper++;
        return;
    }
    if (dot)
        f->path[f->path_length++] = '.';
    memcpy(f->path + f->path_length, key, key_length);
    f->path_length += key_length;
}

static void close_level(struct flow *f)
{
    if (f->deeper) {
        f->deeper--;
        return;
    }
    struct level *level = &f->levels[--f->n];
    f->path[f->path_length] = '\0';
    if (level->list && level->simple && level->n) {
        level->text[level->length++] = ']';
        scan_entry(f->set, f->path, "", 0, level->text, level->length, level->line);
    }
    f->path_length = level->path;
}

size_t scan_flow(struct literal_set *set, const char *path, const char *text, size_t at, size_t length, uint32_t line)
{
    struct flow *f = calloc(1, sizeof *f);
    const char *key = NULL;
    size_t key_length = 0;
    if (f)
        f->levels = calloc(LEVELS_MAX, sizeof *f->levels);
    if (!f || !f->levels || strlen(path) >= sizeof f->path) {
        set->failed = set->failed || !f || !f->levels;
        if (f)
            free(f->levels);
        free(f);
        return length;
    }
    f->set = set;
    f->path_length = strlen(path);
    memcpy(f->path, path, f->path_length);
    do {
        char c = text[at];
        if (c == '{' || c == '[') {
            open_level(f, c == '[', key, key_length, line);
            key = NULL;
            key_length = 0;
            at++;
        } else if (c == '}' || c == ']') {
            close_level(f);
            key = NULL;
            key_length = 0;
            at++;
        } else if (c == ',' || c == ':' || c == '=' || is_blank(c) || c == '\n') {
            if (c == ',') {
                key = NULL;
                key_length = 0;
            }
            line += c == '\n';
            at++;
        } else if (c == '#' || (c == '/' && at + 1 < length && text[at + 1] == '/')) {
            while (at < length && text[at] != '\n')
                at++;
        } else {
            size_t end = at;
            if (is_quote(c))
                end += quoted_length(text + at, length - at);
            else
                while (end < length && !strchr("{}[],=\n#", text[end]) &&
                       !(text[end] == ':' && (end + 1 == length || is_blank(text[end + 1]) || text[end + 1] == '\n')))
                    end++;
            end += end == at;
            const char *scalar = text + at;
            size_t n = end - at, behind = end;
            trim(&scalar, &n);
            unquote(&scalar, &n);
            while (behind < length && (is_blank(text[behind]) || text[behind] == '\n'))
                behind++;
            at = end;
            bool list = f->n && f->levels[f->n - 1].list && !f->deeper;
            if (!key && !list && behind < length && (text[behind] == ':' || text[behind] == '=')) {
                key = scalar;
                key_length = n;
            } else {
                take_scalar(f, key, key_length, scalar, n, line);
                key = NULL;
                key_length = 0;
            }
        }
    } while (at < length && (f->n || f->deeper));
    while (f->n || f->deeper)
        close_level(f);
    free(f->levels);
    free(f);
    return at;
}

/* A file, or a part of one, which may begin within an object. */
void scan_json(struct literal_set *set, const char *text, size_t length)
{
    uint32_t line = 1;
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t stop = end ? (size_t)(end - text) : length, key = at;
        while (key < stop && (is_blank(text[key]) || text[key] == ',' || text[key] == '}' || text[key] == ']'))
            key++;
        size_t from = key, name = 0;
        const char *path = "";
        char entry[PATH_MAX_LENGTH];
        if (key < stop && text[key] == '"') {
            name = quoted_length(text + key, stop - key);
            for (from = key + name; from < stop && (is_blank(text[from]) || text[from] == ':'); from++)
                ;
        }
        if (from < stop && (text[from] == '{' || text[from] == '[')) {
            if (name > 2 && name - 2 < sizeof entry) {
                memcpy(entry, text + key + 1, name - 2);
                entry[name - 2] = '\0';
                path = entry;
            }
            size_t behind = scan_flow(set, path, text, from, length, line);
            for (; at < behind; at++)
                line += text[at] == '\n';
            continue;
        }
        if (name > 2) {
            const char *value = text + from;
            size_t n = stop - from;
            trim(&value, &n);
            n -= n && value[n - 1] == ',';
            trim(&value, &n);
            unquote(&value, &n);
            scan_entry(set, "", text + key + 1, name - 2, value, n, line);
        }
        at = stop + 1;
        line++;
    }
}

/* ---- YAML ---- */

struct yaml {
    struct literal_set *set;
    struct {
        size_t indent, path; /* columns before the key; length of the path with the key */
    } levels[LEVELS_MAX];
    size_t n;
    char path[PATH_MAX_LENGTH];
    size_t skip; /* columns: deeper lines belong to a text block; SIZE_MAX for none */
    bool cut;    /* the key that comes next would not fit, so deeper lines are skipped */
};

/* The position of the colon that ends a key, or length. */
static size_t find_colon(const char *text, size_t length)
{
    size_t at = length && is_quote(text[0]) ? quoted_length(text, length) : 0;
    while (at < length && !(text[at] == ':' && (at + 1 == length || is_blank(text[at + 1])))) {
        if (text[at] == '#' && at && is_blank(text[at - 1]))
            return length;
        at++;
    }
    return at;
}

static size_t without_comment(const char *text, size_t length)
{
    size_t at = length && is_quote(text[0]) ? quoted_length(text, length) : 0;
    while (at < length && !(text[at] == '#' && (at == 0 || is_blank(text[at - 1]))))
        at++;
    return at;
}

/* Skips anchors and tags: &name, !!float. */
static void skip_marks(const char **text, size_t *length)
{
    while (*length && (**text == '&' || **text == '!')) {
        while (*length && !is_blank(**text))
            (*text)++, (*length)--;
        trim(text, length);
    }
}

static bool enter_key(struct yaml *y, size_t indent, const char *key, size_t length)
{
    size_t path = y->n ? y->levels[y->n - 1].path : 0;
    if (y->n == LEVELS_MAX || path + length + 2 >= sizeof y->path)
        return false;
    if (path)
        y->path[path++] = '.';
    memcpy(y->path + path, key, length);
    y->levels[y->n].indent = indent;
    y->levels[y->n++].path = path + length;
    return true;
}

/* Reads the value of an entry; a flow value may go on over the following lines. Returns the position behind what was
 * read beyond the line, or 0. */
static size_t read_value(struct yaml *y, size_t indent, const char *text, size_t at, size_t stop, size_t length,
                         uint32_t line)
{
    const char *value = text + at;
    size_t n = stop - at;
    n = without_comment(value, n);
    trim(&value, &n);
    skip_marks(&value, &n);
    y->path[y->n ? y->levels[y->n - 1].path : 0] = '\0';
    if (n && (*value == '|' || *value == '>'))
        y->skip = indent;
    else if (n && (*value == '{' || *value == '['))
        return scan_flow(y->set, y->path, text, (size_t)(value - text), length, line);
    else if (n) {
        unquote(&value, &n);
        scan_entry(y->set, y->path, "", 0, value, n, line);
    }
    return 0;
}

/* Reads the line text[at..stop). Returns the position behind it if a value went on over the end of the line, else 0. */
static size_t read_yaml_line(struct yaml *y, const char *text, size_t at, size_t stop, size_t length, uint32_t line)
{
    size_t start = at;
    while (at < stop && text[at] == ' ')
        at++;
    size_t indent = at - start;
    if (at == stop || text[at] == '#' || text[at] == '\r' || text[at] == '%')
        return 0;
    if (y->skip != SIZE_MAX && indent > y->skip)
        return 0;
    y->skip = SIZE_MAX;
    if (indent == 0 && stop - at >= 3 && (memcmp(text + at, "---", 3) == 0 || memcmp(text + at, "...", 3) == 0)) {
        y->n = 0;
        return 0;
    }
    bool item = false;
    while (at + 1 < stop && text[at] == '-' && text[at + 1] == ' ') {
        at += 2;
        while (at < stop && text[at] == ' ')
            at++;
        item = true;
    }
    /* "- a" belongs to the key above it even if it is not indented; "- lr: 1" opens entries at the column of lr. */
    size_t column = at - start;
    while (y->n && (item ? y->levels[y->n - 1].indent > indent : y->levels[y->n - 1].indent >= indent))
        y->n--;
    size_t colon = at + find_colon(text + at, stop - at);
    if (colon < stop) {
        const char *key = text + at;
        size_t n = colon - at;
        trim(&key, &n);
        unquote(&key, &n);
        if (!n || !enter_key(y, column, key, n)) {
            y->skip = column;
            return 0;
        }
        size_t behind = read_value(y, column, text, colon + 1, stop, length, line);
        return behind;
    }
    return item ? read_value(y, indent, text, at, stop, length, line) : 0;
}

void scan_yaml(struct literal_set *set, const char *text, size_t length)
{
    struct yaml *y = calloc(1, sizeof *y);
    uint32_t line = 1;
    if (!y) {
        set->failed = true;
        return;
    }
    y->set = set;
    y->skip = SIZE_MAX;
    for (size_t at = 0; at < length; line++) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t stop = end ? (size_t)(end - text) : length;
        size_t behind = read_yaml_line(y, text, at, stop, length, line);
        if (behind > stop) {
            for (size_t i = stop; i < behind; i++)
                line += text[i] == '\n';
            end = memchr(text + behind, '\n', length - behind);
            stop = end ? (size_t)(end - text) : length;
        }
        at = stop + 1;
    }
    free(y);
}

/* ---- TOML, and files of [section] and key = value ---- */

/* Removes blanks and quotes from a dotted key: a . "b" becomes a.b. Returns its length, 0 if it is too long. */
static size_t plain_key(char out[PATH_MAX_LENGTH], const char *key, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++)
        if (!is_quote(key[i]) && !is_blank(key[i])) {
            if (n + 1 >= PATH_MAX_LENGTH)
                return 0;
            out[n++] = key[i];
        }
    out[n] = '\0';
    return n;
}

/* The position behind a text of several lines that begins at text[at]. */
static size_t skip_text_block(const char *text, size_t at, size_t length, uint32_t *line)
{
    char quote = text[at];
    for (at += 3; at < length; at++) {
        *line += text[at] == '\n';
        if (at + 2 < length && text[at] == quote && text[at + 1] == quote && text[at + 2] == quote)
            return at + 3;
    }
    return length;
}

void scan_toml(struct literal_set *set, const char *text, size_t length)
{
    char section[PATH_MAX_LENGTH] = "", key[PATH_MAX_LENGTH];
    bool skip = false; /* the name of the section is too long */
    uint32_t line = 1;
    for (size_t at = 0; at < length; line++) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t stop = end ? (size_t)(end - text) : length;
        while (at < stop && is_blank(text[at]))
            at++;
        size_t quoted = at < stop && is_quote(text[at]) ? quoted_length(text + at, stop - at) : 0;
        size_t equals = at + quoted;
        while (equals < stop && text[equals] != '=' && text[equals] != '#' && text[equals] != ';' &&
               !(text[equals] == ':' && equals + 1 < stop && is_blank(text[equals + 1])))
            equals++;
        if (at < stop && text[at] == '[') {
            size_t from = at + 1, to = from;
            from += from < stop && text[from] == '[';
            for (to = from; to < stop && text[to] != ']'; to++)
                ;
            skip = !plain_key(section, text + from, to - from);
        } else if (equals < stop && (text[equals] == '=' || text[equals] == ':') && !skip) {
            size_t n = plain_key(key, text + at, equals - at), value = equals + 1, behind = 0;
            while (value < stop && is_blank(text[value]))
                value++;
            bool block = value + 2 < stop && is_quote(text[value]) && text[value + 1] == text[value] && text[value + 2] == text[value];
            if (block) {
                behind = skip_text_block(text, value, length, &line);
            } else if (n && value < stop && (text[value] == '[' || text[value] == '{')) {
                char path[2 * PATH_MAX_LENGTH + 1];
                size_t outer = strlen(section);
                memcpy(path, section, outer);
                if (outer)
                    path[outer++] = '.';
                memcpy(path + outer, key, n + 1);
                behind = scan_flow(set, path, text, value, length, line);
                for (size_t i = stop; i < behind; i++)
                    line += text[i] == '\n';
            } else if (n) {
                const char *scalar = text + value;
                size_t scalar_length = without_comment(scalar, stop - value);
                trim(&scalar, &scalar_length);
                unquote(&scalar, &scalar_length);
                scan_entry(set, section, key, n, scalar, scalar_length, line);
            }
            if (behind > stop) {
                end = memchr(text + behind, '\n', length - behind);
                stop = end ? (size_t)(end - text) : length;
            }
        }
        at = stop + 1;
    }
}
