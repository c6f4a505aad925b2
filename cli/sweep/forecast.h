/*
 * forecast.h: estimates how many seconds a trial will take, from the trials that were measured.
 *
 * Trials of a sweep differ in length, so the length of one trial says little about the next. The time per unit of work
 * does carry over, and a recipe determines how many units of work its trial has.
 */
#pragma once

#include "sweep/trial_list.h"

/* The duration that is assumed until a trial has been measured. */
enum { FORECAST_UNMEASURED_SECONDS = 60 };

/* Updates the pace from the row of trial i, which took this many seconds. */
void forecast_learn_row(struct trial_list *list, size_t i, double seconds);

/* Updates the pace from trial i, which has just ended; warmed_up: its time includes a warm start. */
void forecast_learn(struct trial_list *list, size_t i, bool warmed_up, double seconds);

/* Seconds that trial i will take; *warms_up tells whether they include a warm start. */
double forecast_seconds(const struct trial_list *list, size_t i, bool *warms_up);

/* Seconds that a proposed trial, which is not in the list yet, will take. */
double forecast_proposal(const struct trial_list *list, const struct night_trial *trial);
