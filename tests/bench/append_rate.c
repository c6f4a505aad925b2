/*
 * append_rate.c: measures how many rows per second N processes append to one store, each with its own handle.
 *
 *     append_rate SECONDS DIR...    one process for each DIR (a store, or a directory that leads to one); prints rows/s
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lineage/store.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * Waits until `start`, then appends rows until `end`. All processes start together; a row in progress at the end is
 * finished.
 */
static size_t append_until(const char *dir, double start, double end)
{
    struct lineage_trial trial = {.specialist = "opt",
                                  .hypothesis = "raise the learning rate of the embedding, keep the warm-up",
                                  .status = LINEAGE_DISCARD,
                                  .core_metric = {true, 34.51}};
    struct lineage_store *store;
    struct lineage_error err;
    size_t n = 0;
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK) {
        fprintf(stderr, "append_rate: %s\n", err.text);
        _exit(1);
    }
    while (now() < start)
        usleep(1000);
    for (; now() < end; n++)
        if (lineage_store_append(store, &trial, NULL, NULL, &err) != LINEAGE_OK) {
            fprintf(stderr, "append_rate: %s\n", err.text);
            _exit(1);
        }
    lineage_store_close(store);
    return n;
}

int main(int argc, char **argv)
{
    int counts[2];
    if (argc < 3 || pipe(counts) != 0)
        return 2;
    double seconds = atof(argv[1]), start = now() + 2;
    for (int i = 2; i < argc; i++)
        if (fork() == 0) {
            size_t n = append_until(argv[i], start, start + seconds);
            _exit(write(counts[1], &n, sizeof n) != (ssize_t)sizeof n);
        }
    close(counts[1]);
    size_t n, total = 0;
    while (read(counts[0], &n, sizeof n) == (ssize_t)sizeof n)
        total += n;
    while (wait(NULL) > 0)
        ;
    printf("%.1f\n", (double)total / seconds);
    return 0;
}
