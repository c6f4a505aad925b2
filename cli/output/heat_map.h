/*
 * heat_map.h: two parameters crossed, for a terminal: a tile per pair of values, shaded by its best score.
 *
 * Shades go from dark to bright as scores go from worst to best, in a scale that colour-blind people read as well (its
 * lightness rises evenly); without colour a block says the same. A tile's second line counts its trials, and after !
 * those without a score; a dot is a pair that nobody tried.
 */
#ifndef CLI_HEAT_MAP_H
#define CLI_HEAT_MAP_H

#include "cli.h"

/* Whether there are few enough values for a map to be one. */
bool heat_map_suits(const struct lineage_sweep *sweep);

/* Print it: values of x downwards, those of y across, or turned where only that fits; parted where neither does. An exit
 * status. */
int heat_map_print(const struct lineage_sweep *sweep, const char *x, const char *y, enum lineage_direction direction,
                   struct cli_screen *screen);

#endif
