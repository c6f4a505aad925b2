/* propose_answer.h: several proposals as JSON, for `lineage suggest` and the MCP tool of that name. */
#pragma once

#include "propose/propose_past.h"

enum { PROPOSE_AT_ONCE_MAX = 1000 };

struct propose_question {
    struct propose_space space;
    enum propose_method method;
    uint64_t seed;
    size_t n; /* proposals wanted, 1 to PROPOSE_AT_ONCE_MAX */
};

/*
 * {"method", "seed", "trials": {"measured", "failed", "running", "elsewhere", "unread"}, "suggestions": [{NAME: VALUE}],
 * "exhausted": bool}, and "source": {NAME: {SOURCE: TRIALS}} if values of the ranges were found in words. Each suggestion counts as a running trial for the following suggestions. *out is a new reference,
 * NULL on failure.
 */
enum lineage_status propose_answer_make(json_t **out, const struct propose_question *question, struct lineage_store *store,
                                        struct lineage_error *err);
