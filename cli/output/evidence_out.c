#include <lineage/notes.h>
#include <lineage/report.h>
#include <lineage/text.h>

#include "output/show.h"
#include "show.h"

/* Signed like delta_vs_best: below 0 is better if a lower score is. */
static double as_difference(const struct lineage_evidence *evidence, double gain)
{
    return evidence->rule.higher || gain == 0 ? gain : -gain;
}

static void interval(double *low, double *high, const struct lineage_evidence *evidence, size_t i)
{
    lineage_judgement_interval(low, high, &evidence->trials[i].judgement, &evidence->noise);
    if (!evidence->rule.higher) {
        double end = *low;
        *low = -*high;
        *high = -end;
    }
}

/* A trial that one more run may confirm or refute. */
static bool is_worth_a_run(const struct lineage_evidence_trial *trial)
{
    return !trial->is_best && !trial->kept_id && trial->judgement.state == LINEAGE_EVIDENCE_OPEN && trial->judgement.near;
}

static const char *state_of(const struct lineage_evidence_trial *trial)
{
    return trial->is_best ? "best" : lineage_evidence_state_name(trial->judgement.state);
}

static int by_gain(const void *a, const void *b)
{
    const struct lineage_evidence_trial *const *x = a, *const *y = b;
    double gx = (*x)->is_best ? 0 : (*x)->judgement.gain, gy = (*y)->is_best ? 0 : (*y)->judgement.gain;
    if ((*x)->is_best != (*y)->is_best)
        return (*x)->is_best ? -1 : 1;
    return gx != gy ? (gx < gy) - (gx > gy) : ((*x)->seq > (*y)->seq) - ((*x)->seq < (*y)->seq);
}

static void print_trial(struct cli_list *list, const struct lineage_evidence *evidence, size_t i)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    const bool compared = !trial->is_best && evidence->best < evidence->n;
    double low = 0, high = 0;
    interval(&low, &high, evidence, i);
    cli_list_row(list, CLI_TEXT(trial->exp_id), CLI_TEXT(lineage_label_name(trial->status)),
                 CLI_TEXT(trial->kept_id && trial->kept_id != trial->exp_id ? trial->kept_id : ""), CLI_COUNT(trial->runs.n),
                 CLI_MEAN(trial->runs.mean, lineage_noise_margin(&evidence->noise, trial->runs.n)),
                 CLI_FIGURE(as_difference(evidence, trial->judgement.gain), compared), CLI_FIGURE(low, compared && !isnan(low)),
                 CLI_FIGURE(high, compared && !isnan(high)),
                 CLI_FIGURE(trial->judgement.odds, compared && !isnan(trial->judgement.error)),
                 CLI_TEXT(compared || trial->is_best ? state_of(trial) : ""), CLI_TEXT(is_worth_a_run(trial) ? "yes" : ""));
}

int cli_evidence_print(const struct lineage_evidence *evidence, struct cli_session *session)
{
    const struct lineage_evidence_trial **sorted = calloc(evidence->n + 1, sizeof *sorted);
    struct cli_list *list =
        cli_list_of(session->format, NULL, "exp_id,status,kept_as,runs,mean,difference,low,high,odds,evidence,run_again");
    int status = sorted ? CLI_OK : cli_no_memory();
    for (size_t i = 0; status == CLI_OK && i < evidence->n; i++)
        sorted[i] = &evidence->trials[i];
    if (status == CLI_OK && evidence->n)
        qsort(sorted, evidence->n, sizeof *sorted, by_gain);
    for (size_t i = 0; status == CLI_OK && i < evidence->n; i++)
        print_trial(list, evidence, (size_t)(sorted[i] - evidence->trials));
    free(sorted);
    const int finished = cli_list_finish(list);
    return status == CLI_OK ? finished : status;
}

static const char *mean_of(char out[LINEAGE_NUMBER_MAX], const struct lineage_evidence *evidence, const struct lineage_runs *runs)
{
    return lineage_mean_text(out, runs->mean, lineage_noise_margin(&evidence->noise, runs->n));
}

const char *cli_evidence_text(char out[CLI_EVIDENCE_TEXT_MAX], const struct lineage_evidence *evidence, size_t i)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    char mean[LINEAGE_NUMBER_MAX];
    double low, high;
    out[0] = '\0';
    if (trial->is_best || evidence->best >= evidence->n) {
        if (trial->is_best)
            snprintf(out, CLI_EVIDENCE_TEXT_MAX, "the best; mean %s of %zu run%s", mean_of(mean, evidence, &evidence->best_runs),
                     evidence->best_runs.n, evidence->best_runs.n == 1 ? "" : "s");
        return out;
    }
    interval(&low, &high, evidence, i);
    int n = snprintf(out, CLI_EVIDENCE_TEXT_MAX, "%s; mean %s of %zu run%s, %+.3g against %.60s", state_of(trial),
                     mean_of(mean, evidence, &trial->runs), trial->runs.n, trial->runs.n == 1 ? "" : "s",
                     as_difference(evidence, trial->judgement.gain), evidence->best_id);
    if (!isnan(low) && n > 0 && n < CLI_EVIDENCE_TEXT_MAX)
        n += snprintf(out + n, (size_t)(CLI_EVIDENCE_TEXT_MAX - n), " (95 %% interval %.3g to %.3g)", low, high);
    if (is_worth_a_run(trial) && n > 0 && n < CLI_EVIDENCE_TEXT_MAX)
        snprintf(out + n, (size_t)(CLI_EVIDENCE_TEXT_MAX - n), "; worth another run");
    return out;
}

/* ---- the answer ---- */

enum { SETTING_NAME_MAX = 160 };

/* The parameters of the row but its seed, or the id if it has none. */
static void name_row(char out[SETTING_NAME_MAX], const char *const *seeds, const struct lineage_trial *row, const char *exp_id)
{
    const size_t size = SETTING_NAME_MAX;
    size_t used = 0;
    for (size_t i = 0; i < row->n_params && used + 1 < size; i++) {
        const struct lineage_param *p = &row->params[i];
        char number[LINEAGE_NUMBER_MAX], quoted[LINEAGE_PARAM_QUOTED_MAX];
        if (lineage_param_is_seed(p->name, seeds) || strcmp(p->name, "proposer") == 0)
            continue;
        const char *value = p->text ? lineage_param_text_format(quoted, p->text) : lineage_setting_format(number, p->value);
        char *safe = p->text ? cli_text_line(value, 40) : NULL;
        used += (size_t)snprintf(out + used, size - used, "%s%s=%s", used ? " " : "", p->name,
                                 !p->text ? value
                                 : safe   ? safe
                                          : "");
        free(safe);
    }
    if (used && used < size)
        return;
    char *id = cli_text_line(exp_id, 80);
    snprintf(out, size, "%s", id ? id : "");
    free(id);
}

static void name_setting(char out[SETTING_NAME_MAX], struct lineage_store *store, const char *exp_id)
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    (void)!lineage_find(store, exp_id, &row, &err);
    name_row(out, lineage_store_seeds(store), &row, exp_id);
    lineage_trial_release(&row);
}

/* The names of all settings, read in the order of the log, because looking each up by its id costs twice as much; NULL where name_setting
 * must look it up, as for one of two trials with the same id. The caller owns the names. */
static char **name_settings(const struct lineage_evidence *evidence, struct lineage_store *store)
{
    static const struct lineage_query all = {0};
    char **names = calloc(evidence->n + 1, sizeof *names), name[SETTING_NAME_MAX];
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial row;
    struct lineage_error err;
    if (!names || lineage_query_open(&cursor, store, &all, &err) != LINEAGE_OK)
        return names;
    while (lineage_cursor_next(cursor, &row, &err) == LINEAGE_OK) {
        const size_t i = lineage_evidence_find(evidence, row.exp_id);
        if (i >= evidence->n || strcmp(evidence->trials[i].exp_id, row.exp_id) != 0)
            continue;
        name_row(name, lineage_store_seeds(store), &row, row.exp_id);
        free(names[i]); /* of rows with the same id the last one counts, as for lineage_find */
        names[i] = strdup(name);
    }
    lineage_cursor_close(cursor);
    return names;
}

const char *cli_held_back_text(char out[CLI_EVIDENCE_TEXT_MAX], const struct lineage_evidence *evidence, size_t i)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    char mean[LINEAGE_NUMBER_MAX];
    char *id = cli_text_line(trial->exp_id, 60);
    snprintf(out, CLI_EVIDENCE_TEXT_MAX,
             "more runs of %s diverged than did not, so it is not named; the mean of the rest is %s; `lineage rerun %s --seeds "
             "2` finds out",
             id ? id : "", mean_of(mean, evidence, &trial->runs), id ? id : "");
    free(id);
    return out;
}

const char *cli_answer_text(char out[CLI_ANSWER_TEXT_MAX], const struct lineage_evidence *evidence, struct lineage_store *store)
{
    char name[SETTING_NAME_MAX], next[SETTING_NAME_MAX], margin[48] = "", left_out[96] = "", all[48] = "";
    char mean[LINEAGE_NUMBER_MAX];
    out[0] = '\0';
    if (isnan(evidence->sure))
        return out;
    const struct lineage_evidence_trial *answer = &evidence->trials[evidence->answer];
    const double half = lineage_noise_margin(&evidence->noise, answer->runs.n);
    name_setting(name, store, answer->exp_id);
    name_setting(next, store, evidence->trials[evidence->second].exp_id);
    if (strcmp(name, next) == 0) { /* its code or its program is another one */
        char *id = cli_text_line(evidence->trials[evidence->second].exp_id, 60);
        snprintf(next + strlen(next), sizeof next - strlen(next), " (%s)", id ? id : "");
        free(id);
    }
    if (isfinite(half))
        snprintf(margin, sizeof margin, " \xC2\xB1 %.2g", half);
    if (evidence->n > 2)
        snprintf(all, sizeof all, ", and than all others with %.2f", fmin(evidence->sure, 0.99));
    if (answer->left_out)
        snprintf(left_out, sizeof left_out, " and %zu that diverged", answer->left_out);
    if (answer->failed)
        snprintf(left_out + strlen(left_out), sizeof left_out - strlen(left_out), " and %zu without a score", answer->failed);
    snprintf(out, CLI_ANSWER_TEXT_MAX, "%s: %s%s (%zu run%s%s), better than the next, %s, with probability %.2f%s%s%s", name,
             lineage_mean_text(mean, answer->runs.mean, half), margin, answer->runs.n, answer->runs.n == 1 ? "" : "s", left_out,
             next, fmin(evidence->over_second, 0.99), all,
             answer->kept_id ? "" : "; not proven to be better than the kept trials",
             lineage_evidence_same_scores(evidence) ? "; " LINEAGE_SAME_SCORES : "");
    return out;
}

json_t *cli_answer_json(const struct lineage_evidence *evidence)
{
    if (isnan(evidence->sure))
        return NULL;
    const struct lineage_evidence_trial *answer = &evidence->trials[evidence->answer];
    const double half = lineage_noise_margin(&evidence->noise, answer->runs.n);
    const size_t i = lineage_evidence_held_back(evidence);
    const struct lineage_evidence_trial *held_back = i < evidence->n ? &evidence->trials[i] : NULL;
    return json_pack("{s:o, s:o, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:b, s:o*}", "mean", cli_json_number(answer->runs.mean),
                     "margin", isfinite(half) ? cli_json_number(half) : json_null(), "runs", (int)answer->runs.n, "left_out",
                     (int)answer->left_out, "failed", (int)answer->failed, "expected", cli_json_number(answer->expected), "next",
                     cli_json_text(evidence->trials[evidence->second].exp_id), "probability", cli_json_number(evidence->sure),
                     "over_next", cli_json_number(evidence->over_second), "kept", answer->kept_id != NULL, "held_back",
                     held_back ? json_pack("{s:o, s:o, s:i, s:i}", "exp_id", cli_json_text(held_back->exp_id), "mean",
                                           cli_json_number(held_back->runs.mean), "runs", (int)held_back->runs.n, "left_out",
                                           (int)held_back->left_out)
                               : NULL);
}

/* ---- settings ---- */

/* One: the margin of a single run. It is asked for once, because a quantile takes longer than everything else of a row. */
static void print_setting(struct cli_list *list, double one, const struct lineage_evidence_trial *trial, const char *name)
{
    const double half = one / sqrt((double)trial->runs.n);
    cli_list_row(list, CLI_TEXT(name), CLI_TEXT(trial->exp_id), CLI_COUNT(trial->runs.n), CLI_NUMBER(trial->runs.mean, true),
                 CLI_FIGURE(half, isfinite(half)), CLI_NUMBER(trial->expected, true), CLI_COUNT(trial->left_out),
                 CLI_COUNT(trial->failed), CLI_TEXT(trial->kept_id ? trial->kept_id : ""));
}

/* The settings without a score come last, because a list without them looks as if they had never run. */
static void print_failed_setting(struct cli_list *list, const struct lineage_failed_setting *failed, struct lineage_store *store)
{
    char name[SETTING_NAME_MAX];
    name_setting(name, store, failed->exp_id);
    cli_list_row(list, CLI_TEXT(name), CLI_TEXT(failed->exp_id), CLI_COUNT(0), CLI_NUMBER(0, false), CLI_FIGURE(0, false),
                 CLI_NUMBER(0, false), CLI_COUNT(0), CLI_COUNT(failed->n), CLI_TEXT(""));
}

/* Why the newest run of the setting failed, as the block words it, without a word in front that says no more than the label; NULL if its
 * row says nothing. free() it. */
static char *reason_of_newest(const struct lineage_failed_setting *failed, struct lineage_store *store)
{
    const char *const labels[] = {lineage_label_name(failed->status), "failed"}; /* an import writes the latter */
    struct lineage_trial row = {0};
    struct lineage_error err;
    char why[LINEAGE_REASON_MAX] = "";
    const char *reason = why;
    if (lineage_find(store, failed->last_id, &row, &err) == LINEAGE_OK)
        lineage_failure_reason(why, &row);
    lineage_trial_release(&row);
    for (size_t i = 0; i < 2; i++) {
        const size_t n = strlen(labels[i]);
        if (strncmp(reason, labels[i], n) == 0 && strncmp(reason + n, ": ", 2) == 0)
            reason += n + 2;
    }
    return *reason ? cli_text_line(reason, 200) : NULL;
}

static void say_failed_setting(const struct lineage_failed_setting *failed, struct lineage_store *store)
{
    char name[SETTING_NAME_MAX];
    name_setting(name, store, failed->exp_id);
    char *id = cli_text_line(failed->last_id, 60), *reason = reason_of_newest(failed, store);
    cli_tell("%s has no score: %zu run%s failed%s%s: %s%s%s", name, failed->n, failed->n == 1 ? "" : "s",
             failed->n > 1 ? "; the newest, " : ", ", id ? id : "", lineage_label_name(failed->status), reason ? ": " : "",
             reason ? reason : "");
    free(id);
    free(reason);
}

static void say_failed_settings(const struct lineage_evidence *evidence, struct lineage_store *store)
{
    enum { SAID_MAX = 8 };
    const struct lineage_failed_setting *failed;
    size_t n = 0;
    for (; (failed = lineage_evidence_failed(evidence, n)); n++)
        if (n < SAID_MAX)
            say_failed_setting(failed, store);
    if (n > SAID_MAX)
        cli_tell("%zu more settings have no score", n - SAID_MAX);
}

int cli_ranked_print(const struct lineage_evidence *evidence, struct cli_session *session, size_t most)
{
    char text[CLI_EVIDENCE_TEXT_MAX];
    size_t *order = calloc(evidence->n + 1, sizeof *order);
    struct cli_list *list = cli_list_of(session->format, &session->screen,
                                        "setting:1/20,exp_id:1,runs:2,mean:1,margin:2,expected:4,left_out:5,failed:6,kept_as:3");
    if (order)
        lineage_evidence_order(order, evidence);
    const double one = lineage_noise_margin(&evidence->noise, 1);
    const size_t shown = most < evidence->n ? most : evidence->n;
    char **names = shown == evidence->n ? name_settings(evidence, session->store) : calloc(evidence->n + 1, sizeof *names);
    for (size_t i = 0; order && names && i < shown; i++) {
        const struct lineage_evidence_trial *trial = &evidence->trials[order[i]];
        if (!names[order[i]])
            name_setting(text, session->store, trial->exp_id);
        print_setting(list, one, trial, names[order[i]] ? names[order[i]] : text);
    }
    for (size_t i = 0; names && i < evidence->n; i++)
        free(names[i]);
    const struct lineage_failed_setting *failed;
    size_t n_failed = 0;
    for (; (failed = lineage_evidence_failed(evidence, n_failed)); n_failed++)
        if (shown + n_failed < most)
            print_failed_setting(list, failed, session->store);
    int status = cli_list_finish(list);
    status = order && names ? status : cli_no_memory();
    free(order);
    free(names);
    if (evidence->n + n_failed > most) {
        const size_t more = evidence->n + n_failed - most;
        cli_tell("%zu more setting%s not listed; `--limit 0` lists all", more, more == 1 ? " is" : "s are");
    }
    for (size_t i = 0; i < evidence->n; i++)
        if (evidence->trials[i].stray)
            cli_tell("%s ran %s, far outside of all others: it may have diverged, so it counts as not run; `lineage rerun %s "
                     "--seeds 2` finds out",
                     evidence->trials[i].exp_id, evidence->trials[i].again ? "twice" : "once", evidence->trials[i].exp_id);
        else if (evidence->trials[i].left_out > evidence->trials[i].runs.n)
            cli_say(cli_held_back_text(text, evidence, i));
    say_failed_settings(evidence, session->store);
    return status;
}

json_t *cli_ranked_json(const struct lineage_evidence *evidence, struct lineage_store *store, size_t most)
{
    json_t *array = json_array();
    size_t *order = calloc(evidence->n + 1, sizeof *order);
    if (order)
        lineage_evidence_order(order, evidence);
    const double one = lineage_noise_margin(&evidence->noise, 1);
    for (size_t i = 0; array && order && i < evidence->n && i < most; i++) {
        const struct lineage_evidence_trial *trial = &evidence->trials[order[i]];
        const double half = one / sqrt((double)trial->runs.n);
        char name[SETTING_NAME_MAX];
        name_setting(name, store, trial->exp_id);
        json_array_append_new(array, json_pack("{s:o, s:o, s:i, s:o, s:o, s:o*}", "setting", cli_json_text(name), "exp_id",
                                               cli_json_text(trial->exp_id), "runs", (int)trial->runs.n, "mean",
                                               cli_json_number(trial->runs.mean), "margin",
                                               isfinite(half) ? cli_json_number(half) : json_null(), "stray",
                                               trial->stray ? json_true() : NULL));
    }
    free(order);
    return array;
}

json_t *cli_failed_settings_json(const struct lineage_evidence *evidence, struct lineage_store *store, size_t most)
{
    json_t *array = json_array();
    const struct lineage_failed_setting *failed;
    char name[SETTING_NAME_MAX];
    for (size_t i = 0; array && i < most && (failed = lineage_evidence_failed(evidence, i)); i++) {
        name_setting(name, store, failed->exp_id);
        char *reason = reason_of_newest(failed, store);
        json_array_append_new(array, json_pack("{s:o, s:o, s:o, s:i, s:s, s:o*}", "setting", cli_json_text(name), "exp_id",
                                               cli_json_text(failed->exp_id), "last_id", cli_json_text(failed->last_id), "failed",
                                               (int)failed->n, "status", lineage_label_name(failed->status), "reason",
                                               reason ? cli_json_text(reason) : NULL));
        free(reason);
    }
    if (!json_array_size(array)) {
        json_decref(array);
        return NULL;
    }
    return array;
}

/* ---- findings as lines ---- */

/* File and line come first, as compilers print them, so that editors can jump there. Text from a row is escaped for the
 * terminal. */
void finding_print(const struct lineage_finding *finding)
{
    if (finding->line)
        printf("results.tsv:%llu: ", (unsigned long long)finding->line);
    char text[4096];
    cli_print(stdout, "%s: %.60s%s%.0s\n", finding->kind, finding->exp_id, *finding->exp_id ? ": " : "",
              cli_with_store(text, sizeof text, finding->text));
}

void finding_print_import(void *file, const struct lineage_finding *finding)
{
    cli_print(stderr, "lineage: %s:%" PRIu64 ": %.60s%s%.0s\n", (const char *)file, finding->line, finding->exp_id,
              *finding->exp_id ? ": " : "", finding->text);
}

/* The digest comes first, so that `cut -d' ' -f1` extracts it. */
void finding_print_digest(const struct lineage_digests *digests)
{
    if (digests->head[0])
        printf("%s  %" PRIu64 " records, %" PRIu64 " of them compared\n", digests->head, digests->records, digests->kept);
}
