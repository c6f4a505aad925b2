/*
 * lineage/code.h: the code that a trial of a sweep ran.
 *
 * A sweep of commands may name files (`files` in schema/sweep.schema.json), and a planner may change them by a diff. The
 * store keeps the files and the diff of every such trial, also of one that was discarded or failed, in lineage_code/. Each
 * file, each diff and each list of both is an object named by its digest, so equal ones are stored once. The notes of the
 * row name the list:
 *
 *     code DIGEST                                         the trial ran its parent's code, or the sweep's files
 *     code DIGEST, +3 -1 in train.py: linear decay        the trial changed the code by a diff
 *
 * A list (grammar in schema/FORMAT.md) has a line for each file of the trial, for each file of the sweep that a diff has
 * removed, and for each diff that led to the code, oldest first. The last diff is the trial's own if it changed the code.
 */
#ifndef LINEAGE_CODE_H
#define LINEAGE_CODE_H

#include <lineage/store.h>

#define LINEAGE_CODE_DIGEST_MAX 33 /* the first 32 hexadecimal digits of a SHA-256, and NUL */

/* Limits, so that no trial fills the store. */
#define LINEAGE_CODE_FILE_BYTES ((size_t)1 << 20)   /* bytes of one file */
#define LINEAGE_CODE_BYTES ((size_t)8 << 20)        /* bytes of all files of a trial */
#define LINEAGE_CODE_DIFF_BYTES ((size_t)256 << 10) /* bytes of a diff */
#define LINEAGE_CODE_FILES_MAX 256                  /* files of a trial */
#define LINEAGE_CODE_DIFFS_MAX 4096                 /* diffs that led to a trial's code */
#define LINEAGE_CODE_NAME_MAX 512                   /* bytes of a file's name */

/* ---- the size of a diff ---- */

#define LINEAGE_DIFFSTAT_MAX 320

/* What a unified diff changes. A change of mode or name alone counts as a file without lines. */
struct lineage_diffstat {
    size_t files, added, removed;     /* added, removed: lines */
    char file[LINEAGE_DIFFSTAT_MAX / 2 - 32];    /* the first file, cut if it is longer; "": none */
    char heading[LINEAGE_DIFFSTAT_MAX / 2 - 32]; /* of the first hunk: the text behind its second @@; if no hunk has
                                                  * one, the first line that it adds or removes. "": none */
};

/* Reads a diff; any text is allowed. */
LINEAGE_API void lineage_diffstat_read(struct lineage_diffstat *stat, const char *diff, size_t length);

/* Writes "+3 -1 in train.py: linear decay" or "+9 -2 in train.py and 2 more files: linear decay", and returns out. The text
 * is UTF-8 without control characters and semicolons. */
LINEAGE_API const char *lineage_diffstat_format(char out[LINEAGE_DIFFSTAT_MAX], const struct lineage_diffstat *stat);

/* ---- the piece of notes ---- */

#define LINEAGE_CODE_NOTE_MAX (LINEAGE_DIFFSTAT_MAX + LINEAGE_CODE_DIGEST_MAX + 16)

struct lineage_code_note {
    char digest[LINEAGE_CODE_DIGEST_MAX]; /* of the list */
    char change[LINEAGE_DIFFSTAT_MAX];    /* what the trial's own diff changed; "": the trial has no diff */
};

/* Reads the first such piece of notes (NULL counts as ""). Returns false, and leaves *note unchanged, if there is none. */
LINEAGE_API bool lineage_code_note_parse(struct lineage_code_note *note, const char *notes);

/* Writes the piece and returns out. */
LINEAGE_API const char *lineage_code_note_format(char out[LINEAGE_CODE_NOTE_MAX], const struct lineage_code_note *note);

/*
 * A trial of `lineage run` in a git repository has another piece, which names the commit with its code (refs/lineage/ID keeps
 * it) and what changed against the code of its parent or, without one, of the best trial at the time:
 *
 *     commit 765b0812cafe, +3 -1 in train.py: def get_lr(step):
 */
#define LINEAGE_COMMIT_MAX 13 /* the first 12 hexadecimal digits of the commit, and NUL */

struct lineage_commit_note {
    char commit[LINEAGE_COMMIT_MAX];
    char change[LINEAGE_DIFFSTAT_MAX]; /* "": nothing to compare with, or the same code */
};

/* Like the functions of lineage_code_note. */
LINEAGE_API bool lineage_commit_note_parse(struct lineage_commit_note *note, const char *notes);
LINEAGE_API const char *lineage_commit_note_format(char out[LINEAGE_CODE_NOTE_MAX], const struct lineage_commit_note *note);

/* ---- reading ---- */

struct lineage_code_file {
    const char *name; /* relative, without `..`; directories are separated by / */
    unsigned mode;    /* permission bits */
    const char *digest;
};

struct lineage_code {
    char digest[LINEAGE_CODE_DIGEST_MAX];
    const struct lineage_code_file *files; /* [n_files], sorted by name */
    size_t n_files;
    const char *const *gone; /* [n_gone] files of the sweep that a diff has removed */
    size_t n_gone;
    const char *const *diffs; /* [n_diffs] digests of the diffs that led to this code, oldest first */
    size_t n_diffs;
    bool changed; /* the last diff is the trial's own */
    void *memory; /* owner of the above */
};

/* Loads the list of a trial's code; release it after use. Only exp_id and notes of the trial are read. Returns
 * LINEAGE_ENOTFOUND if the row names no code or if the list is gone, LINEAGE_ECORRUPT if it is damaged. For a store on a
 * server, objects that are missing here are fetched from the server. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_code_load(struct lineage_code *code, struct lineage_store *store,
                                                                    const struct lineage_trial *trial, struct lineage_error *err);
LINEAGE_API void lineage_code_release(struct lineage_code *code);

/* Returns the bytes of an object (a file or a diff) in *text, with a NUL behind them (free with lineage_free). The
 * object's digest is checked. Returns LINEAGE_ENOTFOUND if it is gone, LINEAGE_ECORRUPT if it is damaged, and
 * LINEAGE_EINVAL if the text is not a digest. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_code_read(char **text, size_t *length, struct lineage_store *store,
                                                                    const char *digest, struct lineage_error *err);

/* Returns the diff by which a trial changed the code, like lineage_code_read. Returns LINEAGE_ENOTFOUND if the trial
 * has none. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_code_diff(char **text, size_t *length, struct lineage_store *store,
                                                                    const struct lineage_trial *trial, struct lineage_error *err);

/* Writes all files of the code into an existing directory, with their modes, without following links. A file that exists
 * there is replaced. Nothing is written before all objects were read and checked. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_code_write(struct lineage_store *store, const struct lineage_code *code,
                                                                     const char *dir, struct lineage_error *err);

/* ---- writing ---- */

struct lineage_code_source {
    const char *dir;  /* contains the files, diff applied, and nothing else */
    const char *diff; /* the trial's own diff; NULL: none */
    const struct lineage_code *parent; /* the code from which the trial started; NULL: none */
    const char *const *named;          /* [n_named] files of the sweep; those that are missing in dir are noted as gone */
    size_t n_named;
};

/*
 * Stores the code of a trial that is about to run, and writes the piece of notes for its row to note. The objects are
 * durable when the function returns. Returns LINEAGE_ELIMIT if the code exceeds a limit, LINEAGE_EINVAL if dir contains
 * anything else than directories and files, or a name with a control character or bytes that are not UTF-8.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_code_keep(char note[LINEAGE_CODE_NOTE_MAX], struct lineage_store *store,
                                                                    const struct lineage_code_source *source,
                                                                    struct lineage_error *err);

#endif
