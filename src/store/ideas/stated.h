/*
 * stated.h: the settings that a text states as changed.
 *
 * Every place where a text puts a name beside a value is a candidate; its context (its form, its clause, the words
 * before it) decides by a weighted sum whether the trial makes that change or only mentions it.
 */
#ifndef IDEAS_STATED_H
#define IDEAS_STATED_H

#include <lineage/ideas.h>

#include "idea_tokens.h"

/* A range of the text; length 0 means absent. */
struct span {
    size_t at, length;
};

/* How a candidate is written. */
enum stated_form {
    FORM_ARROW,       /* NAME A → B */
    FORM_FROM_TO,     /* NAME from A to B */
    FORM_TO,          /* NAME A to B */
    FORM_EQUALS,      /* NAME=B */
    FORM_PREPOSITION, /* NAME of B, at B, to B */
    FORM_NEXT_TO,     /* NAME B */
    FORM_COUNT,       /* B NAME */
    FORM_ARROW_TEXT,  /* NAME word → word */
    N_FORMS
};

enum stated_feature {
    STATED_FORM,                      /* one for each form */
    STATED_HEADLINE = N_FORMS,        /* in the first clause */
    STATED_FIRST_SENTENCE,
    STATED_IN_BRACKETS,
    STATED_LATE,          /* position in the text, from 0 to 1 */
    STATED_VERB_FIRST,    /* the candidate's clause begins with a verb of change */
    STATED_VERB_BEFORE,   /* a verb of change comes shortly before it */
    STATED_UNCHANGED,     /* "keep", "stays", "existing" shortly before it */
    STATED_UNCHANGED_NEXT,/* "unchanged", "preserved" directly after it */
    STATED_PAST,          /* an earlier trial is mentioned before it in its clause */
    STATED_REASON,        /* "because", "since", "giving" before it in its clause */
    STATED_COMPARED,      /* "vs", "than", "instead of" directly before it */
    STATED_INITIAL,       /* an initial value */
    STATED_UNIT,          /* a unit or a noun follows a bare number */
    STATED_IDENTIFIER,    /* the name has an underscore */
    STATED_SYMBOL,        /* the name is a Greek letter or a single letter */
    STATED_METRIC,        /* the name is that of a result, not of a setting */
    STATED_RATIO,         /* B is a multiple: 3× */
    STATED_HAS_FROM,
    STATED_AFTER_ARROW,   /* an earlier candidate of this text had both the old and the new value */
    STATED_DERIVED,       /* "extends", "gives": a consequence in the third person */
    STATED_SHAPE,         /* in square brackets: the size of an array */
    STATED_NAMELESS,      /* the name was not directly beside the value */
    STATED_TITLED,        /* it follows a first clause that is a title without a candidate */
    STATED_VERB_NEXT,     /* a verb of change, "with" or "using" directly before the name */
    STATED_FORM_HEADLINE, /* one per form: in the first clause or after a title */
    STATED_FORM_BRACKETS = STATED_FORM_HEADLINE + N_FORMS, /* one per form: in brackets */
    STATED_ENDS = STATED_FORM_BRACKETS + N_FORMS, /* the clause or bracket ends after the value */
    N_STATED_FEATURES
};

struct stated {
    struct span prefix, name; /* the name, and what it belongs to: "label smoothing", "ε" */
    struct span from, to;
    struct lineage_number from_value, to_value;
    enum stated_form form;
    float features[N_STATED_FEATURES];
    double score; /* above 0: a change */
};

enum { STATED_MAX = 256 }; /* candidates of one text */

/* Whether a name in the text is the name of a result such as "val_bpb". */
typedef bool stated_is_metric(void *context, const char *name, size_t length);

/* Finds the candidates of a text, in its order, and fills the caller's array of STATED_MAX. Returns their number. */
size_t stated_candidates(struct stated *candidates, const struct tokens *tokens, stated_is_metric *is_metric,
                         void *context);

/* The weighted sum of the features. */
double stated_score(const struct stated *candidate);

/* Reads a value that begins with token i, such as 0.1, (0.9, 0.95), sqrt(2), True. Returns its last token + 1, or i if
 * there is no value. */
size_t stated_value(const struct tokens *tokens, size_t i, bool words, struct span *span,
                    struct lineage_number *value);

#endif
