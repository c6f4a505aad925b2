/*
 * lineage/store.h: open a store, append trials.
 *
 * A store is a directory:
 *     results.tsv        the truth: a header and one record per trial, append-only
 *     lineage.json       optional settings: direction, score column (struct lineage_config)
 *     lineage.db         SQLite mirror of results.tsv; may be deleted at any time
 *     telemetry/ID.json  per-step metrics of a trial
 *     snapshots/ID_SPECIALIST/   frozen work directory of a kept trial
 *     results.tsv.torn-*  bytes of a torn last record that a writer moved aside
 *     ..                 schema/FORMAT.md lists the rest; lineage_store_path says where things are
 *
 * Calling sequence
 *     struct lineage_store *store;
 *     struct lineage_error err;
 *     if (lineage_store_open(&store, "runs/atpo", NULL, &err) != LINEAGE_OK) ...
 *     struct lineage_trial trial = {.hypothesis = "wider clip", .status = LINEAGE_KEEP,
 *                                   .core_metric = {true, 34.5}};
 *     struct lineage_trial row = {0};
 *     if (lineage_store_append(store, &trial, NULL, &row, &err) == LINEAGE_OK) puts(row.exp_id);
 *     lineage_trial_release(&row);
 *     lineage_store_close(store);
 *
 * Durability
 *   Append takes an exclusive flock on results.tsv (the lock fieldkit.lineage takes), writes the whole
 *   record with one write, and returns LINEAGE_OK only after fdatasync (unless no_sync). Readers take no
 *   lock. A last record without line end may be half of one: readers show what can be read of it, and the
 *   next writer moves it to a file beside results.tsv, named through `notice` (lineage_restore puts it back).
 *   Append waits for that lock alone: what others do to the mirror never delays a row. The mirror follows when
 *   the handle next reads or is closed; if that fails the rows are safe and a notice is given.
 */
#ifndef LINEAGE_STORE_H
#define LINEAGE_STORE_H

#include <lineage/trial.h>

struct lineage_store;

enum lineage_direction {
    LINEAGE_DIRECTION_DEFAULT, /* in options: as configured; in a configuration: lower */
    LINEAGE_LOWER,             /* a smaller score is better */
    LINEAGE_HIGHER
};

#define LINEAGE_NAME_MAX 64

/* Settings of a store, kept in lineage.json (schema/lineage.schema.json). Zero means the default for each member. */
struct lineage_config {
    enum lineage_direction direction;
    char metric[LINEAGE_NAME_MAX];       /* score column; empty: core_metric, else the score's name, else val_bpb */
    char metric_label[LINEAGE_NAME_MAX]; /* short label in blackboard files; empty: from the column */
    double min_delta;   /* --status auto keeps only an improvement larger than this */
    double noise_std;   /* standard deviation of the score between seeds, 0 if unknown */
    unsigned noise_seeds; /* seeds averaged per score, 0 counts as 1 */
    unsigned noise_freedom; /* degrees of freedom of a noise_std that was measured; 0: the owner has set it */
    unsigned noise_runs;    /* scores that a measured noise_std comes from; 0: noise_freedom + 1 */
    unsigned night_trials;  /* trials of a night, for which the threshold is widened, as the owner says; 0: newest_night */
    unsigned newest_night;  /* trials of the newest night, which writes it; 0: 100 */
    char second[LINEAGE_NAME_MAX]; /* metric or number column of a second score (lineage/front.h); empty: none */
    enum lineage_direction second_direction;
    double second_noise_std; /* standard deviation of the second score between seeds, 0 if unknown */
};

/* How much the scores of recent trials differ among each other, whatever their settings (lineage_scatter_of). */
struct lineage_scatter {
    double std; /* robust estimate of their standard deviation */
    size_t n;   /* scores; 0: unknown */
};

/*
 * The scatter of n scores: 1.4826 times the median of their distances from the median, so that a diverged trial does not
 * count (Rousseeuw and Croux 1993, J. Am. Stat. Assoc. 88:1273). Sorts the scores.
 */
LINEAGE_API struct lineage_scatter lineage_scatter_of(double *scores, size_t n);

/* Trials of a night that the threshold is widened for: as the owner says, those of the newest night, or 100. */
LINEAGE_API unsigned lineage_config_trials(const struct lineage_config *config);

/*
 * What an improvement must exceed for auto_status to keep it: max(min_delta, q * noise_std * sqrt(2 / noise_seeds)), where
 * q is the quantile 1 - 0.05 / lineage_config_trials of Student's t with noise_freedom degrees of freedom, or of the
 * normal distribution if the owner has set the noise. lineage/evidence.h derives it. 0 seeds count as 1.
 *
 * A noise_std from a few runs gives a wide threshold. The noise cannot be larger than the scatter of all trials, to which
 * settings contribute as well: with at least ten of them, the threshold is at most the one for that scatter (or for the low
 * end of the 95 % interval of noise_std, if that is larger), with 0.37 degrees of freedom a score (the efficiency of the
 * median distance). So one run on a busy machine does not end all progress. scatter may be NULL.
 */
LINEAGE_API double lineage_threshold(const struct lineage_config *config, const struct lineage_scatter *scatter);

/* Whether a text that may be the directory of a store names a store in a PostgreSQL database instead: it begins with
 * postgres:// or postgresql:// (schema/FORMAT.md, "The log in PostgreSQL"). */
LINEAGE_API bool lineage_is_server(const char *place);

/*
 * For a store in a directory whose rows were taken away together with it (git clean -fdx): the rows and settings that this user's
 * state directory repeats. lost: the number of these rows, 0 if none are known. restore: makes the store again, but not the
 * parents of the directory; LINEAGE_ENOTFOUND if no rows are known, LINEAGE_EEXIST if it has a log. forget: sets the rows aside, so
 * that lineage_store_create makes a new store there.
 */
LINEAGE_API size_t lineage_store_lost(const char *dir);
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_restore(const char *dir, struct lineage_error *err);
LINEAGE_API void lineage_store_forget(const char *dir);

/*
 * Creates the directory (but not its parents) if needed and writes lineage.json atomically. config may be zeroed but
 * not NULL. LINEAGE_EEXIST if lineage.json exists with other settings, LINEAGE_EINVAL for an impossible setting.
 * results.tsv is created by the first append. A new directory inside a git repository gets a .gitignore. LINEAGE_EEXIST, too, if a
 * store of this user was there in a repository and its rows are gone (lineage_store_restore).
 *
 * For a store on a server (lineage_is_server, or a directory whose lineage.json names one) it creates the schema and
 * the store there, if they are missing. LINEAGE_EAWAY if the server cannot be reached, LINEAGE_EREFUSED if it
 * refuses.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_create(const char *dir, const struct lineage_config *config,
                                                                       struct lineage_error *err);

/* Something that the caller should tell its user; line is 0 if it does not concern a row. */
struct lineage_notice {
    uint64_t line;
    const char *text; /* valid during the call */
};

/* Limits of one statement of lineage_sql; a statement that exceeds one ends with LINEAGE_ELIMIT. 0 means the default.
 * `bytes` limits what SQLite allocates in this process: handles in use at the same time share the limit. */
struct lineage_sql_limits {
    double seconds;
    size_t bytes;
    size_t rows; /* rows up to the limit have already been passed to the callback */
};
#define LINEAGE_SQL_SECONDS 60.0
#define LINEAGE_SQL_BYTES ((size_t)1 << 30)
#define LINEAGE_SQL_ROWS ((size_t)1000000)

struct lineage_open_options {
    enum lineage_direction direction; /* overrides the configuration */
    const char *metric;               /* overrides the configuration's score column */
    bool no_mirror;       /* keep the mirror in memory, so that only results.tsv is read or written */
    unsigned busy_ms;     /* milliseconds to wait for the mirror's lock, 0 = 5000 */
    void (*notice)(void *context, const struct lineage_notice *notice); /* NULL: notices are dropped */
    bool (*cancelled)(void *context); /* called every few milliseconds during a query: returning true ends the query
                                       * with LINEAGE_ECANCELLED. NULL: nothing is ever cancelled */
    void *context;
    struct lineage_sql_limits sql;
};

/*
 * Opens the store in dir. A directory without results.tsv is an empty store. LINEAGE_ENOTFOUND for a missing
 * directory, LINEAGE_ECORRUPT for a malformed lineage.json. options may be NULL. *store is NULL after a failure. Rows
 * that cannot be read never make the open fail: they are findings (lineage/verify.h).
 *
 * dir may be the name of a store on a server. Mirror, outbox, telemetry and snapshots are then in the directory
 * ${XDG_STATE_HOME:-~/.local/state}/lineage/STORE-DIGEST, which lineage_store_dir returns. If the server cannot be
 * reached the open succeeds; if it refuses (no such database, store or role, a wrong password, ..) the result is
 * LINEAGE_EREFUSED.
 *
 * A store belongs to the process that opened it: in a forked child every function but close returns LINEAGE_EINVAL,
 * because parent and child would share one lock and give out the same ids.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_open(struct lineage_store **store, const char *dir,
                                                                     const struct lineage_open_options *options,
                                                                     struct lineage_error *err);
LINEAGE_API void lineage_store_close(struct lineage_store *store);

/* The settings in force (configuration and overrides), valid until close. direction is never DEFAULT. */
LINEAGE_API const struct lineage_config *lineage_store_config(const struct lineage_store *store);

/*
 * Three lists of lineage.json, each ended by NULL; NULL for none. They belong to the store. secret_files: patterns of file names
 * that are not copied into provenance, beside those that are always left out; a pattern behind '!' makes an exception.
 * harmless_names: names of parameters that are not secret although they look like it. seeds: names of parameters that are the seed of a
 * run, beside seed and random_seed, so that rows which differ in them alone are runs of one setting.
 */
LINEAGE_API const char *const *lineage_store_secret_files(const struct lineage_store *store);
LINEAGE_API const char *const *lineage_store_harmless_names(const struct lineage_store *store);
LINEAGE_API const char *const *lineage_store_seeds(const struct lineage_store *store);

/*
 * The name of the metric that is the score of this store, which lineage.json remembers from the first trial that measured one, so
 * that scores of other names are not compared with it. NULL: no trial with a named score was measured yet. Valid until the store
 * is closed or lineage_store_name_score is called.
 */
LINEAGE_API const char *lineage_store_score_name(const struct lineage_store *store);

/*
 * Remembers the name of the score. lineage.json is read again and replaced atomically with its other settings unchanged.
 * LINEAGE_EEXIST if the score has another name; the message says how to go on. LINEAGE_EINVAL if the name is empty, is not UTF-8 or
 * has more than 63 bytes.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_name_score(struct lineage_store *store, const char *name,
                                                                           struct lineage_error *err);

/* Like lineage_store_name_score, for a store whose scores are all replaced by those of another name. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_rename_score(struct lineage_store *store, const char *name,
                                                                             struct lineage_error *err);

/*
 * Sets the noise floor of a store that has none: the standard deviation of the score between seeds, and the number of
 * seeds that each score averages. lineage.json is replaced atomically with its other settings unchanged, and
 * lineage_store_config returns the new values. LINEAGE_EEXIST if the store has a noise floor; LINEAGE_EINVAL if std is
 * not finite and above 0.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_set_noise(struct lineage_store *store, double std, unsigned seeds,
                                                                          struct lineage_error *err);

/*
 * Sets or replaces a noise floor that was measured from `runs` scores with this many degrees of freedom (lineage_noise_pool
 * in lineage/evidence.h), so that it improves with every trial that runs again; std 0 with a freedom of 0 removes it. LINEAGE_EEXIST if the owner has set the
 * noise floor, which measurements never replace; otherwise like lineage_store_set_noise.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_measure_noise(struct lineage_store *store, double std,
                                                                              unsigned freedom, unsigned runs,
                                                                              struct lineage_error *err);

/* No id that this handle gives from now on is `id`, or comes before it. For ids that only something outside of the store has, such as
 * a ref of the repository around it. Ids without a number, and a log on a server, are left alone. */
LINEAGE_API void lineage_store_pass_id(struct lineage_store *store, const char *id);

/* Sets newest_night for this handle only, because a night knows how many trials it has. 0: as configured. */
LINEAGE_API void lineage_store_plan_trials(struct lineage_store *store, size_t trials);

/* Writes the number of lineage_store_plan_trials to the settings, so that every later threshold is the one of the newest night:
 * lineage.json is replaced atomically with its other settings unchanged. Writes nothing if it is there already. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_keep_trials(struct lineage_store *store,
                                                                            struct lineage_error *err);

/* The directory that was passed to open, or the local directory of a store on a server; valid until close. */
LINEAGE_API const char *lineage_store_dir(const struct lineage_store *store);

/* Files and directories of the store besides its rows. Call lineage_store_path instead of building a path, because the
 * names are defined in the library only. The file or directory need not exist yet. */
enum lineage_place {
    LINEAGE_PLACE_SETTINGS, /* lineage.json */
    LINEAGE_PLACE_TELEMETRY, /* telemetry/, ID.json each */
    LINEAGE_PLACE_SNAPSHOTS, /* snapshots/, ID_SPECIALIST/ each */
    LINEAGE_PLACE_CHECKPOINTS, /* checkpoints/: policies of a night that later trials start from */
    LINEAGE_PLACE_KNOWLEDGE, /* KNOWLEDGE.md, the rendered block that a night keeps up to date */
    LINEAGE_PLACE_RENDERED, /* lineage_snapshots/, blocks that were shown */
    LINEAGE_PLACE_LOGS, /* logs/, ID.log each: the output of the command */
    LINEAGE_PLACE_PROVENANCE, /* provenance/, ID/ each: the code and settings that the command was run from */
    LINEAGE_PLACE_CODE, /* lineage_code/: files and diffs of trials, named by their digests (lineage/code.h) */
    LINEAGE_PLACE_HELD_OUT, /* held-out.jsonl: scores that no planner sees; only its owner may read it */
    LINEAGE_PLACE_EXAMPLES, /* examples/, ID.jsonl each: scores of single examples */
    LINEAGE_PLACE_REPEATED_RUNS /* runs.jsonl, which repeats provenance/ID/run.json of each trial for `lineage restore`. It is in this
                                 * user's state directory, beside the repeated rows, and cannot be written if they are not there. */
};

/* Path of a place in *path (free with lineage_free). It begins with the directory that was given to open, except for
 * LINEAGE_PLACE_REPEATED_RUNS, which fails with LINEAGE_EINVAL if this user has no state directory, or it does not repeat these rows. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_path(char **path, const struct lineage_store *store,
                                                                     enum lineage_place place, struct lineage_error *err);

/* Name of the score column in force; valid until close. */
LINEAGE_API const char *lineage_store_metric(const struct lineage_store *store);

struct lineage_append_options {
    bool no_sync; /* do not fdatasync */
    bool allow_missing_parent; /* for imports */
    bool auto_status; /* decide keep or discard from the score; trial->status is ignored */
    bool no_mirror_sync; /* leave the mirror out of date; the next reader updates it */
    double min_delta; /* with auto_status: required improvement, NAN = as configured */
    double noise_std; /* with auto_status: noise floor, NAN = as configured */
    unsigned noise_seeds; /* with auto_status: 0 = as configured */
    unsigned noise_freedom; /* degrees of freedom of a noise_std given here that is an estimate; 0: it is known */
    bool once_per_night; /* refuse a row whose notes link it to a trial of a night that has a row already
                                  (lineage/notes.h; harness_abort rows aside) with LINEAGE_EEXIST */
    bool unconfirmed; /* with auto_status: a trial that would be kept is a discard whose notes say that fresh runs must
                                  confirm it; only a trial that has nothing to beat is kept */
    const char *keep_against; /* with status keep: keep the trial only if this trial is the best one when the row is written,
                                  and its score is worse; else the row is a discard. NULL: always. With auto_status: the
                                  min_delta and noise given here count against this trial; against another, those configured */
    bool first_is_baseline; /* with auto_status: a trial that has nothing to beat is a baseline instead of a keep */
    const char *snapshot_dir; /* freeze this directory if the trial is kept; NULL: none */
    /* Called after the id is chosen and before the row is written, so that the trial's files can be stored under its id
     * before the row exists. If the row is then refused, these files stay, as after a killed append. */
    void (*beside)(void *context, const char *exp_id);
    void *beside_context;
    const char *telemetry; /* JSON text for telemetry/ID.json (schema/telemetry.schema.json); NULL: none */
    size_t telemetry_length;
};

/* Options at their defaults: zeros, and NAN where NAN means "as configured". */
LINEAGE_API void lineage_append_options_init(struct lineage_append_options *options);

/*
 * Appends one trial. Empty members are filled in: exp_id (next number, at least three digits), timestamp (UTC now),
 * baseline_exp (best so far), delta_vs_best (score minus the best so far, as decimals: 34.96 - 34.51 is 0.45).
 * Parameters, clip-scale statistics and turn statistics are written into notes. options may be NULL. row, if not
 * NULL, receives the trial as written; the caller releases it.
 *
 * Refused, with nothing written: LINEAGE_EEXIST for a duplicate exp_id (014 and exp_014 are the same) and for a
 * second row with once_per_night; LINEAGE_ENOTFOUND for an unknown parent; LINEAGE_EINVAL for keep or auto_status
 * without a score, a parent cycle, nan or infinity (the message names the field), invalid UTF-8, NUL bytes, or a
 * parameter that notes set to another value or to infinity; LINEAGE_ELIMIT for a cell above LINEAGE_CELL_MAX bytes.
 * LINEAGE_EIO if the row could not be made durable (it is then not in the file), or if results.tsv is a pipe or a
 * device.
 *
 * auto_status: the label becomes keep if the score is finite and better than the best so far by more than the
 * threshold of lineage_threshold, or if it is the first score; else discard, and notes end with the reason ("discarded:
 * +0.0068, needs more than 0.0566", see schema/FORMAT.md).
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_append(struct lineage_store *store,
                                                                       const struct lineage_trial *trial,
                                                                       const struct lineage_append_options *options,
                                                                       struct lineage_trial *row, struct lineage_error *err);

/*
 * Whether lineage_store_append would accept this trial now: call it before work whose result must not be lost. It returns
 * what the append would return, and appends nothing; like an append it waits for the log's lock and moves a torn last
 * record aside. A trial without a result yet is checked with a label that needs no score, such as LINEAGE_CRASH. For a log
 * on a server that cannot be reached now, only the trial itself is checked, because its row would wait in the outbox.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_append_check(struct lineage_store *store,
                                                                             const struct lineage_trial *trial,
                                                                             const struct lineage_append_options *options,
                                                                             struct lineage_error *err);

/*
 * Appends n trials at once, each by the rules of lineage_store_append: the parent of a row, and the trial that the row
 * is compared with, may be earlier rows of the same call. There is one lock, one write and one sync. Even after a kill
 * either all of them are in the file or none. The message of a refusal names the row ("row 3: ..", from 1).
 *
 * auto_status, [n] or NULL, says which trials become keep or discard by their score; NULL: as the options say. rows,
 * [n] or NULL, receives the trials as written; the caller releases each, also after a failure.
 *
 * Also refused: snapshots and telemetry, which belong to one trial (LINEAGE_EINVAL), and a trial with a parent whose
 * own id an earlier row names as a missing parent (LINEAGE_EINVAL: append it alone).
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_store_append_many(
    struct lineage_store *store, const struct lineage_trial *trials, size_t n, const bool *auto_status,
    const struct lineage_append_options *options, struct lineage_trial *rows, struct lineage_error *err);

/*
 * If the log is on a server, each append is written to the directory's outbox before anything is sent, and removed when
 * the server has confirmed the row. After a broken connection the append is looked up by its number, so that there is
 * exactly one row. While the server cannot be reached, the append returns LINEAGE_OK with a notice, and the row's
 * exp_id is "outbox-NUMBER" (with ".1", ".2" .. appended for the rows of append_many): the trial is kept on this
 * machine's disk. The same happens if the server refuses now what it allowed when the store was opened (a new password,
 * a revoked right). A user who was never allowed to append gets LINEAGE_EREFUSED, and nothing is kept. Everything that
 * depends on the log (id, parent, baseline, keep or discard) is decided on delivery, by lineage_sync, which the commands
 * that append call when they start. The trial's files are then renamed to the row's id.
 */
#define LINEAGE_OUTBOX "outbox-" /* prefix of such an exp_id */

struct lineage_sync_stats {
    size_t n_delivered;
    size_t n_refused; /* refused like a bad append; a notice names outbox/NAME.refused and the reason */
    size_t n_waiting; /* still in the outbox, including those that another process is delivering now */
    size_t n_damaged; /* files that cannot be read; a notice names outbox/NAME.damaged */
    size_t n_foreign; /* not delivered, because this user did not write them on this machine for this server */
};

/* Delivers the trials in the outbox, oldest first. stats may be NULL. Returns LINEAGE_EAWAY while the server cannot be
 * reached and LINEAGE_EREFUSED while it refuses; stats are filled in all the same, and trials that were not delivered
 * stay in the outbox. LINEAGE_ECORRUPT if a file of the outbox is damaged; all others are delivered then. A log that is
 * a file has no outbox, so the call returns LINEAGE_OK. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_sync(struct lineage_store *store, struct lineage_sync_stats *stats,
                                                               struct lineage_error *err);

/* Like lineage_sync, and also delivers trials that this user did not write on this machine for this server. A directory from
 * somebody else may contain such files, so call it only for a user who knows where they come from. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_sync_all(struct lineage_store *store, struct lineage_sync_stats *stats,
                                                                   struct lineage_error *err);

/* Longest cell that append writes, in bytes (fieldkit.lineage cannot read longer ones). */
#define LINEAGE_CELL_MAX 131072

#endif
