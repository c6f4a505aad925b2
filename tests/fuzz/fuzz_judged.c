/*
 * fuzz_judged.c: reads arbitrary bytes as the files of a judge: its cache, its wording, and a trajectory. A flag that is
 * found in the cache is GOOD or BAD, and a trajectory that is accepted becomes a prompt.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "judge/cache.h"
#include "judge/trajectory.h"
#include "judge/wording.h"
#include "support/files.h"

enum { STEPS = 3 };

static void read_cache(const char *path)
{
    char why[CACHE_WHY_MAX] = "";
    uint8_t flags[STEPS];
    json_t *analysis;
    struct cache *cache = cache_open(path, why);
    fuzz_assert(cache || why[0]);
    if (!cache)
        return;
    if (cache_find(cache, "00000000000000000000000000000000", flags, STEPS, &analysis)) {
        for (size_t i = 0; i < STEPS; i++)
            fuzz_assert(flags[i] <= 1);
        fuzz_assert(!analysis || json_array_size(analysis) == STEPS);
        json_decref(analysis);
    }
    fuzz_assert(cache_add(cache, "0123456789abcdef0123456789abcdef", (const uint8_t[]){0, 1, 0}, STEPS, "m", "w", NULL) &&
                cache_refresh(cache));
    fuzz_assert(cache_find(cache, "0123456789abcdef0123456789abcdef", flags, STEPS, &analysis));
    json_decref(analysis);
    cache_close(cache);
}

static void read_trajectory(const char *bytes, size_t size, const json_t *wording)
{
    char why[TRAJECTORY_WHY_MAX] = "";
    json_t *trajectory = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
    if (trajectory && trajectory_check(trajectory, why)) {
        json_t *messages = wording_messages(wording, trajectory);
        fuzz_assert(messages && trajectory_steps(trajectory) <= TRAJECTORY_STEPS_MAX);
        trajectory_succeeded(trajectory);
        json_decref(messages);
    } else {
        fuzz_assert(!trajectory || (why[0] && !strchr(why, '\n')));
    }
    json_decref(trajectory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char why[WORDING_WHY_MAX] = "", *dir = make_dir(), *path = join(dir, "file");
    write_file(path, data, size);
    json_t *wording = wording_open(path, why), *built_in = wording_open(NULL, why);
    fuzz_assert(built_in != NULL);
    read_trajectory((const char *)data, size, wording ? wording : built_in);
    read_cache(path);
    json_decref(wording);
    json_decref(built_in);
    free(path);
    remove_dir(dir);
    return 0;
}
