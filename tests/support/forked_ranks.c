/*
 * forked_ranks.c: see forked_ranks.h. The parent never trains, not even alone: if it started threads, its children
 * could not start any.
 */
#include "support/forked_ranks.h"

#include "support/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "support/told_numbers.h"

/* ---- a communicator of sockets -------------------------------------------------------------- */

struct mesh {
    int rank, size;
    bool broken;
    int (*fd)[TRAINER_RANKS_MAX]; /* [size][size] fd[a][b] is rank a's socket to rank b */
};

static bool put_all(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = send(fd, bytes, n, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

static bool get_all(int fd, char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t done = read(fd, bytes, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return false;
        bytes += done;
        n -= (size_t)done;
    }
    return true;
}

static bool mesh_send(void *context, int to, const void *bytes, size_t n)
{
    const struct mesh *mesh = context;
    return !mesh->broken && put_all(mesh->fd[mesh->rank][to], bytes, n);
}

static bool mesh_receive(void *context, int from, void *bytes, size_t n)
{
    const struct mesh *mesh = context;
    return !mesh->broken && get_all(mesh->fd[mesh->rank][from], bytes, n);
}

static bool mesh_broadcast(void *context, int from, void *bytes, size_t n)
{
    const struct mesh *mesh = context;
    if (mesh->rank != from)
        return mesh_receive(context, from, bytes, n);
    bool well = true;
    for (int to = 0; to < mesh->size && well; to++)
        well = to == from || mesh_send(context, to, bytes, n);
    return well;
}

static bool mesh_gather(void *context, void *bytes, const size_t *start)
{
    const struct mesh *mesh = context;
    bool well = true;
    for (int r = 0; r < mesh->size && well; r++)
        well = mesh_broadcast(context, r, (char *)bytes + start[r], start[r + 1] - start[r]);
    return well;
}

static void open_mesh(struct mesh *mesh, int size)
{
    *mesh = (struct mesh){.size = size, .fd = calloc((size_t)size, sizeof *mesh->fd)};
    for (int a = 0; a < size; a++)
        for (int b = a + 1; b < size; b++) {
            int ends[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
            mesh->fd[a][b] = ends[0];
            mesh->fd[b][a] = ends[1];
        }
}

/*
 * Closes the sockets of all ranks except `but`. A rank keeps only its own open, so that the others notice when it
 * dies.
 */
static void close_mesh(struct mesh *mesh, int but)
{
    for (int a = 0; a < mesh->size; a++)
        for (int b = 0; b < mesh->size; b++)
            if (a != b && a != but)
                close(mesh->fd[a][b]);
    if (but < 0)
        free(mesh->fd);
}

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

/* ---- the ranks ------------------------------------------------------------------------------ */

/* What a rank sends to the parent process. */
struct told {
    enum trainer_status status;
    char error[TRAINER_ERROR_TEXT_MAX];
};

struct place {
    char *dir, *story, *checkpoint;
};

static void run_rank(const struct trainer_recipe *given, const struct rank_plan *plan, struct mesh *mesh,
                     const struct place *place, struct told *told)
{
    struct trainer_recipe recipe = *given;
    struct trainer_error err = {TRAINER_OK, ""};
    struct trainer_comm comm = {mesh->rank, plan->size, mesh, mesh_broadcast, mesh_gather, mesh_send, mesh_receive};
    struct trainer_process process = {
        .comm = plan->size ? &comm : NULL, .state = mesh->rank == 0 ? plan->state : NULL, .state_every = 1};
    struct listener listener = {.stop_at = plan->stop_at};
    struct trainer_run_options options = {.checkpoint = place->checkpoint,
                                          .event = listen_to,
                                          .context = &listener,
                                          .judge = judge_by_turns,
                                          .judge_context = &listener};
    if (plan->threads)
        recipe.threads = plan->threads[mesh->rank];
    recipe.seed += plan->odd_seed && mesh->rank == plan->odd_seed;
    mesh->broken = plan->fails && mesh->rank == plan->fails;
    if (mesh->rank == 0)
        listener.out = fopen(place->story, "w");
    told->status = plan->size || plan->state ? trainer_run_process(&recipe, mesh->rank == 0 ? &options : NULL, &process, &err)
                                             : trainer_run(&recipe, &options, &err);
    memcpy(told->error, err.text, sizeof told->error);
    if (listener.out)
        fclose(listener.out);
}

static pid_t start_rank(const struct trainer_recipe *recipe, const struct rank_plan *plan, struct mesh *mesh, int rank,
                        const struct place *place, struct told *told)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close_mesh(mesh, rank);
        mesh->rank = rank;
        run_rank(recipe, plan, mesh, place, &told[rank]);
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static void wait_for(pid_t pid)
{
    int state = 0;
    while (waitpid(pid, &state, 0) < 0 && errno == EINTR)
        continue;
    assert_int_equal(state, 0);
}

static void take(struct rank_outcome *outcome, const struct place *place, const struct told *told, int size)
{
    size_t length;
    outcome->status = told[0].status;
    outcome->agree = true;
    for (int rank = 0; rank < size; rank++)
        outcome->agree = outcome->agree && told[rank].status == told[0].status;
    memcpy(outcome->error, told[0].error, sizeof outcome->error);
    memcpy(outcome->other, told[size - 1].error, sizeof outcome->other);
    outcome->story = read_file(place->story, &length);
    if (file_exists(place->checkpoint))
        outcome->checkpoint = read_file(place->checkpoint, &outcome->checkpoint_size);
}

struct rank_outcome run_ranks(const struct trainer_recipe *recipe, const struct rank_plan *plan)
{
    struct rank_outcome outcome = {0};
    struct place place = {.dir = make_dir()};
    struct mesh mesh;
    pid_t pids[TRAINER_RANKS_MAX];
    int size = plan->size ? plan->size : 1;
    size_t bytes = (size_t)size * sizeof(struct told);
    struct told *told = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(told != MAP_FAILED);
    place.story = join(place.dir, "story");
    place.checkpoint = join(place.dir, "policy");
    open_mesh(&mesh, size);
    for (int rank = 0; rank < size; rank++)
        pids[rank] = start_rank(recipe, plan, &mesh, rank, &place, told);
    close_mesh(&mesh, -1);
    for (int rank = 0; rank < size; rank++)
        wait_for(pids[rank]);
    take(&outcome, &place, told, size);
    munmap(told, bytes);
    remove_dir(place.dir);
    free(place.story);
    free(place.checkpoint);
    return outcome;
}

void rank_outcome_release(struct rank_outcome *outcome)
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
