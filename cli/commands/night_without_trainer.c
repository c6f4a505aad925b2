/* night_without_trainer.c: stands in for night_with_trainer.c in `lineage`, the program without the trainer. */
#include "commands/night_trainer.h"

const struct recipe_trials *const night_trainer = NULL;
