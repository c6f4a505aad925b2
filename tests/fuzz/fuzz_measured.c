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
        fuzz_assert(strlen(a.items[i].name) < LITERAL_NAME_MAX);
        fuzz_assert(lineage_text_is_utf8(a.items[i].value, strlen(a.items[i].value)));
        fuzz_assert(lineage_text_is_utf8(a.items[i].name, strlen(a.items[i].name)));
    }
    fuzz_assert(literals_compare(&a, &b, no_difference, NULL));
    literals_release(&a);
    literals_release(&b);
}

static size_t lines(const struct file_text *text)
{
    size_t n = text->length && text->text[text->length - 1] != '\n';
    for (size_t i = 0; i < text->length; i++)
        n += text->text[i] == '\n';
    return n;
}

/* The lines of the side that has none with that mark. */
static size_t lines_of(const struct buf *marks, char other)
{
    size_t n = 0;
    for (size_t i = 0; i < marks->length; i++)
        n += marks->data[i] != other;
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct lineage_measured measured;
    struct buf marks = {0};
    const struct file_text from = {text, size / 2}, to = {text + size / 2, size - size / 2};
    for (int language = LANGUAGE_NONE; language <= LANGUAGE_JSON; language++)
        read_as((enum language)language, text, size);
    fuzz_assert(lineage_measure_diff(&measured, text, size, NULL) == LINEAGE_OK);
    for (size_t i = 0; i < measured.n_changes; i++)
        fuzz_assert(measured.changes[i].to && measured.changes[i].file && measured.changes[i].scope);
    lineage_measured_release(&measured);
    fuzz_assert(line_diff(&marks, &from, &to));
    fuzz_assert(lines_of(&marks, '+') == lines(&from) && lines_of(&marks, '-') == lines(&to));
    buf_release(&marks);
    return 0;
}
