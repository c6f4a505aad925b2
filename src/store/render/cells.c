/* cells.c: formats numbers and cells for the fieldkit and blackboard styles. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lineage/text.h>

#include "render.h"

static const char *number_text(char out[NUMBER_TEXT_MAX], struct lineage_number number, bool sign)
{
    if (!number.present)
        return "—";
    if (isnan(number.value))
        return sign ? "+nan" : "nan";
    snprintf(out, NUMBER_TEXT_MAX, sign ? "%+.6f" : "%.6f", number.value);
    for (char *c = out; *c; c++)
        if (*c == ',') /* the locale's decimal point */
            *c = '.';
    return out;
}

/* Six decimals including zeros: what Python's :.6f prints. */
const char *metric_text(char out[NUMBER_TEXT_MAX], struct lineage_number number)
{
    return number_text(out, number, false);
}

/* Always with a sign, as :+.6f prints it; nan has one too. */
const char *delta_text(char out[NUMBER_TEXT_MAX], struct lineage_number number)
{
    return number_text(out, number, true);
}

static void add_decoded(struct buf *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length;) {
        const char *nul = memchr(text + i, '\xc0', length - i);
        size_t n = nul ? (size_t)(nul - text) - i : length - i;
        buf_add(out, text + i, n);
        i += n;
        if (nul) {
            buf_add(out, "", 1);
            i += 2;
        }
    }
}

void add_raw(struct buf *out, const char *text)
{
    add_decoded(out, text, strlen(text));
}

/* The mark replaces the last character, so the cut text has exactly n characters. */
void add_cut(struct buf *out, const char *text, size_t n)
{
    size_t length = strlen(text), end = lineage_text_prefix(text, length, n);
    if (end < length)
        end = lineage_text_prefix(text, length, n ? n - 1 : 0);
    add_decoded(out, text, end);
    if (end < length)
        buf_puts(out, "…");
}
