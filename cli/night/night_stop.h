/* night_stop.h: ends a night early: at a target (--until), or when further runs are expected to bring too little (--plateau). */
#pragma once

#include "night/night.h"

/* Why the night has ended early, or proposes no more; "": it has not. */
const char *night_stop_text(const struct night *night);

/* Sets stop.why if the rows that have come since the last call say that the night ends, and stop.near if the best trial would
 * reach the target if its first run was not luck. Returns CLI_GO_ON or an exit status. */
int night_stop_decide(struct night *night);

enum { NIGHT_PROSPECT_MAX = 160 };

/* What another hour would likely bring: "another hour is about 40 runs and likely brings 0.0012 ± 0.003"; "" if nothing is known. */
const char *night_stop_prospect(char out[NIGHT_PROSPECT_MAX], const struct night *night);

/* Writes why the night has stopped as a remark on its newest row, which the block, the report, `search` and MCP show. */
void night_stop_record(const struct night *night);
