/*
 * ideas_store.c: the trials of a store as a set of ideas.
 *
 * Where a trial's changes come from
 *   declared   its parameters, compared with its parent's (row_changes.c), or lineage_ideas_add_change
 *   measured   its program, compared with an ancestor's (src/store/measured), by ideas_cache.c
 *   stated     its hypothesis (stated.c)
 * lineage_ideas_settle then orders them by trust and gives all names of one knob the same `knob`.
 */
#include "ideas_internal.h"

#include <lineage/query.h>

#include "ideas_rows.h"
#include "../format/config.h"
#include "../internal.h"
#include "../mirror/statement.h"
#include "../questions/questions.h"
#include "../format/id.h"

/* The ideas may be asked after the store is closed. */
static enum lineage_status copy_seeds(struct lineage_ideas *ideas, const char *const *seeds, struct lineage_error *err)
{
    size_t n = 0;
    while (seeds && seeds[n])
        n++;
    const char **copy = arena_alloc(&ideas->arena, n + 1, sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = arena_text(&ideas->arena, seeds[i], strlen(seeds[i]))))
            copy = NULL;
    ideas->seeds = copy;
    return copy ? LINEAGE_OK : store_no_memory(err);
}

/* Adds the rules of lineage.json about names, once. */
static enum lineage_status ideas_add_rules_of(struct lineage_ideas *ideas, struct lineage_store *store, struct lineage_error *err)
{
    if (ideas->ruled_by == store)
        return LINEAGE_OK;
    ideas->ruled_by = store;
    TRY(copy_seeds(ideas, lineage_store_seeds(store), err));
    return lineage_ideas_add_rules(ideas, store->more->rules, store->more->n_rules, err);
}

struct rows_question {
    struct lineage_store *store;
    const struct lineage_query *query;
    struct mirror_seqs found;
};

static enum lineage_status ask_rows(void *question, struct lineage_error *err)
{
    struct rows_question *q = question;
    q->found.n = 0;
    TRY(mirror_sync(q->store->mirror, err));
    return mirror_query(q->store->mirror, q->query, &q->found, err);
}

/* Opens a cursor over the trials of a query that names no settings in words. */
static enum lineage_status ideas_rows_open(struct lineage_cursor **cursor, struct lineage_store *store,
                                           const struct lineage_query *query, struct lineage_error *err)
{
    struct rows_question q = {.store = store, .query = query};
    enum lineage_status status = mirror_ask(store->mirror, ask_rows, &q, err);
    *cursor = NULL;
    if (status == LINEAGE_OK)
        return mirror_cursor_new(cursor, store->mirror, &q.found, err);
    free(q.found.items);
    return status;
}

enum lineage_status ideas_rows_add(struct lineage_ideas *ideas, struct lineage_store *store, struct lineage_cursor *cursor,
                                   struct lineage_error *err)
{
    size_t first = lineage_ideas_count(ideas);
    struct lineage_trial trial;
    enum lineage_status status = LINEAGE_OK;
    /* One transaction, because taking the lock of lineage.db for each row costs more than reading the row. If the mirror is opened
     * again meanwhile, because it was damaged, the rest is read without one. */
    bool together = mirror_exec(store->mirror, "BEGIN", NULL) == LINEAGE_OK;
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK)
        status = lineage_ideas_add(ideas, &trial, false, err);
    if (together)
        sqlite3_exec(mirror_db(store->mirror), "COMMIT", NULL, NULL, NULL);
    lineage_cursor_close(cursor);
    if (status == LINEAGE_ENOTFOUND) /* the end */
        status = ideas_add_rules_of(ideas, store, err);
    return status == LINEAGE_OK ? ideas_cache_read(ideas, store, first, err) : status;
}

enum lineage_status lineage_ideas_add_store(struct lineage_ideas *ideas, struct lineage_store *store, struct lineage_error *err)
{
    static const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    TRY(ideas_rows_open(&cursor, store, &all, err));
    return ideas_rows_add(ideas, store, cursor, err);
}

enum lineage_status lineage_ideas_load(struct lineage_ideas **ideas, struct lineage_store *store, struct lineage_error *err)
{
    TRY(lineage_ideas_new(ideas, err));
    enum lineage_status status = lineage_ideas_add_store(*ideas, store, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_settle(*ideas, err);
    if (status != LINEAGE_OK) {
        lineage_ideas_release(*ideas);
        *ideas = NULL;
    }
    return status;
}

/* ---- the trials of a store that say most about one of them, as a set of ideas.
 *
 * A set of all trials takes memory and time in proportion to the log, most of it for trials that have nothing to do with the one
 * that is asked about. What a description of a trial shows comes from its ancestors, from the trials that it cites, and from
 * those around it, which cite it and use the same names.
 */

struct near {
    struct lineage_store *store;
    const char *id; /* NULL: none */
    const uint64_t *alike; /* [n_alike] */
    size_t n_alike;
    struct mirror_seqs seqs;
    bool whole; /* the log is small: the set is to have all trials */
    bool has_parents; /* some row of the log names a parent */
};

static enum lineage_status add(struct near *near, int64_t seq, struct lineage_error *err)
{
    return mirror_seqs_add(&near->seqs, seq) ? LINEAGE_OK : store_no_memory(err);
}

/* Adds the parents of the trial, or in a log without any the kept trials before it. */
static enum lineage_status add_ancestors(struct near *near, int64_t seq, struct lineage_error *err)
{
    static const char sql[] = "SELECT CASE kind WHEN 2 THEN above ELSE parent END, kind <> 2 FROM ancestors WHERE seq = ?";
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && seq && i < LINEAGE_IDEAS_NEAR_ANCESTORS; i++) {
        sqlite3_stmt *stmt;
        status = mirror_row(near->store->mirror, &stmt, err, sql, "i", seq);
        seq = status == LINEAGE_OK ? sqlite3_column_int64(stmt, 0) : 0;
        near->has_parents = near->has_parents || (status == LINEAGE_OK && sqlite3_column_int(stmt, 1));
        status = mirror_end_rows(stmt, status);
        if (status == LINEAGE_OK && seq)
            status = add(near, seq, err);
    }
    return status;
}

/* A mention may leave out the zeros in front of an id. The first trial of the log shows how long ids are. */
static enum lineage_status add_mention(struct near *near, const char *mention, size_t width, struct lineage_error *err)
{
    char padded[8];
    int64_t seq = 0;
    const size_t length = strlen(mention);
    enum lineage_status status = mirror_find(near->store->mirror, mention, &seq, err);
    if (status == LINEAGE_ENOTFOUND && length < width && width < sizeof padded) {
        memset(padded, '0', width - length);
        memcpy(padded + width - length, mention, length + 1);
        status = mirror_find(near->store->mirror, padded, &seq, err);
    }
    if (status == LINEAGE_OK)
        status = add(near, seq, err);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static void release_ideas(struct lineage_ideas **ideas)
{
    lineage_ideas_release(*ideas);
}

#define SCOPED_IDEAS RELEASED_BY(release_ideas) struct lineage_ideas

/* Reads the texts of the trial by itself, to know what it cites. */
static enum lineage_status add_cited(struct near *near, int64_t seq, struct lineage_error *err)
{
    SCOPED_TRIAL trial = {0};
    SCOPED_TRIAL first = {0};
    SCOPED_IDEAS *alone = NULL;
    TRY(mirror_load(near->store->mirror, seq, &trial, err));
    TRY(mirror_load(near->store->mirror, 1, &first, err));
    TRY(lineage_ideas_new(&alone, err));
    TRY(lineage_ideas_add(alone, &trial, false, err));
    const struct idea_row *row = alone->rows;
    if (!row_make_reading(alone, alone->rows))
        return store_no_memory(err);
    for (size_t i = 0; i < row->n_mentions; i++)
        TRY(add_mention(near, alone->shared.entries[row->mentions[i]].text, strlen(id_bare(first.exp_id)), err));
    return LINEAGE_OK;
}

/* A question of mirror_ask: lists the rows of the set, ascending and each once. The first trial is always one of them, because
 * it shows how long ids are. */
static enum lineage_status find_near(void *question, struct lineage_error *err)
{
    struct near *near = question;
    struct mirror *mirror = near->store->mirror;
    int64_t seq = 0;
    near->seqs.n = 0;
    TRY(mirror_sync(mirror, err));
    const int64_t rows = (int64_t)mirror_position(mirror)->rows + 1; /* one more for a provisional row */
    near->whole = rows <= LINEAGE_IDEAS_NEAR_WHOLE;
    if (near->whole)
        return LINEAGE_OK;
    if (near->id)
        TRY(mirror_find(mirror, near->id, &seq, err));
    TRY(add(near, 1, err));
    for (size_t i = 0; i < near->n_alike; i++)
        TRY(add(near, (int64_t)near->alike[i], err));
    for (int64_t i = 1; near->n_alike && i <= LINEAGE_IDEAS_NEAR_SAMPLE; i++)
        TRY(add(near, i * (rows - 1) / LINEAGE_IDEAS_NEAR_SAMPLE, err));
    const int64_t around = near->n_alike || !near->id ? 0 : LINEAGE_IDEAS_NEAR_AROUND;
    for (int64_t at = seq - around; at <= seq + around; at++)
        if (at > 1 && (at == seq || at < rows))
            TRY(add(near, at, err));
    if (around)
        TRY(add_ancestors(near, seq, err));
    if (near->id)
        TRY(add_cited(near, seq, err));
    mirror_seqs_sort(&near->seqs);
    size_t n = 0;
    for (size_t i = 0; i < near->seqs.n; i++)
        if (!i || near->seqs.items[i] != near->seqs.items[i - 1])
            near->seqs.items[n++] = near->seqs.items[i];
    near->seqs.n = n;
    return LINEAGE_OK;
}

/* Whether a row is one of the sample, or no sample was taken: only those show how common a word is. */
static bool is_counted(const struct near *near, int64_t seq)
{
    const int64_t last = (int64_t)mirror_position(near->store->mirror)->rows, n = LINEAGE_IDEAS_NEAR_SAMPLE;
    return !near->n_alike || ((seq * n + last - 1) / last) * last / n == seq;
}

static enum lineage_status add_rows(struct lineage_ideas *ideas, const struct near *near, struct lineage_error *err)
{
    SCOPED_FREE struct mirror_rows *rows = calloc(1, sizeof *rows);
    enum lineage_status status = rows ? LINEAGE_OK : store_no_memory(err);
    for (size_t at = 0; status == LINEAGE_OK && at < near->seqs.n; at += rows->n) {
        status = mirror_borrow_rows(near->store->mirror, near->seqs.items + at, near->seqs.n - at, rows, err);
        for (size_t i = 0; status == LINEAGE_OK && i < rows->n; i++)
            if (rows->found[i]) {
                status = lineage_ideas_add(ideas, &rows->trials[i], false, err);
                if (status == LINEAGE_OK)
                    ideas->rows[ideas->n - 1].uncounted = !is_counted(near, near->seqs.items[at + i]);
            }
    }
    if (rows)
        arena_release(&rows->arena);
    return status;
}

enum lineage_status lineage_ideas_add_near(struct lineage_ideas *ideas, struct lineage_store *store, const char *exp_id,
                                           const uint64_t *alike, size_t n_alike, struct lineage_error *err)
{
    struct near near = {.store = store, .id = exp_id, .alike = alike, .n_alike = n_alike};
    size_t first = lineage_ideas_count(ideas);
    enum lineage_status status = mirror_ask(store->mirror, find_near, &near, err);
    if (status == LINEAGE_ENOTFOUND)
        status = store_fail(err, LINEAGE_ENOTFOUND, "no trial '%.80s' in %s", exp_id, store->dir);
    if (status == LINEAGE_OK && near.whole)
        status = lineage_ideas_add_store(ideas, store, err);
    else if (status == LINEAGE_OK) {
        status = add_rows(ideas, &near, err);
        ideas->has_parents = ideas->has_parents || near.has_parents;
        if (status == LINEAGE_OK)
            status = ideas_add_rules_of(ideas, store, err);
        if (status == LINEAGE_OK)
            status = ideas_cache_read(ideas, store, first, err);
    }
    free(near.seqs.items);
    return status;
}

/* ---- lineage_sql, which brings the tables of changes and citations up to date if the statement names one of
 * them.
 *
 * Appends and other questions do not update these tables, and a user's SELECT must not see stale ones.
 */

/* Reads the texts that no question has needed so far. */
static enum lineage_status read_all(struct lineage_store *store, struct lineage_error *err)
{
    const struct lineage_query one = {.limit = 1};
    SCOPED_IDEAS *first = NULL;
    SCOPED_IDEAS *all = NULL;
    struct lineage_cursor *cursor;
    bool complete = false;
    TRY(lineage_ideas_new(&first, err));
    TRY(ideas_rows_open(&cursor, store, &one, err));
    TRY(ideas_rows_add(first, store, cursor, err));
    TRY(ideas_cache_is_complete(&complete, first, store, err));
    if (complete)
        return LINEAGE_OK;
    TRY(lineage_ideas_new(&all, err));
    return lineage_ideas_add_store(all, store, err);
}

/* Whether the text has the word in it, in upper or lower case. */
static bool mentions(const char *text, const char *word)
{
    const size_t length = strlen(word);
    while (*text && !ascii_begins_same(text, word, length))
        text++;
    return *text;
}

enum lineage_status lineage_sql_typed(struct lineage_store *store, const char *statement, lineage_sql_typed_row *row,
                                      void *context, struct lineage_error *err)
{
    if (mentions(statement, "change") || mentions(statement, "citation") || mentions(statement, "reading"))
        TRY(read_all(store, err));
    return mirror_ask_sql(store, statement, row, context, err);
}

struct texts_of_row {
    lineage_sql_row *row;
    void *context;
};

static bool pass_texts(void *context, size_t n, const char *const *names, const char *const *texts, const bool *numbers)
{
    const struct texts_of_row *to = context;
    (void)numbers;
    return texts && to->row(to->context, n, names, texts);
}

enum lineage_status lineage_sql(struct lineage_store *store, const char *statement, lineage_sql_row *row, void *context,
                                struct lineage_error *err)
{
    return lineage_sql_typed(store, statement, pass_texts, &(struct texts_of_row){row, context}, err);
}
