/* finding.h: prints the faults of a store, for `verify` and `rebuild`, and of an imported file. */
#pragma once

#include "cli.h"

/* A lineage_finding_fn for a file that is imported, whose name is the context: prints FILE:LINE: ID: TEXT on stderr. */
void finding_print_import(void *file, const struct lineage_finding *finding);

/* Prints one line on stdout. */
void finding_print(const struct lineage_finding *finding);

/* Prints the digest of the last record, to be noted elsewhere. Prints nothing if the digest is not meaningful. */
void finding_print_digest(const struct lineage_digests *digests);
