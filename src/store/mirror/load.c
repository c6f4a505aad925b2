/* load.c: rows of the mirror as trials; finding one by id; the best one. */
#include <math.h>
#include <string.h>

#include "internal.h"

static const char *text_at(sqlite3_stmt *stmt, int at, struct arena *arena, bool *ok)
{
    const char *text = (const char *)sqlite3_column_text(stmt, at);
    if (!text || !*text)
        return "";
    const char *out = arena_text(arena, text, (size_t)sqlite3_column_bytes(stmt, at));
    *ok = *ok && out;
    return out;
}

static struct lineage_number number_at(sqlite3_stmt *stmt, int at, int special)
{
    if (special & 1)
        return (struct lineage_number){true, (double)NAN};
    if (special & MIRROR_NEGATIVE_ZERO)
        return (struct lineage_number){true, -0.0};
    if (sqlite3_column_type(stmt, at) == SQLITE_NULL)
        return (struct lineage_number){0};
    return (struct lineage_number){true, sqlite3_column_double(stmt, at)};
}

static void load_columns(sqlite3_stmt *stmt, struct lineage_trial *trial, struct arena *arena,
                         bool *ok)
{
    int special = sqlite3_column_int(stmt, N_TRIAL_COLUMNS - 1), at = 2;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++, at++) {
        const struct lineage_column *column = lineage_column(i);
        if (column->kind == LINEAGE_COLUMN_TEXT) {
            *trial_text_member(trial, i) = text_at(stmt, at, arena, ok);
        } else if (column->kind == LINEAGE_COLUMN_NUMBER) {
            *trial_number_member(trial, i) = number_at(stmt, at, special);
            special >>= 1;
        } else {
            const char *label = (const char *)sqlite3_column_text(stmt, at);
            *ok = *ok && label && lineage_label_parse(&trial->status, label);
        }
    }
    trial->score = number_at(stmt, at, special);
}

/* Columns outside the 17 in the order of the file, empty until they are filled in. */
static struct lineage_extra *name_extras(const struct row_layout *layout, struct arena *arena)
{
    struct lineage_extra *extras = arena_alloc(arena, layout->n_extras, sizeof *extras);
    size_t n = 0;
    for (size_t i = 0; extras && i < layout->n_cells && n < layout->n_extras; i++)
        if (row_is_extra(layout, i)) {
            const char *name = arena_text(arena, layout->names[i], strlen(layout->names[i]));
            if (!name)
                return NULL;
            extras[n++] = (struct lineage_extra){name, ""};
        }
    return extras;
}

static bool fill_extra(struct lineage_extra *extras, size_t n, sqlite3_stmt *stmt,
                       struct arena *arena)
{
    bool ok = true;
    const char *name = (const char *)sqlite3_column_text(stmt, 0),
               *text = text_at(stmt, 1, arena, &ok);
    for (size_t i = 0; name && i < n; i++)
        if (strcmp(extras[i].column, name) == 0)
            extras[i].text = text;
    return ok;
}

static enum lineage_status load_extras(struct mirror *mirror, struct lineage_trial *trial,
                                       struct arena *arena, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    const struct row_layout *layout = mirror_layout(mirror);
    if (!layout || !layout->n_extras)
        return LINEAGE_OK;
    struct lineage_extra *extras = name_extras(layout, arena);
    bool ok = extras != NULL;
    enum lineage_status status =
        mirror_prepare(mirror, &stmt, "SELECT name, value FROM extras WHERE seq = ?", err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(stmt, 1, (int64_t)trial->seq);
    while (ok && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK)
        ok = fill_extra(extras, layout->n_extras, stmt, arena);
    sqlite3_reset(stmt);
    trial->extras = extras;
    trial->n_extras = layout->n_extras;
    if (!ok)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status mirror_trial(struct mirror *mirror, sqlite3_stmt *stmt,
                                 struct lineage_trial *trial, struct arena *arena,
                                 struct lineage_error *err)
{
    void *memory = trial->memory;
    bool ok = true;
    *trial = (struct lineage_trial){.memory = memory};
    trial->seq = (uint64_t)sqlite3_column_int64(stmt, 0);
    trial->line = (uint64_t)sqlite3_column_int64(stmt, 1);
    load_columns(stmt, trial, arena, &ok);
    if (!ok)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    enum lineage_status status = notes_parse(trial, trial->notes, arena, err);
    return status == LINEAGE_OK ? load_extras(mirror, trial, arena, err) : status;
}

enum lineage_status mirror_own_trial(struct mirror *mirror, sqlite3_stmt *stmt,
                                     struct lineage_trial *trial, struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    struct arena *arena = trial_memory(trial);
    if (!arena)
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    enum lineage_status status = mirror_trial(mirror, stmt, trial, arena, err);
    if (status != LINEAGE_OK)
        lineage_trial_release(trial);
    return status;
}

static enum lineage_status find_exact(struct mirror *mirror, const char *id, size_t length,
                                      const char *prefix, int64_t *seq, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(
        mirror, &stmt, "SELECT seq FROM trials WHERE exp_id = ?1 || ?2 ORDER BY seq DESC LIMIT 1",
        err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, prefix, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, id, (int)length, SQLITE_STATIC);
    status = mirror_step(mirror, stmt, err);
    if (status == LINEAGE_OK)
        *seq = sqlite3_column_int64(stmt, 0);
    sqlite3_reset(stmt);
    return status;
}

enum lineage_status mirror_find_exact(struct mirror *mirror, const char *id, int64_t *seq,
                                      struct lineage_error *err)
{
    return find_exact(mirror, id, strlen(id), "", seq, err);
}

enum lineage_status mirror_find(struct mirror *mirror, const char *id, int64_t *seq,
                                struct lineage_error *err)
{
    enum lineage_status status = find_exact(mirror, id, strlen(id), "", seq, err);
    if (status == LINEAGE_ENOTFOUND && strncmp(id, "exp_", 4) == 0)
        status = find_exact(mirror, id + 4, strlen(id) - 4, "", seq, err);
    if (status == LINEAGE_ENOTFOUND)
        status = find_exact(mirror, id, strlen(id), "exp_", seq, err);
    return status;
}

enum lineage_status mirror_best(struct mirror *mirror, int64_t *seq, double *score,
                                struct lineage_error *err)
{
    static const char lower[] = "SELECT seq, score FROM trials WHERE status IN ('keep', 'baseline')"
                                " AND score > -9e999 AND score < 9e999 ORDER BY score, seq LIMIT 1";
    static const char higher[] =
        "SELECT seq, score FROM trials WHERE status IN ('keep', 'baseline')"
        " AND score > -9e999 AND score < 9e999 ORDER BY score DESC, seq LIMIT 1";
    sqlite3_stmt *stmt;
    bool up = mirror->store->config.direction == LINEAGE_HIGHER;
    enum lineage_status status = mirror_prepare(mirror, &stmt, up ? higher : lower, err);
    if (status == LINEAGE_OK)
        status = mirror_step(mirror, stmt, err);
    if (status == LINEAGE_OK) {
        *seq = sqlite3_column_int64(stmt, 0);
        *score = sqlite3_column_double(stmt, 1);
        sqlite3_reset(stmt);
    }
    return status;
}

enum lineage_status mirror_is_parent(struct mirror *mirror, const char *id, bool *found,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    *found = false;
    enum lineage_status status = mirror_prepare(
        mirror, &stmt,
        "SELECT 1 FROM trials WHERE parent_exp IN (?1, 'exp_' || ?1) AND parent_exp <> '' LIMIT 1",
        err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_text(stmt, 1, strncmp(id, "exp_", 4) == 0 ? id + 4 : id, -1, SQLITE_STATIC);
    status = mirror_step(mirror, stmt, err);
    *found = status == LINEAGE_OK;
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}
