/* part.h: see "a part of the log" in mirror.h. */
#pragma once

#include "mirror.h"

/* Forgets that the mirror is a part. */
void mirror_part_free(struct mirror *mirror);
