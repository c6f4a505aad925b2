/*
 * planning.h: how a night plans trials beyond its sweep's list: by a proposer (lineage suggest), or by a planner (an
 * external command). If the planner has no valid proposal, the proposer is used for that turn.
 */
#pragma once

#include <sys/types.h>

#include "propose/gp.h"
#include "propose/propose_math.h"
#include "share/claims.h"

/* ---- computes how much time a night has left (--hours) ---- */

struct night_hours {
    double limit;   /* hours; INFINITY: no limit */
    double began;   /* cli_now at the start of the night */
    bool used_up;   /* true once the next trial would not end in time */
};

/* Seconds left, at least 0; INFINITY without a limit. */
double night_hours_left(const struct night_hours *hours);

/* ---- notify.c ---- */

/* Runs a command of the user's when something matters (`--notify`): a new best trial, a failure, a proposal that waits
 * for a person, the end. The command has the facts in its environment and as one line of JSON on its standard input. It has
 * NOTIFY_SECONDS; what it prints to standard output is dropped, and that it fails or is slow is reported once and harms nothing. */

/* After NOTIFY_LATE calls in a row that were late, only the end is sent. */
enum { NOTIFY_SECONDS = 10, NOTIFY_LATE = 1 };

struct notify {
    const char *command; /* for the shell; NULL: nothing is sent */
    bool told;           /* its failure was reported */
    unsigned late;
};

/* event: best, failure, proposal or stop; exp_id: the trial, or NULL; text: for a person. Returns after the command has ended. */
void notify_send(struct notify *notify, struct lineage_store *store, const char *event, const char *exp_id, const char *text);

/* Sends best or failure if the row that was just written is one of them. Returns whether it is. */
bool notify_trial(struct notify *notify, struct lineage_store *store, const char *exp_id, enum lineage_label label);

/* ---- spent tokens ---- */

/* What planning models have used, in telemetry/planner-tokens.jsonl of the store, a line for each answer of an
 * endpoint. `lineage agent` writes it as soon as it has the answer, so a night that is killed has counted what it paid for, and the
 * next night of the sweep goes on counting. Workers that share the directory share the count. */

/* The sum so far. Zeroed before it is first read. */
struct spent_tokens {
    uint64_t sum;
    off_t read; /* lines before this offset have been added */
};

/* Adds a line by a single write. Returns false after printing a message. */
bool spent_tokens_add(struct lineage_store *store, const char *sweep, const char *model, uint64_t prompt, uint64_t completion);

/* Default seconds that a planner may take. */
enum { PLANNER_SECONDS = 600 };

struct planning {
    struct trial_list *list;
    struct claims *claims;
    const struct night_hours *hours;
    const struct interrupts *interrupts;
    bool on; /* false: only the sweep's list is run */
    enum propose_method method; /* method of the proposer */
    const char *planner; /* shell command; NULL: none */
    size_t tokens; /* that the planner may use for this sweep; 0: it is not told, and nothing is counted */
    uint64_t tokens_reported; /* by the planner in this execution */
    struct spent_tokens spent; /* by all executions and workers; read by planner_cost_tokens */
    json_t *cost; /* what it reported since the last trial that it proposed; NULL: nothing */
    double planner_seconds; /* a planner that takes longer is stopped */
    json_t *answers; /* the planner's proposals that have not been looked at yet, best first; NULL: none */
    bool approve; /* a proposal waits until a person has decided on it (approval.c) */
    struct notify *notify; /* told of such a proposal */
    bool idle; /* nothing could be proposed */
    const char *nothing; /* why; NULL: something could */
    bool declined; /* the planner's last answer was an empty list */
    uint64_t idle_at; /* the last row when idle was set: nothing is proposed until there is another */
};

/* How many more trials may be proposed; 0 without --trials. */
size_t planning_left(const struct planning *planning);

/*
 * Whether another trial may be proposed: the trials that have run, and those that run in any worker, are fewer than
 * --trials.
 */
bool planning_has_room(const struct planning *planning, const struct other_workers *others);

/*
 * Reads the past for a proposer: the rows, and the running trials of this and other workers. whole: rows are not left out
 * (propose_past.h). Returns CLI_GO_ON or a status.
 */
int planning_read_past(struct propose_past *past, const struct planning *planning, bool whole);

/*
 * Waits until a person has decided on a proposal that may run, if the night asks. Returns CLI_GO_ON: it runs, with *edited (a new
 * reference) in its place if that is not NULL; CLI_NO with why: a person has refused it; CLI_OK: the hours are used up; or an exit
 * status.
 */
int planning_approve(const struct planning *planning, const json_t *proposal, json_t **edited, char why[NIGHT_WHY_MAX]);

/* What the next n proposals are expected to improve. *ready is false if too few trials ended. Returns CLI_GO_ON or a status. */
int planning_expect(struct gp_gain *gain, bool *ready, const struct planning *planning, size_t n);

/*
 * Adds a proposed trial to the list, which takes it over; x [ranges] is its setting, or NULL. Returns CLI_GO_ON with *i,
 * or an exit status.
 */
int planning_add(struct planning *planning, struct night_trial *trial, const double *x, const char *proposer, size_t *i);

/* Gives the cost that the planner has reported since the last trial to this one. */
void planning_give_cost(struct planning *planning, struct night_trial *trial);

void planning_release(struct planning *planning);

/* ---- next_proposal.c: adds the next proposed trial to a night ---- */

/*
 * Adds the next trial to the list: the planner's, or the proposer's without a planner or without a valid proposal of it. Returns
 * CLI_GO_ON with its index *i, CLI_OK if nothing is left to propose, or an exit status.
 */
int next_proposal(struct planning *planning, size_t *i);

/* ---- planner_call.c: what a planner's proposals cost ---- */

/* A planner may print an object {"cost": {..}} beside its proposals
 * (schema/planner.schema.json); `lineage agent` does. A trial has the cost of every turn since the last one, also if its planner
 * had no proposal in the end and the proposer took over. */

/* Takes the objects with a cost out of planning->answers, and adds them to planning->cost and planning->tokens_reported. */
void planner_cost_take(struct planning *planning);

/* The tokens that this sweep has left for its planner, 0 if they are used up; only with planning->tokens. */
uint64_t planner_cost_tokens_left(struct planning *planning);

/* Whether the tokens of the sweep are used up. Reports that once. */
bool planner_cost_is_too_high(struct planning *planning);

/* ---- the trials of the store as a set of ideas (lineage/ideas.h), for one turn of a planner ---- */

/* The gate compares proposals with the set, and the request contains facts from it. The set is loaded when one of them
 * first needs it, and once per turn: rows and running trials may change between turns. */

struct planner_ideas {
    const struct planning *planning;
    struct lineage_ideas *set; /* NULL: not loaded yet */
};

/*
 * Loads the set unless it is loaded: the rows, the commands that run in this store's directory, and the trials of this
 * night that workers run on other machines. Returns CLI_GO_ON or an exit status.
 */
int planner_ideas_load(struct planner_ideas *ideas);
void planner_ideas_release(struct planner_ideas *ideas);

/* ---- planner_request.c: the JSON object that a planner gets before each trial ---- */

/* The object holds everything that a planner needs: the rendered block that agents read, and in addition, as data, what
 * agents most often misread in prose: ranges, failures and their reasons, near misses, settings that nobody tried, and
 * trials to start from. */

/* refused: the planner's proposals that the gate refused in this turn, with reasons, or NULL. Returns a new reference, or
 * NULL after printing the error. */
json_t *planner_request(struct planning *planning, const json_t *refused);

/* ---- proposal_gate.c ---- */

/* Decides whether a proposal becomes a trial: it must be well formed, within the ranges, not tried
 * before, and short enough for the time left.
 *
 *     {"params": {"lr": 3e-4}, "parent": "014", "hypothesis": "..", "expected_delta": "+0.1", "again": ".."}
 *
 * schema/planner.schema.json defines the form. A refusal names all reasons at once. Whether a proposal repeats a trial is
 * decided as by --check-tried (output/ideas_out.h), for running trials too; its parameters are compared within the
 * ranges of the sweep. A repetition passes if "again" says why; the row keeps the reason in its notes. */

/* Longest reason to repeat a trial, in bytes. */
enum { PROPOSAL_AGAIN_MAX = 1000 };

/*
 * Checks a proposal. Returns CLI_GO_ON with the trial, which the caller releases, and its setting x; CLI_NO with
 * *reasons, a new list of texts; or an exit status.
 */
int proposal_gate(struct night_trial *trial, double x[PROPOSE_RANGES_MAX], json_t **reasons, struct planner_ideas *ideas,
                  const json_t *proposal);

/* ---- lines of JSON in the telemetry directory of a store ---- */

/* Writes the path of the file, and creates the directory if it is missing. */
bool telemetry_path(char path[PATH_MAX], struct lineage_store *store, const char *name);

/* Appends the object as a line by a single write, so that a killed night leaves whole lines. Returns false after printing a
 * message. */
bool telemetry_line_append(struct lineage_store *store, const char *name, const json_t *object);

/* ---- next_proposal.c: draws the trial from which the next trial starts ---- */

/*
 * Draws a kept trial at random, weighted by its score and its number of children. The caller frees *exp_id, which is ""
 * if no trial was kept yet. The same store and seed give the same trial. Returns CLI_GO_ON or an exit status.
 */
int draw_parent(char **exp_id, struct lineage_store *store, uint64_t seed);

/* ---- agent command ---- */

/* The planner command of `lineage night --agent-endpoint`: `lineage agent` with the night's settings. */

/* Texts may be NULL, except for program, endpoint and model. */
struct agent_command {
    const char *program; /* path of `lineage` */
    const char *store, *endpoint, *model, *key_env, *prompt, *seconds;
};

/* Returns the command for a shell, free it; NULL when out of memory. */
char *agent_command_make(const struct agent_command *settings);

/* ---- planner_call.c: runs a shell command that reads one text and prints another ---- */

enum { PLANNER_ANSWER_MAX = 1 << 20, PLANNER_TROUBLE_MAX = 160 };

/*
 * Runs `sh -c command` with text [length] on its standard input, and reads its standard output to the end; it shares
 * the standard error of this process. After the given seconds the command is killed with its process group.
 *
 * Returns the output (free), cut at PLANNER_ANSWER_MAX bytes. trouble is "" if the command exited with status 0 in
 * time, else it says what went wrong. Returns NULL, with trouble set, if the command could not be started.
 */
char *planner_call(const char *command, const char *text, size_t length, double seconds, const struct interrupts *interrupts,
                   char trouble[PLANNER_TROUBLE_MAX]);

/* ---- planner_answer.c: reads what a planner prints ---- */

/*
 * Returns the list of proposals. An answer is either one JSON document (an object or a list), or lines of text, of which
 * only those that begin with a brace are read. Adds a text to `problems` for each proposal that names a key twice, because
 * a planner that gets no reason would send the proposal again. Changes `answer`.
 */
json_t *planner_answer_read(char *answer, json_t *problems);

/* ---- approval.c ---- */

/* Proposals that wait until a person has accepted, edited or refused them (`night --approve`, `lineage approve`).
 *
 * telemetry/approvals.jsonl has one JSON object a line: a question {id, time, sweep, proposal}, and a decision {id, time, by, decision:
 * accepted, edited or refused, proposal of an edited one, reason of a refused one}. The latest decision on a question counts. A proposal
 * that says the same as an earlier one, but for its hypothesis and what it expects, is that question again: so a refused one is not
 * asked again, and a night that was killed goes on waiting for the same answer. */

enum { APPROVAL_REASON_MAX = 400, APPROVAL_ID_BYTES = 9 };

enum approval_state { APPROVAL_NEW, APPROVAL_WAITING, APPROVAL_ACCEPTED, APPROVAL_EDITED, APPROVAL_REFUSED };

/* All questions, oldest first: [{id, time, sweep, proposal, decision, by, reason, edited}]; the members after proposal are absent while
 * it waits. A new reference; NULL after printing why. */
json_t *approval_read(struct lineage_store *store);

/* The question with this id; NULL if there is none. Borrowed. */
json_t *approval_find(const json_t *questions, const char *id);

/* What was decided on a proposal of the sweep. id, and *edited (a new reference) or reason, are set where the state has them. */
enum approval_state approval_of(struct lineage_store *store, const char *sweep, const json_t *proposal,
                                char id[APPROVAL_ID_BYTES], json_t **edited, char reason[APPROVAL_REASON_MAX]);

/* Asks about a proposal, and writes the id of the question. Returns false after printing why it cannot be written. */
bool approval_ask(struct lineage_store *store, const char *sweep, const json_t *proposal, char id[APPROVAL_ID_BYTES]);

/* Records a decision: edited with a proposal, refused with a reason, else accepted. */
bool approval_decide(struct lineage_store *store, const char *id, const json_t *edited, const char *reason);
