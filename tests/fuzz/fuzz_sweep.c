/*
 * fuzz_sweep.c: reads arbitrary bytes as a sweep file, as an answer of a planner, and as a proposal of that answer for a
 * sweep with ranges. Each trial of a sweep that is accepted has a name and a key.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "plan/planning.h"
#include "support/files.h"
#include "recipe_night/night_recipes.h"
#include "sweep/night_sweep.h"

static const char ranges[] = "{\"command\": [\"true\", \"{lr}\"], \"metric\": \"loss\", \"direction\": \"lower\","
                             " \"ranges\": {\"lr\": {\"low\": 0.001, \"high\": 1, \"log\": true},"
                             " \"opt\": [\"adam\", \"sgd\"]}}";

static void check_trial(const struct night_trial *trial)
{
    fuzz_assert(trial->name && (trial->recipe != NULL) != (trial->command != NULL));
}

static void read_sweep(const char *path)
{
    struct night_sweep sweep = {.trainer = &night_recipes};
    if (night_sweep_read(&sweep, path) == CLI_GO_ON)
        for (size_t i = 0; i < sweep.n; i++)
            check_trial(&sweep.list[i]);
    night_sweep_release(&sweep);
}

static void make_trials(const char *path, const json_t *proposals)
{
    struct night_sweep sweep = {.trainer = &night_recipes};
    size_t i;
    json_t *proposal;
    if (night_sweep_read(&sweep, path) == CLI_GO_ON)
        json_array_foreach(proposals, i, proposal) {
            struct night_trial trial = {0};
            char why[NIGHT_WHY_MAX] = "";
            if (night_sweep_make(&trial, &sweep, proposal, why))
                check_trial(&trial);
            else
                fuzz_assert(why[0] && memchr(why, 0, sizeof why));
            night_trial_release(&trial);
        }
    night_sweep_release(&sweep);
}

static void read_answer(const char *path, const uint8_t *data, size_t size)
{
    char *answer = malloc(size + 1);
    json_t *problems = json_array();
    fuzz_assert(answer && problems);
    memcpy(answer, data, size);
    answer[size] = '\0';
    json_t *proposals = planner_answer_read(answer, problems);
    fuzz_assert(json_is_array(proposals));
    make_trials(path, proposals);
    json_decref(proposals);
    json_decref(problems);
    free(answer);
}

/* Messages for a person are not tested here, and would fill the screen. */
static void be_silent(void)
{
    static bool silent;
    if (silent || getenv("FUZZ_MESSAGES"))
        return;
    silent = freopen("/dev/null", "w", stderr) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *dir = make_dir(), *file = join(dir, "sweep.json"), *other = join(dir, "ranges.json");
    be_silent();
    write_file(file, data, size);
    write_file(other, ranges, sizeof ranges - 1);
    read_sweep(file);
    read_answer(other, data, size);
    free(file);
    free(other);
    remove_dir(dir);
    return 0;
}
