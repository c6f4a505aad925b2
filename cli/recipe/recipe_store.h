/* recipe_store.h: stores of trials whose score is EM, the share of questions answered right. */
#ifndef CLI_RECIPE_STORE_H
#define CLI_RECIPE_STORE_H

#include "cli.h"

/* A directory (NULL: the current one) that is no store yet becomes one in which higher is better. CLI_GO_ON or an
 * exit status. */
int recipe_store_make(const char *dir);

/* Refuse a store in which lower is better. CLI_GO_ON or an exit status. */
int recipe_store_check(const struct lineage_store *store);

#endif
