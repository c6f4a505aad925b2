/*
 * microhttpd.c: loads libmicrohttpd when `lineage serve` starts; see microhttpd.h. The name includes the major version
 * whose structures the headers describe; another one must not be loaded.
 */
#include "serve/microhttpd.h"

#include <dlfcn.h>

#include "cli.h"

int microhttpd_load(struct microhttpd *http)
{
    char why[512];
    *http = (struct microhttpd){.library = cli_load_library("libmicrohttpd.so.12", RTLD_LOCAL, why, sizeof why)};
    if (!http->library)
        return cli_error(CLI_SYSTEM, "serve needs libmicrohttpd (Debian: apt-get install libmicrohttpd12): %s", why);
    /* Looks up every function at the start, so that a missing one is reported now instead of crashing at the first
     * request. */
    bool all = true;
#define MICROHTTPD_FIND(name) all = cli_find_function(&http->name, sizeof http->name, http->library, "MHD_" #name) && all;
    MICROHTTPD_FUNCTIONS(MICROHTTPD_FIND)
#undef MICROHTTPD_FIND
    return all ? CLI_GO_ON
               : cli_error(CLI_SYSTEM, "serve: this libmicrohttpd lacks a function that is "
                                       "needed; install a newer version");
}

void microhttpd_unload(struct microhttpd *http)
{
    if (http->library)
        dlclose(http->library);
    *http = (struct microhttpd){0};
}
