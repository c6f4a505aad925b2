/*
 * trial_cgroup.h: a control group (cgroup v2) for one guarded trial, where this process may make one.
 *
 * The kernel then keeps the limit on memory, knows the peak and ends all of the group in one step, however fast it forks.
 * None of it is needed: without a group the tree is walked and its memory is sampled (guardian.h), as everywhere else.
 * Nothing here prints or fails a trial.
 *
 * A group is made inside the one this process is in. A group that has processes of its own cannot give its children the
 * memory controller (the kernel's rule); if this process is alone there, it steps aside into a second child meanwhile:
 * `systemd-run --user --scope -p Delegate=yes lineage run ...`. With a shell or another job beside it there is no group.
 * If this process is killed by KILL, its empty groups stay until the one around them goes, as a scope does by itself.
 * See Documentation/admin-guide/cgroup-v2.rst of Linux.
 *
 * This path was not run on a machine with a delegated memory controller; it is tested against a stand-in directory, and
 * on a real cgroup2 file system, without memory, for entering, ending and removing where a test may write to one.
 */
#ifndef CLI_TRIAL_CGROUP_H
#define CLI_TRIAL_CGROUP_H

#include <limits.h>
#include <stdbool.h>

struct trial_cgroup {
    int dir;        /* the group, as a directory; -1: there is none */
    int base;       /* that it is in; -1: there is none */
    char name[48];  /* of the group in base; "": it was not made */
    char aside[48]; /* of where this process went to make room, in base; "": it did not */
};

/* What the kernel counted. */
struct trial_cgroup_usage {
    double peak;    /* bytes, page cache among them; 0 if it is not known (before Linux 5.19) */
    long oom_kills; /* processes that were ended for lack of memory */
};

/*
 * Write the path of the group this process is in. root stands before every path that is looked at: "" for the machine,
 * a directory of a test's. False if there is no cgroup2 mount in reach of it.
 */
bool trial_cgroup_find(char path[PATH_MAX], const char *root);

/* Make a group, root as above. False if that is not possible here: nothing is left then. Remove it at the end. */
bool trial_cgroup_make(struct trial_cgroup *group, const char *root);

/* Hold all of it to so many bytes, without swap. False if the kernel does not take it. */
bool trial_cgroup_limit(const struct trial_cgroup *group, double bytes);

/* Take this process, and what it will start, into the group. Safe between fork and exec. */
bool trial_cgroup_enter(int dir);

/* End every process in it; without a word where the kernel cannot (before Linux 5.14). */
void trial_cgroup_kill(int dir);

/* Bytes in use now, page cache among them; 0 if it is not known. */
double trial_cgroup_memory(const struct trial_cgroup *group);

/* End what is left and wait until it is empty, two seconds at most. Returns the number of processes still in it. */
int trial_cgroup_clear(const struct trial_cgroup *group);

void trial_cgroup_read(const struct trial_cgroup *group, struct trial_cgroup_usage *usage);

/* Remove it, with groups that its processes made inside, and go back to where this process was. */
void trial_cgroup_remove(struct trial_cgroup *group);

#endif
