/*
 * told_numbers.h: lists all numbers that a run reports about an iteration except times, in a fixed order, for tests
 * that compare two runs.
 */
#pragma once

#include <trainer/train.h>

enum { TOLD_NUMBERS_MAX = 64 };

/*
 * Returns how many numbers it wrote to `out`. They do not include the gains by turn (trainer_iteration.gain), which
 * the caller compares itself.
 */
size_t told_numbers(double out[TOLD_NUMBERS_MAX], const struct trainer_iteration *i);
