/*
 * lineage/measured.h: what a trial changed in its program, found by comparing files instead of reading what the trial
 * says about itself.
 *
 * The comparison covers literals at places where settings are written: assignments and defaults in Python, C, shell,
 * YAML, TOML and JSON, keyword arguments, options of argparse, os.environ.get("LR", 0.02), #define, ${LR:-0.02},
 * entries of configuration files, and options and environment of the command. A literal is identified by its name and
 * by what encloses it, so moving a line is not a change. Everything else that changed is counted in lines, by file and
 * by function.
 *
 * A trial is compared with its nearest ancestor whose code is known in the same form: as a snapshot, as the files that
 * a sweep kept (lineage/code.h), or by the diff that `lineage run` recorded between the commits. The command is compared with the command of the nearest ancestor that has one. A trial of `run` whose
 * row names no parent is compared with the trial that was the best when it started. The mirror keeps
 * the settings that were found for the questions about all trials; a question about one trial compares its files.
 *
 * Limits, so that any file costs no more than its length: files above LINEAGE_MEASURED_FILE bytes are only named, at
 * most LINEAGE_MEASURED_FILES files and LINEAGE_MEASURED_BYTES bytes of each side are read, links, pipes and devices are
 * never opened, and names that begin with a dot are left out. `incomplete` is set where a limit was reached.
 */
#ifndef LINEAGE_MEASURED_H
#define LINEAGE_MEASURED_H

#include <lineage/store.h>
#include <lineage/trial.h>

#define LINEAGE_MEASURED_FILE ((size_t)1 << 20)
#define LINEAGE_MEASURED_FILES ((size_t)4000)
#define LINEAGE_MEASURED_BYTES ((size_t)32 << 20)
#define LINEAGE_MEASURED_CHANGES ((size_t)256)

/* One setting with another value. */
struct lineage_measured_change {
    const char *file;  /* "train.py"; "" for the command */
    const char *scope; /* enclosing class and function, "GPT.forward"; "" outside of them */
    const char *name;  /* "warmdown_frac"; an argument of a call has the call in front: "AdamW.weight_decay" */
    const char *from;  /* NULL if the other side does not have the setting */
    const char *to;
    struct lineage_number from_value, to_value; /* absent for texts */
    uint32_t line;     /* in the new file; 0 for the command */
};

enum lineage_lines_kind {
    LINEAGE_LINES_COUNTED,
    LINEAGE_LINES_BINARY, /* not counted in lines */
    LINEAGE_LINES_LARGE   /* above LINEAGE_MEASURED_FILE: compared by size only */
};

/* The number of changed lines of a file (heading NULL), followed by those of each function or class in it. */
struct lineage_measured_lines {
    const char *file;
    const char *heading; /* "GPT.forward"; "" for lines outside of any function; NULL for the sum of the file */
    size_t added, removed;
    enum lineage_lines_kind kind;
};

struct lineage_measured {
    const char *against; /* the ancestor whose code was compared; "" if no code was compared */
    const char *command_against; /* the ancestor whose command was compared; "" for none */
    struct lineage_measured_change *changes; /* [n_changes] the command's first, then by file and line */
    size_t n_changes;
    struct lineage_measured_lines *lines; /* [n_lines] by file */
    size_t n_lines;
    bool incomplete; /* a limit was reached, so there may be more */
    void *memory;
};

/* Measures a trial of the log (lineage_find) against its ancestors. A trial that has nothing to compare gives an empty
 * answer and LINEAGE_OK. Release the answer with lineage_measured_release, also after a failure. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_measure_trial(struct lineage_measured *measured,
                                                                        struct lineage_store *store,
                                                                        const struct lineage_trial *trial,
                                                                        struct lineage_error *err);

/* Compares any two trials of a store, for example a trial and the root. LINEAGE_ENOTFOUND if neither code nor a command of
 * both is known. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_measure_pair(struct lineage_measured *measured,
                                                                       struct lineage_store *store,
                                                                       const struct lineage_trial *from,
                                                                       const struct lineage_trial *to, struct lineage_error *err);

/* Like lineage_measure_pair, with the unified diff between the commits of the two trials, which only git knows if none was recorded. It
 * is not used for trials whose sweep kept their files. diff NULL: unknown. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_measure_pair_by(struct lineage_measured *measured,
                                                                          struct lineage_store *store,
                                                                          const struct lineage_trial *from,
                                                                          const struct lineage_trial *to, const char *diff,
                                                                          size_t length, struct lineage_error *err);

/* Compares two directories that are open for reading. Both stay open. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_measure_directories(struct lineage_measured *measured, int from_fd,
                                                                              int to_fd, struct lineage_error *err);

/* Reads a unified diff. Only its hunks are known, so a removed literal is matched with an added one in the same file that
 * has the same name and heading. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_measure_diff(struct lineage_measured *measured, const char *diff,
                                                                       size_t length, struct lineage_error *err);

/* Compares the options, overrides and environment of two commands, each an array of words. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_measure_commands(struct lineage_measured *measured,
                                                                           const char *const *from, size_t n_from,
                                                                           const char *const *to, size_t n_to,
                                                                           struct lineage_error *err);

LINEAGE_API void lineage_measured_release(struct lineage_measured *measured);

#endif
