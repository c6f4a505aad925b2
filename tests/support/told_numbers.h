/*
 * told_numbers.h: lists all numbers that a run reports about an iteration except times, in a fixed order, for tests
 * that compare two runs.
 */
#ifndef SUPPORT_TOLD_NUMBERS_H
#define SUPPORT_TOLD_NUMBERS_H

#include <trainer/train.h>

enum { TOLD_NUMBERS_MAX = 64 };

/*
 * Returns the number of numbers. Gains by turn (trainer_iteration.gain) are not included; the caller compares them
 * itself.
 */
size_t told_numbers(double out[TOLD_NUMBERS_MAX], const struct trainer_iteration *i);

#endif
