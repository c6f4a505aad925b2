/*
 * page_file.c: writes a page to a file as a whole or not at all; see page_file.h. Separate from html_page.c, which
 * prints to any stream, because the live server writes no file.
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
#include "report/report_load.h"

/* Whether the file is a report: every page identifies itself within its first bytes. */
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

/* mkstemp makes files that only their owner can read. A report is as readable as the file that it replaces, or as any
 * new file. */
static mode_t wanted_mode(const struct stat *old)
{
    mode_t mask = umask(0);
    umask(mask);
    return old ? old->st_mode & 0777 : 0666 & ~mask;
}

/* If regular is set, the bytes are on disk on return. errno is read before fclose, which may change it. */
static int write_to(int fd, const char *path, page_printer *print, const void *context, bool regular)
{
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return failed(path, "write", errno);
    }
    print(out, context);
    /* fsync precedes the rename; otherwise a crash could leave the new name with an empty file. */
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
    /* The temporary file is in the target's directory, because rename does not cross file systems. Its name is random,
     * because two nights may write a report at once. */
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
        return cli_error(CLI_USAGE, "report: %s exists and is not a report; name another file with --output", path);
    /* A device or a pipe is written to directly: a rename would replace /dev/null by a file. */
    if (there && !regular) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? failed(path, "write", errno) : write_to(fd, path, print, context, false);
    }
    /* A link is kept; the file that it leads to is replaced. */
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

/* Uses own_only, because the user did not name this path: an existing file that is not a report is kept. */
int page_file_beside(struct lineage_store *store)
{
    struct model model;
    struct lineage_error err;
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/report.html", lineage_store_dir(store)) >= PATH_MAX)
        return cli_error(CLI_USAGE, "report: the path of the store is too long");
    int status =
        model_load(&model, store, &err) == LINEAGE_OK ? page_file_write(path, print_model, &model, true) : cli_fail(&err);
    model_release(&model);
    return status;
}
