/*
 * read.c: the public questions about trials. Each brings the mirror up to date, queries it, and explains a missing
 * answer.
 *
 * A question is asked through mirror_ask, because lineage.db may turn out to be damaged at any page.
 */
#include <string.h>

#include "../format/id.h"
#include "../mirror/statement.h"
#include "questions.h"

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
    enum lineage_status status = resolve(q->store, q->id, &seq, err);
    return status == LINEAGE_OK ? mirror_load(q->store->mirror, seq, q->trial, err) : status;
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
    enum lineage_status status = mirror_sync(q->store->mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_best(q->store->mirror, &seq, &score, err);
    return status == LINEAGE_OK ? mirror_load(q->store->mirror, seq, q->trial, err) : status;
}

/* The message names the score column, because a store may have a hundred rows without any kept row that has a finite
 * score. */
enum lineage_status mirror_ask_top(struct lineage_store *store, struct lineage_trial *trial, struct lineage_error *err)
{
    *trial = (struct lineage_trial){0};
    enum lineage_status status = mirror_ask(store->mirror, ask_best, &(struct question){.store = store, .trial = trial}, err);
    if (status == LINEAGE_ENOTFOUND)
        store_fail(err, LINEAGE_ENOTFOUND, "%s has no kept or baseline trial with a finite %s", store->dir,
                   lineage_store_metric(store));
    return status;
}

static enum lineage_status ask_chain(void *question, struct lineage_error *err)
{
    const struct question *q = question;
    int64_t seq = 0;
    *q->chain = (struct lineage_chain){0};
    enum lineage_status status = resolve(q->store, q->id, &seq, err);
    if (status != LINEAGE_OK)
        return status;
    bool began = mirror_begin_reading(q->store->mirror);
    status = mirror_chain(q->store->mirror, seq, q->last, q->chain, err);
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
