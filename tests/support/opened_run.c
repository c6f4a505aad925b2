/* opened_run.c: see opened_run.h. */
#include "support/opened_run.h"
#include "support/unit.h"

#include <stdlib.h>
#include <string.h>

#include "run/run.h"

struct run *opened_run(const struct trainer_recipe *recipe, const float *params)
{
    struct run *run = calloc(1, sizeof *run);
    struct trainer_error err;
    run->recipe = recipe;
    if (run_open(run, &err) != TRAINER_OK)
        fail_msg("%s", err.text);
    memcpy(run->learner.params, params, run->learner.n_params * sizeof *params);
    learner_restart(&run->learner, 0.9, 0.95, 0);
    return run;
}

void close_run(struct run *run)
{
    run_close(run);
    free(run);
}

enum trainer_status collect_and_credit(struct run *run, int32_t iteration, struct trainer_iteration *metrics,
                                       struct trainer_error *err)
{
    enum trainer_status status = run_collect(run, iteration, metrics, err);
    return status == TRAINER_OK ? run_credit(run, iteration, metrics, err) : status;
}
