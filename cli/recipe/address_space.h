/* address_space.h: limits on address space (ulimit -v) around the trainer, whose libraries handle them badly. */
#ifndef CLI_ADDRESS_SPACE_H
#define CLI_ADDRESS_SPACE_H

#include <trainer/recipe.h>

/*
 * Whether a run of the recipe, which needs this many bytes itself, fits under the limit of this process.
 * TRAINER_ENOMEM says how much it needs. Call it before any thread is started: without room for its buffers OpenBLAS
 * retries for ever, and OpenMP ends the process.
 */
enum trainer_status address_space_suffices(const struct trainer_recipe *recipe, double bytes,
                                           struct trainer_error *err);

/*
 * Sets a limit with room for budget.memory_bytes, as a second line of defence behind trainer_memory_bound. A lower
 * limit is kept, and none is set without a budget.
 */
void address_space_limit(const struct trainer_recipe *recipe);

#endif
