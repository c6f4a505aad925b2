/* held_out_file.c: see show.h. */
#include "output/show.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/render.h>

static char *file_of(const struct lineage_store *store)
{
    char *path;
    struct lineage_error err;
    if (lineage_store_path(&path, store, LINEAGE_PLACE_HELD_OUT, &err) == LINEAGE_OK)
        return path;
    return cli_fail(&err), NULL;
}

/* One write for each line, so that lines of processes that append at once are not mixed. */
bool held_out_file_add(const struct lineage_store *store, const char *exp_id, const char *name, double value, size_t runs)
{
    char *path = file_of(store), *text = NULL;
    json_t *line = json_pack("{s:s, s:s, s:f, s:I}", "exp_id", exp_id, "name", name, "value", value, "runs", (json_int_t)runs);
    size_t length = 0;
    text = line ? cli_json_compact(line, &length) : NULL;
    int fd = path && text ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
    bool good = fd >= 0;
    if (good) {
        text[length] = '\n'; /* in place of the NUL */
        good = fchmod(fd, 0600) == 0 && write(fd, text, length + 1) == (ssize_t)length + 1 && fsync(fd) == 0;
    }
    if (!good)
        cli_error(CLI_SYSTEM, "the held-out score of %s is not kept in %s: %s", exp_id, path ? path : "the store",
                  path && text ? strerror(errno) : "no memory");
    cli_close(fd);
    free(text);
    json_decref(line);
    lineage_free(path);
    return good;
}

bool held_out_file_read(const struct lineage_store *store,
                        void (*visit)(void *context, const char *exp_id, const char *name, double value), void *context,
                        size_t *unread)
{
    char *path = file_of(store), *line = NULL;
    size_t capacity = 0;
    *unread = 0;
    int fd = path ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    const int error = errno;
    if (!file && path && error != ENOENT)
        cli_error(CLI_SYSTEM, "cannot read %s: %s", path, strerror(error));
    if (!file && fd >= 0)
        close(fd);
    while (file && getline(&line, &capacity, file) > 0) {
        json_t *object = json_loads(line, 0, NULL);
        const char *exp_id = cli_json_string(object, "exp_id");
        const char *name = cli_json_string(object, "name");
        const json_t *value = json_object_get(object, "value");
        if (exp_id && name && json_is_number(value))
            visit(context, exp_id, name, json_number_value(value));
        else
            ++*unread;
        json_decref(object);
    }
    free(line);
    if (file)
        fclose(file);
    lineage_free(path);
    return file || (path && error == ENOENT);
}
