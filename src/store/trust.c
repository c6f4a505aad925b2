#include <lineage/trust.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "files/fs.h"
#include "files/places.h"
#include "files/trust_record.h"
#include "format/config.h"

/* *server stays NULL for a log that is a file. */
static enum lineage_status read_server(int dir_fd, char **server, struct lineage_error *err)
{
    struct buf text = {0};
    struct lineage_config config;
    struct config_more more = {0};
    enum lineage_status status = fs_read_file(dir_fd, PLACE_CONFIG, &text, err);
    *server = NULL;
    if (status == LINEAGE_OK)
        status = config_parse(&config, &more, text.data ? text.data : "", text.length, err);
    else if (status == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    if (status == LINEAGE_OK && more.log && !(*server = strdup(more.log)))
        status = store_no_memory(err);
    config_more_release(&more);
    buf_release(&text);
    return status;
}

enum lineage_status lineage_trust(const char *dir, char **server, struct lineage_error *err)
{
    int dir_fd = fs_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
    *server = NULL;
    if (dir_fd < 0)
        return store_fail_errno(err, LINEAGE_ENOTFOUND, "cannot open the directory %s", dir);
    enum lineage_status status = read_server(dir_fd, server, err);
    if (status == LINEAGE_OK && !*server)
        status = store_fail(err, LINEAGE_EINVAL, "%s/" PLACE_CONFIG " names no server, so there is nothing to trust", dir);
    if (status == LINEAGE_OK)
        status = trust_record_write(dir_fd, dir, *server, err);
    fs_close(dir_fd);
    if (status != LINEAGE_OK) {
        free(*server);
        *server = NULL;
    }
    return status;
}

enum lineage_status lineage_trust_withdraw(const char *dir, bool *was, struct lineage_error *err)
{
    return trust_record_remove(dir, was, err);
}

enum lineage_status lineage_trust_each(lineage_trust_fn *visit, void *context, struct lineage_error *err)
{
    return trust_record_each(visit, context, err);
}
