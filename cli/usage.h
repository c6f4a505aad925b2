/* usage.h: texts about `lineage` as a whole: `lineage --help`, lineage(1), and the completion of a command's name. */
#pragma once

#include "command_entry.h"

/* Print `lineage --help`: commands by group, guides, options. */
void usage_print(FILE *out, const struct cli_entry *entries);

/* Print the manual page lineage(1); see support/manual.h. */
void usage_manual(FILE *out, const struct cli_entry *entries);

/* Complete the last of n words, which is where a command's name belongs (support/complete.h). The words before it are
 * options of `lineage` itself. after_help: the words follow `lineage help`, so guides are offered and options are not. */
void usage_complete(const struct cli_entry *entries, size_t n, const char **words, bool after_help);
