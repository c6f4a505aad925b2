/* run_parts.h: the parts of a run of a command (run_command.c), a section for each file. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include <lineage/code.h>
#include <lineage/evidence.h>
#include <lineage/store.h>

#include "cli.h"
#include "metrics/metric_scan.h"
#include "run/command_trial.h"
#include "trial/one_trial.h"

/* ---- run_log.c: keeps the beginning and the end of a command's output in files of bounded size ---- */

/*
 * While it runs, output.0 holds the first RUN_LOG_BYTES, and the last two of output.1, output.2, .. hold the end. The
 * log is on disk at every moment, so that it survives a crash of the machine. When the command has ended, the parts are
 * joined to one file.
 */

#define RUN_LOG_BYTES ((size_t)1 << 20)

enum { RUN_LOG_LAST = 131072 };

struct run_log {
    int dir; /* borrowed; a name could lead elsewhere, because the trial may rename its directory */
    int fd; /* descriptor of the current part; -1: none, and output is discarded */
    unsigned part;
    size_t in_part;
    char last[RUN_LOG_LAST]; /* a ring buffer of the latest bytes */
    uint64_t total;
};

/* Opens the log in the open directory dir, which must stay open until run_log_close. Returns false after printing the error. */
bool run_log_open(struct run_log *log, int dir);
void run_log_write(struct run_log *log, const char *bytes, size_t n);
void run_log_close(struct run_log *log);

/*
 * Joins the parts in the open directory to one file, output.0, with a line that says how many bytes are left out. Returns false on
 * failure.
 */
bool run_log_join(int dir);

/* Copies the latest bytes since log->total was `since`, at most RUN_LOG_LAST, and returns their number. */
size_t run_log_copy(const struct run_log *log, uint64_t since, char out[RUN_LOG_LAST]);

/* The last lines with words, at most three, without their indent, as one line that can be part of notes (free); NULL if
 * there are none. */
char *run_log_last_lines(const struct run_log *log);

/* ---- failure_evidence.c: finds out of the last output of a failed command what failed and where ---- */

/*
 * It knows how programs of several languages report their end: tracebacks of Python (also in groups, notebooks and the boxes
 * of rich), Node, Java and Julia, panics of Rust and Go, assertions and compiler errors as FILE:LINE, summaries of
 * sanitizers, and what parsers of arguments print. It reads through the prefixes that launchers write before each line, and
 * takes what a launcher or a shell says only if the program itself said nothing.
 */

/*
 * Reads text [n], the last output of the command, and sets outcome->evidence ("NameError: name 'x' is not defined
 * (train.py:12)"; "" if nothing was recognised), outcome->cause, outcome->lacks, outcome->reports_error and outcome->last_words. outcome->end and
 * outcome->exit_status are those of the command. A program that prints a metric that is asked for goes on.
 */
void failure_evidence_read(struct trial_outcome *outcome, const struct metric_query *asked, const char *text, size_t n);

/* ---- protected_files.c: finds out whether files have changed while a trial ran (--protect) ---- */

/*
 * A name means the file of that name where the command works, and also the copy of that name in the trial's work
 * directory if the trial was started with one. The copy is what a planner's diff and the trial itself can reach, so it is
 * read-only, and it is written anew before the evaluation.
 */

/* At most this many bytes of a copy in a work directory (those that a sweep puts there are smaller). */
#define PROTECTED_COPY_BYTES ((off_t)64 << 20)

struct protected_digest {
    uint64_t low, high;
    off_t size;
    ino_t inode;
    struct timespec changed; /* the time of the last change of bytes, mode or name, which a program cannot set */
};

struct protected_file {
    const char *name;
    char *path;  /* of a file where the command works; NULL: the copy in the work directory */
    char *bytes; /* of a copy: [digest.size] */
    mode_t mode; /* of a copy */
    struct protected_digest digest;
};

struct protected_files {
    struct protected_file *file; /* [n] */
    size_t n;
    char *workdir; /* its path, which has to lead to the directory that fd holds */
    int fd;
};

/* Returns false, with errno set, if the file cannot be read or is not a regular file. */
bool protected_file_digest(struct protected_digest *digest, const char *path);

/* Digests what the descriptor reads, from its current position to the size of the file. Returns false with errno set. */
bool protected_file_digest_of(struct protected_digest *digest, int fd);

/*
 * Writes to out [PATH_MAX] the path that a file which is named relative to dir has in a copy of dir. Returns false if the name
 * may lead elsewhere.
 */
bool protected_file_place(char *out, const char *name, const char *dir);

/* Writes the name without "./", "//" and "NAME/../" to out [size]. Returns false if it does not fit. */
bool protected_name(char *out, size_t size, const char *name);

/*
 * Digests the files, and makes the copies in workdir read-only. names is ended by NULL, or NULL; they are relative to dir,
 * or to the directory of this process if dir is NULL. Returns false, with the reason in why [size], if a name leads to no
 * regular file that can be read; call protected_files_release in either case.
 */
bool protected_files_seal(struct protected_files *files, const char *const *names, const char *dir, const char *workdir,
                          char *why, size_t size);

/* Returns false, with a text about it in why [size], if a file has changed, or was changed and restored. */
bool protected_files_check(const struct protected_files *files, char *why, size_t size);

/* Writes the copies anew. Returns false, with the reason in why [size], if that fails. */
bool protected_files_renew(struct protected_files *files, char *why, size_t size);

/* A zeroed struct is allowed. */
void protected_files_release(struct protected_files *files);

/* ---- sealed_copy.c ---- */

/*
 * A copy of the protected files that no trial can change, in which the evaluation runs (--sealed-eval).
 *
 * The bytes are taken before the trial into files in memory that the kernel seals: nobody can write to them any more. After
 * the trial, when no process of it is left, they are written into a new directory, read again, and compared. That directory
 * holds nothing else, so that a file which the trial has put beside the evaluator (json.py, conftest.py) is not found.
 */

/* At most this many bytes in all, because they are in memory while the trial runs. */
#define SEALED_COPY_BYTES ((off_t)256 << 20)

struct sealed_file {
    char *name; /* its path in the copy */
    int fd;     /* a sealed file in memory */
    mode_t mode;
    struct protected_digest digest;
};

struct sealed_copy {
    struct sealed_file *file; /* [n] */
    size_t n;
    int above; /* the directory in which the copy is laid, borrowed */
};

/*
 * Takes the files with a relative name; those with an absolute name stay where they are and are compared there. above is the
 * descriptor of the trial's directory, which is borrowed. Returns false, with the reason in why [size]; call
 * sealed_copy_release in either case.
 */
bool sealed_copy_take(struct sealed_copy *copy, const struct protected_files *files, const char *dir, int above, char *why,
                      size_t size);

/* The name of the directory in `above` in which the copy is laid. */
#define SEALED_COPY_DIR "sealed"

/* Lays the copy, and reads it again. Returns false, with the reason in why [size], if it is not what was taken. */
bool sealed_copy_lay(const struct sealed_copy *copy, char *why, size_t size);

/* Removes the directory, or what the trial has put in its place. */
void sealed_copy_remove(const struct sealed_copy *copy);

/* A zeroed struct is allowed. */
void sealed_copy_release(struct sealed_copy *copy);

/* ---- command_sandbox.c ---- */

/*
 * The sandbox of a command's trial (--sandbox): which paths it may write, and which layers the kernel grants.
 *
 * Its commands may write their work directory, a directory for temporary files (TMPDIR), the pipe for events, /dev/shm, and the
 * paths of --sandbox-write. The store, the evaluator and everything else are read-only. The places where this user keeps keys
 * are empty for them, except for the paths of --sandbox-read.
 */

/* ---- private places ---- */

/*
 * Where this user keeps keys and passwords, which a sandbox hides from a trial. The places are those of ssh, gpg, the
 * clients of clouds and code hosts, package registries and PostgreSQL, the key of `lineage` itself, and what containers
 * mount for secrets. Root's list has the password hashes of the machine, too.
 */

struct private_places {
    char **paths; /* absolute and resolved, ended by NULL; freed by private_places_release */
    size_t n;
};

struct command_sandbox {
    struct sandbox sandbox;
    const char **writable;    /* of the sandbox */
    struct private_places hidden;
    const char **environment; /* of the commands: that of --env with TMPDIR, ended by NULL */
    char **owned;             /* [n_owned] */
    size_t n_owned;
};

/* Where the commands of the trial work, all absolute. */
struct command_places {
    const char *trial; /* its directory in the store, in which the one for temporary files is made */
    int dir;    /* the same, open */
    const char *workdir, *events;
};

/* The name of the directory for temporary files in the directory of the trial. */
#define COMMAND_SANDBOX_TEMPORARY "tmp"

/*
 * Makes the sandbox of a trial that asks for one, and finds out which layers there are; prints them on standard error, unless
 * the trial is quiet and none is missing. Returns false after printing why it cannot be made, or which layers are missing if the
 * trial requires all of them. Call command_sandbox_release in either case.
 */
bool command_sandbox_make(struct command_sandbox *made, const struct command_trial *trial, const struct command_places *places);

/* A zeroed struct is allowed. */
void command_sandbox_release(struct command_sandbox *made);

/* ---- metric_files.c: metrics in the files that a training leaves behind ---- */

/*
 * `--metric-file NAME=PATH` names the file of a metric, and PATH#KEY the name that the metric has in it. Programs print few digits and
 * sometimes nothing, so the score is also looked for in files of usual names that were written meanwhile in the directory in which the
 * command works and in the work directory of the trial. Such a file gives a score that was not printed, or the other digits of
 * one that was. If it contradicts the printed score, the printed one counts, and both are reported.
 */

struct metric_files {
    const struct trial_plan *plan;
    const char *const *given; /* NAME=PATH[#KEY], ended by NULL; NULL: none */
    const char *dir;          /* where the command works; NULL: where this process works */
    const char *store;        /* directory of the store, in which other trials work; NULL: none */
    double since, until;      /* only files written in this time count, in seconds since 1970; until 0: now */
    void (*event)(void *context, const struct trial_event *event); /* gets each value */
    void *context;
};

/* Checks NAME=PATH. Returns false with a message in why[size]. */
bool metric_files_check(const char *given, char *why, size_t size);

/* Copies the name of the metric of NAME=PATH. */
void metric_files_name(char name[METRIC_NAME_BYTES], const char *given);

/* Now, as `since`. */
double metric_files_now(void);

/*
 * Reads the files that the caller named; their values replace printed ones. Returns false with the reason in why[size] if
 * the score was to come from a file that cannot be read; other metrics are left out with a warning.
 */
bool metric_files_read(const struct metric_files *files, const struct command_values *values, char *why, size_t size);

/*
 * Looks for the score in files of usual names, below dir and values->workdir. printed: the score so far. Prints what it took. If
 * it took nothing although there are such files, and none was printed, the reason is in why[size], which is otherwise unchanged.
 */
void metric_files_discover(const struct metric_files *files, const struct command_values *values,
                           const struct lineage_number *printed, char *why, size_t size);

/* ---- examples.c ---- */

/*
 * Scores of single examples that a trial leaves (`--examples FILE`), and the comparison of two trials by them.
 *
 * FILE.jsonl has a JSON object a line with an id and a value, FILE.npy one dimension of values, whose ids are their positions. The
 * store keeps them as examples/EXP_ID.jsonl, sorted by id; the digest of that file is in the notes of the row.
 *
 * Two trials are compared if they have the same ids: the differences example by example have a mean, a 95 % interval by the bootstrap
 * over examples (Efron 1979, Ann. Stat. 7:1), and a p by flipping their signs at random (Fisher 1935). An effect that an example has on
 * both trials cancels out, so one run of each resolves differences that the spread between seeds hides. Whether another seed would give
 * the same difference is another question, to which the noise of the store belongs: it has its own bar.
 */

enum { EXAMPLES_WHY_MAX = 400, EXAMPLES_TEXT_MAX = 640, EXAMPLES_MAX = 1000000, EXAMPLES_DIGEST_MAX = 17 };

struct example {
    char *id;
    double value;
};

struct examples {
    struct example *at; /* [n] sorted by id */
    size_t n, capacity;
    bool by_position; /* the ids are positions in an array */
    char *text;       /* [length] of the file that is kept */
    size_t length;
    char digest[EXAMPLES_DIGEST_MAX]; /* XXH3 64 of the text */
    double mean;
    struct lineage_number score; /* of the trial; a verdict needs it to be the mean of the values */
    char exp_id[LINEAGE_NAME_MAX];
};

/* Reads bytes, of an array if npy is true. key is the name of the values; NULL: score, value, correct or acc. Returns false,
 * with the reason, for what is not of this form, has an id twice or a value that is not finite. */
bool examples_parse(struct examples *examples, const char *bytes, size_t length, bool npy, const char *key,
                    char why[EXAMPLES_WHY_MAX]);

/* Reads a file, PATH or PATH#KEY, that a trial has left. */
bool examples_read(struct examples *examples, const char *path, const char *key, char why[EXAMPLES_WHY_MAX]);
void examples_release(struct examples *examples);

/* Keeps and reads the examples of a trial. Both return false with the reason. */
bool examples_keep(const struct examples *examples, const struct lineage_store *store, const char *exp_id,
                   char why[EXAMPLES_WHY_MAX]);
bool examples_of(struct examples *examples, struct lineage_store *store, const char *exp_id, char why[EXAMPLES_WHY_MAX]);

struct examples_difference {
    size_t n, rounds;
    double mean, low, high; /* a minus b */
    double error; /* standard error over examples */
    double p;
    double bar; /* what the difference must exceed on these examples: the interval, and the quantile of a whole night */
    double seeds; /* standard deviation of a difference of two scores by their seeds; 0: unknown */
    double seeds_bar; /* the bar of the store, which only the scatter of its trials may lower; 0: unknown */
    bool is_of_scores; /* both scores are the means of the values */
    int verdict; /* 1: a is higher on these examples, -1: it is lower, 0: no difference was found */
    bool higher_is_better;
};

/* Compares two trials. Returns false, with the reason, if their examples are not the same. */
bool examples_compare(struct examples_difference *difference, const struct examples *a, const struct examples *b,
                      const struct lineage_config *config, char why[EXAMPLES_WHY_MAX]);

/* "better", "worse" or "no difference"; "higher" or "lower" if the scores are not the means of the values. */
const char *examples_verdict(const struct examples_difference *difference);

/* Writes the comparison as a piece of notes. Returns out. */
const char *examples_text(char out[EXAMPLES_TEXT_MAX], const struct examples_difference *difference, const char *against);

/* ---- trial_conditions.c ---- */

/*
 * What a score depends on beside the code and the parameters: the conditions of a trial, by name.
 *
 *     gpu        the models that the trial sees, "2 x NVIDIA H100"; "none"
 *     processor  its model, and how many
 *     budget     the limits of time, processor time and memory that the trial has
 *     data       digest of the files of --data
 *     packages   digest of the versions of the Python packages that the command sees; only if --comparable names it
 *
 * Provenance records them. A row whose verdict is against a trial of other conditions says so in its notes. With --comparable, the named
 * ones are parameters of the row, so that means, comparisons and the block tell them apart, and a trial under others is refused.
 */

enum { CONDITIONS_MAX = 5, CONDITIONS_TEXT_MAX = 600 };

/* Sets what run.json says of this machine: host, system, processor, memory, gpus. */
void conditions_machine(json_t *run);

/* The models of the GPUs that the drivers of NVIDIA and AMD describe in the files of these patterns: texts. */
json_t *conditions_gpus(const char *nvidia, const char *amd);

/* Whether the list, such as "gpu,budget", names conditions. If not, why says which ones there are. */
bool conditions_check(const char *list, char *why, size_t size);

/* The conditions under which the trial would run now: name -> text (a new reference). NULL after printing why data or
 * packages cannot be read. */
json_t *conditions_now(const struct command_trial *trial);

/* The conditions of a recorded trial; NULL if it has none in its provenance. */
json_t *conditions_of(const struct lineage_store *store, const char *exp_id);

/*
 * Writes which conditions differ: "gpu: none, not NVIDIA H100". only: a list of names; NULL: all. Conditions that one of both lacks do
 * not differ. Returns out, "" if none differs.
 */
const char *conditions_differ(char out[CONDITIONS_TEXT_MAX], const json_t *own, const json_t *other, const char *only);

/* Writes the i-th name of the list; NULL after the last. */
const char *conditions_name(const char *list, size_t i, char name[LINEAGE_NAME_MAX]);

/* ---- code_ref.c: keeps the code of a store's trials by refs in the user's repository (git/trial_ref.c) ---- */

/* Names the ref of a running trial in git, the object of its run.json, unless the repository's owner turned refs off. dir is
 * the trial's work directory. */
void code_ref_name(json_t *git, const char *dir);

/* Creates the ref that code_ref_name has named, after run.json was written. The trial goes on if that fails. git may be
 * NULL. */
void code_ref_hold(const json_t *git);

/*
 * Gives the code of a recorded trial its final ref and writes its name into provenance/ID/run.json. Does nothing for a
 * trial without a named ref. If the repository cannot be written, prints a message; the trial keeps its row. Repeats run.json in
 * this user's state directory (LINEAGE_PLACE_REPEATED_RUNS), which `git clean` does not take.
 */
void code_ref_keep(struct lineage_store *store, const char *exp_id);

/* Writes run.json for each trial whose provenance is gone and whose run.json is repeated for that row. Returns the number of
 * these trials. */
size_t code_ref_restore_runs(struct lineage_store *store);

/* Removes the ref of a trial that got no row. git may be NULL. */
void code_ref_drop(const json_t *git);

/* Removes the ref of a recorded trial. Returns whether there was one. The trial keeps its provenance. */
bool code_ref_remove(const struct lineage_store *store, const char *exp_id);

/* Creates the ref of a recorded trial that has none, if its commit still exists. Returns whether there is one now. */
bool code_ref_add(const struct lineage_store *store, const char *exp_id);

/*
 * Writes a run.json for a trial whose provenance is gone, if a ref of the repository around the store or the current directory has the
 * commit that the row names. Returns whether it did.
 */
bool code_ref_restore(const struct lineage_store *store, const struct lineage_trial *trial);

/* ---- what a trial changed in the code of a repository, in a few words ---- */

/*
 * Compares the code of a trial that is about to run with that of its parent or, without one, of the best trial so
 * far. The file of the night that ran that trial is left out, unless t names it. git is the object of its run.json (git/work_tree_diff.c); sets "against" to the exp_id and "change" to a text such as
 * "+3 -1 in train.py: def get_lr(step):", "" for the same code. Sets neither without such a trial, or if its code is
 * not known. Writes the diff as parent.diff into dir, unless it is empty: the store measures changes by it
 * (lineage/measured.h).
 */
void code_change_find(json_t *git, struct lineage_store *store, const struct command_trial *t, const char *dir);

/* Whether the trial's command or its evaluation names the file, so that it may read it. */
bool code_is_named(const struct command_trial *t, const char *path);

/* Writes the piece of notes about it (lineage/code.h), or "" if the trial ran the code of the trial that it was compared with.
 * git may be NULL. */
void code_change_note(char out[LINEAGE_CODE_NOTE_MAX], const json_t *git);

/* ---- what_ran.c: a digest of the code and the program of a run, which runs of one setting share, whatever their seeds ---- */

/* Writes the piece `ran DIGEST` (lineage/notes.h) of a run, by the tree of its code and the first script that the command
 * names, or by the contents of this where no repository has them. "" if neither is known, if it has no seed, or if an
 * earlier run of its setting that names none, as one of `append` or of an earlier version, says all that it says (code: the
 * piece of code_change_note). */
enum { WHAT_RAN_MAX = 32 };
void what_ran_note(char out[WHAT_RAN_MAX], const json_t *git, const struct command_trial *t, struct lineage_store *store,
                   const char *code);

/* The largest seed of the rows that have these parameters but for the seeds; 0: none. *rows: how many of them declare one. */
uint64_t what_ran_largest_seed(size_t *rows, struct lineage_store *store, const struct lineage_param *params, size_t n);

/* Writes that piece of the notes of a row, for another row of the same run; "": they have none. */
void what_ran_of(char out[WHAT_RAN_MAX], const char *notes);

/* ---- provenance_read.c: reads and prints the provenance of a trial ---- */

/* Writes the path of provenance/ID; returns false if the trial has none. */
bool provenance_path(char path[PATH_MAX], const struct lineage_store *store, const char *exp_id);

/* Whether this user may not read the provenance of the trial (NULL: of any), as in a store of several users. Says so. */
bool provenance_is_closed(const struct lineage_store *store, const char *exp_id);

/* Returns the trial's run.json (a new reference), or NULL if the file is missing or cannot be read. */
json_t *provenance_load(const struct lineage_store *store, const char *exp_id);

/* The deepest chain of reruns that is followed; provenance files can be edited, and two of them could name each other. */
enum { PROVENANCE_RERUNS_MAX = 64 };

/*
 * Follows a chain of reruns to the first trial, whose code all of them ran. *run (a reference that this function takes over)
 * becomes that trial's run.json, and id its exp_id. Returns false if one of them has no provenance; then *run is NULL and id
 * names the trial.
 */
bool provenance_origin(json_t **run, char id[LINEAGE_NAME_MAX], const struct lineage_store *store);

/* Prints the parts of run.json that users look for first, in the form of cli_show_trial. */
void provenance_print(const json_t *run, const struct cli_screen *screen);

/* ---- files_beside_row.c: the files of a command's trial that are kept beside its row: logs/ID.log and provenance/ID/ ---- */

/*
 * The row's id is written into the work directory as soon as the store has chosen it, so that a process which finds the
 * directory after a kill can tell whether the row was appended.
 */

/*
 * Moves log and provenance from the open work directory to their places, under the id of the row, and writes the id into the
 * work directory. Used as struct lineage_append_options.beside. Failures are printed.
 */
void files_beside_row_put(const struct lineage_store *store, int dir, const char *exp_id);

/* The work directory of a trial that finished without a score is kept as logs/ID.work, so that `rescore` finds its files. */
#define UNSCORED_WORK ".work"
void files_beside_row_put_work(const struct lineage_store *store, int dir, const char *exp_id);

/* Reads the id that was written into the work directory; returns false if there is none. */
bool files_beside_row_id(char exp_id[LINEAGE_NAME_MAX], int dir);

/* ---- abandoned_trial.c: appends rows of trials whose watcher was killed ---- */

/*
 * The file RUNNING_TRIAL in the work directory holds what the row would have contained: {"specialist", "domain",
 * "hypothesis", "expected_delta", "parent", "night", "score": TEXT, "params": {NAME: VALUE}, "name": TEXT,
 * "train_seconds", "started": NUMBER}. The file exists from before the command starts until the work directory is
 * removed. The row has the name of the work directory as its job_name, so that no trial gets two rows. Trials of the Python
 * package have the same file, with "recorder": "python" and perhaps a "job_name" of their own.
 */

/* Writes RUNNING_TRIAL into the work directory. Returns false after printing the error. */
bool abandoned_trial_prepare(const char *dir, const struct trial_plan *plan);

/*
 * Appends a row (harness_abort), with what was measured, for each abandoned trial of the store that has no row, and
 * removes the trial's directory. Returns CLI_GO_ON, or an exit status after printing the error.
 */
int abandoned_trials_record(struct lineage_store *store);

/* ---- dry_metrics.c: `lineage run --dry-metrics`: shows which number is read from which line, and writes no row ---- */

/*
 * The lines come from the command, which runs with its limits, its preflight, its evaluation and its seeds, or from a
 * saved log. They go through the reader of a real trial (metrics/metric_lines.h).
 */

struct dry_metrics;

/* The caller frees it; NULL when out of memory. The plan is borrowed. lines: end the command after this many; 0: not. */
struct dry_metrics *dry_metrics_new(const struct trial_plan *plan, size_t lines);
void dry_metrics_free(struct dry_metrics *dry);

/* Makes the job report its lines and events to `dry` before it passes them on to the job's own callbacks. One job at a
 * time. */
void dry_metrics_attach(struct dry_metrics *dry, struct trial_job *job);

/* Takes the value of a metric in a file. */
void dry_metrics_event(struct dry_metrics *dry, const struct trial_event *event);

/* Reads a saved log; "-" is standard input. Returns CLI_GO_ON, or an exit status after printing the error. */
int dry_metrics_read_log(struct dry_metrics *dry, const char *path);

/* Writes what a trial of this log has in looked and doubt, and prints the remarks on how its metrics were read. */
void dry_metrics_describe(const struct dry_metrics *dry, struct trial_outcome *outcome);

/*
 * Prints one line per metric, and which of them is the score and why. outcome is that of the command; NULL: a log was
 * read. Returns CLI_OK if there is a score of a command that finished, else CLI_NO after printing what is wrong.
 */
int dry_metrics_print(const struct dry_metrics *dry, const struct trial_outcome *outcome, enum cli_format format);
