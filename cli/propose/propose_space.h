/* propose_space.h: ranges on the scale on which a proposer works, for the files of this room. */
#ifndef CLI_PROPOSE_SPACE_H
#define CLI_PROPOSE_SPACE_H

#include "propose/propose.h"

bool propose_is_whole(const struct propose_range *range); /* whole numbers */
bool propose_is_log(const struct propose_range *range);

/* A value on the scale of its range, and the ends there: half a step further out where numbers are whole. */
double propose_scaled(const struct propose_range *range, double value);
double propose_scaled_low(const struct propose_range *range);
double propose_scaled_high(const struct propose_range *range);

/* The value of the range that is nearest to a place on its scale, rounded. */
double propose_unscaled(const struct propose_range *range, double scaled);

/* How many values there are; INFINITY if they are not whole. */
double propose_values(const struct propose_range *range);

/* Points of the grid in a range, and the value of one. */
size_t propose_steps(const struct propose_range *range);
double propose_step(const struct propose_range *range, size_t i);

#endif
