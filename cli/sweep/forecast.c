/* forecast.c: see forecast.h. */
#include "sweep/forecast.h"

#include <math.h>

#include "sweep/shared_warm_start.h"

/*
 * Returns the work of a trial, in rows of rollouts or demonstrations that pass through the network. A backward pass
 * with its share of the optimizer counts as three forward passes, which is the ratio of update to generation time that
 * train_bench measures. Only ratios matter, because the unit cancels against the pace. The final evaluation runs its
 * seeds and one greedy pass (+ 1). Nothing is known about a command, so all commands count as equal work.
 */
static double work(const struct trainer_recipe *recipe, bool warms_up)
{
    if (!recipe)
        return 1;
    const struct trainer_training *training = &recipe->training;
    const struct trainer_evaluation *evaluation = &recipe->evaluation;
    double evaluations = evaluation->every > 0 ? 1 + ceil((double)training->iterations / evaluation->every) : 0;
    double warm = warms_up ? 4.0 * recipe->warm_start.steps * recipe->warm_start.batch : 0;
    double rows = 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        rows += (double)recipe->tasks[i].questions * training->group_size;
    rows *= training->iterations * (1 + 4.0 * training->epochs);
    rows += (evaluations + evaluation->seeds + 1) * evaluation->questions * recipe->n_tasks;
    return (rows + warm) * (double)recipe->model.max_tokens * (double)trainer_model_parameters(&recipe->model);
}

static bool starts_from_nothing(const struct night_trial *trial)
{
    return trial->parent == TRAINER_PARENT_BASE && trial->recipe && !trial->recipe->checkpoint[0];
}

/*
 * The slowest pace is used instead of the mean, because a trial that runs into the morning costs more than an idle half
 * hour, and other load on the machine can only make a trial slower. A row does not say whether its time includes a warm
 * start, but the recipe and the sweep do.
 */
void forecast_learn_row(struct trial_list *list, size_t i, double seconds)
{
    const struct night_trial *trial = &list->trials[i];
    forecast_learn(list, i, starts_from_nothing(trial) && !warm_start_is_shared(list, i), seconds);
}

void forecast_learn(struct trial_list *list, size_t i, bool warmed_up, double seconds)
{
    list->pace = fmax(list->pace, seconds / work(list->trials[i].recipe, warmed_up));
}

/*
 * Before the first measurement a minute is assumed. With it, --hours 0.01 starts no trial, but any real night starts
 * its first trial.
 */
double forecast_seconds(const struct trial_list *list, size_t i, bool *warms_up)
{
    const struct night_trial *trial = &list->trials[i];
    *warms_up = starts_from_nothing(trial) && !warm_start_exists(list, i);
    return list->pace > 0 ? list->pace * work(trial->recipe, *warms_up) : FORECAST_UNMEASURED_SECONDS;
}

double forecast_proposal(const struct trial_list *list, const struct night_trial *trial)
{
    return list->pace > 0 ? list->pace * work(trial->recipe, starts_from_nothing(trial)) : FORECAST_UNMEASURED_SECONDS;
}
