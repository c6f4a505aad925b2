/*
 * marathon.c: kills processes N times, in rounds; each round has its own store.
 *
 * usage: marathon KILLS [SEED [LINEAGE]]
 *
 * A round that finds a broken promise prints its seed and keeps its store; then the next round runs. SIGTERM ends the
 * program after the current round. The same seed gives the same actions, but the scheduler determines the instants of
 * the kills.
 */
#include "marathon.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/files.h"
#include "support/last_words.h"

enum { SLOTS = 3, KILLS_PER_ROUND = 120, HANGS = 120 };

struct round {
    struct arena_of_war war;
    uint64_t seed;
    struct part *parts; /* one per actor, shared with it */
    pid_t slots[SLOTS];
    time_t since[SLOTS];
    unsigned (*deaths)[N_DEATHS]; /* kills counted by the action that they interrupted */
    unsigned kills, failures;
};

static const char *const deeds[N_DEEDS] = {"between two deeds",
                                           "open",
                                           "append",
                                           "append with files",
                                           "read",
                                           "render to a file",
                                           "rebuild",
                                           "verify",
                                           "import",
                                           "another tool's append",
                                           "lineage append",
                                           "lineage import",
                                           "lineage best, query",
                                           "lineage render",
                                           "lineage rebuild",
                                           "lineage verify",
                                           "lineage night"};

static void start(struct round *round, int slot)
{
    uint64_t seed = draw(&round->seed);
    fflush(stdout);
    round->parts[slot] = (struct part){0};
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        setpgid(0, 0); /* so that killing the actor also kills a command that it runs */
        leave(act(&round->war, &round->parts[slot], seed, 30));
    }
    setpgid(child, child);
    round->slots[slot] = child;
    round->since[slot] = time(NULL);
}

static void bury(struct round *round, int slot, int state)
{
    const struct part *part = &round->parts[slot];
    kill(-round->slots[slot], SIGKILL);
    if (WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL) {
        round->kills++;
        round->deaths[part->deed][part->death]++;
    } else if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        round->failures++;
    if (WIFSIGNALED(state) && WTERMSIG(state) != SIGKILL)
        printf("FAIL an actor ended by signal %d in %s\n", WTERMSIG(state), deeds[part->deed]);
    /* wait until the actor's command is gone too, before another actor takes the slot */
    while (waitpid(-round->slots[slot], NULL, 0) > 0)
        ;
    round->slots[slot] = 0;
}

/*
 * Reaps dead children. Among them are trials of a night, which have their own process group and die with their
 * parent.
 */
static void wait_for_the_dead(struct round *round)
{
    int state, slot;
    pid_t dead;
    while ((dead = waitpid(-1, &state, WNOHANG)) > 0) {
        for (slot = 0; slot < SLOTS && round->slots[slot] != dead; slot++)
            ;
        if (slot < SLOTS)
            bury(round, slot, state);
    }
}

static void look_after(struct round *round, int slot)
{
    wait_for_the_dead(round);
    if (round->slots[slot] && time(NULL) - round->since[slot] > HANGS) {
        printf("FAIL an actor hangs in %s\n", deeds[round->parts[slot].deed]);
        round->failures++;
        kill(-round->slots[slot], SIGKILL);
        round->since[slot] = time(NULL);
    }
}

static void kill_one(struct round *round)
{
    int slot = (int)(draw(&round->seed) % SLOTS), state;
    if (!round->slots[slot])
        return;
    kill(-round->slots[slot], SIGKILL);
    if (waitpid(round->slots[slot], &state, 0) == round->slots[slot])
        bury(round, slot, state);
}

static void fight(struct round *round, unsigned kills)
{
    while (round->kills < kills && !round->failures) {
        for (int i = 0; i < SLOTS; i++) {
            look_after(round, i);
            if (!round->slots[i])
                start(round, i);
        }
        usleep((useconds_t)(draw(&round->seed) % (draw(&round->seed) % 4 ? 2500 : 20000)));
        kill_one(round);
    }
    for (int i = 0; i < SLOTS; i++) /* let the last actors finish */
        while (round->slots[i]) {
            look_after(round, i);
            usleep(1000);
        }
}

/* Writes the sweep file of a night whose trials take a few hundredths of a second. */
static void write_sweep(const char *sweep, const char *dir)
{
    static const char recipe[] =
        "{\"name\": \"small\", \"threads\": 1, \"world\": {\"regions\": 4, \"region_size\": 3, \"relations\": 6},\n"
        " \"model\": {\"width\": 8, \"mlp\": 16}, \"start\": {\"warm_start\": {\"steps\": 0}},\n"
        " \"environments\": [{\"k_min\": 1, \"k_max\": 1, \"max_turns\": 2, \"questions\": 2}],\n"
        " \"training\": {\"iterations\": 1, \"group_size\": 2, \"minibatch\": 4},\n"
        " \"evaluation\": {\"questions\": 4, \"every\": 0, \"seeds\": 1}}\n";
    char *path = join(dir, "small.json"), text[200];
    int n = snprintf(text, sizeof text, "{\"name\": \"war\", \"recipe\": \"small.json\", \"grid\": {\"seed\": [");
    for (int i = 0; i < NIGHT_TRIALS; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%d", i ? ", " : "", i);
    n += snprintf(text + n, sizeof text - (size_t)n, "]}}\n");
    write_file(sweep, text, (size_t)n);
    write_file(path, recipe, sizeof recipe - 1);
    free(path);
}

static void prepare(const struct arena_of_war *war)
{
    static const char knowledge[] = "# anything\n\n## Key Insights\n\nwhat a person wrote\n";
    static const char settings[] = "{\"direction\": \"higher\"}\n"; /* a night refuses a store without a direction */
    char *path = join(war->dir, "KNOWLEDGE.md"), *file = join(war->work, "train.py");
    char *config = join(war->dir, "lineage.json");
    write_file(path, knowledge, sizeof knowledge - 1);
    write_file(file, "print(1)\n", 9);
    write_file(config, settings, sizeof settings - 1);
    free(path);
    free(file);
    free(config);
}

/* The settings and totals of all rounds. */
struct marathon {
    const char *command;
    bool nights;
    struct part *parts;
    unsigned deaths[N_DEEDS][N_DEATHS];
    unsigned kills, rounds, failures, bad_rounds;
};

static void run_round(struct marathon *marathon, uint64_t seed, unsigned kills)
{
    char *dir = make_dir(), *work = make_dir(), *beside = make_dir(), *acks = join(beside, "acks");
    char *sweep = join(beside, "war.json");
    struct round round = {.seed = seed,
                          .parts = marathon->parts,
                          .deaths = marathon->deaths,
                          .war = {.dir = dir,
                                  .acks = acks,
                                  .work = work,
                                  .command = marathon->command,
                                  .sweep = marathon->nights ? sweep : NULL,
                                  .dirty = seed % 4 == 3,
                                  .long_rows = seed % 3 == 2}};
    prepare(&round.war);
    write_sweep(sweep, beside);
    fight(&round, kills);
    unsigned broken = round.failures + check_store(&round.war);
    if (broken)
        printf("FAIL round of seed %llu (%s, %s rows): store left in %s, acknowledgements in %s\n", (unsigned long long)seed,
               round.war.dirty ? "dirty" : "clean", round.war.long_rows ? "long" : "short", dir, beside);
    else {
        remove_dir(dir);
        remove_dir(beside);
        dir = beside = NULL;
    }
    remove_dir(work);
    free(acks);
    free(sweep);
    marathon->failures += broken;
    marathon->bad_rounds += broken != 0;
    marathon->kills += round.kills;
    marathon->rounds++;
}

static void print_deaths(const struct marathon *marathon)
{
    printf("%-22s %15s %10s %13s\n", "killed in", "at any instant", "at a call", "inside write");
    for (int i = 0; i < N_DEEDS; i++) {
        const unsigned *n = marathon->deaths[i];
        if (n[AT_ANY_INSTANT] + n[AT_A_CALL] + n[INSIDE_WRITE])
            printf("%-22s %15u %10u %13u\n", deeds[i], n[AT_ANY_INSTANT], n[AT_A_CALL], n[INSIDE_WRITE]);
    }
}

static volatile sig_atomic_t asked_to_end;

static void end_soon(int signal)
{
    (void)signal;
    asked_to_end = 1;
}

static bool has_trainer(const char *command)
{
    char path[1000];
    return command && snprintf(path, sizeof path, "%s-train", command) < (int)sizeof path && access(path, X_OK) == 0;
}

int main(int argc, char **argv)
{
    unsigned wanted = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : KILLS_PER_ROUND;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    struct marathon marathon = {.command = argc > 3 ? argv[3] : NULL};
    marathon.nights = has_trainer(marathon.command);
    marathon.parts = mmap(NULL, SLOTS * sizeof *marathon.parts, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (marathon.parts == MAP_FAILED)
        return 2;
    signal(SIGTERM, end_soon); /* SIGTERM: finish the current round and print the totals */
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* this process also reaps orphans: the children of killed children */
    while (marathon.kills < wanted && marathon.bad_rounds < 10 && !asked_to_end) {
        unsigned left = wanted - marathon.kills;
        run_round(&marathon, seed + marathon.rounds, left < KILLS_PER_ROUND ? left : KILLS_PER_ROUND);
        if (marathon.rounds % 50 == 0)
            printf("%u kills in %u rounds, %u failures\n", marathon.kills, marathon.rounds, marathon.failures);
        fflush(stdout);
    }
    print_deaths(&marathon);
    printf("%u kills in %u rounds from seed %llu, %u failures\n", marathon.kills, marathon.rounds, (unsigned long long)seed,
           marathon.failures);
    return marathon.failures != 0;
}
