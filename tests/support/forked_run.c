/*
 * forked_run.c: see forked_run.h. The parent never trains, not even alone: if it started threads, its children
 * could not start any.
 */
#include "support/forked_run.h"

#include "support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "support/told_numbers.h"

/* ---- listening ------------------------------------------------------------------------------ */

struct listener {
    FILE *out;
    int32_t stop_at;
    size_t judged;
};

/*
 * A judge whose answers depend on earlier requests, as those of a judge over a network may: asked twice, it answers
 * differently.
 */
static enum trainer_status judge_by_turns(void *context, struct trainer_judge_batch *batch, struct trainer_error *err)
{
    struct listener *listener = context;
    (void)err;
    for (size_t i = 0; i < batch->n; i++) {
        batch->mark[i] = ++listener->judged % 5 ? TRAINER_JUDGED : TRAINER_JUDGE_REFUSED;
        for (size_t k = batch->start[i]; k < batch->start[i + 1]; k++)
            batch->flags[k] = listener->judged % 2;
    }
    return TRAINER_OK;
}

static void put_gains(FILE *out, const struct trainer_turn_gain *gain, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        fprintf(out, " gain %a %a %llu", gain[i].mean, gain[i].std, (unsigned long long)gain[i].count);
}

static void put_iteration(FILE *out, const struct trainer_iteration *i)
{
    double numbers[TOLD_NUMBERS_MAX];
    size_t n = told_numbers(numbers, i);
    for (size_t k = 0; k < n; k++)
        fprintf(out, " %a", numbers[k]);
    put_gains(out, i->gain, i->n_gain);
}

static bool listen_to(void *context, const struct trainer_event *e)
{
    struct listener *listener = context;
    fprintf(listener->out, "%d %d %d %a %a %a %a %a %a %a", (int)e->kind, (int)e->step, (int)e->steps, e->loss, e->score,
            e->score_std, e->score_greedy, e->area, e->clip_scale_mean, e->clip_scale_std);
    fprintf(listener->out, " %a %a %a %a %a", e->entropy, e->clip_fraction, e->alpha_used, e->values.explained_variance,
            e->values.loss);
    put_gains(listener->out, e->gain, e->n_gain);
    if (e->iteration)
        put_iteration(listener->out, e->iteration);
    fputc('\n', listener->out);
    return !(listener->stop_at && e->kind == TRAINER_EVENT_ITERATION && e->step >= listener->stop_at);
}

/* ---- the run ------------------------------------------------------------------------------- */

/* What the child sends to the parent process. */
struct told {
    enum trainer_status status;
    char error[TRAINER_ERROR_TEXT_MAX];
};

struct place {
    char *dir, *story, *checkpoint;
};

static void run_here(const struct trainer_recipe *recipe, const struct run_plan *plan, const struct place *place,
                     struct told *told)
{
    struct trainer_error err = {TRAINER_OK, ""};
    struct trainer_process process = {.state = plan->state, .state_every = 1};
    struct listener listener = {.stop_at = plan->stop_at, .out = fopen(place->story, "w")};
    struct trainer_run_options options = {.checkpoint = place->checkpoint,
                                          .event = listen_to,
                                          .context = &listener,
                                          .judge = judge_by_turns,
                                          .judge_context = &listener};
    told->status = plan->state ? trainer_run_process(recipe, &options, &process, &err) : trainer_run(recipe, &options, &err);
    memcpy(told->error, err.text, sizeof told->error);
    fclose(listener.out);
}

static void wait_for(pid_t pid)
{
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
        continue;
    assert_int_equal(state, 0);
}

struct run_outcome run_forked(const struct trainer_recipe *recipe, const struct run_plan *plan)
{
    struct run_outcome outcome = {0};
    struct place place = {.dir = make_dir()};
    size_t length;
    struct told *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    place.story = join(place.dir, "story");
    place.checkpoint = join(place.dir, "policy");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        run_here(recipe, plan, &place, told);
        _exit(0);
    }
    assert_true(pid > 0);
    wait_for(pid);
    outcome.status = told->status;
    memcpy(outcome.error, told->error, sizeof outcome.error);
    outcome.story = read_file(place.story, &length);
    if (file_exists(place.checkpoint))
        outcome.checkpoint = read_file(place.checkpoint, &outcome.checkpoint_size);
    munmap(told, sizeof *told);
    remove_dir(place.dir);
    free(place.story);
    free(place.checkpoint);
    return outcome;
}

void run_outcome_release(struct run_outcome *outcome)
{
    free(outcome->story);
    free(outcome->checkpoint);
}

void in_a_child(void (*work)(void *context), void *context)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        work(context);
        _exit(0);
    }
    wait_for(pid);
}
