/*
 * line_diff.c: which lines of two texts differ, by the greedy algorithm of Myers on hashes of lines.
 *
 * The search gives up after a number of edits, follows the path that got furthest, and begins again from there. So the difference is
 * the shortest one, as that of diff, if it has at most EDITS_MAX lines, and takes a bounded time otherwise.
 */
#include "collecting.h"
#include "literals.h"

/* A search of `edits` takes edits squared integers, and about as many steps; STEPS_MAX is for all searches of two texts. */
enum { EDITS_MAX = 1000, EDITS_MIN = 64, STEPS_MAX = 40000000 };

struct lines {
    uint64_t *hashes;
    size_t n;
};

/* One line of a text, without its end, which may be "\r\n". */
static bool split(struct lines *lines, const char *text, size_t length)
{
    size_t capacity = 0;
    for (const char *at = text, *end = text + length, *stop; at < end; at = stop + (stop < end)) {
        stop = memchr(at, '\n', (size_t)(end - at));
        stop = stop ? stop : end;
        if (!LIST_ROOM(lines->hashes, lines->n, capacity))
            return false;
        const size_t n = (size_t)(stop - at);
        lines->hashes[lines->n++] = literal_hash(1, at, n - (n && stop[-1] == '\r'));
    }
    return true;
}

static void put_marks(struct buf *marks, char mark, size_t n)
{
    while (n--)
        buf_put(marks, mark);
}

/* Searches for the end of both texts with at most `limit` edits. rows[d * d + d + k] is the line of `from` that d edits reach on the
 * diagonal k. Puts the marks of the path that ended, or got furthest, backwards. */
static void search(struct buf *back, const struct lines *from, const struct lines *to, int32_t *rows, int64_t limit)
{
    const int64_t n = (int64_t)from->n, m = (int64_t)to->n;
    int64_t best = -1, d = 0, k = 0;
    for (int64_t edits = 0; edits <= limit && best < n + m; edits++) {
        int32_t *row = rows + edits * edits + edits, *before = rows + (edits - 1) * (edits - 1) + edits - 1;
        for (int64_t i = -edits; i <= edits && best < n + m; i += 2) {
            const bool down = i == -edits || (i != edits && before[i - 1] < before[i + 1]);
            int64_t x = !edits ? 0 : down ? before[i + 1] : before[i - 1] + 1, y = x - i;
            const bool inside = x <= n && y <= m;
            while (inside && x < n && y < m && from->hashes[x] == to->hashes[y])
                x++, y++;
            row[i] = (int32_t)x;
            if (inside && x + y > best) {
                best = x + y;
                d = edits;
                k = i;
            }
        }
    }
    for (; d > 0; d--) {
        const int32_t *before = rows + (d - 1) * (d - 1) + d - 1;
        const bool down = k == -d || (k != d && before[k - 1] < before[k + 1]);
        const int64_t x = rows[d * d + d + k];
        k += down ? 1 : -1;
        put_marks(back, ' ', (size_t)(x - before[k] - !down));
        buf_put(back, down ? '+' : '-');
    }
    put_marks(back, ' ', (size_t)rows[0]);
}

bool line_diff(struct buf *marks, const struct file_text *from, const struct file_text *to)
{
    struct lines a = {0}, b = {0};
    struct buf back = {0};
    bool ok = split(&a, from->text, from->length) && split(&b, to->text, to->length);
    size_t limit = STEPS_MAX / (a.n + b.n + 1);
    limit = limit < EDITS_MIN ? EDITS_MIN : limit > EDITS_MAX ? EDITS_MAX : limit;
    limit = limit > a.n + b.n ? a.n + b.n : limit;
    int32_t *rows = ok ? malloc((limit + 1) * (limit + 1) * sizeof *rows) : NULL;
    ok = rows != NULL;
    size_t x = 0, tail = 0;
    while (ok && x < a.n && x < b.n && a.hashes[x] == b.hashes[x])
        x++;
    for (; ok && a.n > x && b.n > x && a.hashes[a.n - 1] == b.hashes[b.n - 1]; tail++, b.n--)
        a.n--;
    put_marks(marks, ' ', x);
    size_t y = x;
    while (ok && x < a.n && y < b.n) {
        const struct lines left = {a.hashes + x, a.n - x}, right = {b.hashes + y, b.n - y};
        buf_reset(&back);
        search(&back, &left, &right, rows, (int64_t)limit);
        for (size_t i = back.length; i-- > 0;) {
            x += back.data[i] != '+';
            y += back.data[i] != '-';
            buf_put(marks, back.data[i]);
        }
        ok = !back.failed;
    }
    put_marks(marks, '-', a.n - x);
    put_marks(marks, '+', b.n - y);
    put_marks(marks, ' ', tail);
    free(rows);
    free(a.hashes);
    free(b.hashes);
    buf_release(&back);
    return ok && !marks->failed;
}
