#include "collecting.h"

#include "literals.h"

/* A line and where it is. */
struct line {
    uint64_t hash;
    size_t at;
};

static int by_hash(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

/* The lines of a text, sorted by their hashes; NULL when out of memory. */
static struct line *sorted_lines(size_t *n, const char *text, size_t length)
{
    struct line *lines = NULL;
    size_t capacity = 0;
    *n = 0;
    for (const char *at = text, *end = text + length, *stop; at < end; at = stop + 1) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        const size_t bytes = (size_t)(stop - at);
        if (!LIST_ROOM(lines, *n, capacity)) {
            free(lines);
            return NULL;
        }
        lines[*n] = (struct line){literal_hash(1, at, bytes - (bytes && at[bytes - 1] == '\r')), *n};
        ++*n;
    }
    if (*n)
        qsort(lines, *n, sizeof *lines, by_hash);
    return *n ? lines : malloc(sizeof *lines);
}

bool line_changes_find(struct line_changes *changes, const char *from, size_t from_length, const char *to, size_t to_length)
{
    *changes = (struct line_changes){0};
    size_t n, m;
    struct line *a = sorted_lines(&n, from, from_length), *b = sorted_lines(&m, to, to_length);
    changes->removed = a ? calloc(n + 1, sizeof *changes->removed) : NULL;
    changes->added = b ? calloc(m + 1, sizeof *changes->added) : NULL;
    bool ok = changes->removed && changes->added;
    for (size_t i = 0, k = 0; ok && (i < n || k < m);) {
        if (k == m || (i < n && a[i].hash < b[k].hash)) {
            changes->removed[a[i++].at] = true;
            changes->n_removed++;
        } else if (i == n || a[i].hash > b[k].hash) {
            changes->added[b[k++].at] = true;
            changes->n_added++;
        } else
            i++, k++;
    }
    changes->from_lines = n;
    changes->to_lines = m;
    free(a);
    free(b);
    if (!ok)
        line_changes_release(changes);
    return ok;
}

void line_changes_release(struct line_changes *changes)
{
    free(changes->removed);
    free(changes->added);
    *changes = (struct line_changes){0};
}

/* A file of results changes with every run. It is recognised by numbers that nobody writes by hand. */
enum { WRITTEN_DIGITS = 7, CODE_MAX = 4096 };

static const char *copy(struct collecting *c, const char *text)
{
    const char *out = text ? arena_text(&c->arena, text, strlen(text)) : NULL;
    c->failed = c->failed || (text && !out);
    return out;
}

void collect_change(struct collecting *c, const struct lineage_measured_change *change)
{
    if (c->n_changes == LINEAGE_MEASURED_CHANGES) {
        c->incomplete = true;
        return;
    }
    if (!LIST_ROOM(c->changes, c->n_changes, c->changes_capacity)) {
        c->failed = true;
        return;
    }
    struct lineage_measured_change *mine = &c->changes[c->n_changes];
    *mine = *change;
    mine->file = copy(c, change->file);
    mine->scope = copy(c, change->scope);
    mine->name = copy(c, change->name);
    mine->from = copy(c, change->from);
    mine->to = copy(c, change->to);
    c->n_changes += !c->failed;
}

void collect_code(struct collecting *c, const char *file, const char *heading, size_t added, size_t removed,
                  enum lineage_lines_kind kind)
{
    if (c->n_code == CODE_MAX) {
        c->incomplete = true;
        return;
    }
    if (!LIST_ROOM(c->code, c->n_code, c->code_capacity)) {
        c->failed = true;
        return;
    }
    bool same_file = c->n_code && strcmp(c->code[c->n_code - 1].file, file) == 0;
    c->code[c->n_code] = (struct lineage_measured_lines){.file = same_file ? c->code[c->n_code - 1].file : copy(c, file),
                                                         .heading = copy(c, heading),
                                                         .added = added,
                                                         .removed = removed,
                                                         .kind = kind};
    c->n_code += !c->failed; /* an entry without its texts does not count */
}

/* Digits from the first that is not 0, of a number with a fraction. */
static size_t digits_of(const char *text)
{
    size_t n = 0;
    bool point = false;
    for (; *text && (*text | 0x20) != 'e'; text++) {
        point = point || *text == '.';
        n += *text >= '0' && *text <= '9' && (n || *text != '0');
    }
    return point ? n : 0;
}

struct literal_difference {
    const struct literal *before, *after;
};

struct differences {
    struct literal_difference *items;
    size_t n, capacity;
    bool measured_value, failed;
};

static void take(void *context, const struct literal *before, const struct literal *after)
{
    struct differences *d = context;
    if (before && digits_of(before->value) >= WRITTEN_DIGITS && digits_of(after->value) >= WRITTEN_DIGITS)
        d->measured_value = true;
    if (!LIST_ROOM(d->items, d->n, d->capacity)) {
        d->failed = true;
        return;
    }
    d->items[d->n++] = (struct literal_difference){before, after};
}

void collect_literals(struct collecting *c, const char *path, struct literal_set *from, struct literal_set *to)
{
    struct differences d = {0};
    bool ok = literals_compare(from, to, take, &d) && !d.failed;
    enum language language = language_of(path, "", 0);
    bool results = d.measured_value && (language == LANGUAGE_JSON || language == LANGUAGE_YAML || language == LANGUAGE_TOML);
    c->failed = c->failed || !ok;
    c->incomplete = c->incomplete || from->truncated || to->truncated;
    for (size_t i = 0; ok && !results && i < d.n; i++) {
        const struct literal *before = d.items[i].before, *after = d.items[i].after;
        struct lineage_measured_change change = {.file = path,
                                                 .scope = after->scope,
                                                 .name = after->name,
                                                 .from = before ? before->value : NULL,
                                                 .to = after->value,
                                                 .from_value = before ? before->number : (struct lineage_number){0},
                                                 .to_value = after->number,
                                                 .line = after->line};
        collect_change(c, &change);
    }
    free(d.items);
}

/* Lines of one function. */
struct heading {
    const char *scope;
    size_t added, removed;
};

static int by_scope(const void *a, const void *b)
{
    return strcmp(((const struct heading *)a)->scope, ((const struct heading *)b)->scope);
}

static void count_heading(struct heading *list, size_t *n, const char *scope, bool added)
{
    /* Lines come in order, so a run of lines is in the same function; the same function twice is added up later. */
    if (!*n || strcmp(list[*n - 1].scope, scope) != 0)
        list[(*n)++] = (struct heading){.scope = scope};
    list[*n - 1].added += added;
    list[*n - 1].removed += !added;
}

static void collect_lines(struct collecting *c, const char *path, const struct line_changes *lines,
                          const struct literal_set *from, const struct literal_set *to)
{
    struct heading *list = malloc((lines->n_added + lines->n_removed + 1) * sizeof *list);
    size_t n = 0;
    if (!list) {
        c->failed = true;
        return;
    }
    for (size_t i = 0; i < lines->from_lines; i++)
        if (lines->removed[i])
            count_heading(list, &n, literals_scope_of(from, (uint32_t)i + 1), false);
    for (size_t i = 0; i < lines->to_lines; i++)
        if (lines->added[i])
            count_heading(list, &n, literals_scope_of(to, (uint32_t)i + 1), true);
    if (n)
        qsort(list, n, sizeof *list, by_scope);
    collect_code(c, path, NULL, lines->n_added, lines->n_removed, LINEAGE_LINES_COUNTED);
    for (size_t i = 0, k; i < n; i = k) {
        size_t added = 0, removed = 0;
        for (k = i; k < n && strcmp(list[k].scope, list[i].scope) == 0; k++) {
            added += list[k].added;
            removed += list[k].removed;
        }
        collect_code(c, path, list[i].scope, added, removed, LINEAGE_LINES_COUNTED);
    }
    free(list);
}

void collect_file(struct collecting *c, const char *path, const struct file_text *from, const struct file_text *to)
{
    static const struct file_text none = {"", 0};
    const struct file_text *old = from->text ? from : &none, *new = to->text ? to : &none;
    struct literal_set before = {0}, after = {0};
    struct line_changes lines;
    if (memchr(old->text, '\0', old->length) || memchr(new->text, '\0', new->length)) {
        collect_code(c, path, NULL, 0, 0, LINEAGE_LINES_BINARY);
        return;
    }
    literals_read(&before, language_of(path, old->text, old->length), "", false, old->text, old->length);
    literals_read(&after, language_of(path, new->text, new->length), "", false, new->text, new->length);
    if (before.failed || after.failed || !line_changes_find(&lines, old->text, old->length, new->text, new->length)) {
        c->failed = true;
    } else {
        collect_lines(c, path, &lines, &before, &after); /* also if lines only moved: the file is another one */
        line_changes_release(&lines);
        if (from->text && to->text)
            collect_literals(c, path, &before, &after);
    }
    literals_release(&before);
    literals_release(&after);
}

enum lineage_status collect_finish(struct collecting *c, struct lineage_measured *measured, struct lineage_error *err)
{
    struct arena *arena = c->failed ? NULL : malloc(sizeof *arena);
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    measured->changes = arena ? arena_alloc(&c->arena, c->n_changes + 1, sizeof *measured->changes) : NULL;
    measured->lines = arena ? arena_alloc(&c->arena, c->n_code + 1, sizeof *measured->lines) : NULL;
    bool ok = measured->changes && measured->lines;
    if (ok) {
        if (c->n_changes)
            memcpy(measured->changes, c->changes, c->n_changes * sizeof *measured->changes);
        if (c->n_code)
            memcpy(measured->lines, c->code, c->n_code * sizeof *measured->lines);
        measured->n_changes = c->n_changes;
        measured->n_lines = c->n_code;
        measured->incomplete = c->incomplete;
        *arena = c->arena;
        measured->memory = arena;
    } else {
        *measured = (struct lineage_measured){.against = "", .command_against = ""};
        arena_release(&c->arena);
        free(arena);
    }
    free(c->changes);
    free(c->code);
    *c = (struct collecting){0};
    return ok ? LINEAGE_OK : store_no_memory(err);
}

void lineage_measured_release(struct lineage_measured *measured)
{
    if (measured->memory)
        arena_release(measured->memory);
    free(measured->memory);
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
}

void collect_commands(struct collecting *c, const char *const *from, size_t n_from, const char *const *to, size_t n_to)
{
    struct literal_set before = {0}, after = {0};
    literals_read_command(&before, from, n_from);
    literals_read_command(&after, to, n_to);
    for (size_t i = 0; i < after.n; i++)
        after.items[i].line = 0;
    collect_literals(c, "", &before, &after);
    literals_release(&before);
    literals_release(&after);
}
