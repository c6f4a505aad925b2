/*
 * range.c: reads a range as people type it: `0.1:0.5`, `:1.0`, `1e-4:`, `0.3`. It is closed at both ends. nan is
 * refused, because it would match nothing and look like an answer.
 */
#include <lineage/query.h>

#include <math.h>
#include <string.h>

#include <lineage/text.h>

#include "../fail.h"

/* A bound that is left out means no limit, so that ":1.0" also finds values below any expected bound, including
 * -inf. */
static bool parse_end(struct lineage_number *end, const char *text, size_t length)
{
    *end = (struct lineage_number){0};
    if (!length)
        return true;
    end->present = lineage_number_parse(&end->value, text, length);
    return end->present && !isnan(end->value);
}

enum lineage_status lineage_range_parse(struct lineage_range *range, const char *text, struct lineage_error *err)
{
    const char *colon = strchr(text, ':');
    size_t length = strlen(text), low = colon ? (size_t)(colon - text) : length;
    *range = (struct lineage_range){0};
    bool ok = length && parse_end(&range->low, text, low);
    if (ok && colon)
        ok = parse_end(&range->high, colon + 1, length - low - 1);
    else
        range->high = range->low;
    if (!ok)
        return store_fail(err, LINEAGE_EINVAL, "'%.60s' is not a range: write LOW:HIGH, LOW:, :HIGH or one number", text);
    if (range->low.present && range->high.present && range->low.value > range->high.value)
        return store_fail(err, LINEAGE_EINVAL, "range '%.60s' is empty: its low end is above its high end", text);
    return LINEAGE_OK;
}
