#include "collecting.h"

#include "literals.h"

/* Limits of the greedy algorithm of Myers on hashes of lines: the trace of the search takes EDITS_MAX squared integers, and a step visits every line at most once. */
enum { EDITS_MAX = 1000, STEPS_MAX = 40000000 };

struct lines {
    uint64_t *hashes;
    size_t n;
};

static bool split(struct lines *lines, const char *text, size_t length)
{
    size_t n = 0, i = 0;
    for (const char *at = text, *end = text + length; at < end; n++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        at = line_end ? line_end + 1 : end;
    }
    lines->hashes = malloc((n + 1) * sizeof *lines->hashes);
    lines->n = n;
    if (!lines->hashes)
        return false;
    for (const char *at = text, *end = text + length; at < end; i++) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t bytes = line_end ? (size_t)(line_end - at) : (size_t)(end - at);
        at += bytes + (line_end != NULL);
        const char *line = at - bytes - (line_end != NULL);
        bytes -= bytes && line[bytes - 1] == '\r';
        lines->hashes[i] = literal_hash(1, line, bytes);
    }
    return true;
}

/* A line and where it is, for matching without regard to the order. */
struct placed {
    uint64_t hash;
    size_t at;
};

static int by_hash(const void *a, const void *b)
{
    const struct placed *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static bool match_anywhere(struct line_changes *c, const struct lines *from, const struct lines *to, size_t head, size_t n,
                           size_t m)
{
    struct placed *a = malloc((n + 1) * sizeof *a), *b = malloc((m + 1) * sizeof *b);
    bool ok = a && b;
    for (size_t i = 0; ok && i < n; i++)
        a[i] = (struct placed){from->hashes[head + i], head + i};
    for (size_t i = 0; ok && i < m; i++)
        b[i] = (struct placed){to->hashes[head + i], head + i};
    if (ok && n)
        qsort(a, n, sizeof *a, by_hash);
    if (ok && m)
        qsort(b, m, sizeof *b, by_hash);
    for (size_t i = 0, k = 0; ok && (i < n || k < m);) {
        if (k == m || (i < n && a[i].hash < b[k].hash))
            c->removed[a[i++].at] = true;
        else if (i == n || a[i].hash > b[k].hash)
            c->added[b[k++].at] = true;
        else
            i++, k++;
    }
    free(a);
    free(b);
    return ok;
}

/* Finds the shortest difference of the middle parts. Sets *found to false if it has more than `limit` lines. */
static bool shortest(struct line_changes *c, const uint64_t *from, const uint64_t *to, size_t head, size_t n, size_t m,
                     size_t limit, bool *found)
{
    int32_t **trace = calloc(limit + 1, sizeof *trace), *v = calloc(2 * limit + 3, sizeof *v);
    int64_t end = -1, middle = (int64_t)limit + 1;
    bool ok = trace && v;
    for (int64_t d = 0; ok && d <= (int64_t)limit && end < 0; d++) {
        for (int64_t k = -d; k <= d && end < 0; k += 2) {
            bool down = k == -d || (k != d && v[middle + k - 1] < v[middle + k + 1]);
            int64_t x = down ? v[middle + k + 1] : v[middle + k - 1] + 1, y = x - k;
            if (x > (int64_t)n || y > (int64_t)m || y < 0) {
                v[middle + k] = (int32_t)x;
                continue;
            }
            while (x < (int64_t)n && y < (int64_t)m && from[x] == to[y])
                x++, y++;
            v[middle + k] = (int32_t)x;
            if (x == (int64_t)n && y == (int64_t)m)
                end = d;
        }
        trace[d] = malloc((size_t)(2 * d + 3) * sizeof **trace);
        ok = trace[d] != NULL;
        if (ok) /* trace[d][k + d + 1] is v[k] after step d */
            memcpy(trace[d], v + middle - d - 1, (size_t)(2 * d + 3) * sizeof **trace);
    }
    *found = end >= 0;
    int64_t x = (int64_t)n, y = (int64_t)m;
    for (int64_t d = end; ok && d > 0; d--) {
        const int32_t *before = trace[d - 1] + d; /* before[k] */
        int64_t k = x - y;
        bool down = k == -d || (k != d && before[k - 1] < before[k + 1]);
        int64_t x_before = down ? before[k + 1] : before[k - 1], y_before = x_before - (down ? k + 1 : k - 1);
        if (down)
            c->added[head + (size_t)y_before] = true;
        else
            c->removed[head + (size_t)x_before] = true;
        x = x_before;
        y = y_before;
    }
    for (size_t d = 0; trace && d <= limit; d++)
        free(trace[d]);
    free(trace);
    free(v);
    return ok;
}

bool line_changes_find(struct line_changes *changes, const char *from, size_t from_length, const char *to, size_t to_length)
{
    struct lines a = {0}, b = {0};
    size_t head = 0, tail = 0;
    bool found = false;
    *changes = (struct line_changes){0};
    bool ok = split(&a, from, from_length) && split(&b, to, to_length);
    if (ok) {
        changes->removed = calloc(a.n + 1, sizeof *changes->removed);
        changes->added = calloc(b.n + 1, sizeof *changes->added);
        ok = changes->removed && changes->added;
    }
    while (ok && head < a.n && head < b.n && a.hashes[head] == b.hashes[head])
        head++;
    while (ok && tail < a.n - head && tail < b.n - head && a.hashes[a.n - 1 - tail] == b.hashes[b.n - 1 - tail])
        tail++;
    if (ok) {
        size_t n = a.n - head - tail, m = b.n - head - tail, limit = n + m < EDITS_MAX ? n + m : EDITS_MAX;
        if (n + m && limit > STEPS_MAX / (n + m))
            limit = STEPS_MAX / (n + m);
        if (n && m)
            ok = shortest(changes, a.hashes + head, b.hashes + head, head, n, m, limit, &found);
        if (ok && !found)
            ok = match_anywhere(changes, &a, &b, head, n, m);
    }
    for (size_t i = 0; ok && i < a.n; i++)
        changes->n_removed += changes->removed[i];
    for (size_t i = 0; ok && i < b.n; i++)
        changes->n_added += changes->added[i];
    changes->from_lines = a.n;
    changes->to_lines = b.n;
    free(a.hashes);
    free(b.hashes);
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
        if (lines.n_added || lines.n_removed)
            collect_lines(c, path, &lines, &before, &after);
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
