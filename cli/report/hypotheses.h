/* hypotheses.h: the list of predictions and what became of them, a section of a page. */
#pragma once

#include "report/picture.h"

/* Prints the section's sentence and table. Trials that predicted nothing are not listed. */
void hypotheses_print(const struct picture *p);
