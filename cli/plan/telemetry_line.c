#include "plan/planning.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/render.h>

#include "cli.h"

bool telemetry_path(char path[PATH_MAX], struct lineage_store *store, const char *name)
{
    struct lineage_error err;
    char *dir = NULL;
    if (lineage_store_path(&dir, store, LINEAGE_PLACE_TELEMETRY, &err) != LINEAGE_OK)
        return false;
    mkdir(dir, 0777);
    int n = snprintf(path, PATH_MAX, "%s/%s", dir, name);
    lineage_free(dir);
    return n > 0 && n < PATH_MAX;
}

bool telemetry_line_append(struct lineage_store *store, const char *name, const json_t *object)
{
    size_t length = 0;
    char path[PATH_MAX] = "", *line = object ? cli_json_compact(object, &length) : NULL;
    int fd =
        line && telemetry_path(path, store, name) ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666) : -1;
    if (line)
        line[length] = '\n';
    bool good = fd >= 0 && write(fd, line, length + 1) == (ssize_t)length + 1;
    if (!good)
        cli_error(CLI_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    cli_close(fd);
    free(line);
    return good;
}
