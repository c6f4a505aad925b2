#include "output/ideas_out.h"

#include <lineage/notes.h>
#include <lineage/text.h>

enum { OUTCOME_SHOWN = 200 };

static bool meets(const struct lineage_trial *trial, const struct lineage_condition *condition)
{
    const struct lineage_param *param = lineage_trial_find_param(trial, condition->name);
    const struct lineage_range *range = &condition->range;
    double wide;
    if (param && !param->text && condition->n_texts == 1 && lineage_param_is_text(condition->texts[0]))
        return lineage_number_parse(&wide, condition->texts[0], strlen(condition->texts[0])) && param->value == wide;
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
        json_array_append_new(values, cli_json_setting(sweep.xs[i]));
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

/* The search ranks trials by their words; trials that `counts` rejects may come before others that count. */
enum { LOOKED_AT = 40, TEXT_SHOWN = 120, CLAIM_SHOWN = 160 };

static void __attribute__((format(printf, 2, 3))) add(json_t *reasons, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_array_append_new(reasons, cli_json_text(text));
}

/* The notes of a trial without a score say why it failed. */
void cli_tried_row(json_t *reasons, const struct lineage_trial *row, const char *how)
{
    char score[LINEAGE_NUMBER_MAX] = "", *notes = cli_text_line(row->score.present || !row->notes ? "" : row->notes, TEXT_SHOWN);
    if (row->score.present)
        lineage_number_format(score, row->score.value);
    add(reasons, "tried already: %.80s %s%s%s %s%s%s", row->exp_id, lineage_label_name(row->status), *score ? " " : "", score,
        how, notes && *notes ? ": " : "", notes ? notes : "");
    free(notes);
}

static bool same_value(const struct lineage_param *a, const struct lineage_param *b)
{
    if (a->text || b->text)
        return a->text && b->text && strcmp(a->text, b->text) == 0;
    return a->value == b->value || fabs(a->value - b->value) <= lineage_slack(LINEAGE_TOLERANCE, b->value);
}

/* Whether the trial, which has the n parameters, has further ones that the best trial does not have: it tried another setting. What the
 * best trial does not name is as in the baseline, whose own setting is never another one; without both, nothing is known
 * of what it does not name. */
static bool tried_more(const struct lineage_trial *trial, const struct lineage_param *params, size_t n,
                       const struct lineage_trial *best, const struct lineage_trial *baseline, const char *const *seeds)
{
    const bool known = best->exp_id || baseline->exp_id;
    for (size_t i = 0; i < trial->n_params && known && trial->status != LINEAGE_BASELINE; i++) {
        const struct lineage_param *p = &trial->params[i], *other = NULL;
        for (size_t k = 0; k < n && !other; k++)
            other = strcmp(p->name, lineage_param_canonical(params[k].name)) == 0 ? &params[k] : NULL;
        if (other || !lineage_param_is_inherited(p->name, seeds))
            continue;
        other = lineage_trial_find_param(best, p->name);
        other = other ? other : lineage_trial_find_param(baseline, p->name);
        if (!other || !same_value(p, other))
            return true;
    }
    return false;
}

static int check_params(json_t *reasons, struct lineage_store *store, const struct lineage_param *params, size_t n)
{
    const struct lineage_query newest = {.labels = 1u << LINEAGE_BASELINE, .sort = "-seq", .limit = 1};
    struct lineage_cursor *cursor = NULL, *baselines = NULL;
    struct lineage_trial trial, best = {0}, baseline = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best_kept(store, &best, &err);
    if (status == LINEAGE_OK || status == LINEAGE_ENOTFOUND)
        status = lineage_query_open(&baselines, store, &newest, &err);
    if (status == LINEAGE_OK && (status = lineage_cursor_next(baselines, &baseline, &err)) == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = lineage_tried(&cursor, store, params, n, LINEAGE_TOLERANCE, &err);
    while (status == LINEAGE_OK && (status = lineage_cursor_next(cursor, &trial, &err)) == LINEAGE_OK)
        if (json_array_size(reasons) < CLI_TRIED_SHOWN &&
            !tried_more(&trial, params, n, &best, &baseline, lineage_store_seeds(store)))
            cli_tried_row(reasons, &trial, "with the same parameters");
    lineage_cursor_close(cursor);
    lineage_cursor_close(baselines);
    lineage_trial_release(&best);
    return status == LINEAGE_ENOTFOUND || status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

int cli_tried_idea(json_t *reasons, struct lineage_ideas *ideas, const char *hypothesis, cli_tried_counts *counts, void *context)
{
    struct lineage_similar_list list;
    struct lineage_error err;
    size_t shown = 0;
    if (lineage_ideas_similar_text(&list, ideas, hypothesis, LOOKED_AT, &err) != LINEAGE_OK)
        return cli_fail(&err);
    for (size_t i = 0; i < list.n && list.items[i].same && shown < CLI_TRIED_SHOWN; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, list.items[i].trial);
        char outcome[80];
        if ((!idea->running && idea->status == LINEAGE_HARNESS_ABORT) || (counts && !counts(context, idea)))
            continue;
        cli_idea_outcome(outcome, sizeof outcome, NULL, idea);
        char *line = cli_text_line(idea->hypothesis, TEXT_SHOWN);
        add(reasons, "tried already: %.80s %s (%s): %s", idea->exp_id, outcome, list.items[i].why, line ? line : "");
        free(line);
        shown++;
    }
    lineage_similar_release(&list);
    return CLI_GO_ON;
}

int cli_tried_claims(json_t *reasons, struct lineage_ideas *ideas, const char *hypothesis)
{
    struct lineage_novelty_list list;
    struct lineage_error err;
    if (lineage_ideas_claims_text(&list, ideas, hypothesis, &err) != LINEAGE_OK)
        return cli_fail(&err);
    for (size_t i = 0; i < list.n; i++) {
        char ids[160] = "";
        size_t n = 0;
        for (size_t k = 0; k < list.items[i].n_counter && k < CLI_TRIED_SHOWN; k++) {
            const char *id = lineage_ideas_get(ideas, list.items[i].counter[k])->exp_id;
            if (n + strlen(id) + 3 < sizeof ids)
                n += (size_t)snprintf(ids + n, sizeof ids - n, "%s%s", n ? ", " : "", id);
        }
        char *claim = cli_text_line(list.items[i].claim, CLAIM_SHOWN);
        if (n)
            add(reasons, "the log contradicts '%s': see %s", claim ? claim : "", ids);
        free(claim);
    }
    lineage_novelty_release(&list);
    return CLI_GO_ON;
}

static bool has_no_params(void *store, const struct lineage_idea *idea)
{
    struct lineage_trial row = {0};
    bool none = idea->running || (lineage_find(store, idea->exp_id, &row, NULL) == LINEAGE_OK && row.n_params == 0);
    lineage_trial_release(&row);
    return none;
}

int cli_tried_reasons(json_t *reasons, struct lineage_store *store, const char *hypothesis, const struct lineage_param *params,
                      size_t n_params)
{
    struct lineage_ideas *ideas = NULL;
    struct lineage_error err;
    int status = n_params ? check_params(reasons, store, params, n_params) : CLI_GO_ON;
    if (status != CLI_GO_ON || !hypothesis || !*hypothesis)
        return status;
    if (cli_ideas_alike(&ideas, store, hypothesis, &err) != LINEAGE_OK)
        return cli_fail(&err);
    status = cli_tried_idea(reasons, ideas, hypothesis, n_params ? has_no_params : NULL, store);
    if (status == CLI_GO_ON)
        status = cli_tried_claims(reasons, ideas, hypothesis);
    lineage_ideas_release(ideas);
    return status;
}

int cli_reasons_print(json_t *reasons, int status)
{
    json_t *reason;
    size_t i;
    json_array_foreach(reasons, i, reason)
        cli_error(CLI_NO, "%s", json_string_value(reason));
    if (status == CLI_GO_ON && json_array_size(reasons) > 0)
        status = CLI_NO;
    json_decref(reasons);
    return status;
}

int cli_check_tried(struct lineage_store *store, const char *hypothesis, const struct lineage_param *params, size_t n_params)
{
    json_t *reasons = json_array();
    return cli_reasons_print(reasons, cli_tried_reasons(reasons, store, hypothesis, params, n_params));
}

/* Replaces semicolons in the reason: a semicolon would end this part of the notes, and a `=` after it could set a
 * parameter. */
char *cli_notes_again(const char *notes, const char *reason)
{
    struct cli_writer writer = {0};
    FILE *out = cli_writer_open(&writer);
    if (!out)
        return NULL;
    if (notes && *notes)
        fprintf(out, "%s; ", notes);
    fputs("again: ", out);
    for (const char *c = reason; *c; c++)
        fputc(*c == ';' || (unsigned char)*c < ' ' ? ',' : *c, out);
    return cli_writer_close(&writer);
}
