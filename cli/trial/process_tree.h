/* process_tree.h: the descendants of a process, or the members of a group, from /proc. */
#ifndef CLI_PROCESS_TREE_H
#define CLI_PROCESS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct process {
    pid_t pid, parent, group;
    unsigned long long started; /* clock ticks since boot: with pid the name of one process for good */
    long pages;                 /* resident */
    bool ended;                 /* a zombie, which nobody has waited for yet */
};

struct process_tree {
    struct process *at;
    size_t n;
};

/*
 * All descendants of root that were there while /proc was read, root itself not among them; release the tree. False
 * if /proc cannot be read or memory runs out: then the tree is empty. Processes that fork meanwhile may have
 * children that are not in it: whoever wants all of them asks until there are none.
 */
bool process_tree_read(struct process_tree *tree, pid_t root);

/* The same of all processes of a group, its leader among them. */
bool process_tree_read_group(struct process_tree *tree, pid_t group);
void process_tree_release(struct process_tree *tree);

/* Bytes resident in all of them. Pages that several share count once each: the sum is never too low. */
double process_tree_memory(const struct process_tree *tree);

/*
 * Send the signal to each that still is the process that was read: a number may have been given to another one
 * since. (By descriptor of the process; before Linux 5.3, which has none, by number.)
 */
void process_tree_signal(const struct process_tree *tree, int number);

#endif
