/*
 * night.h: a night, one execution of a sweep on a store.
 *
 *   night               the lock on the store, and what a night holds
 *   night_loop          begins trials until all have a row or the hours are used up
 *   next_trial          chooses and claims the next trial
 *   night_turn          runs one trial to its row; night_start finds what it starts from
 *   night_jobs          several trials at once, each in a process of its own
 *   after_trial         KNOWLEDGE.md and the pace after each trial
 *   repeated_failures   ends a night in which trials keep failing alike
 *   night_summary       what is printed at the end
 *
 * The rooms below it: cli/sweep (the trials), cli/share (claims among workers), cli/plan (proposed trials).
 */
#ifndef CLI_NIGHT_H
#define CLI_NIGHT_H

#include "night/repeated_failures.h"
#include "plan/planning.h"

enum { NIGHT_SLOTS_MAX = 64 };

/* The trials that run at once. */
struct night_slots {
    size_t n;       /* at least 1 */
    size_t at_work; /* trials that run now */
    const char *const *const *environments; /* [n] NAME=VALUE of each slot, ended by NULL; NULL: no slot has any */
};

struct night {
    struct trial_list list; /* its store is that of the night */
    struct claims claims;
    struct planning planning;
    struct night_hours hours;
    struct night_slots slots;
    struct repeated_failures failures;
    struct interrupts interrupts;
    int lock;    /* descriptor of the locked directory; -1: not locked */
    bool quiet;  /* print no progress */
    bool report; /* rewrite report.html beside KNOWLEDGE.md */
    const char *const *options; /* words to continue by after `night SWEEP -C DIR`, ended by NULL; NULL: none */
};

/* Sets the defaults. Call it before everything else; the night must not move afterwards. */
void night_init(struct night *night);

/* Takes the store, which is open. Returns CLI_GO_ON or an exit status. */
int night_open(struct night *night, struct lineage_store *store);

/*
 * Locks checkpoints/ of the store. Workers share the lock; a night that runs alone excludes them, because it would take
 * their trials for its own. Returns CLI_GO_ON or an exit status.
 */
int night_lock(struct night *night);

/* Releases everything but the store. */
void night_close(struct night *night);

/* Whether other trials may run on this machine at the same time. */
bool night_is_crowded(const struct night *night);

/* Environment of a slot, ended by NULL; NULL: none. */
const char *const *night_slot_environment(const struct night *night, size_t slot);

#endif
