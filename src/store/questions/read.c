/*
 * read.c: the public questions about trials. Each brings the mirror up to date, queries it, and explains a missing
 * answer.
 *
 * A question is asked through mirror_ask, because lineage.db may turn out to be damaged at any page.
 */

#include <lineage/text.h>

#include "../format/id.h"
#include "../mirror/statement.h"
#include "questions.h"

/* ---- finds rows by id, by the best score, as a parent, as a trial of a night, or by snapshot. The answers are
 * seqs, from which load.c loads trials.
 */

/* Finds the last row with that id, because a file of another tool may contain an id twice and the later row is more
 * recent. SQLite adds the prefix, so an id of any length needs no buffer. */
static enum lineage_status find_exact(struct mirror *mirror, const char *id, size_t length, const char *prefix, int64_t *seq,
                                      struct lineage_error *err)
{
    return mirror_integer(mirror, seq, err, "SELECT seq FROM trials WHERE exp_id = ?1 || ?2 ORDER BY seq DESC LIMIT 1", "st",
                          prefix, id, length);
}

enum lineage_status mirror_find_exact(struct mirror *mirror, const char *id, int64_t *seq, struct lineage_error *err)
{
    return find_exact(mirror, id, strlen(id), "", seq, err);
}

/* There are few such records, so none of their columns has an index. */
static enum lineage_status mirror_find_damaged(struct mirror *mirror, const char *id, uint64_t *line, struct lineage_error *err)
{
    int64_t at = 0;
    enum lineage_status status =
        mirror_integer(mirror, &at, err, "SELECT line FROM findings WHERE is_row = 0 AND exp_id IN (?1, 'exp_' || ?1) LIMIT 1",
                       "s", id_bare(id));
    if (status == LINEAGE_OK)
        *line = (uint64_t)at;
    return status;
}

/* The index on the key is enough, because few rows share a key. */
enum lineage_status mirror_find_night(struct mirror *mirror, const struct lineage_night_link *night, int64_t *seq,
                                      struct lineage_error *err)
{
    return mirror_integer(mirror, seq, err, "SELECT seq FROM night_rows WHERE key = ?1 AND sweep = ?2 ORDER BY seq LIMIT 1", "is",
                          (int64_t)night->key, night->sweep);
}

/* Looks for the id unchanged, then without the prefix, then with it. append_id_find uses the same order, because append
 * must not accept an id that readers resolve to another row. */
enum lineage_status mirror_find(struct mirror *mirror, const char *id, int64_t *seq, struct lineage_error *err)
{
    enum lineage_status status = find_exact(mirror, id, strlen(id), "", seq, err);
    if (status == LINEAGE_ENOTFOUND && strncmp(id, "exp_", 4) == 0)
        status = find_exact(mirror, id + 4, strlen(id) - 4, "", seq, err);
    if (status == LINEAGE_ENOTFOUND)
        status = find_exact(mirror, id, strlen(id), "exp_", seq, err);
    return status;
}

/* Finds the row whose id is that number, with other zeros in front of it: 98 is 098. LINEAGE_ENOTFOUND without message,
 * also if there are several. */
static enum lineage_status mirror_find_number(struct mirror *mirror, const char *id, int64_t *seq, struct lineage_error *err)
{
    char padded[24];
    size_t found = 0;
    id = id_bare(id);
    size_t zeros = strspn(id, "0"), digits = strspn(id + zeros, "0123456789");
    if (digits > 15 || id[zeros + digits] || zeros + digits == 0)
        return LINEAGE_ENOTFOUND;
    for (int width = 1; width <= 6; width++) {
        int length = snprintf(padded, sizeof padded, "%0*lld", width, strtoll(id, NULL, 10));
        enum lineage_status status = length == width || width == 1 ? mirror_find(mirror, padded, seq, err) : LINEAGE_ENOTFOUND;
        if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
            return status;
        found += status == LINEAGE_OK;
    }
    return found == 1 ? LINEAGE_OK : LINEAGE_ENOTFOUND; /* of 01 and 001, 1 names neither */
}

/* Writes ids that are similar to one that no row has, "097, 098"; near stays unchanged in an empty log.
 * The ids that share all but the last character of the id; without one, the last id of the log. */
static enum lineage_status mirror_near_ids(char *near, size_t size, struct mirror *mirror, const char *id,
                                           struct lineage_error *err)
{
    static const char *const sql[] = {
        "SELECT exp_id FROM trials WHERE exp_id >= ?1 AND exp_id < ?1 || char(1114111) ORDER BY exp_id LIMIT 5",
        "SELECT exp_id FROM trials WHERE ?1 IS NOT NULL ORDER BY seq DESC LIMIT 1"};
    size_t length = strlen(id), used = 0;
    enum lineage_status status = LINEAGE_OK;
    for (int i = 0; i < 2 && !used && status == LINEAGE_OK; i++) {
        sqlite3_stmt *stmt;
        status = mirror_rows(mirror, &stmt, err, sql[i], "t", id, lineage_text_prefix(id, length - (length > 1), 80));
        while (mirror_next(&status, mirror, stmt, err) && used + 50 < size)
            used += (size_t)snprintf(near + used, size - used, "%s%.40s", used ? ", " : "", mirror_text(stmt, 0));
        sqlite3_reset(stmt);
    }
    return status;
}

/* The bounds exclude infinities and NULL in a form that an index on score can answer. The condition IN ('keep',
 * 'baseline'), written exactly as in schema/indexes.sql, makes SQLite use the partial index, whose first entry is the
 * answer. The earlier of two rows with the same score is the best, because the later one did not improve on it. */
enum lineage_status mirror_best(struct mirror *mirror, int64_t *seq, double *score, struct lineage_error *err)
{
    static const char lower[] = "SELECT seq, score FROM trials WHERE status IN ('keep', 'baseline')"
                                " AND score > -9e999 AND score < 9e999 ORDER BY score, seq LIMIT 1";
    static const char higher[] = "SELECT seq, score FROM trials WHERE status IN ('keep', 'baseline')"
                                 " AND score > -9e999 AND score < 9e999 ORDER BY score DESC, seq LIMIT 1";
    sqlite3_stmt *stmt;
    bool up = mirror_store(mirror)->config.direction == LINEAGE_HIGHER;
    TRY(mirror_row(mirror, &stmt, err, up ? higher : lower, ""));
    *seq = sqlite3_column_int64(stmt, 0);
    *score = sqlite3_column_double(stmt, 1);
    sqlite3_reset(stmt);
    return LINEAGE_OK;
}

enum lineage_status mirror_scatter(struct mirror *mirror, int64_t before, struct lineage_scatter *scatter,
                                   struct lineage_error *err)
{
    /* +score: by an index of scores SQLite would sort them all for the last hundred. */
    static const char sql[] = "SELECT score FROM trials WHERE status IN ('keep', 'discard', 'baseline') AND seq < ?1"
                              " AND +score > -9e999 AND +score < 9e999 ORDER BY seq DESC LIMIT 100";
    double scores[100];
    size_t n = 0;
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_rows(mirror, &stmt, err, sql, "i", before);
    while (n < sizeof scores / sizeof *scores && mirror_next(&status, mirror, stmt, err))
        scores[n++] = sqlite3_column_double(stmt, 0);
    *scatter = lineage_scatter_of(scores, n);
    return mirror_end_rows(stmt, status);
}

/* The last condition is that of the partial index, without which SQLite would not use the index. */
enum lineage_status mirror_is_parent(struct mirror *mirror, const char *id, bool *found, struct lineage_error *err)
{
    *found = false;
    return mirror_has(mirror, found, err,
                      "SELECT 1 FROM trials WHERE parent_exp IN (?1, 'exp_' || ?1) AND parent_exp <> '' LIMIT 1", "s",
                      id_bare(id));
}

enum lineage_status mirror_each_snapshot(struct mirror *mirror, void (*visit)(void *context, const struct lineage_trial *trial),
                                         void *context, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(
        mirror, &stmt, "SELECT line, exp_id, snapshot_path FROM trials WHERE snapshot_path <> '' ORDER BY seq", err);
    while (mirror_next(&status, mirror, stmt, err)) {
        const struct lineage_trial trial = {.line = (uint64_t)sqlite3_column_int64(stmt, 0),
                                            .exp_id = mirror_text(stmt, 1),
                                            .snapshot_path = mirror_text(stmt, 2)};
        visit(context, &trial);
    }
    return status;
}

enum lineage_status mirror_each_note(struct mirror *mirror, const char *text,
                                     void (*visit)(void *context, const struct lineage_trial *trial), void *context,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_rows(
        mirror, &stmt, err, "SELECT line, exp_id, notes FROM trials WHERE instr(notes, ?) > 0 ORDER BY seq", "s", text);
    while (mirror_next(&status, mirror, stmt, err)) {
        const struct lineage_trial trial = {
            .line = (uint64_t)sqlite3_column_int64(stmt, 0), .exp_id = mirror_text(stmt, 1), .notes = mirror_text(stmt, 2)};
        visit(context, &trial);
    }
    return status;
}

/* This question has no index, because it is rare: it is asked only if a name is taken, after a kill or because of an
 * unusual specialist. */
enum lineage_status mirror_is_snapshot(struct mirror *mirror, const char *path, bool *found, struct lineage_error *err)
{
    return mirror_has(mirror, found, err, "SELECT 1 FROM trials WHERE snapshot_path = ? LIMIT 1", "s", path);
}

/* The arguments of a question and the place for its answer. Each question uses some of the members. */
struct question {
    struct lineage_store *store;
    const char *id;
    struct lineage_trial *trial;
    struct lineage_chain *chain;
    uint64_t seq;
    enum lineage_label *label;
    size_t last; /* number of trials of the chain */
};

/* Sets *seq to the trial that the user named. The message about a missing id is made here, because the mirror does not
 * know whether that is the user's mistake and returns LINEAGE_ENOTFOUND without a message. */
static enum lineage_status resolve(struct lineage_store *store, const char *id, int64_t *seq, struct lineage_error *err)
{
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_find(store->mirror, id, seq, err);
    if (status == LINEAGE_ENOTFOUND)
        status = mirror_find_number(store->mirror, id, seq, err);
    if (status != LINEAGE_ENOTFOUND)
        return status;
    uint64_t line = 0;
    status = mirror_find_damaged(store->mirror, id, &line, err);
    if (status == LINEAGE_OK)
        return store_fail(err, LINEAGE_ENOTFOUND, "the row of trial '%.80s' is damaged (line %llu); see `lineage verify`", id,
                          (unsigned long long)line);
    char near[240] = "";
    if (status == LINEAGE_ENOTFOUND)
        status = mirror_near_ids(near, sizeof near, store->mirror, id, err);
    return status != LINEAGE_OK ? status
           : *near              ? store_fail(err, LINEAGE_ENOTFOUND, "no trial '%.80s' in %s; there is %s", id, store->dir, near)
                   : store_fail(err, LINEAGE_ENOTFOUND, "no trial '%.80s' in %s, which has no trial yet", id, store->dir);
}

static enum lineage_status ask_find(void *question, struct lineage_error *err)
{
    const struct question *q = question;
    int64_t seq = 0;
    TRY(resolve(q->store, q->id, &seq, err));
    return mirror_load(q->store->mirror, seq, q->trial, err);
}

enum lineage_status lineage_find(struct lineage_store *store, const char *id, struct lineage_trial *trial,
                                 struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    return mirror_ask(store->mirror, ask_find, &(struct question){.store = store, .id = id, .trial = trial}, err);
}

static enum lineage_status ask_row_label(void *question, struct lineage_error *err)
{
    const struct question *q = question;
    sqlite3_stmt *stmt = NULL;
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_row(q->store->mirror, &stmt, err, "SELECT status FROM judged WHERE seq = ?1", "i", (int64_t)q->seq);
    if (status == LINEAGE_OK)
        lineage_label_parse(q->label, mirror_text(stmt, 0));
    return mirror_end_rows(stmt, status);
}

enum lineage_status lineage_row_label(enum lineage_label *label, struct lineage_store *store, const struct lineage_trial *trial,
                                      struct lineage_error *err)
{
    struct question question = {.store = store, .seq = trial->seq, .label = label};
    *label = trial->status;
    return mirror_ask(store->mirror, ask_row_label, &question, err);
}

static enum lineage_status ask_best(void *question, struct lineage_error *err)
{
    const struct question *q = question;
    int64_t seq = 0;
    double score;
    TRY(mirror_sync(q->store->mirror, err));
    TRY(mirror_best(q->store->mirror, &seq, &score, err));
    return mirror_load(q->store->mirror, seq, q->trial, err);
}

/* The message names the score column, because a store may have a hundred rows without any kept row that has a finite
 * score. */
enum lineage_status mirror_ask_top(struct lineage_store *store, struct lineage_trial *trial, struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    enum lineage_status status = mirror_ask(store->mirror, ask_best, &(struct question){.store = store, .trial = trial}, err);
    if (status == LINEAGE_ENOTFOUND)
        store_fail(err, LINEAGE_ENOTFOUND, "%s has no kept or baseline trial with a finite %s", store->dir,
                   lineage_store_score_name(store) ? lineage_store_score_name(store) : lineage_store_metric(store));
    return status;
}

static enum lineage_status ask_chain(void *question, struct lineage_error *err)
{
    const struct question *q = question;
    int64_t seq = 0;
    *q->chain = (struct lineage_chain){0};
    TRY(resolve(q->store, q->id, &seq, err));
    bool began = mirror_begin_reading(q->store->mirror);
    enum lineage_status status = mirror_chain(q->store->mirror, seq, q->last, q->chain, err);
    mirror_end_reading(q->store->mirror, began);
    return status;
}

/* Uses the native rule: the chain contains the kept ancestors, and exp_014 and 014 are the same id. */
enum lineage_status lineage_chain_load_last(struct lineage_store *store, const char *id, size_t last, struct lineage_chain *chain,
                                            struct lineage_error *err)
{
    struct question question = {.store = store, .id = id, .chain = chain, .last = last ? last : 1};
    return mirror_ask(store->mirror, ask_chain, &question, err);
}

enum lineage_status lineage_chain_load(struct lineage_store *store, const char *id, struct lineage_chain *chain,
                                       struct lineage_error *err)
{
    return lineage_chain_load_last(store, id, SIZE_MAX, chain, err);
}

struct sql_question {
    struct lineage_store *store;
    const char *statement;
    lineage_sql_typed_row *row;
    void *context;
    bool began; /* rows were passed to the caller */
    enum lineage_status status;
};

static bool pass_row(void *context, size_t n, const char *const *names, const char *const *texts, const bool *numbers)
{
    struct sql_question *q = context;
    q->began = true;
    return q->row(q->context, n, names, texts, numbers);
}

/* If a first try has passed rows to the caller, its failure is returned again, because those rows cannot be taken
 * back. */
static enum lineage_status ask_sql(void *question, struct lineage_error *err)
{
    struct sql_question *q = question;
    if (q->began)
        return q->status;
    q->status = mirror_sync(q->store->mirror, err);
    if (q->status == LINEAGE_OK) /* a file that is read without locks may change between two rows */
        q->status = mirror_open_to_write(q->store->mirror, err);
    if (q->status == LINEAGE_OK)
        q->status = mirror_sql(q->store->mirror, q->statement, pass_row, q, err);
    return q->status;
}

enum lineage_status mirror_ask_sql(struct lineage_store *store, const char *statement, lineage_sql_typed_row *row, void *context,
                                   struct lineage_error *err)
{
    struct sql_question question = {.store = store, .statement = statement, .row = row, .context = context};
    return mirror_ask(store->mirror, ask_sql, &question, err);
}

const char *lineage_store_metric(const struct lineage_store *store)
{
    const struct row_layout *layout = mirror_layout(store->mirror);
    if (!layout && mirror_sync(store->mirror, NULL) == LINEAGE_OK) /* nothing was read yet */
        layout = mirror_layout(store->mirror);
    if (layout)
        return layout->metric;
    return store->config.metric[0] ? store->config.metric : "core_metric";
}
