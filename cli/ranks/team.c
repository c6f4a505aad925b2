#include "ranks/team.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "ranks/mpi_team.h"
#include "recipe/address_space.h"
#include "support/program.h"

#define STAND_IN "LINEAGE_STAND_IN"

static volatile sig_atomic_t worker; /* global, because a signal handler gets no context */

static void pass_on(int number)
{
    int before = errno;
    kill((pid_t)worker, number);
    errno = before;
}

static void handle(bool own)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = own ? pass_on : SIG_DFL};
    sigset_t set;
    sigemptyset(&set);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        sigaddset(&set, signals[i]);
        if (own)
            sigaction(signals[i], &action, NULL);
    }
    sigprocmask(own ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

static int wait_for_worker(void)
{
    int state = 0;
    handle(true);
    while (waitpid((pid_t)worker, &state, 0) < 0)
        if (errno != EINTR)
            return cli_error(CLI_SYSTEM, "cannot wait for the process that watches: %s", strerror(errno));
    return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

/* Signals are blocked across the fork, so that a signal that arrives during the fork is also passed on to the child. */
int stand_in_fork(void)
{
    char self[32];
    sigset_t before;
    snprintf(self, sizeof self, "%ld", (long)getpid());
    fflush(NULL);
    sigprocmask(SIG_BLOCK, NULL, &before);
    handle(false);
    worker = fork();
    if (worker > 0)
        return wait_for_worker();
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (worker < 0)
        return cli_error(CLI_SYSTEM, "cannot fork: %s", strerror(errno));
    setsid();
    setenv(STAND_IN, self, 1);
    return CLI_GO_ON;
}

/* Returns the pid of the process that stands in for this process or for its parent; 0 if there is none. */
static long stand_in_pid(void)
{
    const char *text = getenv(STAND_IN);
    char *end;
    long pid = text ? strtol(text, &end, 10) : 0;
    return text && *text && !*end && pid > 0 && pid <= INT_MAX ? pid : 0;
}

#define MODULE "lineage-mpi.so"

/* Uses RTLD_GLOBAL, because Open MPI later loads plugins that need the symbols of its libraries. */
static void *load(char *why, size_t size)
{
    char path[PATH_MAX];
    if (!program_beside(path, MODULE)) {
        snprintf(why, size, "the path of this program is not known");
        return NULL;
    }
    if (access(path, F_OK) != 0) {
        snprintf(why, size, "this lineage is built without MPI, or its package lineage-mpi is not installed (there is no %.300s)",
                 path);
        return NULL;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        snprintf(why, size, "%.400s", dlerror());
    return library;
}

bool team_is_there(char *why, size_t size)
{
    void *library = load(why, size);
    if (library)
        dlclose(library);
    return library != NULL;
}

/* Variables of an earlier launch may be left in the environment: then MPI starts this process alone, and work that is divided
 * among the ranks of the environment would address ranks that do not exist. */
static bool is_the_launch(const struct trainer_comm *comm, int rank, int size, struct trainer_error *err)
{
    if (comm->rank == rank && comm->size == size)
        return true;
    snprintf(err->text, sizeof err->text,
             "the environment says rank %d of %d, and MPI says rank %d of %d: variables of an earlier launch are left "
             "(OMPI_COMM_WORLD_SIZE, PMIX_RANK); unset them, or start with mpirun",
             rank, size, comm->rank, comm->size);
    return false;
}

enum trainer_status team_open(struct team *team, int rank, int size, struct trainer_error *err)
{
    mpi_team_open_fn *open;
    *team = (struct team){.library = load(err->text, sizeof err->text)};
    err->status = TRAINER_ELOST;
    if (!team->library)
        return TRAINER_ELOST;
    if (cli_find_function(&open, sizeof open, team->library, "mpi_team_open") &&
        cli_find_function(&team->close, sizeof team->close, team->library, "mpi_team_close") &&
        open(&team->comm, err->text, sizeof err->text)) {
        if (is_the_launch(&team->comm, rank, size, err))
            return TRAINER_OK;
        team->close(&team->comm);
    }
    return TRAINER_ELOST;
}

/* The library stays loaded: Open MPI has registered functions in it that run when the process exits. */
void team_close(struct team *team, bool well)
{
    if (team->library && well)
        team->close(&team->comm);
}

static enum trainer_status lost(struct trainer_error *err, const char *what)
{
    err->status = TRAINER_ELOST;
    snprintf(err->text, sizeof err->text, "the other processes of the run cannot be reached (%s)", what);
    return TRAINER_ELOST;
}

/* Two ranks with equal versions interpret the bytes of a recipe in the same way. */
struct version {
    char text[64];
    size_t recipe_bytes;
};

/* A recipe is sent as the bytes of its struct, because the ranks run the same program. */
enum trainer_status team_share(struct team *team, struct trainer_recipe *recipe, struct trainer_error *err)
{
    const struct trainer_comm *comm = &team->comm;
    struct version mine = {.recipe_bytes = sizeof *recipe}, first;
    snprintf(mine.text, sizeof mine.text, "%s", LINEAGE_VERSION);
    first = mine;
    if (!comm->broadcast(comm->context, 0, &first, sizeof first))
        return lost(err, "version");
    if (strcmp(mine.text, first.text) != 0 || mine.recipe_bytes != first.recipe_bytes) {
        err->status = TRAINER_EINVAL;
        snprintf(err->text, sizeof err->text, "lineage is version %s here and %.60s on rank 0", mine.text, first.text);
        return TRAINER_EINVAL;
    }
    return comm->broadcast(comm->context, 0, recipe, sizeof *recipe) ? TRAINER_OK : lost(err, "recipe");
}

struct member {
    long pid;
    char host[HOST_NAME_MAX + 1];
};

/* The list includes the process that stands in for rank 0. Processes on other machines have a name but no pid. */
static json_t *peers_line(const struct member *members, int size)
{
    json_t *peers = json_array();
    if (stand_in_pid())
        json_array_append_new(peers, json_pack("{s:s, s:I}", "name", "rank 0", "pid", (json_int_t)stand_in_pid()));
    for (int r = 1; r < size; r++) {
        bool here = strcmp(members[r].host, members[0].host) == 0;
        json_t *peer = json_pack("{s:o}", "name", json_sprintf("rank %d", r));
        json_object_set_new(peer, here ? "pid" : "host",
                            here ? json_integer((json_int_t)members[r].pid) : cli_json_text(members[r].host));
        json_array_append_new(peers, peer);
    }
    return json_pack("{s:o, s:i}", "peers", peers, "ranks", size);
}

json_t *team_peers(struct team *team)
{
    const struct trainer_comm *comm = &team->comm;
    size_t start[TRAINER_RANKS_MAX + 1];
    struct member *members = calloc((size_t)comm->size, sizeof *members);
    json_t *line = NULL;
    if (!members)
        return NULL;
    for (int r = 0; r <= comm->size; r++)
        start[r] = (size_t)r * sizeof *members;
    members[comm->rank].pid = getpid();
    gethostname(members[comm->rank].host, sizeof members->host - 1);
    if (comm->gather(comm->context, members, start) && comm->rank == 0)
        line = peers_line(members, comm->size);
    free(members);
    return line;
}

/*
 * Blocks TERM, which an interrupted launcher sends to all ranks a second before KILL. So if a rank is gone before its
 * launcher has killed it, the rank was lost (cli/trial/trial_watch.c).
 */
static void be_quiet(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static enum trainer_status work(struct team *team, struct trainer_error *err)
{
    struct trainer_recipe recipe;
    const struct trainer_process process = {.comm = &team->comm};
    json_decref(team_peers(team));
    enum trainer_status status = team_share(team, &recipe, err);
    if (status == TRAINER_OK)
        address_space_limit(&recipe);
    return status == TRAINER_OK ? trainer_run_process(&recipe, NULL, &process, err) : status;
}

/* Rank 0 reports failures that all ranks share; another rank reports only failures that rank 0 cannot know of. */
int team_work(int rank, int size)
{
    struct team team;
    struct trainer_error err;
    be_quiet();
    enum trainer_status opened = team_open(&team, rank, size, &err), status = opened;
    if (opened == TRAINER_OK)
        status = work(&team, &err);
    team_close(&team, opened == TRAINER_OK && status != TRAINER_ELOST);
    if (opened != TRAINER_OK || status == TRAINER_ELOST)
        return cli_error(CLI_SYSTEM, "rank %d: %s", rank, err.text);
    return status == TRAINER_OK ? CLI_OK : CLI_NO;
}
