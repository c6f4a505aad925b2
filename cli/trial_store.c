/* trial_store.c: the store that trials go to. */
#include "trial_store.h"

#include <limits.h>
#include <unistd.h>

static bool has(const char *dir, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n < PATH_MAX && access(path, F_OK) == 0;
}

int trial_store_make(struct cli_session *session, void *context)
{
    const struct lineage_config config = {.direction = LINEAGE_HIGHER};
    const char *dir = session->where.dir ? session->where.dir : ".";
    struct lineage_error err;
    (void)context;
    if (has(dir, "lineage.json") || has(dir, "results.tsv"))
        return CLI_GO_ON;
    return lineage_store_create(dir, &config, &err) == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

int trial_store_check(const struct lineage_store *store)
{
    if (lineage_store_config(store)->direction == LINEAGE_HIGHER)
        return CLI_GO_ON;
    return cli_error(
        CLI_USAGE,
        "in the store %s a lower score is better, but trials are scored by EM; give "
        "--direction higher or make another store with `lineage init --direction higher`",
        lineage_store_dir(store));
}
