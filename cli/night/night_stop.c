/*
 * night_stop.c: see night.h.
 *
 * The expected gain of the next runs has two parts. A new trial: where a proposer has ranges, the expected improvement of its next
 * settings, each of which counts as run with the value that is expected there before the next one is chosen (gp_gain); else further
 * trials are taken to be like those that ran, so that each improves the best one by the upper tail of their distribution. A run
 * again: the chance that another trial is better in truth than the one that looks best, times by how much.
 *
 * Stopping when the gain is small against the noise: Makarova et al. 2022, "Automatic termination for hyperparameter optimization".
 * A quarter of the noise of one run: to see such a difference by one standard error takes 32 runs of both trials.
 */

#include <lineage/evidence.h>
#include <lineage/remarks.h>

#include "night/night.h"

/* TRIALS_LEAST: and as many for each range, from fewer of which the process often learns lengths that are too large.
 * FREEDOM_LEAST: fewer degrees of freedom of the noise say too little about how certain the best trial is. */
enum { TRIALS_LEAST = 5, FREEDOM_LEAST = 5, NEXT_RUNS = 5, HOUR_RUNS_MAX = 100000, RUNS_TO_BELIEVE = 2, NEAR_RUNS_MAX = 4 };
#define NOISE_SHARE 0.25
/* The lead and the noise are estimated from the same few runs, so that a lead is less certain than its error says (shrunk_means.c). */
#define OWN_ESTIMATE 1.3

/* What the next runs would bring: in the unit of the score, positive. */
struct prospect {
    size_t runs;
    double gain, variance;
    double noise; /* standard deviation of one run; 0: unknown */
};

static void add_gain(struct prospect *prospect, double lead, double deviation, double times)
{
    double gain, variance;
    propose_gain(&gain, &variance, lead, deviation);
    prospect->gain += times * gain;
    prospect->variance += times * variance;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Runs again: by how much each trial leads the answer in truth, if it does; the largest n of these count. */
static bool add_reruns(struct prospect *prospect, const struct lineage_evidence *evidence, size_t n)
{
    const struct lineage_evidence_trial *answer = &evidence->trials[evidence->answer];
    double(*all)[2] = calloc(evidence->n, sizeof *all);
    for (size_t i = 0; all && i < evidence->n; i++) {
        const struct lineage_evidence_trial *trial = &evidence->trials[i];
        double lead = evidence->rule.higher ? answer->expected - trial->expected : trial->expected - answer->expected;
        if (i != evidence->answer)
            propose_gain(&all[i][0], &all[i][1], lead, OWN_ESTIMATE * hypot(trial->doubt, answer->doubt));
    }
    if (all)
        qsort(all, evidence->n, sizeof *all, descending);
    for (size_t i = 0; all && i < evidence->n && i < n; i++) {
        prospect->gain += all[i][0];
        prospect->variance += all[i][1];
    }
    free(all);
    return all != NULL;
}

/* New trials that are like those that ran. */
static void add_similar(struct prospect *prospect, const struct lineage_evidence *evidence, size_t n)
{
    const struct lineage_evidence_trial *answer = &evidence->trials[evidence->answer];
    double mean = 0, square = 0;
    for (size_t i = 0; i < evidence->n; i++)
        mean += evidence->trials[i].expected / (double)evidence->n;
    for (size_t i = 0; i < evidence->n; i++)
        square += pow(evidence->trials[i].expected - mean, 2) + pow(evidence->trials[i].doubt, 2);
    double lead = evidence->rule.higher ? answer->expected - mean : mean - answer->expected;
    add_gain(prospect, lead, hypot(sqrt(square / (double)evidence->n), answer->doubt), (double)n);
}

/* New trials of a proposer. *ready: it knows enough for an expectation. */
static int add_proposals(struct prospect *prospect, bool *ready, const struct night *night, size_t n)
{
    struct gp_gain gain;
    int status = planning_expect(&gain, ready, &night->planning, n);
    prospect->gain += gain.mean;
    prospect->variance += gain.variance;
    if (!(prospect->noise > 0))
        prospect->noise = gain.noise;
    return status;
}

static size_t trials_left(const struct night *night)
{
    const struct trial_list *list = &night->list;
    size_t left = !night->planning.on ? 0 : list->sweep.plan.trials ? planning_left(&night->planning) : SIZE_MAX / 2;
    for (size_t i = 0; i < list->sweep.n; i++)
        left += !list->trials[i].exp_id && !list->trials[i].lost;
    return left;
}

/* Fills what the next n runs would bring: proposals first, unless there are to be none. *ready is false if too little is known. */
static int expect(struct prospect *prospect, bool *ready, const struct night *night, size_t n, bool proposals)
{
    struct lineage_evidence evidence;
    struct lineage_error err;
    const size_t runs = rerun_runs_left(night), most = n < runs ? n : runs,
                 left = proposals || !night->planning.on ? trials_left(night) : 0, fresh = left < most ? left : most;
    *prospect = (struct prospect){.runs = most};
    *ready = false;
    if (lineage_evidence_load_for(&evidence, night->list.store, NULL, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = CLI_GO_ON;
    const bool proposes = night->planning.on && night->list.sweep.space.n;
    *ready = evidence.n >= TRIALS_LEAST * (proposes ? 1 + night->list.sweep.space.n : 1) && evidence.answer < evidence.n &&
             ((proposes && fresh) || evidence.noise.freedom >= FREEDOM_LEAST);
    if (evidence.noise.freedom > 0)
        prospect->noise = evidence.noise.std;
    if (*ready && proposes && fresh)
        status = add_proposals(prospect, ready, night, fresh);
    else if (*ready)
        add_similar(prospect, &evidence, fresh);
    /* The process that expects the gain of proposals also knows that the best of them may be luck. */
    if (*ready && night->reruns.confirm && (!proposes || !fresh) && !add_reruns(prospect, &evidence, most - fresh))
        status = cli_no_memory();
    lineage_evidence_release(&evidence);
    return status;
}

static bool is_score(const struct night *night, const char *name)
{
    const char *score = lineage_store_score_name(night->list.store);
    const json_t *root = night->list.sweep.root, *own = json_object_get(root, "score");
    if (!own)
        own = json_array_get(json_object_get(root, "metrics"), 0);
    return strcmp(name, "score") == 0 ||
           (score && *score ? strcmp(name, score) == 0 : json_is_string(own) && strcmp(name, json_string_value(own)) == 0);
}

/* Whether a text of the sweep's key begins with the name: "val_loss", "loss=test loss: ([0-9.]+)", "peak_vram_mb<=48000". */
static bool is_named(const json_t *root, const char *key, const char *name)
{
    const json_t *value = json_object_get(root, key), *text;
    size_t i, n = strlen(name);
    if (json_is_string(value))
        return strcmp(json_string_value(value), name) == 0;
    json_array_foreach(value, i, text)
        if (json_is_string(text) && strncmp(json_string_value(text), name, n) == 0 &&
            (!json_string_value(text)[n] || strchr("=<> ", json_string_value(text)[n])))
            return true;
    return false;
}

static int check_name(const struct night *night, const char *name)
{
    static const char *const keys[] = {"metrics", "metric_regex", "metric_file", "require", "score"};
    const struct lineage_query query = {.sort = name, .limit = 1};
    struct lineage_cursor *cursor;
    struct lineage_error err;
    if (is_score(night, name) || strcmp(name, "peak_memory_mb") == 0 || strcmp(name, "peak_vram_mb") == 0)
        return CLI_GO_ON;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (is_named(night->list.sweep.root, keys[i], name))
            return CLI_GO_ON;
    enum lineage_status status = lineage_query_open(&cursor, night->list.store, &query, &err);
    if (status == LINEAGE_OK)
        lineage_cursor_close(cursor);
    if (status != LINEAGE_OK && status != LINEAGE_EINVAL)
        return cli_fail(&err);
    return status == LINEAGE_OK ? CLI_GO_ON
                                : cli_error(CLI_USAGE,
                                            "--until %s: no trial has a metric of this name, and %s names none; add it to "
                                            "\"metrics\" of the sweep, or use score",
                                            name, night->list.sweep.file);
}

int night_stop_check(struct night *night)
{
    const struct lineage_config *config = lineage_store_config(night->list.store);
    struct night_stop *stop = &night->stop;
    const char *name = stop->target.name;
    if (!stop->has_target)
        return CLI_GO_ON;
    int status = check_name(night, name);
    stop->of_score = is_score(night, name);
    const bool second = config->second[0] && strcmp(name, config->second) == 0, known = stop->of_score || second;
    const bool higher = (stop->of_score ? config->direction : config->second_direction) == LINEAGE_HIGHER;
    const bool above = stop->target.relation == LINEAGE_AT_LEAST || stop->target.relation == LINEAGE_MORE;
    if (status == CLI_GO_ON && known && above != higher)
        return cli_error(CLI_USAGE, "--until %s%s%.15g: a %s value is better in this store; use '%s%s%.15g'", name,
                         above ? ">=" : "<=", stop->target.bound, higher ? "higher" : "lower", name,
                         higher ? ">=" : "<=", stop->target.bound);
    return status;
}

/* A single run that reached the target may be luck, so a night that confirms waits for a second run, and for what is then expected. */
static int decide_score(struct night *night)
{
    struct night_stop *stop = &night->stop;
    struct lineage_evidence evidence;
    struct lineage_error err;
    if (lineage_evidence_load_for(&evidence, night->list.store, NULL, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (evidence.answer < evidence.n) {
        const struct lineage_evidence_trial *answer = &evidence.trials[evidence.answer];
        const bool confirm = night->reruns.confirm;
        const double value = confirm ? answer->expected : answer->runs.mean;
        char target[LINEAGE_REQUIREMENT_TEXT_MAX], mean[LINEAGE_NUMBER_MAX];
        lineage_requirement_format(target, &stop->target);
        if ((!confirm || answer->runs.n >= RUNS_TO_BELIEVE) &&
            lineage_requirement_is_met(NULL, &stop->target, (struct lineage_number){true, value}))
            snprintf(stop->why, sizeof stop->why, "the target %s is reached: %s has %s%s of %zu run%s", target, answer->exp_id,
                     lineage_mean_text(mean, answer->runs.mean, lineage_noise_margin(&evidence.noise, answer->runs.n)),
                     confirm ? ", the mean" : "", answer->runs.n, answer->runs.n == 1 ? "" : "s");
        else
            stop->near = confirm && answer->runs.n < NEAR_RUNS_MAX &&
                         lineage_requirement_is_met(NULL, &stop->target, (struct lineage_number){true, answer->runs.mean});
    }
    lineage_evidence_release(&evidence);
    return CLI_GO_ON;
}

static int decide_metric(struct night *night, uint64_t after)
{
    struct night_stop *stop = &night->stop;
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    struct lineage_error err;
    const struct lineage_query query = {.after = after};
    char target[LINEAGE_REQUIREMENT_TEXT_MAX], mean[LINEAGE_NUMBER_MAX];
    enum lineage_status status = lineage_query_open(&cursor, night->list.store, &query, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    lineage_requirement_format(target, &stop->target);
    while (!stop->why[0] && (status = lineage_cursor_next(cursor, &row, &err)) == LINEAGE_OK) {
        const struct lineage_number value = lineage_requirement_value(&row, stop->target.name);
        if (lineage_label_is_measured(row.status) && lineage_requirement_is_met(NULL, &stop->target, value))
            snprintf(stop->why, sizeof stop->why, "the target %s is reached: %s has %s", target, row.exp_id,
                     lineage_mean_text(mean, value.value, (double)NAN));
    }
    lineage_cursor_close(cursor);
    return status == LINEAGE_OK || status == LINEAGE_ENOTFOUND ? CLI_GO_ON : cli_fail(&err);
}

static int decide_plateau(struct night *night)
{
    struct night_stop *stop = &night->stop;
    struct prospect prospect;
    bool ready;
    int status = expect(&prospect, &ready, night, NEXT_RUNS, !stop->over[0]);
    const double limit = stop->price > 0 ? stop->price : NOISE_SHARE * prospect.noise;
    /* Proposals end first: which of them is best is decided by what runs again. */
    const bool proposes = night->planning.on && night->reruns.confirm && !stop->over[0] && trials_left(night) > 0;
    char *why = proposes ? stop->over : stop->why;
    if (status == CLI_GO_ON && ready && prospect.runs > 0 && prospect.gain < limit)
        snprintf(why, NIGHT_STOP_MAX, "plateau: the next %zu run%s likely bring%s %.2g ± %.2g, less than %s %.3g", prospect.runs,
                 prospect.runs == 1 ? "" : "s", prospect.runs == 1 ? "s" : "", prospect.gain, sqrt(prospect.variance),
                 stop->price > 0 ? "the price" : "a quarter of the noise,", limit);
    return status;
}

const char *night_stop_text(const struct night *night)
{
    return night->stop.why[0] ? night->stop.why : night->stop.over;
}

int night_stop_decide(struct night *night)
{
    struct night_stop *stop = &night->stop;
    if ((!stop->has_target && !stop->plateau) || stop->why[0])
        return CLI_GO_ON;
    int status = trial_rows_read(&night->list);
    if (status != CLI_GO_ON || (stop->decided && stop->decided_at == night->list.last_seq))
        return status;
    const uint64_t after = stop->decided_at;
    stop->decided = true;
    stop->near = false;
    stop->decided_at = night->list.last_seq;
    if (stop->has_target)
        status = stop->of_score ? decide_score(night) : decide_metric(night, after);
    if (status == CLI_GO_ON && stop->plateau && !stop->why[0] && !stop->near)
        status = decide_plateau(night);
    /* The share of runs that decides among proposals in a whole night is enough here, too. */
    if (stop->over[0] && !stop->why[0] && night->list.n_again >= rerun_reserve(night, night->list.n_proposed))
        memcpy(stop->why, stop->over, sizeof stop->why);
    return status;
}

const char *night_stop_prospect(char out[NIGHT_PROSPECT_MAX], const struct night *night)
{
    struct prospect prospect;
    bool ready = false;
    const double pace = night->list.pace, hour = pace > 0 ? 3600 / pace * (double)night->slots.n : 0;
    const size_t runs = hour < HOUR_RUNS_MAX ? (size_t)hour : HOUR_RUNS_MAX;
    *out = '\0';
    if (runs < 1 || expect(&prospect, &ready, night, runs, true) != CLI_GO_ON || !ready)
        return out;
    if (prospect.runs == 0)
        snprintf(out, NIGHT_PROSPECT_MAX, "no run is left");
    else
        snprintf(out, NIGHT_PROSPECT_MAX, "another hour, %zu run%s%s, likely brings %.2g ± %.2g", prospect.runs,
                 prospect.runs == 1 ? "" : "s", prospect.runs < runs ? " until all is done" : "", prospect.gain,
                 sqrt(prospect.variance));
    return out;
}

void night_stop_record(const struct night *night)
{
    const struct lineage_query newest = {.sort = "newest", .limit = 1};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    struct lineage_error err;
    char prospect[NIGHT_PROSPECT_MAX], text[NIGHT_STOP_MAX + NIGHT_PROSPECT_MAX + NIGHT_NAME_MAX + 32];
    if (!*night_stop_text(night) || !night->ran || !night->list.store ||
        lineage_query_open(&cursor, night->list.store, &newest, &err) != LINEAGE_OK)
        return;
    night_stop_prospect(prospect, night);
    snprintf(text, sizeof text, "night %s stopped: %s%s%s", night->list.sweep.name, night_stop_text(night), *prospect ? "; " : "",
             prospect);
    const bool found = lineage_cursor_next(cursor, &row, &err) == LINEAGE_OK;
    char *exp_id = found ? strdup(row.exp_id) : NULL;
    lineage_cursor_close(cursor);
    const struct lineage_remark remark = {.exp_id = exp_id, .author = LINEAGE_NIGHT_AUTHOR, .text = text};
    if (exp_id && lineage_remark_append(night->list.store, &remark, &err) != LINEAGE_OK)
        cli_fail(&err);
    free(exp_id);
}
