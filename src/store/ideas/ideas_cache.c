/*
 * ideas_cache.c: keeps what the texts and programs of trials say in the tables readings, change_rows and citation_rows of
 * lineage.db.
 *
 * An entry belongs to the texts of its row and not to the row's place in the log: its digest is taken from the texts, the columns
 * of the log, READING_VERSION, and what the row says of its program. So an entry that another process saved, or that was saved for
 * a row that has changed since, is either right or not used. Nothing has to be kept in step with the log.
 *
 * Texts are read and programs compared before the lock of lineage.db is taken, and saved in short transactions. This process does
 * not wait for other processes: what cannot be saved now is saved by a later question.
 */
#include "ideas_internal.h"

#include <fcntl.h>
#include <xxhash.h>

#include <lineage/code.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../internal.h"
#include "../measured/collecting.h"
#include "../mirror/connection.h"
#include "../mirror/statement.h"

/* MEASURED_MAX: a trial whose program differs in more settings comes from another program. Its first settings are kept, and there
 * is room for what it states. */
enum { ROWS_PER_SAVE = 2000, MEASURED_MAX = LINEAGE_IDEAS_CHANGES / 2, SHORT_NAME = 1 };

struct cache {
    struct lineage_ideas *ideas;
    struct lineage_store *store;
    struct mirror *mirror;
    size_t first, n_given; /* rows[first..) of the set, and its changes without theirs */
    bool files; /* there may be programs to compare */
    struct entry {
        uint64_t digest; /* with what was measured, once that is known */
        uint64_t saved; /* the digest in lineage.db of an entry that every question compares again, else 0 */
        bool program; /* the row has one */
        bool known; /* taken from lineage.db */
    } *entries; /* [ideas->n - first] */
};

static bool has_provenance(const struct lineage_store *store, const char *exp_id)
{
    char path[sizeof PLACE_PROVENANCE "/" + LINEAGE_NAME_MAX];
    struct stat st;
    int n =
        !*exp_id || *exp_id == '.' || strchr(exp_id, '/') ? -1 : snprintf(path, sizeof path, "%s/%s", PLACE_PROVENANCE, exp_id);
    return n > 0 && (size_t)n < sizeof path && fs_stat(store->dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) == 0;
}

static uint64_t add_text(uint64_t digest, const char *text)
{
    return XXH3_64bits_withSeed(text, strlen(text), digest + 1);
}

/* What decides whether an entry can be used. The provenance of a row from another machine may arrive later. */
static struct entry entry_of(const struct cache *c, const struct idea_row *row)
{
    struct lineage_code_note code = {.digest = ""};
    struct entry entry = {.digest = row_digest(c->ideas, row)};
    if (!c->files)
        return entry;
    lineage_code_note_parse(&code, row_notes(row));
    const bool provenance = has_provenance(c->store, row->idea.exp_id);
    entry.program = *row->snapshot || *code.digest || provenance;
    if (entry.program)
        entry.digest = add_text(
            add_text(add_text(add_text(entry.digest + provenance, row->idea.exp_id), row->idea.parent_exp), row->snapshot),
            code.digest);
    return entry;
}

/* Adds what was measured for a row, given[from..) of the set, to its digest, so that edited tables change no answer. If files that
 * the row names are not here now, the entry can be read with SQL, but every question compares the program again. */
static uint64_t add_measured(uint64_t digest, const struct lineage_ideas *ideas, size_t from, bool settled)
{
    digest += !settled;
    for (size_t i = from; i < ideas->n_given; i++) {
        const struct row_change *row_change = &ideas->given[i].change;
        const struct lineage_change change = change_of(ideas, row_change);
        const double numbers[] = {change.from_value.present ? change.from_value.value : 0,
                                  change.to_value.present ? change.to_value.value : 0};
        const bool marks[] = {change.from, change.from_value.present, change.to_value.present, row_change->budget};
        digest = add_text(add_text(add_text(digest, change.name), change.from ? change.from : ""), change.to);
        digest = XXH3_64bits_withSeed(marks, sizeof marks, XXH3_64bits_withSeed(numbers, sizeof numbers, digest));
    }
    return digest;
}

/* ---- loading ---- */

/* A statement that lists rows of a table by seq, merged with the rows of the set. It is asked for one run of neighbours after
 * the other, because a set may have few rows of a long log. */
struct listing {
    sqlite3_stmt *stmt;
    uint64_t last; /* of the run that was asked for */
    bool ended;
};

static enum lineage_status next(struct cache *c, struct listing *l, struct lineage_error *err)
{
    enum lineage_status status = mirror_step(c->mirror, l->stmt, err);
    l->ended = status != LINEAGE_OK;
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Goes to the first entry of row i. *there: whether it has one. */
static enum lineage_status go_to(struct cache *c, struct listing *l, size_t i, bool *there, struct lineage_error *err)
{
    const struct idea_row *rows = c->ideas->rows;
    const uint64_t seq = rows[i].idea.seq;
    if (seq > l->last) {
        size_t end = i;
        while (end + 1 < c->ideas->n && rows[end + 1].idea.seq == rows[end].idea.seq + 1)
            end++;
        l->last = rows[end].idea.seq;
        sqlite3_reset(l->stmt);
        sqlite3_bind_int64(l->stmt, 1, (int64_t)seq);
        sqlite3_bind_int64(l->stmt, 2, (int64_t)l->last);
        TRY(next(c, l, err));
    }
    while (!l->ended && (uint64_t)sqlite3_column_int64(l->stmt, 0) < seq)
        TRY(next(c, l, err));
    *there = !l->ended && (uint64_t)sqlite3_column_int64(l->stmt, 0) == seq;
    return LINEAGE_OK;
}

static const char *text_at(sqlite3_stmt *stmt, int column)
{
    return sqlite3_column_type(stmt, column) == SQLITE_NULL ? NULL : mirror_text(stmt, column);
}

static struct lineage_number number_at(sqlite3_stmt *stmt, int column)
{
    bool there = sqlite3_column_type(stmt, column) != SQLITE_NULL;
    return (struct lineage_number){there, there ? sqlite3_column_double(stmt, column) : 0};
}

/* Takes the changes of row i: measured ones become given changes, stated ones the row's own. */
static enum lineage_status take_changes(struct cache *c, struct listing *l, size_t i, struct lineage_error *err)
{
    struct row_change stated[LINEAGE_IDEAS_CHANGES];
    size_t n = 0;
    bool there, ok = true;
    TRY(go_to(c, l, i, &there, err));
    while (there) {
        const struct lineage_change change = {.name = mirror_text(l->stmt, 2),
                                              .from = text_at(l->stmt, 3),
                                              .to = mirror_text(l->stmt, 4),
                                              .from_value = number_at(l->stmt, 5),
                                              .to_value = number_at(l->stmt, 6),
                                              .source = LINEAGE_CHANGE_MEASURED};
        if (!*change.name)
            ; /* an edited table */
        else if (strcmp(mirror_text(l->stmt, 1), "measured") == 0)
            TRY(lineage_ideas_add_change(c->ideas, i, &change, err));
        else if (n < LINEAGE_IDEAS_CHANGES)
            ok = ok && row_change_of(&stated[n++], c->ideas, &change, sqlite3_column_int(l->stmt, 7) != 0);
        TRY(next(c, l, err));
        TRY(go_to(c, l, i, &there, err));
    }
    ok = ok && row_keep_stated(c->ideas, &c->ideas->rows[i], stated, n);
    return ok ? LINEAGE_OK : store_no_memory(err);
}

static enum lineage_status take_cites(struct cache *c, struct listing *l, size_t i, struct lineage_error *err)
{
    uint32_t mentions[LINEAGE_IDEAS_CITES];
    size_t n = 0;
    bool there, ok = true;
    TRY(go_to(c, l, i, &there, err));
    while (ok && there && n < LINEAGE_IDEAS_CITES) {
        const char *text = mirror_text(l->stmt, 1);
        mentions[n] = text_table_add(&c->ideas->shared, text, strlen(text));
        ok = mentions[n++] != TEXT_NONE;
        TRY(next(c, l, err));
        TRY(go_to(c, l, i, &there, err));
    }
    ok = ok && row_keep_mentions(c->ideas, &c->ideas->rows[i], mentions, n, 0);
    return ok ? LINEAGE_OK : store_no_memory(err);
}

/* A question of mirror_ask: takes the entries that lineage.db has. It is asked again if lineage.db was damaged. One transaction, so
 * that the tables agree with each other. */
static enum lineage_status load(void *question, struct lineage_error *err)
{
    struct cache *c = question;
    struct listing lists[3] = {{0}};
    static const char *const statements[3] = {
        "SELECT seq, digest FROM readings WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
        ("SELECT seq, source, name, old, new, old_value, new_value, budget FROM change_rows"
         " WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq, source, place"),
        "SELECT seq, mention FROM citation_rows WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq, place"};
    c->ideas->n_given = c->n_given;
    enum lineage_status status = mirror_exec(c->mirror, "BEGIN", err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < 3 && status == LINEAGE_OK; i++)
        status = mirror_prepare(c->mirror, &lists[i].stmt, statements[i], err);
    for (size_t i = c->first; i < c->ideas->n && status == LINEAGE_OK; i++) {
        struct entry *entry = &c->entries[i - c->first];
        bool there = false;
        c->ideas->rows[i].mentions = NULL;
        const size_t given = c->ideas->n_given;
        status = go_to(c, &lists[0], i, &there, err);
        const uint64_t saved = there ? (uint64_t)sqlite3_column_int64(lists[0].stmt, 1) : 0;
        if (status == LINEAGE_OK && there)
            status = take_changes(c, &lists[1], i, err);
        entry->known = there && status == LINEAGE_OK && add_measured(entry->digest, c->ideas, given, true) == saved;
        entry->saved = add_measured(entry->digest, c->ideas, given, false) == saved ? saved : 0;
        if (!entry->known)
            c->ideas->n_given = given;
        if (status == LINEAGE_OK && entry->known)
            status = take_cites(c, &lists[2], i, err);
    }
    for (size_t i = 0; i < 3; i++)
        sqlite3_reset(lists[i].stmt);
    sqlite3_exec(mirror_db(c->mirror), "COMMIT", NULL, NULL, NULL);
    return status;
}

/* ---- reading ---- */

/* A name like `x` says something only together with its function: "step x". */
static const char *whole_name(char out[LINEAGE_NAME_MAX], const struct lineage_measured_change *change)
{
    const char *dot = strrchr(change->scope, '.'), *function = dot ? dot + 1 : change->scope;
    if (strlen(change->name) > SHORT_NAME || !*function)
        return change->name;
    int n = snprintf(out, LINEAGE_NAME_MAX, "%s %s", function, change->name);
    return n > 0 && n < LINEAGE_NAME_MAX ? out : change->name;
}

static enum lineage_status measure(struct cache *c, size_t i, struct entry *entry, struct lineage_error *err)
{
    struct lineage_measured measured;
    const size_t given = c->ideas->n_given;
    bool settled;
    enum lineage_status status = measure_trial_at(&measured, &settled, c->store, c->ideas->rows[i].idea.seq, err);
    for (size_t k = 0; k < measured.n_changes && k < MEASURED_MAX && status == LINEAGE_OK; k++) {
        const struct lineage_measured_change *change = &measured.changes[k];
        char name[LINEAGE_NAME_MAX];
        status = lineage_ideas_add_change(c->ideas, i,
                                          &(struct lineage_change){.name = whole_name(name, change),
                                                                   .from = change->from,
                                                                   .to = change->to,
                                                                   .from_value = change->from_value,
                                                                   .to_value = change->to_value,
                                                                   .source = LINEAGE_CHANGE_MEASURED},
                                          err);
    }
    lineage_measured_release(&measured);
    entry->digest = add_measured(entry->digest, c->ideas, given, settled);
    return status;
}

/* ---- saving ---- */

static enum lineage_status save_change(struct cache *c, int64_t seq, size_t place, const struct row_change *row_change,
                                       struct lineage_error *err)
{
    const struct lineage_change change = change_of(c->ideas, row_change);
    return mirror_do(c->mirror, err,
                     "REPLACE INTO change_rows (seq, source, place, name, old, new, old_value, new_value, budget)"
                     " VALUES (?,?,?,?,?,?,?,?,?)",
                     "isisssnni", seq, lineage_change_source_name(change.source), (int64_t)place, change.name, change.from,
                     change.to, change.from_value, change.to_value, (int64_t)row_change->budget);
}

/* *given: where the given changes of the row begin; it is moved behind them. */
static enum lineage_status save_row(struct cache *c, size_t i, size_t *given, struct lineage_error *err)
{
    const struct idea_row *row = &c->ideas->rows[i];
    const int64_t seq = (int64_t)row->idea.seq;
    TRY(mirror_do(c->mirror, err, "DELETE FROM change_rows WHERE seq = ?", "i", seq));
    TRY(mirror_do(c->mirror, err, "DELETE FROM citation_rows WHERE seq = ?", "i", seq));
    for (size_t k = 0; k < row->idea.n_changes; k++)
        TRY(save_change(c, seq, k, &row->own[k], err));
    while (*given < c->ideas->n_given && c->ideas->given[*given].trial < i)
        ++*given;
    for (size_t k = 0; *given < c->ideas->n_given && c->ideas->given[*given].trial == i; k++)
        TRY(save_change(c, seq, k, &c->ideas->given[(*given)++].change, err));
    for (size_t k = 0; k < row->n_mentions; k++)
        TRY(mirror_do(c->mirror, err, "INSERT INTO citation_rows (seq, place, mention, in_notes) VALUES (?,?,?,?)", "iisi", seq,
                      (int64_t)k, c->ideas->shared.entries[row->mentions[k]].text, (int64_t)(k >= row->n_in_hypothesis)));
    return mirror_do(c->mirror, err, "REPLACE INTO readings (seq, digest, reader) VALUES (?,?,?)", "iii", seq,
                     (int64_t)c->entries[i - c->first].digest, (int64_t)ideas_seed(c->ideas));
}

static bool must_save(const struct entry *entry)
{
    return !entry->known && entry->digest != entry->saved;
}

static void save(struct cache *c)
{
    struct lineage_error ignored;
    enum lineage_status status = LINEAGE_OK;
    size_t given = c->n_given;
    ideas_order_given(c->ideas, given); /* what was loaded came before what was measured */
    for (size_t i = c->first; i < c->ideas->n && status == LINEAGE_OK;) {
        if ((status = mirror_exec(c->mirror, "BEGIN IMMEDIATE", &ignored)) != LINEAGE_OK)
            return;
        for (size_t n = 0; i < c->ideas->n && n < ROWS_PER_SAVE && status == LINEAGE_OK; i++)
            if (must_save(&c->entries[i - c->first])) {
                status = save_row(c, i, &given, &ignored);
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

enum lineage_status ideas_cache_read(struct lineage_ideas *ideas, struct lineage_store *store, size_t first,
                                     struct lineage_error *err)
{
    struct cache c = {.ideas = ideas,
                      .store = store,
                      .mirror = store->mirror,
                      .first = first,
                      .n_given = ideas->n_given,
                      .files = has_files(store)};
    bool unsaved = false;
    if (first >= ideas->n)
        return LINEAGE_OK;
    c.entries = calloc(ideas->n - first, sizeof *c.entries);
    for (size_t i = first; c.entries && i < ideas->n; i++)
        c.entries[i - first] = entry_of(&c, &ideas->rows[i]);
    enum lineage_status status = c.entries ? mirror_ask(store->mirror, load, &c, err) : store_no_memory(err);
    for (size_t i = first; i < ideas->n && status == LINEAGE_OK; i++) {
        struct entry *entry = &c.entries[i - first];
        if (entry->known)
            continue;
        status = row_make_reading(ideas, &ideas->rows[i]) ? LINEAGE_OK : store_no_memory(err);
        if (status == LINEAGE_OK && entry->program)
            status = measure(&c, i, entry, err);
        unsaved = unsaved || must_save(entry);
    }
    if (status == LINEAGE_OK && unsaved && mirror_may_write(store->mirror)) {
        mirror_hurry(store->mirror, true);
        save(&c);
        mirror_hurry(store->mirror, false);
    }
    free(c.entries);
    return status;
}

struct completeness {
    struct lineage_store *store;
    uint64_t seed;
    bool complete;
};

static enum lineage_status count_readings(void *question, struct lineage_error *err)
{
    struct completeness *q = question;
    return mirror_has(q->store->mirror, &q->complete, err,
                      "SELECT 1 WHERE (SELECT count(*) FROM readings WHERE reader = ?) = (SELECT count(*) FROM trials)", "i",
                      (int64_t)q->seed);
}

enum lineage_status ideas_cache_is_complete(bool *complete, const struct lineage_ideas *ideas, struct lineage_store *store,
                                            struct lineage_error *err)
{
    struct completeness q = {store, ideas_seed(ideas), false};
    *complete = false; /* files may have come or gone */
    enum lineage_status status = has_files(store) ? LINEAGE_OK : mirror_ask(store->mirror, count_readings, &q, err);
    *complete = q.complete;
    return status;
}
