/*
 * night_link.c: the piece of notes that says which trial of a night a row records (grammar in lineage/notes.h).
 *
 * A night finds out from the rows alone which trials were run. If a row is misread here, its trial is run again, or
 * never. So the piece must match completely, and every link that is written can be parsed again.
 */
#include <lineage/notes.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "piece.h"

static const char begin[] = "night ", between[] = ", trial ", before_key[] = ", key ";

enum { KEY_DIGITS = 16 };

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* ---- writing ---- */

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Copies a name; a name that is too long is cut between code points. A semicolon would end the piece, and `, trial `
 * inside the sweep's name would end that name too early. */
static void clean_name(char *out, size_t size, const char *name)
{
    while (is_blank(*name))
        name++;
    size_t n = strlen(name);
    if (n >= size)
        for (n = size - 1; n && is_continuation(name[n]);)
            n--;
    for (size_t i = 0; i < n; i++)
        out[i] = name[i] == ';' ? ',' : (unsigned char)name[i] < 0x20 || name[i] == 0x7f ? ' ' : name[i];
    while (n && is_blank(out[n - 1]))
        n--;
    out[n] = '\0';
    for (char *at = out; (at = strstr(at, between));)
        *at = '.';
}

/* Names are cut to the length that the parser accepts, because a trial whose link cannot be parsed would run again each
 * night. */
const char *lineage_night_link_format(char out[LINEAGE_NIGHT_LINK_MAX], const char *sweep, const char *trial, uint64_t key)
{
    char sweep_name[LINEAGE_NIGHT_SWEEP_MAX], trial_name[LINEAGE_NIGHT_TRIAL_MAX];
    clean_name(sweep_name, sizeof sweep_name, sweep);
    clean_name(trial_name, sizeof trial_name, trial);
    snprintf(out, LINEAGE_NIGHT_LINK_MAX, "%s%s%s%s%s%0*" PRIx64, begin, sweep_name, between, trial_name, before_key,
             (int)KEY_DIGITS, key);
    return out;
}

/* ---- reading ---- */

/* A name that is too long is refused, because a cut name could be the name of another night. */
static bool take_name(char *out, size_t size, const char *from, const char *until)
{
    size_t n = (size_t)(until - from);
    if (n >= size)
        return false;
    memcpy(out, from, n);
    out[n] = '\0';
    return true;
}

/* Parses the piece [piece, end), without blanks around it. A trial's name may contain anything, so the key is taken
 * from the end, where it has a fixed length, and the sweep's name ends at the first separator. */
static bool parse_piece(struct lineage_night_link *link, const char *piece, const char *end)
{
    const size_t tail = strlen(before_key) + KEY_DIGITS;
    if ((size_t)(end - piece) < strlen(begin) + strlen(between) + tail || strncmp(piece, begin, strlen(begin)) != 0)
        return false;
    const char *sweep = piece + strlen(begin), *key = end - KEY_DIGITS, *middle = strstr(sweep, between);
    if (strspn(key, "0123456789abcdef") < KEY_DIGITS || strncmp(end - tail, before_key, strlen(before_key)) != 0 || !middle ||
        middle + strlen(between) > end - tail)
        return false;
    link->key = strtoull(key, NULL, 16);
    return take_name(link->sweep, sizeof link->sweep, sweep, middle) &&
           take_name(link->trial, sizeof link->trial, middle + strlen(between), end - tail);
}

bool lineage_night_link_parse(struct lineage_night_link *link, const char *notes)
{
    struct lineage_night_link found;
    bool any = false;
    for (struct piece piece = {.rest = notes}; piece_next(&piece);)
        if (parse_piece(&found, piece.text, piece.end)) {
            *link = found;
            any = true;
        }
    return any;
}
