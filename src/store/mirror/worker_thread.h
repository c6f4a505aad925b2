/* worker_thread.h: runs a function in a separate thread, in parallel with the caller. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* Starts work(context), which must not read or write files, so that system calls stay in one thread and in one order.
 * Returns false if no thread can be started; then the caller must do the work itself. */
bool worker_thread_start(pthread_t *thread, void *(*work)(void *context), void *context);
