/* marathon_text.c: texts for rows that show whether they are complete. */
#include "marathon.h"

#include <stdlib.h>
#include <string.h>

uint64_t draw(uint64_t *seed)
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/*
 * Fills in text without `=` and `;`, because notes must not set parameters. Tabs, quotes and line ends are used, so
 * that cells need quoting, unless `plain`.
 */
static void fill(char *at, size_t n, uint64_t seed, bool plain)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ.,0123456789-+()\t\"\n";
    size_t letters = sizeof alphabet - 1 - (plain ? 3 : 0);
    while (n--) {
        *at++ = alphabet[draw(&seed) % letters];
    }
}

char *tagged_text(char kind, uint64_t tag, size_t length)
{
    char *text = malloc((length < 32 ? 32 : length) + 1);
    if (!text)
        abort();
    int head = snprintf(text, 33, "%c%016llx.%zu:", kind, (unsigned long long)tag, length);
    size_t n = (size_t)head < length ? length - (size_t)head : 0;
    fill(text + head, n, tag ^ (uint64_t)kind, tag & 1);
    text[(size_t)head + n] = '\0';
    return text;
}

bool is_tagged_text(char kind, const char *text, uint64_t *tag, size_t *length)
{
    char *end;
    if (text[0] != kind || strlen(text) < 18 || text[17] != '.')
        return false;
    *tag = strtoull(text + 1, &end, 16);
    *length = strtoull(text + 18, &end, 10);
    if (*end != ':' || *length > 200000)
        return false;
    char *wanted = tagged_text(kind, *tag, *length);
    bool same = strcmp(wanted, text) == 0;
    free(wanted);
    return same;
}

char *csv_cell(const char *text)
{
    size_t n = strlen(text), k = 0;
    char *out = malloc(2 * n + 3);
    if (!out)
        abort();
    if (!strpbrk(text, "\t\"\r\n"))
        return memcpy(out, text, n + 1);
    out[k++] = '"';
    for (; *text; text++) {
        if (*text == '"')
            out[k++] = '"';
        out[k++] = *text;
    }
    out[k++] = '"';
    out[k] = '\0';
    return out;
}
