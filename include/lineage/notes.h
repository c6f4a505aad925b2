/*
 * lineage/notes.h: settings and statistics inside the notes cell.
 *
 * Grammar (full text in schema/FORMAT.md). notes is cut at `;` into pieces; blanks around a piece do not
 * count. A piece is
 *     ig_clip_scale mean=NUMBER std=NUMBER [words]          statistics of the clip scale
 *     info_gain turn=INT mean=NUMBER std=NUMBER [n=INT]     information gain of one turn index
 *     NAME=NUMBER [, NAME=NUMBER]... [words]                parameters that are numbers
 *     [NAME=NUMBER, ]... NAME=TEXT [, NAME=TEXT]...         parameters that are text, to the end of the piece
 *     discarded: NUMBER, needs more|less than NUMBER        why append discarded a trial; not interpreted
 *     night SWEEP, trial NAME, key KEY                      the trial of a night that the row is of
 *     anything else                                         prose, kept and not interpreted
 * NAME is letters, digits, `_`, `.`, `-`, beginning with a letter. The Greek letters α β γ δ ε λ η τ and
 * adv_rescale_alpha are aliases of their English names (alpha). A NUMBER is followed by the end, a blank,
 * a comma or a parenthesis. Only a piece that BEGINS with a setting sets anything; the last value of a key
 * wins. Prose full of key=value therefore sets nothing.
 *
 * A TEXT is a word or quoted. A word is letters, digits and `_ . - + / : @`, begins with a letter, ends with none of
 * `. - + / :` and is no NUMBER (nan, inf): adam, Qwen/Qwen3-8B. Quoted is anything else, in single quotes, a quote
 * inside written twice: '7B', 'cosine, warm-up 10'. Either has 1 to 128 bytes, no semicolon and no control
 * character. Texts count only where they reach to the end of the piece with nothing behind or between them: in
 * `optimizer=adam diverged` or `optimizer=adam, lr=0.1` no text is set, and no number (numbers stand in front).
 * A name that is a number anywhere in the notes is no text, so that notes older than texts say what they always said.
 */
#ifndef LINEAGE_NOTES_H
#define LINEAGE_NOTES_H

#include <lineage/trial.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Parse notes into trial->ig_clip_scale_*, params, turns; the arrays are owned by the trial
 * (lineage_trial_release). The trial's other members are left alone.
 * LINEAGE_ENOMEM is the only failure: any text is allowed.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status
lineage_notes_parse(struct lineage_trial *trial, const char *notes, struct lineage_error *err);

/* Canonical name of a parameter: resolves aliases (α, adv_rescale_alpha); otherwise returns name. */
LINEAGE_API const char *lineage_param_canonical(const char *name);

/* Whether name can be written as a parameter name. */
LINEAGE_API bool lineage_param_name_ok(const char *name);

#define LINEAGE_PARAM_TEXT_MAX 128 /* bytes of a parameter's text */

/* Whether text can be written as a parameter's value: 1 to 128 bytes, no semicolon, no control character. */
LINEAGE_API bool lineage_param_text_ok(const char *text);

#define LINEAGE_PARAM_QUOTED_MAX (2 * LINEAGE_PARAM_TEXT_MAX + 3)

/* The text as notes write it, a word or quoted; returns out. The text must be one that can be written. */
LINEAGE_API const char *lineage_param_text_format(char out[LINEAGE_PARAM_QUOTED_MAX], const char *text);

/*
 * Texts as people type them, `adam`, `adam,sgd`, `'7B'`: the first one is written to out, and *text moved behind it
 * and its comma. False if there is none (the end, or no text that begins with a letter or a quote), which leaves
 * *text where it stopped: at "" if all was read.
 */
LINEAGE_API bool lineage_param_text_next(char out[LINEAGE_PARAM_TEXT_MAX + 1], const char **text);

#define LINEAGE_NIGHT_SWEEP_MAX 128 /* bytes of the names below, with their end */
#define LINEAGE_NIGHT_TRIAL_MAX 256
#define LINEAGE_NIGHT_LINK_MAX (LINEAGE_NIGHT_SWEEP_MAX + LINEAGE_NIGHT_TRIAL_MAX + 64)

/*
 * Which trial of which sweep a row is of. The key stands for all that decides the trial's result (of a
 * recipe: a digest of it and of its parent): a night does not run a key again that is in a row.
 */
struct lineage_night_link {
    char sweep[LINEAGE_NIGHT_SWEEP_MAX], trial[LINEAGE_NIGHT_TRIAL_MAX];
    uint64_t key;
};

/* The link in notes (NULL is ""), the last one if there are several. False, and *link left alone, if there is none. */
LINEAGE_API bool lineage_night_link_parse(struct lineage_night_link *link, const char *notes);

/*
 * Write the piece; returns out. What a name cannot hold (a semicolon, control characters, `, trial `) is
 * replaced, and a name that is too long is cut.
 */
LINEAGE_API const char *lineage_night_link_format(char out[LINEAGE_NIGHT_LINK_MAX], const char *sweep,
                                                  const char *trial, uint64_t key);

#ifdef __cplusplus
}
#endif

#endif
