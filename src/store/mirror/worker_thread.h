/* worker_thread.h: work in a thread of its own beside the one that asks for it. */
#ifndef MIRROR_WORKER_THREAD_H
#define MIRROR_WORKER_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Start work(context), which must call nothing that reads or writes a file: system calls stay in one thread and in one
 * order. False if there can be no thread: the caller then does the work itself, later or at once. */
bool worker_thread_start(pthread_t *thread, void *(*work)(void *context), void *context);

#endif
