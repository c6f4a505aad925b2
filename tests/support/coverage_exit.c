/* coverage_exit.c: in a build that counts branches, a process that ends by _exit or becomes another program writes its counts
 * first. Linked with --wrap of both where such processes are: the guardian of a trial, and its command before exec. */
#include "last_words.h"

#include <stdbool.h>

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);
int __real_execvpe(const char *file, char *const argv[], char *const environment[]);
int __wrap_execvpe(const char *file, char *const argv[], char *const environment[]);
void __gcov_reset(void);

extern bool counts_are_written; /* the calls that this makes are nobody's faults to have */
bool counts_are_written;

_Noreturn void __wrap__exit(int status)
{
    counts_are_written = true;
    last_words();
    __real__exit(status);
}

/* What was written is forgotten, as there is more to write if it fails. */
int __wrap_execvpe(const char *file, char *const argv[], char *const environment[])
{
    counts_are_written = true;
    last_words();
    __gcov_reset();
    counts_are_written = false;
    return __real_execvpe(file, argv, environment);
}
