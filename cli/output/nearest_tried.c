#include "output/ideas_out.h"

#include <math.h>
#include <stdlib.h>
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

/* The only escape in an SQLite literal is a doubled quote. A text from an argument contains no NUL. */
char *cli_sql_quote(const char *text)
{
    char *quoted = malloc(2 * strlen(text) + 3), *out = quoted;
    if (!quoted)
        return NULL;
    *out++ = '\'';
    for (; *text; *out++ = *text++)
        if (*text == '\'')
            *out++ = '\'';
    strcpy(out, "'");
    return quoted;
}

enum { TEXTS_SHOWN = 8 };

static bool take_value(void *context, size_t n, const char *const *names, const char *const *texts, const bool *numbers)
{
    (void)n, (void)names;
    if (texts && texts[0])
        json_array_append_new(context, numbers[0] ? cli_json_digits(texts[0]) : cli_json_text(texts[0]));
    return true;
}

/* The values of a setting in words are in no table of the mirror. */
static void add_in_words(json_t *values, struct lineage_store *store, const char *name, const double *wanted)
{
    struct lineage_sweep sweep;
    struct lineage_error err;
    size_t above = 0;
    if (lineage_sweep_load(store, name, NULL, &sweep, &err) != LINEAGE_OK)
        return;
    while (wanted && above < sweep.n_xs && !sweep.x_texts[above] && sweep.xs[above] <= *wanted)
        above++;
    for (size_t i = above - (above > 0); wanted && i <= above && i < sweep.n_xs && !sweep.x_texts[i]; i++)
        json_array_append_new(values, cli_json_number(sweep.xs[i]));
    for (size_t i = 0; !wanted && i < sweep.n_xs && json_array_size(values) < TEXTS_SHOWN; i++)
        if (sweep.x_texts[i])
            json_array_append_new(values, cli_json_text(sweep.x_texts[i]));
    lineage_sweep_release(&sweep);
}

/* Each statement costs a look-up of an index. */
json_t *cli_nearest_values(struct lineage_store *store, const char *name, const double *wanted)
{
    char sql[640], number[LINEAGE_NUMBER_MAX];
    struct lineage_error err;
    json_t *values = json_array();
    const struct lineage_settings *settings = lineage_store_settings(store);
    char *key = cli_sql_quote(lineage_param_canonical(name));
    for (size_t i = 0; settings && i < settings->n; i++)
        if (strcmp(settings->names[i].name, name) == 0 && settings->names[i].trials) {
            add_in_words(values, store, name, wanted);
            free(key);
            return values;
        }
    for (int up = 0; key && strlen(key) < 200 && up < 1 + (wanted != NULL); up++) {
        if (wanted)
            snprintf(sql, sizeof sql,
                     "SELECT %s(value) FROM param_values WHERE key = %s AND value < '' AND value %s %s AND status <>"
                     " 'harness_abort'",
                     up ? "min" : "max", key, up ? ">" : "<=", lineage_number_format(number, *wanted));
        else
            snprintf(sql, sizeof sql,
                     "SELECT DISTINCT value FROM param_values WHERE key = %s AND value >= '' AND status <>"
                     " 'harness_abort' ORDER BY 1 LIMIT %d",
                     key, TEXTS_SHOWN);
        if (lineage_sql_typed(store, sql, take_value, values, &err) != LINEAGE_OK)
            break;
    }
    free(key);
    return values;
}
