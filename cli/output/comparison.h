/* comparison.h: prints a comparison of variants as a table, TSV or JSON (schema/compare.schema.json). */
#pragma once

#include <lineage/compare.h>

#include "cli.h"

/* What the comparison says about variant i, which is not the baseline: better, worse, unclear, or n/a without a test. */
const char *cli_comparison_verdict(const struct lineage_comparison *comparison, size_t i, enum lineage_direction direction);

/* How many trials of a variant the mean and the difference leave out. */
size_t cli_comparison_left_out(const struct lineage_variant *variant);

/* over names the parameters that pair the trials; direction says which differences are improvements. Returns an exit
 * status. */
int cli_comparison_print(const struct lineage_comparison *comparison, const char *over, enum lineage_direction direction,
                         enum cli_format format);
