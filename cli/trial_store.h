/* trial_store.h: stores of trials whose score is EM, the share of questions answered right. */
#ifndef CLI_TRIAL_STORE_H
#define CLI_TRIAL_STORE_H

#include "cli.h"

/*
 * For cli_session.before_open: a directory that is no store yet becomes one in which higher is
 * better. CLI_GO_ON or an exit status.
 */
int trial_store_make(struct cli_session *session, void *context);

/* Refuse a store in which lower is better. CLI_GO_ON or an exit status. */
int trial_store_check(const struct lineage_store *store);

#endif
