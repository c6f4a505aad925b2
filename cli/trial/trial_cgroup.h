/*
 * trial_cgroup.h: a control group (cgroup v2) for one guarded trial, if this process may make one.
 *
 * With a group, the kernel enforces the memory limit, measures the peak and kills the whole group in one step,
 * however fast its processes fork. Without a group, the process tree is walked and its memory sampled (guardian.h).
 * Nothing in this file prints an error or fails a trial.
 *
 * The group is made inside the group of this process. The kernel only lets a group give its children the memory
 * controller if it has no processes of its own. If this process is alone in its group, it moves into a second child
 * group meanwhile: `systemd-run --user --scope -p Delegate=yes lineage run ...`. With a shell or another job beside
 * it, no group is made. If this process is killed, its empty groups stay until the enclosing group is removed, as
 * systemd does with a scope. See Documentation/admin-guide/cgroup-v2.rst of Linux.
 *
 * This code has not been run on a machine with a delegated memory controller. It is tested against a stand-in
 * directory; and entering, killing and removing, without memory, on a real cgroup2 file system if the test may write
 * to one.
 */
#ifndef CLI_TRIAL_CGROUP_H
#define CLI_TRIAL_CGROUP_H

#include <limits.h>
#include <stdbool.h>

struct trial_cgroup {
    int dir;        /* directory of the group; -1: none */
    int base;       /* directory of the enclosing group; -1: none */
    char name[48];  /* of the group, in base; "": it was not made */
    char aside[48]; /* of the group, in base, into which this process moved; "": it did not move */
};

/* What the kernel measured. */
struct trial_cgroup_usage {
    double peak;    /* bytes, page cache included; 0: not known (before Linux 5.19) */
    long oom_kills; /* processes that were killed for lack of memory */
};

/*
 * Writes the path of the group of this process. root is a prefix of every path that is read: "" for this machine, a
 * directory in a test. Returns false without a cgroup2 mount.
 */
bool trial_cgroup_find(char path[PATH_MAX], const char *root);

/* Makes a group; root as above. Returns false if that is not possible here, and leaves nothing. */
bool trial_cgroup_make(struct trial_cgroup *group, const char *root);

/* Limits the memory of the group, without swap. Returns false if the kernel refuses. */
bool trial_cgroup_limit(const struct trial_cgroup *group, double bytes);

/* Moves this process, and so its later children, into the group. Safe between fork and exec. */
bool trial_cgroup_enter(int dir);

/* Kills every process in it; does nothing before Linux 5.14. */
void trial_cgroup_kill(int dir);

/* Bytes in use now, page cache included; 0: not known. */
double trial_cgroup_memory(const struct trial_cgroup *group);

/* Kills what is left and waits until the group is empty, at most two seconds. Returns the number of processes in it. */
int trial_cgroup_clear(const struct trial_cgroup *group);

void trial_cgroup_read(const struct trial_cgroup *group, struct trial_cgroup_usage *usage);

/* Removes the group, and groups that its processes made in it, and moves this process back. */
void trial_cgroup_remove(struct trial_cgroup *group);

#endif
