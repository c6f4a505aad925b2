/* code_note.c: the pieces of notes that name the code of a trial (grammar in lineage/code.h). */
#include <lineage/code.h>

#include <stdio.h>
#include <string.h>

#include "piece.h"

enum { DIGITS = LINEAGE_CODE_DIGEST_MAX - 1, COMMIT_DIGITS = LINEAGE_COMMIT_MAX - 1 };

/* A word, a blank, hexadecimal digits, and perhaps a comma and what was changed. */
struct form {
    const char *begin;
    size_t digits;
};
static const struct form code = {"code ", DIGITS}, commit = {"commit ", COMMIT_DIGITS};

const char *lineage_code_note_format(char out[LINEAGE_CODE_NOTE_MAX], const struct lineage_code_note *note)
{
    snprintf(out, LINEAGE_CODE_NOTE_MAX, "%s%.32s%s%s", code.begin, note->digest, note->change[0] ? ", " : "", note->change);
    return out;
}

const char *lineage_commit_note_format(char out[LINEAGE_CODE_NOTE_MAX], const struct lineage_commit_note *note)
{
    snprintf(out, LINEAGE_CODE_NOTE_MAX, "%s%.12s%s%s", commit.begin, note->commit, note->change[0] ? ", " : "", note->change);
    return out;
}

/* Parses the piece [piece, end), without blanks around it. Prose may begin with the word, so the digits must be complete. */
static bool parse_piece(char *digits, char change[LINEAGE_DIFFSTAT_MAX], const struct form *form, const char *piece,
                        const char *end)
{
    const size_t begin = strlen(form->begin), head = begin + form->digits;
    size_t length = (size_t)(end - piece);
    if (length < head || memcmp(piece, form->begin, begin) != 0 || strspn(piece + begin, "0123456789abcdef") != form->digits)
        return false;
    if (length > head && (length < head + 3 || memcmp(piece + head, ", ", 2) != 0))
        return false;
    size_t changed = length > head ? length - head - 2 : 0;
    if (changed >= LINEAGE_DIFFSTAT_MAX)
        return false;
    memcpy(digits, piece + begin, form->digits);
    digits[form->digits] = '\0';
    memcpy(change, end - changed, changed);
    change[changed] = '\0';
    return true;
}

/* The first piece counts: what a program printed is quoted behind it. */
static bool parse(char *digits, char change[LINEAGE_DIFFSTAT_MAX], const struct form *form, const char *notes)
{
    for (struct piece piece = {.rest = notes}; piece_next(&piece);)
        if (parse_piece(digits, change, form, piece.text, piece.end))
            return true;
    return false;
}

bool lineage_code_note_parse(struct lineage_code_note *note, const char *notes)
{
    return parse(note->digest, note->change, &code, notes);
}

bool lineage_commit_note_parse(struct lineage_commit_note *note, const char *notes)
{
    return parse(note->commit, note->change, &commit, notes);
}
