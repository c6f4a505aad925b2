/*
 * kept_token.c: keeps the token of `lineage serve`; see kept_token.h. The token opens the stores of this user to every
 * process of the machine, so a file that others can read or that they own is never used.
 */
#include "serve/kept_token.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

static bool token_path(char out[PATH_MAX])
{
    const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    int n = base && base[0] == '/'   ? snprintf(out, PATH_MAX, "%s/lineage/serve_token", base)
            : home && home[0] == '/' ? snprintf(out, PATH_MAX, "%s/.local/state/lineage/serve_token", home)
                                     : -1;
    return n > 0 && n < PATH_MAX;
}

static void make_parents(const char *path)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *slash = copy + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(copy, 0700);
        *slash = '/';
    }
}

/* Only GUARD_TOKEN digits and a line end, in a regular file of this user that nobody else can open, are a token. */
static bool read_token(struct guard *guard, const char *path)
{
    char text[GUARD_TOKEN + 2] = "";
    struct stat st;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool good = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) &&
                st.st_size == GUARD_TOKEN + 1 && read(fd, text, GUARD_TOKEN + 1) == GUARD_TOKEN + 1 &&
                strspn(text, "0123456789abcdef") == GUARD_TOKEN && text[GUARD_TOKEN] == '\n';
    if (fd >= 0)
        close(fd);
    if (good) {
        memcpy(guard->token, text, GUARD_TOKEN);
        guard->token[GUARD_TOKEN] = '\0';
    }
    return good;
}

/* Writes the token under another name first, so that no server reads half of it. link fails if the name exists, which
 * decides between two servers that start at once; rename replaces a token that is to be forgotten. */
static bool write_token(const struct guard *guard, const char *path, bool replace)
{
    char fresh[PATH_MAX + 24];
    make_parents(path);
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    unlink(fresh);
    FILE *out = cli_private_file(fresh);
    bool ok = out && fprintf(out, "%s\n", guard->token) == GUARD_TOKEN + 1 && fflush(out) == 0;
    if (out)
        ok = fclose(out) == 0 && ok;
    ok = ok && (replace ? rename(fresh, path) == 0 : link(fresh, path) == 0);
    unlink(fresh);
    return ok;
}

bool token_keep(struct guard *guard, bool fresh, bool *kept)
{
    char path[PATH_MAX];
    struct stat st;
    bool named = token_path(path);
    *kept = true;
    if (named && !fresh && read_token(guard, path))
        return true;
    if (!guard_make_token(guard))
        return false;
    /* A file that is not a token of this user alone is replaced, because its token may be known to others. */
    bool replace = fresh || (named && lstat(path, &st) == 0);
    *kept = named && (write_token(guard, path, replace) || (!replace && read_token(guard, path)));
    return true;
}
