/*
 * load_library.c: loads libraries of the system when a command needs them. Most commands need none, and a machine may lack
 * them. A static program must not load any: they would bring a second libc along.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

void *cli_load_library(const char *name, int flags, char *why, size_t size)
{
#ifdef LINEAGE_PORTABLE
    (void)flags;
    snprintf(why, size, "this is the portable program, which cannot load %s; the packages of lineage can", name);
    return NULL;
#else
    void *library = dlopen(name, RTLD_NOW | flags);
    snprintf(why, size, "%s", library ? "" : dlerror());
    return library;
#endif
}

/* The pointer to data is copied to one to a function bit by bit, which is how POSIX intends dlsym to be used. */
bool cli_find_function(void *function, size_t size, void *library, const char *name)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, size);
    return found != NULL;
}
