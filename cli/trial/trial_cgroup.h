/*
 * trial_cgroup.h: a control group (cgroup v2) for one guarded trial, if this process is allowed to make a group.
 *
 * With a group, the kernel enforces the memory limit, measures the peak and kills the whole group in one step,
 * however fast its processes fork. Without a group, the process tree is walked and its memory sampled (guardian.h).
 * Nothing in this file prints an error or fails a trial.
 *
 * The group is made inside the group of this process. The kernel only lets a group give its children the memory
 * controller if it has no processes of its own. If this process is alone in its group, it moves into a second child
 * group meanwhile: `systemd-run --user --scope -p Delegate=yes lineage run ...`. If a shell or another job is in the
 * same group, no group is made. If this process is killed, its empty groups stay until the enclosing group is removed,
 * which systemd does for a scope. See Documentation/admin-guide/cgroup-v2.rst of Linux.
 *
 * This code has not been run on a machine with a delegated memory controller. It is tested against a stand-in
 * directory. If the test may write to a real cgroup2 file system, entering, killing and removing are also tested there,
 * but not memory limits.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

struct trial_cgroup {
    int dir;        /* directory of the group; -1: none */
    int base;       /* directory of the enclosing group; -1: none */
    char name[48];  /* name of the group in base; "": it was not made */
    char aside[48]; /* name of the group in base into which this process moved; "": it did not move */
};

/* What the kernel measured. */
struct trial_cgroup_usage {
    double peak;    /* bytes, page cache included; 0: unknown (before Linux 5.19) */
    long oom_kills; /* processes that were killed for lack of memory */
};

/*
 * Writes the path of the group of this process. root is prepended to every path that is read: "" for this machine, a
 * directory in a test. Returns false without a cgroup2 mount.
 */
bool trial_cgroup_find(char path[PATH_MAX], const char *root);

/*
 * Makes a group; root has the same meaning as in trial_cgroup_find. If no group can be made, returns false and leaves
 * nothing behind.
 */
bool trial_cgroup_make(struct trial_cgroup *group, const char *root);

/* Limits the memory of the group, without swap. Returns false if the kernel refuses. */
bool trial_cgroup_limit(const struct trial_cgroup *group, double bytes);

/* Moves this process into the group, which its later children then inherit. Safe between fork and exec. */
bool trial_cgroup_enter(int dir);

/* Kills every process in the group; does nothing before Linux 5.14. */
void trial_cgroup_kill(int dir);

/* Bytes in use now, page cache included; 0: not known. */
double trial_cgroup_memory(const struct trial_cgroup *group);

/* Processor seconds of all its processes, ended ones included; 0: not known. */
double trial_cgroup_cpu(const struct trial_cgroup *group);

/*
 * Kills the remaining processes and waits at most two seconds until the group is empty. Returns the number of processes
 * that are still in it.
 */
int trial_cgroup_clear(const struct trial_cgroup *group);

void trial_cgroup_read(const struct trial_cgroup *group, struct trial_cgroup_usage *usage);

/* Removes the group, including groups that its processes made inside it, and moves this process back. */
void trial_cgroup_remove(struct trial_cgroup *group);
