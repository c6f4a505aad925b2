/*
 * forecast.h: how many seconds a trial will take, from the trials that were measured.
 *
 * Trials of a sweep differ in length, so the length of the last one says little about the next. What carries over is the
 * time per unit of work, and a recipe says how much work its trial is.
 */
#ifndef CLI_FORECAST_H
#define CLI_FORECAST_H

#include "sweep/trial_list.h"

/* The length that is assumed until a trial has been measured. */
enum { FORECAST_UNMEASURED_SECONDS = 60 };

/* Learns from the row of trial i, which took this long. */
void forecast_learn_row(struct trial_list *list, size_t i, double seconds);

/* Learns from trial i, which has just ended; warmed_up if its time includes a warm start. */
void forecast_learn(struct trial_list *list, size_t i, bool warmed_up, double seconds);

/* Seconds that trial i will take; *warms_up tells whether they include a warm start. */
double forecast_seconds(const struct trial_list *list, size_t i, bool *warms_up);

/* Seconds that a proposed trial will take, which is not in the list yet. */
double forecast_proposal(const struct trial_list *list, const struct night_trial *trial);

#endif
