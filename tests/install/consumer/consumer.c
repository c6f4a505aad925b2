/* consumer.c: appends to a store and reads it back through the installed headers and libraries. */
#include <stdio.h>

#include <lineage/query.h>
#include <lineage/store.h>
#include <rlcore/status.h>

static int append_and_read(struct lineage_store *store)
{
    struct lineage_error err;
    const struct lineage_trial trial = {
        .hypothesis = "wider clip", .status = LINEAGE_KEEP, .core_metric = {true, 34.5}};
    struct lineage_trial best = {0};
    if (lineage_store_append(store, &trial, NULL, NULL, &err) != LINEAGE_OK ||
        lineage_best(store, &best, &err) != LINEAGE_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%s %s %s\n", best.exp_id, best.hypothesis, rl_status_text(RL_OK));
    lineage_trial_release(&best);
    return 0;
}

int main(int argc, char **argv)
{
    struct lineage_store *store;
    struct lineage_error err;
    if (argc != 2 || lineage_store_open(&store, argv[1], NULL, &err) != LINEAGE_OK)
        return 1;
    int status = append_and_read(store);
    lineage_store_close(store);
    return status;
}
