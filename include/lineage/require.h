/*
 * lineage/require.h: walls on what a trial measured, such as `peak_vram_mb<=48000`.
 *
 * A trial that does not meet a requirement is never kept, whatever its score. Its label is disqualified: the released
 * log of the CIFAR search (Auto-Research-Recipes) uses that label for trials that miss the required accuracy, and such a
 * label is neither measured nor kept, so the score cannot become the best.
 */
#ifndef LINEAGE_REQUIRE_H
#define LINEAGE_REQUIRE_H

#include <lineage/trial.h>

enum lineage_relation { LINEAGE_AT_MOST, LINEAGE_AT_LEAST, LINEAGE_LESS, LINEAGE_MORE }; /* <= >= < > */

#define LINEAGE_REQUIREMENT_NAME_MAX 64

struct lineage_requirement {
    char name[LINEAGE_REQUIREMENT_NAME_MAX]; /* of a metric, a numeric column, or `score` */
    enum lineage_relation relation;
    double bound;
};

#define LINEAGE_REQUIREMENT_TEXT_MAX 128 /* bytes of `NAME<=NUMBER`, with the terminating NUL */

/* Reads `NAME<=NUMBER`, with <=, >=, < or >; blanks may be around each part. LINEAGE_EINVAL, with a message that quotes
 * the text, for anything else and for a bound that is not finite. */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_requirement_parse(struct lineage_requirement *requirement,
                                                                            const char *text, struct lineage_error *err);

/* Writes the requirement in the form that lineage_requirement_parse reads, without blanks, and returns out. */
LINEAGE_API const char *lineage_requirement_format(char out[LINEAGE_REQUIREMENT_TEXT_MAX],
                                                   const struct lineage_requirement *requirement);

/* The value that a requirement of this name is compared with: the metric of that name, else the numeric column, else
 * (for `score`) trial->score or core_metric. Absent if the trial has none of them. */
LINEAGE_API struct lineage_number lineage_requirement_value(const struct lineage_trial *trial, const char *name);

#define LINEAGE_REQUIREMENT_WHY_MAX 256

/* Whether the value meets the requirement; an absent value and nan do not. If not, why (unless NULL) becomes the piece
 * of notes that names both: "requires peak_vram_mb<=48000, but it was 51234.5", or ".., but it was never reported". */
LINEAGE_API bool lineage_requirement_is_met(char why[LINEAGE_REQUIREMENT_WHY_MAX], const struct lineage_requirement *requirement,
                                            struct lineage_number value);

#endif
