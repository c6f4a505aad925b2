/*
 * microhttpd.c: loads libmicrohttpd when `lineage serve` starts; see microhttpd.h. The name includes the major version
 * whose structures the headers describe; another one must not be loaded.
 */
#include "serve/microhttpd.h"

#include <dlfcn.h>
#include <string.h>

#include "cli.h"

/* Copies a data pointer to a function pointer bit by bit, which is how POSIX intends dlsym to be used. */
static bool find(void *function, size_t size, void *library, const char *name)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, size);
    return found != NULL;
}

int microhttpd_load(struct microhttpd *http)
{
    *http = (struct microhttpd){.library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL)};
    if (!http->library)
        return cli_error(CLI_SYSTEM, "serve needs libmicrohttpd (Debian: apt-get install libmicrohttpd12): %s", dlerror());
    /* Looks up every function at the start, so that a missing one is reported now instead of crashing at the first
     * request. */
    bool all = true;
#define MICROHTTPD_FIND(name) all = find(&http->name, sizeof http->name, http->library, "MHD_" #name) && all;
    MICROHTTPD_FUNCTIONS(MICROHTTPD_FIND)
#undef MICROHTTPD_FIND
    return all ? CLI_GO_ON : cli_error(CLI_SYSTEM, "serve: this libmicrohttpd lacks a function that is "
                                                   "needed; install a newer version");
}

void microhttpd_unload(struct microhttpd *http)
{
    if (http->library)
        dlclose(http->library);
    *http = (struct microhttpd){0};
}
