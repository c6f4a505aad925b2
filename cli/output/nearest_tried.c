/* nearest_tried.c: see nearest_tried.h. */
#include "output/nearest_tried.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>
#include <lineage/text.h>

enum { OUTCOME_SHOWN = 200 };

struct near_trial {
    char exp_id[80], outcome[OUTCOME_SHOWN + 64];
    unsigned long matches; /* bit i: it meets the i-th condition */
    size_t n;
    bool failed;
};

static bool meets(const struct lineage_trial *trial, const struct lineage_condition *condition)
{
    const struct lineage_param *param = lineage_trial_find_param(trial, condition->name);
    const struct lineage_range *range = &condition->range;
    if (!param || !param->text != !condition->n_texts)
        return false;
    for (size_t i = 0; i < condition->n_texts; i++)
        if (strcmp(param->text, condition->texts[i]) == 0)
            return true;
    return !condition->n_texts && !(range->low.present && param->value < range->low.value) &&
           !(range->high.present && param->value > range->high.value);
}

static bool is_nearer(const struct near_trial *a, const struct near_trial *b)
{
    return a->n != b->n ? a->n > b->n : a->failed >= b->failed;
}

static void describe(struct near_trial *near, const struct lineage_trial *trial)
{
    char score[LINEAGE_NUMBER_MAX];
    const char *label = lineage_label_name(trial->status), *reason = lineage_notes_reason(trial->notes);
    size_t length = strcspn(reason, ";");
    snprintf(near->exp_id, sizeof near->exp_id, "%s", trial->exp_id);
    if (near->failed && length)
        snprintf(near->outcome, sizeof near->outcome, "%s: %.*s", label, (int)(length > OUTCOME_SHOWN ? OUTCOME_SHOWN : length),
                 reason);
    else if (trial->score.present)
        snprintf(near->outcome, sizeof near->outcome, "%s, %s", label, lineage_number_format(score, trial->score.value));
    else
        snprintf(near->outcome, sizeof near->outcome, "%s", label);
}

static json_t *to_json(const struct near_trial *near, const struct lineage_condition *conditions, size_t n)
{
    json_t *has = json_array(), *lacks = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(near->matches & 1ul << i ? has : lacks, cli_json_text(conditions[i].name));
    return json_pack("{s:o, s:o, s:o, s:o}", "exp_id", cli_json_text(near->exp_id), "has", has, "lacks", lacks, "outcome",
                     cli_json_text(near->outcome));
}

json_t *cli_nearest_tried(struct lineage_store *store, const struct lineage_condition *conditions, size_t n, size_t limit)
{
    static const struct lineage_query all = {0};
    struct near_trial *nearest = calloc(limit + 1, sizeof *nearest);
    struct lineage_cursor *cursor;
    struct lineage_trial trial = {0};
    struct lineage_error err;
    json_t *list = json_array();
    size_t found = 0;
    if (!nearest || n > 32 || lineage_query_open(&cursor, store, &all, &err) != LINEAGE_OK)
        goto done;
    while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK) {
        struct near_trial near = {.failed = lineage_label_is_failure(trial.status)};
        for (size_t i = 0; i < n; i++)
            if (meets(&trial, &conditions[i])) {
                near.matches |= 1ul << i;
                near.n++;
            }
        if (!near.n || !lineage_label_is_informational(trial.status) ||
            (found == limit && !is_nearer(&near, &nearest[found - 1])))
            continue;
        describe(&near, &trial);
        size_t at = found < limit ? found++ : found - 1;
        for (; at > 0 && is_nearer(&near, &nearest[at - 1]); at--)
            nearest[at] = nearest[at - 1];
        nearest[at] = near;
    }
    lineage_cursor_close(cursor);
    for (size_t i = 0; i < found; i++)
        json_array_append_new(list, to_json(&nearest[i], conditions, n));

done:
    free(nearest);
    return list;
}
