#include "sweep/trial_list.h"

#include <math.h>

/* Nothing is known about a command, so all commands count as equal work. */
static double work(const struct night_trial *trial, bool warms_up)
{
    return trial->recipe ? trial->work + (warms_up ? trial->warm_work : 0) : 1;
}

static bool starts_from_nothing(const struct night_trial *trial)
{
    return trial->parent == NIGHT_PARENT_BASE && trial->recipe && !*trial->checkpoint;
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
    list->pace = fmax(list->pace, seconds / work(&list->trials[i], warmed_up));
}

/*
 * Before the first measurement a minute is assumed. With it, --hours 0.01 starts no trial, but any real night starts
 * its first trial.
 */
double forecast_seconds(const struct trial_list *list, size_t i, bool *warms_up)
{
    const struct night_trial *trial = &list->trials[i];
    *warms_up = starts_from_nothing(trial) && !warm_start_exists(list, i);
    return list->pace > 0 ? list->pace * work(trial, *warms_up) : FORECAST_UNMEASURED_SECONDS;
}

double forecast_proposal(const struct trial_list *list, const struct night_trial *trial)
{
    return list->pace > 0 ? list->pace * work(trial, starts_from_nothing(trial)) : FORECAST_UNMEASURED_SECONDS;
}
