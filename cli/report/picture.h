/*
 * picture.h: what the pictures of a report share: frame, scales, marks, and the texts of labels and numbers.
 *
 * Every picture is one svg element with a title and a description for screen readers. Colours are set by class
 * (assets/picture.css), so that a page and a separate picture look alike, light, dark and on paper. Marks of trials are
 * paths that carry the trials' indices, with one segment "M..." for each trial:
 *
 *   <path class="m keep" data-i="3 9" d="M10 20h0M30 40h0"/>
 *
 * A path of one trial has a title, so that hovering works without a script. Beyond PICTURE_TITLES trials, one path holds
 * all marks of a class. A class with more than PICTURE_DENSE marks would be a slab that also takes a browser long to
 * draw. It has its segments in data-d, where the script reads them and draws them on a canvas, and a picture of their
 * density for readers without a script.
 */
#pragma once

#include "cli.h"
#include "report/html_escape.h"
#include "report/report_model.h"

enum {
    PICTURE_TITLES = 500, /* most trials whose marks are elements of their own */
    PICTURE_DENSE = 300,  /* most marks of a class in one path */
    PICTURE_MANY = 1500,  /* with more trials, marks are smaller */
    PICTURE_NUMBER = 32
};

/* Where pictures are printed, and how: inside a page, or as separate files with their own style. */
struct picture {
    FILE *out;
    const struct model *model;
    size_t store; /* number of the store in the page; part of every id */
    bool alone;
    bool narrow; /* laid out for a narrow window, beside a wide one; marks have no titles */
    const bool *cards; /* [model->n]: the trials that the page shows in full; NULL: not known */
};

enum { PICTURE_WIDE = 1000, PICTURE_NARROW = 380 };

/* Width of a picture in its own units, which are pixels of a page that is as wide. */
static inline int picture_width(const struct picture *p)
{
    return p->narrow ? PICTURE_NARROW : PICTURE_WIDE;
}

/* Returns the class of an outcome by its meaning to a reader: "keep", "discard", "baseline", "fail". */
const char *outcome_class(enum lineage_label label);
const char *label_words(enum lineage_label label); /* Returns the label in words: "training budget overrun". */

/* Formats a number for people with at most `digits` significant digits. Returns out. */
const char *number_text(char out[PICTURE_NUMBER], double value, int digits);
/* The same with a sign: "+0.02"; a minus is U+2212. */
const char *signed_text(char out[PICTURE_NUMBER], double value, int digits);
/* Formats the score of a trial that has one, by its margin (lineage_mean_text). Returns out. */
const char *score_text(char out[PICTURE_NUMBER], const struct model_trial *trial);

/* Writes a number rounded to at most `decimals` (0 to 12) decimals, without zeros at the end and without a terminating NUL, and
 * returns its length. The value is finite, and |value| * 10^decimals at most 1e15. This product is rounded as a double, and a half of
 * it away from 0: 0.25 is 0.3 and 0.15 is 0.2, where printf looks at all digits and writes 0.2 and 0.1. A page of 100,000 trials
 * has two million numbers, and printf takes ten times as long for each. */
enum { DECIMAL_MAX = 32 };
size_t decimal_text(char out[DECIMAL_MAX], double value, int decimals);

/* Begins a picture with a size in its own units. Title and description are the program's texts, not cells. */
void picture_begin(const struct picture *p, const char *name, double width, double height, const char *title,
                   const char *description, ...) __attribute__((format(printf, 6, 7)));
void picture_end(const struct picture *p);

/* Prints a text at a position, as html_print does; class may contain several classes. */
void picture_words(const struct picture *p, double x, double y, const char *class, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

void picture_line(const struct picture *p, double x0, double y0, double x1, double y1, const char *class);

/* ---- scales ---- */

struct scale {
    double low, high, from, to; /* values, and the coordinates they map to */
    double step;                /* distance between ticks */
};

/* Makes a scale with ticks at round values; low and high are extended to ticks. A range of one value is widened around
 * it. */
struct scale scale_linear(double low, double high, double from, double to, int ticks);
/* Returns the coordinate of a value, always between `from` and `to`. */
double scale_at(const struct scale *scale, double value);
bool scale_holds(const struct scale *scale, double value);
/* Draws the score's axis at the left, with lines across to the right. */
void picture_y_axis(const struct picture *p, const struct scale *scale, double left, double right, const char *name);

/*
 * Sets the range of scores that a picture shows: all scores of kept trials, and the other scores up to three
 * interquartile ranges beyond the quartiles (Tukey's outer fences). Otherwise one diverged trial would squeeze
 * everything else into a line. Returns false if nothing was measured.
 */
bool score_range(const struct model *model, size_t first, double *low, double *high);

/* Returns the number that sorting would put at values[at], in time proportional to n; it moves the numbers, none of them NAN. */
double picture_rank(double *values, size_t n, size_t at);

/* ---- marks ---- */

enum mark_shape { MARK_DOT, MARK_CROSS, MARK_ABOVE, MARK_BELOW }; /* the last two: a triangle at an edge of the scale */

enum { MARK_POINTS = 12 }; /* most points of a line */

/* Marks of one class are collected and written when another class begins or at the end. */
struct marks {
    const struct picture *picture;
    const char *class;
    FILE *index, *path;
    char *index_text, *path_text;
    size_t index_length, path_length;
    size_t n;
    struct density *density; /* NULL if each mark is written at once, with a title */
};

bool marks_begin(struct marks *marks, const struct picture *p, const char *class, size_t total);
/* Adds the mark of trial i around (x, y), which is rounded to tenths of a unit; none where x or y is not finite. */
void marks_add(struct marks *marks, size_t i, enum mark_shape shape, double x, double y);
/* Adds a line through x[0 .. n - 1] and y[0 .. n - 1] as the mark of trial i, unless one of them is not finite; n is at
 * most MARK_POINTS. */
void marks_add_line(struct marks *marks, size_t i, const double *x, const double *y, size_t n);
void marks_end(struct marks *marks);

/* Prints the title of a mark, escaped: "014 · keep · 0.7312 (+0.02) · hypothesis". */
void trial_title(FILE *out, const struct model *model, const struct model_trial *trial);

/* Prints a trial's id as a link that opens the trial. MODEL_NONE prints a dash. */
void picture_trial_link(const struct picture *p, size_t i);

/* ---- the pictures ---- */

/* Prints the picture, or one paragraph (in a separate file: text in the picture) that says why there is none. */
typedef void picture_fn(const struct picture *p);

struct picture_kind {
    const char *name;    /* for --svg, and in ids */
    const char *heading; /* heading in a page */
    const char *reading; /* one or two sentences on how to read it */
    picture_fn *print;
    bool reflows; /* it has a narrow layout */
};

/* In the order of a page; ends with a NULL name. */
extern const struct picture_kind picture_kinds[];

picture_fn picture_front, picture_morning, picture_history, picture_tree, picture_coverage, picture_parallel, picture_calibration,
    picture_failures, picture_importance, picture_seeds, picture_knobs;

/* Prints the two sentences above the first picture. */
void morning_sentences(const struct picture *p);

/* Prints the facts of the charts of settings as a table. */
void knobs_table(const struct picture *p);

/* Prints the best score so far of several stores over their trials. */
void picture_stores(FILE *out, const struct model *models, size_t n);

/* Prints a paragraph, or in a separate file a picture, with the message. */
void picture_nothing(const struct picture *p, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* ---- trial_card.c ---- */

/* Prints one trial in full: what it changed, hypothesis, parameters beside the parent's, notes, step
 * curves, information gain by turn, and the diff of its snapshot. */

/* with_diff: compare the snapshots too, which reads both. */
void trial_card(const struct picture *p, size_t i, bool with_diff);

/* Chooses the trials that a page shows in full: all of a small store, else the chain, the last night, the best and the
 * newest. Sets chosen[model.n]. */
void cards_choose(const struct model *model, bool *chosen, size_t *n);

/* ---- held_out_section.c: the held-out scores of a store, and their gap to the score, in a report for people ---- */

/* Prints the section. Only `lineage report --held-out` may ask for it. */
void held_out_section(const struct picture *p);

/* ---- hypotheses.c: the list of predictions and what became of them, a section of a page ---- */

/* Prints the section's sentence and table. Trials that predicted nothing are not listed. */
void hypotheses_print(const struct picture *p);

/* ---- page_data.c: the data of a store for the script of a page, as JSON in a script element ---- */

/* Prints the element. Lists have one entry for each trial, in file order; numbers that are not finite are null. */
void page_data_print(const struct picture *p);
