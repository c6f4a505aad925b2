/*
 * one_trial.h: one trial of any command, from what is known before it runs to its row. The sections are in the order in which a
 * trial passes them.
 */
#pragma once

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <lineage/notes.h>
#include <lineage/store.h>

#include "cli.h"
#include "metrics/event_lines.h"
#include "metrics/held_out.h"
#include "metrics/metric_scan.h"
#include "metrics/metric_values.h"
#include "trial/process_tree.h"
#include "trial/sandbox.h"

/* ---- what is known about a trial before it runs: its identity, its settings and its parameters ---- */

/*
 * Every struct about a trial embeds these, so that a new member reaches the command, the process that watches it, and
 * the row. Everything is borrowed; zero is the default of each member.
 */

enum { TRIAL_PARAMS_MAX = 192 };

/* The identity of a trial: everything that its row contains besides results. Texts may be NULL. */
struct trial_identity {
    const char *specialist, *domain, *hypothesis, *expected_delta;
    const char *parent;   /* exp_id */
    const char *night;    /* the piece of notes that links the row to its night */
    const char *code;     /* the piece of notes that names the code (lineage/code.h); may be written by `prepare` */
    const char *notes;    /* pieces of notes to write before the reason */
    const char *proposer; /* recorded as a parameter of the row, but not passed to the command */
    bool repeats_measured; /* the trial repeats one that was measured, so a failure says nothing about its setting */
    bool baseline;        /* label a finished trial baseline instead of keep or discard */
    bool baseline_if_first; /* the same if the store has no kept trial when the row is appended */
    const char *name;     /* for progress */
    /* Called with the finished row before it is appended; it may change the row and the options. NULL: none */
    void (*settle)(void *context, struct lineage_trial *row, struct lineage_append_options *options);
    void *settle_context;
};

/* Limits, and where the score comes from. A limit of 0 means no limit. */
struct trial_settings {
    double train_seconds, eval_seconds; /* time limit of the training, and of the evaluation */
    double train_cpu_seconds, eval_cpu_seconds; /* the same in processor seconds of all processes of the trial */
    double silence_seconds;             /* longest time in which the trial prints and reports nothing */
    double score_minutes;               /* warn if no value of the score was read in this time; 0: never */
    double memory_bytes;                /* resident bytes of all processes of the trial together */
    double grace_seconds;               /* seconds between TERM and KILL */
    bool stop_on_nan;                   /* a metric that is not finite ends the trial */
    struct metric_query metrics;        /* what to look for in the output (metric_lines.h) */
    const struct metric_rule *takes;    /* [n_takes] which of a metric's values counts (metric_values.h) */
    size_t n_takes;
    const char *const *require; /* requirements (lineage/require.h), valid, ended by NULL; NULL: none */
    const char *prune;          /* when a hopeless trial is ended (pruning.h), valid; NULL: never */
    const char *held_out; /* metric that is kept from all who plan (metrics/held_out.h); NULL: none */
    const char *score; /* name of the metric that is the score, on every channel; NULL: `score` */
};

struct trial_plan {
    struct trial_identity identity;
    struct trial_settings settings;
    const struct lineage_param *params;
    size_t n_params;
    const char *score_key;   /* name of the score in telemetry; NULL: score */
    const char *score_label; /* name of the score in notes and progress; NULL: score */
    bool record_metrics;     /* the row gets every metric that the trial reported, and not only the score */
    /*
     * Metrics of phase "done" that the row gets, ended by NULL; a name that ends with * lists all that begin so. NULL:
     * none. Not used together with record_metrics
     */
    const char *const *final_metrics;
    size_t max_steps;        /* per phase in telemetry; beyond it, every second step is dropped; 0: no limit */
};

/* ---- interrupts.c ---- */

/*
 * Turns SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGXCPU into a readable descriptor, so that a command can append its row before
 * it exits. SIGUSR1 and SIGUSR2, by which schedulers warn a program, are passed on. A process can have only one struct
 * interrupts at a time.
 */

enum { N_INTERRUPTS = 7 };

/* Exit status of a command that the user interrupted, as shells give it for SIGINT. */
#define CLI_INTERRUPTED 130

struct interrupts {
    int fd; /* readable once a signal has arrived */
    int write_end;
    struct sigaction before[N_INTERRUPTS];
};

/* Starts to catch these signals. Signals that are ignored stay ignored. Returns false after printing the error. */
bool interrupts_hold(struct interrupts *interrupts);

/* Whether this signal interrupts. */
bool interrupts_include(int number);

/* Whether a signal has arrived. */
bool interrupts_came(const struct interrupts *interrupts);

/* Call it before a process is started that signals are passed to: one that comes before interrupts_pass_to is passed on
 * then, and an earlier one, which was for nobody, is not. */
void interrupts_begin_passing(void);

/* Passes SIGUSR1 and SIGUSR2 on to this process from now on (at most 64 processes; each further one gets none), or no longer
 * (0: to none of them). */
void interrupts_pass_to(pid_t pid);
void interrupts_pass_no_more(pid_t pid);

/* Forgets the signals that have arrived, and restores the handlers. */
void interrupts_release(struct interrupts *interrupts);

/* ---- workdir.c: the directory in which a trial works, inside the store, which is removed when the trial has ended ---- */

/* The directory is locked while it is in use. A work directory that is not locked was left by a killed process. */

enum { WORKDIR_NAME_MAX = 64 };

struct workdir {
    char path[PATH_MAX];
    int fd; /* holds the lock */
};

/*
 * Creates a work directory in dir, after removing abandoned work directories, except those of commands whose row is
 * still to be appended (run/abandoned_trial.c). Returns false after printing the error.
 */
bool workdir_make(struct workdir *workdir, const char *dir);

/*
 * Writes the path of a file in the work directory to out [PATH_MAX], and returns out. The name must be shorter than
 * WORKDIR_NAME_MAX; workdir_make ensures that such a path fits.
 */
char *workdir_file(char *out, const struct workdir *workdir, const char *name);

void workdir_remove(struct workdir *workdir);

/*
 * Removes a directory with everything in it, by name in the open directory parent. A missing directory is not an error.
 */
void workdir_remove_tree(int parent, const char *name);

/* ---- the evidence of how a trial ended, from which its label is made (trial_label.c) ---- */

#define TRIAL_TEXT_MAX 512
enum { TRIAL_EVIDENCE_MAX = 320, TRIAL_OTHERS_MAX = 160 };

enum trial_end {
    TRIAL_FINISHED,
    TRIAL_FAILED,           /* it reported a failure or exited with a nonzero status; details in text */
    TRIAL_SIGNALLED,        /* another process killed it with `signal` */
    TRIAL_TRAIN_OVERRUN,    /* the training exceeded its time limit */
    TRIAL_EVAL_OVERRUN,     /* the evaluation exceeded its time limit */
    TRIAL_MEMORY_OVERRUN,
    TRIAL_ARTIFACT_OVERRUN, /* a file is larger than allowed; details in text */
    TRIAL_INTERRUPTED,      /* this process received SIGINT, SIGTERM or SIGHUP */
    TRIAL_SILENT,           /* it neither printed nor reported anything for too long */
    TRIAL_NOT_FINITE,       /* a metric was not a finite number; details in text */
    TRIAL_PREFLIGHT_FAILED, /* the preflight command failed; details in text */
    TRIAL_ABANDONED,        /* the process that watched it was killed */
    TRIAL_DISQUALIFIED,     /* a protected file changed, or a requirement is not met; details in text */
    TRIAL_PRUNED,           /* its curve was hopeless; details in text */
    TRIAL_NOT_STARTED       /* its files or its command were not there, which says nothing about it; details in text */
};

struct trial_outcome {
    enum trial_end end;
    enum trial_failure failure; /* of TRIAL_FAILED */
    char text[TRIAL_TEXT_MAX];
    int signal, exit_status;
    double total_s;     /* wall time of the child */
    double peak_bytes;  /* largest memory sample, or the control group's peak; 0: unknown */
    double peak_gpu_bytes; /* largest sample of GPU memory of all its processes; 0: none, or no GPU */
    bool late;          /* another process appended a row for the same trial of the night first; this run has no row */
    bool processor;     /* with an overrun of a time limit: the limit of processor seconds was exceeded */
    double used;        /* with an overrun of a time limit: seconds that were used; 0: only known to be more than the
                           limit */
    bool out_of_memory; /* with TRIAL_MEMORY_OVERRUN: the kernel killed it; details in text */
    int unseen;         /* number of processes that could not be ended; -1: unknown */
    char others[TRIAL_OTHERS_MAX]; /* which processes ran on after the command, or had been stopped by a signal; "": none */
    bool has_seed;      /* the trial ran with several seeds, and failed with this one */
    uint64_t seed;
    bool unexplained;   /* with TRIAL_FAILED: the trial did not report why, so text says only how it exited */
    bool begun;         /* it reported a step, a score or a phase; set when its row is made */
    enum lineage_cause cause;
    bool lacks;         /* the machine lacks something, such as a module: the failure says nothing about the settings */
    bool reports_error; /* the output has a traceback or a panic, evidence, anywhere */
    bool last_words;    /* the output ends with the report of an error, evidence; also if the command ended with status 0 */
    bool timed;         /* the command is `timeout`, whose status 124 is a time limit */
    char evidence[TRIAL_EVIDENCE_MAX]; /* error and place that a failed command printed (run/failure_evidence.c); "": none */
    char looked[TRIAL_TEXT_MAX]; /* for a trial that printed no score: what was looked for, and what was found */
    char unreadable[96]; /* "2 lines of events cannot be read, first at line 2"; "": all can be read */
    const char *doubt; /* how the row qualifies "score by a name that was asked for"; NULL or "": not at all */
    char reason[TRIAL_TEXT_MAX + 256 +
                TRIAL_EVIDENCE_MAX]; /* why it did not finish; "" if it finished. Set when its row is made */
};

/* ---- trial_results.c: what a trial has reported so far: score, steps, parameters, times ---- */

/*
 * Everything is collected as it arrives, so nothing is lost when a trial is cut off: the row of a crashed trial has its
 * last score and all steps until then.
 */

/* ---- notices when the steps of a metric do not go forward.
 *
 * A training that was restarted goes on from its checkpoint, so its steps go back; the values from there on are of an attempt that is
 * dead and count no more. Several processes that report one metric also look like that, with another value at the same step.
 */

enum { STEP_CURVES_MAX = 128, STEP_NOTE_BYTES = 256 };

struct step_order {
    struct {
        char name[METRIC_NAME_BYTES];
        uint32_t phase;
        int64_t first, last; /* steps */
        double value;        /* at the last step */
        size_t values;       /* since it went back last */
        bool went_back;
        bool several;        /* several processes report it, so going back means nothing */
    } curves[STEP_CURVES_MAX];
    size_t n;
    char note[STEP_NOTE_BYTES]; /* what was noticed first, for a row; "": nothing */
};

enum step_move {
    STEP_FORWARD,
    STEP_BACK,  /* the values of this step and of later ones are dead */
    STEP_ANEW   /* like STEP_BACK, to the first step or before it: the counter, or the training, has begun again */
};

/* Whether step_order_take needs the value that is known. */
bool step_order_goes_back(const struct step_order *order, const char *name, struct metric_place place);

/*
 * Takes a value of the metric. known: the value that it had at this step before; NULL: none is known. A value that is repeated is no
 * news. Metrics that do not fit into the table go forward.
 *
 * printed: a printed line has the step. A printed counter that begins again counts the steps of an epoch more often than it tells of a
 * restart, and two values that are printed for one step are often two states of a progress bar, so both count as forward.
 */
enum step_move step_order_take(struct step_order *order, const char *name, struct metric_place place, double value,
                               const double *known, bool printed);

enum { TRIAL_TURNS_MAX = 64, TRIAL_PHASE_MAX = 32, TRIAL_NOTES_MAX = 4096, TRIAL_KERNELS_MAX = 128, TRIAL_INERT_MAX = 512 };

/* Metrics that the watcher adds to those of the trial. */
enum { TRIAL_OWN_METRICS = 2 };

struct trial_results {
    const struct trial_plan *plan;
    bool started; /* the trial reported something other than a failure */
    bool begun;   /* the trial reported a step, a score or a phase */
    char phase[TRIAL_PHASE_MAX];
    int64_t step, steps;
    struct lineage_number score; /* of the most trusted channel, the value that counts; absent if not finite */
    bool lost_score;             /* that value was not finite */
    bool unreadable_score;       /* the latest score was printed in a form that cannot be read */
    enum trial_channel score_channel;
    char score_file[256];        /* the file that it comes from; "": none */
    bool score_decided; /* the latest event decided the score */
    int64_t score_step;
    char score_from[PROCESS_NAME_MAX]; /* the process that printed it after the command had ended; "": printed before that */
    uint64_t n_steps; /* steps of this phase so far */
    uint64_t stride;  /* every stride-th step is kept */
    size_t run;       /* number of the run, from 1, if the trial has several runs; else 0 */
    struct metric_value scored; /* the values of the score on its channel */
    struct metric_values values; /* of all metrics, the score's own name included; empty unless the plan records them */
    struct {
        char name[METRIC_NAME_BYTES];
        long double sum;
        size_t n; /* runs with a finite value */
    } totals[METRIC_VALUES_MAX]; /* of the metrics over the runs that have ended */
    size_t n_totals, n_runs;
    struct step_order order; /* of this run */
    bool went_back;   /* the latest event went back to an earlier step of the score */
    bool begun_anew;  /* the steps of a metric have begun again, so its curve cannot be compared with those of other trials */
    uint64_t n_late;  /* events with steps that came after phase "done" and do not count */
    bool skipped;     /* the latest event holds only values of a step that is not kept */
    char kernels[TRIAL_KERNELS_MAX]; /* for telemetry; "": not reported */
    char inert[TRIAL_INERT_MAX];     /* settings without an effect, separated by ", "; "": none */
    double train_s, eval_s; /* by the trial's own clock; below 0: not reported */
    json_t *phases; /* for telemetry: {PHASE: [{"step": n, METRIC: number, ..}]} */
    json_t *final;  /* for telemetry: the metrics of phase "done"; NULL: none */

    /* Memory from which the row borrows (trial_row.c). */
    struct lineage_param params[TRIAL_PARAMS_MAX];
    char names[TRIAL_PARAMS_MAX][LINEAGE_NAME_MAX];
    size_t n_params;
    struct lineage_param metrics[METRIC_VALUES_MAX + TRIAL_OWN_METRICS];
    char metric_names[METRIC_VALUES_MAX + TRIAL_OWN_METRICS][METRIC_NAME_BYTES];
    struct lineage_number clip_scale_mean, clip_scale_std;
    struct lineage_turn_stat turns[TRIAL_TURNS_MAX];
    size_t n_turns;
    char notes[TRIAL_NOTES_MAX];
    char *telemetry;
};

void trial_results_init(struct trial_results *results, const struct trial_plan *plan);
void trial_results_release(struct trial_results *results);

/* Begins the next of several runs; the first is 1. Its steps get a list of their own, and it has no score yet. */
void trial_results_next_run(struct trial_results *results, size_t run);

/* Adds the metrics of a run that has ended to the totals. Called for each run but the last by trial_results_next_run, and
 * for the last one when the row is made. */
void trial_results_end_run(struct trial_results *results);

/* Forgets the score so far, which the trial has reported itself, because only that of a sealed evaluation counts. */
void trial_results_forget_score(struct trial_results *results);

/* Takes one event. */
void trial_results_event(struct trial_results *results, const struct trial_event *event);

/* The name of the score: as the caller gave it, or the only name after METRIC. NULL: the trial only called it `score`. */
const char *trial_results_score_name(const struct trial_results *results);

/* Writes a metric of phase "done"; returns false if no metric of this name was reported. */
bool trial_results_final(double *value, const struct trial_results *results, const char *name);

/* ---- one command to run and watch (trial_watch.c) ---- */

/* Zero is the default of every member except hold. */

/*
 * The descriptor on which a child writes events. The variable LINEAGE_EVENTS in the child's environment names the
 * descriptor, or the path of a named pipe.
 */
enum { TRIAL_EVENTS_FD = 3 };

/* A file that the command has to write. */
struct trial_artifact {
    const char *path;
    double max_bytes; /* 0: no limit */
};

struct trial_job {
    const char *program;            /* file to execute; NULL: argv[0], searched in PATH */
    const char *const *argv; /* ended by NULL */
    const char *const *environment; /* NAME=VALUE, overrides this process's environment, ended by NULL; NULL: none */
    struct trial_settings settings; /* memory is sampled over the process group or the guarded tree; a control
                                       group counts it exactly */
    const struct trial_artifact *artifacts; /* [n_artifacts] */
    size_t n_artifacts;
    const struct interrupts *interrupts;

    struct held_out *held; /* what is taken out of its output and events; NULL: nothing */
    void (*event)(void *context, const struct trial_event *event); /* NULL: not called */
    /*
     * Called after event. Returns true, with the reason in why[size], if the trial is to be ended because its result would
     * not count. NULL: not called.
     */
    bool (*hopeless)(void *context, const struct trial_event *event, char *why, size_t size);
    /*
     * Called with the output of the command, both streams in order of arrival. If NULL, the command prints to the standard error of this process.
     */
    void (*output)(void *context, const char *bytes, size_t n);
    /*
     * Called with each whole line that the command prints, before the events of the line. Returns false if nothing more is needed, and
     * the command is ended. NULL: not called, and lines without a metric are skipped at once.
     */
    bool (*line)(void *context, const char *text, size_t length);
    void (*turn)(void *context); /* called between events; NULL: not called */
    double turn_seconds;         /* longest time between two calls of turn; 0: only called when something happens */
    void *context;

    bool guarded; /* end everything that the command starts (guardian.c); only one guarded job at a time */
    int hold;                /* guarded: descriptor that stays open until no process of the trial is left; -1: none */
    const char *events_path; /* guarded: path of a named pipe for events, for descendants that inherit no descriptors;
                                NULL: only TRIAL_EVENTS_FD */
    const struct sandbox *sandbox; /* guarded: that the command enters; NULL: none */
    const char *dir;         /* guarded: working directory of the command; NULL: that of this process */
};

/* ---- trial_watch.c: runs a command within its limits and collects the evidence of how it ended ---- */

/*
 * The child leads a process group, which is killed as a whole if a limit is exceeded or the user interrupts; a guarded
 * child is ended with all its descendants (guardian.c). A child that reports events (event_lines.h) may measure its own
 * time. That time is then also compared with the limits, because the label must not depend on when this process read
 * the report. A child that reports nothing is judged by its exit status.
 */

/* Runs the job to its end. Returns false, after printing the error, if it could not be started or watched. */
bool trial_watch(struct trial_outcome *outcome, const struct trial_job *job);

/* ---- trial_label.c: derives the label of a trial and a textual reason from the evidence of how the trial ended ---- */

/*
 *   finished, with a score                        keep or discard by the score, or baseline
 *   finished, with a score that is not finite     crash
 *   finished, but no score was found              harness_abort
 *   artifact too large, or it reported `size`     size_blocked
 *   it reported `input` before the first step     preflight_crash
 *   the preflight failed                          preflight_crash
 *   time limit of training, of evaluation, also of `timeout`   train_budget_overrun, eval_budget_overrun
 *   signal, memory, silence, a value that is not finite, any other failure   crash
 *   a protected file changed, or a requirement is not met   disqualified
 *   pruned, because its curve was hopeless        discard, without a score
 *   interrupted, or its watcher was killed        harness_abort
 *   the machine lacks something, such as a module or room on its disk   harness_abort
 */

/*
 * Returns LINEAGE_BASELINE for a finished trial; append then compares it with the best trial and changes the label to
 * keep or discard.
 */
enum lineage_label trial_label(const struct trial_results *results, const struct trial_outcome *outcome);

/*
 * Writes how a time limit was exceeded: "took more than 60 s", "took more than 60 s (61.5)" if it was measured, or
 * the same in processor seconds.
 */
void trial_label_overrun(char *out, size_t size, const struct trial_outcome *outcome, double seconds, double cpu_seconds);

/*
 * Returns the signal by which a command ended whose launcher left with this status, or 0: 137 of shells (128 + 9), and 247 of launchers in
 * Python, which leave with the return code -9 of their child.
 */
int trial_label_signal(int exit_status);

/* Writes ", which stands for signal 9 (Killed), perhaps out of memory" for a status by which launchers and shells report a
 * signal that ended their command, or "". */
void trial_label_status(char *out, size_t size, int exit_status);

/* What ended the trial. A cause that its output names counts more than its status. */
enum lineage_cause trial_label_cause(const struct trial_results *results, const struct trial_outcome *outcome);

/* Writes outcome->reason: why the trial did not finish, or "" if it finished. */
void trial_label_explain(const struct trial_results *results, struct trial_outcome *outcome);

/* ---- trial_row.c: makes the row of a trial from its plan, its results and its outcome ---- */

/*
 * Fills *trial and *options (telemetry, auto_status), which borrow from the results, and sets outcome->reason. remark
 * is the last piece of the notes, or NULL. Returns false when out of memory.
 */
bool trial_row_make(struct trial_results *results, struct trial_outcome *outcome, const char *remark, struct lineage_trial *trial,
                    struct lineage_append_options *options);

/* ---- one trial to run and to append as a row (run_and_append.c) ---- */

enum { TRIAL_REMARK_MAX = 2048 };

/* Callbacks through which a running trial keeps its claim (night/night_turn.c). All may be NULL. */
struct trial_alive {
    /*
     * Called when the trial starts and then every `every` seconds, with a JSON object: name, params, phase, step,
     * steps, score, running (seconds), and trial, the name of its work directory.
     */
    void (*tell)(void *context, const char *about);
    /*
     * Called with true when the trial has ended and its files are about to be kept and sent; called with false once the
     * trial has its row.
     */
    void (*hold)(void *context, bool on);
    void *context;
    double every; /* seconds */
};

struct trial_request {
    struct trial_plan plan;
    const char *refused; /* reason for not running the trial, reported in its row; NULL: run it */
    const char *not_started; /* what `prepare` writes if the trial cannot start for a reason that is not the system's; it
                              * then has a row (harness_abort). "": it printed the error. NULL: never written */

    /*
     * Puts the files that the command needs into the work directory. Writes the command, its environment and its
     * artifacts to *job, which already has the settings of the plan. Returns false after printing the error.
     */
    bool (*prepare)(void *context, const struct workdir *dir, struct trial_job *job);

    /*
     * Runs the job to its end, which may take several commands; NULL: trial_watch. The callback may change job and
     * results. Returns false after printing why nothing could be started or watched.
     */
    bool (*watch)(void *context, struct trial_outcome *outcome, struct trial_job *job, struct trial_results *results);

    /*
     * Called with the output of the command, which is also shown and searched for metrics. NULL: the output is not
     * read.
     */
    void (*output)(void *context, const char *bytes, size_t n);

    /* Writes the last piece of notes about an ended trial, at most TRIAL_REMARK_MAX bytes; NULL: no such piece. */
    void (*remark)(void *context, const struct trial_results *results, const struct trial_outcome *outcome, char *out);

    /* Called before the row is appended, so that it does not get an id that only a ref has (git/trial_ref.c); NULL: none. */
    bool (*pass_ids)(struct lineage_store *store, const struct lineage_trial *trials, size_t n);
    void (*beside)(void *context, const char *exp_id); /* see struct lineage_append_options; NULL: none */
    /* Called when the row is in the log, before the work directory is removed; NULL: none. */
    void (*recorded)(void *context, const char *exp_id);
    void *context;                                     /* context of the callbacks above */

    struct trial_alive alive;
    unsigned noise_seeds;      /* number of seeds over which the score is a mean; 0: as configured in the store */
    const char *bar_against;   /* exp_id of the trial against which the bar below counts; NULL or "": as configured */
    const double *bar;         /* what an improvement must exceed; `watch` may set it and the text above */
    const char *snapshot;      /* the part of the work directory that becomes the snapshot; NULL: all of it */
    const char *keep_artifact; /* file in the work directory to keep if the trial finishes */
    const char *keep_as;       /* path under which keep_artifact is kept; NULL: nothing is kept */
    void (*kept)(void *context, const char *keep_as); /* called next with alive's context, before the row; NULL: none */
    bool quiet; /* show no progress, and nothing that the command prints */
    const struct interrupts *interrupts;
};

/* ---- run_and_append.c: runs one trial of any command and appends its row ---- */

/*
 * Runs the trial in a child and appends its row; the caller releases *row. Returns CLI_GO_ON, or an exit status after
 * printing why no row was appended. If another worker has appended a row for the same trial of the night, this one
 * appends none, says so, and sets outcome->late.
 */
int trial_run_and_append(struct lineage_store *store, const struct trial_request *request, struct trial_outcome *outcome,
                         struct lineage_trial *row);

/*
 * Runs the trial and keeps its artifact, but appends no row. Returns false if the trial failed or its artifact could
 * not be kept.
 */
bool trial_run_unrecorded(const struct trial_request *request, const char *dir, struct trial_outcome *outcome);
