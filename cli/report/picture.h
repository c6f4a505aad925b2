/*
 * picture.h: what the pictures of a report share: their frame, scales, marks and the texts that stand for them.
 *
 * Every picture is one svg element with a title and a description for those who do not see it, coloured by class
 * (assets/picture.css), so that a page and a picture alone look alike, light, dark and on paper.
 *
 * Marks of trials are paths that carry the trials' indices, one stretch "M..." for each:
 *     <path class="m keep" data-i="3 9" d="M10 20h0M30 40h0"/>
 * A path of one trial has a title, so that a pointer tells what it is without any script; beyond PICTURE_TITLES
 * trials one path holds all of a kind, which is what lets a browser draw 10,000 without a wait. The script of the page
 * reads either.
 */
#ifndef REPORT_PICTURE_H
#define REPORT_PICTURE_H

#include <stdio.h>

#include "report/report_model.h"

enum { PICTURE_TITLES = 1500, PICTURE_NUMBER = 32 };

/* Where pictures go, and how: inside a page, or as a file of their own with its own style. */
struct picture {
    FILE *out;
    const struct model *model;
    size_t store; /* of several in one page: part of every id */
    bool alone;
};

/* Classes of outcomes, by what they mean to a reader: "keep", "discard", "baseline", "fail". */
const char *outcome_class(enum lineage_label label);
const char *label_words(enum lineage_label label); /* "training budget overrun" */

/* Up to `digits` significant digits, for people. Returns out. */
const char *number_text(char out[PICTURE_NUMBER], double value, int digits);
/* The same with a sign in front: "+0.02"; U+2212 for a minus. */
const char *signed_text(char out[PICTURE_NUMBER], double value, int digits);

/* Begin a picture of that size in its own units; title and description are the caller's own words, not cells. */
void picture_begin(const struct picture *p, const char *name, double width, double height, const char *title,
                   const char *description, ...) __attribute__((format(printf, 6, 7)));
void picture_end(const struct picture *p);

/* Text of the project's own at a place; class may hold several. */
void picture_words(const struct picture *p, double x, double y, const char *class, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* A cell of a row at a place, cut to max code points. */
void picture_cell(const struct picture *p, double x, double y, const char *class, const char *text, size_t max);

void picture_line(const struct picture *p, double x0, double y0, double x1, double y1, const char *class);

/* ---- scales ---- */

struct scale {
    double low, high, from, to; /* values and where they stand */
    double step;                /* between ticks */
};

/* Ticks at round values; low and high are widened to them. A range of one value gets one around it. */
struct scale scale_linear(double low, double high, double from, double to, int ticks);
/* Inside from..to, whatever the value is. */
double scale_at(const struct scale *scale, double value);
bool scale_holds(const struct scale *scale, double value);
/* The score's axis at the left with lines across to right. */
void picture_y_axis(const struct picture *p, const struct scale *scale, double left, double right, const char *name);

/*
 * The range of scores that a picture shows: all kept ones, and the others up to three times the distance of the
 * quartiles beyond them (Tukey's outer fences). One diverged trial would otherwise press all that matters into a line.
 * False if nothing was measured.
 */
bool score_range(const struct model *model, size_t first, double *low, double *high);

/* ---- marks ---- */

/* Marks of one class are gathered and written when another class or the end comes. */
struct marks {
    const struct picture *picture;
    const char *class;
    FILE *index, *path;
    char *index_text, *path_text;
    size_t index_length, path_length;
    bool single; /* a path for each, with a title */
};

bool marks_begin(struct marks *marks, const struct picture *p, const char *class, size_t total);
/* The stretch of trial i, e.g. "M10 20h0". */
void marks_add(struct marks *marks, size_t i, const char *stretch, ...) __attribute__((format(printf, 3, 4)));
void marks_end(struct marks *marks);

/* "014 · keep · 0.7312 (+0.02) · hypothesis", escaped: the title of a mark. */
void trial_title(FILE *out, const struct model *model, const struct model_trial *trial);

/* ---- the pictures ---- */

/* Each prints its picture, or says in one paragraph (in a picture alone: in the picture) why there is none. */
typedef void picture_fn(const struct picture *p);

struct picture_kind {
    const char *name;    /* of --svg, and in ids */
    const char *heading; /* in a page */
    const char *reading; /* how to read it, one or two sentences */
    picture_fn *print;
};

/* In the order in which a page shows them; ends with a NULL name. */
extern const struct picture_kind picture_kinds[];

picture_fn picture_morning, picture_history, picture_tree, picture_coverage, picture_parallel, picture_calibration,
    picture_failures, picture_importance, picture_seeds;

/* The two sentences above the first picture. */
void morning_sentences(const struct picture *p);

/* One pair of parameters; x and y index model->axes. */
void picture_pair(const struct picture *p, size_t x, size_t y);
/* The pair that a picture alone shows: alpha and gamma if both vary. False if there is none. */
bool coverage_first_pair(const struct model *model, size_t *x, size_t *y);

/* Best so far of several stores over their trials. */
void picture_stores(FILE *out, const struct model *models, size_t n);

/* A paragraph, or a picture that says the same. */
void picture_nothing(const struct picture *p, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
