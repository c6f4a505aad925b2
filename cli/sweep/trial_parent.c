/*
 * Only a kept trial has a snapshot. The files of every other trial are in the store by their digests, so a trial can go on
 * from one that was discarded. A parent without either is refused: the trial would run the sweep's own files, while its
 * row names that parent.
 */
#include "sweep/night_sweep.h"

#include <lineage/render.h>
#include <lineage/snapshot.h>

static bool is_missing(enum lineage_status status)
{
    return status == LINEAGE_ENOTFOUND || status == LINEAGE_ECORRUPT;
}

static int find_files(struct trial_parent *parent, const struct night_sweep *sweep, struct lineage_store *store,
                      const struct lineage_trial *row, char why[NIGHT_WHY_MAX])
{
    struct lineage_error err;
    enum lineage_status status = lineage_snapshot_path(&parent->snapshot, store, row, &err);
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        return cli_fail(&err);
    if (!json_object_get(sweep->root, "files"))
        return CLI_GO_ON;
    status = lineage_code_load(&parent->code, store, row, &err);
    parent->has_code = status == LINEAGE_OK;
    if (parent->has_code || (parent->snapshot && is_missing(status)))
        return CLI_GO_ON;
    if (!is_missing(status))
        return cli_fail(&err);
    snprintf(why, NIGHT_WHY_MAX, "parent: the files of trial %.60s are gone: %.300s, and it has no snapshot", row->exp_id,
             err.text);
    return CLI_NO;
}

int trial_parent_find(struct trial_parent *parent, const struct night_sweep *sweep, struct lineage_store *store,
                      const char *exp_id, char why[NIGHT_WHY_MAX])
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    *parent = (struct trial_parent){.snapshot = NULL};
    why[0] = '\0';
    if (!exp_id || !*exp_id)
        return CLI_GO_ON;
    if (lineage_find(store, exp_id, &row, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = find_files(parent, sweep, store, &row, why);
    lineage_trial_release(&row);
    return status;
}

void trial_parent_release(struct trial_parent *parent)
{
    lineage_free(parent->snapshot);
    lineage_code_release(&parent->code);
    *parent = (struct trial_parent){.snapshot = NULL};
}
