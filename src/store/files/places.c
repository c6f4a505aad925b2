/*
 * places.c: names of the files of a store.
 *
 * They are defined in one file because three others rely on them: FORMAT.md promises that the store does not touch
 * other files; a snapshot of a directory that contains the store must not copy the store into itself; and `verify`
 * finds the row of a file by the file's name.
 */
#include "places.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* With `.json` and the suffix of a temporary file, a longer name would exceed NAME_MAX. */
#define LONGEST_ID 200
#define JSON ".json"

/* An id is untrusted text: it may be `../results` or begin with a dot. An id that is not a plain file name cannot have
 * telemetry, and is refused before anything is written. */
bool place_telemetry(char path[PLACE_MAX], const char *exp_id)
{
    size_t length = strlen(exp_id);
    if (!length || length > LONGEST_ID || exp_id[0] == '.' || strchr(exp_id, '/'))
        return false;
    snprintf(path, PLACE_MAX, PLACE_TELEMETRY "/%s" JSON, exp_id);
    return true;
}

/* A name with a leading dot is a temporary file of fs_replace and belongs to no row. */
bool place_telemetry_id(char id[PLACE_MAX], const char *name)
{
    size_t length = strlen(name), extension = sizeof JSON - 1;
    if (length <= extension || length >= PLACE_MAX || name[0] == '.' || strcmp(name + length - extension, JSON) != 0)
        return false;
    snprintf(id, PLACE_MAX, "%.*s", (int)(length - extension), name);
    return true;
}

/* Adds text to a file name, replacing slashes and control characters by `_`. Specialists are free text
 * (`reward/shaping`), so two of them may give the same name; the later row's snapshot then gets a number (name_snapshot
 * in append_files.c). */
static void add_name(char *out, const char *text, size_t max)
{
    size_t n = strlen(out);
    for (size_t i = 0; text[i] && i < max; i++)
        out[n++] = text[i] == '/' || (unsigned char)text[i] < 0x20 ? '_' : text[i];
    out[n] = '\0';
}

/* 120 bytes, 100 bytes, a separator and a number together stay below NAME_MAX (255). */
bool place_snapshot(char path[PLACE_MAX], const char *exp_id, const char *specialist)
{
    strcpy(path, PLACE_SNAPSHOTS "/");
    add_name(path, exp_id, 120);
    add_name(path, "_", 1);
    add_name(path, specialist, 100);
    return exp_id[0] != '.';
}

void place_snapshot_again(char path[PLACE_MAX], const char *exp_id, const char *specialist, unsigned n)
{
    place_snapshot(path, exp_id, specialist);
    snprintf(path + strlen(path), 16, "-%u", n);
}

#define COPY ".copy-"

/* The name contains the process id and an address, because two handles of one process may copy at once. The name only
 * has to be unused. A lock shows whether the copy is abandoned, because the id of a dead process may be reused. */
void place_snapshot_copy(char path[PLACE_MAX], const void *owner, unsigned n)
{
    snprintf(path, PLACE_MAX, PLACE_SNAPSHOTS "/" COPY "%ld-%lx-%u", (long)getpid(), (unsigned long)(uintptr_t)owner, n);
}

bool place_is_snapshot_copy(const char *name)
{
    return strncmp(name, COPY, sizeof COPY - 1) == 0;
}

bool place_is_own(const char *name)
{
    static const char *const names[] = {PLACE_CONFIG,    PLACE_MIRROR "-wal", PLACE_MIRROR "-shm", PLACE_MIRROR "-journal",
                                        PLACE_MIRROR,    PLACE_TELEMETRY,     PLACE_SNAPSHOTS,     PLACE_CHECKPOINTS,
                                        PLACE_KNOWLEDGE, PLACE_RENDERED,      PLACE_REMARKS,       PLACE_INSIGHTS,
                                        PLACE_LOGS,      PLACE_PROVENANCE,    PLACE_SERVER,        PLACE_OUTBOX,
                                        PLACE_CODE,      PLACE_HELD_OUT,      PLACE_EXAMPLES};
    /* The parentheses around a joined literal show that it is one string, and that no comma was forgotten. */
    static const char *const beginnings[] = {PLACE_RESULTS, PLACE_TRIAL, ("." PLACE_RESULTS), ("." PLACE_DIGESTS)};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

void place_torn(char name[64], unsigned n)
{
    snprintf(name, 64, PLACE_RESULTS ".torn-%u", n);
}

/* The check is strict, because a user gives this name, and `restore` reads the file and then removes it: no path and no
 * other file of the store may pass. */
bool place_is_torn(const char *name)
{
    static const char beginning[] = PLACE_RESULTS ".torn-";
    size_t n = sizeof beginning - 1;
    return strncmp(name, beginning, n) == 0 && name[n] && strspn(name + n, "0123456789") == strlen(name + n);
}
