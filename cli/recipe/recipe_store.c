/*
 * `train` and `night` create their store, so that a user's first command does not fail for lack of one. A store in
 * which lower is better would keep the worst policies, so the direction is checked every time.
 */
#include "recipe/recipe_request.h"

#include <string.h>

int recipe_store_make(const char *dir)
{
    const struct lineage_config config = {.direction = LINEAGE_HIGHER};
    if (!dir)
        dir = ".";
    int status = cli_is_store(dir) ? CLI_OK : cli_store_create(dir, &config);
    return status == CLI_OK ? CLI_GO_ON : status;
}

int recipe_store_check(struct lineage_store *store)
{
    const char *name = lineage_store_score_name(store);
    struct lineage_error err;
    if (name && strcmp(name, RECIPE_SCORE) != 0 && lineage_store_name_score(store, RECIPE_SCORE, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (lineage_store_config(store)->direction == LINEAGE_HIGHER)
        return CLI_GO_ON;
    return cli_error(CLI_USAGE,
                     "in the store %s a lower score is better, but trials are scored by EM; give "
                     "--direction higher or make another store with `lineage init --direction higher`",
                     lineage_store_dir(store));
}
