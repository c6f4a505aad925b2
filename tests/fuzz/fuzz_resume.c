/*
 * fuzz_resume.c: overwrites a part of the state of an interrupted run with arbitrary bytes and resumes from it. The first
 * byte says whether the digest is made right, which anybody can do, and the next three where the bytes go.
 *
 * The source of the reader is included, because only it knows the parts over which the digest is computed.
 */
#include "run/resume_state.c" /* NOLINT */

#include "fuzz.h"
#include "support/files.h"
#include "support/opened_run.h"
#include "support/small_recipe.h"

enum { DONE = 2, OFFSET_BYTES = 4 };

static struct trainer_recipe recipe;
static float *params;
static char *state_path, *sound;
static size_t sound_length;

static void make_state(void)
{
    recipe = small_recipe(TRAINER_HOPWORLD);
    recipe.training.iterations = 6;
    check_recipe(&recipe);
    params = warm_policy(&recipe, 0);
    char *dir = make_dir();
    state_path = join(dir, "run.state");
    free(dir);
    struct run *run = opened_run(&recipe, params);
    run->learner.adam.steps = DONE;
    fuzz_assert(resume_state_save(run, state_path, DONE, NULL) == TRAINER_OK);
    close_run(run);
    sound = read_file(state_path, &sound_length);
}

static void make_right(char *bytes)
{
    struct block blocks[BLOCKS];
    struct file_part parts[BLOCKS + 1] = {{bytes, sizeof(struct state_numbers)}};
    struct run *run = opened_run(&recipe, params);
    size_t n = 1, used = find_blocks(run, blocks), at = parts[0].n;
    for (size_t i = 0; i < used; at += blocks[i].bytes, i++)
        parts[n++] = (struct file_part){bytes + at, blocks[i].bytes};
    uint64_t digest = digest_of(parts, n);
    fuzz_assert(at + sizeof digest == sound_length);
    memcpy(bytes + at, &digest, sizeof digest);
    close_run(run);
}

static void resume(void)
{
    struct trainer_error err = {0};
    int32_t done = -1;
    struct run *run = opened_run(&recipe, params);
    enum trainer_status status = resume_state_load(run, state_path, &done, &err);
    if (status == TRAINER_OK) {
        fuzz_assert(done >= 0 && done <= recipe.training.iterations);
        fuzz_assert(run->totals.n_late >= 0 && run->totals.n_late <= TRAINER_TURNS_MAX);
    } else {
        fuzz_assert(err.text[0] && !strchr(err.text, '\n'));
    }
    close_run(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= OFFSET_BYTES)
        return 0;
    if (!sound)
        make_state();
    char *bytes = malloc(sound_length);
    size_t at = ((size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3]) % sound_length, n = size - OFFSET_BYTES;
    fuzz_assert(bytes != NULL);
    memcpy(bytes, sound, sound_length);
    memcpy(bytes + at, data + OFFSET_BYTES, n < sound_length - at ? n : sound_length - at);
    if (data[0] & 1)
        make_right(bytes);
    write_file(state_path, bytes, sound_length);
    free(bytes);
    resume();
    return 0;
}
