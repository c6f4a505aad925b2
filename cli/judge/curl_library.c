/*
 * curl_library.c: loads libcurl when a judge is opened; see curl_library.h. The file name includes the ABI version,
 * because the constants in the headers belong to that version.
 */
#include "judge/curl_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Copies a data pointer to a function pointer bit by bit, which is how POSIX intends dlsym to be used. */
static bool find(void *function, size_t size, void *library, const char *name)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, size);
    return found != NULL;
}

bool curl_library_load(struct curl_library *curl, char why[CURL_LIBRARY_WHY_MAX])
{
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    bool all = library != NULL;
    if (!library) {
        snprintf(why, CURL_LIBRARY_WHY_MAX, "a language model is asked through libcurl (Debian: apt-get install libcurl4): %s", dlerror());
        return false;
    }
#define CURL_FIND(name) all = find(&curl->name, sizeof curl->name, library, "curl_" #name) && all;
    CURL_FUNCTIONS(CURL_FIND)
#undef CURL_FIND
    all = all && curl->global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    if (!all)
        snprintf(why, CURL_LIBRARY_WHY_MAX, "this libcurl lacks a function that is needed; install a "
                                            "newer one");
    return all;
}
