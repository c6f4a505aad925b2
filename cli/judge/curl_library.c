/*
 * curl_library.c: loads libcurl when a judge is opened; see curl_library.h. The file name includes the ABI version,
 * because the constants in the headers belong to that version.
 */
#include "judge/curl_library.h"

#include <dlfcn.h>
#include <stdio.h>

#include "cli.h"

bool curl_library_load(struct curl_library *curl, char why[CURL_LIBRARY_WHY_MAX])
{
    char reason[CURL_LIBRARY_WHY_MAX - 80];
    void *library = cli_load_library("libcurl.so.4", RTLD_LOCAL | RTLD_NODELETE, reason, sizeof reason);
    bool all = library != NULL;
    if (!library) {
        snprintf(why, CURL_LIBRARY_WHY_MAX, "a language model is asked through libcurl (Debian: apt-get install libcurl4): %s",
                 reason);
        return false;
    }
#define CURL_FIND(name) all = cli_find_function(&curl->name, sizeof curl->name, library, "curl_" #name) && all;
    CURL_FUNCTIONS(CURL_FIND)
#undef CURL_FIND
    all = all && curl->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!all)
        snprintf(why, CURL_LIBRARY_WHY_MAX,
                 "this libcurl lacks a function that is needed; install a "
                 "newer one");
    return all;
}
