/*
 * fuzz_measured.c: reads arbitrary text as a program in every language and as a diff. A text compared with itself has no
 * changes, and every literal that is found is a text that can be shown.
 */
#include <stdlib.h>
#include <string.h>

#include <lineage/measured.h>
#include <lineage/text.h>

#include "measured/collecting.h"
#include "measured/literals.h"
#include "fuzz.h"

static void no_difference(void *context, const struct literal *before, const struct literal *after)
{
    (void)context;
    (void)before;
    (void)after;
    fuzz_assert(false);
}

static void read_as(enum language language, const char *text, size_t length)
{
    struct literal_set a = {0}, b = {0};
    literals_read(&a, language, "", false, text, length);
    literals_read(&b, language, "", false, text, length);
    fuzz_assert(!a.failed && !b.failed && a.n == b.n && a.n <= LITERALS_MAX);
    for (size_t i = 0; i < a.n; i++) {
        fuzz_assert(*a.items[i].name && strlen(a.items[i].name) < LITERAL_NAME_MAX);
        fuzz_assert(lineage_text_is_utf8(a.items[i].value, strlen(a.items[i].value)));
        fuzz_assert(lineage_text_is_utf8(a.items[i].name, strlen(a.items[i].name)));
    }
    fuzz_assert(literals_compare(&a, &b, no_difference, NULL));
    literals_release(&a);
    literals_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct lineage_measured measured;
    struct line_changes lines;
    for (int language = LANGUAGE_NONE; language <= LANGUAGE_JSON; language++)
        read_as((enum language)language, text, size);
    fuzz_assert(lineage_measure_diff(&measured, text, size, NULL) == LINEAGE_OK);
    for (size_t i = 0; i < measured.n_changes; i++)
        fuzz_assert(measured.changes[i].to && measured.changes[i].file && measured.changes[i].scope);
    lineage_measured_release(&measured);
    fuzz_assert(line_changes_find(&lines, text, size / 2, text + size / 2, size - size / 2));
    fuzz_assert(lines.from_lines - lines.n_removed == lines.to_lines - lines.n_added);
    line_changes_release(&lines);
    return 0;
}
