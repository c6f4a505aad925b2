#include <lineage/hypothesis.h>

#include <math.h>

#include <lineage/evidence.h>

#include "../format/number.h"

const char *lineage_verdict_name(enum lineage_verdict verdict)
{
    static const char *const names[] = {"", "supported", "refuted", "inconclusive"};
    return (unsigned)verdict < LINEAGE_N_VERDICTS ? names[verdict] : NULL;
}

double lineage_hypothesis_margin(const struct lineage_config *config)
{
    struct lineage_noise noise;
    lineage_noise_of_config(&noise, config);
    const struct lineage_judgement none = {.error = noise.std * sqrt(2.0 / (config->noise_seeds ? config->noise_seeds : 1))};
    double low, high = 0;
    if (noise.std > 0)
        lineage_judgement_interval(&low, &high, &none, &noise);
    return isfinite(high) ? high : 0;
}

struct lineage_hypothesis lineage_hypothesis_judge(double expected, double happened, double margin)
{
    struct lineage_hypothesis h = {.expected = expected, .happened = happened, .margin = margin};
    if (!isfinite(expected) || !isfinite(happened))
        return h;
    double towards = expected < 0 ? -happened : happened; /* positive on the expected side */
    h.verdict = LINEAGE_INCONCLUSIVE;
    h.covered = margin > 0 && fabs(happened - expected) <= margin;
    if (!(margin > 0))
        return h;
    if (expected == 0)
        h.verdict = fabs(happened) > margin ? LINEAGE_REFUTED : LINEAGE_INCONCLUSIVE;
    else if (towards > margin)
        h.verdict = LINEAGE_SUPPORTED;
    else if (towards + margin < fabs(expected))
        h.verdict = LINEAGE_REFUTED;
    return h;
}

struct lineage_hypothesis lineage_hypothesis_of(const struct lineage_trial *trial, double margin)
{
    double expected = 0;
    bool compared = (trial->status == LINEAGE_KEEP || trial->status == LINEAGE_DISCARD) && trial->delta_vs_best.present;
    if (!compared || !expected_number(&expected, trial->expected_delta))
        return (struct lineage_hypothesis){.margin = margin};
    return lineage_hypothesis_judge(expected, trial->delta_vs_best.value, margin);
}

const char *lineage_hypothesis_text(char out[LINEAGE_HYPOTHESIS_TEXT_MAX], const struct lineage_hypothesis *h)
{
    out[0] = '\0';
    if (h->verdict && h->margin > 0)
        snprintf(out, LINEAGE_HYPOTHESIS_TEXT_MAX, "%s: expected %+.4g, happened %+.4g ± %.2g", lineage_verdict_name(h->verdict),
                 h->expected, h->happened, h->margin);
    else if (h->verdict)
        snprintf(out, LINEAGE_HYPOTHESIS_TEXT_MAX, "%s: expected %+.4g, happened %+.4g, and the noise is unknown",
                 lineage_verdict_name(h->verdict), h->expected, h->happened);
    return out;
}
