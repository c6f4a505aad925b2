/*
 * libpq.c: loads libpq when a log on a server is opened; libpq.h says why.
 *
 * The library's file name contains the major version that the header describes, because another major version must not
 * be loaded.
 */
#include "libpq.h"

#include <dlfcn.h>

/* Converts a pointer to data into one to a function bit by bit, which is how POSIX means dlsym to be used. */
static bool find(void *function, size_t size, void *library, const char *name)
{
    void *found = dlsym(library, name);
    memcpy(function, &found, size);
    return found != NULL;
}

/* Uses RTLD_NODELETE, because the TLS library that libpq uses registers exit functions and must still be loaded when
 * they run. */
enum lineage_status libpq_load(struct libpq *pq, struct lineage_error *err)
{
    *pq = (struct libpq){.library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)};
    if (!pq->library)
        return store_fail(err, LINEAGE_EIO, "a log on a server needs libpq (Debian: apt-get install libpq5): %s", dlerror());
    bool all = true;
#define LIBPQ_FIND(name) all = find(&pq->name, sizeof pq->name, pq->library, "PQ" #name) && all;
    LIBPQ_FUNCTIONS(LIBPQ_FIND)
#undef LIBPQ_FIND
    return all ? LINEAGE_OK : store_fail(err, LINEAGE_EIO, "this libpq lacks a function that is needed");
}

void libpq_unload(struct libpq *pq)
{
    if (pq->library)
        dlclose(pq->library);
    *pq = (struct libpq){0};
}
