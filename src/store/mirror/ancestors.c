/*
 * ancestors.c: computes the table `ancestors`.
 *
 * A parent is a name. The row that it names may come later in the log, be missing, or change when a later row has the same id;
 * and a void may change whether an ancestor is kept. So the rows to compute are the new ones, the moved ones, and all their
 * descendants. If these are many, the whole table is computed again, without looking for descendants.
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

/* The rows to compute. They are either a stretch of the log or any rows, which are found by a hash table. */
struct places {
    struct mirror *mirror;
    struct place *items; /* [n] */
    size_t n, capacity;
    bool stretch; /* items[i] has seq first + i */
    uint32_t first;
    uint32_t *slots; /* otherwise: open addressing, index + 1, 0 is empty; [n_slots], a power of two */
    size_t n_slots;
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

/* Rows that name the trial in another spelling may mean another row; they are computed again in vain. */
enum lineage_status ancestors_add_children(struct mirror_seqs *rows, struct mirror *mirror, int64_t seq,
                                           struct lineage_error *err)
{
    static const char sql[] = "SELECT c.seq FROM trials t CROSS JOIN trials c INDEXED BY "
                              "trials_by_parent ON c.parent_exp IN (t.exp_id,"
                              " 'exp_' || t.exp_id, CASE WHEN substr(t.exp_id, 1, 4) = 'exp_' THEN "
                              "substr(t.exp_id, 5) END)"
                              " AND c.parent_exp <> '' WHERE t.seq = ?1";
    sqlite3_stmt *stmt;
    TRY(mirror_rows(mirror, &stmt, err, sql, "i", seq));
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

/* ---- which rows to compute ---- */

static struct place *find(const struct places *places, uint32_t seq)
{
    if (places->stretch)
        return seq >= places->first && seq - places->first < places->n ? &places->items[seq - places->first] : NULL;
    size_t slot = (size_t)((uint64_t)seq * 0x9e3779b97f4a7c15u >> 20) & (places->n_slots - 1);
    for (; places->n_slots && places->slots[slot]; slot = (slot + 1) & (places->n_slots - 1))
        if (places->items[places->slots[slot] - 1].seq == seq)
            return &places->items[places->slots[slot] - 1];
    return NULL;
}

/* The table is at most half full. */
static bool enter(struct places *places)
{
    bool grow = 2 * (places->n + 1) > places->n_slots;
    size_t from = places->n - 1;
    if (grow) {
        size_t n_slots = places->n_slots ? 2 * places->n_slots : 64;
        uint32_t *slots = calloc(n_slots, sizeof *slots);
        if (!slots)
            return false;
        free(places->slots);
        places->slots = slots;
        places->n_slots = n_slots;
        from = 0;
    }
    for (size_t i = from; i < places->n; i++) {
        size_t slot = (size_t)((uint64_t)places->items[i].seq * 0x9e3779b97f4a7c15u >> 20) & (places->n_slots - 1);
        while (places->slots[slot])
            slot = (slot + 1) & (places->n_slots - 1);
        places->slots[slot] = (uint32_t)i + 1;
    }
    return true;
}

static bool add(struct places *places, uint32_t seq)
{
    if (find(places, seq))
        return true;
    if (!LIST_ROOM(places->items, places->n, places->capacity))
        return false;
    places->items[places->n++] = (struct place){.seq = seq};
    return enter(places);
}

/* Adds the rows that descend from those in the set. Stops, with *too_many set, when the set has more than `most` rows. */
static enum lineage_status add_descendants(struct places *places, size_t most, bool *too_many, struct lineage_error *err)
{
    struct mirror_seqs children = {0};
    enum lineage_status status = LINEAGE_OK;
    *too_many = places->n > most;
    for (size_t i = 0; status == LINEAGE_OK && !*too_many && i < places->n; i++) {
        children.n = 0;
        status = ancestors_add_children(&children, places->mirror, places->items[i].seq, err);
        for (size_t k = 0; status == LINEAGE_OK && k < children.n; k++)
            if (!add(places, (uint32_t)children.items[k]))
                status = store_no_memory(err);
        *too_many = places->n > most;
    }
    free(children.items);
    return status;
}

/* Makes the set a stretch of the log, first..last. */
static bool take_stretch(struct places *places, uint32_t first, uint32_t last)
{
    size_t n = last >= first ? (size_t)last - first + 1 : 0;
    free(places->items);
    free(places->slots);
    places->slots = NULL;
    places->n_slots = 0;
    places->stretch = true;
    places->first = first;
    places->items = calloc(n + 1, sizeof *places->items);
    places->n = places->capacity = places->items ? n : 0;
    for (size_t i = 0; i < places->n; i++)
        places->items[i].seq = first + (uint32_t)i;
    return places->items != NULL;
}

/* ---- what they depend on ---- */

/* Reads the status and the parent of each row by itself: there are few. */
static enum lineage_status read_each(struct places *places, struct lineage_error *err)
{
    static const char sql[] = "SELECT t.status IN ('keep', 'baseline'), CASE WHEN t.parent_exp <> '' THEN " PARENT
                              " ELSE 0 END FROM trials t WHERE t.seq = ?1";
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(places->mirror, &stmt, sql, err);
    for (size_t i = 0; status == LINEAGE_OK && i < places->n; i++) {
        struct place *place = &places->items[i];
        sqlite3_reset(stmt);
        sqlite3_bind_int64(stmt, 1, place->seq);
        status = mirror_step(places->mirror, stmt, err);
        if (status == LINEAGE_OK) {
            place->kept = sqlite3_column_int(stmt, 0) != 0;
            place->parent = (uint32_t)sqlite3_column_int64(stmt, 1);
        }
    }
    return mirror_end_rows(stmt, status);
}

/* Reads both from indexes that contain all that is needed, because the rows of a whole log are wide. */
static enum lineage_status read_stretch(struct places *places, struct lineage_error *err)
{
    static const char kept[] = "SELECT seq FROM trials INDEXED BY kept_by_score WHERE status IN ('keep', 'baseline')";
    static const char parents[] = "SELECT t.seq, " PARENT " FROM trials t INDEXED BY trials_by_parent WHERE t.parent_exp <> ''";
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(places->mirror, &stmt, kept, err);
    while (mirror_next(&status, places->mirror, stmt, err)) {
        struct place *place = find(places, (uint32_t)sqlite3_column_int64(stmt, 0));
        if (place)
            place->kept = 1;
    }
    if (status == LINEAGE_OK)
        status = mirror_prepare(places->mirror, &stmt, parents, err);
    while (mirror_next(&status, places->mirror, stmt, err)) {
        struct place *place = find(places, (uint32_t)sqlite3_column_int64(stmt, 0));
        if (place)
            place->parent = (uint32_t)sqlite3_column_int64(stmt, 1);
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

/* Takes the last kept trial before each row for its parent. The set is a stretch, up to the end of the log. */
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
    TRY(places->stretch ? read_stretch(places, err) : read_each(places, err));
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

/* Rows from the first new or moved one on. */
static bool take_rest(struct places *places, const struct extent *extent, const struct mirror_seqs *moved)
{
    uint32_t first = extent->there + 1;
    for (size_t i = 0; i < moved->n; i++)
        if (moved->items[i] < first)
            first = (uint32_t)moved->items[i];
    return take_stretch(places, first, extent->rows);
}

/* Chooses the rows to compute. Above a quarter of the log, computing everything costs less than looking for descendants. */
static enum lineage_status choose(struct places *places, const struct extent *extent, const struct mirror_seqs *moved,
                                  struct lineage_error *err)
{
    enum { FEW = 1000 };
    const size_t most = extent->rows / 4 > FEW ? extent->rows / 4 : FEW;
    bool turned = extent->there && extent->no_parents == extent->had_parents;
    bool too_many = turned || extent->rows - extent->there > most, ok = true;
    enum lineage_status status = LINEAGE_OK;
    if (places->no_parents && !turned)
        return take_rest(places, extent, moved) ? LINEAGE_OK : store_no_memory(err);
    for (uint32_t seq = extent->there + 1; ok && !too_many && seq <= extent->rows; seq++)
        ok = add(places, seq);
    for (size_t i = 0; ok && !too_many && i < moved->n; i++)
        ok = moved->items[i] > extent->rows || add(places, (uint32_t)moved->items[i]);
    if (ok && !too_many)
        status = add_descendants(places, most, &too_many, err);
    if (ok && status == LINEAGE_OK && too_many)
        ok = take_stretch(places, 1, extent->rows);
    return ok ? status : store_no_memory(err);
}

static void release(struct places *places)
{
    free(places->items);
    free(places->slots);
    free(places->way);
}

enum lineage_status ancestors_update(struct mirror *mirror, const struct mirror_seqs *moved, struct lineage_error *err)
{
    RELEASED_BY(release) struct places places = {.mirror = mirror};
    struct extent extent;
    TRY(look_at_extent(&extent, mirror, err));
    places.no_parents = extent.no_parents;
    TRY(choose(&places, &extent, moved, err));
    TRY(compute_all(&places, err));
    return write_all(&places, err);
}
