/*
 * native.h: declarations that the sections of the native style share.
 *
 * Other people wrote the cells. They are printed between backticks and made harmless for one line (lineage_text_safe
 * leaves no backtick in them): a Markdown viewer shows a code span unchanged, so no image is fetched and no link or
 * heading made, and a reader sees where the quotation ends. Only names of letters, digits and _.-:+ are printed
 * without backticks.
 */
#pragma once

#include "budget.h"
#include "render.h"

struct lineage_facts;

struct native {
    const struct lineage_report *report;
    const struct lineage_render_options *options;
    const struct lineage_facts *ideas; /* NULL: not asked for */
    struct lineage_store *store;
    const char *by; /* the specialist of all trials shown, which is then stated once; NULL: they differ */
};

/* Writes one section: its rows and the worth of each. */
typedef void section_fn(struct block *block, const struct native *n);
section_fn section_best, section_leaderboard, section_chain, section_recent, section_full,
    section_near_misses; /* native_trials.c */
section_fn section_sweep, section_failures, section_calibration, section_info_gain;        /* native_sums.c */

section_fn section_standing, section_made_of, section_claims, section_knobs, section_elsewhere, section_walls, section_again,
    section_other_ideas; /* native_ideas.c */

/* native_ideas.c: a hypothesis between backticks, at most `width` code points of it (0: all). If the cut would lose the new
 * value of a setting, the change follows the cut: `Raise the floor of the rate … (min_lr 0.10 → 0.15)`. */
void add_idea(struct buf *out, const struct native *n, const char *exp_id, const char *hypothesis, size_t width);

/* native_text.c: pieces of text. n is the number of code points that are shown at most, 0 = all. */
void add_safe(struct buf *out, const char *text, size_t n);
void add_quoted(struct buf *out, const char *text, size_t n); /* between backticks; nothing for "" */
size_t code_points(const char *text);
void add_name(struct buf *out, const char *text);             /* bare if it is a plain name */
void add_id(struct buf *out, const char *id);                 /* exp_ID, without a second exp_ */

/* add_score prints a score or delta with six decimals, without zeros at the end, or — if absent; add_value the value
 * of a parameter, integers without a point. */
void add_score(struct buf *out, struct lineage_number score);
void add_delta(struct buf *out, struct lineage_number delta);
void add_value(struct buf *out, double value);
void add_setting(struct buf *out, double value, const char *text); /* prints the text, unless it is NULL */

/* Prints three digits: used for a threshold, and for a score that missed it. */
void add_about(struct buf *out, double value, bool sign);

/* The improvement that a row with these notes (NULL counts as "") must show: a mean of several seeds less than a single score. */
double needed_for(const struct lineage_report *report, const char *notes);

void add_bare_id(struct buf *out, const char *id); /* without exp_ */

/* native_ideas.c: "keep -0.00012", "+0.0007" for a discard, "size_blocked". */
struct lineage_idea;
void add_result(struct buf *out, const struct lineage_idea *idea);

/* Prints the shape of a line, in which these stand for the arguments: %N add_name, %I add_id, %B add_bare_id, %T a text, %Q add_quoted
 * (a text and a size_t), %P add_setting (a double and a text); %S add_score, %D add_delta, %G a difference, of a struct lineage_number;
 * %A add_about of a double, %R add_result; %Z a size_t, %L an unsigned long long, %U an unsigned; %% is a percent sign.
 * An integer must have exactly this type: (size_t)160. */
void add_shape(struct buf *out, const char *shape, ...);

/* Prints the label, and for a discard its reason, as far as the numbers show it: `discard (+0.129, worse; 0.0389 better
 * than 023)`. The parent is named if it scored differently than the best that the trial was compared with. */
void add_outcome(struct buf *out, const struct native *n, const struct lineage_trial *trial, struct lineage_number vs_parent);

/* Prints the specialist of a trial, unless it is stated once for all trials. */
bool names_specialist(const struct native *n, const struct lineage_trial *trial);
