/* trial_telemetry.h: the telemetry file of a trial, as JSON. */
#pragma once

#include "trial/trial_results.h"

/* Returns the text (free) with *length, or NULL when out of memory. */
char *trial_telemetry_text(struct trial_results *results, size_t *length);
