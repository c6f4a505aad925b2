/*
 * expected.c: reads expected_delta, which is prose that, by custom, begins with a signed number.
 *
 * Agents write `≥0.01`, `-0.02 (two seeds)` or a sentence. Only a number at the very beginning counts: a number from
 * the middle of a sentence would distort the calibration of that specialist.
 */
#include "number.h"

#include <string.h>

#include <lineage/text.h>

bool expected_number(double *value, const char *text)
{
    static const char at_least[] = "≥";
    if (!text)
        return false;
    if (strncmp(text, at_least, sizeof at_least - 1) == 0)
        text += sizeof at_least - 1;
    text += strspn(text, " ");
    size_t length = number_length(text, strlen(text));
    return length && lineage_number_parse(value, text, length);
}
