/* comparison.h: variants against a baseline as table, TSV or JSON (schema/compare.schema.json). */
#ifndef COMPARISON_H
#define COMPARISON_H

#include <lineage/compare.h>

#include "cli.h"

/* over names what pairs the trials; direction says which difference is the better one. An exit status. */
int cli_comparison_print(const struct lineage_comparison *comparison, const char *over,
                         enum lineage_direction direction, enum cli_format format);

#endif
