/* lock_holder.h: which process holds the lock that a writer waits for. */
#ifndef LOG_LOCK_HOLDER_H
#define LOG_LOCK_HOLDER_H

#include <stddef.h>
#include <sys/types.h>

#define LOCK_HOLDER_MAX 96

/* Writes ", held by process 1234 (python3)", or "" if the system does not tell (no /proc, another machine). */
void lock_holder(char out[LOCK_HOLDER_MAX], dev_t device, ino_t inode);

#endif
