/* expected.h: what a trial was expected to gain. */
#pragma once

#include <stdbool.h>

/* Reads the leading signed number of expected_delta: `-0.0015`, `+0.80 EM`, `≥ +0.5pp EM`. Returns false if the text
 * begins with anything else. */
bool expected_number(double *value, const char *text);
