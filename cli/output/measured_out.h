/* measured_out.h: prints what trials changed in their programs (lineage/measured.h). */
#pragma once

#include <lineage/measured.h>

#include "cli.h"

/* [{"file", "added", "removed", "kind", "parts": [{"name", "added", "removed"}]}]; at most max_files files with max_parts parts
 * each, 0: all. */
json_t *cli_measured_lines_json(const struct lineage_measured *measured, size_t max_files, size_t max_parts);

/* One line per changed file, in the form of cli_show_trial: "code  train.py +12 -3: GPT.forward +8 -2, ...". */
void cli_measured_show(const struct lineage_measured *measured, const struct cli_screen *screen);

/* Changed settings, then files with their changed lines and functions, then a line with sums. */
void cli_measured_stat(const struct lineage_measured *measured);
