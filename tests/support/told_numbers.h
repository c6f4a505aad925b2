/*
 * told_numbers.h: everything that a run reports about an iteration except times, as numbers in a fixed order, for
 * tests that compare two runs.
 */
#ifndef SUPPORT_TOLD_NUMBERS_H
#define SUPPORT_TOLD_NUMBERS_H

#include <trainer/train.h>

enum { TOLD_NUMBERS_MAX = 64 };

/* Returns how many numbers there are. The caller compares those of a turn (trainer_iteration.gain) itself. */
size_t told_numbers(double out[TOLD_NUMBERS_MAX], const struct trainer_iteration *i);

#endif
