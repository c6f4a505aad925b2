/*
 * store.c: opens a directory as a store. It opens settings, log and mirror in this order, because the mirror is built
 * for a score column and follows a log. Opening creates nothing in the directory except lineage.db.
 *
 * If the store is on a server, the log and the settings are there, and everything else is in a directory: the one whose
 * lineage.json names the server, or, if the server was named directly, one in the user's state directory
 * (server_name.h).
 */
#define _GNU_SOURCE /* memmem */
#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/text.h>

#include <fcntl.h>
#include <unistd.h>

#include "format/config.h"
#include "format/id.h"
#include "mirror/mirror.h"
#include "append/acknowledged.h"
#include "append/append_state.h"
#include "append/judge_again.h"
#include "append/receipts.h"
#include "files/fs.h"
#include "files/places.h"
#include "files/state_dir.h"
#include "log/log_file.h"
#include "postgres/log_postgres.h"
#include "postgres/server_name.h"
#include "settings/ask_settings.h"

/* *more is set as by config_parse. */
static enum lineage_status read_config(struct lineage_config *config, struct config_more *more, int dir_fd,
                                       struct lineage_error *err)
{
    SCOPED_BUF text = {0};
    enum lineage_status status = fs_read_file(dir_fd, PLACE_CONFIG, &text, err);
    *config = (struct lineage_config){.direction = LINEAGE_LOWER};
    if (more)
        *more = (struct config_more){0};
    if (status == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    else if (status == LINEAGE_OK)
        status = config_parse(config, more, text.data ? text.data : "", text.length, err);
    return status;
}

/* Adds the lines of the settings `a` that `b` lacks, `"direction": "lower"`. */
static void add_missing_lines(struct buf *out, const char *a, const char *b)
{
    for (size_t n; *a; a += n + (a[n] == '\n')) {
        n = strcspn(a, "\n");
        size_t length = n - (n && a[n - 1] == ',');
        const char *found = memmem(b, strlen(b), a, length);
        if (length > 2 && !(found && strchr(",\n", found[length])))
            buf_printf(out, "%s%.*s", out->length ? ", " : "", (int)length - 2, a + 2); /* without the indentation */
    }
}

/* Whether both are the same; otherwise *err says what differs. What nights have found out since counts only if another value is
 * given: how many trials they have, and a measured noise floor. */
static enum lineage_status compare_configs(const struct lineage_config *there, const struct lineage_config *given,
                                           const char *place, const char *remedy, struct lineage_error *err)
{
    SCOPED_BUF a = {0}, b = {0}, has = {0}, wanted = {0};
    struct lineage_config all = *given;
    enum lineage_status status = LINEAGE_OK;
    if (!all.night_trials)
        all.night_trials = there->night_trials;
    all.newest_night = there->newest_night;
    if (!(all.noise_std > 0) && there->noise_freedom) {
        all.noise_std = there->noise_std;
        all.noise_freedom = there->noise_freedom;
        all.noise_runs = there->noise_runs;
        all.noise_seeds = all.noise_seeds ? all.noise_seeds : there->noise_seeds;
    }
    config_write(&a, there, NULL);
    config_write(&b, &all, NULL);
    if (!a.failed && !b.failed) {
        add_missing_lines(&has, a.data, b.data);
        add_missing_lines(&wanted, b.data, a.data);
    }
    if (a.failed || b.failed || has.failed || wanted.failed)
        status = store_no_memory(err);
    else if (has.length || wanted.length)
        status = store_fail(err, LINEAGE_EEXIST, "%s is already there and has other settings: %s, not %s; %s", place,
                            has.length ? has.data : "defaults", wanted.length ? wanted.data : "defaults", remedy);
    return status;
}

static enum lineage_status write_config(int dir_fd, const struct lineage_config *config, struct lineage_error *err)
{
    SCOPED_BUF text = {0};
    struct lineage_config there;
    enum lineage_status status = LINEAGE_OK;
    struct stat st;
    if (fs_stat(dir_fd, PLACE_CONFIG, 0, &st) == 0) {
        status = read_config(&there, NULL, dir_fd, err);
        return status == LINEAGE_OK ? compare_configs(&there, config, PLACE_CONFIG, "edit it to change them", err) : status;
    }
    config_write(&text, config, NULL);
    if (text.failed)
        status = store_no_memory(err);
    else
        status = fs_replace(dir_fd, PLACE_CONFIG, text.data, text.length, true, err);
    return status;
}

/* Stored beside the mirror, so that the settings are known while the server cannot be reached. A failure is ignored. */
static void remember_settings(int dir_fd, const char *settings)
{
    SCOPED_BUF there = {0};
    if (fs_read_file(dir_fd, PLACE_SERVER, &there, NULL) != LINEAGE_OK || there.length != strlen(settings) ||
        memcmp(there.data, settings, there.length) != 0)
        (void)fs_replace(dir_fd, PLACE_SERVER, settings, strlen(settings), false, NULL);
}

/* Existing settings win, because two machines that create one store must agree. */
static enum lineage_status create_on_server(const char *log, const struct lineage_config *config, struct lineage_error *err)
{
    SCOPED_BUF text = {0};
    struct lineage_config in_force;
    SCOPED_FREE char *there = NULL;
    config_write(&text, config, NULL);
    TRY(text.failed ? store_no_memory(err) : log_postgres_create(log, text.data, &there, err));
    TRY(config_parse(&in_force, NULL, there, strlen(there), err));
    return compare_configs(&in_force, config, log, "another name makes another store", err);
}

/* The server that lineage.json names gets this user's password and gives the answers, so it is not asked before the user has
 * trusted the directory with it. */
static enum lineage_status check_trust(int dir_fd, const char *dir, const char *server, struct lineage_error *err)
{
    enum trust trust;
    char *other;
    enum lineage_status status = trust_record_check(dir_fd, server, &trust, &other, err);
    if (status == LINEAGE_OK && trust == TRUST_OTHER)
        status = store_fail(err, LINEAGE_EREFUSED,
                            "%s/" PLACE_CONFIG " names the log %s now, and you trusted it with %s; if you know why it changed: "
                            "lineage trust %s",
                            dir, server, other, dir);
    else if (status == LINEAGE_OK && trust == TRUST_NO)
        status = store_fail(err, LINEAGE_EREFUSED,
                            "%s/" PLACE_CONFIG " names the log %s, which would get your password and give the answers; if you "
                            "trust where the directory comes from: lineage trust %s",
                            dir, server, dir);
    free(other);
    return status;
}

/*
 * In a repository, `git clean` may have taken the whole store away, and a new one would give the ids of its trials again, so it is
 * refused. Elsewhere a person has removed it, and a new store begins.
 */
static enum lineage_status check_lost(int dir_fd, const char *dir, bool in_repository, struct lineage_error *err)
{
    struct acknowledged_lost lost;
    struct stat st;
    enum lineage_status status = LINEAGE_OK;
    if (fs_stat(dir_fd, PLACE_CONFIG, 0, &st) == 0 || fs_stat(dir_fd, PLACE_RESULTS, 0, &st) == 0)
        return LINEAGE_OK;
    acknowledged_find(&lost, dir);
    char *word = lineage_text_word(dir);
    if (lost.rows && in_repository)
        status = store_fail(err, LINEAGE_EEXIST,
                            "%s was a store of %zu trial%s, gone from it now; `lineage restore -C %s` brings them "
                            "back, and `lineage init --anew %s` begins a new store",
                            dir, lost.rows, lost.rows == 1 ? "" : "s", word ? word : dir, word ? word : dir);
    else if (lost.rows)
        acknowledged_set_aside(dir);
    free(word);
    acknowledged_lost_release(&lost);
    return status;
}

/* Also handles a directory whose lineage.json names a server. */
static enum lineage_status create_in_dir(const char *dir, const struct lineage_config *config, struct lineage_error *err)
{
    struct lineage_config there;
    RELEASED_BY(config_more_release) struct config_more more = {0};
    SCOPED_FD dir_fd = -1;
    TRY(store_dir_make(dir, err));
    TRY(store_dir_open(&dir_fd, dir, err));
    const bool in_repository = store_dir_in_repository(dir_fd);
    TRY(check_lost(dir_fd, dir, in_repository, err));
    TRY(store_dir_ignore(dir_fd, in_repository, err));
    TRY(read_config(&there, &more, dir_fd, err));
    if (more.log)
        TRY(check_trust(dir_fd, dir, more.log, err));
    return more.log ? create_on_server(more.log, config, err) : write_config(dir_fd, config, err);
}

enum lineage_status lineage_store_create(const char *dir, const struct lineage_config *config, struct lineage_error *err)
{
    struct lineage_config settings = *config;
    if (settings.direction == LINEAGE_DIRECTION_DEFAULT)
        settings.direction = LINEAGE_LOWER;
    TRY(config_check(&settings, err));
    return server_name_is(dir) ? create_on_server(dir, &settings, err) : create_in_dir(dir, &settings, err);
}

bool lineage_is_server(const char *place)
{
    return server_name_is(place);
}

/* The current settings, and the text that they were read from. */
static enum lineage_status read_settings(struct lineage_store *store, struct lineage_config *config, struct config_more *more,
                                         struct buf *text, struct lineage_error *err)
{
    if (!log_has_requests(store->log))
        return read_config(config, more, store->dir_fd, err);
    TRY(log_postgres_settings(store->log, text, err));
    return config_parse(config, more, text->data ? text->data : "", text->length, err);
}

static enum lineage_status write_settings(struct lineage_store *store, const struct buf *before,
                                          const struct lineage_config *config, const struct config_more *more,
                                          struct lineage_error *err)
{
    SCOPED_BUF text = {0};
    config_write(&text, config, more);
    if (text.failed)
        TRY(store_no_memory(err));
    else if (log_has_requests(store->log))
        TRY(log_postgres_set_settings(store->log, before->data, text.data, err));
    else
        TRY(fs_replace(store->dir_fd, PLACE_CONFIG, text.data, text.length, true, err));
    if (log_has_requests(store->log))
        remember_settings(store->dir_fd, text.data);
    return LINEAGE_OK;
}

/* What change_settings writes: the settings as they were read, changed by a function. */
struct changed_settings {
    struct lineage_config config;
    struct config_more more;
    bool as_before; /* nothing is to be written */
};
typedef enum lineage_status change_fn(struct changed_settings *settings, const void *context, struct lineage_error *err);

/*
 * Locks lineage.json, so that of two processes that change it none loses what the other wrote. A writer replaces the file, so a
 * process whose file was replaced while it waited waits for the new one. Returns the descriptor, or -1 if there is no file. Where files cannot be locked, the change goes on without a lock.
 */
static int lock_settings(const struct lineage_store *store)
{
    for (int fd; (fd = fs_open(store->dir_fd, PLACE_CONFIG, O_RDONLY, 0)) >= 0; fs_close(fd)) {
        struct stat locked, there;
        if (fs_lock(fd, true) != 0 || fs_stat_open(fd, &locked) != 0 || fs_stat(store->dir_fd, PLACE_CONFIG, 0, &there) != 0 ||
            (locked.st_dev == there.st_dev && locked.st_ino == there.st_ino))
            return fd;
    }
    return -1;
}

static void unlock_settings(int fd)
{
    if (fd < 0)
        return;
    (void)!fs_unlock(fd); /* closing is not enough: a child that was forked meanwhile has the descriptor, too */
    fs_close(fd);
}

/* The settings are read again, because this handle may override them, and others may have changed them since. If they change once
 * more before a server has the new ones, the function gets the newest. */
static enum lineage_status change_settings(struct lineage_store *store, change_fn *change, const void *context,
                                           struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    const int lock = log_has_requests(store->log) ? -1 : lock_settings(store);
    bool again = true;
    for (int i = 0; again && i < 100; i++) { /* each failure is the success of another process */
        struct changed_settings settings = {.as_before = false};
        struct buf before = {0};
        again = false;
        status = read_settings(store, &settings.config, &settings.more, &before, err);
        if (status == LINEAGE_OK)
            status = change(&settings, context, err);
        if (status == LINEAGE_OK && !settings.as_before) {
            status = write_settings(store, &before, &settings.config, &settings.more, err);
            again = status == LINEAGE_EEXIST;
        }
        config_more_release(&settings.more);
        buf_release(&before);
    }
    unlock_settings(lock);
    return again ? store_fail(err, LINEAGE_EAWAY, "the settings of the store are being changed") : status;
}

struct noise_change {
    const struct lineage_config *noise;
    bool measured; /* a floor with degrees of freedom was measured too, so it may be replaced */
};

static void take_noise(struct lineage_config *config, const struct lineage_config *noise)
{
    config->noise_std = noise->noise_std;
    config->noise_seeds = noise->noise_seeds;
    config->noise_freedom = noise->noise_freedom;
    config->noise_runs = noise->noise_runs;
}

static enum lineage_status change_noise(struct changed_settings *settings, const void *context, struct lineage_error *err)
{
    const struct noise_change *change = context;
    const struct lineage_config *noise = change->noise;
    struct lineage_config *config = &settings->config;
    if (config->noise_std > 0 && !(change->measured && config->noise_freedom))
        return store_fail(err, LINEAGE_EEXIST, PLACE_CONFIG " has a noise floor");
    if (!(noise->noise_std > 0) && !(change->measured && noise->noise_std == 0))
        return store_fail(err, LINEAGE_EINVAL, "noise_std must be above 0");
    take_noise(config, noise);
    return config_check(config, err);
}

static enum lineage_status replace_noise(struct lineage_store *store, const struct lineage_config *noise, bool measured,
                                         struct lineage_error *err)
{
    TRY(change_settings(store, change_noise, &(struct noise_change){noise, measured}, err));
    take_noise(&store->config, noise);
    return LINEAGE_OK;
}

static enum lineage_status keep_score_name(struct lineage_store *store, const char *name, struct lineage_error *err)
{
    char *copy = arena_text(&store->more->arena, name, strlen(name));
    if (!copy)
        return store_no_memory(err);
    store->more->score = copy;
    return LINEAGE_OK;
}

static enum lineage_status change_score_name(struct changed_settings *settings, const void *name, struct lineage_error *err)
{
    const char *there = settings->more.score, *given = name;
    settings->as_before = there != NULL;
    settings->more.score = given;
    return !there || strcmp(there, given) == 0
               ? LINEAGE_OK
               : store_fail(
                     err, LINEAGE_EEXIST,
                     "the score of this store is `%s` (" PLACE_CONFIG "), and scores of another name, `%s`, are not "
                     "compared with it: name the score with --score %s, or use another store; if both names mean the same, "
                     "change \"score\" in " PLACE_CONFIG,
                     there, given, there);
}

static enum lineage_status rename_score(struct changed_settings *settings, const void *name, struct lineage_error *err)
{
    (void)err;
    settings->more.score = name;
    return LINEAGE_OK;
}

static enum lineage_status set_score_name(struct lineage_store *store, const char *name, change_fn *change,
                                          struct lineage_error *err)
{
    if (!*name || strlen(name) >= LINEAGE_NAME_MAX || !lineage_text_is_utf8(name, strlen(name)))
        return store_fail(err, LINEAGE_EINVAL, "the name of a score is UTF-8 of 1 to 63 bytes");
    if (store->more->score && strcmp(store->more->score, name) == 0)
        return LINEAGE_OK;
    TRY(change_settings(store, change, name, err));
    return keep_score_name(store, name, err);
}

enum lineage_status lineage_store_name_score(struct lineage_store *store, const char *name, struct lineage_error *err)
{
    return set_score_name(store, name, change_score_name, err);
}

enum lineage_status lineage_store_rename_score(struct lineage_store *store, const char *name, struct lineage_error *err)
{
    return set_score_name(store, name, rename_score, err);
}

enum lineage_status lineage_store_set_noise(struct lineage_store *store, double std, unsigned seeds, struct lineage_error *err)
{
    const struct lineage_config noise = {.noise_std = std, .noise_seeds = seeds};
    return replace_noise(store, &noise, false, err);
}

enum lineage_status lineage_store_measure_noise(struct lineage_store *store, double std, unsigned freedom, unsigned runs,
                                                struct lineage_error *err)
{
    const struct lineage_config noise = {
        .noise_std = std, .noise_seeds = store->config.noise_seeds, .noise_freedom = freedom, .noise_runs = runs};
    if (!freedom && std > 0)
        return store_fail(err, LINEAGE_EINVAL, "a measured noise floor needs at least one degree of freedom");
    return replace_noise(store, &noise, true, err);
}

void lineage_store_pass_id(struct lineage_store *store, const char *id)
{
    if (!log_has_requests(store->log))
        row_note_id(id, &store->log->next_id, &store->log->id_width);
}

void lineage_store_plan_trials(struct lineage_store *store, size_t trials)
{
    store->config.newest_night = trials ? (unsigned)(trials < 1000000 ? trials : 1000000) : store->configured_trials;
}

static enum lineage_status change_trials(struct changed_settings *settings, const void *trials, struct lineage_error *err)
{
    (void)err;
    settings->config.newest_night = *(const unsigned *)trials;
    return LINEAGE_OK;
}

enum lineage_status lineage_store_keep_trials(struct lineage_store *store, struct lineage_error *err)
{
    const unsigned trials = store->config.newest_night;
    if (trials == store->configured_trials)
        return LINEAGE_OK;
    TRY(change_settings(store, change_trials, &trials, err));
    store->configured_trials = trials;
    return LINEAGE_OK;
}

/* Applies this handle's overrides. If they select another score column than the configured one, the mirror on disk
 * cannot be used. */
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

/* While the server cannot be reached, the settings that were last seen apply, or the defaults if none were seen. */
static enum lineage_status settings_from_before(struct lineage_store *store, struct buf *text, struct lineage_error *err)
{
    enum lineage_status status = fs_read_file(store->dir_fd, PLACE_SERVER, text, err);
    if (status == LINEAGE_ENOTFOUND) {
        buf_puts(text, "{}");
        status = LINEAGE_OK;
    }
    return status;
}

static enum lineage_status ask_server(struct lineage_store *store, struct lineage_error *err)
{
    SCOPED_BUF text = {0};
    enum lineage_status status = log_postgres_settings(store->log, &text, err);
    if (status == LINEAGE_OK)
        remember_settings(store->dir_fd, text.data);
    else if (status == LINEAGE_EAWAY)
        status = settings_from_before(store, &text, err);
    config_more_release(store->more);
    if (status == LINEAGE_OK)
        status = config_parse(&store->config, store->more, text.data ? text.data : "", text.length, err);
    return status;
}

/* A failover or a restored backup may have removed rows that the server acknowledged. */
static void tell_missing(struct lineage_store *store)
{
    size_t n_missing;
    if (receipts_check(store, &n_missing, NULL) == LINEAGE_OK && n_missing)
        store_notice(store, 0,
                     "%s acknowledged %zu appends of this machine and no longer has them (a failover, a restored "
                     "backup?); the next command that appends, or `lineage sync`, delivers them again",
                     store->log->place, n_missing);
}

static enum lineage_status open_log(struct lineage_store *store, const char *server, struct lineage_error *err)
{
    TRY(server ? log_postgres_open(&store->log, store->dir_fd, server, err)
               : log_file_open(&store->log, store->dir_fd, store->dir, err));
    store->log->tell = pass_on;
    store->log->context = store;
    store->log->acknowledged = server ? receipts_note : acknowledged_note;
    return server ? ask_server(store, err) : LINEAGE_OK;
}

/* dir, or the local directory of a server. */
static enum lineage_status find_dir(struct lineage_store *store, const char *dir, struct lineage_error *err)
{
    if (server_name_is(dir))
        return server_name_make_dir(&store->dir, dir, err);
    store->dir = strdup(dir);
    return store->dir ? LINEAGE_OK : store_no_memory(err);
}

/* Without lineage.json a store of higher scores would be one of lower scores, so the copy of the settings is put back. */
static enum lineage_status find_settings(struct lineage_store *store, bool *found, struct lineage_error *err)
{
    SCOPED_BUF text = {0};
    struct stat st;
    *found = fs_stat(store->dir_fd, PLACE_CONFIG, 0, &st) != 0 && errno == ENOENT && acknowledged_settings(store, &text);
    if (*found)
        TRY(config_parse(&store->config, store->more, text.data, text.length, err));
    if (*found)
        (void)!fs_replace(store->dir_fd, PLACE_CONFIG, text.data, text.length, true, NULL); /* a reader may not write */
    return LINEAGE_OK;
}

enum lineage_status lineage_store_open(struct lineage_store **out, const char *dir, const struct lineage_open_options *options,
                                       struct lineage_error *err)
{
    struct lineage_store *store = calloc(1, sizeof *store);
    SCOPED_FREE char *server = NULL;
    bool found = false;
    *out = NULL;
    if (!store)
        return store_no_memory(err);
    store->dir_fd = -1;
    store->owner = getpid();
    store->more = calloc(1, sizeof *store->more);
    enum lineage_status status = store->more ? find_dir(store, dir, err) : store_no_memory(err);
    if (status == LINEAGE_OK)
        status = store_dir_open(&store->dir_fd, store->dir, err);
    if (status == LINEAGE_OK)
        status = read_config(&store->config, store->more, store->dir_fd, err);
    if (status == LINEAGE_OK && store->more->log && !server_name_is(dir)) /* a user who names the server needs no trust */
        status = check_trust(store->dir_fd, store->dir, store->more->log, err);
    if (status == LINEAGE_OK && store->more->log && !(server = strdup(store->more->log)))
        status = store_no_memory(err);
    if (status == LINEAGE_OK)
        status = open_log(store, server, err);
    if (status == LINEAGE_OK && !server)
        status = find_settings(store, &found, err);
    if (status == LINEAGE_OK)
        status = apply_options(store, options, err);
    if (status == LINEAGE_OK && found)
        store_notice(store, 0,
                     "lineage.json was gone from %s; it is back as this user's state directory repeats it: a %s score is better",
                     store->dir, store->config.direction == LINEAGE_HIGHER ? "higher" : "lower");
    store->configured_trials = store->config.newest_night;
    if (status == LINEAGE_OK)
        status = mirror_open(&store->mirror, store, judge_rows_again, err);
    if (status == LINEAGE_OK && server)
        tell_missing(store);
    else if (status == LINEAGE_OK)
        status = check_lost(store->dir_fd, store->dir, store_dir_in_repository(store->dir_fd), err);
    if (status == LINEAGE_OK && !server)
        acknowledged_tell(store);
    if (status == LINEAGE_OK)
        *out = store;
    else
        lineage_store_close(store);
    return status;
}

/* A forked child closes its descriptors and leaves the mirror alone: closing the last connection of a process makes
 * SQLite remove files that the parent is using. */
void lineage_store_close(struct lineage_store *store)
{
    if (!store)
        return;
    if (store_check_owner(store, NULL) == LINEAGE_OK) {
        append_close(store);
        mirror_close(store->mirror);
    }
    settings_close(store);
    log_close(store->log);
    fs_close(store->dir_fd);
    if (store->more)
        config_more_release(store->more);
    free(store->more);
    free(store->dir);
    free(store);
}

const char *const *lineage_store_secret_files(const struct lineage_store *store)
{
    return store->more ? store->more->secret_files : NULL;
}

const char *const *lineage_store_harmless_names(const struct lineage_store *store)
{
    return store->more ? store->more->harmless_names : NULL;
}

const char *lineage_store_dir(const struct lineage_store *store)
{
    return store->dir;
}

const char *lineage_claim_text(char out[LINEAGE_CLAIM_TEXT_MAX], const struct lineage_store *store,
                               const struct lineage_trial *trial)
{
    char path[LINEAGE_NAME_MAX + 32];
    struct stat st;
    out[0] = '\0';
    const bool waits = trial->status == LINEAGE_DISCARD && trial->notes && strstr(trial->notes, LINEAGE_UNCONFIRMED);
    if ((trial->status != LINEAGE_KEEP && !waits) || !trial->delta_vs_best.present || store->config.noise_std > 0)
        return out;
    const char *id = id_bare(trial->exp_id);
    int n = snprintf(path, sizeof path, PLACE_PROVENANCE "/%s/run.json", id);
    const bool can_run = n > 0 && (size_t)n < sizeof path && fs_stat(store->dir_fd, path, 0, &st) == 0;
    snprintf(out, LINEAGE_CLAIM_TEXT_MAX,
             can_run
                 ? "not known to be better: the noise is unknown; `lineage rerun %.60s --seeds 3` finds out"
                 : "not known to be better: the noise is unknown; the score of another run finds out: `lineage append --status "
                   "discard --core-metric SCORE --notes 'replicates %.60s'`",
             id);
    return out;
}
