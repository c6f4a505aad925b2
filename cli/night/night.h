/*
 * night.h: a sweep at work on a store.
 *
 * What was done is read from the store alone: the row of a trial names its sweep, its trial and its key
 * (struct lineage_night_link in lineage/notes.h). A row of harness_abort does not count.
 * checkpoints/ in the store holds what later trials start from (KEY.ckpt, warm-DIGEST.ckpt); it is
 * locked while a night runs.
 *
 *   night_sweep        the file: its list, and what a proposed trial is made of
 *   night              what was run before; files that trials leave to each other
 *   night_forecast     how long a trial will take
 *   night_propose      the next trial of a night that plans itself, by a proposer of ours
 *   night_planner      or by a command: planner_request, planner_call, night_gate
 *   night_claims       which of them is whose, where several workers share a night
 *   night_jobs         several trials at once
 *   night_run          one trial after another
 */
#ifndef CLI_NIGHT_H
#define CLI_NIGHT_H

#include <lineage/notes.h>
#include <lineage/queue.h>
#include <trainer/sweep.h>

#include "cli.h"
#include "night/night_sweep.h"
#include "propose/propose_past.h"
#include "trial/trial_watch.h"

/* Who says what is run once the list is done. */
enum night_planning { NIGHT_LIST_ONLY, NIGHT_PROPOSES };

/* Evidence of how a trial ended. */
struct night_ending {
    enum lineage_label label;
    enum trial_end end;
    int exit_status, signal;
    bool late; /* another worker's row stands for it */
};

/* Failures with the same evidence after which a night stops unless told otherwise. */
enum { NIGHT_STOP_AFTER = 5 };

/* A planner's proposal this near to a trial in every range, as a share of it, was tried. */
#define NIGHT_NEAR 0.01

/* Seconds that a planner has unless told otherwise. */
enum { NIGHT_PLANNER_SECONDS = 600 };

struct night {
    struct lineage_store *store;
    struct night_sweep sweep;
    struct night_trial *trials; /* [n] */
    size_t n, room;
    size_t n_proposed;          /* rows of this sweep that are of no trial in its list */
    enum night_planning planning;
    enum propose_method method; /* of what is proposed */
    const char *planner;        /* shell command; NULL: none */
    double planner_seconds;     /* it may think for so long */
    json_t *queue;              /* what it said beyond what was run, first first */
    const char *const *options; /* words behind `night SWEEP -C DIR` to go on by, ended by NULL; NULL: none */

    bool worker;                /* one of several that share the list */
    double lease;               /* seconds that a claim lasts */
    struct lineage_queue *claims;
    bool idle;                  /* nothing could be proposed .. */
    uint64_t idle_at;           /* .. when this was the last row */
    bool unanswered;            /* nothing could be claimed because nobody answered */
    double pause;               /* seconds until others are looked at again, after looks in vain */
    uint64_t seen;              /* seq of the last row that was read */
    size_t n_slots;             /* trials at once, 1 at least */
    const char *const *const *environments; /* [n_slots], NAME=VALUE of each, ended by NULL; NULL: none has any */
    size_t at_work;
    size_t stop_after;          /* failures alike; 0: never */
    size_t alike;               /* in a row so far .. */
    struct night_ending last_failure; /* .. like this one */
    double began;
    bool out_of_time;
    char dir[TRAINER_PATH_MAX - 64]; /* checkpoints/ */
    int lock;
    bool quiet;
    bool report;      /* keep report.html beside KNOWLEDGE.md */
    double hours;     /* INFINITY: no end */
    double pace;      /* most seconds per unit of work that a measured trial took; 0: none was */
    struct interrupts interrupts;
};

/* Exit statuses; CLI_GO_ON if all is well. The sweep is read before the store is opened, or made. */
int night_read(struct night *night, const char *sweep);
int night_open(struct night *night, struct lineage_store *store);
int night_lock(struct night *night);
void night_close(struct night *night);

/* Find the rows of the trials that were run before, by this night or another; those behind the last ones read. */
int night_read_rows(struct night *night);

/* What row i says of itself, a piece of notes. */
const char *night_link(char out[LINEAGE_NIGHT_LINK_MAX], const struct night *night, size_t i);

/* File in checkpoints/ of a trial, and of the warm start that a recipe begins with. */
void night_checkpoint(char out[TRAINER_PATH_MAX], const struct night *night, size_t i);
void night_warm_checkpoint(char out[TRAINER_PATH_MAX], const struct night *night,
                           const struct trainer_recipe *recipe);

/* Send such a file to the store's server, and bring it from there if it is not here; nothing to do in a directory. A failure
 * is said, and is nothing worse than a file that is not there. */
void night_checkpoint_send(const struct night *night, const char *path);
void night_checkpoint_bring(const struct night *night, const char *path);

/* The recipe that does nothing but the warm start of another: equal for trials that can share it.
 */
void night_warm_recipe(struct trainer_recipe *warm, const struct trainer_recipe *recipe);

/* Whether another trial that is still to be run starts with the same warm start, or from trial i.
 */
bool night_shares_warm_start(const struct night *night, size_t i);
bool night_is_parent(const struct night *night, size_t i);

/* Whether the file of the warm start that trial i shares with others is there. */
bool night_has_warm_start(const struct night *night, size_t i);

/* ---- how long a trial takes ---- */

/* What is taken for the length of a trial while none is known. */
enum { NIGHT_LEAST_SECONDS = 60 };

/* Learn from the row of trial i, whose own run took so long; from a turn of this night. */
void night_learn_row(struct night *night, size_t i, double seconds);
void night_learn_turn(struct night *night, size_t i, bool warmed_up, double seconds);

/* Seconds that a trial will take that is of no list. */
double night_forecast_of(const struct night *night, const struct night_trial *trial);

/* Seconds that trial i will take, and whether a warm start will be a part of them. */
double night_forecast(const struct night *night, size_t i, bool *warms_up);

/* ---- what is run next ---- */

/*
 * Propose a trial and add it to the night's. CLI_GO_ON with *i its index, CLI_OK if there is none (all was tried, or as
 * many were proposed as were asked for), or an exit status.
 */
int night_propose(struct night *night, size_t *i);

/* Read the rows of the store, and what this night knows besides, as the past of a proposer. CLI_GO_ON or a status. */
int night_read_past(struct propose_past *past, const struct night *night);

/* Add a trial that somebody proposed; x [ranges], or NULL. Takes the trial. CLI_GO_ON with *i, or an exit status. */
int night_add_proposed(struct night *night, struct night_trial *trial, const double *x, const char *proposer, size_t *i);

/* Trials of this night that other workers have at work. */
struct night_others {
    size_t held, proposed; /* proposed: of them, those that are of no list */
};

/* Whether another trial may be proposed: fewer were run, or are at work here or elsewhere, than were asked for. */
bool night_has_room(const struct night *night, const struct night_others *others);

/* How many more will be proposed; 0 without a number. */
size_t night_proposals_left(const struct night *night);

/* Add a trial to the night, which owns it then. False when out of memory. */
bool night_add(struct night *night, const struct night_trial *trial);

/* Take back the trial that was just proposed and has no time to run. CLI_OK, to go on without. */
int night_forget(struct night *night, size_t i);

/* ---- at work ---- */

enum { NIGHT_SLOTS_MAX = 64 };

/* Beside CLI_GO_ON and CLI_OK. NIGHT_WAIT: what is to be run next depends on what is at work; NIGHT_AGAIN: it was run. */
enum { NIGHT_WAIT = -2, NIGHT_AGAIN = -3 };

double night_seconds_left(const struct night *night);     /* INFINITY without --hours */

/* Knowledge and pace after a trial that ended with a status; the status to go on with. */
int night_after_trial(struct night *night, size_t i, int status, const struct night_ending *ending, bool warmed_up,
                      double seconds);

void night_say_how_to_go_on(const struct night *night, int status);

/* Run what is left. */
int night_run(struct night *night);

#endif
