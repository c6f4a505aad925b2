#include "piece.h"

#include <string.h>

static const char blanks[] = " \t\r\n\v\f";

bool piece_next(struct piece *piece)
{
    for (const char *at = piece->rest ? piece->rest : ""; *at; at = piece->rest) {
        const char *stop = at + strcspn(at, ";");
        piece->rest = stop + (*stop == ';');
        piece->text = at + strspn(at, blanks);
        piece->end = stop;
        while (piece->end > piece->text && strchr(blanks, piece->end[-1]))
            piece->end--;
        if (piece->end > piece->text)
            return true;
    }
    return false;
}
