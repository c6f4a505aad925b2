/*
 * store.c: a directory as a store: settings, log, index, in this order, because the index is made for a score column
 * and follows a log. Nothing is made in the directory by opening it but lineage.db.
 */
#include <lineage/store.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/config.h"
#include "index/index.h"
#include "append/append_state.h"
#include "files/fs.h"
#include "files/places.h"
#include "log/log_file.h"

static enum lineage_status open_dir(int *fd, const char *dir, struct lineage_error *err)
{
    *fd = fs_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
    if (*fd >= 0)
        return LINEAGE_OK;
    return store_fail_errno(err, errno == ENOENT || errno == ENOTDIR ? LINEAGE_ENOTFOUND : LINEAGE_EIO,
                            "cannot open the store %s", dir);
}

static enum lineage_status read_config(struct lineage_config *config, int dir_fd, struct lineage_error *err)
{
    struct buf text = {0};
    enum lineage_status status = fs_read_file(dir_fd, PLACE_CONFIG, &text, err);
    *config = (struct lineage_config){.direction = LINEAGE_LOWER};
    if (status == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    else if (status == LINEAGE_OK)
        status = config_parse(config, text.data ? text.data : "", text.length, err);
    buf_release(&text);
    return status;
}

static bool same_config(const struct lineage_config *a, const struct lineage_config *b)
{
    return a->direction == b->direction && strcmp(a->metric, b->metric) == 0 &&
           strcmp(a->metric_label, b->metric_label) == 0 && a->min_delta == b->min_delta &&
           a->noise_std == b->noise_std && a->noise_seeds == b->noise_seeds;
}

/* Parents of the directory are the caller's to make, as with mkdir. */
static enum lineage_status make_dir(const char *dir, struct lineage_error *err)
{
    return fs_mkdir(AT_FDCWD, dir) == 0 ? LINEAGE_OK
                                        : store_fail_errno(err, LINEAGE_EIO, "cannot make the directory %s", dir);
}

static enum lineage_status write_config(int dir_fd, const struct lineage_config *config, struct lineage_error *err)
{
    struct buf text = {0};
    struct lineage_config there;
    enum lineage_status status = LINEAGE_OK;
    struct stat st;
    if (fs_stat(dir_fd, PLACE_CONFIG, 0, &st) == 0) {
        status = read_config(&there, dir_fd, err);
        if (status == LINEAGE_OK && !same_config(&there, config))
            status = store_fail(err, LINEAGE_EEXIST, PLACE_CONFIG " is already there and says something else");
        return status;
    }
    config_write(&text, config);
    if (text.failed)
        status = store_fail(err, LINEAGE_ENOMEM, "out of memory");
    else
        status = fs_replace(dir_fd, PLACE_CONFIG, text.data, text.length, true, err);
    buf_release(&text);
    return status;
}

enum lineage_status lineage_store_create(const char *dir, const struct lineage_config *config,
                                         struct lineage_error *err)
{
    struct lineage_config settings = *config;
    int dir_fd = -1;
    if (settings.direction == LINEAGE_DIRECTION_DEFAULT)
        settings.direction = LINEAGE_LOWER;
    enum lineage_status status = config_check(&settings, err);
    if (status == LINEAGE_OK)
        status = make_dir(dir, err);
    if (status == LINEAGE_OK)
        status = open_dir(&dir_fd, dir, err);
    if (status == LINEAGE_OK)
        status = write_config(dir_fd, &settings, err);
    if (dir_fd >= 0)
        fs_close(dir_fd);
    return status;
}

/* The file is read again: what is in force in this handle may be overridden, and the owner may have changed it since. */
enum lineage_status lineage_store_set_noise(struct lineage_store *store, double std, unsigned seeds,
                                            struct lineage_error *err)
{
    struct lineage_config config;
    struct buf text = {0};
    enum lineage_status status = read_config(&config, store->dir_fd, err);
    if (status == LINEAGE_OK && config.noise_std > 0)
        status = store_fail(err, LINEAGE_EEXIST, PLACE_CONFIG " has a noise floor");
    if (status == LINEAGE_OK && !(std > 0))
        status = store_fail(err, LINEAGE_EINVAL, "noise_std must be above 0");
    config.noise_std = std;
    config.noise_seeds = seeds;
    if (status == LINEAGE_OK)
        status = config_check(&config, err);
    if (status != LINEAGE_OK)
        return status;
    config_write(&text, &config);
    status = text.failed ? store_fail(err, LINEAGE_ENOMEM, "out of memory")
                         : fs_replace(store->dir_fd, PLACE_CONFIG, text.data, text.length, true, err);
    buf_release(&text);
    if (status == LINEAGE_OK) {
        store->config.noise_std = std;
        store->config.noise_seeds = seeds;
    }
    return status;
}

/* Overrides of this handle. Another score column than the configured one cannot use the mirror on disk. */
static enum lineage_status apply_options(struct lineage_store *store, const struct lineage_open_options *options,
                                         struct lineage_error *err)
{
    if (!options)
        return LINEAGE_OK;
    store->options = *options;
    if (options->direction != LINEAGE_DIRECTION_DEFAULT)
        store->config.direction = options->direction;
    if (!options->metric)
        return LINEAGE_OK;
    if (strlen(options->metric) >= LINEAGE_NAME_MAX)
        return store_fail(err, LINEAGE_EINVAL, "score column '%.40s...' is too long a name", options->metric);
    if (strcmp(store->config.metric, options->metric) != 0)
        store->options.no_mirror = true;
    strcpy(store->config.metric, options->metric);
    store->options.metric = store->config.metric;
    return LINEAGE_OK;
}

static void pass_on(void *context, const char *text)
{
    store_notice(context, 0, "%s", text);
}

enum lineage_status lineage_store_open(struct lineage_store **out, const char *dir,
                                       const struct lineage_open_options *options, struct lineage_error *err)
{
    struct lineage_store *store = calloc(1, sizeof *store);
    *out = NULL;
    if (!store || !(store->dir = strdup(dir))) {
        free(store);
        return store_fail(err, LINEAGE_ENOMEM, "out of memory");
    }
    store->dir_fd = -1;
    store->owner = getpid();
    enum lineage_status status = open_dir(&store->dir_fd, dir, err);
    if (status == LINEAGE_OK)
        status = read_config(&store->config, store->dir_fd, err);
    if (status == LINEAGE_OK)
        status = apply_options(store, options, err);
    if (status == LINEAGE_OK)
        status = log_file_open(&store->log, store->dir_fd, dir, err);
    if (status == LINEAGE_OK) {
        store->log->waiting = pass_on;
        store->log->context = store;
    }
    if (status == LINEAGE_OK)
        status = index_open(&store->index, store, err);
    if (status == LINEAGE_OK)
        *out = store;
    else
        lineage_store_close(store);
    return status;
}

enum lineage_status store_check_owner(const struct lineage_store *store, struct lineage_error *err)
{
    if (store->owner == getpid())
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EINVAL, "%s was opened before a fork; open it anew in the child", store->dir);
}

/* A child gives back its descriptors and leaves the mirror alone: closing the last connection of a process makes
 * SQLite tidy up files that the parent is using. */
void lineage_store_close(struct lineage_store *store)
{
    if (!store)
        return;
    if (store_check_owner(store, NULL) == LINEAGE_OK) {
        append_close(store);
        index_close(store->index);
    }
    log_close(store->log);
    if (store->dir_fd >= 0)
        fs_close(store->dir_fd);
    free(store->dir);
    free(store);
}

const struct lineage_config *lineage_store_config(const struct lineage_store *store)
{
    return &store->config;
}

const char *lineage_store_dir(const struct lineage_store *store)
{
    return store->dir;
}

const char *lineage_store_metric(const struct lineage_store *store)
{
    const struct row_layout *layout = index_layout(store->index);
    if (!layout && index_sync(store->index, NULL) == LINEAGE_OK) /* nothing was read yet */
        layout = index_layout(store->index);
    if (layout)
        return layout->metric;
    return store->config.metric[0] ? store->config.metric : "core_metric";
}

void lineage_append_options_init(struct lineage_append_options *options)
{
    *options = (struct lineage_append_options){.min_delta = (double)NAN, .noise_std = (double)NAN};
}
