/*
 * log_file.c: the log as results.tsv, shared with tools that know nothing of this library.
 *
 * The claim is an exclusive flock on the file itself, because fieldkit.lineage takes that lock too. A record is added
 * by one write with O_APPEND, which always writes at the end of the file. A kill in the middle leaves a torn end, but
 * never a hole or interleaved records. After a failed append the file is truncated to its former length. If that fails
 * too, the end is torn, and the next writer sets it aside.
 *
 * flock is used because fcntl's locks end when any descriptor of the file is closed in this process, which every reader
 * of this library does. A flock ends with its descriptor, so a killed writer leaves no lock, and there is no lock file
 * that could become stale.
 *
 * The descriptor for writing stays open between appends. Each claim checks that the descriptor still refers to the file
 * with that name.
 */
#include "log_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../clock.h"
#include "../files/fs.h"
#include "../files/places.h"
#include "digest_file.h"
#include "lock_holder.h"

/* ---- waits until any program changes a log that is a file ---- */

/* waits for changes of a log by inotify, and by looking at the file every second.
 *
 * Only a look at the file decides whether the log has changed; inotify just tells when to look. So waiting also works
 * without inotify, and on a network file system, where inotify does not report writes of other machines.
 *
 * The file is watched for writes, and its directory for a file that replaces or creates the log. */

/* A zeroed watch has not been started. */
struct log_watch {
    bool begun;
    int fd;                /* inotify; -1 if not available: then the file is looked at every second */
    int file;              /* the watch on the file, -1: none */
    uint64_t identity[2];  /* identity of that file */
    struct log_state seen;
};

enum { LOOK_MS = 1000 };

static void watch_file(struct log_watch *watch, const struct log *log, int dir_fd, const struct log_state *state)
{
    if (watch->fd < 0 || (watch->file >= 0 && memcmp(watch->identity, state->identity, sizeof watch->identity) == 0))
        return;
    if (watch->file >= 0)
        inotify_rm_watch(watch->fd, watch->file);
    watch->file = state->exists ? fs_watch_add(watch->fd, dir_fd, log->name, IN_MODIFY | IN_ATTRIB) : -1;
    memcpy(watch->identity, state->identity, sizeof watch->identity);
}

static void begin(struct log_watch *watch, int dir_fd)
{
    watch->begun = true;
    watch->file = -1;
    watch->fd = fs_watch_open();
    if (watch->fd >= 0)
        fs_watch_add(watch->fd, dir_fd, ".", IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE);
}

/* The contents of the events are ignored, because a look at the file shows what happened. */
static void sleep_until_told(const struct log_watch *watch, int milliseconds)
{
    char events[4096];
    struct pollfd fd = {watch->fd, POLLIN, 0};
    if (poll(&fd, watch->fd >= 0, milliseconds) <= 0)
        return;
    while (read(watch->fd, events, sizeof events) > 0)
        ;
}

/* The file is watched before it is looked at; otherwise a write in between would be noticed a second late. */
static enum lineage_status look(struct log_watch *watch, struct log *log, int dir_fd, bool *news, struct lineage_error *err)
{
    struct log_state now;
    enum lineage_status status = LINEAGE_OK;
    TRY(log_look(log, &now, err));
    if (memcmp(watch->identity, now.identity, sizeof now.identity) != 0) {
        watch_file(watch, log, dir_fd, &now);
        status = log_look(log, &now, err);
    }
    *news = status == LINEAGE_OK && (now.exists != watch->seen.exists || now.size != watch->seen.size ||
                                     now.revision != watch->seen.revision || !log_is_same(&now, &watch->seen));
    if (status == LINEAGE_OK)
        watch->seen = now;
    return status;
}

/* Implements log_wait; dir_fd is the directory of the log. */
static enum lineage_status log_watch_wait(struct log_watch *watch, struct log *log, int dir_fd, int milliseconds, bool *news,
                                          struct lineage_error *err)
{
    const int64_t until = clock_now_ms() + milliseconds;
    const bool first = !watch->begun;
    if (first)
        begin(watch, dir_fd);
    for (;;) {
        enum lineage_status status = look(watch, log, dir_fd, news, err);
        *news = *news || first;
        int64_t left = milliseconds < 0 ? LOOK_MS : until - clock_now_ms();
        if (status != LINEAGE_OK || *news || left <= 0)
            return status;
        sleep_until_told(watch, left < LOOK_MS ? (int)left : LOOK_MS);
    }
}

static void log_watch_end(struct log_watch *watch)
{
    if (watch->begun && watch->fd >= 0)
        fs_close(watch->fd);
    watch->begun = false;
}

/* ---- the log as results.tsv, shared with tools that know nothing of this library ---- */

struct log_file {
    struct log log;
    int dir_fd;
    char *place;
    int read_fd, write_fd;
    struct log_state read_state, write_state; /* identities of the files that the two descriptors refer to */
    bool created;                             /* the claimed file did not exist before */
    bool empty;                               /* the claimed file has no bytes */
    bool torn;                                /* the bytes of a failed append could not be truncated */
    struct digest_file digests;
    struct log_watch watch;
};

static struct log_file *file_of(struct log *log)
{
    return (struct log_file *)log; /* log is its first member */
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void file_close(struct log *log)
{
    struct log_file *file = file_of(log);
    close_fd(&file->read_fd);
    close_fd(&file->write_fd);
    log_watch_end(&file->watch);
    free(file->place);
    free(file);
}

/* Device and inode distinguish a file that was moved into the name (an editor's save, a checkout, a sync tool) from
 * one that grew; the time of change reveals an edit in place that kept the size. The mirror trusts these without
 * reading the bytes again. */
static struct log_state to_state(const struct stat *st)
{
    return (struct log_state){.exists = true,
                              .size = (uint64_t)st->st_size,
                              .identity = {(uint64_t)st->st_dev, (uint64_t)st->st_ino},
                              .revision = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec};
}

static enum lineage_status failed(const struct log *log, const char *doing, struct lineage_error *err)
{
    return store_fail_errno(err, LINEAGE_EIO, "cannot %s %s", doing, log->place);
}

/* Refuses a log that is not a regular file, because a row written to a pipe or device is lost, and reading from one may
 * block for ever. */
static enum lineage_status check_regular(const struct log *log, const struct stat *st, struct lineage_error *err)
{
    if (S_ISREG(st->st_mode))
        return LINEAGE_OK;
    return store_fail(err, LINEAGE_EIO, "%s is not a regular file", log->place);
}

/* Links are followed, because a store may have its log on another disk. A missing file is an empty log, not an error:
 * the first append creates it, and writes the header with its row. */
static enum lineage_status file_look(struct log *log, struct log_state *state, struct lineage_error *err)
{
    struct stat st;
    *state = (struct log_state){0};
    if (fs_stat(file_of(log)->dir_fd, log->name, 0, &st) != 0)
        return errno == ENOENT ? LINEAGE_OK : failed(log, "look at", err);
    *state = to_state(&st);
    return check_regular(log, &st, err);
}

/* The reading descriptor is opened again if the name refers to a new file, because another tool may have replaced the
 * log. */
static enum lineage_status open_for_reading(struct log_file *file, struct lineage_error *err)
{
    struct log_state state;
    TRY(file_look(&file->log, &state, err));
    if (!state.exists)
        return LINEAGE_OK;
    if (file->read_fd >= 0 && log_is_same(&state, &file->read_state))
        return LINEAGE_OK;
    close_fd(&file->read_fd);
    file->read_fd = fs_open(file->dir_fd, file->log.name, O_RDONLY, 0);
    if (file->read_fd < 0)
        return failed(&file->log, "open", err);
    file->read_state = state;
    return LINEAGE_OK;
}

/* Reading fewer bytes than requested is not a failure, because the file may have been truncated since its size was
 * looked up. The caller decides what that means. */
static enum lineage_status file_read(struct log *log, uint64_t from, size_t length, struct buf *out, struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    enum lineage_status status = open_for_reading(file, err);
    size_t start = out->length;
    if (status != LINEAGE_OK || file->read_fd < 0 || !length)
        return status;
    if (!buf_reserve(out, length))
        return store_fail(err, LINEAGE_ENOMEM, "out of memory reading %s", log->name);
    ssize_t n = fs_read_at(file->read_fd, out->data + start, length, from);
    if (n < 0)
        return failed(log, "read", err);
    out->length = start + (size_t)n;
    out->data[out->length] = '\0';
    return LINEAGE_OK;
}

static enum lineage_status open_for_writing(struct log_file *file, struct lineage_error *err)
{
    struct stat st;
    file->created = false;
    if (file->write_fd >= 0)
        return LINEAGE_OK;
    /* The first attempt is without O_CREAT, to know which process created the file: only that process may remove it
     * again (file_release). */
    file->write_fd = fs_open(file->dir_fd, file->log.name, O_RDWR | O_APPEND, 0);
    if (file->write_fd < 0 && errno == ENOENT) {
        file->write_fd = fs_open(file->dir_fd, file->log.name, O_RDWR | O_APPEND | O_CREAT, 0666);
        file->created = true;
    }
    if (file->write_fd < 0 || fs_stat_open(file->write_fd, &st) != 0)
        return failed(&file->log, "open for writing", err);
    file->write_state = to_state(&st);
    return check_regular(&file->log, &st, err);
}

static enum lineage_status take_back_staged(struct log_file *file, struct log_state *state, struct lineage_error *err);

static void pause_ms(unsigned ms)
{
    const struct timespec pause = {0, (long)ms * 1000000};
    nanosleep(&pause, NULL);
}

static void say_who_holds_it(const struct log_file *file)
{
    char holder[LOCK_HOLDER_MAX];
    SCOPED_BUF text = {0};
    lock_holder(holder, (dev_t)file->write_state.identity[0], (ino_t)file->write_state.identity[1]);
    buf_printf(&text, "waiting for the lock of %s%s", file->log.place, holder);
    if (file->log.tell && !text.failed)
        file->log.tell(file->log.context, text.data);
}

enum { PATIENCE_MS = 1000, LONGEST_PAUSE_MS = 16 };

/* flock has no timeout, so for the first second the lock is polled; then the user is notified. */
static int wait_for_lock(struct log_file *file)
{
    unsigned waited = 0;
    for (unsigned pause = 1; waited < PATIENCE_MS; waited += pause, pause *= pause < LONGEST_PAUSE_MS ? 2 : 1) {
        if (fs_try_lock(file->write_fd) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        pause_ms(pause);
    }
    say_who_holds_it(file);
    return fs_lock(file->write_fd, true);
}

/* Another tool may have put a new file in place of this one between open and flock; the lock would then be on a file
 * that nobody reads any more. So the name is looked up again under the lock. */
static enum lineage_status file_claim(struct log *log, struct log_state *state, struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    for (;;) {
        struct stat st;
        enum lineage_status status = open_for_writing(file, err);
        if (status != LINEAGE_OK) {
            close_fd(&file->write_fd);
            return status;
        }
        if (wait_for_lock(file) != 0)
            return store_fail_errno(
                err, LINEAGE_ELOCKED, "cannot lock %s%s", log->place,
                errno == ENOLCK || errno == EOPNOTSUPP || errno == ENOSYS
                    ? ", whose file system must have flock: mount it so (NFS without nolock, Lustre with flock), or "
                      "keep the store on another one"
                    : "");
        /* The name may also be gone, because a writer that created the file without adding a row removed it
         * meanwhile. Then the loop creates it again. */
        if (fs_stat(file->dir_fd, log->name, 0, &st) == 0) {
            *state = to_state(&st);
            if (log_is_same(state, &file->write_state))
                break;
        }
        close_fd(&file->write_fd);
    }
    file->empty = state->size == 0;
    /* An unfinished import is removed before the caller looks at the log, so every record with a line end in a claimed
     * log is valid. */
    enum lineage_status status = take_back_staged(file, state, err);
    if (status != LINEAGE_OK)
        log->kind->release(log);
    return status;
}

/* If anything fails or is unexpected, this returns false. The ordinary claim, which the caller tries next, waits and
 * reports what is wrong. */
static bool file_claim_unchanged(struct log *log, struct log_state *state)
{
    struct log_file *file = file_of(log);
    const struct log_state expected = *state;
    struct stat st, staged;
    if (file->write_fd < 0 || !expected.size || fs_try_lock(file->write_fd) != 0)
        return false;
    bool unchanged = fs_stat(file->dir_fd, log->name, 0, &st) == 0;
    if (unchanged)
        *state = to_state(&st);
    unchanged = unchanged && log_is_same(state, &file->write_state) && log_is_same(state, &expected) &&
                state->size == expected.size && fs_stat(file->dir_fd, PLACE_IMPORT, AT_SYMLINK_NOFOLLOW, &staged) != 0 &&
                errno == ENOENT;
    file->created = file->empty = false;
    if (!unchanged)
        fs_unlock(file->write_fd);
    return unchanged;
}

/* Removes a file that was created without a row, so that other tools do not expect a header in it. This happens under
 * the lock, so no row can be in it: a process that waits for the lock finds the name gone or on another file, and
 * starts again. */
static void file_release(struct log *log)
{
    struct log_file *file = file_of(log);
    if (file->write_fd < 0)
        return;
    if (file->created && file->empty) {
        fs_unlink(file->dir_fd, log->name);
        close_fd(&file->write_fd);
        return;
    }
    fs_unlock(file->write_fd);
}

/* For the first row the directory is synced too, because it holds the new file's name. fdatasync is enough for the file
 * itself, because it also writes the size, the only part of the inode that reading needs. */
static enum lineage_status sync_file(struct log_file *file, bool first, struct lineage_error *err)
{
    if (fs_sync_data(file->write_fd) != 0)
        return failed(&file->log, "sync", err);
    if (first && fs_sync_dir(file->dir_fd) != 0)
        return failed(&file->log, "sync the directory of", err);
    return LINEAGE_OK;
}

/* Called before rows are removed that readers may have seen, because a mirror may contain these rows. The note is
 * written before the rows are removed, and it stays until the mirrors have been rebuilt (settle), whatever is killed or
 * fails in between. */
static enum lineage_status note_undone(struct log_file *file, struct lineage_error *err)
{
    return fs_replace_alone(file->dir_fd, PLACE_UNDONE, "", 0, false, err);
}

/* Removes the bytes of a failed append. The file is synced after that, because a crash could otherwise bring the row
 * back. If the row has its line end, readers may have seen it. */
static void cut_refused(struct log_file *file, const struct log_state *state, const char *bytes, size_t written, bool sync)
{
    struct lineage_error ignored;
    if (written && memchr(bytes, '\n', written))
        note_undone(file, &ignored);
    file->torn = fs_truncate(file->write_fd, state->size) != 0;
    if (!file->torn && sync)
        fs_sync_data(file->write_fd);
}

static enum lineage_status add(struct log_file *file, struct log_state *state, const char *bytes, size_t length, bool sync,
                               struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    /* A short write means a full disk or a limit on the file's size. The rest is not written, because a kill between
     * the two writes would leave half a record. */
    ssize_t n = fs_write_once(file->write_fd, bytes, length);
    if (n >= 0 && (size_t)n < length)
        errno = fs_at_size_limit(file->write_fd) ? EFBIG : ENOSPC;
    if (n < 0 || (size_t)n < length)
        status = failed(&file->log, "append to", err);
    else if (sync)
        /* If the sync fails, the append fails and the row is removed. A second fdatasync would prove nothing, because
         * Linux may mark the pages clean after reporting the error once. */
        status = sync_file(file, state->size == 0, err);
    if (status == LINEAGE_OK)
        state->size += length;
    else
        cut_refused(file, state, bytes, n > 0 ? (size_t)n : 0, sync);
    file->empty = state->size == 0;
    return status;
}

static void acknowledge(struct log_file *file, const struct log_state *state, bool sync)
{
    struct log *log = &file->log;
    if (sync)
        digest_file_follow(&file->digests, log, state->size);
    if (log->acknowledged)
        log->acknowledged(log->context, &(struct log_ack){.end = state->size});
}

/* Rows that any program wrote without a sync get their digests together with the next synced row, because a sync covers
 * the whole file. */
static enum lineage_status file_append(struct log *log, struct log_state *state, const char *bytes, size_t length, bool sync,
                                       struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    TRY(add(file, state, bytes, length, sync, err));
    acknowledge(file, state, sync);
    return LINEAGE_OK;
}

/* Copies the bytes to a file. They are read again and counted, because a tool that does not take the lock may have
 * truncated or replaced the file meanwhile. The bytes to be removed could then be rows of that tool. */
static enum lineage_status keep_aside(struct log_file *file, const struct log_state *state, uint64_t from, uint64_t to,
                                      char name[64], struct lineage_error *err)
{
    SCOPED_BUF bytes = {0};
    TRY(file_read(&file->log, from, (size_t)(to - from), &bytes, err));
    if (to > state->size || bytes.length != to - from)
        return store_fail(err, LINEAGE_EIO, "%s changed while its lock was held", file->log.name);
    return torn_save(file->dir_fd, file->log.place, bytes.data, bytes.length, name, err);
}

/* Truncates the log without a sync. If a crash brings the torn record back, its copy is still there, and the next
 * writer sets the record aside again. */
static enum lineage_status cut(struct log_file *file, struct log_state *state, uint64_t to, struct lineage_error *err)
{
    if (fs_truncate(file->write_fd, to) != 0)
        return failed(&file->log, "cut the end off", err);
    state->size = to;
    file->empty = to == 0;
    return LINEAGE_OK;
}

/* The copy and its name are durable before the log is truncated, so a kill in between loses nothing and leaves the
 * bytes twice. */
static enum lineage_status file_set_aside(struct log *log, struct log_state *state, uint64_t from, char name[64],
                                          struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    TRY(keep_aside(file, state, from, state->size, name, err));
    return cut(file, state, from, err);
}

/*
 * The claimed descriptor always appends (Linux's O_APPEND overrides the offset of pwrite), so the file is opened again.
 * The rows after the bytes are not moved forward, because that would mean rewriting them, and a kill could interrupt
 * that. Line ends are empty records, which every reader skips, so each row stays where the mirror's offsets and digests
 * expect it. Closing this descriptor does not end the claim, because the flock belongs to the other one.
 */
static int open_claimed(struct log_file *file)
{
    struct stat st;
    int fd = fs_open(file->dir_fd, file->log.name, O_WRONLY | O_NOFOLLOW, 0);
    struct log_state named = {0};
    if (fd >= 0 && fs_stat_open(fd, &st) == 0)
        named = to_state(&st);
    if (fd < 0 || log_is_same(&named, &file->write_state))
        return fd;
    fs_close(fd);
    return -1;
}

static enum lineage_status end_overwriting(struct log_file *file, int fd, bool ok, struct lineage_error *err)
{
    ok = ok && fs_sync_data(fd) == 0;
    enum lineage_status status = ok ? LINEAGE_OK : failed(&file->log, "write over a record of", err);
    fs_close(fd);
    return status;
}

static enum lineage_status write_line_ends(struct log_file *file, uint64_t from, uint64_t to, struct lineage_error *err)
{
    char line_ends[4096];
    memset(line_ends, '\n', sizeof line_ends);
    int fd = open_claimed(file);
    bool ok = fd >= 0;
    while (ok && from < to) {
        size_t n = to - from < sizeof line_ends ? (size_t)(to - from) : sizeof line_ends;
        ok = fs_write_at(fd, line_ends, n, from) == 0;
        from += n;
    }
    return end_overwriting(file, fd, ok, err);
}

static enum lineage_status file_overwrite(struct log *log, uint64_t from, const char *bytes, size_t length,
                                          struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    int fd = open_claimed(file);
    return end_overwriting(file, fd, fd >= 0 && fs_write_at(fd, bytes, length, from) == 0, err);
}

static enum lineage_status file_blank(struct log *log, struct log_state *state, uint64_t from, uint64_t to, char name[64],
                                      struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    TRY(keep_aside(file, state, from, to, name, err));
    return write_line_ends(file, from, to, err);
}

/* ---- many records at once ---------------------------------------------------------------------------------------- */

/*
 * A kill may leave a part of a large write in the file: complete records that look as if they had been acknowledged, or
 * a record cut at a line end inside a cell, which another tool takes for complete. So the bytes are first written to a
 * staged file beside the log, after a head that states the size of the log before the write. The next process that
 * claims the log and finds the staged file compares the two and removes an unfinished write. The head has a fixed
 * length, because 20 digits hold any size.
 */
#define STAGED_HEAD 21 /* the size in decimal, and a line end */

/* The removal is made durable before the claim ends. A crash could otherwise bring the staged file back after later rows
 * were written at its place in the log and acknowledged, and the next claim would take these rows back. */
static enum lineage_status forget_staged(struct log_file *file, bool sync, struct lineage_error *err)
{
    if (fs_unlink(file->dir_fd, PLACE_IMPORT) != 0)
        return errno == ENOENT ? LINEAGE_OK : failed(&file->log, "end the import into", err);
    return !sync || fs_sync_dir(file->dir_fd) == 0 ? LINEAGE_OK : failed(&file->log, "sync the directory of", err);
}

static enum lineage_status stage(struct log_file *file, uint64_t size, const char *bytes, size_t length, bool sync,
                                 struct lineage_error *err)
{
    SCOPED_BUF staged = {0};
    buf_printf(&staged, "%020llu\n", (unsigned long long)size);
    buf_add(&staged, bytes, length);
    return staged.failed ? store_no_memory(err)
                         : fs_replace_alone(file->dir_fd, PLACE_IMPORT, staged.data, staged.length, sync, err);
}

/* The order of steps makes the append all or nothing. The staged file is complete before the first byte goes into the
 * log, and is removed after the last byte is in it (with sync, each step is durable before the next). If the next claim
 * finds a staged file, the log contains a prefix of its bytes: none, some or all of them. */
static enum lineage_status file_append_many(struct log *log, struct log_state *state, const char *bytes, size_t length, bool sync,
                                            struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    struct lineage_error ignored;
    TRY(stage(file, state->size, bytes, length, sync, err));
    file->torn = false;
    enum lineage_status status = add(file, state, bytes, length, sync, err);
    if (!file->torn) /* otherwise the next claim truncates the log */
        forget_staged(file, sync, &ignored); /* if the staged file stays, the next claim finds its bytes in the log */
    if (status == LINEAGE_OK)
        acknowledge(file, state, sync);
    return status;
}

/* An interrupted write leaves a prefix of its bytes, so the length of the common prefix tells how far the write got. */
static size_t common_length(const struct buf *a, const char *b, size_t length)
{
    size_t n = 0;
    while (n < a->length && n < length && a->data[n] == b[n])
        n++;
    return n;
}

static bool has_open_quote(const char *bytes, size_t n)
{
    bool open = false;
    for (size_t i = 0; i < n; i++)
        open ^= bytes[i] == '"';
    return open;
}

/* *end becomes the position after the first line end at or after `at`. Without such a line end *end is unchanged. */
static enum lineage_status find_line_end(struct log_file *file, const struct log_state *state, uint64_t at, uint64_t *end,
                                         struct lineage_error *err)
{
    SCOPED_BUF line = {0};
    enum lineage_status status = file_read(&file->log, at, (size_t)(state->size - at), &line, err);
    const char *found = status == LINEAGE_OK && line.length ? memchr(line.data, '\n', line.length) : NULL;
    if (found)
        *end = at + (uint64_t)(found - line.data) + 1;
    return status;
}

/*
 * Removes an unfinished write. Another tool may have written after it, and the first bytes of that tool may equal the
 * bytes that were to come next. So if anything follows, only complete lines are removed, and saved in a file; the rest
 * of a cut line is then part of the other tool's first line. A complete header stays, because the other tool's rows
 * need it. A cut line with an open quote is removed too, because the quote would swallow the lines after it.
 */
static enum lineage_status take_back(struct log_file *file, struct log_state *state, uint64_t from, const char *bytes, size_t n,
                                     struct lineage_error *err)
{
    size_t whole = n;
    if (from + n == state->size)
        return cut(file, state, from, err);
    while (whole && bytes[whole - 1] != '\n')
        whole--;
    const char *header_end = from ? NULL : memchr(bytes, '\n', whole);
    uint64_t to = from + whole, first = header_end ? (uint64_t)(header_end - bytes) + 1 : from;
    if (has_open_quote(bytes + whole, n - whole))
        TRY(find_line_end(file, state, from + n, &to, err));
    return to > first ? file_blank(&file->log, state, first, to, state->aside, err) : LINEAGE_OK;
}

/* If all staged bytes are in the log there is nothing to repair. After an unfinished write was removed, the staged file
 * is deleted at once, because later rows may begin with the same bytes. Another file records that mirrors may still
 * have the removed rows (settle). */
static enum lineage_status judge_staged(struct log_file *file, struct log_state *state, const struct buf *staged,
                                        struct lineage_error *err)
{
    SCOPED_BUF there = {0};
    enum lineage_status status = LINEAGE_OK;
    const char *bytes = staged->data + STAGED_HEAD;
    uint64_t from = strtoull(staged->data, NULL, 10);
    size_t length = staged->length - STAGED_HEAD;
    if (state->size > from)
        status = file_read(&file->log, from, length, &there, err);
    size_t n = common_length(&there, bytes, length);
    state->cut_off = status == LINEAGE_OK && n < length;
    if (state->cut_off)
        status = note_undone(file, err);
    if (state->cut_off && status == LINEAGE_OK && n)
        status = take_back(file, state, from, bytes, n, err);
    return status == LINEAGE_OK ? forget_staged(file, true, err) : status;
}

static enum lineage_status take_back_staged(struct log_file *file, struct log_state *state, struct lineage_error *err)
{
    struct stat st;
    struct buf staged = {0};
    enum lineage_status status = LINEAGE_OK;
    if (fs_stat(file->dir_fd, PLACE_IMPORT, AT_SYMLINK_NOFOLLOW, &st) == 0) {
        if (S_ISREG(st.st_mode))
            status = fs_read_stream(file->dir_fd, PLACE_IMPORT, &staged, err);
        /* The staged file gets its name only when it is complete. So a damaged head comes from another program, or from
         * a crash of the machine after a write without sync. */
        if (status == LINEAGE_OK)
            status = staged.length > STAGED_HEAD ? judge_staged(file, state, &staged, err) : forget_staged(file, true, err);
        buf_release(&staged);
    }
    state->taken_back = fs_stat(file->dir_fd, PLACE_UNDONE, AT_SYMLINK_NOFOLLOW, &st) == 0;
    return status;
}

static enum lineage_status file_settle(struct log *log, struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    return fs_unlink(file->dir_fd, PLACE_UNDONE) == 0 || errno == ENOENT ? LINEAGE_OK
                                                                         : failed(log, "settle what was taken back of", err);
}

static uint64_t file_rows_beyond(struct log *log, uint64_t rows)
{
    return digest_file_rows_beyond(&file_of(log)->digests, rows);
}

static bool file_knows(struct log *log, const char *bytes, size_t length)
{
    return digest_file_knows(&file_of(log)->digests, bytes, length);
}

static bool file_is_whole(struct log *log, const struct tsv_record *record)
{
    return digest_file_is_whole(&file_of(log)->digests, log, record);
}

/* The digests are opened before the size of the log is looked up, so the log contains everything that they cover. */
static enum lineage_status file_check_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    return digest_file_check(&file_of(log)->digests, log, digests, NULL, err);
}

static enum lineage_status file_rebuild_digests(struct log *log, struct log_digests *digests, struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    return fs_sync_data(file->write_fd) == 0 ? digest_file_rebuild(&file->digests, log, digests, err) : failed(log, "sync", err);
}

static enum lineage_status file_wait(struct log *log, int milliseconds, bool *news, struct lineage_error *err)
{
    struct log_file *file = file_of(log);
    return log_watch_wait(&file->watch, log, file->dir_fd, milliseconds, news, err);
}

static const struct log_kind kind = {.look = file_look,
                                     .read = file_read,
                                     .claim = file_claim,
                                     .claim_unchanged = file_claim_unchanged,
                                     .append = file_append,
                                     .append_many = file_append_many,
                                     .set_aside = file_set_aside,
                                     .blank = file_blank,
                                     .overwrite = file_overwrite,
                                     .settle = file_settle,
                                     .is_whole = file_is_whole,
                                     .rows_beyond = file_rows_beyond,
                                     .knows = file_knows,
                                     .check_digests = file_check_digests,
                                     .rebuild_digests = file_rebuild_digests,
                                     .wait = file_wait,
                                     .release = file_release,
                                     .close = file_close};

enum lineage_status log_file_open(struct log **log, int dir_fd, const char *dir, struct lineage_error *err)
{
    struct log_file *file = calloc(1, sizeof *file);
    struct buf place = {0};
    buf_printf(&place, "%s/" PLACE_RESULTS, dir);
    *log = NULL;
    if (!file || place.failed) {
        buf_release(&place);
        free(file);
        return store_no_memory(err);
    }
    *file = (struct log_file){.log = {.kind = &kind, .name = PLACE_RESULTS, .place = place.data},
                              .dir_fd = dir_fd,
                              .place = place.data,
                              .read_fd = -1,
                              .write_fd = -1,
                              .digests = {.dir_fd = dir_fd}};
    *log = &file->log;
    return LINEAGE_OK;
}
