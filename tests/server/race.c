/*
 * race.c: N processes append to one store on a server. Each keeps one handle for all its rows, so its knowledge of the
 * store becomes stale.
 *
 *     race ROWS DIR...     one process for each DIR; all DIRs lead to the same store; each process appends ROWS rows
 *
 * Most rows are kept or discarded by their score; some are crashes, some choose their id, some continue from the
 * previous row. Scores rise slowly with noise, so the best row changes now and then. Exit status 1 if an append failed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lineage/store.h>

static int append_rows(const char *dir, int process, int rows)
{
    struct lineage_store *store;
    struct lineage_error err;
    struct lineage_append_options options;
    struct lineage_trial before = {0};
    unsigned seed = (unsigned)process;
    enum lineage_status status = lineage_store_open(&store, dir, NULL, &err);
    lineage_append_options_init(&options);
    for (int i = 0; status == LINEAGE_OK && i < rows; i++) {
        char own[32], hypothesis[32];
        struct lineage_trial row, trial = {.specialist = "opt", .hypothesis = hypothesis, .status = LINEAGE_CRASH};
        const int kind = rand_r(&seed) % 8;
        snprintf(own, sizeof own, "own-%d-%d", process, i);
        snprintf(hypothesis, sizeof hypothesis, "p%d-%d", process, i);
        options.auto_status = kind > 0;
        if (kind > 0)
            trial.core_metric = (struct lineage_number){true, i / 16.0 + rand_r(&seed) % 64 / 64.0};
        if (kind == 1)
            trial.exp_id = own;
        if (kind > 5)
            trial.parent_exp = before.exp_id;
        status = lineage_store_append(store, &trial, &options, &row, &err);
        lineage_trial_release(&before);
        before = row;
    }
    if (status != LINEAGE_OK)
        fprintf(stderr, "race: %s\n", err.text);
    lineage_trial_release(&before);
    lineage_store_close(store);
    return status != LINEAGE_OK;
}

int main(int argc, char **argv)
{
    int ended, failed = argc < 3;
    for (int i = 2; i < argc; i++)
        if (fork() == 0)
            exit(append_rows(argv[i], i, atoi(argv[1])));
    while (wait(&ended) > 0)
        failed |= ended;
    return failed != 0;
}
