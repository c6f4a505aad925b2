/*
 * claim_bench.c: measures how many times per second a worker can claim and release one trial of a list of N keys, while
 * other workers hold the first 100 keys. It prints one line for each N: claims per second, and the bytes of the list if
 * it were sent whole.
 *
 * usage: claim_bench STORE [SECONDS]
 * STORE is a directory, or a store on a server that `lineage init` made; SECONDS is the time per N (default: 2).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lineage/queue.h>

enum { HELD = 100, LONGEST = 100000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static _Noreturn void give_up(const struct lineage_error *err)
{
    fprintf(stderr, "claim_bench: %s\n", err->text);
    exit(3);
}

static void claim(struct lineage_queue *queue, const uint64_t *keys, size_t n, struct lineage_claim *claim)
{
    const struct lineage_claim_request request = {"bench", keys, n, 600, 0};
    struct lineage_error err = {0};
    size_t which;
    if (lineage_queue_claim(queue, &request, &which, claim, &err) != LINEAGE_OK)
        give_up(&err);
}

static void release(struct lineage_queue *queue, struct lineage_claim *claim, enum lineage_release why)
{
    struct lineage_error err;
    if (lineage_queue_release(queue, claim, why, &err) != LINEAGE_OK)
        give_up(&err);
}

static void measure(struct lineage_queue *queue, const uint64_t *keys, size_t n, double seconds)
{
    struct lineage_claim one;
    size_t claims = 0, bytes = 2;
    double began = now(), took;
    for (size_t i = 0; i < n; i++)
        bytes += (size_t)snprintf(NULL, 0, "%" PRId64 ",", (int64_t)keys[i]);
    do {
        claim(queue, keys, n, &one);
        release(queue, &one, LINEAGE_CLAIM_GIVEN_UP);
        claims++;
    } while ((took = now() - began) < seconds);
    printf("%10zu%14.1f%12.3f%16zu\n", n, (double)claims / took, 1000 * took / (double)claims, bytes);
}

/* Makes keys of twenty digits, like the digests that real keys are. */
static void make_keys(uint64_t *keys)
{
    uint64_t x = 88172645463325252;
    for (size_t i = 0; i < LONGEST; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        keys[i] = x;
    }
}

int main(int argc, char **argv)
{
    static uint64_t keys[LONGEST];
    static struct lineage_claim held[HELD];
    struct lineage_store *store;
    struct lineage_queue *queue;
    struct lineage_error err;
    if (argc < 2) {
        fprintf(stderr, "usage: claim_bench STORE [SECONDS]\n");
        return 2;
    }
    make_keys(keys);
    if (lineage_store_open(&store, argv[1], NULL, &err) != LINEAGE_OK || lineage_queue_open(&queue, store, &err) != LINEAGE_OK)
        give_up(&err);
    for (size_t i = 0; i < HELD; i++)
        claim(queue, keys + i, 1, &held[i]);
    printf("%10s%14s%12s%16s\n", "keys", "per second", "ms each", "bytes of list");
    for (size_t n = 1000; n <= LONGEST; n *= 10)
        measure(queue, keys, n, argc > 2 ? strtod(argv[2], NULL) : 2);
    for (size_t i = 0; i < HELD; i++)
        release(queue, &held[i], LINEAGE_CLAIM_DONE);
    lineage_queue_close(queue);
    lineage_store_close(store);
    return 0;
}
