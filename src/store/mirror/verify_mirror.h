/* verify_mirror.h: lineage.db against results.tsv. */
#ifndef MIRROR_VERIFY_MIRROR_H
#define MIRROR_VERIFY_MIRROR_H

#include <lineage/verify.h>

#include "internal.h"

/* Compare with a mirror just made from results.tsv, which may have grown since. Writes nothing. */
enum lineage_status verify_mirror(struct mirror *mirror, struct mirror *truth,
                                  lineage_finding_fn *report, void *context,
                                  struct lineage_error *err);

#endif
