/* part.h: see "a part of the log" in mirror.h. */
#ifndef MIRROR_PART_H
#define MIRROR_PART_H

#include "mirror.h"

/* Forgets that the mirror is a part. */
void mirror_part_free(struct mirror *mirror);

#endif
