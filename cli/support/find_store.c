/* find_store.c: whether a directory is a store, and which one above this directory is. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/move.h>

#include "cli.h"

bool cli_store_has(const char *dir, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n < PATH_MAX && access(path, F_OK) == 0;
}

/* results.tsv alone suffices, because stores of other tools have no lineage.json. */
bool cli_is_store(const char *dir)
{
    return lineage_is_server(dir) || cli_store_has(dir, "lineage.json") || cli_store_has(dir, "results.tsv");
}

/* A directory in which another user can make files, such as /tmp, must not decide where commands of this user read and write. */
static bool is_own_directory(const char *path, struct stat *st)
{
    return stat(path, st) == 0 && S_ISDIR(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & S_IWOTH);
}

/* Looks as git does: up to the home directory, the border of the file system, or the first directory that is not this user's
 * alone. */
void cli_store_above(char path[PATH_MAX])
{
    const char *home = getenv("HOME");
    struct stat here, parent;
    bool searches = !cli_is_store(".") && getcwd(path, PATH_MAX) && is_own_directory(path, &here);
    for (char *slash; searches && (!home || strcmp(path, home) != 0) && (slash = strrchr(path, '/')) && slash > path;) {
        *slash = '\0';
        if (!is_own_directory(path, &parent) || parent.st_dev != here.st_dev)
            break;
        if (cli_is_store(path))
            return;
    }
    path[0] = '\0';
}
