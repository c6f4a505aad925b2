/* piece.h: the pieces that notes are split into (grammar in lineage/notes.h). */
#pragma once

#include <stdbool.h>

/* Begin with {.rest = notes}; notes may be NULL. [text, end) points into the notes. */
struct piece {
    const char *text, *end;
    const char *rest; /* behind the piece and its semicolon */
};

/* Steps to the next piece that has more than blanks; blanks around it are left out. Returns false after the last. */
bool piece_next(struct piece *piece);
