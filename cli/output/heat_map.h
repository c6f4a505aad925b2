/*
 * heat_map.h: draws two parameters as a heat map on a terminal: one tile per pair of values, shaded by the best score.
 *
 * Shades go from dark (worst) to bright (best) with evenly rising lightness, so that colour-blind people can read them
 * too; without colour, blocks show the same. The second line of a tile is the number of trials and, after `!`, of those
 * without a score. A dot marks a pair that was not tried.
 */
#pragma once

#include "cli.h"

/* Whether the values are few enough for a map. */
bool heat_map_suits(const struct lineage_sweep *sweep);

/* Prints the map: values of x downwards and of y across. If the map fits the terminal only with swapped axes, they are
 * swapped; if it fits neither way, it is printed in several blocks. Returns an exit status. */
int heat_map_print(const struct lineage_sweep *sweep, const char *x, const char *y, enum lineage_direction direction,
                   struct cli_screen *screen);
