/* line_changes.c: the greedy algorithm of Myers on hashes of lines, with a limit. */
#include "collecting.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "literals.h"

/* The trace of the search takes EDITS_MAX squared integers, and a step visits every line at most once. */
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
