/*
 * page_file.c: a page as a file that is there whole or not at all; see page_file.h.
 *
 * Apart from html_page.c, which prints to any stream: the live server writes no file.
 */
#include "report/page_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* Every page says so within its first bytes. */
static bool is_report(const char *path)
{
    char head[1024];
    FILE *file = fopen(path, "rbe");
    if (!file)
        return false;
    size_t n = fread(head, 1, sizeof head - 1, file);
    head[n] = '\0';
    fclose(file);
    return n == 0 || strstr(head, "<meta name=\"generator\" content=\"lineage report\">");
}

static int failed(const char *path, const char *doing, int error)
{
    return cli_error(CLI_SYSTEM, "report: cannot %s %s: %s", doing, path, strerror(error));
}

/* mkstemp makes files for their owner alone; a report is as readable as any file, or as the one that it replaces. */
static mode_t wanted_mode(const struct stat *old)
{
    mode_t mask = umask(0);
    umask(mask);
    return old ? old->st_mode & 0777 : 0666 & ~mask;
}

/* regular: the bytes are on disk when this returns. errno is taken before fclose, which may set another. */
static int write_to(int fd, const char *path, page_printer *print, const void *context, bool regular)
{
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return failed(path, "write", errno);
    }
    print(out, context);
    /* fsync before the rename, or a crash could leave the new name over an empty file. */
    bool bad = fflush(out) != 0 || ferror(out) || (regular && fsync(fd) != 0);
    int error = errno;
    if (fclose(out) != 0 && !bad) {
        bad = true;
        error = errno;
    }
    return bad ? failed(path, "write", error) : CLI_GO_ON;
}

static int replace(const char *path, const struct stat *old, page_printer *print, const void *context)
{
    char temporary[PATH_MAX];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= PATH_MAX)
        return cli_error(CLI_USAGE, "report: the path %.60s... is too long", path);
    /* Beside the target, since rename does not cross file systems; a random name, as two nights may report at
     * once. */
    int fd = mkstemp(temporary);
    if (fd < 0)
        return failed(path, "write", errno);
    fchmod(fd, wanted_mode(old));
    int status = write_to(fd, path, print, context, true);
    if (status == CLI_GO_ON && rename(temporary, path) != 0)
        status = failed(path, "write", errno);
    if (status != CLI_GO_ON)
        unlink(temporary);
    return status;
}

int page_file_write(const char *path, page_printer *print, const void *context, bool own_only)
{
    struct stat old;
    bool there = stat(path, &old) == 0, regular = there && S_ISREG(old.st_mode);
    if (own_only && there && !(regular && is_report(path)))
        return cli_error(CLI_USAGE, "report: %s is there and is no report; name another file with --output", path);
    /* A device or a pipe is written to: a rename would put a file in place of /dev/null. */
    if (there && !regular) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? failed(path, "write", errno) : write_to(fd, path, print, context, false);
    }
    /* A link stays, what it leads to is replaced. */
    char *target = there ? realpath(path, NULL) : NULL;
    if (there && !target)
        return failed(path, "find", errno);
    int status = replace(target ? target : path, there ? &old : NULL, print, context);
    free(target);
    return status;
}

static void print_model(FILE *out, const void *context)
{
    page_print(out, context, 1, &(struct page_options){0});
}

/* own_only: nobody named this path, so a file of somebody else's by that name stays. */
int page_file_beside(struct lineage_store *store)
{
    struct model model;
    struct lineage_error err;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/report.html", lineage_store_dir(store)) >= PATH_MAX)
        return cli_error(CLI_USAGE, "report: the path of the store is too long");
    int status = model_load(&model, store, &err) == LINEAGE_OK
                     ? page_file_write(path, print_model, &model, true)
                     : cli_fail(&err);
    model_release(&model);
    return status;
}
