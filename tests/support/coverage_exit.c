/* coverage_exit.c: in a build that counts branches, a process that ends by _exit writes its counts first. Linked with
 * --wrap=_exit where such processes are: the guardian of a trial, and a child whose exec failed. */
#include "last_words.h"

_Noreturn void __real__exit(int status);
_Noreturn void __wrap__exit(int status);

_Noreturn void __wrap__exit(int status)
{
    last_words();
    __real__exit(status);
}
