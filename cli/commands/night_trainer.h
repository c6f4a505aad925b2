/* night_trainer.h: what cmd_night.c takes from the program it is in. */
#pragma once

#include "sweep/night_sweep.h"

/* Sweeps of recipes; NULL in `lineage`, which becomes lineage-train for them. */
extern const struct recipe_trials *const night_trainer;
