/*
 * lineage/notes.h: settings and statistics inside the notes cell.
 *
 * Grammar (full text in schema/FORMAT.md). notes is cut at `;` into pieces; blanks around a piece do not
 * count. A piece is
 *     ig_clip_scale mean=NUMBER std=NUMBER [words]          statistics of the clip scale
 *     info_gain turn=INT mean=NUMBER std=NUMBER [n=INT]     information gain of one turn index
 *     NAME=NUMBER [, NAME=NUMBER]... [words]                parameters
 *     anything else                                         prose, kept and not interpreted
 * NAME is letters, digits, `_`, `.`, `-`, beginning with a letter. The Greek letters α β γ δ ε λ η τ and
 * adv_rescale_alpha are aliases of their English names (alpha). A NUMBER is followed by the end, a blank,
 * a comma or a parenthesis. Only a piece that BEGINS with a setting sets anything; the last value of a key
 * wins. Prose full of key=value therefore sets nothing.
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

#ifdef __cplusplus
}
#endif

#endif
