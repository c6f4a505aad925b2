/* address_space.h: limits on address space (ulimit -v) around the trainer, whose libraries handle them badly. */
#pragma once

#include <trainer/recipe.h>

/*
 * Whether a run of the recipe, which needs this many bytes itself, fits under the limit of this process.
 * Returns TRAINER_ENOMEM, with a message that says how much it needs, if it does not fit. Call it before any thread is
 * started: without address space for its buffers, OpenBLAS retries forever and OpenMP ends the process.
 */
enum trainer_status address_space_suffices(const struct trainer_recipe *recipe, double bytes, struct trainer_error *err);

/*
 * Sets a limit with room for budget.memory_bytes, as a second line of defence after trainer_memory_bound. A lower
 * existing limit is kept. Without a budget, no limit is set.
 */
void address_space_limit(const struct trainer_recipe *recipe);
