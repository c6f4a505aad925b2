/* comparison.h: prints a comparison of variants as a table, TSV or JSON (schema/compare.schema.json). */
#ifndef COMPARISON_H
#define COMPARISON_H

#include <lineage/compare.h>

#include "cli.h"

/* over names the parameters that pair the trials; direction says which differences are improvements. Returns an exit
 * status. */
int cli_comparison_print(const struct lineage_comparison *comparison, const char *over,
                         enum lineage_direction direction, enum cli_format format);

#endif
