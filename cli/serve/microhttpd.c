/*
 * microhttpd.c: libmicrohttpd, loaded when `lineage serve` starts; see microhttpd.h for why.
 *
 * The version in the name is the one whose structures the headers describe: another major one must not be loaded.
 */
#include "serve/microhttpd.h"

#include <dlfcn.h>
#include <string.h>

#include "cli.h"

/* A pointer to data becomes one to a function bit by bit, as POSIX means dlsym to be used. */
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
    /* Every function is looked for at the start: a missing one is told now, and not by a crash at the first
     * request. */
    bool all = true;
#define MICROHTTPD_FIND(name) all = find(&http->name, sizeof http->name, http->library, "MHD_" #name) && all;
    MICROHTTPD_FUNCTIONS(MICROHTTPD_FIND)
#undef MICROHTTPD_FIND
    return all ? CLI_GO_ON : cli_error(CLI_SYSTEM, "serve: this libmicrohttpd lacks a function that is needed");
}

void microhttpd_unload(struct microhttpd *http)
{
    if (http->library)
        dlclose(http->library);
    *http = (struct microhttpd){0};
}
