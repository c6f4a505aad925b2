/*
 * stated.h: the settings that a text states as changed.
 *
 * Every place where a text puts a name beside a value is a candidate; its context (its form, its clause, the words
 * before it) decides by a weighted sum whether the trial makes that change or only mentions it.
 */
#pragma once

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
    FORM_TIMES,       /* NAME × B */
    FORM_CALL,        /* name(B, C), or NAME (B, C) */
    N_FORMS
};

enum stated_feature {
    STATED_FORM,                      /* one for each form */
    STATED_HEADLINE = N_FORMS,        /* in the first clause */
    STATED_FIRST_SENTENCE,
    STATED_IN_BRACKETS,
    STATED_UNCHANGED,     /* "keep", "stays", "existing" shortly before it */
    STATED_PAST,          /* an earlier trial is mentioned before it in its clause */
    STATED_REASON,        /* "because", "since", "giving" before it in its clause */
    STATED_COMPARED,      /* "vs", "than", "instead of" directly before it */
    STATED_INITIAL,       /* an initial value */
    STATED_UNIT,          /* a unit or a noun follows a bare number */
    STATED_RATIO,         /* B is a multiple: 3× */
    STATED_HAS_FROM,
    STATED_AFTER_ARROW,   /* an earlier candidate of this text, outside of enumerations, has the old and the new value */
    STATED_SHAPE,         /* in square brackets: the size of an array */
    STATED_TITLED,        /* it follows a first clause that is a title without a candidate */
    STATED_VERB_NEXT,     /* a verb of change, "with" or "using" directly before the name */
    STATED_FORM_HEADLINE, /* one per form: in the first clause or after a title */
    STATED_FORM_BRACKETS = STATED_FORM_HEADLINE + N_FORMS, /* one per form: in brackets */
    STATED_ENDS = STATED_FORM_BRACKETS + N_FORMS, /* the clause or bracket ends after the value */
    STATED_JOINED,        /* "+", "and" or a comma joins it to what comes before */
    STATED_FROM_WORD,     /* "from" directly before the name: the old value */
    STATED_OF,            /* "of" or "per" directly before the name: "50% of width=64" */
    STATED_BY,            /* "by B": how far, not where to */
    STATED_SIGNED,        /* "+0.001" or "-0.001" */
    STATED_PERCENT,
    STATED_WORD,          /* the value is a word such as True */
    STATED_WHOLE,         /* the value is a whole number */
    STATED_RESTATED,      /* the value is the new value of an earlier candidate */
    STATED_GIVEN,         /* "NAME gets B noun", "give NAME B noun" */
    STATED_GERUND,        /* in a clause such as ", raising NAME 65% → 75%": a consequence */
    STATED_EXTENDED,      /* the name of another candidate extends this one: of wd=1 and wd_mlp=2, wd is the base */
    STATED_OPENS,         /* directly behind an opening bracket */
    N_STATED_FEATURES
};

struct stated {
    struct span prefix, name; /* the name, and what it belongs to: "label smoothing", "ε" */
    struct span from, to;
    struct lineage_number from_value, to_value;
    bool removed; /* "remove NAME=B": B is what it was */
    enum stated_form form;
    float features[N_STATED_FEATURES];
    double score; /* above 0: a change */
    size_t end;   /* the token behind it */
};

enum {
    STATED_MAX = 256,      /* candidates of one text */
    STATED_LOOK_BACK = 24, /* number of tokens before a candidate that are examined */
};

#define STATED_COMPARED_WORDS " vs versus than like instead over unlike not from was "

/* Whether a name in the text is the name of a result such as "val_bpb", which is never a candidate. */
typedef bool stated_is_metric(void *context, const char *name, size_t length);

/* Finds the candidates of a text, in its order, and fills the caller's array of STATED_MAX. Returns their number. */
size_t stated_candidates(struct stated *candidates, const struct tokens *tokens, stated_is_metric *is_metric, void *context);

/* Adds features[i] * weights[i] of all n to sum, in their order. */
double weighted_sum(double sum, const float *weights, const float *features, size_t n);

/* Sets the features of candidate n of the list: name or value begin at token `first`, the value is in tokens [value,
 * value_end), and the whole ends before token `end`. */
void stated_look(struct stated *list, size_t n, const struct tokens *tokens, size_t first, size_t value, size_t value_end,
                 size_t end);

/* Whether the value is never a new one, because it is replaced or stays: "replace NAME=B with", "keep NAME=B". The
 * candidate is in tokens [first, end), its value begins at token `value`. */
bool stated_is_old(const struct tokens *tokens, size_t first, size_t value, size_t end);

/* Sets the features that depend on later candidates. */
void stated_look_ahead(struct stated *list, size_t n, const struct tokens *tokens);

/* The weighted sum of the features. */
double stated_score(const struct stated *candidate);

/* General English words that both the finder and the features look for. */
bool stated_is_verb(const struct tokens *tokens, size_t i); /* a verb of change: "raise", "lowering" */
bool stated_is_stop(const struct tokens *tokens, size_t i); /* a word that no name contains: "the", "from" */
bool stated_is_citation(const struct tokens *tokens, size_t i); /* exp_014, #14 */

/* Reads a value that begins with token i, such as 0.1, (0.9, 0.95), sqrt(2), True. Returns its last token + 1, or i if
 * there is no value. */
size_t stated_value(const struct tokens *tokens, size_t i, bool words, struct span *span, struct lineage_number *value);
