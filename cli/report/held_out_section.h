/* held_out_section.h: the held-out scores of a store, and their gap to the score, in a report for people. */
#pragma once

#include "report/picture.h"

/* Prints the section. Only `lineage report --held-out` may ask for it. */
void held_out_section(const struct picture *p);
