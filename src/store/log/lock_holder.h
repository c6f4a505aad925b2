/* lock_holder.h: finds the process that holds the lock for which a writer waits. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define LOCK_HOLDER_MAX 96

/* Writes ", held by process 1234 (python3)", or "" if the holder is not known (no /proc, or a process on another
 * machine). */
void lock_holder(char out[LOCK_HOLDER_MAX], dev_t device, ino_t inode);
