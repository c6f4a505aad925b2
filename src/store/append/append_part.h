/* append_part.h: appends of a worker whose mirror has only the rows of its night. */
#pragma once

#include "appending.h"

/* Call it before the claim, after appending_check, between mirror_part_begin and mirror_part_end. Completes the mirror if
 * the append may ask for a row that the part lacks. */
enum lineage_status append_part_check(const struct appending *a, struct lineage_error *err);
