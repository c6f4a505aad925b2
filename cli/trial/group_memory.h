/* group_memory.h: memory of a process group. */
#ifndef CLI_GROUP_MEMORY_H
#define CLI_GROUP_MEMORY_H

#include <sys/types.h>

/*
 * Resident bytes of all processes in the group, from /proc; 0 without it. Pages that several of them share
 * count once each: a tree that forks without writing looks larger than it is, never smaller.
 */
double group_memory(pid_t group);

#endif
