/* files_beside_row.c: see files_beside_row.h. */
#include "run/files_beside_row.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/render.h>

#include "cli.h"
#include "run/run_log.h"
#include "support/running_files.h"
#include "trial/workdir.h"

/* This file holds the id of the row. Appending the row may still fail after the file was written. */
#define ROW_FILE "row"

static bool path_in(char out[PATH_MAX], const char *dir, const char *name)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    return n > 0 && n < PATH_MAX;
}

/* The trial may have put a pipe or a link there, so the file is made anew. */
static void write_row_id(const char *dir, const char *exp_id)
{
    char path[PATH_MAX];
    if (!path_in(path, dir, ROW_FILE))
        return;
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) {
        if (fd >= 0)
            close(fd);
        return;
    }
    fputs(exp_id, out);
    fclose(out);
}

/*
 * provenance/ may contain copies of private files, so only its owner may read it. A directory that its owner opened to the
 * group, for a store that several users share, stays open to the group.
 */
static bool make_private(const char *dir)
{
    struct stat st;
    if (mkdir(dir, 0700) == 0)
        return true;
    if (errno != EEXIST || stat(dir, &st) != 0)
        return false;
    mode_t kept = st.st_mode & 020 ? 07770 : 07700;
    return st.st_uid != geteuid() || !(st.st_mode & 07777 & ~kept) || chmod(dir, st.st_mode & kept) == 0;
}

/*
 * Renames within one file system. If a file with that name exists, it belongs to a row that was never appended, and is
 * replaced.
 */
static void move_to(const struct lineage_store *store, enum lineage_place place, const char *from, const char *name)
{
    char to[PATH_MAX];
    struct lineage_error err;
    char *dir = NULL;
    if (lineage_store_path(&dir, store, place, &err) == LINEAGE_OK && (place == LINEAGE_PLACE_PROVENANCE ? make_private(dir) : mkdir(dir, 0777) == 0 || errno == EEXIST) &&
        path_in(to, dir, name)) {
        workdir_remove_tree(AT_FDCWD, to);
        if (rename(from, to) != 0)
            cli_error(CLI_SYSTEM, "cannot keep %s: %s", to, strerror(errno));
    }
    lineage_free(dir);
}

/* Whether it is a directory, and not a link to one that the trial has put in its place. */
static bool is_own_directory(const char *path)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return false;
    if (!S_ISDIR(st.st_mode))
        cli_say("no provenance: the trial has replaced its directory");
    return S_ISDIR(st.st_mode);
}

void files_beside_row_put(const struct lineage_store *store, const char *dir, const char *exp_id)
{
    char from[PATH_MAX], name[LINEAGE_NAME_MAX + 8];
    write_row_id(dir, exp_id);
    snprintf(name, sizeof name, "%.64s.log", exp_id);
    if (path_in(from, dir, RUNNING_OUTPUT "0") && access(from, F_OK) == 0 && run_log_join(dir))
        move_to(store, LINEAGE_PLACE_LOGS, from, name);
    if (path_in(from, dir, RUNNING_PROVENANCE) && is_own_directory(from))
        move_to(store, LINEAGE_PLACE_PROVENANCE, from, exp_id);
}

bool files_beside_row_id(char exp_id[LINEAGE_NAME_MAX], const char *dir)
{
    FILE *in = running_open(dir, ROW_FILE, 4096);
    if (!in)
        return false;
    bool read = fgets(exp_id, LINEAGE_NAME_MAX, in) != NULL;
    fclose(in);
    return read;
}
