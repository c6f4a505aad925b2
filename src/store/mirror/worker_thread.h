/* worker_thread.h: work in a thread of its own, beside the thread that asks for it. */
#ifndef MIRROR_WORKER_THREAD_H
#define MIRROR_WORKER_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts work(context), which must not read or write files, so that system calls stay in one thread and in one order.
 * Returns false if no thread can be started: the caller then does the work itself. */
bool worker_thread_start(pthread_t *thread, void *(*work)(void *context), void *context);

#endif
