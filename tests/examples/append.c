#include <lineage/store.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct lineage_store *store;
    struct lineage_error err;
    struct lineage_param params[] = {{.name = "alpha", .value = 0.3}, {.name = "optimizer", .text = "adam"}};
    struct lineage_trial row,
        trial = {
            .hypothesis = "wider clip", .status = LINEAGE_KEEP, .core_metric = {true, 34.5}, .params = params, .n_params = 2};
    if (lineage_store_open(&store, argc > 1 ? argv[1] : ".", NULL, &err) != LINEAGE_OK ||
        lineage_store_append(store, &trial, NULL, &row, &err) != LINEAGE_OK)
        return fprintf(stderr, "%s\n", err.text), 1;
    puts(row.exp_id);
    lineage_trial_release(&row);
    lineage_store_close(store);
}
