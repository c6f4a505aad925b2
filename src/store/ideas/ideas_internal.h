/* ideas_internal.h: the internals of a set of ideas. The comment at the top of each file says what it does. */
#pragma once

#include <lineage/ideas.h>

#include "../fail.h"
#include "../format/arena.h"
#include "knob_words.h"
#include "stated.h"
#include "text_table.h"

/* Raise it whenever the same texts may give another reading: after a change of idea_tokens.c, stated*.c, citations.c,
 * quantity.c, reading.c or row_is_metric. A test of lineage_ideas fails if that was forgotten. */
#define READING_VERSION 11

enum { CHANGE_WORDS = KNOB_WORDS, COLUMNS_MAX = 32 };

/* Changes are compared by the words of their names, as terms in ascending order. */
struct change_key {
    uint32_t words[CHANGE_WORDS];
    size_t n;
    bool budget;  /* made only to stay within a limit, or not named by the row: not part of the idea */
    uint64_t apart; /* two keys that share a bit and differ in their words are different knobs; see knob_words.c */
};

/* A name of settings, by its number in the names of the set, once ideas_name_knob was called for it. */
struct knob_name {
    struct change_key key; /* without `budget` */
    const char *knob;      /* what lineage_change.knob of its changes is; NULL: not filled in yet */
    const char *ruled;     /* see knob_rule_name */
    uint32_t number;       /* of the knob, in the knobs of the set */
};

/* A change of a trial, as numbers of a name and of values; see row_changes.c. */
struct row_change {
    uint32_t name, from, to;
    uint8_t source;
    bool budget; /* see struct change_key */
};

struct idea_param {
    uint32_t name, value;
};

/* Where in the hypothesis a term is: anywhere, in its first clause, as a number there, in its first words. */
enum { IN_TEXT = 1, IN_HEAD = 2, HEAD_NUMBER = 4, IN_TITLE = 8 };

/* A term of a text. A list of terms is sorted by number and has each once. */
struct term {
    uint32_t number; /* in the terms of the set */
    float weight;
    uint16_t n;     /* how often the hypothesis has it */
    uint16_t where;
};
struct term_list {
    struct term *items;
    size_t n, capacity;
    bool failed;
};

/* What a search knows about a row; made when it first compares the row. */
struct row_search {
    struct lineage_change *changes; /* [idea.n_changes] */
    struct change_key *keys;        /* [idea.n_changes] */
    struct term *terms;             /* [n_terms]; NULL: not read yet */
    size_t n_terms;
    double length;                  /* sum of the weights of the terms */
    bool again;                     /* the text says that it repeats a trial: retry, resubmit, fix */
    struct text_table unknown;      /* the words of a question that no trial has */
};

/* A change that a hypothesis states. */
struct read_change {
    struct lineage_change change; /* without its knob */
    bool budget; /* made only to stay within a limit, so not part of the idea */
};

/* What one trial's texts say without regard to other trials: it depends on the texts and on the names of the log's columns
 * alone, so lineage.db keeps it (ideas_cache.c). */
struct reading {
    const struct read_change *changes; /* [n_changes] */
    size_t n_changes;
    const uint32_t *mentions; /* [n_mentions] trials, by numbers of `shared`; first those of the hypothesis */
    size_t n_mentions, n_in_hypothesis;
};

/* One text that was read, or one trial. A log has many rows and a question looks at few, so a row has only what each needs. */
struct idea_row {
    struct lineage_idea idea;
    const struct idea_param *params;
    struct row_change *own;       /* [idea.n_changes]; until the set is settled those that the hypothesis states. A row that is
                                     only a text has none */
    const uint32_t *mentions; /* see struct reading; NULL: its texts were not read yet */
    uint16_t n_mentions, n_in_hypothesis;
    struct row_search *search;    /* filled in by row_expand and row_read_terms, else NULL */
    uint32_t parent;              /* index, TRIAL_NONE for none */
    uint32_t base;                /* the trial whose program this one changes: the parent if that comes before it, or in a
                                     set without parents the last kept trial before it; TRIAL_NONE for none */
    const char *snapshot;         /* where its program is, "" for none */
    uint32_t n_params;
    bool is_void_row;             /* its words are why another trial does not count, and set nothing */
    bool is_text;                 /* not a trial of the set, but the text of a question */
    bool uncounted;               /* says nothing about how common words are, see lineage_ideas_add_near */
};
#define TRIAL_NONE UINT32_MAX

/* A change from lineage_ideas_add_change. */
struct given_change {
    uint32_t trial, order; /* order: in which the calls came */
    struct row_change change;
};

/* A row that has a term, and what the term adds to the score of the row for each unit of its inverse document frequency. */
struct posting {
    uint32_t row;
    double value; /* see term_saturated */
};

struct ruled_name;

struct lineage_ideas {
    struct arena arena;
    struct text_table names;  /* of settings */
    struct knob_name *named;  /* [names_capacity] by number in names */
    size_t names_capacity;
    struct text_table values; /* see row_changes.c */
    struct text_table ids;    /* ids without exp_ */
    uint32_t *id_rows;        /* [ids_capacity] by number in ids: the last trial that has the id */
    size_t ids_capacity;
    struct text_table shared; /* specialists, mentioned trials, and parents that the log does not have */
    struct buf packing;       /* scratch memory of lineage_ideas_add */
    struct arena scratch;     /* of the reading that is made */
    struct given_change *given; /* [n_given] */
    size_t n_given, given_capacity;
    struct idea_row *rows;
    size_t n, capacity;
    const char *const *seeds; /* a copy of lineage_store_seeds; NULL: none */
    double least_verdict; /* that of a trial which is called the same, see lineage_ideas_set_strictness */
    struct stated *candidates; /* [STATED_MAX] scratch memory of a reading */
    struct text_table terms; /* see terms.c */
    struct text_table words; /* of the texts whose terms were read, in every spelling */
    struct term_list listing; /* scratch memory of row_read_terms */
    /* What a search needs, see ideas_prepare_search: */
    size_t n_terms;
    double *idf; /* [n_terms] */
    double n_counted; /* rows that show how common a term is */
    size_t *postings_of; /* [n_terms + 1] where the postings of each term begin */
    struct posting *postings; /* of one term in the order of the rows */
    double mean_length;
    size_t first_running; /* the first row of a running trial; n: none */
    double *scores; /* [n] scratch memory of a search; all 0 between searches */
    uint32_t *found; /* [n] */
    struct text_table knobs; /* what lineage_change.knob of a trial is */
    struct ruled_name *ruled_names;
    size_t n_rules, n_apart;
    const struct lineage_store *ruled_by; /* the store whose rules were added */
    const char *columns[COLUMNS_MAX]; /* columns outside the 17, as in the first row: results, never settings */
    size_t n_columns;
    bool has_parents; /* some trial names a parent */
    bool settled, searchable;
};

/* A copy of n items; NULL when out of memory alone. */
static inline void *arena_copy(struct arena *arena, const void *items, size_t n, size_t size)
{
    static const uint64_t nothing = 0;
    void *copy = n ? arena_alloc(arena, n, size) : (void *)(uintptr_t)&nothing;
    if (copy && n)
        memcpy(copy, items, n * size);
    return copy;
}

/* ---- one text ---- */

/* Whether a name is that of a result, such as "val_bpb" or a column of the log. context is the set of ideas. */
bool row_is_metric(void *context, const char *name, size_t length);

/* ---- row_changes.c ---- */

/* The number of a name or of a value, TEXT_NONE when out of memory. The text of a value may be NULL. */
uint32_t ideas_name(struct lineage_ideas *ideas, const char *name);
uint32_t ideas_param_value(struct lineage_ideas *ideas, const struct lineage_param *param);

/* A value's number and its text, NULL if it has none. value_write gives the number of a parameter a text. */
struct lineage_number value_number(const struct lineage_ideas *ideas, uint32_t value);
const char *value_text(const struct lineage_ideas *ideas, uint32_t value);

struct lineage_param row_param(const struct lineage_ideas *ideas, const struct idea_row *row, size_t i);
struct lineage_change change_of(const struct lineage_ideas *ideas, const struct row_change *change);

/* Fills in the changes and keys of row->search, if that was not done yet. The set must be settled. False when out of memory. */
bool row_expand(struct lineage_ideas *ideas, struct idea_row *row);

/* reading_make reads a trial's texts; the arena owns the reading. row_change_of makes a change that a row states, row_keep_stated makes
 * such changes its own. They return false when out of memory. */
bool reading_make(struct reading *reading, struct lineage_ideas *ideas, const char *hypothesis, const char *notes,
                  struct arena *arena);
bool row_change_of(struct row_change *change, struct lineage_ideas *ideas, const struct lineage_change *stated, bool budget);
bool row_keep_stated(struct lineage_ideas *ideas, struct idea_row *row, const struct row_change *changes, size_t n);
bool row_keep_mentions(struct lineage_ideas *ideas, struct idea_row *row, const uint32_t *mentions, size_t n,
                       size_t n_hypothesis);

/* Whether a hypothesis says that it repeats a trial: retry, resubmit, fix. */
bool says_again(const struct tokens *tokens);

/* Reads the texts of a row of the set, if that was not done yet. The changes that the hypothesis states become row->own. */
bool row_make_reading(struct lineage_ideas *ideas, struct idea_row *row);

/* Reads a text that is not in the set. The changes that it states become row->search->changes, with the knobs of
 * the set. */
bool row_read_query(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena);

/* Makes all changes of the row its own, ordered by trust: declared (parameters that differ from the parent's), given[n], stated.
 * parent may be NULL. */
bool row_order_changes(struct lineage_ideas *ideas, struct idea_row *row, const struct idea_row *parent,
                       const struct given_change *given, size_t n);

/* Orders the given changes from that one on by their trials. */
void ideas_order_given(struct lineage_ideas *ideas, size_t from);

/* A digest of the texts of a trial, of the columns of the log and of READING_VERSION. ideas_seed is what it begins with. */
uint64_t ideas_seed(const struct lineage_ideas *ideas);
uint64_t row_digest(const struct lineage_ideas *ideas, const struct idea_row *row);

/* The notes of a trial, which the set keeps behind its hypothesis; a text has none. */
const char *row_notes(const struct idea_row *row);

/* Removes a change if a more trusted one gives the same knob the same value. Call it when all knobs are final. */
void row_drop_repeated(struct lineage_ideas *ideas, struct idea_row *row);

/* Fills in what the set knows about a name, and about the names of the row's changes. New words enter the dictionary. */
bool ideas_name_knob(struct lineage_ideas *ideas, uint32_t name);
bool row_read_knobs(struct lineage_ideas *ideas, struct idea_row *row);

/* The knob of a name that a person gives, in the arena; "" if it can be none, NULL when out of memory. */
const char *ideas_knob_of(struct lineage_ideas *ideas, const char *name, struct arena *arena);

/* Whether a word says too little to be searched for: the, with, using. */
bool row_is_weak(const char *word, size_t length);

/* ---- terms.c ---- */

/* Fills in the terms of row->search, and the changes as row_expand does, if that was not done yet. The arena owns them. */
bool row_read_terms(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena);

/* Builds what searching needs. The first search calls it, because `show` does not need it. */
bool ideas_prepare_search(struct lineage_ideas *ideas);
void idea_index_release(struct lineage_ideas *ideas);

void row_release(struct idea_row *row); /* frees row->search; an arena owns the rest */

double term_idf(const struct lineage_ideas *ideas, uint32_t number);

/* BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, with the field weights added up before
 * saturation (BM25F). */
double term_saturated(double weight, double length, double mean);

/* Whether a row has a term at one of these places; the share of the weight of a's terms at where_a, by inverse document
 * frequency, that b has at where_b; the cosine of the two hypotheses, weighted by squared inverse document frequency. */
bool row_has_term(const struct idea_row *row, uint32_t number, unsigned where);
double term_share(const struct lineage_ideas *ideas, const struct idea_row *a, unsigned where_a, const struct idea_row *b,
                  unsigned where_b);
double term_cosine(const struct lineage_ideas *ideas, const struct idea_row *a, const struct idea_row *b);

/* The name by which a person wants a knob to be called, NULL if no rule joins it with others. *apart, which may be NULL,
 * is set as in struct change_key. */
const char *knob_rule_name(const struct lineage_ideas *ideas, const char *name, uint64_t *apart);
void knob_rules_release(struct lineage_ideas *ideas);

/* ---- comparing ---- */

/* How likely two changes belong to one knob (0 to 1), and whether they set the same value. */
double changes_same_knob(const struct lineage_ideas *ideas, const struct change_key *a, const struct change_key *b);

enum similar_feature {
    SIMILAR_SCORE, /* BM25 score, divided by the score of the text against itself */
    SIMILAR_HEAD_OF, /* share of the candidate's first clause that the query's text has */
    SIMILAR_COSINE, /* cosine of the whole hypotheses */
    SIMILAR_CONFLICT, /* the candidate gave one of the knobs another value */
    SIMILAR_TECHNIQUE, /* cosine if the query states no changes, else 0 */
    SIMILAR_CITES,
    SIMILAR_SOFT, /* share of the query's changes with the value and most of the name in the candidate's text */
    SIMILAR_ALL_SOFT, /* all of them */
    SIMILAR_NUMBERS, /* share of the numbers of the query's first clause that the candidate's text has */
    SIMILAR_FAILED, /* the candidate has no outcome: crash, overrun */
    SIMILAR_SPECIALIST, /* by the same specialist */
    SIMILAR_KNOB, /* lowest similarity of the names of changes that both made */
    SIMILAR_FIRST, /* nearest by BM25 */
    SIMILAR_OUTSTANDING, /* BM25 score compared with that of the tenth nearest: 0 to 1 */
    SIMILAR_CONFLICTS, /* share of the query's changes whose knob the candidate gave another value */
    SIMILAR_TITLE_IN, /* share of the query's first words that the candidate's text has */
    SIMILAR_TITLES, /* how alike the first words of both are */
    SIMILAR_UNCOVERED, /* all changes covered, times the share of the first words that the candidate's text lacks */
    SIMILAR_SIBLING, /* both have the same parent */
    SIMILAR_FAILED_SIBLING,
    N_SIMILAR_FEATURES
};
struct similar_pair {
    size_t row;
    double bm25;
    double verdict; /* above 0: same */
    float features[N_SIMILAR_FEATURES];
    float head_in; /* share of the query's first clause that the candidate's text has */
    bool cited, again; /* the query cites the candidate, and says that it tries again */
    uint64_t covered; /* bit i is set if the candidate covers change i of the query */
    const struct lineage_change *knob; /* a change of the candidate to a knob that the query changes too */
    const struct lineage_change *query_knob;
};

/* 1 if a change raises a number, -1 if it lowers it, 0 if that is not known. */
int change_direction(const struct lineage_change *change);

/* Compares a text with the nearest rows before `before`. Fills in *n, at most max pairs, nearest first; the caller owns
 * pairs, and the arena the terms of a query that is a text. Returns false when out of memory. */
bool similar_pairs(struct similar_pair *pairs, size_t *n, size_t max, struct lineage_ideas *ideas, struct idea_row *query,
                   struct arena *arena, size_t before, size_t self);

/* ---- ideas_store.c ---- */

/* ---- ideas_cache.c: what texts and programs of a store's trials say, kept in lineage.db ---- */

/*
 * Makes sure that the texts of rows[first..) of the set, which are trials of the store, are read and that their programs are compared:
 * takes what lineage.db has, and saves the rest. If lineage.db cannot be written now, it is not saved, which is not a failure. What is
 * found does not depend on what was saved before.
 */
enum lineage_status ideas_cache_read(struct lineage_ideas *ideas, struct lineage_store *store, size_t first,
                                     struct lineage_error *err);

/* Whether lineage.db has the entries of all trials of the store, made by this version of the reader for the columns of
 * the set, which holds a trial of the store. Call it right after that trial was added. */
enum lineage_status ideas_cache_is_complete(bool *complete, const struct lineage_ideas *ideas, struct lineage_store *store,
                                            struct lineage_error *err);
