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

#ifdef __cplusplus
extern "C" {
#endif

struct lineage_store;

enum lineage_direction {
    LINEAGE_DIRECTION_DEFAULT, /* in options: as configured; in a configuration: lower */
    LINEAGE_LOWER,             /* a smaller score is better */
    LINEAGE_HIGHER
};

#define LINEAGE_NAME_MAX 64

/* Settings of a store, kept in lineage.json (schema/lineage.schema.json). Zero is the default of each. */
struct lineage_config {
    enum lineage_direction direction;
    char metric[LINEAGE_NAME_MAX];       /* score column; empty: core_metric if the file has it, else val_bpb */
    char metric_label[LINEAGE_NAME_MAX]; /* short label in blackboard files; empty: from the column */
    double min_delta;   /* --status auto keeps only an improvement larger than this */
    double noise_std;   /* standard deviation of the score between seeds, 0 if unknown */
    unsigned noise_seeds; /* seeds averaged per score, 0 counts as 1 */
};

/*
 * What an improvement must exceed for auto_status to keep it: max(min_delta, 2 * noise_std * sqrt(2 / noise_seeds)).
 * Two means of n seeds differ by noise_std * sqrt(2/n) by chance; two of those are asked for. 0 seeds count as 1.
 */
LINEAGE_API double lineage_threshold(double min_delta, double noise_std, unsigned noise_seeds);

/*
 * Whether a text that stands where the directory of a store may stand names a store in a PostgreSQL database: it begins
 * with postgres:// or postgresql:// (schema/FORMAT.md, "The log in PostgreSQL").
 */
LINEAGE_API bool lineage_is_server(const char *place);

/*
 * Create the directory (not those above it) if needed and write lineage.json atomically. config may be zeroed and not NULL.
 * LINEAGE_EEXIST if there is a lineage.json that says something else, LINEAGE_EINVAL for a setting that cannot be.
 * results.tsv is created by the first append.
 *
 * Of a store on a server (lineage_is_server, or a directory whose lineage.json names one): make schema and store there, as
 * far as they are missing. LINEAGE_EAWAY if the server cannot be reached, LINEAGE_EREFUSED if it says no.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_store_create(const char *dir, const struct lineage_config *config, struct lineage_error *err);

/* Something the caller should tell its user; line is 0 when it does not concern a row. */
struct lineage_notice {
    uint64_t line;
    const char *text; /* valid during the call */
};

/*
 * What one statement of lineage_sql may take; past it the statement ends with LINEAGE_ELIMIT. 0 is the default.
 * bytes is what SQLite allocates, for this process: handles that work at the same time count together.
 */
struct lineage_sql_limits {
    double seconds;
    size_t bytes;
    size_t rows; /* those before the end have been given */
};
#define LINEAGE_SQL_SECONDS 60.0
#define LINEAGE_SQL_BYTES ((size_t)1 << 30)
#define LINEAGE_SQL_ROWS ((size_t)1000000)

struct lineage_open_options {
    enum lineage_direction direction; /* overrides the configuration */
    const char *metric;               /* overrides the configuration's score column */
    bool no_mirror;       /* keep the mirror in memory: nothing but results.tsv is read or written */
    unsigned busy_ms;     /* how long to wait for the mirror's lock, 0 = 5000 */
    void (*notice)(void *context, const struct lineage_notice *notice); /* NULL: notices are dropped */
    bool (*cancelled)(void *context); /* asked every few milliseconds while a question is answered: true ends it
                                         with LINEAGE_ECANCELLED. NULL: nothing is ever cancelled */
    void *context;
    struct lineage_sql_limits sql;
};

/*
 * Open the store in dir. A directory without results.tsv is an empty store; a missing directory is
 * LINEAGE_ENOTFOUND; a malformed lineage.json LINEAGE_ECORRUPT. options may be NULL. *store is NULL on
 * failure. Rows that cannot be read never fail the open: they are findings (lineage/verify.h).
 *
 * dir may be the name of a store on a server; mirror, outbox, telemetry and snapshots are then in
 * ${XDG_STATE_HOME:-~/.local/state}/lineage/STORE-DIGEST, which is what lineage_store_dir gives. A server that is away does
 * not fail the open; one that says no does, with LINEAGE_EREFUSED (no such database, store or role, a wrong password, ..).
 *
 * A store belongs to the process that opened it: in a child of a fork everything but close is LINEAGE_EINVAL,
 * because parent and child would share one lock and hand out the same ids.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_store_open(struct lineage_store **store, const char *dir,
                   const struct lineage_open_options *options, struct lineage_error *err);
LINEAGE_API void lineage_store_close(struct lineage_store *store);

/* The settings in force (configuration and overrides); valid until close. direction is never DEFAULT. */
LINEAGE_API const struct lineage_config *lineage_store_config(const struct lineage_store *store);

/*
 * Set the noise floor of a store that has none: the standard deviation of the score between seeds, and how many seeds a
 * score is the mean of. lineage.json is replaced atomically, its other settings stay, and the settings in force follow.
 * LINEAGE_EEXIST if the store has a noise floor; LINEAGE_EINVAL if std is not finite and above 0.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_store_set_noise(struct lineage_store *store, double std, unsigned seeds, struct lineage_error *err);

/* The directory as given to open, or the one that stands for the server given; valid until close. */
LINEAGE_API const char *lineage_store_dir(const struct lineage_store *store);

/*
 * Where the store keeps what does not stand in its rows. The names are settled here and nowhere else: ask,
 * rather than put a path together. A place need not exist yet.
 */
enum lineage_place {
    LINEAGE_PLACE_SETTINGS,    /* lineage.json */
    LINEAGE_PLACE_TELEMETRY,   /* telemetry/, ID.json each */
    LINEAGE_PLACE_SNAPSHOTS,   /* snapshots/, ID_SPECIALIST/ each */
    LINEAGE_PLACE_CHECKPOINTS, /* checkpoints/: of a night, policies that later trials start from */
    LINEAGE_PLACE_KNOWLEDGE,   /* KNOWLEDGE.md, the block that a night keeps up to date */
    LINEAGE_PLACE_RENDERED,    /* lineage_snapshots/, blocks as they were shown */
    LINEAGE_PLACE_LOGS,        /* logs/, ID.log each: what a command printed */
    LINEAGE_PLACE_PROVENANCE   /* provenance/, ID/ each: what a command was run from */
};

/* Its path, the directory as given to open in front, in *path (free with lineage_free). */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_store_path(char **path, const struct lineage_store *store, enum lineage_place place,
                   struct lineage_error *err);

/* Name of the score column in force; valid until close. */
LINEAGE_API const char *lineage_store_metric(const struct lineage_store *store);

struct lineage_append_options {
    bool no_sync;              /* do not fdatasync */
    bool allow_missing_parent; /* for imports */
    bool auto_status;          /* decide keep or discard from the score; trial->status is ignored */
    bool no_mirror_sync;       /* leave the mirror behind; the next reader catches up */
    double min_delta;          /* with auto_status: required improvement, NAN = as configured */
    double noise_std;          /* with auto_status: noise floor, NAN = as configured */
    unsigned noise_seeds;      /* with auto_status: 0 = as configured */
    bool once_per_night;       /* refuse a row whose notes link it to a trial of a night that has a row already
                                  (lineage/notes.h; harness_abort rows aside) with LINEAGE_EEXIST */
    const char *snapshot_dir;  /* freeze this directory if the trial is kept; NULL: none */
    /*
     * Called once the id is settled and before the row is written, so that files of the trial may be put beside it under
     * its id and are there when the row is. If the row is refused after all they stay, as what a killed append leaves.
     */
    void (*beside)(void *context, const char *exp_id);
    void *beside_context;
    const char *telemetry;     /* JSON text for telemetry/ID.json (schema/telemetry.schema.json); NULL: none */
    size_t telemetry_length;
};

/* Zeroed options with the NAN members set. */
LINEAGE_API void lineage_append_options_init(struct lineage_append_options *options);

/*
 * Append one trial. Empty members are filled in: exp_id (next number, at least three digits), timestamp
 * (UTC now), baseline_exp (best so far), delta_vs_best (score minus the best so
 * far, as decimals: 34.96 - 34.51 is 0.45). Parameters, clip-scale
 * statistics and turn statistics are written into notes. options may be NULL. row, if not NULL, receives
 * the trial as written; the caller releases it.
 *
 * Refused with nothing written: LINEAGE_EEXIST for a duplicate exp_id (014 and exp_014 are one trial), and as
 * once_per_night says;
 * LINEAGE_ENOTFOUND for an unknown parent; LINEAGE_EINVAL for keep or auto_status without a score, a parent cycle, nan or
 * infinity (names the field), invalid UTF-8, NUL bytes, a parameter that notes set to another value or to infinity;
 * LINEAGE_ELIMIT for a cell above LINEAGE_CELL_MAX bytes.
 * LINEAGE_EIO if the row could not be made durable (it is then not in the file), or results.tsv is a pipe or a device.
 *
 * auto_status: keep if the score is finite and better than the best so far by more than the threshold
 * max(min_delta, 2 * noise_std * sqrt(2 / noise_seeds)) (two standard errors of a difference of two means
 * of noise_seeds seeds), or if there is no best yet; else discard, and notes end in why ("discarded: +0.0068, needs
 * more than 0.0566", see schema/FORMAT.md).
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_store_append(struct lineage_store *store, const struct lineage_trial *trial,
                     const struct lineage_append_options *options, struct lineage_trial *row,
                     struct lineage_error *err);

/*
 * Append n trials in one go, each by the rules of lineage_store_append: its id, its parent and what it is compared with may
 * be rows before it. One lock, one write, one sync. All of them are in the file afterwards or none, whoever is killed; a
 * message of a refusal names the row ("row 3: ..", from 1).
 *
 * auto_status, [n] or NULL, says which trials are kept or discarded by their score, NULL: as options say. rows, [n] or NULL,
 * receives the trials as written; the caller releases each, also after a failure.
 *
 * Refused besides: snapshots and telemetry, which are of one trial (LINEAGE_EINVAL); and a trial with a parent whose own id
 * an earlier one names as a missing parent (LINEAGE_EINVAL: append it by itself).
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_store_append_many(struct lineage_store *store, const struct lineage_trial *trials, size_t n,
                          const bool *auto_status, const struct lineage_append_options *options,
                          struct lineage_trial *rows, struct lineage_error *err);

/*
 * With the log on a server, each append is written down in the directory's outbox before anything is sent, and taken out when
 * the server has told that the row is there; asked again after a broken connection, it has exactly one. With the server away
 * the append is LINEAGE_OK, a notice says so, and the row's exp_id is "outbox-NUMBER" (".1", ".2" .. behind it for each of
 * append_many): the trial is kept on this machine's disk. So it is where the server has come to refuse what it allowed when the
 * store was opened (a new password, a right that was revoked); whoever might not append to begin with gets LINEAGE_EREFUSED, and
 * nothing waits. What depends on the log (id, parent, baseline, keep or discard) is
 * decided when it is delivered, by whoever opens the store next, or by lineage_sync; its files are then named after the row.
 */
#define LINEAGE_OUTBOX "outbox-" /* what such an exp_id begins with */

struct lineage_sync_stats {
    size_t n_delivered;
    size_t n_refused; /* by the rules of lineage_store_append: a notice names the file outbox/NAME.refused and says why */
    size_t n_waiting; /* still in the outbox, those included that another process is delivering now */
};

/*
 * Deliver what waits in the outbox, oldest first. stats may be NULL. LINEAGE_EAWAY while the server cannot be reached and
 * LINEAGE_EREFUSED while it says no, with stats filled in: what was not delivered waits on. A log that is a file has no outbox: LINEAGE_OK.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_sync(struct lineage_store *store, struct lineage_sync_stats *stats, struct lineage_error *err);

/* Longest cell that append writes, in bytes (fieldkit.lineage cannot read longer ones). */
#define LINEAGE_CELL_MAX 131072

#ifdef __cplusplus
}
#endif

#endif
