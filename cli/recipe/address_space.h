/* address_space.h: limits on address space around the trainer, whose libraries do not live well with them. */
#ifndef CLI_ADDRESS_SPACE_H
#define CLI_ADDRESS_SPACE_H

#include <trainer/recipe.h>

/*
 * Whether a run of the recipe that holds that many bytes of its own fits under the limit of this process
 * (ulimit -v). TRAINER_ENOMEM says what it needs. To be asked before any thread is started: without room for its
 * buffers OpenBLAS tries for ever, and OpenMP ends the process.
 */
enum trainer_status address_space_suffices(const struct trainer_recipe *recipe, double bytes,
                                           struct trainer_error *err);

/*
 * Set a limit that budget.memory_bytes leaves room for: a second line of defence behind trainer_memory_bound. A
 * lower one stays, and nothing is set without a budget.
 */
void address_space_limit(const struct trainer_recipe *recipe);

#endif
