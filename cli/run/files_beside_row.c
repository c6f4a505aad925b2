#include "run/run_parts.h"

#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/render.h>

#include "cli.h"
#include "support/running_files.h"
#include "trial/one_trial.h"

/* This file holds the id of the row. Appending the row may still fail after the file was written. */
#define ROW_FILE "row"

/* The trial may have put a pipe or a link there, so the file is made anew. */
static void write_row_id(int dir, const char *exp_id)
{
    unlinkat(dir, ROW_FILE, 0);
    int fd = openat(dir, ROW_FILE, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out) {
        cli_close(fd);
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

/* Where the owner opened provenance/ to its group, that group may do with what each trial left there what its user may. */
static void open_to_group(const char *kept, char *path)
{
    char *const paths[] = {path, NULL};
    struct stat st;
    FTS *tree = stat(kept, &st) == 0 && st.st_mode & 020 ? fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    bool given = true;
    for (FTSENT *entry; tree && given && (entry = fts_read(tree));) {
        const struct stat *at = entry->fts_statp;
        if (entry->fts_info != FTS_D && entry->fts_info != FTS_F)
            continue;
        given = (at->st_gid == st.st_gid || lchown(entry->fts_path, (uid_t)-1, st.st_gid) == 0) &&
                chmod(entry->fts_path, (at->st_mode & 07777) | (at->st_mode & 0700) >> 3) == 0;
    }
    if (!given)
        cli_tell("the group of %s cannot read %s: %s; whoever runs trials there has to be in that group, %ju", kept, path,
                 strerror(errno), (uintmax_t)st.st_gid);
    if (tree)
        fts_close(tree);
}

/*
 * Renames within one file system. If a file with that name exists, it belongs to a row that was never appended, and is
 * replaced.
 */
static void move_to(const struct lineage_store *store, enum lineage_place place, int dir, const char *from, const char *name)
{
    char to[PATH_MAX];
    struct lineage_error err;
    char *kept = NULL;
    if (lineage_store_path(&kept, store, place, &err) == LINEAGE_OK &&
        (place == LINEAGE_PLACE_PROVENANCE ? make_private(kept) : mkdir(kept, 0777) == 0 || errno == EEXIST) &&
        cli_path_in(to, kept, name)) {
        workdir_remove_tree(AT_FDCWD, to);
        if (renameat(dir, from, AT_FDCWD, to) == 0) {
            if (place == LINEAGE_PLACE_PROVENANCE)
                open_to_group(kept, to);
        } else {
            cli_error(CLI_SYSTEM, "cannot keep %s: %s%s%.200s", to, strerror(errno),
                      errno == EACCES
                          ? "; if several users share the store, its owner opens the directory to the group: chmod -R g+rwX "
                          : "",
                      errno == EACCES ? kept : "");
        }
    }
    lineage_free(kept);
}

/* Whether there is a provenance, and not a link to another directory that the trial has put in its place. */
static bool has_provenance(int dir)
{
    struct stat st;
    if (fstatat(dir, RUNNING_PROVENANCE, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (!S_ISDIR(st.st_mode))
        cli_say("no provenance: the trial has replaced its directory");
    return S_ISDIR(st.st_mode);
}

void files_beside_row_put(const struct lineage_store *store, int dir, const char *exp_id)
{
    char name[LINEAGE_NAME_MAX + 8];
    write_row_id(dir, exp_id);
    snprintf(name, sizeof name, "%.64s.log", exp_id);
    if (faccessat(dir, RUNNING_OUTPUT "0", F_OK, 0) == 0 && run_log_join(dir))
        move_to(store, LINEAGE_PLACE_LOGS, dir, RUNNING_OUTPUT "0", name);
    if (has_provenance(dir))
        move_to(store, LINEAGE_PLACE_PROVENANCE, dir, RUNNING_PROVENANCE, exp_id);
}

void files_beside_row_put_work(const struct lineage_store *store, int dir, const char *exp_id)
{
    char name[LINEAGE_NAME_MAX + 8];
    snprintf(name, sizeof name, "%.64s" UNSCORED_WORK, exp_id);
    move_to(store, LINEAGE_PLACE_LOGS, dir, RUNNING_WORK, name);
}

bool files_beside_row_id(char exp_id[LINEAGE_NAME_MAX], int dir)
{
    FILE *in = running_open(dir, ROW_FILE, 4096);
    if (!in)
        return false;
    bool read = fgets(exp_id, LINEAGE_NAME_MAX, in) != NULL;
    fclose(in);
    return read;
}
