/* code_note.c: the piece of notes that names the code of a trial (grammar in lineage/code.h). */
#include <lineage/code.h>

#include <stdio.h>
#include <string.h>

static const char begin[] = "code ";

enum { DIGITS = LINEAGE_CODE_DIGEST_MAX - 1 };

const char *lineage_code_note_format(char out[LINEAGE_CODE_NOTE_MAX], const struct lineage_code_note *note)
{
    snprintf(out, LINEAGE_CODE_NOTE_MAX, "%s%.32s%s%s", begin, note->digest, note->change[0] ? ", " : "", note->change);
    return out;
}

/* Parses the piece [piece, end), without blanks around it. Prose may begin with `code`, so the digest must be complete. */
static bool parse_piece(struct lineage_code_note *note, const char *piece, const char *end)
{
    const size_t head = strlen(begin) + DIGITS;
    size_t length = (size_t)(end - piece);
    if (length < head || memcmp(piece, begin, strlen(begin)) != 0 ||
        strspn(piece + strlen(begin), "0123456789abcdef") != DIGITS)
        return false;
    if (length > head && (length < head + 3 || memcmp(piece + head, ", ", 2) != 0))
        return false;
    size_t change = length > head ? length - head - 2 : 0;
    if (change >= sizeof note->change)
        return false;
    memcpy(note->digest, piece + strlen(begin), DIGITS);
    note->digest[DIGITS] = '\0';
    memcpy(note->change, end - change, change);
    note->change[change] = '\0';
    return true;
}

/* The first piece counts: what a program printed is quoted behind it. */
bool lineage_code_note_parse(struct lineage_code_note *note, const char *notes)
{
    for (const char *piece = notes ? notes : ""; *piece;) {
        const char *stop = piece + strcspn(piece, ";"), *end = stop;
        piece += strspn(piece, " \t\r\n\v\f");
        while (end > piece && strchr(" \t\r\n\v\f", end[-1]))
            end--;
        if (end > piece && parse_piece(note, piece, end))
            return true;
        piece = stop + (*stop == ';');
    }
    return false;
}
