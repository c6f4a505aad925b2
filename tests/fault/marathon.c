/*
 * marathon.c: a war of N kills in rounds, each on a store of its own.
 *
 * usage: marathon KILLS [SEED [LINEAGE]]
 *
 * A round that breaks a promise prints its seed and leaves its store where it is; the rounds go on. The same seed plays
 * the same parts, but the instants of the kills are the scheduler's.
 */
#include "marathon.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
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
    pid_t slots[SLOTS];
    time_t since[SLOTS];
    unsigned kills, failures;
};

static void start(struct round *round, int slot)
{
    uint64_t seed = draw(&round->seed);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        abort();
    if (child == 0) {
        setpgid(0, 0); /* a command that it runs dies with it */
        leave(act(&round->war, seed, 30));
    }
    setpgid(child, child);
    round->slots[slot] = child;
    round->since[slot] = time(NULL);
}

static void bury(struct round *round, int slot, int state)
{
    kill(-round->slots[slot], SIGKILL);
    if (WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL)
        round->kills++;
    else if (!WIFEXITED(state) || WEXITSTATUS(state) != 0)
        round->failures++;
    if (WIFSIGNALED(state) && WTERMSIG(state) != SIGKILL)
        printf("FAIL an actor ended by signal %d\n", WTERMSIG(state));
    while (waitpid(-round->slots[slot], NULL, 0) > 0) /* what it ran is gone too before anybody takes its place */
        ;
    round->slots[slot] = 0;
}

static void look_after(struct round *round, int slot)
{
    int state;
    if (!round->slots[slot])
        return;
    if (waitpid(round->slots[slot], &state, WNOHANG) == round->slots[slot]) {
        bury(round, slot, state);
    } else if (time(NULL) - round->since[slot] > HANGS) {
        printf("FAIL an actor hangs\n");
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
        usleep((useconds_t)(draw(&round->seed) % (draw(&round->seed) % 4 ? 4000 : 40000)));
        kill_one(round);
    }
    for (int i = 0; i < SLOTS; i++) /* the last ones may finish */
        while (round->slots[i]) {
            look_after(round, i);
            usleep(1000);
        }
}

static void prepare(const struct arena_of_war *war)
{
    static const char knowledge[] = "# anything\n\n## Key Insights\n\nwhat a person wrote\n";
    char *path = join(war->dir, "KNOWLEDGE.md"), *file = join(war->work, "train.py");
    write_file(path, knowledge, sizeof knowledge - 1);
    write_file(file, "print(1)\n", 9);
    free(path);
    free(file);
}

/* Returns the kills of the round. */
static unsigned run_round(uint64_t seed, unsigned kills, const char *command, unsigned *failures)
{
    char *dir = make_dir(), *work = make_dir(), *beside = make_dir(), *acks = join(beside, "acks");
    struct round round = {.seed = seed,
                          .war = {.dir = dir, .acks = acks, .work = work, .command = command, .dirty = seed % 4 == 3,
                                  .long_rows = seed % 3 == 2}};
    prepare(&round.war);
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
    *failures += broken;
    fflush(stdout);
    return round.kills;
}

int main(int argc, char **argv)
{
    unsigned wanted = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : KILLS_PER_ROUND, kills = 0, failures = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)time(NULL);
    unsigned rounds = 0, bad = 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1); /* children of killed children are ours to wait for */
    while (kills < wanted && bad < 10) {
        unsigned left = wanted - kills, before = failures;
        kills += run_round(seed + rounds, left < KILLS_PER_ROUND ? left : KILLS_PER_ROUND, argc > 3 ? argv[3] : NULL,
                           &failures);
        bad += failures != before;
        if (++rounds % 50 == 0)
            printf("%u kills in %u rounds, %u failures\n", kills, rounds, failures);
    }
    printf("%u kills in %u rounds from seed %llu, %u failures\n", kills, rounds, (unsigned long long)seed, failures);
    return failures != 0;
}
