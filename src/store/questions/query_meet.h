/* query_meet.h: the trials that several conditions on parameters have in common. */
#pragma once

#include <lineage/query.h>

#include "query_conditions.h"
#include "query_narrow.h"

/*
 * Looks at the conditions on parameters that allow few values. If there are at least two, and fewer than FEW and narrow->n trials
 * meet all of them, *narrow becomes the source of these trials, with its text in b->met. Otherwise *narrow stays unchanged.
 * names[i] is what the name of conditions[i] stands for. The statement must have all conditions too.
 */
enum lineage_status query_find_meet(struct narrow *narrow, struct builder *b, const struct lineage_condition *conditions,
                                    const struct named *names, size_t n, struct lineage_error *err);
