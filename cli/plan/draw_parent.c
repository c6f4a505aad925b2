/*
 * The weight of a kept trial is sigmoid(10 (s - 0.5)) / (1 + children), as in the Darwin Goedel Machine (Zhang et al.
 * 2025, arXiv 2505.22954), where s is its score scaled from 0 (the worst kept trial) to 1 (the best). So good trials
 * are drawn more often, and a trial with many children is drawn less often than one with few.
 */
#include "plan/planning.h"

enum { PURPOSE = 77 }; /* number of a random stream that no proposer uses */

struct family {
    struct {
        char *exp_id;
        double score;
        size_t children;
    } *at; /* [n], kept trials */
    size_t n, capacity;
};

static bool add_kept(struct family *family, const struct lineage_trial *row)
{
    if (!CLI_ROOM(family->at, family->n, family->capacity))
        return false;
    family->at[family->n].exp_id = strdup(row->exp_id);
    family->at[family->n].score = row->score.value;
    family->at[family->n].children = 0;
    return family->at[family->n++].exp_id != NULL;
}

/* The rows come oldest first, so that a parent is known before its children. */
static bool take_row(struct family *family, const struct lineage_trial *row)
{
    for (size_t i = 0; row->parent_exp && i < family->n; i++)
        family->at[i].children += strcmp(family->at[i].exp_id, row->parent_exp) == 0;
    bool ranks = lineage_label_is_kept(row->status) && row->score.present && isfinite(row->score.value);
    return !ranks || add_kept(family, row);
}

static int read_family(struct family *family, struct lineage_store *store)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    struct lineage_error err;
    bool taken = true;
    if (lineage_query_open(&cursor, store, &all, &err) != LINEAGE_OK)
        return cli_fail(&err);
    enum lineage_status status = LINEAGE_OK;
    while (taken && (status = lineage_cursor_next(cursor, &row, &err)) == LINEAGE_OK)
        taken = take_row(family, &row);
    lineage_cursor_close(cursor);
    if (!taken)
        return cli_no_memory();
    return status == LINEAGE_ENOTFOUND ? CLI_GO_ON : cli_fail(&err);
}

static double weight(const struct family *family, size_t i, double worst, double best)
{
    double s = best != worst ? (family->at[i].score - worst) / (best - worst) : 0.5;
    return propose_sigmoid(10 * (s - 0.5)) / (1 + (double)family->at[i].children);
}

static size_t draw(const struct family *family, bool lower_is_better, uint64_t seed)
{
    double low = INFINITY, high = -INFINITY, total = 0;
    for (size_t i = 0; i < family->n; i++) {
        low = fmin(low, family->at[i].score);
        high = fmax(high, family->at[i].score);
    }
    double worst = lower_is_better ? high : low, best = lower_is_better ? low : high;
    for (size_t i = 0; i < family->n; i++)
        total += weight(family, i, worst, best);
    double left = propose_draw(seed, PURPOSE, family->n) * total;
    size_t i = 0;
    while (i + 1 < family->n && (left -= weight(family, i, worst, best)) >= 0)
        i++;
    return i;
}

int draw_parent(char **exp_id, struct lineage_store *store, uint64_t seed)
{
    struct family family = {0};
    bool lower = lineage_store_config(store)->direction == LINEAGE_LOWER;
    int status = read_family(&family, store);
    if (status == CLI_GO_ON) {
        *exp_id = strdup(family.n ? family.at[draw(&family, lower, seed)].exp_id : "");
        status = *exp_id ? CLI_GO_ON : cli_no_memory();
    }
    for (size_t i = 0; i < family.n; i++)
        free(family.at[i].exp_id);
    free(family.at);
    return status;
}
