/*
 * fuzz_checkpoint.c: reads arbitrary bytes as a checkpoint. If the first byte is odd, the digest is made right, so that the
 * checks behind it are reached too. A checkpoint that is accepted has finite parameters, as many as its model needs.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <trainer/policy.h>
#include <xxhash.h>

#include "fuzz.h"
#include "support/files.h"

enum { DIGEST = 8, CAPACITY = 1 << 16 };

static void make_right(uint8_t *bytes, size_t size)
{
    uint64_t digest = size >= DIGEST ? XXH64(bytes, size - DIGEST, 0) : 0;
    for (size_t i = 0; size >= DIGEST && i < DIGEST; i++)
        bytes[size - DIGEST + i] = (uint8_t)(digest >> (8 * i));
}

static void load(const char *path)
{
    struct trainer_checkpoint checkpoint;
    struct trainer_error err = {0};
    char kernels[TRAINER_KERNELS_MAX];
    enum trainer_status status = trainer_checkpoint_load(path, &checkpoint, NULL, 0, &err);
    fuzz_assert(status == TRAINER_OK || (err.text[0] && !strchr(err.text, '\n')));
    if (trainer_checkpoint_kernels(path, kernels, &err) == TRAINER_OK)
        fuzz_assert(memchr(kernels, 0, sizeof kernels) != NULL);
    float *params = calloc(CAPACITY, sizeof *params);
    status = trainer_checkpoint_load(path, &checkpoint, params, CAPACITY, &err);
    fuzz_assert(status == TRAINER_OK || (err.text[0] && !strchr(err.text, '\n')));
    if (status == TRAINER_OK) {
        size_t n = trainer_model_parameters(&checkpoint.model);
        uint64_t steps;
        fuzz_assert(n > 0 && n <= CAPACITY);
        for (size_t i = 0; i < n; i++)
            fuzz_assert(isfinite(params[i]));
        fuzz_assert(trainer_checkpoint_load_as(path, &checkpoint.model, params, &steps, &err) == TRAINER_OK);
    }
    free(params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    uint8_t *bytes = malloc(size);
    char *dir = make_dir(), *path = join(dir, "policy.ckpt");
    fuzz_assert(bytes != NULL);
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 1)
        make_right(bytes, size - 1);
    write_file(path, bytes, size - 1);
    load(path);
    free(path);
    free(bytes);
    remove_dir(dir);
    return 0;
}
