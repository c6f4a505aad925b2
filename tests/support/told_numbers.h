/*
 * told_numbers.h: all that a run tells of an iteration but times, as numbers in an order of their own: for tests that hold two
 * runs against each other.
 */
#ifndef SUPPORT_TOLD_NUMBERS_H
#define SUPPORT_TOLD_NUMBERS_H

#include <trainer/train.h>

enum { TOLD_NUMBERS_MAX = 64 };

/* How many there are. Those of a turn (trainer_iteration.gain) are the caller's to tell. */
size_t told_numbers(double out[TOLD_NUMBERS_MAX], const struct trainer_iteration *i);

#endif
