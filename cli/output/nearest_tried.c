/* nearest_tried.c: see nearest_tried.h. */
#include "output/nearest_tried.h"

#include <math.h>
#include <string.h>

#include <lineage/notes.h>
#include <lineage/text.h>

enum { OUTCOME_SHOWN = 200 };

static bool meets(const struct lineage_trial *trial, const struct lineage_condition *condition)
{
    const struct lineage_param *param = lineage_trial_find_param(trial, condition->name);
    const struct lineage_range *range = &condition->range;
    if (!param || !param->text != !condition->n_texts)
        return false;
    for (size_t i = 0; i < condition->n_texts; i++)
        if (strcmp(param->text, condition->texts[i]) == 0)
            return true;
    return !condition->n_texts && !isnan(param->value) && (!range->low.present || param->value >= range->low.value) &&
           (!range->high.present || param->value <= range->high.value);
}

static void describe(char outcome[OUTCOME_SHOWN + 64], const struct lineage_trial *trial)
{
    char score[LINEAGE_NUMBER_MAX];
    const char *label = lineage_label_name(trial->status), *reason = lineage_notes_reason(trial->notes);
    size_t length = strcspn(reason, ";");
    if (lineage_label_is_failure(trial->status) && length)
        snprintf(outcome, OUTCOME_SHOWN + 64, "%s: %.*s", label, (int)(length > OUTCOME_SHOWN ? OUTCOME_SHOWN : length), reason);
    else if (trial->score.present)
        snprintf(outcome, OUTCOME_SHOWN + 64, "%s, %s", label, lineage_number_format(score, trial->score.value));
    else
        snprintf(outcome, OUTCOME_SHOWN + 64, "%s", label);
}

static json_t *to_json(const struct lineage_trial *trial, const struct lineage_condition *conditions, size_t n)
{
    char outcome[OUTCOME_SHOWN + 64], exp_id[80];
    json_t *has = json_array(), *lacks = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(meets(trial, &conditions[i]) ? has : lacks, cli_json_text(conditions[i].name));
    snprintf(exp_id, sizeof exp_id, "%s", trial->exp_id);
    describe(outcome, trial);
    return json_pack("{s:o, s:o, s:o, s:o}", "exp_id", cli_json_text(exp_id), "has", has, "lacks", lacks, "outcome",
                     cli_json_text(outcome));
}

json_t *cli_nearest_tried(struct lineage_store *store, const struct lineage_condition *conditions, size_t n, size_t limit)
{
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    struct lineage_error err;
    json_t *list = json_array();
    if (lineage_nearest(&cursor, store, conditions, n, limit, &err) != LINEAGE_OK)
        return list;
    while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK)
        json_array_append_new(list, to_json(&trial, conditions, n));
    lineage_cursor_close(cursor);
    return list;
}
