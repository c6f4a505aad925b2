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
        return errno == ENOENT;
    size_t n = fread(head, 1, sizeof head - 1, file);
    head[n] = '\0';
    fclose(file);
    return n == 0 || strstr(head, "<meta name=\"generator\" content=\"lineage report\">");
}

static int failed(const char *path, const char *doing, int error)
{
    return cli_error(CLI_SYSTEM, "report: cannot %s %s: %s", doing, path, strerror(error));
}

/* mkstemp makes files for their owner alone; a report is as readable as any file. */
static void usual_mode(int fd)
{
    mode_t mask = umask(0);
    umask(mask);
    fchmod(fd, 0666 & ~mask);
}

static int write_to(int fd, const char *path, const struct model *models, size_t n, const struct page_options *options)
{
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return failed(path, "write", errno);
    }
    usual_mode(fd);
    page_print(out, models, n, options);
    /* fsync before the rename, or a crash could leave the new name over an empty file. errno is taken before
     * fclose, which may set another. */
    bool bad = fflush(out) != 0 || ferror(out) || fsync(fd) != 0;
    int error = errno;
    if (fclose(out) != 0 && !bad) {
        bad = true;
        error = errno;
    }
    return bad ? failed(path, "write", error) : CLI_GO_ON;
}

int page_file_write(const char *path, const struct model *models, size_t n, const struct page_options *options, bool own_only)
{
    char temporary[PATH_MAX];
    if (own_only && !is_report(path))
        return cli_error(CLI_USAGE, "report: %s is there and is no report; name another file with --output", path);
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= PATH_MAX)
        return cli_error(CLI_USAGE, "report: the path %.60s... is too long", path);
    /* Beside the target, since rename does not cross file systems; a random name, as two nights may report at
     * once. */
    int fd = mkstemp(temporary);
    if (fd < 0)
        return failed(path, "write", errno);
    int status = write_to(fd, path, models, n, options);
    if (status == CLI_GO_ON && rename(temporary, path) != 0)
        status = failed(path, "write", errno);
    if (status != CLI_GO_ON)
        unlink(temporary);
    return status;
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
                     ? page_file_write(path, &model, 1, &(struct page_options){0}, true)
                     : cli_fail(&err);
    model_release(&model);
    return status;
}
