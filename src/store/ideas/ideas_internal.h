/*
 * ideas_internal.h: a set of ideas from the inside.
 *
 *   idea_tokens.c  text → words, numbers, arrows, marks
 *   knob_words.c   names and words in one spelling
 *   stated.c       which settings a text states as changed
 *   citations.c    which trials a text mentions
 *   idea_terms.c   the dictionary of a log
 *   short_words.c  wd: weight decay
 *   knob_merge.c   block_size and GPTQ block_size
 *   idea_row.c     one text read: its changes, its terms
 *   ideas.c        a set: trials in, short words and long ones matched, postings
 *   similar.c      the nearest trials and the verdict `same`
 *   novelty.c      claims of novelty and the trials that contradict them
 */
#ifndef IDEAS_INTERNAL_H
#define IDEAS_INTERNAL_H

#include <lineage/ideas.h>

#include "../fail.h"
#include "../format/arena.h"
#include "idea_terms.h"
#include "knob_words.h"
#include "stated.h"

enum { CHANGE_WORDS = KNOB_WORDS, COLUMNS_MAX = 32 };

/* What a change is compared by: the words of its name, ascending by term. */
struct change_key {
    uint32_t words[CHANGE_WORDS];
    size_t n;
    bool budget;  /* made only to stay within a limit: not part of the idea */
};

/* One text read, or one trial. */
struct idea_row {
    struct lineage_idea idea;
    const char *notes;
    const struct lineage_param *params;
    size_t n_params;
    struct lineage_change *changes;
    struct change_key *keys;      /* [idea.n_changes] */
    struct weights terms;         /* everything that is searched */
    struct weights text;          /* the words and numbers of the hypothesis */
    struct weights head;          /* those of its first clause */
    struct weights head_numbers;  /* the numbers alone */
    uint32_t first_change_clause; /* UINT32_MAX: none is stated */
    double length;                /* sum of the weights of terms */
    size_t *cited_by;
    uint32_t *same;               /* trials that made the whole change, once asked for; see similar.c */
    size_t n_same;
    bool same_known;
    bool again;                   /* says that it repeats: retry, resubmit, fix */
    size_t parent;                /* index, SIZE_MAX for none */
};

struct posting {
    uint32_t row;
    float weight;
};

struct short_word;
struct word_entry;
struct knob;
struct id_place;

struct lineage_ideas {
    struct arena arena;
    struct terms terms;
    struct idea_row *rows;
    size_t n, capacity;
    size_t *postings_of; /* [terms.n + 1] */
    struct posting *postings;
    double mean_length;
    double *scores; /* [n] scratch of a search, all 0 between two */
    uint32_t *found; /* [n] */
    struct short_word *short_words; /* wd: weight decay, as the log itself shows */
    struct word_entry *words;
    struct knob *knobs;
    struct id_place *places;
    const char *columns[COLUMNS_MAX]; /* outside the 17, as the first row has them: results, never settings */
    size_t n_columns;
    bool settled, searchable;
};

/* ---- one text ---- */

/* Read the changes of a row's hypothesis into the arena: name, from, to; keys come later. */
bool row_read_changes(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena);

/* Fill in knobs and keys of the changes; then the terms. With `add`, new words enter the dictionary. */
bool row_read_knobs(struct lineage_ideas *ideas, struct idea_row *row, struct arena *arena, bool add);
bool row_read_terms(struct lineage_ideas *ideas, struct idea_row *row, bool add);

/* Words that were taken apart. */
enum { WORD_TERMS_MAX = 12, LONGEST_IDENTIFIER = 64 };
struct word_terms {
    uint32_t parts[WORD_TERMS_MAX], whole; /* whole: of a compound; else TERM_NONE */
    size_t n;
    bool compound;
};
struct word_terms *word_terms_find(const struct lineage_ideas *ideas, const char *word, size_t length);
struct word_terms *word_terms_add(struct lineage_ideas *ideas, const char *word, size_t length); /* NULL: no memory */
void word_terms_release(struct lineage_ideas *ideas);

/* Make the set ready to be searched, which the first search does: `show` needs no search. */
bool ideas_prepare_search(struct lineage_ideas *ideas);

void row_release(struct idea_row *row); /* its weights; all else lies in an arena */

/* The long form of a short word ("weight decay" of "wd"), or NULL. */
const char *short_word_meaning(const struct lineage_ideas *ideas, const char *word);

/* Learn from a text, or from the name of a setting, what short words may mean; then choose. */
bool short_words_learn(struct lineage_ideas *ideas, const struct tokens *tokens, bool name, size_t trial);
void short_words_meet(struct lineage_ideas *ideas, const struct tokens *tokens, size_t trial); /* first, of a trial's texts */
void short_words_choose(struct lineage_ideas *ideas);
bool short_words_need(struct lineage_ideas *ideas, const char *word); /* a word of a name that may be short for others */
void short_words_release(struct lineage_ideas *ideas);

/* Give the names of one knob one name, where the log shows that they are one; and the name of a name. */
bool knobs_merge(struct lineage_ideas *ideas);
const char *knob_merged(const struct lineage_ideas *ideas, const char *text);
void knobs_release(struct lineage_ideas *ideas);

/* ---- citations ---- */

/* Visit the ids of other trials that a text mentions, in its order. */
void citations_each(const struct tokens *tokens, void (*visit)(void *context, const char *id, size_t length),
                    void *context);

/* ---- comparing ---- */

/* Whether two changes are of one knob (0 to 1), and whether they set the same value. */
double changes_same_knob(const struct lineage_ideas *ideas, const struct change_key *a, const struct change_key *b);
bool changes_same_value(const struct lineage_change *a, const struct lineage_change *b);

enum similar_feature {
    SIMILAR_SCORE,      /* BM25 against that of the text with itself */
    SIMILAR_HEAD_IN,    /* share of the query's first clause that the candidate's text has */
    SIMILAR_HEAD_OF,    /* share of the candidate's first clause that the query's text has */
    SIMILAR_COSINE,     /* of the whole hypotheses */
    SIMILAR_COVERED,    /* share of the query's changes that the candidate made */
    SIMILAR_ALL,        /* all of them, and there is at least one */
    SIMILAR_CONFLICT,   /* the candidate gave one of the knobs another value */
    SIMILAR_NO_CHANGES, /* the query states none */
    SIMILAR_TECHNIQUE,  /* cosine, where the query states none */
    SIMILAR_CITES,
    SIMILAR_AGAIN,      /* cites it, and says that it tries again */
    SIMILAR_ALL_HEAD,   /* all changes covered, times the share of the first clause */
    SIMILAR_EXTRA,      /* neither states changes */
    SIMILAR_SOFT,       /* share of the query's changes whose value and most of whose name the candidate's text has */
    SIMILAR_ALL_SOFT,   /* all of them */
    SIMILAR_NUMBERS,    /* share of the numbers of the query's first clause that the candidate's text has */
    SIMILAR_HEADS,      /* SIMILAR_HEAD_IN times SIMILAR_HEAD_OF */
    SIMILAR_FAILED,     /* the candidate has no outcome: crash, overrun */
    SIMILAR_FAILED_CITED,
    SIMILAR_SPECIALIST, /* by the same specialist */
    SIMILAR_KNOB,       /* how alike the names are of the changes that the candidate made as well, at the worst */
    SIMILAR_FIRST,      /* nearest by BM25 */
    SIMILAR_OUTSTANDING,/* BM25 against that of the tenth nearest: 0 to 1 */
    SIMILAR_NEAR,       /* few trials lie between them: 1 to 0 */
    N_SIMILAR_FEATURES
};
struct similar_pair {
    size_t row;
    double bm25;
    double verdict; /* above 0: same */
    float features[N_SIMILAR_FEATURES];
    uint64_t covered; /* bit i: change i of the query */
    const struct lineage_change *knob; /* a change of the candidate that is of one knob with one of the query's */
    const struct lineage_change *query_knob;
};

/* The pairs of a text with the nearest rows before `before`, nearest first; at most max. pairs is the caller's. */
size_t similar_pairs(struct similar_pair *pairs, size_t max, struct lineage_ideas *ideas, const struct idea_row *query,
                     size_t before, size_t self);

#endif
