/*
 * ancestors.c: computes the table `ancestors`.
 *
 * A parent is a name. The row that it names may come later in the log, be missing, or change when a later row has the same id;
 * and a void may change whether an ancestor is kept. Rows usually come behind their parents, so the rows to compute are those from
 * the first new or moved one on. Where a row before it has its parent among them, the whole table is computed again.
 *
 * In a log in which no row names a parent, trials go on from the last kept one (lineage/report.h). There the last kept trial
 * before a row takes the place of its parent, and a change of a row moves all rows after it.
 */
#include "ancestors.h"

#include <lineage/voids.h>

#include "mirror_internal.h"
#include "statement.h"

/* One row of the table while it is computed. 32 bits are enough for 4e9 rows, as in questions/tree.c. */
struct place {
    uint32_t seq, parent, above, passed_over, depth, jump, top;
    uint8_t kind, kept;
    uint8_t state; /* 0: not computed; then one of the following */
};
enum { ON_THE_WAY = 1, COMPUTED };

/* The rows to compute: those from `first` to the end of the log. */
struct places {
    struct mirror *mirror;
    struct place *items; /* [n] items[i] has seq first + i */
    size_t n;
    uint32_t first;
    bool no_parents; /* no row of the log names a parent */
    uint32_t *way;   /* scratch memory of the walk: indices of items */
    size_t n_way, way_capacity;
};

/* The seq of the row that t.parent_exp names, in the order of mirror_find. */
#define PARENT                                                                                                                   \
    "coalesce((SELECT max(seq) FROM trials WHERE exp_id = t.parent_exp),"                                                        \
    " CASE WHEN substr(t.parent_exp, 1, 4) = 'exp_' THEN"                                                                        \
    " (SELECT max(seq) FROM trials WHERE exp_id = substr(t.parent_exp, 5)) END,"                                                 \
    " (SELECT max(seq) FROM trials WHERE exp_id = 'exp_' || t.parent_exp), 0)"

/* ---- moved rows ---- */

/* Rows c that name the row t as their parent. Some in another spelling may mean another row; they are computed again in vain. */
#define CHILDREN                                                                                                                 \
    "trials t CROSS JOIN trials c INDEXED BY trials_by_parent ON c.parent_exp IN (t.exp_id, 'exp_' || t.exp_id,"                 \
    " CASE WHEN substr(t.exp_id, 1, 4) = 'exp_' THEN substr(t.exp_id, 5) END) AND c.parent_exp <> ''"

enum lineage_status ancestors_add_children(struct mirror_seqs *rows, struct mirror *mirror, int64_t seq,
                                           struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    TRY(mirror_rows(mirror, &stmt, err, "SELECT c.seq FROM " CHILDREN " WHERE t.seq = ?1", "i", seq));
    return mirror_list_seqs(rows, mirror, stmt, err);
}

enum lineage_status ancestors_add_voids(struct mirror_seqs *rows, struct mirror *mirror, struct lineage_error *err)
{
    static const char sql[] = "SELECT v.seq FROM void_changes v CROSS JOIN ancestors a ON a.seq = v.seq CROSS JOIN "
                              "trials t"
                              " ON t.seq = v.seq WHERE a.kept <> (t.status IN ('keep', 'baseline'))";
    sqlite3_stmt *stmt;
    TRY(mirror_prepare(mirror, &stmt, sql, err));
    return mirror_list_seqs(rows, mirror, stmt, err);
}

static struct place *find(const struct places *places, uint32_t seq)
{
    return seq >= places->first && seq - places->first < places->n ? &places->items[seq - places->first] : NULL;
}

/* ---- what they depend on ---- */

/* Reads the status and the parent of each row. */
static enum lineage_status read_rows(struct places *places, struct lineage_error *err)
{
    static const char sql[] = "SELECT t.seq, t.status IN ('keep', 'baseline'), CASE WHEN t.parent_exp <> '' THEN " PARENT
                              " ELSE 0 END FROM trials t WHERE t.seq >= ?1";
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_rows(places->mirror, &stmt, err, sql, "i", (int64_t)places->first);
    while (mirror_next(&status, places->mirror, stmt, err)) {
        struct place *place = find(places, (uint32_t)sqlite3_column_int64(stmt, 0));
        if (place) {
            place->kept = sqlite3_column_int(stmt, 1) != 0;
            place->parent = (uint32_t)sqlite3_column_int64(stmt, 2);
        }
    }
    return status;
}

/* Reads a row of the table, which is zeroed if it is not there. */
static enum lineage_status read_place(struct place *place, struct mirror *mirror, uint32_t seq, struct lineage_error *err)
{
    static const char sql[] = "SELECT parent, kept, above, passed_over, depth, jump, top, kind "
                              "FROM ancestors WHERE seq = ?1";
    sqlite3_stmt *stmt;
    *place = (struct place){.seq = seq, .state = COMPUTED};
    enum lineage_status status = mirror_row(mirror, &stmt, err, sql, "i", seq);
    if (status == LINEAGE_OK) {
        place->parent = (uint32_t)sqlite3_column_int64(stmt, 0);
        place->kept = sqlite3_column_int(stmt, 1) != 0;
        place->above = (uint32_t)sqlite3_column_int64(stmt, 2);
        place->passed_over = (uint32_t)sqlite3_column_int64(stmt, 3);
        place->depth = (uint32_t)sqlite3_column_int64(stmt, 4);
        place->jump = (uint32_t)sqlite3_column_int64(stmt, 5);
        place->top = (uint32_t)sqlite3_column_int64(stmt, 6);
        place->kind = (uint8_t)sqlite3_column_int(stmt, 7);
    }
    return mirror_end_rows(stmt, status);
}

static enum lineage_status look(struct place *place, const struct places *places, uint32_t seq, struct lineage_error *err)
{
    const struct place *there = find(places, seq);
    if (!there)
        return read_place(place, places->mirror, seq, err);
    *place = *there;
    return LINEAGE_OK;
}

/* ---- computing ---- */

/* The jump of a trial whose nearest kept ancestor is `above`: as far as two jumps of that ancestor if both are equally long,
 * otherwise only to the ancestor. */
static enum lineage_status find_jump(uint32_t *jump, const struct places *places, const struct place *above,
                                     struct lineage_error *err)
{
    struct place one, two;
    enum lineage_status status = look(&one, places, above->jump, err);
    if (status == LINEAGE_OK)
        status = look(&two, places, one.jump, err);
    *jump = status == LINEAGE_OK && above->depth - one.depth == one.depth - two.depth ? one.jump : above->seq;
    return status;
}

/* Computes a row whose parent is computed. */
static enum lineage_status compute(const struct places *places, struct place *place, struct lineage_error *err)
{
    struct place parent = {0};
    enum lineage_status status = place->parent ? look(&parent, places, place->parent, err) : LINEAGE_OK;
    place->state = COMPUTED;
    TRY(status);
    if (place->parent && parent.kind == ANCESTORS_CYCLE) {
        place->kind = ANCESTORS_CYCLE;
        return LINEAGE_OK;
    }
    place->top = place->parent ? parent.top : place->seq;
    if (place->parent && parent.kept) {
        place->above = parent.seq;
        place->depth = parent.depth + 1;
        return find_jump(&place->jump, places, &parent, err);
    }
    if (place->parent) {
        place->above = parent.above;
        place->depth = parent.depth;
        place->passed_over = parent.passed_over + 1;
        place->jump = parent.jump;
    }
    if (place->kept && !place->above)
        place->jump = place->seq;
    return LINEAGE_OK;
}

static bool go_on(struct places *places, struct place *place)
{
    if (!LIST_ROOM(places->way, places->n_way, places->way_capacity))
        return false;
    place->state = ON_THE_WAY;
    places->way[places->n_way++] = (uint32_t)(place - places->items);
    return true;
}

/* Walks up from a row until a row is known, and computes all rows on the way back. If the walk meets itself, all of them lead
 * into a cycle. */
static enum lineage_status compute_from(struct places *places, struct place *place, struct lineage_error *err)
{
    places->n_way = 0;
    for (; place && !place->state; place = place->parent ? find(places, place->parent) : NULL)
        if (!go_on(places, place))
            return store_no_memory(err);
    bool cycle = place && place->state == ON_THE_WAY;
    for (size_t i = places->n_way; i-- > 0;) {
        place = &places->items[places->way[i]];
        if (cycle) {
            place->kind = ANCESTORS_CYCLE;
            place->state = COMPUTED;
        } else {
            TRY(compute(places, place, err));
        }
    }
    return LINEAGE_OK;
}

/* Takes the last kept trial before each row for its parent. */
static enum lineage_status follow_keeps(struct places *places, struct lineage_error *err)
{
    static const char sql[] = "SELECT CASE WHEN kept THEN seq ELSE above END FROM ancestors WHERE seq = ?1";
    int64_t above = 0;
    enum lineage_status status = mirror_integer(places->mirror, &above, err, sql, "i", (int64_t)places->first - 1);
    uint32_t last = (uint32_t)above;
    for (size_t i = 0; i < places->n; i++) {
        places->items[i].parent = last;
        if (places->items[i].kept)
            last = places->items[i].seq;
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status write_all(const struct places *places, struct lineage_error *err)
{
    const bool none = places->no_parents;
    for (size_t i = 0; i < places->n; i++) {
        const struct place *p = &places->items[i];
        TRY(mirror_do(places->mirror, err, "REPLACE INTO ancestors VALUES (?,?,?,?,?,?,?,?,?)", "iiiiiiiii", (int64_t)p->seq,
                      (int64_t)(none ? 0 : p->parent), (int64_t)p->kept, (int64_t)p->above, (int64_t)p->passed_over,
                      (int64_t)p->depth, (int64_t)p->jump, (int64_t)(none ? p->seq : p->top),
                      (int64_t)(none ? ANCESTORS_NO_PARENTS : p->kind)));
    }
    return LINEAGE_OK;
}

static enum lineage_status compute_all(struct places *places, struct lineage_error *err)
{
    TRY(read_rows(places, err));
    if (places->no_parents)
        TRY(follow_keeps(places, err));
    for (size_t i = 0; i < places->n; i++)
        TRY(compute_from(places, &places->items[i], err));
    return LINEAGE_OK;
}

/* ---- the update ---- */

struct extent {
    uint32_t rows;    /* of trials, the provisional one included */
    uint32_t there;   /* of the table; the new rows follow */
    bool no_parents;  /* no row of trials names a parent, but to void it */
    bool had_parents; /* and some row did when the table was last written */
};

static enum lineage_status look_at_extent(struct extent *extent, struct mirror *mirror, struct lineage_error *err)
{
    static const char sql[] = "SELECT (SELECT coalesce(max(seq), 0) FROM trials), (SELECT "
                              "coalesce(max(seq), 0) FROM ancestors),"
                              " NOT EXISTS (SELECT 1 FROM trials WHERE parent_exp <> '' AND job_name NOT IN"
                              " ('" LINEAGE_VOID_JOB "', '" LINEAGE_UNVOID_JOB "')),"
                              " EXISTS (SELECT 1 FROM ancestors WHERE seq = 1 AND kind <> 2)";
    sqlite3_stmt *stmt;
    TRY(mirror_row(mirror, &stmt, err, sql, ""));
    extent->rows = (uint32_t)sqlite3_column_int64(stmt, 0);
    extent->there = (uint32_t)sqlite3_column_int64(stmt, 1);
    extent->no_parents = sqlite3_column_int(stmt, 2) != 0;
    extent->had_parents = sqlite3_column_int(stmt, 3) != 0;
    sqlite3_reset(stmt);
    return LINEAGE_OK;
}

/*
 * *first becomes the first row to compute: of the new and the moved ones, unless a row before it has its parent among them, which is rare.
 * Above a quarter of the log, computing everything costs less than looking for such rows.
 */
static enum lineage_status find_first(uint32_t *first, struct mirror *mirror, const struct extent *extent,
                                      const struct mirror_seqs *moved, struct lineage_error *err)
{
    bool all = extent->there && extent->no_parents == extent->had_parents; /* the first parent came, or the last one went */
    *first = extent->there + 1;
    for (size_t i = 0; i < moved->n; i++)
        *first = moved->items[i] < *first ? (uint32_t)moved->items[i] : *first;
    if (!all && !extent->no_parents && *first > 1)
        all = extent->rows - extent->there > extent->rows / 4 && extent->rows > 4000;
    if (!all && !extent->no_parents && *first > 1 && *first <= extent->there)
        TRY(mirror_has(mirror, &all, err, "SELECT 1 FROM ancestors WHERE seq < ?1 AND parent >= ?1 LIMIT 1", "i",
                       (int64_t)*first));
    if (!all && !extent->no_parents && *first > 1)
        TRY(mirror_has(mirror, &all, err, "SELECT 1 FROM " CHILDREN " WHERE t.seq > ?1 AND c.seq < ?2 LIMIT 1", "ii",
                       (int64_t)extent->there, (int64_t)*first));
    *first = all ? 1 : *first;
    return LINEAGE_OK;
}

static void release(struct places *places)
{
    free(places->items);
    free(places->way);
}

enum lineage_status ancestors_update(struct mirror *mirror, const struct mirror_seqs *moved, struct lineage_error *err)
{
    RELEASED_BY(release) struct places places = {.mirror = mirror};
    struct extent extent;
    TRY(look_at_extent(&extent, mirror, err));
    places.no_parents = extent.no_parents;
    TRY(find_first(&places.first, mirror, &extent, moved, err));
    places.n = extent.rows >= places.first ? extent.rows - places.first + 1 : 0;
    places.items = calloc(places.n + 1, sizeof *places.items);
    if (!places.items)
        return store_no_memory(err);
    for (size_t i = 0; i < places.n; i++)
        places.items[i].seq = places.first + (uint32_t)i;
    TRY(compute_all(&places, err));
    return write_all(&places, err);
}
