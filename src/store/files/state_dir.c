#include "state_dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fs.h"

enum lineage_status state_dir_path(struct buf *path, const char *what, struct lineage_error *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state && state[0] == '/', has_home = home && home[0] == '/';
    if (!has_state && !has_home)
        return store_fail(err, LINEAGE_EINVAL, "neither XDG_STATE_HOME nor HOME says where %s", what);
    buf_printf(path, "%s%s/lineage", has_state ? state : home, has_state ? "" : "/.local/state");
    return LINEAGE_OK;
}

enum lineage_status state_dir_make_parents(char *path, struct lineage_error *err)
{
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        struct stat st;
        bool there = fs_stat(AT_FDCWD, path, 0, &st) == 0 || fs_mkdir_new(AT_FDCWD, path, 0700) == 0 || fs_is_dir(AT_FDCWD, path);
        if (!there)
            store_fail_errno(err, LINEAGE_EIO, "cannot make the directory %s", path);
        *slash = '/';
        if (!there)
            return LINEAGE_EIO;
    }
    return LINEAGE_OK;
}
