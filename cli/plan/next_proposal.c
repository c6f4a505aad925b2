#include "plan/planning.h"

#include <time.h>

#include <lineage/evidence.h>
#include <lineage/time.h>

/*
 * Trials that an external command proposes (`lineage night --planner`, schema/planner.schema.json).
 *
 * The command reads one JSON object and prints proposals, best first, as one JSON object per line. The first proposal
 * that passes the gate becomes the next trial; the others are kept for later turns. If no proposal passes, the planner
 * is asked once more and gets the reasons. Every refused proposal is recorded as a line in telemetry/proposals.jsonl
 * and has no row.
 */

/* Limits of one turn: how often the planner is asked, and how many of its proposals may be refused. A planner that prints
 * thousands of proposals would otherwise keep the night busy with checking them. */
enum { ASKED_AT_MOST = 2, REFUSED_AT_MOST = 100 };

/* Records a refused proposal. Takes over the reference to the reasons. */
static void refuse(const struct planning *planning, json_t *refused, const json_t *proposal, json_t *reasons)
{
    char now[LINEAGE_TIME_MAX];
    size_t i;
    json_t *reason;
    json_t *refusal = json_pack("{s:O?, s:O}", "proposal", proposal, "reasons", reasons);
    json_array_append(refused, refusal);
    cli_json_set(refusal, "time", json_string(lineage_time_format(now, (int64_t)time(NULL))), "sweep",
                 json_string(planning->list->sweep.name), NULL);
    (void)telemetry_line_append(planning->list->store, "proposals.jsonl", refusal); /* the night continues without it */
    json_array_foreach(reasons, i, reason)
        cli_say(json_string_value(reason));
    json_decref(refusal);
    json_decref(reasons);
}

static void refuse_answer(const struct planning *planning, json_t *refused, const char *reason)
{
    refuse(planning, refused, NULL, json_pack("[s]", reason));
}

/* The schema requires a string, but agents often write the expected change as a number. */
static void expected_delta_to_text(json_t *proposal)
{
    char text[64];
    json_t *expected = json_object_get(proposal, "expected_delta");
    if (!json_is_number(expected))
        return;
    snprintf(text, sizeof text, "%+g", json_number_value(expected));
    json_object_set_new(proposal, "expected_delta", json_string(text));
}

/* Runs the planner and replaces planning->answers by its answers. Returns CLI_GO_ON or an exit status. */
static int ask(struct planning *planning, json_t *refused)
{
    char trouble[PLANNER_TROUBLE_MAX], nothing[1] = "";
    double seconds = fmin(planning->planner_seconds, fmax(1, night_hours_left(planning->hours)));
    json_t *request = planner_request(planning, refused);
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (!text)
        return CLI_SYSTEM;
    char *answer = planner_call(planning->planner, text, strlen(text), seconds, planning->interrupts, trouble);
    free(text);
    json_decref(planning->answers);
    json_t *problems = json_array();
    planning->declined = answer && !trouble[0] && strspn(answer, "[] \t\r\n") == strlen(answer) && strchr(answer, '[');
    planning->answers = planner_answer_read(answer ? answer : nothing, problems);
    free(answer);
    planner_cost_take(planning);
    if (interrupts_came(planning->interrupts)) {
        json_decref(problems);
        return CLI_INTERRUPTED;
    }
    bool explained = json_array_size(problems) > 0;
    if (explained)
        refuse(planning, refused, NULL, problems);
    else
        json_decref(problems);
    if (planning->declined)
        cli_say("the planner has no further proposals");
    else if (trouble[0])
        refuse_answer(planning, refused, trouble);
    else if (json_array_size(planning->answers) == 0 && !explained)
        refuse_answer(planning, refused, "the planner's answer has no line that is a JSON object");
    return CLI_GO_ON;
}

static const char *proposer_of(const json_t *proposal)
{
    const char *name = cli_json_string(proposal, "proposer");
    return name && lineage_param_text_ok(name) ? name : "planner";
}

/* Adds another run of the trial that the proposal names. Returns CLI_NO, with the reason in why, if that is impossible. */
static int add_replicate(struct planning *planning, const json_t *proposal, size_t *i, char why[NIGHT_WHY_MAX])
{
    struct trial_list *list = planning->list;
    struct lineage_evidence evidence;
    struct lineage_error err;
    const char *id = cli_json_string(proposal, "replicate");
    snprintf(why, NIGHT_WHY_MAX, "replicate must be the exp_id of a measured trial, with nothing beside it but proposer");
    if (!id || json_object_size(proposal) != 1 + (size_t)(json_object_get(proposal, "proposer") != NULL))
        return CLI_NO;
    if (lineage_evidence_load_for(&evidence, list->store, id, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    size_t which = lineage_evidence_find(&evidence, id);
    int status = CLI_NO;
    if (which == evidence.n)
        snprintf(why, NIGHT_WHY_MAX, "replicate: '%.80s' is not a trial with a score", id);
    else
        status = replicate_trial_add(list, evidence.trials[which].exp_id, evidence.trials[which].again, i, why);
    lineage_evidence_release(&evidence);
    if (status == CLI_GO_ON && list->trials[*i].at_work)
        return snprintf(why, NIGHT_WHY_MAX, "replicate: '%.80s' runs again already", id), CLI_NO;
    if (status == CLI_GO_ON)
        planning_give_cost(planning, &list->trials[*i]);
    if (status == CLI_GO_ON && !list->trials[*i].proposer && !(list->trials[*i].proposer = strdup(proposer_of(proposal))))
        return cli_no_memory();
    return status;
}

static int take_replicate(struct planning *planning, json_t *refused, const json_t *proposal, size_t *i)
{
    char why[NIGHT_WHY_MAX];
    json_t *edited;
    int status = planning_approve(planning, proposal, &edited, why);
    json_decref(edited); /* a run again has nothing to edit */
    if (status == CLI_GO_ON)
        status = add_replicate(planning, proposal, i, why);
    if (status == CLI_NO)
        refuse(planning, refused, proposal, json_pack("[s]", why));
    return status;
}

/* Asks the gate and then, if the night wants it, a person. If the person edits the proposal, *proposal becomes the edited one. */
static int gate(struct night_trial *trial, double *x, json_t **reasons, struct planner_ideas *ideas, json_t **proposal)
{
    const struct planning *planning = ideas->planning;
    char why[NIGHT_WHY_MAX];
    json_t *edited;
    int status = proposal_gate(trial, x, reasons, ideas, *proposal);
    if (status != CLI_GO_ON || !planning->approve)
        return status;
    status = planning_approve(planning, *proposal, &edited, why);
    if (status == CLI_GO_ON && !edited)
        return status;
    night_trial_release(trial);
    if (status == CLI_NO)
        *reasons = json_pack("[s]", why);
    if (status != CLI_GO_ON)
        return status;
    json_decref(*proposal);
    *proposal = edited;
    return proposal_gate(trial, x, reasons, ideas, edited);
}

/* Adds the first answer that passes the gate to the list of trials. Returns CLI_NO if no answer is left, or if too many
 * were refused in this turn; then the remaining answers are dropped. */
static int take_answer(struct planning *planning, struct planner_ideas *ideas, json_t *refused, size_t *i)
{
    int status = CLI_NO;
    while (status == CLI_NO && json_array_size(planning->answers) > 0) {
        if (json_array_size(refused) >= REFUSED_AT_MOST) {
            fprintf(stderr, "lineage: %d proposals were refused in this turn; the other %zu are dropped\n", REFUSED_AT_MOST,
                    json_array_size(planning->answers));
            json_array_clear(planning->answers);
            break;
        }
        double x[PROPOSE_RANGES_MAX];
        struct night_trial trial;
        json_t *reasons, *proposal = json_incref(json_array_get(planning->answers, 0));
        json_array_remove(planning->answers, 0);
        if (json_object_get(proposal, "replicate")) {
            status = take_replicate(planning, refused, proposal, i);
            json_decref(proposal);
            continue;
        }
        expected_delta_to_text(proposal);
        status = gate(&trial, x, &reasons, ideas, &proposal);
        if (status == CLI_NO)
            refuse(planning, refused, proposal, reasons);
        else if (status == CLI_GO_ON)
            status = planning_add(planning, &trial, x, proposer_of(proposal), i);
        json_decref(proposal);
    }
    return status;
}

/* Returns CLI_GO_ON with *i, the index of the trial that was added to the list; CLI_NO if no proposal passes the gate; or
 * an exit status. */
static int planner_propose(struct planning *planning, size_t *i)
{
    json_t *refused = json_array();
    struct planner_ideas ideas = {.planning = planning};
    int status = take_answer(planning, &ideas, refused, i);
    planning->declined = false;
    for (int asked = 0; status == CLI_NO && !planner_cost_is_too_high(planning) && !planning->declined && asked < ASKED_AT_MOST &&
                        json_array_size(refused) < REFUSED_AT_MOST;
         asked++) {
        status = ask(planning, refused);
        if (status == CLI_GO_ON)
            status = take_answer(planning, &ideas, refused, i);
    }
    planner_ideas_release(&ideas);
    json_decref(refused);
    return status;
}

/* A night gives up after this many consecutive proposals that the sweep does not allow. */
enum { REFUSALS_MAX = 100 };

/* Makes the trial, after a person has agreed if the night asks one. Returns CLI_NO with why if it may not run. */
static int make(struct night_trial *trial, double *x, const struct planning *planning, json_t **proposal, char why[NIGHT_WHY_MAX])
{
    const struct night_sweep *sweep = &planning->list->sweep;
    double asked[PROPOSE_RANGES_MAX];
    json_t *edited;
    int status = planning_approve(planning, *proposal, &edited, why);
    memcpy(asked, x, sizeof asked);
    if (edited) {
        json_decref(*proposal);
        *proposal = edited;
    }
    for (size_t r = 0; edited && r < sweep->space.n && status == CLI_GO_ON; r++) {
        const json_t *value = json_object_get(json_object_get(edited, "params"), sweep->space.ranges[r].name);
        if (value && !propose_value_of_json(&x[r], &sweep->space.ranges[r], value)) {
            snprintf(why, NIGHT_WHY_MAX, "the edited value of %.80s is not in its range", sweep->space.ranges[r].name);
            cli_say(why);
            status = CLI_NO;
        }
    }
    if (status == CLI_GO_ON && !night_sweep_make(trial, sweep, *proposal, why))
        status = CLI_NO;
    if (status == CLI_NO)
        memcpy(x, asked, sizeof asked); /* what is not proposed again */
    return status;
}

static int propose_from(struct planning *planning, struct propose_past *past, size_t *i)
{
    const struct night_sweep *sweep = &planning->list->sweep;
    const struct propose_space *space = &sweep->space;
    const char *name = propose_method_name(planning->method);
    char why[NIGHT_WHY_MAX] = "";
    for (int refusals = 0; refusals < REFUSALS_MAX; refusals++) {
        double x[PROPOSE_RANGES_MAX];
        struct night_trial trial;
        struct lineage_error err;
        bool exhausted;
        if (propose_past_next(x, &exhausted, past, planning->method, sweep->plan.seed, &err) != LINEAGE_OK)
            return cli_fail(&err);
        if (exhausted) {
            fprintf(stderr, "lineage: every setting that %s has in these ranges was tried\n", name);
            planning->nothing = "every setting in the ranges was tried";
            return CLI_OK;
        }
        json_t *proposal = json_pack("{s:o}", "params", propose_setting_json(space, x));
        int made = proposal ? make(&trial, x, planning, &proposal, why) : CLI_NO;
        json_decref(proposal);
        if (made == CLI_GO_ON)
            return planning_add(planning, &trial, x, name, i);
        if (made != CLI_NO)
            return made;
        if (!proposal || !propose_past_add(past, x, space->n, PROPOSE_FAILED))
            return cli_no_memory();
    }
    return cli_error(CLI_USAGE, "%s: the sweep rejects %d proposals in a row; the last one: %s", sweep->file, REFUSALS_MAX, why);
}

static int propose(struct planning *planning, size_t *i)
{
    struct propose_past past = {0};
    if (planning->list->sweep.space.n == 0) {
        fputs("lineage: the planner has no proposal, and there are no ranges to propose from\n", stderr);
        planning->nothing = "the planner has no further proposals";
        return CLI_OK;
    }
    int status = planning_read_past(&past, planning, false);
    if (status == CLI_GO_ON)
        status = propose_from(planning, &past, i);
    propose_past_release(&past);
    return status;
}

int next_proposal(struct planning *planning, size_t *i)
{
    planning->nothing = NULL;
    int status = planning->planner ? planner_propose(planning, i) : CLI_NO;
    if (status == CLI_NO)
        status = propose(planning, i);
    planning->idle = status == CLI_OK;
    planning->idle_at = planning->list->last_seq;
    return status;
}
