/*
 * lineage/notes.h: settings and statistics inside the notes cell.
 *
 * Grammar (full text in schema/FORMAT.md). notes is split at `;` into pieces; blanks around a piece do not count. A
 * piece is one of
 *     ig_clip_scale mean=NUMBER std=NUMBER [words]          statistics of the clip scale
 *     info_gain turn=INT mean=NUMBER std=NUMBER [n=INT]     information gain of one turn index
 *     metrics NAME=NUMBER [, NAME=NUMBER]...                what was measured beside the score, to the end of the piece
 *     NAME=NUMBER [, NAME=NUMBER]... [words]                parameters that are numbers
 *     [NAME=NUMBER, ]... NAME=TEXT [, NAME=TEXT]...         parameters that are text, to the end of the piece
 *     discarded: NUMBER, needs more|less than NUMBER        why append discarded a trial; not interpreted
 *     night SWEEP, trial NAME, key KEY                      the trial of a night that the row records
 *     replicates ID[, score NUMBER]                         the trial that the row runs again (struct lineage_replicate)
 *     cause NAME                                            what ended the trial (enum lineage_cause)
 *     code DIGEST[, CHANGE]                                 the code that the trial ran (lineage/code.h)
 *     ran DIGEST                                            the code and the program of a run with a seed, in 16 digits
 *     anything else                                         prose, kept and not interpreted
 * NAME is letters, digits, `_`, `.`, `-`, and begins with a letter. The Greek letters α β γ δ ε λ η τ and
 * adv_rescale_alpha are aliases of their English names (alpha). A NUMBER is followed by the end, a blank,
 * a comma or a parenthesis. Only a piece that BEGINS with a setting sets anything, and only in front of the first piece
 * of prose, so that prose full of key=value sets nothing: `reverted: lr=5 was silly; batch=9` has no parameters. The
 * last value of a key wins.
 *
 * A TEXT is a word or quoted. A word is letters, digits and `_ . - + / : @`; it begins with a letter, does not end with
 * `. - + / :` and must not read as a NUMBER (nan, inf): adam, Qwen/Qwen3-8B. Anything else is written in single quotes,
 * with a quote inside written twice: '7B', 'cosine, warm-up 10'. Either has 1 to 128 bytes, no semicolon and no control
 * character. Texts count only if they reach to the end of the piece with nothing else after or between them:
 * `optimizer=adam diverged` and `optimizer=adam, lr=0.1` set no text, and no number either (numbers come first). A name
 * that is a number anywhere in the notes is never a text, so that notes written before there were texts keep their
 * meaning.
 */
#ifndef LINEAGE_NOTES_H
#define LINEAGE_NOTES_H

#include <lineage/trial.h>

/* How the piece begins that runs of one setting share, whatever their seeds. */
#define LINEAGE_RAN "ran "

/* Parses notes into trial->ig_clip_scale_*, params, metrics and turns; the trial owns the arrays (lineage_trial_release). The
 * trial's other members stay unchanged. Any text is allowed; the only failure is LINEAGE_ENOMEM. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_notes_parse(struct lineage_trial *trial, const char *notes,
                                                                      struct lineage_error *err);

/* Canonical name of a parameter: resolves aliases (α, adv_rescale_alpha); returns any other name itself. */
LINEAGE_API const char *lineage_param_canonical(const char *name);

/* Whether the parameter is the seed of a run, which does not belong to its setting: seed, random_seed or one of seeds (lineage_store_seeds;
 * NULL: none). */
LINEAGE_API bool lineage_param_is_seed(const char *name, const char *const *seeds);

/* Whether a trial has the parameter from its parent if it does not declare it. Seeds and the proposer belong to one trial. */
LINEAGE_API bool lineage_param_is_inherited(const char *name, const char *const *seeds);

/* Whether name can be written as a parameter name. */
LINEAGE_API bool lineage_param_name_ok(const char *name);

#define LINEAGE_PARAM_TEXT_MAX 128 /* bytes of a parameter's text */

/* Whether text can be written as a parameter's value: 1 to 128 bytes, no semicolon, no control character. */
LINEAGE_API bool lineage_param_text_ok(const char *text);

#define LINEAGE_PARAM_QUOTED_MAX (2 * LINEAGE_PARAM_TEXT_MAX + 3)

/* Writes the text as it appears in notes, as a word or quoted, and returns out. The text must satisfy
 * lineage_param_text_ok. */
LINEAGE_API const char *lineage_param_text_format(char out[LINEAGE_PARAM_QUOTED_MAX], const char *text);

/* Whether what people type for a parameter is meant as a text (adam, /data/train.bin, '7B') and not as a number or a range of numbers:
 * it does not begin with a digit, a sign, a colon, a blank, or a point before a digit, and is not nan or inf, or it is an integer of 2^53
 * or more, since a double does not hold each of those. Every door asks this before it reads a number. Of a list, the first piece counts. */
LINEAGE_API bool lineage_param_is_text(const char *text);

/* Reads texts as people type them: `adam`, `adam,sgd`, `'7B'`; a list or an object up to its last bracket is one text, blanks included:
 * `[64, 32]`. Writes the first one to out, an integer without plus, blanks and zeros in front, and moves *text past it and its comma.
 * Returns false at the end of the input, or if the next text begins like a number, without a quote; *text then points to where reading
 * stopped ("" if everything was read). */
LINEAGE_API bool lineage_param_text_next(char out[LINEAGE_PARAM_TEXT_MAX + 1], const char **text);

#define LINEAGE_NIGHT_SWEEP_MAX 128 /* bytes of the names below, with the terminating NUL */
#define LINEAGE_NIGHT_TRIAL_MAX 256
#define LINEAGE_NIGHT_LINK_MAX (LINEAGE_NIGHT_SWEEP_MAX + LINEAGE_NIGHT_TRIAL_MAX + 64)

/* Which trial of which sweep a row records. The key identifies everything that decides the trial's result (for a
 * recipe, it is a digest of the recipe and of its parent). A night does not run a trial again if some row already has
 * its key. */
struct lineage_night_link {
    char sweep[LINEAGE_NIGHT_SWEEP_MAX], trial[LINEAGE_NIGHT_TRIAL_MAX];
    uint64_t key;
};

/* Reads the link from notes (NULL counts as ""). If there are several links, the last one counts. Returns false, and
 * leaves *link unchanged, if there is none. */
LINEAGE_API bool lineage_night_link_parse(struct lineage_night_link *link, const char *notes);

/* Writes the link as a piece of notes and returns out. Characters that a name cannot contain (a semicolon, control
 * characters, `, trial `) are replaced, and a name that is too long is cut. */
LINEAGE_API const char *lineage_night_link_format(char out[LINEAGE_NIGHT_LINK_MAX], const char *sweep, const char *trial,
                                                  uint64_t key);

#define LINEAGE_REPLICATE_MAX 384 /* bytes of the piece below, with the terminating NUL */

/* Which trial a row runs again, with another seed. */
struct lineage_replicate {
    char exp_id[256]; /* of the first row of that trial, as the notes spell it */
    struct lineage_number score; /* of this run alone, if the row's score is a mean over several rows; else absent */
};

/* Reads the piece from notes (NULL counts as ""); the last one counts. Returns false, and leaves *replicate unchanged, if
 * there is none. */
LINEAGE_API bool lineage_replicate_parse(struct lineage_replicate *replicate, const char *notes);

/* Writes the piece and returns out. */
LINEAGE_API const char *lineage_replicate_format(char out[LINEAGE_REPLICATE_MAX], const struct lineage_replicate *replicate);

/* Begins the piece of the notes that says that a night discarded a trial although it was better, until it has run again. */
#define LINEAGE_UNCONFIRMED "unconfirmed: "

/* Begins the piece of a row that is another seed, or another run, of what was the best trial, and so is not better than that. */
#define LINEAGE_SAME_SETTING "discarded: another run of the best trial, "

/* Begins the part of a row's notes that names conditions (hardware, budget ..) in which the trial that its verdict is against
 * differs. */
#define LINEAGE_ACROSS "compared across "

/*
 * Finds the piece of the notes that says why a trial failed, as the trials of this project write it: which limit was
 * exceeded, or which error ended it. Returns its first character, or "" if there is none; the piece ends at a semicolon.
 */
LINEAGE_API const char *lineage_notes_reason(const char *notes);

/* What ended a trial, beside its label: a planner learns from `memory` that a batch was too large. */
enum lineage_cause {
    LINEAGE_CAUSE_UNKNOWN, /* it ended well, or nothing shows the cause */
    LINEAGE_CAUSE_MEMORY,
    LINEAGE_CAUSE_TIME, /* a time limit */
    LINEAGE_CAUSE_DISK, /* a full disk, a quota, or a limit of a file's size */
    LINEAGE_CAUSE_DIVERGENCE,
    LINEAGE_CAUSE_INTERRUPT,
    LINEAGE_CAUSE_MISSING, /* a module, library, program, driver or port that the machine lacks */
    LINEAGE_CAUSE_ARGUMENTS, /* the program did not take an option or its value */
    LINEAGE_CAUSE_CODE, /* any other error that the program named */
    LINEAGE_N_CAUSES
};

/* Returns "memory", "time", "disk", "divergence", "interrupt", "missing module", "arguments" or "code"; "" if it is unknown,
 * and NULL for a number that is not a cause. */
LINEAGE_API const char *lineage_cause_name(enum lineage_cause cause);

/* Reads the piece `cause NAME` from notes (NULL counts as ""); the last one counts. */
LINEAGE_API enum lineage_cause lineage_notes_cause(const char *notes);

#endif
