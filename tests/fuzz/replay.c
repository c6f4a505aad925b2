/*
 * replay.c: runs a fuzz target on every file of the given directories and on simple mutations of
 * each, for machines without libFuzzer. A failed assertion ends the process.
 *
 * usage: fuzz_NAME MUTATIONS DIR..      (MUTATIONS: of each file; the same ones in each run)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "support/files.h"

enum { ROOM = 1 << 16 };

/* Fuzz targets with structured input define their own mutator. */
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static void mutate(uint8_t *data, size_t size, unsigned *seed)
{
    for (int i = 0; size && i < 1 + rand_r(seed) % 4; i++)
        data[(size_t)rand_r(seed) % size] = (uint8_t)rand_r(seed);
}

static void run_mutations(int n_mutations, const char *data, size_t size, unsigned *seed)
{
    for (int i = 0; i < n_mutations; i++) {
        size_t n = i % 4 == 0 && size ? (size_t)rand_r(seed) % size : size; /* truncates every fourth copy */
        uint8_t *copy = malloc(n + 1);
        memcpy(copy, data, n);
        mutate(copy, n, seed);
        LLVMFuzzerTestOneInput(copy, n);
        free(copy);
    }
}

static void run_custom_mutations(int n_mutations, const char *data, size_t size, unsigned *seed)
{
    for (int i = 0; LLVMFuzzerCustomMutator && i < n_mutations / 2; i++) {
        uint8_t *copy = malloc(size + ROOM);
        memcpy(copy, data, size);
        size_t n = LLVMFuzzerCustomMutator(copy, size, size + ROOM, (unsigned)rand_r(seed));
        if (n)
            LLVMFuzzerTestOneInput(copy, n);
        free(copy);
    }
}

int main(int argc, char **argv)
{
    unsigned n_files = 0, seed = 1;
    int n_mutations = argc > 1 ? atoi(argv[1]) : 0;
    for (int i = 2; i < argc; i++) {
        char **names = list_dir(argv[i], "");
        for (size_t j = 0; names && names[j]; j++) {
            size_t size;
            if (names[j][0] == '.')
                continue;
            char *path = join(argv[i], names[j]), *data = read_file(path, &size);
            LLVMFuzzerTestOneInput((const uint8_t *)data, size);
            run_mutations(n_mutations, data, size, &seed);
            run_custom_mutations(n_mutations, data, size, &seed);
            n_files++;
            free(data);
            free(path);
        }
        free_list(names);
    }
    printf("%u files, %d mutations each\n", n_files, n_mutations);
    return n_files == 0;
}
