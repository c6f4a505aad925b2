/* process_tree.h: reads the descendants of a process, or the members of a process group, from /proc. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PROCESS_NAME_MAX = 64 }; /* those of the kernel have 15 bytes */

struct process {
    pid_t pid, parent, group;
    unsigned long long started; /* clock ticks since boot; identifies the process together with pid */
    long pages;                 /* resident */
    unsigned long long ticks;   /* processor time, user and system */
    unsigned long long waited;  /* processor time of its children that have ended and were waited for */
    bool ended;                 /* a zombie */
    bool halted;                /* a signal such as SIGSTOP or SIGTTIN has stopped it */
    char name[PROCESS_NAME_MAX];
};

struct process_tree {
    struct process *at;
    size_t n;
};

/*
 * Reads all descendants of root, without root itself; the caller releases the tree. Returns false, with an empty tree,
 * if /proc cannot be read or memory runs out. Children that are forked while /proc is read, or whose siblings end
 * meanwhile, may be missing: to end all of them, repeat until the tree is empty.
 */
bool process_tree_read(struct process_tree *tree, pid_t root);

/* Reads all processes of a process group, its leader included. */
bool process_tree_read_group(struct process_tree *tree, pid_t group);
void process_tree_release(struct process_tree *tree);

/*
 * Sends the signal to root if it has a handler for it, else to the first ones below it that have: launchers (sh, timeout) have none
 * and would be ended, and the workers of a program have a copy of its handler. If no process has one, root gets it.
 */
void process_tree_pass(pid_t root, int number);

/*
 * Returns the resident bytes of all processes of the tree. A page that several processes share counts once for each, so
 * the sum is never too low.
 */
double process_tree_memory(const struct process_tree *tree);

/*
 * Returns the processor seconds of all processes of the tree, and of those that have ended below root. root is the
 * process for which the tree was read; its own time counts only if it is in the tree (process_tree_read_group).
 */
double process_tree_seconds(const struct process_tree *tree, pid_t root);

/*
 * Sends the signal to each process, unless its pid belongs to another process by now. (Uses a pidfd; before Linux 5.3,
 * the pid.)
 */
void process_tree_signal(const struct process_tree *tree, int number);
