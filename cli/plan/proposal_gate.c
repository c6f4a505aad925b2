#include "plan/planning.h"

#include <lineage/text.h>

#include "output/ideas_out.h"
#include "propose/propose_space.h"
#include "sweep/night_sweep.h"

/* A proposal counts as tried if it differs from a trial by less than this share of each range. */
#define NEAR 0.01

struct judging {
    const struct planning *planning;
    const struct trial_list *list;
    struct planner_ideas *ideas;
    const json_t *proposal;
    json_t *reasons; /* why it is refused */
    double *x;       /* [ranges] its setting */
    char *parent;    /* exp_id of the trial that it starts from; NULL: none */
};

static void __attribute__((format(printf, 2, 3))) object_to(struct judging *j, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_array_append_new(j->reasons, cli_json_text(text));
}

static void check_form(struct judging *j)
{
    static const char *const texts[] = {"parent", "hypothesis", "expected_delta", "proposer", "again", NULL};
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)j->proposal, name, value) {
        bool is_text = strcmp(name, "diff") == 0 && j->list->sweep.of_commands;
        for (size_t i = 0; texts[i]; i++)
            is_text = is_text || strcmp(texts[i], name) == 0;
        if (is_text && !json_is_string(value))
            object_to(j, "%s must be a text", name);
        else if (strcmp(name, "params") == 0 && !json_is_object(value))
            object_to(j, "params must be an object of numbers and texts");
        else if (!is_text && strcmp(name, "params") != 0)
            object_to(j, "unknown key '%.40s'; known are params, parent, hypothesis, expected_delta, proposer, again%s", name,
                      j->list->sweep.of_commands ? ", diff" : "");
    }
    json_t *seen = json_object();
    json_object_foreach(json_object_get(j->proposal, "params"), name, value) {
        const char *canonical = lineage_param_canonical(name);
        if (json_object_get(seen, canonical))
            object_to(j, "params: %.60s is given twice, also as %.60s", canonical, name);
        json_object_set_new(seen, canonical, json_true());
    }
    json_decref(seen);
    value = json_object_get(j->proposal, "again");
    if (json_is_string(value) && !json_string_value(value)[strspn(json_string_value(value), " \t\r\n")])
        object_to(j, "again must say why the trial is repeated");
    if (json_string_length(value) > PROPOSAL_AGAIN_MAX)
        object_to(j, "again: more than %d bytes", PROPOSAL_AGAIN_MAX);
}

static const struct propose_range *find_range(const struct propose_space *space, const char *name)
{
    for (size_t i = 0; i < space->n; i++)
        if (strcmp(space->ranges[i].name, name) == 0)
            return &space->ranges[i];
    return NULL;
}

static void check_names(struct judging *j, const json_t *params)
{
    const struct propose_space *space = &j->list->sweep.space;
    const char *name, *known[PROPOSE_RANGES_MAX + 1] = {0};
    json_t *value;
    for (size_t i = 0; i < space->n; i++)
        known[i] = space->ranges[i].name;
    json_object_foreach((json_t *)(uintptr_t)params, name, value) {
        if (find_range(space, name))
            continue;
        const char *near = cli_nearest(name, known);
        object_to(j, "params.%.60s is not one of the ranges%s%s", name, near ? "; the nearest is " : "", near ? near : "");
    }
}

static void check_value(struct judging *j, const struct propose_range *range, const json_t *value, double *x)
{
    char low[LINEAGE_NUMBER_MAX], high[LINEAGE_NUMBER_MAX];
    if (propose_value_of_json(x, range, value))
        return;
    if (range->scale == PROPOSE_CHOICE)
        object_to(j, "params.%.60s is none of the values to choose from", range->name);
    else
        object_to(j, "params.%.60s must be a%s number from %s to %s", range->name,
                  range->scale == PROPOSE_INTEGER || range->scale == PROPOSE_LOG_INTEGER ? " whole" : "",
                  lineage_number_format(low, range->low), lineage_number_format(high, range->high));
}

/* A parameter whose condition does not hold has no value, and one whose condition holds has one. */
static void check_conditions(struct judging *j, const json_t *params, const bool *has)
{
    const struct propose_space *space = &j->list->sweep.space;
    for (size_t i = 0; i < space->n; i++) {
        bool active = propose_is_active(space->ranges, j->x, i);
        if (active && !has[i])
            object_to(j, "params.%.60s is missing", space->ranges[i].name);
        else if (!active && json_object_get(params, space->ranges[i].name))
            object_to(j, "params.%.60s has a value only if %.200s", space->ranges[i].name, space->conditions[i]);
    }
    propose_complete(space, j->x, has);
}

/* A parameter that the proposal omits gets the sweep's value, if there is one. */
static void check_bounds(struct judging *j)
{
    const struct night_sweep *sweep = &j->list->sweep;
    const json_t *params = json_object_get(j->proposal, "params"), *own = json_object_get(sweep->root, "params");
    struct lineage_number fallback[PROPOSE_RANGES_MAX];
    bool has[PROPOSE_RANGES_MAX];
    night_sweep_defaults(fallback, sweep);
    check_names(j, params);
    for (size_t i = 0; i < sweep->space.n; i++) {
        const struct propose_range *range = &sweep->space.ranges[i];
        const json_t *value = json_object_get(params, range->name);
        has[i] = value || fallback[i].present || propose_value_of_json(&j->x[i], range, json_object_get(own, range->name));
        if (!has[i])
            j->x[i] = range->low;
        else if (value)
            check_value(j, range, value, &j->x[i]);
        else if (fallback[i].present)
            j->x[i] = fallback[i].value;
    }
    if (json_array_size(j->reasons) == 0)
        check_conditions(j, params, has);
}

static int find_parent(struct judging *j)
{
    const char *parent = cli_json_string(j->proposal, "parent");
    struct lineage_trial found = {0};
    struct lineage_error err;
    if (!parent)
        parent = cli_json_string(j->list->sweep.root, "parent");
    if (!parent || !*parent || strcmp(parent, "base") == 0 || strcmp(parent, "draw") == 0)
        return CLI_GO_ON;
    bool best = strcmp(parent, "best") == 0;
    enum lineage_status status =
        best ? lineage_best_kept(j->list->store, &found, &err) : lineage_find(j->list->store, parent, &found, &err);
    if (status == LINEAGE_OK)
        j->parent = strdup(found.exp_id);
    else if (status == LINEAGE_ENOTFOUND && !best)
        object_to(j, "parent: there is no trial '%.60s'", parent);
    lineage_trial_release(&found);
    return status == LINEAGE_OK || status == LINEAGE_ENOTFOUND ? CLI_GO_ON : cli_fail(&err);
}

/* Adds an objection for an earlier trial, unless the proposal has another parent, which makes it a different trial. */
static void object_to_repeat(struct judging *j, const struct propose_past *past, size_t i, bool exactly)
{
    const char *how =
        exactly ? "with the same parameters" : "with parameters near it (ranges are compared to one part in a hundred)";
    struct lineage_trial row = {0};
    if (past->trials[i].end == PROPOSE_RUNNING)
        object_to(j, "tried already: a running trial %s", how);
    else if (lineage_find(j->list->store, past->ids[i], &row, NULL) == LINEAGE_OK &&
             strcmp(row.parent_exp ? row.parent_exp : "", j->parent ? j->parent : "") == 0)
        cli_tried_row(j->reasons, &row, how);
    lineage_trial_release(&row);
}

/* Looks for trials near the proposal only if none has equal parameters. */
static void check_params(struct judging *j, const struct propose_past *past)
{
    struct propose_problem one = propose_problem_of(past, &j->list->sweep.space, j->list->store, j->list->sweep.plan.seed);
    one.n_past = 1;
    for (int exactly = 1; exactly >= 0 && json_array_size(j->reasons) == 0; exactly--)
        for (size_t i = 0; i < past->n && json_array_size(j->reasons) < CLI_TRIED_SHOWN; i++) {
            one.past = &past->trials[i];
            if (propose_find(&one, j->x, exactly ? 0 : NEAR) == 0)
                object_to_repeat(j, past, i, exactly);
        }
}

/*
 * Whether the words of a trial decide, because its parameters cannot: it has no value in some range. Running trials have
 * no id in the past; those of this sweep have all parameters, so they are compared by these alone.
 */
static bool counts_by_words(void *context, const struct lineage_idea *idea)
{
    const struct propose_past *past = context;
    for (size_t i = 0; past && i < past->n; i++)
        if (past->ids[i][0] && strncmp(past->ids[i], idea->exp_id, sizeof past->ids[i] - 1) == 0)
            return false;
    for (size_t i = 0; past && i < past->n_others; i++) /* another command or other files: it may run again */
        if (strncmp(past->others[i], idea->exp_id, sizeof past->others[i] - 1) == 0)
            return false;
    return !past || !idea->running;
}

/*
 * A proposal with a diff is compared by its words with every trial, because its parameters do not say what it changes.
 * A proposal that says why it repeats a trial passes.
 */
static int check_tried(struct judging *j, bool has_diff)
{
    const char *hypothesis = cli_json_string(j->proposal, "hypothesis");
    struct propose_past past = {0};
    int status = has_diff ? CLI_GO_ON : planning_read_past(&past, j->planning, true);
    if (status == CLI_GO_ON && !has_diff)
        check_params(j, &past);
    if (status == CLI_GO_ON && hypothesis && *hypothesis) {
        status = planner_ideas_load(j->ideas);
        if (status == CLI_GO_ON)
            status = cli_tried_idea(j->reasons, j->ideas->set, hypothesis, counts_by_words, has_diff ? NULL : &past);
        if (status == CLI_GO_ON)
            status = cli_tried_claims(j->reasons, j->ideas->set, hypothesis);
    }
    if (json_array_size(j->reasons) > 0)
        object_to(j, "give the reason to repeat it: \"again\": \"REASON\"");
    propose_past_release(&past);
    return status;
}

static void try_files(struct judging *j, const struct trial_parent *parent, const char *diff)
{
    char why[NIGHT_WHY_MAX];
    json_t *spec = json_pack("{s:s*, s:O*}", "diff", diff, "protect", json_object_get(j->list->sweep.root, "protect"));
    const struct trial_files files = {&j->list->sweep, j->list->store, parent, spec};
    if (diff && !json_object_get(j->list->sweep.root, "files"))
        object_to(j, "diff: the sweep names no files");
    else if (diff && strlen(diff) > LINEAGE_CODE_DIFF_BYTES)
        object_to(j, "diff: more than %zu bytes", LINEAGE_CODE_DIFF_BYTES);
    else if (!trial_files_try(&files, j->list->checkpoints, why))
        object_to(j, "%s", why);
    json_decref(spec);
}

/* A trial starts with the files of its parent, kept or not, so they must still exist. The diff is applied to them. */
static int check_files(struct judging *j, const char *diff)
{
    char why[NIGHT_WHY_MAX];
    struct trial_parent parent;
    int status = trial_parent_find(&parent, &j->list->sweep, j->list->store, j->parent, why);
    if (status == CLI_NO)
        object_to(j, "%s", why);
    else if (status == CLI_GO_ON)
        try_files(j, &parent, diff);
    trial_parent_release(&parent);
    return status == CLI_NO ? CLI_GO_ON : status;
}

static int judge(struct judging *j, struct night_trial *trial)
{
    char why[NIGHT_WHY_MAX];
    check_form(j);
    if (json_array_size(j->reasons) > 0)
        return CLI_NO;
    check_bounds(j);
    int status = find_parent(j);
    const char *diff = cli_json_string(j->proposal, "diff");
    if (status == CLI_GO_ON && json_array_size(j->reasons) == 0)
        status = check_files(j, diff);
    /*
     * The parent is fixed now, because a diff only applies to the files it was made for. Another trial may be the best by
     * the time this trial runs.
     */
    if (status == CLI_GO_ON && diff)
        json_object_set_new((json_t *)(uintptr_t)j->proposal, "parent", json_string(j->parent ? j->parent : "base"));
    if (status == CLI_GO_ON && json_array_size(j->reasons) == 0 && !json_object_get(j->proposal, "again"))
        status = check_tried(j, diff != NULL);
    if (status != CLI_GO_ON)
        return status;
    if (json_array_size(j->reasons) > 0)
        return CLI_NO;
    if (night_sweep_make(trial, &j->list->sweep, j->proposal, why)) {
        double seconds = forecast_proposal(j->list, trial), left = night_hours_left(j->planning->hours);
        if (seconds <= left)
            return CLI_GO_ON;
        object_to(j, "it would take about %.0f s, %.0f s are left", ceil(seconds), floor(left));
    } else {
        object_to(j, "%s", why);
    }
    return CLI_NO;
}

int proposal_gate(struct night_trial *trial, double x[PROPOSE_RANGES_MAX], json_t **reasons, struct planner_ideas *ideas,
                  const json_t *proposal)
{
    struct judging j = {.planning = ideas->planning,
                        .list = ideas->planning->list,
                        .ideas = ideas,
                        .proposal = proposal,
                        .reasons = json_array(),
                        .x = x};
    *trial = (struct night_trial){0};
    int status = judge(&j, trial);
    if (status != CLI_GO_ON)
        night_trial_release(trial);
    free(j.parent);
    if (status == CLI_NO)
        *reasons = j.reasons;
    else
        json_decref(j.reasons);
    return status;
}
