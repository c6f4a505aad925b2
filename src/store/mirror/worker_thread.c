/*
 * worker_thread.c: starts a thread that does not disturb the program that uses the library. The thread blocks all
 * signals, because the program's handlers expect the program's own threads. Its stack is small, because a program with
 * a memory limit may not have room for a stack of the usual size.
 */
#include "worker_thread.h"

#include <signal.h>

enum { STACK_BYTES = 512 * 1024 };

bool worker_thread_start(pthread_t *thread, void *(*work)(void *context), void *context)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, &attributes, work, context) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}
