#include "outbox_file.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <lineage/render.h>
#include <xxhash.h>

#include "../internal.h"
#include "../files/fs.h"
#include "../files/places.h"

#define ENDING ".trial"
#define REFUSED ".refused"
#define DAMAGED ".damaged"
#define ERASED "----------------"
#define HEAD "lineage-outbox 1 %016llx %020zu\n"
enum { HEAD_LENGTH = 55 };

static enum lineage_status failed(const char *doing, const char *name, struct lineage_error *err)
{
    return store_fail_errno(err, LINEAGE_EIO, "cannot %s %s", doing, name);
}

/* Makes the name of the file durable before a request is in it. */
static enum lineage_status sync_names(int dir_fd, struct lineage_error *err)
{
    int fd = fs_open(dir_fd, PLACE_OUTBOX, O_RDONLY | O_DIRECTORY, 0);
    bool synced = fd >= 0 && fs_sync_dir(fd) == 0;
    fs_close(fd);
    return synced ? LINEAGE_OK : failed("sync", PLACE_OUTBOX, err);
}

/* Creates and locks a file whose name sorts by time. Tries again if another command removes the file before it is
 * locked, because a file without a request looks like a leftover. */
static enum lineage_status make(struct outbox_file *file, int dir_fd, struct lineage_error *err)
{
    if (fs_mkdir(dir_fd, PLACE_OUTBOX) != 0 || fs_sync_dir(dir_fd) != 0)
        return failed("make the directory", PLACE_OUTBOX, err);
    for (int tries = 0; tries < 100; tries++) {
        struct timespec now;
        struct stat st;
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(file->name, sizeof file->name, PLACE_OUTBOX "/%010lld%09ld-%ld" ENDING, (long long)now.tv_sec, now.tv_nsec,
                 (long)getpid());
        file->fd = fs_open(dir_fd, file->name, O_RDWR | O_CREAT | O_EXCL, 0600);
        if (file->fd < 0 && errno != EEXIST)
            return failed("make", file->name, err);
        if (file->fd < 0)
            continue;
        if (fs_try_lock(file->fd) == 0 && fs_stat_open(file->fd, &st) == 0 && st.st_nlink > 0)
            return sync_names(dir_fd, err);
        fs_close(file->fd);
        file->fd = -1;
    }
    return store_fail(err, LINEAGE_EIO, "cannot make a file in " PLACE_OUTBOX);
}

/* The request ends with a zero byte, so that it is found even if the length in the head is damaged, and the rest of a longer
 * earlier request is not taken for a part of it. */
enum lineage_status outbox_write(struct outbox_file *file, int dir_fd, const json_t *request, bool sync,
                                 struct lineage_error *err)
{
    enum lineage_status status = file->fd < 0 ? make(file, dir_fd, err) : LINEAGE_OK;
    char *text = json_dumps(request, JSON_COMPACT | JSON_REAL_PRECISION(17)), head[HEAD_LENGTH + 1];
    SCOPED_BUF bytes = {0};
    if (status != LINEAGE_OK || !text) {
        lineage_free(text);
        return status == LINEAGE_OK ? store_no_memory(err) : status;
    }
    size_t length = strlen(text);
    snprintf(head, sizeof head, HEAD, (unsigned long long)XXH3_64bits(text, length), length);
    buf_puts(&bytes, head);
    buf_puts(&bytes, text);
    buf_put(&bytes, '\0');
    lineage_free(text);
    if (bytes.failed)
        status = store_no_memory(err);
    else if (fs_write_at(file->fd, bytes.data, bytes.length, 0) != 0 || (sync && fs_sync_data(file->fd) != 0))
        status = failed("write", file->name, err);
    return status;
}

/* This is not synced. After a crash the request is looked up on the server, found, and erased again. */
void outbox_strike(struct outbox_file *file)
{
    if (file->fd >= 0)
        (void)fs_write_at(file->fd, ERASED, sizeof ERASED - 1, 0);
}

void outbox_leave(struct outbox_file *file)
{
    fs_close(file->fd);
    file->fd = -1;
}

void outbox_remove(struct outbox_file *file, int dir_fd)
{
    if (file->fd >= 0)
        fs_unlink(dir_fd, file->name);
    outbox_leave(file);
}

/* Gives the file another ending, under which no delivery looks at it. */
static void set_aside(struct outbox_file *file, int dir_fd, const char *ending, char name[OUTBOX_NAME_MAX])
{
    int stem = (int)strlen(file->name) - (int)strlen(ENDING);
    snprintf(name, OUTBOX_NAME_MAX, "%.*s%s", stem, file->name, ending);
    fs_rename(dir_fd, file->name, dir_fd, name);
    outbox_leave(file);
}

void outbox_refuse(struct outbox_file *file, int dir_fd, char name[OUTBOX_NAME_MAX])
{
    set_aside(file, dir_fd, REFUSED, name);
}

enum request_state {
    REQUEST_WHOLE,
    REQUEST_NONE,    /* erased after its delivery, or cut off before it was acknowledged */
    REQUEST_DAMAGED, /* may have been acknowledged, and cannot be read any more */
};

/* Whether bytes[at..n) are missing: beyond the end of the file, or zeros from the begin of a disk's sector to the end. */
static bool end_is_missing(const char *bytes, size_t n, size_t at)
{
    enum { SECTOR = 512 };
    if (at < n && at % SECTOR)
        return false;
    while (at < n && !bytes[at])
        at++;
    return at >= n;
}

/* The digest decides, and not the length in the head. Older programs wrote no zero byte at the end and erased only the first
 * byte. */
static enum request_state look_at(const char *bytes, size_t n, const char **text, size_t *length)
{
    static const char name[] = "lineage-outbox 1 ", erased_before[] = "-ineage-outbox 1 ";
    unsigned long long digest;
    size_t stated;
    if (n == 0 || (n >= sizeof ERASED - 1 && memcmp(bytes, ERASED, sizeof ERASED - 1) == 0) ||
        (n >= sizeof erased_before - 1 && memcmp(bytes, erased_before, sizeof erased_before - 1) == 0))
        return REQUEST_NONE;
    if (n < HEAD_LENGTH)
        return memcmp(bytes, name, n < sizeof name - 1 ? n : sizeof name - 1) == 0 || end_is_missing(bytes, n, 0)
                   ? REQUEST_NONE
                   : REQUEST_DAMAGED;
    if (memcmp(bytes, name, sizeof name - 1) != 0 || sscanf(bytes + sizeof name - 1, "%16llx %20zu\n", &digest, &stated) != 2)
        return end_is_missing(bytes, n, 0) ? REQUEST_NONE : REQUEST_DAMAGED;
    *text = bytes + HEAD_LENGTH;
    *length = strnlen(*text, n - HEAD_LENGTH);
    if (XXH3_64bits(*text, *length) == digest)
        return REQUEST_WHOLE;
    if (stated > *length)
        return end_is_missing(bytes, n, HEAD_LENGTH + *length) ? REQUEST_NONE : REQUEST_DAMAGED;
    *length = stated;
    return XXH3_64bits(*text, *length) == digest ? REQUEST_WHOLE : REQUEST_DAMAGED;
}

/* A failure means that the file cannot be read now. */
static enum lineage_status read_request(const struct outbox_file *file, enum request_state *state, json_t **request,
                                        struct lineage_error *err)
{
    struct stat st;
    const char *text;
    size_t length;
    *request = NULL;
    if (fs_stat_open(file->fd, &st) != 0)
        return failed("read", file->name, err);
    SCOPED_FREE char *bytes = malloc((size_t)st.st_size + 1);
    ssize_t n = bytes ? fs_read_at(file->fd, bytes, (size_t)st.st_size, 0) : 0;
    TRY(!bytes ? store_no_memory(err) : n < 0 ? failed("read", file->name, err) : LINEAGE_OK);
    if (n >= 0) {
        bytes[n] = '\0';
        *state = look_at(bytes, (size_t)n, &text, &length);
        /* This program wrote the text, so only memory can be missing. */
        if (*state == REQUEST_WHOLE && !(*request = json_loadb(text, length, 0, NULL)))
            TRY(store_no_memory(err));
    }
    return LINEAGE_OK;
}

struct names {
    char (*at)[OUTBOX_NAME_MAX];
    size_t n, room;
};

static bool ends_in(const char *name, const char *ending)
{
    size_t length = strlen(name);
    return length > strlen(ending) && strcmp(name + length - strlen(ending), ending) == 0;
}

static bool add_name(struct names *names, const char *name)
{
    if (strlen(name) + sizeof PLACE_OUTBOX + sizeof DAMAGED - sizeof ENDING >= OUTBOX_NAME_MAX ||
        (!ends_in(name, ENDING) && !ends_in(name, DAMAGED)))
        return true;
    if (!LIST_ROOM(names->at, names->n, names->room))
        return false;
    snprintf(names->at[names->n++], OUTBOX_NAME_MAX, PLACE_OUTBOX "/%s", name);
    return true;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static enum lineage_status list(struct names *names, int dir_fd, struct lineage_error *err)
{
    SCOPED_LIST dir = fs_list_at(dir_fd, PLACE_OUTBOX, 0);
    const char *name;
    bool room = true;
    if (!dir)
        return errno == ENOENT ? LINEAGE_OK : failed("list", PLACE_OUTBOX, err);
    while (room && (name = fs_next(dir)))
        room = add_name(names, name);
    enum lineage_status status = LINEAGE_OK;
    if (!room)
        status = store_no_memory(err);
    else if (errno)
        status = failed("list", PLACE_OUTBOX, err);
    if (names->n)
        qsort(names->at, names->n, sizeof *names->at, by_text);
    return status;
}

struct walk {
    int dir_fd;
    outbox_visit_fn *visit;
    void *context;
    size_t *n_held;
    bool ended; /* the visitor returned false */
};

/* Another command may have delivered the request between the listing and the lock. Then the file has no name any more
 * and is skipped. */
static enum lineage_status visit_locked(struct walk *walk, struct outbox_file *file, struct lineage_error *err)
{
    struct stat st;
    json_t *request;
    enum request_state state;
    char name[OUTBOX_NAME_MAX];
    if (fs_stat_open(file->fd, &st) == 0 && !st.st_nlink)
        return LINEAGE_OK;
    TRY(read_request(file, &state, &request, err));
    if (state == REQUEST_WHOLE) {
        walk->ended = !walk->visit(walk->context, file, request);
    } else if (state == REQUEST_NONE) {
        outbox_remove(file, walk->dir_fd);
    } else {
        set_aside(file, walk->dir_fd, DAMAGED, name);
        snprintf(file->name, sizeof file->name, "%s", name);
        walk->ended = !walk->visit(walk->context, file, NULL);
    }
    json_decref(request);
    return LINEAGE_OK;
}

static enum lineage_status visit_file(struct walk *walk, const char *name, struct lineage_error *err)
{
    struct outbox_file file = {.fd = fs_open(walk->dir_fd, name, O_RDWR, 0)};
    enum lineage_status status = LINEAGE_OK;
    strcpy(file.name, name);
    if (file.fd < 0)
        return errno == ENOENT ? LINEAGE_OK : failed("open", name, err);
    if (fs_try_lock(file.fd) != 0)
        ++*walk->n_held;
    else
        status = visit_locked(walk, &file, err);
    outbox_leave(&file);
    return status;
}

enum lineage_status outbox_each(int dir_fd, outbox_visit_fn *visit, void *context, size_t *n_held, struct lineage_error *err)
{
    struct names names = {0};
    struct walk walk = {.dir_fd = dir_fd, .visit = visit, .context = context, .n_held = n_held};
    *n_held = 0;
    enum lineage_status status = list(&names, dir_fd, err);
    for (size_t i = 0; status == LINEAGE_OK && i < names.n && !walk.ended; i++) {
        struct outbox_file damaged = {.fd = -1};
        if (!ends_in(names.at[i], DAMAGED)) {
            status = visit_file(&walk, names.at[i], err);
            continue;
        }
        strcpy(damaged.name, names.at[i]);
        walk.ended = !visit(context, &damaged, NULL);
    }
    free(names.at);
    return status;
}

enum lineage_status outbox_check(int dir_fd, void (*report)(void *context, const char *name), void *context, size_t *n_waiting,
                                 struct lineage_error *err)
{
    struct names names = {0};
    enum lineage_status status = list(&names, dir_fd, err);
    *n_waiting = 0;
    for (size_t i = 0; status == LINEAGE_OK && i < names.n; i++) {
        struct outbox_file file = {.fd = -1};
        enum request_state state = REQUEST_DAMAGED;
        json_t *request = NULL;
        strcpy(file.name, names.at[i]);
        if (ends_in(file.name, ENDING)) {
            file.fd = fs_open(dir_fd, file.name, O_RDONLY, 0);
            state = REQUEST_NONE; /* unless it is there, and no writer holds it */
            bool held = file.fd >= 0 && fs_try_lock(file.fd) != 0;
            if (file.fd >= 0 && !held)
                status = read_request(&file, &state, &request, err);
            *n_waiting += held || request;
        }
        if (status == LINEAGE_OK && state == REQUEST_DAMAGED)
            report(context, file.name);
        json_decref(request);
        outbox_leave(&file);
    }
    free(names.at);
    return status;
}
