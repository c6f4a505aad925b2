/* units.h: the unit behind a number: 4MB, 300 ms, 43ep. */
#ifndef IDEAS_UNITS_H
#define IDEAS_UNITS_H

#include <stdbool.h>
#include <stddef.h>

#include "idea_tokens.h"

/* Whether token i may be the unit of the number before it: letters directly behind the number, or a unit of time or of
 * storage behind a blank. */
bool unit_at(const struct tokens *tokens, size_t i);

/* Whether two units mean the same, and *ratio, how many b are in one a: 1024 for GB and MB. Units are texts of letters; an
 * empty one, which is of length 0, agrees with every unit. Storage counts in steps of 1024. */
bool units_agree(double *ratio, const char *a, size_t a_length, const char *b, size_t b_length);

#endif
