/*
 * setting_rows.c: the temporary table of settings in words, in the form of param_rows, so that the same statements find
 * both. It belongs to one question and lies beside lineage.db, which may be read-only.
 */

#include "../mirror/statement.h"
#include "ask_settings.h"

static const char drop_sql[] = "DROP TABLE IF EXISTS temp.setting_rows";
static const char insert_sql[] = "INSERT OR IGNORE INTO temp.setting_rows(key, value, seq) VALUES (?1, ?2, ?3)";

/* Adds the values that one trial gave to the name, or inherited. */
static enum lineage_status add_values(struct mirror *mirror, sqlite3_stmt *stmt, const struct lineage_settings *settings,
                                      uint64_t seq, size_t name, struct lineage_error *err)
{
    const struct lineage_setting *setting;
    for (size_t i = 0; (setting = lineage_settings_get(settings, seq, name, i)); i++) {
        sqlite3_bind_text(stmt, 1, settings->names[name].name, -1, SQLITE_STATIC);
        if (setting->value.present)
            sqlite3_bind_double(stmt, 2, setting->value.value);
        else
            sqlite3_bind_text(stmt, 2, setting->text, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 3, (int64_t)seq);
        TRY(mirror_run(mirror, stmt, err));
    }
    return LINEAGE_OK;
}

static bool gave_any(const struct lineage_settings *settings, uint64_t seq)
{
    bool any = false;
    for (size_t i = 0; i < settings->n && !any; i++) {
        const struct lineage_setting *setting = lineage_settings_get(settings, seq, i, 0);
        any = setting && setting->own;
    }
    return any;
}

/* Writes the seq of each trial that declares the name to from[seq * step]. */
static enum lineage_status mark_declared(struct mirror *mirror, uint32_t *from, size_t step, uint64_t last, const char *name,
                                         struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_rows(mirror, &stmt, err, "SELECT seq FROM param_rows WHERE key = ?1", "s", lineage_param_canonical(name));
    while (mirror_next(&status, mirror, stmt, err)) {
        int64_t seq = sqlite3_column_int64(stmt, 0);
        if (seq > 0 && (uint64_t)seq <= last)
            from[(size_t)seq * step] = (uint32_t)seq;
    }
    return status;
}

/* Adds the values that trials declare. */
static enum lineage_status add_declared(struct mirror *mirror, const char *name, struct lineage_error *err)
{
    return mirror_do(mirror, err,
                     "INSERT OR IGNORE INTO temp.setting_rows(key, value, seq)"
                     " SELECT ?1, value, seq FROM param_rows WHERE key = ?2",
                     "ss", name, lineage_param_canonical(name));
}

/* Seqs are counted from 1, and the provisional row may add one more. */
static enum lineage_status add_all(struct mirror *mirror, const struct lineage_settings *settings, const char *const *names,
                                   size_t n, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    uint64_t last = mirror_position(mirror)->rows + 1;
    SCOPED_FREE uint32_t *gave = calloc(last + 1, sizeof *gave);
    TRY(gave ? LINEAGE_OK : store_no_memory(err));
    for (size_t i = 0; i < n && n > settings->n; i++) /* parameters that are named beside the settings */
        TRY(mark_declared(mirror, gave, 1, last, names[i], err));
    TRY(mirror_prepare(mirror, &stmt, insert_sql, err));
    for (uint64_t seq = 1; seq <= last; seq++)
        for (size_t i = 0; (gave[seq] || gave_any(settings, seq)) && i < settings->n; i++)
            TRY(add_values(mirror, stmt, settings, seq, i, err));
    for (size_t i = 0; i < settings->n; i++)
        TRY(add_declared(mirror, settings->names[i].name, err));
    return LINEAGE_OK;
}

struct inheriting {
    struct mirror *mirror;
    uint64_t last; /* the largest seq */
    uint32_t *parents; /* [last + 1] seqs; 0: none */
    uint32_t *from; /* [last + 1][n] the trial that declared the value in force; 0: none */
};

/* Only earlier rows count as parents, so each walk up ends. */
static enum lineage_status read_parents(struct inheriting *in, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_prepare(in->mirror, &stmt, "SELECT seq, parent FROM ancestors WHERE parent BETWEEN 1 AND seq - 1", err);
    while (mirror_next(&status, in->mirror, stmt, err)) {
        int64_t seq = sqlite3_column_int64(stmt, 0);
        if (seq > 0 && (uint64_t)seq <= in->last)
            in->parents[seq] = (uint32_t)sqlite3_column_int64(stmt, 1);
    }
    return status;
}

/* Copies the value that one trial inherits from another. */
static enum lineage_status inherit(struct inheriting *in, const char *name, uint64_t seq, uint32_t from,
                                   struct lineage_error *err)
{
    return mirror_do(in->mirror, err,
                     "INSERT OR IGNORE INTO temp.setting_rows(key, value, seq)"
                     " SELECT key, value, ?3 FROM temp.setting_rows WHERE seq = ?2 AND key = ?1",
                     "sii", name, (int64_t)from, (int64_t)seq);
}

/* A trial that declares none of the names has no place in the answer, but passes on what it inherits. */
static enum lineage_status inherit_all(struct inheriting *in, const char *const *names, size_t n, struct lineage_error *err)
{
    for (uint64_t seq = 1; seq <= in->last; seq++) {
        uint32_t *own = in->from + seq * n;
        const uint32_t *base = in->from + (size_t)in->parents[seq] * n; /* those of seq 0 are 0 */
        bool declares = false;
        for (size_t i = 0; i < n; i++)
            declares = declares || own[i];
        for (size_t i = 0; i < n; i++) {
            if (declares && !own[i] && base[i] &&
                lineage_param_is_inherited(names[i], lineage_store_seeds(mirror_store(in->mirror))))
                TRY(inherit(in, names[i], seq, base[i], err));
            own[i] = own[i] ? own[i] : base[i];
        }
    }
    return LINEAGE_OK;
}

static enum lineage_status add_inherited(struct mirror *mirror, const char *const *names, size_t n, struct lineage_error *err)
{
    struct inheriting in = {.mirror = mirror, .last = mirror_position(mirror)->rows + 1};
    in.parents = calloc(in.last + 1, sizeof *in.parents);
    in.from = calloc((in.last + 1) * n, sizeof *in.from);
    enum lineage_status status = in.parents && in.from ? read_parents(&in, err) : store_no_memory(err);
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++)
        status = add_declared(mirror, names[i], err);
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++)
        status = mark_declared(mirror, in.from + i, n, in.last, names[i], err);
    if (status == LINEAGE_OK)
        status = inherit_all(&in, names, n, err);
    free(in.parents);
    free(in.from);
    return status;
}

enum lineage_status mirror_may_inherit(struct mirror *mirror, bool *may, struct lineage_error *err)
{
    *may = false;
    if (mirror_position(mirror)->names != 1)
        return LINEAGE_OK;
    return mirror_has(mirror, may, err, "SELECT 1 FROM trials INDEXED BY trials_by_parent WHERE parent_exp <> '' LIMIT 1", "");
}

static enum lineage_status begin_table(struct mirror *mirror, struct lineage_error *err)
{
    enum lineage_status status = mirror_exec(mirror, drop_sql, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(mirror,
                             "CREATE TABLE temp.setting_rows (key TEXT NOT NULL, value NOT NULL, seq INTEGER NOT NULL,"
                             " PRIMARY KEY (key, value, seq)) WITHOUT ROWID;"
                             " CREATE INDEX temp.setting_rows_by_seq ON setting_rows(seq, key)",
                             err);
    if (status != LINEAGE_OK || !sqlite3_get_autocommit(mirror_db(mirror))) /* the end of the last one failed */
        return status;
    return mirror_exec(mirror, "BEGIN", err);
}

/* Ends it with COMMIT instead of ROLLBACK, because a cursor of the handle may be open. */
static enum lineage_status end_table(struct mirror *mirror, enum lineage_status status, struct lineage_error *err)
{
    enum lineage_status ended = mirror_exec(mirror, "COMMIT", status == LINEAGE_OK ? err : NULL);
    return status == LINEAGE_OK ? ended : status;
}

/* One transaction, because each would cost more than its row. */
enum lineage_status mirror_settings_fill(struct mirror *mirror, const struct lineage_settings *settings, const char *const *names,
                                         size_t n, struct lineage_error *err)
{
    TRY(begin_table(mirror, err));
    return end_table(mirror, add_all(mirror, settings, names, n, err), err);
}

enum lineage_status mirror_inherited_fill(struct mirror *mirror, const char *const *names, size_t n, struct lineage_error *err)
{
    TRY(begin_table(mirror, err));
    return end_table(mirror, add_inherited(mirror, names, n, err), err);
}

/* A table that cannot be dropped now is dropped by the next question that fills it. */
void mirror_settings_drop(struct mirror *mirror)
{
    sqlite3_exec(mirror_db(mirror), drop_sql, NULL, NULL, NULL);
}

enum lineage_status mirror_count_declared(struct mirror *mirror, const char *name, size_t *n, struct lineage_error *err)
{
    int64_t count = 0;
    enum lineage_status status =
        mirror_integer(mirror, &count, err, "SELECT count(*) FROM param_rows WHERE key = ?1 AND seq NOT IN " VOID_ROWS, "s",
                       lineage_param_canonical(name));
    *n = (size_t)count;
    return status;
}
