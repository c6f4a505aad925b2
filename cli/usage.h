/* usage.h: what is said of `lineage` as a whole: --help, lineage(1), the words before a command. */
#ifndef CLI_USAGE_H
#define CLI_USAGE_H

#include "dispatch.h"

/* `lineage --help`. */
void usage_print(FILE *out, const struct cli_entry *entries);

/* lineage(1), see support/manual.h. */
void usage_manual(FILE *out, const struct cli_entry *entries);

/* What can stand where a command's name stands (support/complete.h); n words, the last one is completed. The words
 * before it are global options. with_options is false behind `lineage help`. */
void usage_complete(const struct cli_entry *entries, size_t n, const char **words, bool with_options);

#endif
