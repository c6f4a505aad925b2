/*
 * last_words.h: lets a child of a test end without exit(3) and still write its coverage counts. Counts are normally
 * written by exit, so a process that ends in another way, or kills itself to simulate a kill, must write them first.
 */
#pragma once

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
