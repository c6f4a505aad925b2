/*
 * measured_cache.c: keeps measurements in the tables measured_rows, measured_changes and measured_lines of lineage.db.
 *
 * A digest of the trial's row shows whether a saved measurement can be used. Files are compared before the lock of lineage.db is taken. This process does
 * not wait for the lock: what cannot be saved now is saved by a later question.
 */
#include "measured_cache.h"

#include <fcntl.h>

#include <lineage/code.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../mirror/connection.h"
#include "../mirror/statement.h"
#include "collecting.h"

/* Raise it when a reader finds something else in the same files. */
enum { MEASURED_VERSION = 5, ROWS_PER_SAVE = 200 };

/* A trial that may have something to compare. */
struct candidate {
    uint64_t seq, row; /* row: digest of its row */
    struct lineage_measured measured;
    bool known, settled; /* settled: may be saved */
};

/* Trials first..last, counted from 1. */
struct stretch {
    int64_t first, last;
};

struct cache {
    struct lineage_store *store;
    struct mirror *mirror;
    const struct stretch *stretches; /* [n_stretches] which trials, ascending */
    size_t n_stretches;
    struct candidate *items;
    size_t n, capacity;
};

static bool has_provenance(const struct cache *c, const char *exp_id)
{
    char path[sizeof PLACE_PROVENANCE "/" + LINEAGE_NAME_MAX];
    struct stat st;
    int n =
        !*exp_id || *exp_id == '.' || strchr(exp_id, '/') ? -1 : snprintf(path, sizeof path, "%s/%s", PLACE_PROVENANCE, exp_id);
    return n > 0 && (size_t)n < sizeof path && fs_stat(c->store->dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) == 0;
}

static uint64_t add_text(uint64_t hash, const char *text)
{
    return literal_hash(hash + 1, text, strlen(text));
}

static void forget(struct cache *c)
{
    for (size_t i = 0; i < c->n; i++)
        lineage_measured_release(&c->items[i].measured);
    c->n = 0;
}

static enum lineage_status add_candidate(struct cache *c, sqlite3_stmt *stmt, struct lineage_error *err)
{
    struct lineage_code_note code = {.digest = ""};
    const char *id = mirror_text(stmt, 1), *snapshot = mirror_text(stmt, 3);
    lineage_code_note_parse(&code, mirror_text(stmt, 4));
    const bool provenance = has_provenance(c, id);
    if (!*snapshot && !*code.digest && !provenance)
        return LINEAGE_OK;
    if (!LIST_ROOM(c->items, c->n, c->capacity))
        return store_no_memory(err);
    /* The provenance of a row from another machine may arrive later. */
    uint64_t row = add_text(add_text(MEASURED_VERSION + (provenance ? 100u : 0u), id), mirror_text(stmt, 2));
    c->items[c->n++] = (struct candidate){.seq = (uint64_t)sqlite3_column_int64(stmt, 0),
                                          .row = add_text(add_text(row, snapshot), code.digest),
                                          .measured = {.against = "", .command_against = ""}};
    return LINEAGE_OK;
}

static int compare_seq(const void *key, const void *item)
{
    uint64_t x = *(const uint64_t *)key, y = ((const struct candidate *)item)->seq;
    return (x > y) - (x < y);
}

static struct candidate *find(struct cache *c, uint64_t seq)
{
    return bsearch(&seq, c->items, c->n, sizeof *c->items, compare_seq);
}

/* A text of the schema that may be NULL. */
static const char *text_at(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NULL : mirror_text(stmt, column);
}

static struct lineage_number number_at(sqlite3_stmt *stmt, int column)
{
    bool there = sqlite3_column_type(stmt, column) != SQLITE_NULL;
    return (struct lineage_number){there, there ? sqlite3_column_double(stmt, column) : 0};
}

/* Loads the changes and lines of one saved measurement. */
static enum lineage_status load_parts(struct cache *c, uint64_t seq, struct collecting *found, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_rows(
        c->mirror, &stmt, err,
        "SELECT file, scope, name, old, new, old_value, new_value, line FROM measured_changes WHERE seq = ? ORDER BY place", "i",
        (int64_t)seq);
    while (status == LINEAGE_OK && (status = mirror_step(c->mirror, stmt, err)) == LINEAGE_OK)
        collect_change(found, &(struct lineage_measured_change){.file = mirror_text(stmt, 0),
                                                                .scope = mirror_text(stmt, 1),
                                                                .name = mirror_text(stmt, 2),
                                                                .from = text_at(stmt, 3),
                                                                .to = mirror_text(stmt, 4),
                                                                .from_value = number_at(stmt, 5),
                                                                .to_value = number_at(stmt, 6),
                                                                .line = (uint32_t)sqlite3_column_int64(stmt, 7)});
    if (status == LINEAGE_ENOTFOUND)
        status = mirror_rows(c->mirror, &stmt, err,
                             "SELECT file, heading, added, removed, kind FROM measured_lines WHERE seq = ? ORDER BY place", "i",
                             (int64_t)seq);
    while (status == LINEAGE_OK && (status = mirror_step(c->mirror, stmt, err)) == LINEAGE_OK)
        collect_code(found, mirror_text(stmt, 0), text_at(stmt, 1), (size_t)sqlite3_column_int64(stmt, 2),
                     (size_t)sqlite3_column_int64(stmt, 3), (enum lineage_lines_kind)sqlite3_column_int(stmt, 4));
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Steps to the next row of a statement, of which the first two values are those of a stretch. *at: the next stretch; 0 before
 * the first step. */
static enum lineage_status step(struct cache *c, sqlite3_stmt *stmt, size_t *at, struct lineage_error *err)
{
    enum lineage_status status = *at ? mirror_step(c->mirror, stmt, err) : LINEAGE_ENOTFOUND;
    while (status == LINEAGE_ENOTFOUND && *at < c->n_stretches) {
        sqlite3_reset(stmt);
        sqlite3_bind_int64(stmt, 1, c->stretches[*at].first);
        sqlite3_bind_int64(stmt, 2, c->stretches[*at].last);
        ++*at;
        status = mirror_step(c->mirror, stmt, err);
    }
    return status;
}

static enum lineage_status load_one(struct cache *c, struct candidate *item, sqlite3_stmt *row, struct lineage_error *err)
{
    struct collecting found = {.incomplete = sqlite3_column_int(row, 4) != 0};
    const char *against = arena_text(&found.arena, mirror_text(row, 2), strlen(mirror_text(row, 2)));
    const char *command = arena_text(&found.arena, mirror_text(row, 3), strlen(mirror_text(row, 3)));
    enum lineage_status status = load_parts(c, item->seq, &found, err);
    found.failed = found.failed || !against || !command || status != LINEAGE_OK;
    enum lineage_status finished = collect_finish(&found, &item->measured, status == LINEAGE_OK ? err : NULL);
    if (finished == LINEAGE_OK) {
        item->measured.against = against;
        item->measured.command_against = command;
        item->known = true;
    }
    return status == LINEAGE_OK ? finished : status;
}

/* A question of mirror_ask: finds the candidates, and what lineage.db knows about them. One transaction, so that the tables agree with
 * each other. */
static enum lineage_status load(void *question, struct lineage_error *err)
{
    struct cache *c = question;
    sqlite3_stmt *trials, *rows = NULL;
    forget(c);
    enum lineage_status status = mirror_exec(c->mirror, "BEGIN", err);
    if (status != LINEAGE_OK)
        return status;
    status = mirror_prepare(c->mirror, &trials,
                            "SELECT seq, exp_id, parent_exp, snapshot_path, notes FROM trials WHERE seq BETWEEN ?1 AND ?2"
                            " ORDER BY seq",
                            err);
    for (size_t at = 0; status == LINEAGE_OK && (status = step(c, trials, &at, err)) == LINEAGE_OK;)
        status = add_candidate(c, trials, err);
    if (status == LINEAGE_ENOTFOUND)
        status = mirror_prepare(c->mirror, &rows,
                                "SELECT seq, digest, against, command_against, incomplete FROM measured_rows"
                                " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
                                err);
    for (size_t at = 0; c->n && status == LINEAGE_OK && (status = step(c, rows, &at, err)) == LINEAGE_OK;) {
        struct candidate *item = find(c, (uint64_t)sqlite3_column_int64(rows, 0));
        if (item && item->row == (uint64_t)sqlite3_column_int64(rows, 1))
            status = load_one(c, item, rows, err);
    }
    sqlite3_reset(trials);
    sqlite3_reset(rows);
    sqlite3_exec(mirror_db(c->mirror), "COMMIT", NULL, NULL, NULL);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status save_changes(struct cache *c, const struct candidate *item, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; i < item->measured.n_changes && status == LINEAGE_OK; i++) {
        const struct lineage_measured_change *change = &item->measured.changes[i];
        status = mirror_do(c->mirror, err,
                           "INSERT INTO measured_changes (seq, place, file, scope, name, old, new, old_value, new_value, line)"
                           " VALUES (?,?,?,?,?,?,?,?,?,?)",
                           "iisssssnni", (int64_t)item->seq, (int64_t)i, change->file, change->scope, change->name, change->from,
                           change->to, change->from_value, change->to_value, (int64_t)change->line);
    }
    return status;
}

static enum lineage_status save_lines(struct cache *c, const struct candidate *item, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; i < item->measured.n_lines && status == LINEAGE_OK; i++) {
        const struct lineage_measured_lines *lines = &item->measured.lines[i];
        status = mirror_do(c->mirror, err,
                           "INSERT INTO measured_lines (seq, place, file, heading, added, removed, kind) VALUES (?,?,?,?,?,?,?)",
                           "iissiii", (int64_t)item->seq, (int64_t)i, lines->file, lines->heading, (int64_t)lines->added,
                           (int64_t)lines->removed, (int64_t)lines->kind);
    }
    return status;
}

static enum lineage_status save_one(struct cache *c, const struct candidate *item, struct lineage_error *err)
{
    const int64_t seq = (int64_t)item->seq;
    enum lineage_status status = mirror_do(c->mirror, err, "DELETE FROM measured_changes WHERE seq = ?", "i", seq);
    if (status == LINEAGE_OK)
        status = mirror_do(c->mirror, err, "DELETE FROM measured_lines WHERE seq = ?", "i", seq);
    if (status == LINEAGE_OK)
        status = save_changes(c, item, err);
    if (status == LINEAGE_OK)
        status = save_lines(c, item, err);
    return status == LINEAGE_OK
               ? mirror_do(c->mirror, err,
                           "REPLACE INTO measured_rows (seq, digest, against, command_against, incomplete) VALUES (?,?,?,?,?)",
                           "iissi", seq, (int64_t)item->row, item->measured.against, item->measured.command_against,
                           (int64_t)item->measured.incomplete)
               : status;
}

/* Saves the settled items, ROWS_PER_SAVE in a transaction. What cannot be saved now is saved by a later question. */
static void save(struct cache *c)
{
    struct lineage_error ignored;
    enum lineage_status status = LINEAGE_OK;
    for (size_t at = 0; at < c->n && status == LINEAGE_OK;) {
        status = mirror_exec(c->mirror, "BEGIN IMMEDIATE", &ignored);
        if (status != LINEAGE_OK)
            return;
        for (size_t n = 0; at < c->n && n < ROWS_PER_SAVE && status == LINEAGE_OK; at++)
            if (c->items[at].settled) {
                status = save_one(c, &c->items[at], &ignored);
                n++;
            }
        if (status == LINEAGE_OK)
            status = mirror_exec(c->mirror, "COMMIT", &ignored);
        if (status != LINEAGE_OK)
            sqlite3_exec(mirror_db(c->mirror), "ROLLBACK", NULL, NULL, NULL);
    }
}

static bool has_files(const struct lineage_store *store)
{
    return fs_is_dir(store->dir_fd, PLACE_SNAPSHOTS) || fs_is_dir(store->dir_fd, PLACE_PROVENANCE) ||
           fs_is_dir(store->dir_fd, PLACE_CODE);
}

static enum lineage_status visit_stretches(struct lineage_store *store, const struct stretch *stretches, size_t n,
                                           measured_visit *visit, void *context, struct lineage_error *err)
{
    struct cache c = {.store = store, .mirror = store->mirror, .stretches = stretches, .n_stretches = n};
    bool unsaved = false;
    enum lineage_status status = mirror_ask(store->mirror, load, &c, err);
    for (size_t i = 0; i < c.n && status == LINEAGE_OK; i++)
        if (!c.items[i].known) {
            status = measure_trial_at(&c.items[i].measured, &c.items[i].settled, store, c.items[i].seq, err);
            unsaved = unsaved || c.items[i].settled;
        }
    if (status == LINEAGE_OK && unsaved && mirror_may_write(store->mirror)) {
        mirror_wait_no_more(store->mirror, true);
        save(&c);
        mirror_wait_no_more(store->mirror, false);
    }
    for (size_t i = 0; i < c.n && status == LINEAGE_OK && visit; i++)
        if (*c.items[i].measured.against || *c.items[i].measured.command_against)
            status = visit(context, c.items[i].seq, &c.items[i].measured, err);
    forget(&c);
    free(c.items);
    return status;
}

enum lineage_status measured_each(struct lineage_store *store, uint64_t first, uint64_t last, measured_visit *visit,
                                  void *context, struct lineage_error *err)
{
    const struct stretch all = {(int64_t)first, (int64_t)last};
    return has_files(store) ? visit_stretches(store, &all, 1, visit, context, err) : LINEAGE_OK;
}

enum lineage_status measured_some(struct lineage_store *store, const int64_t *seqs, size_t n, measured_visit *visit,
                                  void *context, struct lineage_error *err)
{
    if (!n || !has_files(store))
        return LINEAGE_OK;
    struct stretch *stretches = malloc(n * sizeof *stretches);
    if (!stretches)
        return store_no_memory(err);
    for (size_t i = 0; i < n; i++)
        stretches[i] = (struct stretch){seqs[i], seqs[i]};
    enum lineage_status status = visit_stretches(store, stretches, n, visit, context, err);
    free(stretches);
    return status;
}

/* The measurement moves to the caller. */
static enum lineage_status take(void *context, uint64_t seq, struct lineage_measured *measured, struct lineage_error *err)
{
    struct lineage_measured *mine = context;
    (void)seq;
    (void)err;
    *mine = *measured;
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    return LINEAGE_OK;
}

enum lineage_status lineage_measure_trial(struct lineage_measured *measured, struct lineage_store *store,
                                          const struct lineage_trial *trial, struct lineage_error *err)
{
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    return measured_each(store, trial->seq, trial->seq, take, measured, err);
}
