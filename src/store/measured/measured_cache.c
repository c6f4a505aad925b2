/*
 * measured_cache.c: keeps measurements in the tables measured_rows, measured_changes and measured_lines of lineage.db.
 *
 * A digest over the trial's row and over everything that was found shows whether a saved measurement can be used, so an
 * edited or half-written one is made again. Files are compared before the lock of lineage.db is taken. This process does
 * not wait for the lock: what cannot be saved now is saved by a later question.
 */
#include "measured_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/code.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../mirror/connection.h"
#include "../mirror/statement.h"
#include "measure_trial.h"
#include "literals.h"

/* Raise it when a reader finds something else in the same files. */
enum { MEASURED_VERSION = 2, ROWS_PER_SAVE = 200 };

/* A trial that may have something to compare. */
struct candidate {
    uint64_t seq, row; /* row: digest of its row */
    struct lineage_measured measured;
    bool known, settled; /* settled: may be saved */
};

struct names {
    char **items;
    size_t n, capacity;
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
    bool listed;             /* provenance was listed; otherwise each trial's is looked for */
    struct names provenance; /* ids of the trials that have one, sorted */
    struct candidate *items;
    size_t n, capacity;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum lineage_status list_provenance(struct cache *c, struct lineage_error *err)
{
    struct names *names = &c->provenance;
    int fd = fs_open(c->store->dir_fd, PLACE_PROVENANCE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    DIR *dir = fd >= 0 ? fs_list(fd) : NULL;
    const char *name;
    bool ok = true;
    while (ok && dir && (name = fs_next(dir))) {
        ok = LIST_ROOM(names->items, names->n, names->capacity) && (names->items[names->n] = strdup(name)) != NULL;
        names->n += ok;
    }
    if (dir)
        closedir(dir);
    if (names->n)
        qsort(names->items, names->n, sizeof *names->items, by_name);
    return ok ? LINEAGE_OK : store_no_memory(err);
}

static bool has_provenance(const struct cache *c, const char *exp_id)
{
    char path[sizeof PLACE_PROVENANCE "/" + LINEAGE_NAME_MAX];
    struct stat st;
    if (!c->listed) {
        int n = !*exp_id || *exp_id == '.' || strchr(exp_id, '/')
                    ? -1
                    : snprintf(path, sizeof path, "%s/%s", PLACE_PROVENANCE, exp_id);
        return n > 0 && (size_t)n < sizeof path && fs_stat(c->store->dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) == 0;
    }
    return c->provenance.n && bsearch(&exp_id, c->provenance.items, c->provenance.n, sizeof *c->provenance.items, by_name);
}

/* ---- digests ---- */

static uint64_t add_text(uint64_t hash, const char *text)
{
    return text ? literal_hash(hash + 1, text, strlen(text)) : literal_hash(hash, "", 0);
}

static uint64_t add_bytes(uint64_t hash, const void *value, size_t size)
{
    return literal_hash(hash, value, size);
}

static uint64_t add_number(uint64_t hash, struct lineage_number number)
{
    double value = number.present ? number.value : 0;
    return add_bytes(hash + number.present, &value, sizeof value);
}

static uint64_t digest_of(uint64_t row, const struct lineage_measured *m)
{
    uint64_t hash = add_text(add_text(row + m->incomplete, m->against), m->command_against);
    for (size_t i = 0; i < m->n_changes; i++) {
        const struct lineage_measured_change *c = &m->changes[i];
        const char *const texts[] = {c->file, c->scope, c->name, c->from, c->to};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            hash = add_text(hash, texts[k]);
        hash = add_number(add_number(hash + c->line, c->from_value), c->to_value);
    }
    for (size_t i = 0; i < m->n_lines; i++) {
        const struct lineage_measured_lines *l = &m->lines[i];
        const uint64_t numbers[] = {l->added, l->removed, (uint64_t)l->kind};
        hash = add_bytes(add_text(add_text(hash + 2, l->file), l->heading), numbers, sizeof numbers);
    }
    return hash;
}

/* ---- loading ---- */

static void forget(struct cache *c)
{
    for (size_t i = 0; i < c->n; i++)
        lineage_measured_release(&c->items[i].measured);
    c->n = 0;
}

static enum lineage_status prepare(struct cache *c, sqlite3_stmt **stmt, const char *sql, struct lineage_error *err)
{
    *stmt = NULL;
    return sqlite3_prepare_v2(mirror_db(c->mirror), sql, -1, stmt, NULL) == SQLITE_OK
               ? LINEAGE_OK
               : mirror_fail(c->mirror, "cannot read what trials changed", err);
}

static enum lineage_status add_candidate(struct cache *c, sqlite3_stmt *stmt, struct lineage_error *err)
{
    struct lineage_code_note code = {.digest = ""};
    const char *id = mirror_text(stmt, 1), *snapshot = mirror_text(stmt, 3);
    lineage_code_note_parse(&code, mirror_text(stmt, 4));
    if (!*snapshot && !*code.digest && !has_provenance(c, id))
        return LINEAGE_OK;
    if (!LIST_ROOM(c->items, c->n, c->capacity))
        return store_no_memory(err);
    /* The provenance of a row from another machine may arrive later. */
    uint64_t row = add_text(add_text(MEASURED_VERSION + (has_provenance(c, id) ? 100u : 0u), id), mirror_text(stmt, 2));
    c->items[c->n++] = (struct candidate){.seq = (uint64_t)sqlite3_column_int64(stmt, 0),
                                          .row = add_text(add_text(row, snapshot), code.digest),
                                          .measured = {.against = "", .command_against = ""}};
    return LINEAGE_OK;
}

static struct candidate *find(struct cache *c, uint64_t seq)
{
    size_t low = 0, high = c->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (c->items[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < c->n && c->items[low].seq == seq ? &c->items[low] : NULL;
}

static const char *text_at(struct arena *arena, sqlite3_stmt *stmt, int column, bool *ok)
{
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return NULL;
    const char *text = mirror_text(stmt, column), *copy = arena_text(arena, text, strlen(text));
    *ok = *ok && copy;
    return copy ? copy : "";
}

static struct lineage_number number_at(sqlite3_stmt *stmt, int column)
{
    bool there = sqlite3_column_type(stmt, column) != SQLITE_NULL;
    return (struct lineage_number){there, there ? sqlite3_column_double(stmt, column) : 0};
}

static const char *no_null(const char *text)
{
    return text ? text : "";
}

/* Loads the changes or lines of one saved measurement. Beyond the limit of a fresh measurement, rows are not taken, and
 * the digest then differs. */
static enum lineage_status load_parts(struct cache *c, sqlite3_stmt *stmt, struct candidate *item, bool lines,
                                      struct lineage_error *err)
{
    enum { LINES_MAX = 4096 };
    struct lineage_measured *m = &item->measured;
    struct arena *arena = m->memory;
    size_t capacity = 0, n = 0;
    bool ok = true;
    enum lineage_status status;
    sqlite3_reset(stmt);
    sqlite3_bind_int64(stmt, 1, (int64_t)item->seq);
    while ((status = mirror_step(c->mirror, stmt, err)) == LINEAGE_OK && ok && n < LINES_MAX) {
        size_t size = lines ? sizeof *m->lines : sizeof *m->changes;
        if (n == capacity) {
            size_t wanted = capacity ? 2 * capacity : 8;
            void *more = arena_alloc(arena, wanted, size);
            if (more && n)
                memcpy(more, lines ? (void *)m->lines : (void *)m->changes, n * size);
            ok = more != NULL;
            if (!ok)
                break;
            capacity = wanted;
            if (lines)
                m->lines = more;
            else
                m->changes = more;
        }
        if (lines)
            m->lines[n] = (struct lineage_measured_lines){.file = no_null(text_at(arena, stmt, 0, &ok)),
                                                          .heading = text_at(arena, stmt, 1, &ok),
                                                          .added = (size_t)sqlite3_column_int64(stmt, 2),
                                                          .removed = (size_t)sqlite3_column_int64(stmt, 3),
                                                          .kind = (enum lineage_lines_kind)sqlite3_column_int(stmt, 4)};
        else
            m->changes[n] = (struct lineage_measured_change){.file = no_null(text_at(arena, stmt, 0, &ok)),
                                                             .scope = no_null(text_at(arena, stmt, 1, &ok)),
                                                             .name = no_null(text_at(arena, stmt, 2, &ok)),
                                                             .from = text_at(arena, stmt, 3, &ok),
                                                             .to = no_null(text_at(arena, stmt, 4, &ok)),
                                                             .from_value = number_at(stmt, 5),
                                                             .to_value = number_at(stmt, 6),
                                                             .line = (uint32_t)sqlite3_column_int64(stmt, 7)};
        n++;
    }
    m->n_lines = lines ? n : m->n_lines;
    m->n_changes = lines ? m->n_changes : n;
    sqlite3_reset(stmt);
    if (!ok)
        return store_no_memory(err);
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

static enum lineage_status load_saved(struct cache *c, sqlite3_stmt *rows, sqlite3_stmt *changes, sqlite3_stmt *lines,
                                      struct lineage_error *err)
{
    enum lineage_status status;
    size_t at = 0;
    while ((status = step(c, rows, &at, err)) == LINEAGE_OK) {
        struct candidate *item = find(c, (uint64_t)sqlite3_column_int64(rows, 0));
        if (!item)
            continue;
        struct arena *arena = calloc(1, sizeof *arena);
        bool ok = arena != NULL;
        item->measured.memory = arena;
        if (!ok)
            return store_no_memory(err);
        item->measured.against = no_null(text_at(arena, rows, 2, &ok));
        item->measured.command_against = no_null(text_at(arena, rows, 3, &ok));
        item->measured.incomplete = sqlite3_column_int(rows, 4) != 0;
        status = ok ? load_parts(c, changes, item, false, err) : store_no_memory(err);
        if (status == LINEAGE_OK)
            status = load_parts(c, lines, item, true, err);
        if (status != LINEAGE_OK)
            return status;
        item->known = digest_of(item->row, &item->measured) == (uint64_t)sqlite3_column_int64(rows, 1);
        if (!item->known)
            lineage_measured_release(&item->measured);
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* A question of mirror_ask: finds the candidates, and what lineage.db knows about them. */
static enum lineage_status load(void *question, struct lineage_error *err)
{
    struct cache *c = question;
    static const char *const statements[] = {
        "SELECT seq, exp_id, parent_exp, snapshot_path, notes FROM trials WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
        "SELECT seq, digest, against, command_against, incomplete FROM measured_rows WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
        "SELECT file, scope, name, old, new, old_value, new_value, line FROM measured_changes WHERE seq = ? ORDER BY place",
        "SELECT file, heading, added, removed, kind FROM measured_lines WHERE seq = ? ORDER BY place"};
    sqlite3_stmt *stmts[4] = {NULL};
    forget(c);
    /* One transaction, so that the tables agree with each other. */
    enum lineage_status status = mirror_exec(c->mirror, "BEGIN", err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < 4 && status == LINEAGE_OK; i++)
        status = prepare(c, &stmts[i], statements[i], err);
    size_t at = 0;
    while (status == LINEAGE_OK && (status = step(c, stmts[0], &at, err)) == LINEAGE_OK)
        status = add_candidate(c, stmts[0], err);
    if (status == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    if (status == LINEAGE_OK && c->n)
        status = load_saved(c, stmts[1], stmts[2], stmts[3], err);
    for (size_t i = 0; i < 4; i++)
        sqlite3_finalize(stmts[i]);
    sqlite3_exec(mirror_db(c->mirror), "COMMIT", NULL, NULL, NULL);
    return status;
}

/* ---- saving ---- */

struct saving {
    sqlite3_stmt *row, *forget_changes, *change, *forget_lines, *lines;
};

static enum lineage_status save_one(struct cache *c, const struct saving *s, const struct candidate *item,
                                    struct lineage_error *err)
{
    const struct lineage_measured *m = &item->measured;
    int64_t seq = (int64_t)item->seq;
    sqlite3_bind_int64(s->forget_changes, 1, seq);
    sqlite3_bind_int64(s->forget_lines, 1, seq);
    enum lineage_status status = mirror_run(c->mirror, s->forget_changes, err);
    if (status == LINEAGE_OK)
        status = mirror_run(c->mirror, s->forget_lines, err);
    for (size_t i = 0; i < m->n_changes && status == LINEAGE_OK; i++) {
        const struct lineage_measured_change *change = &m->changes[i];
        sqlite3_bind_int64(s->change, 1, seq);
        sqlite3_bind_int64(s->change, 2, (int64_t)i);
        mirror_bind_text(s->change, 3, change->file);
        mirror_bind_text(s->change, 4, change->scope);
        mirror_bind_text(s->change, 5, change->name);
        mirror_bind_text(s->change, 6, change->from);
        mirror_bind_text(s->change, 7, change->to);
        mirror_bind_number(s->change, 8, change->from_value);
        mirror_bind_number(s->change, 9, change->to_value);
        sqlite3_bind_int64(s->change, 10, change->line);
        status = mirror_run(c->mirror, s->change, err);
    }
    for (size_t i = 0; i < m->n_lines && status == LINEAGE_OK; i++) {
        const struct lineage_measured_lines *lines = &m->lines[i];
        sqlite3_bind_int64(s->lines, 1, seq);
        sqlite3_bind_int64(s->lines, 2, (int64_t)i);
        mirror_bind_text(s->lines, 3, lines->file);
        mirror_bind_text(s->lines, 4, lines->heading);
        sqlite3_bind_int64(s->lines, 5, (int64_t)lines->added);
        sqlite3_bind_int64(s->lines, 6, (int64_t)lines->removed);
        sqlite3_bind_int(s->lines, 7, (int)lines->kind);
        status = mirror_run(c->mirror, s->lines, err);
    }
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(s->row, 1, seq);
    sqlite3_bind_int64(s->row, 2, (int64_t)digest_of(item->row, m));
    mirror_bind_text(s->row, 3, m->against);
    mirror_bind_text(s->row, 4, m->command_against);
    sqlite3_bind_int(s->row, 5, m->incomplete);
    return mirror_run(c->mirror, s->row, err);
}

/* Saves the settled items from *at on, at most ROWS_PER_SAVE, in one transaction. */
static enum lineage_status save_some(struct cache *c, const struct saving *s, size_t *at, struct lineage_error *err)
{
    enum lineage_status status = mirror_exec(c->mirror, "BEGIN IMMEDIATE", err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t n = 0; *at < c->n && n < ROWS_PER_SAVE && status == LINEAGE_OK; (*at)++)
        if (c->items[*at].settled) {
            status = save_one(c, s, &c->items[*at], err);
            n++;
        }
    if (status == LINEAGE_OK)
        status = mirror_exec(c->mirror, "COMMIT", err);
    if (status != LINEAGE_OK)
        sqlite3_exec(mirror_db(c->mirror), "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static void save(struct cache *c)
{
    struct saving s = {0};
    struct lineage_error ignored;
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } statements[] = {
        {&s.row, "REPLACE INTO measured_rows (seq, digest, against, command_against, incomplete) VALUES (?,?,?,?,?)"},
        {&s.forget_changes, "DELETE FROM measured_changes WHERE seq = ?"},
        {&s.change, "INSERT INTO measured_changes (seq, place, file, scope, name, old, new, old_value, new_value, line)"
                    " VALUES (?,?,?,?,?,?,?,?,?,?)"},
        {&s.forget_lines, "DELETE FROM measured_lines WHERE seq = ?"},
        {&s.lines, "INSERT INTO measured_lines (seq, place, file, heading, added, removed, kind) VALUES (?,?,?,?,?,?,?)"}};
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; i < sizeof statements / sizeof *statements && status == LINEAGE_OK; i++)
        status = prepare(c, statements[i].stmt, statements[i].sql, &ignored);
    for (size_t at = 0; at < c->n && status == LINEAGE_OK;)
        status = save_some(c, &s, &at, &ignored);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        sqlite3_finalize(*statements[i].stmt);
}

/* ---- */

static bool has_files(const struct lineage_store *store)
{
    return fs_is_dir(store->dir_fd, PLACE_SNAPSHOTS) || fs_is_dir(store->dir_fd, PLACE_PROVENANCE) ||
           fs_is_dir(store->dir_fd, PLACE_CODE);
}

static enum lineage_status visit_stretches(struct lineage_store *store, const struct stretch *stretches, size_t n, bool listed,
                                           measured_visit *visit, void *context, struct lineage_error *err)
{
    struct cache c = {.store = store, .mirror = store->mirror, .stretches = stretches, .n_stretches = n, .listed = listed};
    bool unsaved = false;
    enum lineage_status status = listed ? list_provenance(&c, err) : LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = mirror_ask(store->mirror, load, &c, err);
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
    for (size_t i = 0; i < c.provenance.n; i++)
        free(c.provenance.items[i]);
    free(c.provenance.items);
    free(c.items);
    return status;
}

/* For a few trials, looking for each one's provenance costs less than listing that of all trials. */
enum lineage_status measured_each(struct lineage_store *store, uint64_t first, uint64_t last, measured_visit *visit,
                                  void *context, struct lineage_error *err)
{
    enum { FEW = 100 };
    const struct stretch all = {(int64_t)first, (int64_t)last};
    return has_files(store) ? visit_stretches(store, &all, 1, last - first >= FEW, visit, context, err) : LINEAGE_OK;
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
    enum lineage_status status = visit_stretches(store, stretches, n, false, visit, context, err);
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
