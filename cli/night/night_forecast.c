/*
 * night_forecast.c: how long a trial will take, going by those that were measured. A sweep mixes
 * trials of unlike length, so that the longest one so far says little of the next: what carries over
 * is the time per unit of work, and the recipe says how much work there is.
 */
#include <math.h>

#include "night/night.h"

/* Rows of rollouts or demonstrations through the network, a backward pass counted as three
 * forward ones with the optimizer's share: what train_bench shows of a trial (generation
 * against updates). Only ratios matter: what a unit of it is cancels against the pace. The last
 * evaluation counts its seeds and one greedy pass (+1). Of commands nothing is known: all are alike. */
static double work(const struct trainer_recipe *recipe, bool warms_up)
{
    if (!recipe)
        return 1;
    const struct trainer_training *training = &recipe->training;
    const struct trainer_evaluation *evaluation = &recipe->evaluation;
    double looks =
        evaluation->every > 0 ? 1 + ceil((double)training->iterations / evaluation->every) : 0;
    double rows = 0,
           warm = warms_up ? 4.0 * recipe->warm_start.steps * recipe->warm_start.batch : 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        rows += (double)recipe->tasks[i].questions * training->group_size;
    rows *= training->iterations * (1 + 4.0 * training->epochs);
    rows += (looks + evaluation->seeds + 1) * evaluation->questions * recipe->n_tasks;
    return (rows + warm) * (double)recipe->model.max_tokens *
           (double)trainer_model_parameters(&recipe->model);
}

/* Whether the trial itself, or the one that trains what it shares, has the warm start before it. */
static bool has_warm_start_ahead(const struct night *night, size_t i)
{
    const struct night_trial *trial = &night->trials[i];
    return trial->parent == TRAINER_PARENT_BASE && trial->recipe && !trial->recipe->checkpoint[0] &&
           !night_has_warm_start(night, i);
}

/* The slowest pace that was seen, not the mean: a trial that runs into the morning costs more
 * than an idle half hour, and other work on the machine only makes trials slower. A row does
 * not say whether its own run had the warm start in it; the recipe and the sweep do. */
void night_learn_row(struct night *night, size_t i, double seconds)
{
    const struct night_trial *trial = &night->trials[i];
    bool own = trial->parent == TRAINER_PARENT_BASE && trial->recipe && !trial->recipe->checkpoint[0] &&
               !night_shares_warm_start(night, i);
    night->pace = fmax(night->pace, seconds / work(trial->recipe, own));
}

void night_learn_turn(struct night *night, size_t i, bool warmed_up, double seconds)
{
    const struct night_trial *trial = &night->trials[i];
    night->pace = fmax(night->pace, seconds / work(trial->recipe, warmed_up));
}

double night_forecast_of(const struct night *night, const struct night_trial *trial)
{
    bool warms_up = trial->parent == TRAINER_PARENT_BASE && trial->recipe && !trial->recipe->checkpoint[0];
    return night->pace > 0 ? night->pace * work(trial->recipe, warms_up) : NIGHT_LEAST_SECONDS;
}

/* While nothing was measured a minute is assumed, so that --hours 0.01 begins nothing and any
 * real night its first trial. */
double night_forecast(const struct night *night, size_t i, bool *warms_up)
{
    *warms_up = has_warm_start_ahead(night, i);
    if (night->pace <= 0)
        return NIGHT_LEAST_SECONDS;
    return night->pace * work(night->trials[i].recipe, *warms_up);
}
