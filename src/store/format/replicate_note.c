/* replicate_note.c: the piece of notes that says which trial a row runs again (grammar in lineage/notes.h). */
#include <lineage/notes.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lineage/text.h>

#include "piece.h"

static const char begin[] = "replicates ", before_score[] = ", score ";

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Parses the piece [piece, end). An id has no blanks, so that prose which begins with the word is not a piece. */
static bool parse_piece(struct lineage_replicate *replicate, const char *piece, const char *end)
{
    const size_t head = strlen(begin), middle = strlen(before_score);
    if ((size_t)(end - piece) <= head || strncmp(piece, begin, head) != 0)
        return false;
    const char *id = piece + head, *stop = id;
    while (stop < end && *stop != ',' && !is_blank(*stop))
        stop++;
    size_t n = (size_t)(stop - id);
    struct lineage_replicate found = {.score = {.present = stop < end}};
    if (!n || n >= sizeof found.exp_id)
        return false;
    memcpy(found.exp_id, id, n);
    if (stop < end) {
        bool good = (size_t)(end - stop) > middle && strncmp(stop, before_score, middle) == 0 &&
                    lineage_number_parse(&found.score.value, stop + middle, (size_t)(end - stop) - middle);
        if (!good || !isfinite(found.score.value))
            return false;
    }
    *replicate = found;
    return true;
}

bool lineage_replicate_parse(struct lineage_replicate *replicate, const char *notes)
{
    bool any = false;
    for (struct piece piece = {.rest = notes}; piece_next(&piece);)
        any = parse_piece(replicate, piece.text, piece.end) || any;
    return any;
}

const char *lineage_replicate_format(char out[LINEAGE_REPLICATE_MAX], const struct lineage_replicate *replicate)
{
    char number[LINEAGE_NUMBER_MAX];
    snprintf(out, LINEAGE_REPLICATE_MAX, "%s%s%s%s", begin, replicate->exp_id, replicate->score.present ? before_score : "",
             replicate->score.present ? lineage_number_format(number, replicate->score.value) : "");
    return out;
}
