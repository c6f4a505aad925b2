/*
 * lineage/replicas.h: the settings in force for a trial, and trials that ran with equal ones.
 *
 * A trial runs its parent's program with some changes, so it inherits every setting that its ancestors changed. Trials
 * whose settings are equal are replicas: their scores differ only by noise, which is estimated from them.
 */
#ifndef LINEAGE_REPLICAS_H
#define LINEAGE_REPLICAS_H

#include <lineage/ideas.h>

/* A setting in force. */
struct lineage_effective_setting {
    const char *name;            /* as the trial that set it wrote it */
    const char *knob;            /* the normalised name, see struct lineage_change */
    const char *value;           /* as written */
    struct lineage_number number; /* the value as a number; absent for a text */
    enum lineage_change_source source;
    size_t set_by;               /* index of the trial that gave the setting this value */
};

struct lineage_effective {
    struct lineage_effective_setting *items; /* [n], those of the trial itself first, then those of its parent, ... */
    size_t n;
    void *memory;
};

/*
 * Finds the settings in force for a trial: its parameters, its changes, and what it inherits. The nearest trial that gave
 * a setting a value counts; within one trial the most trusted source does. The walk along the parents ends at a root, at
 * a parent that is not in the set or comes later in the log, or after LINEAGE_EFFECTIVE_CHAIN trials. In a set in which no
 * trial names a parent, a trial continues the last kept trial before it. Settings that no trial changed are unknown and
 * left out. Takes time in proportion to the changes on the way. Texts belong to the set and the answer.
 */
#define LINEAGE_EFFECTIVE_CHAIN 4096
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_effective_find(struct lineage_effective *settings,
                                                                         struct lineage_ideas *ideas, size_t trial,
                                                                         struct lineage_error *err);
LINEAGE_API void lineage_effective_release(struct lineage_effective *settings);

/* Trials with equal settings. */
struct lineage_replica_group {
    const size_t *trials; /* [n], n >= 2, in the order of the log */
    size_t n;
};

struct lineage_replicas {
    struct lineage_replica_group *groups; /* [n], by their first trial */
    size_t n;
    double noise;   /* pooled standard deviation of the scores of replicas that ran to the end; 0 if freedom is 0 */
    size_t freedom; /* its degrees of freedom: these trials minus their groups */
    size_t scored;  /* these trials: keep, discard or baseline, with a finite score, in a group with another such trial */
    void *memory;
};

/*
 * Finds groups of replicas. What texts state is incomplete, so trials count as replicas only
 *   - if their changes are all that the headlines of their hypotheses say, and lead to equal settings on equal bases. A
 *     trial that sets a value back to that of its base is a replica of the base; or
 *   - if they start from equal bases, their changes or parameters are equal, and so are their hypotheses for the most part,
 *     or one says that it runs the other again.
 * A trial that describes a technique is therefore never a replica of its parent. Random seeds do not count as settings.
 */
LINEAGE_API LINEAGE_NODISCARD enum lineage_status lineage_replicas_find(struct lineage_replicas *replicas,
                                                                        struct lineage_ideas *ideas, struct lineage_error *err);
LINEAGE_API void lineage_replicas_release(struct lineage_replicas *replicas);

#endif
