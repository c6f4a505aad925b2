/*
 * fuzz_html.c: writes arbitrary bytes as a cell of an HTML page. The output must remain plain text in HTML, in an
 * attribute and in a script element.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <lineage/text.h>

#include "fuzz.h"
#include "report/html_escape.h"

static char *printed(void (*print)(FILE *, const char *, size_t, size_t), const char *text, size_t length, size_t max, size_t *n)
{
    char *out = NULL;
    FILE *file = open_memstream(&out, n);
    fuzz_assert(file != NULL);
    print(file, text, length, max);
    fuzz_assert(fclose(file) == 0 && lineage_text_is_utf8(out, *n));
    return out;
}

static void as_json(FILE *file, const char *text, size_t length, size_t max)
{
    (void)length;
    html_json_string(file, text, max);
}

/*
 * Checks that the output has no character that opens or ends markup and no control character, and that every & begins
 * an escape that we wrote.
 */
static void check_html(const char *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fuzz_assert(!strchr("<>\"'`", out[i]) && out[i] != '\0' && (unsigned char)out[i] >= 0x20 && out[i] != 0x7f);
        fuzz_assert(out[i] != '&' || !strncmp(out + i, "&lt;", 4) || !strncmp(out + i, "&gt;", 4) ||
                    !strncmp(out + i, "&amp;", 5) || !strncmp(out + i, "&quot;", 6) || !strncmp(out + i, "&#39;", 5) ||
                    !strncmp(out + i, "&#96;", 5));
    }
}

static void check_json(const char *out, size_t n)
{
    json_t *value = json_loadb(out, n, JSON_DECODE_ANY, NULL);
    fuzz_assert(json_is_string(value));
    json_decref(value);
    for (size_t i = 0; i < n; i++)
        fuzz_assert(!strchr("<>&'", out[i]) && (unsigned char)out[i] >= 0x20);
    fuzz_assert(!strstr(out, "\u2028") && !strstr(out, "\u2029") && !strstr(out, "\u202e"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t cuts[] = {0, 1, 7, 100};
    char *text = malloc(size + 1), *out;
    size_t n;
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        out = printed(html_bytes, text, size, cuts[i], &n);
        check_html(out, n);
        free(out);
        out = printed(as_json, text, size, cuts[i], &n);
        check_json(out, n);
        free(out);
    }
    free(text);
    return 0;
}
