/* finding.h: what is wrong with a store, for `verify` and `rebuild`. */
#ifndef CLI_FINDING_H
#define CLI_FINDING_H

#include "cli.h"

/* A line on stdout. */
void finding_print(const struct lineage_finding *finding);

/* A line with the digest of the last record, to be noted elsewhere; nothing if it means nothing. */
void finding_print_digest(const struct lineage_digests *digests);

#endif
