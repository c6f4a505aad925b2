/*
 * coverage_exit.c: in a build that measures coverage, writes the coverage counts of a process before it calls _exit
 * or exec. Programs whose processes end this way are linked with --wrap of both calls: the guardian of a trial, and
 * its command before exec.
 */
#include "last_words.h"

#include <stdbool.h>

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_execvpe(const char *file, char *const argv[], char *const environment[]);
int __wrap_execvpe(const char *file, char *const argv[], char *const environment[]);
void __gcov_reset(void);

extern bool counts_are_written; /* true while counts are written: those calls must not get an injected fault */
bool counts_are_written;

_Noreturn void __wrap__exit(int status)
{
    counts_are_written = true;
    last_words();
    __real__exit(status);
}

/* Writes the counts before exec and resets them, because the process continues and counts more if exec fails. */
int __wrap_execvpe(const char *file, char *const argv[], char *const environment[])
{
    counts_are_written = true;
    last_words();
    __gcov_reset();
    counts_are_written = false;
    return __real_execvpe(file, argv, environment);
}
