#include "state_dir.h"

#include <fcntl.h>
#include <unistd.h>

#include <lineage/trust.h>

#include "../format/config.h"
#include "places.h"

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

enum { RECORD_MAX = 64 };

static int record_text(char text[RECORD_MAX], const struct fs_identity *file)
{
    return snprintf(text, RECORD_MAX, "%llx-%llx-%llx", (unsigned long long)file->device, (unsigned long long)file->inode,
                    (unsigned long long)file->born_ns);
}

enum lineage_status own_record_base(struct buf *base, int store_dir_fd, struct lineage_error *err)
{
    struct fs_identity dir;
    char text[RECORD_MAX];
    if (fs_identify(store_dir_fd, "", &dir) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot look at the directory of the store");
    TRY(state_dir_path(base, "it is recorded which mirrors this user made", err));
    record_text(text, &dir);
    buf_printf(base, "/mirrors/%s", text);
    return base->failed ? store_no_memory(err) : LINEAGE_OK;
}

/* A record that belongs to another user counts as unknown: in a state directory that others can write, anybody could make
 * it. */
enum own own_record_check(const char *base, const struct fs_identity *file)
{
    char wanted[RECORD_MAX], there[RECORD_MAX];
    struct stat st;
    int fd = fs_open(AT_FDCWD, base, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0)
        return errno == ENOENT ? OWN_NO : OWN_UNKNOWN;
    int length = record_text(wanted, file);
    bool mine = fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
    ssize_t n = mine ? fs_read_at(fd, there, sizeof there, 0) : -1;
    fs_close(fd);
    if (n < 0)
        return OWN_UNKNOWN;
    return n == length && memcmp(there, wanted, (size_t)n) == 0 ? OWN_YES : OWN_OTHER;
}

enum lineage_status own_record_write(const char *base, const struct fs_identity *file, struct lineage_error *err)
{
    char text[RECORD_MAX];
    SCOPED_BUF dir = {0};
    const char *name = strrchr(base, '/') + 1;
    if (own_record_check(base, file) == OWN_YES)
        return LINEAGE_OK;
    buf_add(&dir, base, (size_t)(name - base));
    TRY(dir.failed ? store_no_memory(err) : state_dir_make_parents(dir.data, err));
    SCOPED_FD fd = fs_open(AT_FDCWD, dir.data, O_RDONLY | O_DIRECTORY, 0);
    return fd < 0 ? store_fail_errno(err, LINEAGE_EIO, "cannot open %s", dir.data)
                  : fs_replace(fd, name, text, (size_t)record_text(text, file), false, err);
}

int own_record_lock(const char *base)
{
    SCOPED_BUF path = {0};
    struct lineage_error ignored;
    int fd = -1;
    buf_add(&path, base, (size_t)(strrchr(base, '/') - base));
    buf_puts(&path, "/.lock");
    if (!path.failed && state_dir_make_parents(path.data, &ignored) == LINEAGE_OK)
        fd = fs_open(AT_FDCWD, path.data, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
    if (fd >= 0 && fs_lock(fd, true) != 0) {
        fs_close(fd);
        fd = -1;
    }
    return fd;
}

/* ---- A record is the file STATE/stores/INODE-BIRTH with three lines: device, server, path. The
 * device number of some file systems changes when they are mounted again, so a directory with the same inode and time of birth
 * also matches by its path. Without times of birth the device must match.
 */

enum { NAME_SIZE = 48 };

struct record {
    struct buf text;
    unsigned long long device;
    const char *server, *path; /* in text */
};

/* Opens STATE/stores; *fd is -1 if it does not exist and `make` is false. */
static enum lineage_status open_stores(int *fd, bool make, struct lineage_error *err)
{
    SCOPED_BUF path = {0};
    *fd = -1;
    TRY(state_dir_path(&path, "it is recorded which directories this user trusts", err));
    buf_puts(&path, "/stores/");
    TRY(path.failed ? store_no_memory(err) : make ? state_dir_make_parents(path.data, err) : LINEAGE_OK);
    *fd = fs_open(AT_FDCWD, path.data, O_RDONLY | O_DIRECTORY, 0);
    if (*fd < 0 && (make || errno != ENOENT))
        return store_fail_errno(err, LINEAGE_EIO, "cannot open %s", path.data);
    return LINEAGE_OK;
}

static enum lineage_status name_of(char name[NAME_SIZE], struct fs_identity *dir, int dir_fd, struct lineage_error *err)
{
    if (fs_identify(dir_fd, "", dir) != 0)
        return store_fail_errno(err, LINEAGE_EIO, "cannot look at the directory of the store");
    snprintf(name, NAME_SIZE, "%llx-%llx", (unsigned long long)dir->inode, (unsigned long long)dir->born_ns);
    return LINEAGE_OK;
}

/* Gives the path of an open directory, which the caller frees; `given` without /proc. */
static enum lineage_status path_of(char **out, int dir_fd, const char *given, struct lineage_error *err)
{
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir_fd);
    ssize_t n = fs_read_link(AT_FDCWD, link, path, sizeof path - 1);
    path[n < 0 ? 0 : n] = '\0';
    *out = strdup(n < 0 ? given : path);
    return *out ? LINEAGE_OK : store_no_memory(err);
}

static bool take_line(const char **line, char **rest)
{
    char *end = strchr(*rest, '\n');
    if (!end)
        return false;
    *line = *rest;
    *end = '\0';
    *rest = end + 1;
    return true;
}

/* A file of another user is not a record: in a state directory that others can write, anybody could make it. Returns
 * LINEAGE_ENOTFOUND for a file that does not exist or is not a record. */
static enum lineage_status read_record(struct record *record, int fd, const char *name, struct lineage_error *err)
{
    struct stat st;
    const char *device;
    *record = (struct record){0};
    if (fs_stat(fd, name, AT_SYMLINK_NOFOLLOW, &st) != 0)
        return errno == ENOENT ? LINEAGE_ENOTFOUND : store_fail_errno(err, LINEAGE_EIO, "cannot look at the record %s", name);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return LINEAGE_ENOTFOUND;
    TRY(fs_read_file(fd, name, &record->text, err));
    char *rest = record->text.data;
    if (!rest || !take_line(&device, &rest) || !take_line(&record->server, &rest) || !take_line(&record->path, &rest))
        return LINEAGE_ENOTFOUND;
    record->device = strtoull(device, NULL, 16);
    return LINEAGE_OK;
}

static enum lineage_status compare(bool *same, const struct record *record, const struct fs_identity *dir, int dir_fd,
                                   struct lineage_error *err)
{
    char *path;
    *same = record->device == dir->device;
    if (*same || !dir->born_ns)
        return LINEAGE_OK;
    enum lineage_status status = path_of(&path, dir_fd, "", err);
    *same = status == LINEAGE_OK && strcmp(path, record->path) == 0;
    free(path);
    return status;
}

enum lineage_status trust_record_check(int dir_fd, const char *server, enum trust *trust, char **other, struct lineage_error *err)
{
    char name[NAME_SIZE];
    struct fs_identity dir;
    struct record record = {0};
    bool same = false;
    int fd;
    *trust = TRUST_NO;
    *other = NULL;
    TRY(open_stores(&fd, false, err));
    if (fd < 0)
        return LINEAGE_OK;
    enum lineage_status status = name_of(name, &dir, dir_fd, err);
    if (status == LINEAGE_OK)
        status = read_record(&record, fd, name, err);
    if (status == LINEAGE_OK)
        status = compare(&same, &record, &dir, dir_fd, err);
    if (status == LINEAGE_OK && same) {
        *trust = strcmp(record.server, server) == 0 ? TRUST_YES : TRUST_OTHER;
        if (*trust == TRUST_OTHER && !(*other = strdup(record.server)))
            status = store_no_memory(err);
    }
    buf_release(&record.text);
    fs_close(fd);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* A line end would add a line to the record, and an escape sequence could hide on a terminal what is trusted. */
static bool has_controls(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

enum lineage_status trust_record_write(int dir_fd, const char *path, const char *server, struct lineage_error *err)
{
    char name[NAME_SIZE];
    struct fs_identity dir;
    SCOPED_BUF text = {0};
    SCOPED_FD fd = -1;
    SCOPED_FREE char *absolute = NULL;
    TRY(name_of(name, &dir, dir_fd, err));
    TRY(path_of(&absolute, dir_fd, path, err));
    if (has_controls(absolute) || has_controls(server))
        return store_fail(err, LINEAGE_EINVAL, "a directory or a server with control characters in its name cannot be trusted");
    buf_printf(&text, "%llx\n%s\n%s\n", (unsigned long long)dir.device, server, absolute);
    TRY(text.failed ? store_no_memory(err) : open_stores(&fd, true, err));
    return fs_replace(fd, name, text.data, text.length, true, err);
}

/* *server stays NULL for a log that is a file. */
static enum lineage_status read_server(int dir_fd, char **server, struct lineage_error *err)
{
    SCOPED_BUF text = {0};
    struct lineage_config config;
    RELEASED_BY(config_more_release) struct config_more more = {0};
    enum lineage_status status = fs_read_file(dir_fd, PLACE_CONFIG, &text, err);
    *server = NULL;
    if (status == LINEAGE_OK)
        status = config_parse(&config, &more, text.data ? text.data : "", text.length, err);
    else if (status == LINEAGE_ENOTFOUND)
        status = LINEAGE_OK;
    if (status == LINEAGE_OK && more.log && !(*server = strdup(more.log)))
        status = store_no_memory(err);
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

/* ---- all of them ---- */

struct named {
    char name[NAME_SIZE];
    struct record record;
};

struct records {
    struct named *at;
    size_t n, room;
};

static bool add(struct records *records, int fd, const char *name)
{
    struct named one = {0};
    if (strlen(name) >= sizeof one.name || name[0] == '.')
        return true;
    if (!LIST_ROOM(records->at, records->n, records->room))
        return false;
    strcpy(one.name, name);
    if (read_record(&one.record, fd, name, NULL) == LINEAGE_OK)
        records->at[records->n++] = one;
    else
        buf_release(&one.record.text);
    return true;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->record.path, ((const struct named *)b)->record.path);
}

static void release(struct records *records)
{
    for (size_t i = 0; i < records->n; i++)
        buf_release(&records->at[i].record.text);
    free(records->at);
}

/* fd stays open; without records it is -1. */
static enum lineage_status read_all(struct records *records, int *fd, struct lineage_error *err)
{
    const char *name;
    bool room = true;
    *records = (struct records){0};
    TRY(open_stores(fd, false, err));
    if (*fd < 0)
        return LINEAGE_OK;
    SCOPED_LIST list = fs_list_at(*fd, ".", 0);
    if (!list)
        return store_fail_errno(err, LINEAGE_EIO, "cannot list the records of trusted directories");
    while (room && (name = fs_next(list)))
        room = add(records, *fd, name);
    if (records->n)
        qsort(records->at, records->n, sizeof *records->at, by_path);
    return room ? LINEAGE_OK : store_no_memory(err);
}

enum lineage_status lineage_trust_each(lineage_trust_fn *visit, void *context, struct lineage_error *err)
{
    struct records records;
    int fd;
    enum lineage_status status = read_all(&records, &fd, err);
    for (size_t i = 0; status == LINEAGE_OK && i < records.n; i++)
        if (!visit(context, records.at[i].record.path, records.at[i].record.server))
            break;
    release(&records);
    fs_close(fd);
    return status;
}

/* Removes the records of the directory with this name or this path. */
static enum lineage_status remove_named(const char *name, const char *path, bool *was, struct lineage_error *err)
{
    struct records records;
    int fd;
    enum lineage_status status = read_all(&records, &fd, err);
    for (size_t i = 0; status == LINEAGE_OK && i < records.n; i++)
        if (strcmp(records.at[i].name, name) == 0 || strcmp(records.at[i].record.path, path) == 0) {
            *was = true;
            if (fs_unlink(fd, records.at[i].name) != 0)
                status = store_fail_errno(err, LINEAGE_EIO, "cannot remove the record of %s", path);
        }
    release(&records);
    fs_close(fd);
    return status;
}

/* The record is found by the directory itself, and by its path if it was removed or moved. */
enum lineage_status lineage_trust_withdraw(const char *path, bool *was, struct lineage_error *err)
{
    char name[NAME_SIZE] = "", *absolute = NULL;
    struct fs_identity dir;
    int dir_fd = fs_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
    *was = false;
    enum lineage_status status = dir_fd >= 0 ? name_of(name, &dir, dir_fd, err) : LINEAGE_OK;
    if (status == LINEAGE_OK && dir_fd >= 0)
        status = path_of(&absolute, dir_fd, path, err);
    fs_close(dir_fd);
    if (status == LINEAGE_OK)
        status = remove_named(name, absolute ? absolute : path, was, err);
    free(absolute);
    return status;
}
