/*
 * examples.h: scores of single examples that a trial leaves (`--examples FILE`), and the comparison of two trials by them.
 *
 * FILE.jsonl has a JSON object a line with an id and a value, FILE.npy one dimension of values, whose ids are their positions. The
 * store keeps them as examples/EXP_ID.jsonl, sorted by id; the digest of that file is in the notes of the row.
 *
 * Two trials are compared if they have the same ids: the differences example by example have a mean, a 95 % interval by the bootstrap
 * over examples (Efron 1979, Ann. Stat. 7:1), and a p by flipping their signs at random (Fisher 1935). An effect that an example has on
 * both trials cancels out, so one run of each resolves differences that the spread between seeds hides. Whether another seed would give
 * the same difference is another question, to which the noise of the store belongs: it has its own bar.
 */
#pragma once

#include <lineage/evidence.h>

enum { EXAMPLES_WHY_MAX = 400, EXAMPLES_TEXT_MAX = 640, EXAMPLES_MAX = 1000000, EXAMPLES_DIGEST_MAX = 17 };

struct example {
    char *id;
    double value;
};

struct examples {
    struct example *at; /* [n] sorted by id */
    size_t n, capacity;
    bool by_position; /* the ids are positions in an array */
    char *text;       /* [length] of the file that is kept */
    size_t length;
    char digest[EXAMPLES_DIGEST_MAX]; /* XXH3 64 of the text */
    double mean;
    struct lineage_number score; /* of the trial; a verdict needs it to be the mean of the values */
    char exp_id[LINEAGE_NAME_MAX];
};

/* Reads bytes, of an array if npy is true. key is the name of the values; NULL: score, value, correct or acc. Returns false, with the
 * reason, for what is not of this form, has an id twice or a value that is not finite. */
bool examples_parse(struct examples *examples, const char *bytes, size_t length, bool npy, const char *key,
                    char why[EXAMPLES_WHY_MAX]);

/* Reads a file, PATH or PATH#KEY, that a trial has left. */
bool examples_read(struct examples *examples, const char *path, const char *key, char why[EXAMPLES_WHY_MAX]);
void examples_release(struct examples *examples);

/* Keeps and reads the examples of a trial. Both return false with the reason. */
bool examples_keep(const struct examples *examples, const struct lineage_store *store, const char *exp_id,
                   char why[EXAMPLES_WHY_MAX]);
bool examples_of(struct examples *examples, struct lineage_store *store, const char *exp_id, char why[EXAMPLES_WHY_MAX]);

struct examples_difference {
    size_t n, rounds;
    double mean, low, high; /* a minus b */
    double error; /* standard error over examples */
    double p;
    double bar; /* what the difference must exceed on these examples: the interval, and the quantile of a whole night */
    double seeds; /* standard deviation of a difference of two scores by their seeds; 0: unknown */
    double seeds_bar; /* the bar of the store, which only the scatter of its trials may lower; 0: unknown */
    bool is_of_scores; /* both scores are the means of the values */
    int verdict; /* 1: a is higher on these examples, -1: it is lower, 0: no difference was found */
    bool higher_is_better;
};

/* Compares two trials. Returns false, with the reason, if their examples are not the same. */
bool examples_compare(struct examples_difference *difference, const struct examples *a, const struct examples *b,
                      const struct lineage_config *config, char why[EXAMPLES_WHY_MAX]);

/* "better", "worse" or "no difference"; "higher" or "lower" if the scores are not the means of the values. */
const char *examples_verdict(const struct examples_difference *difference);

/* Writes the comparison as a piece of notes. Returns out. */
const char *examples_text(char out[EXAMPLES_TEXT_MAX], const struct examples_difference *difference, const char *against);
