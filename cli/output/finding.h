/* finding.h: prints the faults of a store, for `verify` and `rebuild`. */
#ifndef CLI_FINDING_H
#define CLI_FINDING_H

#include "cli.h"

/* Prints one line on stdout. */
void finding_print(const struct lineage_finding *finding);

/* Prints the digest of the last record, to be noted elsewhere. Prints nothing if the digest is not meaningful. */
void finding_print_digest(const struct lineage_digests *digests);

#endif
