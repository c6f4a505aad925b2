/*
 * read.c: the public questions about trials: bring the index up to date, ask it, and say what it
 * means that there is no answer.
 *
 * Each question stands in a loop: the mirror may turn out damaged at any page, and is then made
 * anew (mirror_mended). The sync is inside the loop, since the new one must read the log first.
 */
#include "questions.h"

/* seq of the trial that a reader was given the id of. The index gives ENOTFOUND without a
 * message, because only here it is known whose mistake it is. */
static enum lineage_status resolve(struct lineage_store *store, const char *id, int64_t *seq, struct lineage_error *err)
{
    enum lineage_status status = mirror_sync(store->mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_find(store->mirror, id, seq, err);
    if (status == LINEAGE_ENOTFOUND)
        return store_fail(err, LINEAGE_ENOTFOUND, "no trial '%.80s' in %s", id, store->dir);
    return status;
}

enum lineage_status lineage_find(struct lineage_store *store, const char *id,
                                 struct lineage_trial *trial, struct lineage_error *err)
{
    int64_t seq = 0;
    enum lineage_status status;
    *trial = (struct lineage_trial){0};
    do {
        status = resolve(store, id, &seq, err);
        if (status == LINEAGE_OK)
            status = mirror_load(store->mirror, seq, trial, err);
    } while (status != LINEAGE_OK && mirror_mended(store->mirror));
    return status;
}

/* "None" is an answer with a reason: a store may hold a hundred rows of which no kept one has a
 * finite score, and the message names the column that was looked at. */
enum lineage_status lineage_best(struct lineage_store *store, struct lineage_trial *trial,
                                 struct lineage_error *err)
{
    int64_t seq = 0;
    double score;
    enum lineage_status status;
    *trial = (struct lineage_trial){0};
    do {
        status = mirror_sync(store->mirror, err);
        if (status == LINEAGE_OK)
            status = mirror_best(store->mirror, &seq, &score, err);
        if (status == LINEAGE_OK)
            status = mirror_load(store->mirror, seq, trial, err);
    } while (status != LINEAGE_OK && mirror_mended(store->mirror));
    if (status == LINEAGE_ENOTFOUND)
        store_fail(err, LINEAGE_ENOTFOUND, "%s has no kept or baseline trial with a finite %s", store->dir,
                   lineage_store_metric(store));
    return status;
}

/* By the native rule: the chain answers which kept trials led here, and exp_014 is 014 in it. */
enum lineage_status lineage_chain_load(struct lineage_store *store, const char *id,
                                       struct lineage_chain *chain, struct lineage_error *err)
{
    int64_t seq = 0;
    enum lineage_status status;
    do {
        *chain = (struct lineage_chain){0};
        status = resolve(store, id, &seq, err);
        if (status == LINEAGE_OK)
            status = mirror_chain(store->mirror, seq, MIRROR_CHAIN_KEPT, chain, err);
    } while (status != LINEAGE_OK && mirror_mended(store->mirror));
    return status;
}

enum lineage_status lineage_query_count(size_t *n, struct lineage_store *store, const struct lineage_query *query,
                                        struct lineage_error *err)
{
    enum lineage_status status;
    do {
        *n = 0;
        status = mirror_sync(store->mirror, err);
        if (status == LINEAGE_OK)
            status = mirror_count(store->mirror, query, n, err);
    } while (status != LINEAGE_OK && mirror_mended(store->mirror));
    return status;
}

/* No cell is no failure of the index, but to who asked for a table it is. */
enum lineage_status lineage_sweep_load(struct lineage_store *store, const char *x, const char *y,
                                       struct lineage_sweep *sweep, struct lineage_error *err)
{
    enum lineage_status status;
    do {
        *sweep = (struct lineage_sweep){0};
        status = mirror_sync(store->mirror, err);
        if (status == LINEAGE_OK)
            status = mirror_sweep(store->mirror, x, y, sweep, err);
    } while (status != LINEAGE_OK && mirror_mended(store->mirror));
    if (status == LINEAGE_OK && !sweep->n_cells) {
        lineage_sweep_release(sweep);
        return store_fail(err, LINEAGE_ENOTFOUND, "no trial has %s%s%s", x, y ? " and " : "", y ? y : "");
    }
    return status;
}

/* Rows that were given cannot be taken back: then the failure is the answer. */
struct passing {
    lineage_sql_row *row;
    void *context;
    bool begun;
};

static bool pass_row(void *context, size_t n, const char *const *names, const char *const *texts)
{
    struct passing *passing = context;
    passing->begun = true;
    return passing->row(passing->context, n, names, texts);
}

enum lineage_status lineage_sql(struct lineage_store *store, const char *statement, lineage_sql_row *row, void *context,
                                struct lineage_error *err)
{
    struct passing passing = {.row = row, .context = context};
    enum lineage_status status;
    do {
        status = mirror_sync(store->mirror, err);
        if (status == LINEAGE_OK)
            status = mirror_sql(store->mirror, statement, pass_row, &passing, err);
    } while (status != LINEAGE_OK && mirror_mended(store->mirror) && !passing.begun);
    return status;
}
