/* step_metrics.h: reads telemetry/<exp_id>.json into the table step_metrics. */
#pragma once

#include "mirror.h"

enum lineage_status mirror_insert_telemetry(struct mirror *mirror, const struct lineage_trial *trial, struct lineage_error *err);
