/*
 * last_words.h: how a child of a test ends without exit(3). Coverage counts are written at exit, so
 * a process that ends in another way, or kills itself to simulate a kill, must write its counts
 * first.
 */
#ifndef SUPPORT_LAST_WORDS_H
#define SUPPORT_LAST_WORDS_H

#include <signal.h>
#include <unistd.h>

#ifdef LINEAGE_COVERAGE
void __gcov_dump(void);
#endif

static inline void last_words(void)
{
#ifdef LINEAGE_COVERAGE
    __gcov_dump();
#endif
}

static inline _Noreturn void leave(int status)
{
    last_words();
    _exit(status);
}

static inline void kill_myself(void)
{
    last_words();
    kill(getpid(), SIGKILL);
}

#endif
