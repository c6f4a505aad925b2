/*
 * claim_files.c: stores claims as files, for the processes of one machine.
 *
 * checkpoints/KEY.claim is one claim: a line of JSON, and a flock that its holder keeps for as long as it lives. So a
 * killed holder is recognised at once, even if its process number was reused, inside a container or outside. A holder
 * that is only stopped keeps the lock, and loses the claim when its lease ends. A forked process shares the lock, so
 * the process that runs the trial also holds the claim until it exits.
 *
 * A worker that takes a claim over puts a new file in place of the old one, so that the old holder sees from its
 * descriptor that the name is no longer its own. Operations that check a claim before they change it (take over, renew,
 * release) run under a second, short lock on checkpoints/.claims. A process can be stopped while it holds this lock, so
 * other processes wait for it only a moment.
 *
 * A kill leaves at worst a file that no process has locked, which is a free claim. Nothing is synced, because a crash
 * of the machine ends all holders too.
 *
 * inotify(7) wakes waiting workers when the log is written, and when a claim is given up or its holder is killed,
 * because the last writable descriptor of its file is closed then.
 *
 * Leases end by CLOCK_MONOTONIC, which is the same for all processes of a machine, cannot be set, and stops while the
 * machine is asleep, as the processes do. The boot id is stored with the end of the lease. Times of another machine,
 * for example on a shared file system, cannot be compared; then only the lock decides.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "../clock.h"
#include "../files/fs.h"
#include "../files/places.h"
#include "../log/log.h"
#include "queue_backend.h"

/* There is one try per millisecond. One second is long for the work under the lock, and short for a process that
 * watches a trial meanwhile. */
enum { LOCK_TRIES = 1000 };

struct queue_files {
    struct lineage_queue queue;
    char boot[FS_BOOT]; /* without /proc all boots look the same, and a lease of the last one may seem to last longer than it
                           does, but its lock is gone */
    int dir, lock; /* descriptors of checkpoints/ and its .claims; -1: not open yet */
    bool listening;
    int watch, log; /* inotify descriptor, and its watch on the log; -1: none */
};

static struct queue_files *files_of(struct lineage_queue *queue)
{
    return (struct queue_files *)queue; /* its first member */
}

static enum lineage_status failed(const struct queue_files *files, const char *doing, struct lineage_error *err)
{
    return store_fail_errno(err, LINEAGE_EIO, "cannot %s the claims in %s/" PLACE_CHECKPOINTS, doing, files->queue.store->dir);
}

/* ---- the short lock ---- */

/* Returns LINEAGE_ENOTFOUND, without a message, if no trial was ever claimed. */
static enum lineage_status open_place(struct queue_files *files, bool make, struct lineage_error *err)
{
    int store = files->queue.store->dir_fd;
    if (files->lock >= 0)
        return LINEAGE_OK;
    if (make && fs_mkdir(store, PLACE_CHECKPOINTS) != 0)
        return failed(files, "make a place for", err);
    if (files->dir < 0)
        files->dir = fs_open(store, PLACE_CHECKPOINTS, O_RDONLY | O_DIRECTORY, 0);
    if (files->dir >= 0 && make)
        files->lock = fs_open(files->dir, PLACE_CLAIMS_LOCK, O_RDWR | O_CREAT, 0666);
    if (files->dir >= 0 && (files->lock >= 0 || !make))
        return LINEAGE_OK;
    return !make && errno == ENOENT ? LINEAGE_ENOTFOUND : failed(files, "open", err);
}

static enum lineage_status enter(struct queue_files *files, struct lineage_error *err)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    TRY(open_place(files, true, err));
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (fs_try_lock(files->lock) == 0)
            return LINEAGE_OK;
        if (errno != EWOULDBLOCK)
            return failed(files, "lock", err);
        nanosleep(&moment, NULL);
    }
    return store_fail(err, LINEAGE_ELOCKED, "the claims of %s are locked by a process that does not go on",
                      files->queue.store->dir);
}

static void leave(struct queue_files *files)
{
    fs_unlock(files->lock);
}

/* ---- one claim ---- */

static void name_of(char name[64], uint64_t key)
{
    snprintf(name, 64, "%016" PRIx64 PLACE_CLAIM_END, key);
}

static void copy_text(char *out, size_t size, const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    snprintf(out, size, "%s", text ? text : "");
}

/* A file that cannot be parsed was cut off or is not a claim; then only its lock counts. */
static void read_claim(const struct queue_files *files, int fd, struct lineage_claim *claim)
{
    char text[2 * sizeof *claim];
    ssize_t n = fs_read_at(fd, text, sizeof text, 0);
    const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
    json_auto_t *object = end ? json_loadb(text, (size_t)(end - text), JSON_REJECT_DUPLICATES, NULL) : NULL;
    const char *boot = json_string_value(json_object_get(object, "boot"));
    copy_text(claim->worker, sizeof claim->worker, object, "worker");
    copy_text(claim->night, sizeof claim->night, object, "night");
    copy_text(claim->about, sizeof claim->about, object, "about");
    claim->attempt = (uint64_t)json_integer_value(json_object_get(object, "attempt"));
    const bool this_boot = boot && strcmp(boot, files->boot) == 0;
    claim->left = this_boot ? json_number_value(json_object_get(object, "until")) - clock_now() : 0;
    claim->free = claim->left < 0;
}

static enum lineage_status write_claim(const struct queue_files *files, int fd, const struct lineage_claim *claim, double lease,
                                       struct lineage_error *err)
{
    json_auto_t *object =
        json_pack("{s:s, s:s, s:I, s:s, s:f, s:s}", "worker", claim->worker, "night", claim->night, "attempt",
                  (json_int_t)claim->attempt, "boot", files->boot, "until", clock_now() + lease, "about", claim->about);
    char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    size_t length = text ? strlen(text) : 0;
    if (!text)
        return store_fail(err, LINEAGE_EINVAL,
                          "a claim of the night '%.60s' cannot be written: no memory, or a text that "
                          "is not UTF-8",
                          claim->night);
    text[length] = '\n'; /* replaces the NUL; readers stop at the line end */
    int written = fs_write_at(fd, text, length + 1, 0);
    free(text);
    return written == 0 ? LINEAGE_OK : failed(files, "write", err);
}

/* Whether some process holds the claim, that is, whether its file is locked. */
static bool is_held(int fd)
{
    if (fs_try_lock(fd) != 0)
        return true;
    fs_unlock(fd);
    return false;
}

/* Returns LINEAGE_ENOTFOUND, without a message, if that trial was never claimed. */
static enum lineage_status look_at(const struct queue_files *files, const char *name, struct lineage_claim *claim,
                                   struct lineage_error *err)
{
    int fd = fs_open(files->dir, name, O_RDONLY | O_NOFOLLOW, 0);
    *claim = (struct lineage_claim){.key = strtoull(name, NULL, 16), .hold = -1};
    if (fd < 0)
        return errno == ENOENT ? LINEAGE_ENOTFOUND : failed(files, "read", err);
    read_claim(files, fd, claim);
    claim->free = claim->free || !is_held(fd);
    fs_close(fd);
    return LINEAGE_OK;
}

/* The file is locked and written under another name first, so that a claim is held from the moment its file exists. */
static enum lineage_status take(const struct queue_files *files, struct lineage_claim *claim, double lease,
                                struct lineage_error *err)
{
    char name[64];
    name_of(name, claim->key);
    fs_unlink(files->dir, PLACE_CLAIM_NEW); /* left by a process that was killed here */
    claim->hold = fs_open(files->dir, PLACE_CLAIM_NEW, O_RDWR | O_CREAT | O_EXCL, 0666);
    enum lineage_status status = claim->hold >= 0 && fs_try_lock(claim->hold) == 0 ? LINEAGE_OK : failed(files, "make", err);
    if (status == LINEAGE_OK)
        status = write_claim(files, claim->hold, claim, lease, err);
    if (status == LINEAGE_OK && fs_rename(files->dir, PLACE_CLAIM_NEW, files->dir, name) != 0)
        status = failed(files, "make", err);
    if (status != LINEAGE_OK)
        lineage_queue_leave(claim);
    return status;
}

/* Whether the file with that name is still the one that this process holds. */
static bool is_ours(const struct queue_files *files, const struct lineage_claim *claim)
{
    char name[64];
    struct stat held, named;
    name_of(name, claim->key);
    return claim->hold >= 0 && fs_stat_open(claim->hold, &held) == 0 &&
           fs_stat(files->dir, name, AT_SYMLINK_NOFOLLOW, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

/* ---- the queue ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool is_claim(const char *name)
{
    return strspn(name, "0123456789abcdef") == 16 && strcmp(name + 16, PLACE_CLAIM_END) == 0;
}

/* A claim whose file disappears after the listing was released, so it is skipped. */
static enum lineage_status files_each(struct lineage_queue *queue, bool (*visit)(void *, const struct lineage_claim *),
                                      void *context, struct lineage_error *err)
{
    struct queue_files *files = files_of(queue);
    SCOPED_BUF names = {0};
    struct lineage_claim claim;
    const char *name;
    enum lineage_status status = open_place(files, false, err);
    if (status != LINEAGE_OK)
        return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
    SCOPED_LIST list = fs_list_at(files->dir, ".", 0);
    if (!list)
        return failed(files, "list", err);
    while ((name = fs_next(list)))
        if (is_claim(name))
            buf_add(&names, name, 16 + sizeof PLACE_CLAIM_END);
    if (names.failed)
        status = store_no_memory(err);
    const size_t size = 16 + sizeof PLACE_CLAIM_END, n = names.length / size;
    if (n)
        qsort(names.data, n, size, by_name);
    for (size_t i = 0; status == LINEAGE_OK && i < n; i++) {
        status = look_at(files, names.data + i * size, &claim, err);
        if (status == LINEAGE_OK && !visit(context, &claim))
            break;
        status = status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
    }
    return status;
}

struct census {
    const char *night;
    size_t n;
};

static bool count(void *context, const struct lineage_claim *claim)
{
    struct census *census = context;
    census->n += !claim->free && strcmp(claim->night, census->night) == 0;
    return true;
}

static enum lineage_status has_room(struct lineage_queue *queue, const struct lineage_claim_request *request,
                                    struct lineage_error *err)
{
    struct census census = {request->night, 0};
    if (!request->at_most)
        return LINEAGE_OK;
    enum lineage_status status = files_each(queue, count, &census, err);
    return status == LINEAGE_OK && census.n >= request->at_most ? LINEAGE_ENOTFOUND : status;
}

/* Call it under the lock. Takes the first free claim. */
static enum lineage_status take_first(struct queue_files *files, const struct lineage_claim_request *request, size_t *which,
                                      struct lineage_claim *claim, struct lineage_error *err)
{
    for (size_t i = 0; i < request->n; i++) {
        char name[64];
        struct lineage_claim there;
        name_of(name, request->keys[i]);
        enum lineage_status status = look_at(files, name, &there, err);
        if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
            return status;
        if (status == LINEAGE_OK && !there.free)
            continue;
        *which = i;
        *claim = (struct lineage_claim){.key = request->keys[i], .attempt = there.attempt + 1, .left = request->lease};
        snprintf(claim->worker, sizeof claim->worker, "%s", files->queue.worker);
        snprintf(claim->night, sizeof claim->night, "%s", request->night);
        return take(files, claim, request->lease, err);
    }
    return LINEAGE_ENOTFOUND;
}

static void end_listening(struct queue_files *files)
{
    fs_close(files->watch);
    files->watch = files->log = -1;
    files->listening = false;
}

static enum lineage_status files_claim(struct lineage_queue *queue, const struct lineage_claim_request *request, size_t *which,
                                       struct lineage_claim *claim, struct lineage_error *err)
{
    struct queue_files *files = files_of(queue);
    TRY(enter(files, err));
    enum lineage_status status = has_room(queue, request, err);
    if (status == LINEAGE_OK)
        status = take_first(files, request, which, claim, err);
    leave(files);
    if (status == LINEAGE_OK)
        end_listening(files);
    return status;
}

static enum lineage_status files_renew(struct lineage_queue *queue, struct lineage_claim *claim, double lease, const char *about,
                                       struct lineage_error *err)
{
    struct queue_files *files = files_of(queue);
    TRY(enter(files, err));
    memcpy(claim->worker, queue->worker, sizeof claim->worker);
    if (about)
        memcpy(claim->about, about, strlen(about) + 1);
    enum lineage_status status = is_ours(files, claim) ? write_claim(files, claim->hold, claim, lease, err) : LINEAGE_ENOTFOUND;
    leave(files);
    return status;
}

/* The file of a claim that is given up stays without a lock, so that attempts continue to be counted. A free claim is
 * removed if it has not changed. */
static enum lineage_status files_release(struct lineage_queue *queue, struct lineage_claim *claim, enum lineage_release why,
                                         struct lineage_error *err)
{
    struct queue_files *files = files_of(queue);
    struct lineage_claim there;
    char name[64];
    name_of(name, claim->key);
    enum lineage_status status = LINEAGE_OK;
    TRY(enter(files, err));
    bool ours = is_ours(files, claim);
    if (!ours && claim->hold < 0 && claim->free)
        ours = look_at(files, name, &there, err) == LINEAGE_OK && there.free && there.attempt == claim->attempt;
    if (ours && why == LINEAGE_CLAIM_DONE && fs_unlink(files->dir, name) != 0)
        status = failed(files, "remove", err);
    lineage_queue_leave(claim);
    leave(files);
    return status;
}

/* After a fork, closing the descriptor in one process leaves the lock to the other process. */
void lineage_queue_leave(struct lineage_claim *claim)
{
    fs_close(claim->hold);
    claim->hold = -1;
}

/* ---- waiting ---- */

static void watch_log(struct queue_files *files)
{
    const struct lineage_store *store = files->queue.store;
    if (files->log >= 0)
        inotify_rm_watch(files->watch, files->log);
    files->log = fs_watch_add(files->watch, store->dir_fd, store->log->name, IN_MODIFY);
}

/* The store's directory is watched, so that the creation or replacement of the log is noticed. */
static enum lineage_status files_listen(struct lineage_queue *queue, bool *news, struct lineage_error *err)
{
    struct queue_files *files = files_of(queue);
    if (files->listening)
        return LINEAGE_OK;
    TRY(open_place(files, true, err));
    files->watch = fs_watch_open();
    files->listening = *news = true;
    if (files->watch >= 0) {
        fs_watch_add(files->watch, files->dir, ".", IN_CLOSE_WRITE);
        fs_watch_add(files->watch, queue->store->dir_fd, ".", IN_CREATE | IN_MOVED_TO);
        watch_log(files);
    }
    return LINEAGE_OK;
}

/* Whether an event is relevant. Files that are written all the time are ignored: the mirror, KNOWLEDGE.md, the lock of
 * the claims. */
static bool tells(struct queue_files *files, const struct inotify_event *event)
{
    const char *log = files->queue.store->log->name;
    if (event->mask & (IN_IGNORED | IN_ISDIR))
        return false;
    if (event->mask & (IN_CREATE | IN_MOVED_TO)) {
        bool ours = event->len && strcmp(event->name, log) == 0;
        if (ours)
            watch_log(files);
        return ours;
    }
    return event->wd == files->log || event->mask & IN_Q_OVERFLOW || (event->len && is_claim(event->name));
}

static bool read_events(struct queue_files *files)
{
    _Alignas(struct inotify_event) char bytes[4096];
    bool news = false;
    ssize_t n;
    while (files->watch >= 0 && (n = read(files->watch, bytes, sizeof bytes)) > 0)
        for (ssize_t at = 0; at < n;) {
            const struct inotify_event *event = (const void *)(bytes + at);
            news = tells(files, event) || news;
            at += (ssize_t)(sizeof *event + event->len);
        }
    return news;
}

static bool find_sooner(void *context, const struct lineage_claim *claim)
{
    double *lease = context;
    if (!claim->free && claim->left < *lease)
        *lease = claim->left;
    return true;
}

static enum lineage_status files_hear(struct lineage_queue *queue, bool *news, double *lease, struct lineage_error *err)
{
    *news = read_events(files_of(queue));
    return *news ? LINEAGE_OK : files_each(queue, find_sooner, lease, err);
}

static int files_descriptor(struct lineage_queue *queue)
{
    return files_of(queue)->watch;
}

static void files_close(struct lineage_queue *queue)
{
    struct queue_files *files = files_of(queue);
    end_listening(files);
    fs_close(files->lock);
    fs_close(files->dir);
    free(files);
}

static const struct queue_backend kind = {files_claim,  files_renew, files_release,    files_each,
                                          files_listen, files_hear,  files_descriptor, files_close};

enum lineage_status queue_files_open(struct lineage_queue **queue, struct lineage_store *store, struct lineage_error *err)
{
    struct queue_files *files = calloc(1, sizeof *files);
    if (!files)
        return store_no_memory(err);
    *files = (struct queue_files){.queue = {.kind = &kind, .store = store}, .dir = -1, .lock = -1, .watch = -1, .log = -1};
    (void)fs_boot(files->boot);
    *queue = &files->queue;
    return LINEAGE_OK;
}
