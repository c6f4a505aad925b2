/* night.h: a night, one execution of a sweep on a store. */
#pragma once

#include <lineage/require.h>

#include "plan/planning.h"
#include "trial/one_trial.h"

/* ---- repeated failures ---- */

/* Ends a night whose trials keep failing in the same way. */

/* How a trial of a night ended. */
struct night_ending {
    enum lineage_label label;
    enum trial_end end;
    int exit_status, signal;
    bool late; /* another worker's row counts for this trial; the other members are not set */
    bool begun;
    enum lineage_cause cause;
    bool lacks;
    char evidence[TRIAL_EVIDENCE_MAX]; /* error and place that it printed; "": none */
};

/* Default of --stop-after, and how many trials in a row may lack the same thing on this machine. */
enum { REPEATED_FAILURES = 5, REPEATED_LACKS = 2, REPEATED_IDS_MAX = 256 };

struct repeated_failures {
    size_t stop_after; /* consecutive failures; 0: never stop */
    size_t n;          /* consecutive failures so far */
    struct night_ending last; /* how the latest of them ended */
    bool same; /* all of them printed the same error at the same place before they reported anything */
    json_t *shared;       /* {NAME: VALUE}: the settings that all of them have; NULL: none failed */
    bool suspect;         /* one of these settings explains the failures: trials that lack it have not failed */
    char *ids[REPEATED_IDS_MAX]; /* [n_ids] exp_ids of these, if `same` */
    size_t n_ids;
};

/* Whether the trial was measured. The duration of a failed trial says nothing about other trials. */
bool night_ending_is_measured(const struct night_ending *ending);

/*
 * Counts trial i of the list, which has ended and has a row. Returns CLI_GO_ON, or an exit status after printing why the night
 * stops. If all failures have the same evidence, their rows are voided: the settings are not to blame. Failures that share a
 * setting which other trials lack are evidence about that setting and do not end the night.
 */
int repeated_failures_count(struct repeated_failures *failures, const struct night_ending *ending, const struct trial_list *list,
                            size_t i);

/* Whether trial i has a setting that explains the latest failures. Such trials run after all others, which decide whether the
 * setting is to blame or the machine. */
bool repeated_failures_suspect(const struct repeated_failures *failures, const struct trial_list *list, size_t i);

/* Whether trial i has a setting with which others failed as well and none was measured. Otherwise it may have failed by chance. */
bool failure_is_of_a_setting(const struct trial_list *list, size_t i);

void repeated_failures_release(struct repeated_failures *failures);

enum { NIGHT_SLOTS_MAX = 64 };

/* How many trials run at once, and where. */
struct night_slots {
    size_t n; /* at least 1 */
    size_t at_work; /* trials that run now */
    const char *const *const *environments; /* [n] NAME=VALUE of each slot, ended by NULL; NULL: no slot has any */
};

/* Which trials run again on fresh seeds (night/rerun.c). */
struct night_reruns {
    bool confirm; /* trials do, and no single run is kept */
    size_t runs; /* of the whole night at most, those of earlier nights included; 0: see rerun_budget */
    size_t race; /* further runs beyond one for each trial, instead of `runs`; 0: not given */
    size_t runs_max; /* of one trial, its first included; 0: LINEAGE_RUNS_MAX */
};

enum { NIGHT_STOP_MAX = 400 };

/* When the night ends early (night_stop.c). */
struct night_stop {
    bool has_target, of_score; /* of_score: the target is one of the store's score, whose direction and noise are known */
    struct lineage_requirement target;
    bool plateau;
    double price; /* least gain that the next runs must be expected to bring; 0: a share of the noise */
    bool near; /* the best trial has reached the target, but not in enough runs: it runs again next */
    bool decided;
    uint64_t decided_at; /* the last row that was looked at */
    char over[NIGHT_STOP_MAX]; /* ""; else why it proposes no more, and only runs again */
    char why[NIGHT_STOP_MAX]; /* ""; else the night ends */
};

struct night {
    struct trial_list list; /* list.store is the store of the night */
    struct claims claims;
    struct planning planning;
    struct night_hours hours;
    struct night_slots slots;
    size_t unscored; /* trials of this night that finished without a score */
    struct repeated_failures failures;
    struct night_reruns reruns;
    struct night_stop stop;
    struct notify notify;
    size_t ran; /* trials that ended in this night */
    struct interrupts interrupts;
    int lock; /* descriptor of the locked directory; -1: not locked */
    bool quiet; /* print no progress */
    const char *prune; /* rule for all trials (trial/pruning.h); NULL: as the sweep says */
    const char *sandbox; /* for all trials of commands (run/command_sandbox.c); NULL: as the sweep says */
    const char *const *require; /* requirements of all trials beside those of the sweep, ended by NULL; NULL: none */
    bool report; /* rewrite report.html beside KNOWLEDGE.md */
    const char *const *options; /* arguments to add to `night SWEEP -C DIR` to continue, ended by NULL; NULL: none */
};

/* Sets the defaults. Call it first; the struct must not be moved in memory afterwards. */
void night_init(struct night *night);

/* Tells the store how many trials the night has, for which its threshold is widened. Call it for each handle. */
void night_plan_trials(struct night *night);

/* Takes over the open store. Returns CLI_GO_ON or an exit status. */
int night_open(struct night *night, struct lineage_store *store);

/*
 * Locks checkpoints/ of the store. Workers share the lock. A night that runs alone locks workers out, because it would
 * run their trials as well. Returns CLI_GO_ON or an exit status.
 */
int night_lock(struct night *night);

/* Whether the store and the sweep know the name that --until requires, and whether its direction fits. Call it with the open store.
 * Returns CLI_GO_ON or CLI_USAGE. */
int night_stop_check(struct night *night);

/* Releases everything but the store. */
void night_close(struct night *night);

/* Whether other trials may run on this machine at the same time. */
bool night_is_crowded(const struct night *night);

/* Returns the environment of a slot, ended by NULL, or NULL if the slot has none. */
const char *const *night_slot_environment(const struct night *night, size_t slot);

/* Decides a finished row that runs the trial again which `replicate` names: a keep if it confirms it, else a discard. runs_max as in
 * struct lineage_evidence_rule. Writes what all runs say to text; top_id is borrowed by the options. */
void rerun_decide(char *text, size_t size, struct lineage_store *store, size_t runs_max,
                  const struct lineage_replicate *replicate, struct lineage_trial *row, struct lineage_append_options *options,
                  char top_id[256]);

/* How many of the runs that a proposer has are for trials that run again. */
size_t rerun_reserve(const struct night *night, size_t runs);

/* ---- updates files and counters of a night after each trial ---- */

/* Rewrites KNOWLEDGE.md, and also report.html if night->report is set. A store that follows only the night cannot be
 * rendered; then nothing is written, with one notice. Returns CLI_GO_ON or an exit status. */
int night_write_knowledge(struct night *night);

/*
 * Processes the status and the ending of trial i: rewrites KNOWLEDGE.md, updates the measured pace, and counts
 * failures. Returns the status with which the night continues.
 */
int night_after_trial(struct night *night, size_t i, int status, const struct night_ending *ending, bool warmed_up,
                      double seconds);

/* ---- next_trial.c: chooses the trial of a night that runs next ---- */

/*
 * Chooses the next trial and claims it. Returns CLI_GO_ON with *i; CLI_OK if no trial is left; CLAIM_WAIT if that
 * depends on trials that are still running; CLAIM_AGAIN if the caller should ask again at once; or an exit status.
 */
int next_trial(struct night *night, size_t *i);

/* ---- night_loop.c: runs the trials of a night ---- */

/*
 * Runs trials until all have a row, the hours are used up, or the night is interrupted. Returns the exit status: 0 when
 * all trials are done or the hours are used up (a script that runs every evening must not fail because one night was
 * too short); 130 after an interruption; 3 if the system failed or trials keep failing in the same way. A single trial
 * that fails does not fail the night.
 */
int night_run(struct night *night);

/* ---- night_stop.c ---- */

/* Ends a night early: at a target (--until), or when further runs are expected to bring too little (--plateau). */

/* Why the night has ended early, or proposes no more; "": it has not. */
const char *night_stop_text(const struct night *night);

/* Sets stop.why if the rows that have come since the last call say that the night ends, and stop.near if the best trial would
 * reach the target if its first run was not luck. Returns CLI_GO_ON or an exit status. */
int night_stop_decide(struct night *night);

enum { NIGHT_PROSPECT_MAX = 160 };

/* What another hour would likely bring: "another hour is about 40 runs and likely brings 0.0012 ± 0.003"; "" if nothing is known. */
const char *night_stop_prospect(char out[NIGHT_PROSPECT_MAX], const struct night *night);

/* Writes why the night has stopped as a remark on its newest row, which the block, the report, `search` and MCP show. */
void night_stop_record(const struct night *night);

/* ---- night_turn.c: runs one trial of a night, from finding its start to appending its row ---- */

/*
 * Runs trial i, which this process has claimed, with the environment of its slot (ended by NULL; NULL: none), appends
 * its row and ends the claim. Returns CLI_GO_ON with how the trial ended, CLI_INTERRUPTED, or an exit status.
 */
int night_take_turn(struct night *night, size_t i, const char *const *environment, struct night_ending *ending);

/* ---- rerun.c ---- */

/*
 * Runs trials of a night again on fresh seeds, where that is expected to improve its answer most (lineage/evidence.h).
 * Everything is derived from the rows, so that workers and later nights continue where a night was killed.
 */

/* How many runs the night has at most, first runs and others. SIZE_MAX: it has no end but --hours. */
size_t rerun_budget(const struct night *night);

/* How many runs may begin beyond the budget, in place of those that diverged or failed. */
size_t rerun_spare(const struct night *night);

/* How many have rows or are at work. */
size_t rerun_runs_used(const struct night *night);

/* How many of the budget may still begin. */
size_t rerun_runs_left(const struct night *night);

/* Whether a trial should run again before the next first run: a share of the runs of a night whose later trials start from what is
 * confirmed, which proposes without an end, or whose best
 * trial seems to have reached the target. Other nights compare their trials when all have run. */
bool rerun_is_due(const struct night *night);

/*
 * Chooses and claims the trial that runs again next. Returns CLI_GO_ON with *i; CLI_OK if nothing is to run again; CLAIM_WAIT if
 * another worker runs it now; or an exit status.
 */
int rerun_next(struct night *night, size_t *i);

enum { RERUN_NOTES_MAX = 8192 };

/*
 * Decides the row of trial, which is about to be appended. The first run of a trial is never kept if the night confirms. A
 * run that confirms its trial gets the label keep; its score is what it measured. The text that is added to
 * the notes is written to notes, which the row borrows.
 */
void rerun_settle(char notes[RERUN_NOTES_MAX], const struct night *night, const struct night_trial *trial,
                  struct lineage_trial *row, struct lineage_append_options *options);
