/*
 * verdict.c: keep or discard, and why.
 *
 * Written once and used by append, by import and in the block, which says for each discard what it
 * would have needed: three places that must never disagree about one row.
 */
#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lineage/store.h>
#include <lineage/text.h>

/*
 * Two means of n seeds differ by noise_std * sqrt(2 / n) by chance; two of those are asked for. The
 * larger of the two counts, since min_delta is what the owner cares for and the other what the
 * measurement can tell.
 */
double lineage_threshold(double min_delta, double noise_std, unsigned noise_seeds)
{
    return fmax(min_delta, 2 * noise_std * sqrt(2.0 / (noise_seeds ? noise_seeds : 1)));
}

/* Digits after the point of a number as it is written; -1 if it is written with an exponent. */
static int decimals(double value)
{
    char text[LINEAGE_NUMBER_MAX];
    lineage_number_format(text, value);
    return strchr(text, 'e') ? -1 : (int)strlen(strchr(text, '.') + 1);
}

/*
 * 0.3 - 0.1 is 0.19999999999999998 in binary; rounded to the places that the two scores were
 * written with it is 0.2, which is what a person subtracts and what a threshold of 0.2 is compared
 * with. Numbers with exponents or many places were not written by hand and stay exact; below 1e3
 * with 12 places the scaled value is far inside the 53 bits of a double.
 */
double verdict_difference(double score, double best)
{
    double exact = score - best, scale = 1;
    if (!isfinite(exact) || decimals(score) < 0 || decimals(best) < 0)
        return exact;
    int places = decimals(score) > decimals(best) ? decimals(score) : decimals(best);
    if (places > 12 || fabs(exact) >= 1e3)
        return exact;
    for (int i = 0; i < places; i++)
        scale *= 10;
    return rint(exact * scale) / scale;
}

/* Strictly better even with a threshold of 0: an equal score is no gain, and keeping it would
 * move the best to a later row. */
bool verdict_is_keep(double difference, double threshold, bool higher)
{
    double gain = higher ? difference : -difference;
    return gain > 0 && gain > threshold;
}

const char *verdict_reason(char out[VERDICT_REASON_MAX], double difference, double threshold, bool higher)
{
    double limit = higher || threshold == 0 ? threshold : -threshold; /* no -0 */
    /* Three digits of both: rounding keeps their order, so the figures never say the opposite. */
    snprintf(out, VERDICT_REASON_MAX, "discarded: %+.3g, needs %s than %.3g", difference == 0 ? 0 : difference,
             higher ? "more" : "less", limit);
    return out;
}
