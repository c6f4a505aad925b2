#include "acknowledged.h"

#include <fcntl.h>

#include <lineage/text.h>

#include <xxhash.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../files/state_dir.h"
#include "../format/id.h"
#include "../format/row.h"
#include "../format/tsv.h"
#include "id_set.h"

/* END_BYTES at the end of the copy are compared with the log: the row of another trial has another time or id there. */
enum { END_BYTES = 512, IDS_NAMED = 8 };

/* The path as the kernel knows it. What is missing at its end stays as it is written, because the directory may be gone. */
static char *whole_path(const char *dir)
{
    char *path = strdup(dir), *found = NULL;
    size_t n = path ? strlen(path) : 0, cut = n;
    struct buf whole = {0};
    while (path && n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    for (cut = n; path && !(found = realpath(cut ? path : ".", NULL)) && cut;) {
        while (cut && path[cut] != '/')
            cut--;
        if (!cut && path[0] == '/')
            break;
        path[cut] = '\0';
    }
    if (found)
        buf_printf(&whole, "%s%s%.*s", found, cut < n ? "/" : "", cut < n ? (int)(n - cut) : 0,
                   cut < n ? dir + cut + (cut > 0) : "");
    free(found);
    free(path);
    return whole.data;
}

/* Appends the path of the directory of the copy, with a slash. */
static bool find_place(struct buf *place, const char *dir)
{
    char *whole = whole_path(dir);
    if (!whole || state_dir_path(place, "the acknowledged rows are repeated", NULL) != LINEAGE_OK) {
        free(whole);
        return false;
    }
    XXH128_hash_t key = XXH3_128bits(whole, strlen(whole));
    buf_printf(place, "/acknowledged/%016llx%016llx/", (unsigned long long)key.high64, (unsigned long long)key.low64);
    free(whole);
    return !place->failed;
}

static int open_place(const char *dir, bool make)
{
    SCOPED_BUF place = {0};
    const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
    const bool found = find_place(&place, dir);
    int fd = found ? fs_open(AT_FDCWD, place.data, how, 0) : -1;
    if (fd < 0 && found && make && state_dir_make_parents(place.data, NULL) == LINEAGE_OK)
        fd = fs_open(AT_FDCWD, place.data, how, 0);
    return fd;
}

static uint64_t size_of(int fd)
{
    struct stat st;
    return fd >= 0 && fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

/* Whether the log begins with the bytes of the copy, as far as the end of the copy tells. */
static bool is_in_step(int fd, uint64_t size, struct log *log, uint64_t end)
{
    char bytes[END_BYTES];
    SCOPED_BUF there = {0};
    const size_t n = size < END_BYTES ? (size_t)size : END_BYTES;
    return size <= end && fs_read_at(fd, bytes, n, size - n) == (ssize_t)n &&
           log_read(log, size - n, n, &there, NULL) == LINEAGE_OK && there.length == n &&
           (!n || memcmp(bytes, there.data, n) == 0);
}

static bool read_log(struct buf *out, struct log *log, uint64_t from, uint64_t end)
{
    while (from < end) {
        size_t before = out->length;
        if (log_read(log, from, end - from < 1 << 20 ? (size_t)(end - from) : 1 << 20, out, NULL) != LINEAGE_OK ||
            out->length == before)
            return false;
        from += out->length - before;
    }
    return !out->failed;
}

/* Adds to the copy what it lacks of the log, a piece at a time, because an import may be long. */
static void copy_rest(int fd, uint64_t size, struct log *log, uint64_t end)
{
    SCOPED_BUF piece = {0};
    for (bool good = true; good && size < end; size += piece.length) {
        buf_reset(&piece);
        good = log_read(log, size, end - size < 1 << 20 ? (size_t)(end - size) : 1 << 20, &piece, NULL) == LINEAGE_OK &&
               piece.length && fs_write_at(fd, piece.data, piece.length, size) == 0;
    }
}

/* Calls each(context, id, record) for each row. The first record is the header. */
typedef bool each_row_fn(void *context, const char *id, const struct tsv_record *record);

/* Whether the cell of a header names the ids. `commit` does in the logs of karpathy/autoresearch, which have no exp_id; one that was
 * found before stays. */
static bool is_id_column(const char *name, size_t found)
{
    name += strncmp(name, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    return strcmp(name, "exp_id") == 0 || (found == SIZE_MAX && strcmp(name, "commit") == 0);
}

/* Whether a line is one of those that git writes around a conflict of a merge. */
static bool is_of_conflict(const char *id)
{
    static const char *const marks[] = {"<<<<<<< ", "||||||| ", ">>>>>>> "};
    bool is = strcmp(id, "=======") == 0;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        is = is || strncmp(id, marks[i], 8) == 0;
    return is;
}

static bool each_row(const struct buf *bytes, each_row_fn *each, void *context)
{
    SCOPED_READER reader = tsv_reader_new();
    struct tsv_scanner scanner;
    struct tsv_record record;
    const struct tsv_cell *cells;
    size_t n, column = SIZE_MAX;
    bool known = false, ok = reader != NULL;
    tsv_scanner_init(&scanner, bytes->data, bytes->length, 0, 1);
    while (ok && tsv_scan(&scanner, &record)) {
        if (!record.content || tsv_parse(reader, &record, &cells, &n, NULL) != LINEAGE_OK)
            continue;
        for (size_t i = 0; !known && i < n; i++)
            if (is_id_column(cells[i].text, column))
                column = i;
        if (known && column < n && *cells[column].text && !is_id_column(cells[column].text, SIZE_MAX) &&
            !is_of_conflict(cells[column].text))
            ok = each(context, id_bare(cells[column].text), &record);
        known = true;
    }
    return ok;
}

struct gone {
    struct id_set there;
    struct log *log;
    struct buf *rows, *ids; /* may be NULL */
    const char *wanted; /* an id in question, or NULL */
    bool is_wanted;
    size_t n;
};

static bool add_id(void *context, const char *id, const struct tsv_record *record)
{
    (void)record;
    return id_set_has(context, id) || id_set_add(context, id);
}

static bool take_gone(void *context, const char *id, const struct tsv_record *record)
{
    struct gone *gone = context;
    if (id_set_has(&gone->there, id))
        return true;
    gone->is_wanted = gone->is_wanted || (gone->wanted && strcmp(id, gone->wanted) == 0);
    gone->log->next_id = gone->log->next_id ? gone->log->next_id : 1; /* for ids without a number */
    row_note_id(id, &gone->log->next_id, &gone->log->id_width);
    if (gone->rows) {
        buf_add(gone->rows, record->bytes, record->content);
        buf_put(gone->rows, '\n');
    }
    if (gone->ids && gone->n < IDS_NAMED)
        buf_printf(gone->ids, "%s%.60s", gone->n ? ", " : "", id);
    gone->n++;
    return id_set_add(&gone->there, id);
}

static void find_gone(struct gone *gone, struct lineage_store *store)
{
    struct log_state now;
    SCOPED_BUF copy = {0}, log = {0};
    SCOPED_FD place = log_has_requests(store->log) ? -1 : open_place(store->dir, false);
    SCOPED_FD fd = place >= 0 ? fs_open(place, PLACE_RESULTS, O_RDONLY | O_NOFOLLOW, 0) : -1;
    uint64_t size = size_of(fd);
    if (size && log_look(store->log, &now, NULL) == LINEAGE_OK && !is_in_step(fd, size, store->log, now.size) &&
        fs_read_file(place, PLACE_RESULTS, &copy, NULL) == LINEAGE_OK && read_log(&log, store->log, 0, now.size) &&
        (!log.length || each_row(&log, add_id, &gone->there)))
        each_row(&copy, take_gone, gone);
    if (gone->ids && gone->n > IDS_NAMED)
        buf_printf(gone->ids, " and %zu more", gone->n - IDS_NAMED);
    id_set_clear(&gone->there);
}

size_t acknowledged_missing(struct lineage_store *store, struct buf *rows, struct buf *ids)
{
    struct gone gone = {.log = store->log, .rows = rows, .ids = ids};
    find_gone(&gone, store);
    return gone.n;
}

bool acknowledged_is_gone(struct lineage_store *store, const char *id)
{
    struct gone gone = {.log = store->log, .wanted = id_bare(id)};
    find_gone(&gone, store);
    return gone.is_wanted;
}

/* The size of the copy of that name if it is of a store that is not under its path any more, and the log goes on with its rows; else 0. The
 * rows are looked at first: that is quick where there are thousands of copies. */
static uint64_t size_of_moved(int all, const char *name, struct log *log, uint64_t end)
{
    SCOPED_BUF path = {0};
    struct stat st;
    buf_printf(&path, "%s/" PLACE_RESULTS, name);
    SCOPED_FD fd = path.failed ? -1 : fs_open(all, path.data, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    const uint64_t size = size_of(fd);
    SCOPED_FD place = size && is_in_step(fd, size, log, end) ? fs_open(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -1;
    buf_reset(&path);
    bool moved = place >= 0 && fs_read_file(place, "store", &path, NULL) == LINEAGE_OK && path.length;
    if (moved) {
        buf_puts(&path, "/" PLACE_RESULTS);
        moved = !path.failed && fs_stat(AT_FDCWD, path.data, AT_SYMLINK_NOFOLLOW, &st) != 0 && errno == ENOENT;
    }
    return moved ? size : 0;
}

void acknowledged_each_moved(struct lineage_store *store, acknowledged_moved_fn *each, void *context)
{
    struct log_state now;
    SCOPED_BUF place = {0};
    const char *name;
    bool local = !log_has_requests(store->log) && find_place(&place, store->dir);
    if (local && log_look(store->log, &now, NULL) == LINEAGE_OK && now.size) {
        *strrchr(place.data, '/') = '\0'; /* behind the key */
        *strrchr(place.data, '/') = '\0';
        SCOPED_LIST list = fs_list_at(AT_FDCWD, place.data, O_NOFOLLOW);
        while ((name = fs_next(list))) {
            const uint64_t size = size_of_moved(dirfd(list), name, store->log, now.size);
            SCOPED_FD one = size ? fs_open(dirfd(list), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -1;
            if (one >= 0)
                each(context, one, size);
        }
    }
}

struct moved {
    uint64_t size;
    struct buf runs;
};

static void take_longest(void *context, int place, uint64_t size)
{
    struct moved *moved = context;
    if (size <= moved->size)
        return;
    moved->size = size;
    buf_reset(&moved->runs);
    (void)!fs_read_file(place, PLACE_REPEATED_RUNS, &moved->runs, NULL);
}

/* A store that was moved, alone or with its project, has no copy under its path of now until it gets a row. One is made if the rows are
 * those of a copy whose store is gone, which stays, because the store may have been copied before it went. */
static void follow_move(struct lineage_store *store)
{
    struct log_state now;
    struct stat st;
    SCOPED_BUF place = {0};
    struct moved moved = {.size = 0};
    if (find_place(&place, store->dir) && fs_stat(AT_FDCWD, place.data, 0, &st) != 0)
        acknowledged_each_moved(store, take_longest, &moved);
    if (moved.size && log_look(store->log, &now, NULL) == LINEAGE_OK)
        acknowledged_note(store, &(struct log_ack){.end = now.size});
    SCOPED_FD here = moved.runs.length ? open_place(store->dir, false) : -1;
    SCOPED_FD fd = here >= 0 ? fs_open(here, PLACE_REPEATED_RUNS, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600) : -1;
    if (fd >= 0)
        (void)!fs_write_at(fd, moved.runs.data, moved.runs.length, 0);
    buf_release(&moved.runs);
}

void acknowledged_tell(struct lineage_store *store)
{
    if (store->options.notice) /* not for a program that opens thousands of stores, as all copies are looked at */
        follow_move(store);
    SCOPED_BUF ids = {0};
    size_t n = acknowledged_missing(store, NULL, &ids);
    char *word = lineage_text_word(store->dir);
    if (n && ids.data && word)
        store_notice(store, 0,
                     "%s lacks %zu acknowledged row%s: %s; `lineage restore -C %s` brings them back, and new trials "
                     "get other ids",
                     store->log->place, n, n == 1 ? "" : "s", ids.data, word);
    free(word);
}

/* The directory of the copy if it is in step with the log, else -1. */
static int open_in_step(const struct lineage_store *store)
{
    struct log_state now;
    int place = log_has_requests(store->log) ? -1 : open_place(store->dir, false);
    SCOPED_FD fd = place >= 0 ? fs_open(place, PLACE_RESULTS, O_RDONLY | O_NOFOLLOW, 0) : -1;
    const uint64_t size = size_of(fd);
    if (size && log_look(store->log, &now, NULL) == LINEAGE_OK && is_in_step(fd, size, store->log, now.size))
        return place;
    fs_close(place);
    return -1;
}

bool acknowledged_runs(struct buf *path, const struct lineage_store *store)
{
    int place = open_in_step(store);
    fs_close(place);
    if (place >= 0 && find_place(path, store->dir))
        buf_puts(path, PLACE_REPEATED_RUNS);
    return path->length && !path->failed;
}

bool acknowledged_settings(struct lineage_store *store, struct buf *text)
{
    SCOPED_FD place = open_in_step(store);
    return place >= 0 && fs_read_file(place, PLACE_CONFIG, text, NULL) == LINEAGE_OK && text->length;
}

/* The settings and the path go with the rows: they make the store again if its whole directory is gone. */
static void copy_settings(const struct lineage_store *store, int place, bool is_new)
{
    SCOPED_BUF text = {0};
    struct stat here, there;
    SCOPED_FREE char *whole = is_new ? whole_path(store->dir) : NULL;
    if (whole)
        (void)fs_replace(place, "store", whole, strlen(whole), false, NULL);
    if (fs_stat(store->dir_fd, PLACE_CONFIG, 0, &here) == 0 &&
        (fs_stat(place, PLACE_CONFIG, 0, &there) != 0 || here.st_mtim.tv_sec > there.st_mtim.tv_sec) &&
        fs_read_file(store->dir_fd, PLACE_CONFIG, &text, NULL) == LINEAGE_OK && text.length)
        (void)fs_replace(place, PLACE_CONFIG, text.data, text.length, false, NULL);
}

/* The copy becomes the log and, behind it, the rows that the log lacks. */
static void write_anew(struct lineage_store *store, int place, uint64_t end, bool with_gone)
{
    SCOPED_BUF bytes = {0};
    if (read_log(&bytes, store->log, 0, end)) {
        if (with_gone)
            acknowledged_missing(store, &bytes, NULL);
        if (!bytes.failed)
            (void)fs_replace(place, PLACE_RESULTS, bytes.data ? bytes.data : "", bytes.length, false, NULL);
    }
}

void acknowledged_note(void *context, const struct log_ack *ack)
{
    struct lineage_store *store = context;
    SCOPED_FD place = open_place(store->dir, true);
    SCOPED_FD fd = place >= 0 ? fs_open(place, PLACE_RESULTS, O_RDWR | O_CREAT | O_NOFOLLOW, 0600) : -1;
    uint64_t size = size_of(fd);
    if (fd >= 0)
        copy_settings(store, place, size == 0);
    if (fd >= 0 && !is_in_step(fd, size, store->log, ack->end))
        write_anew(store, place, ack->end, true);
    else if (fd >= 0)
        copy_rest(fd, size, store->log, ack->end);
}

void acknowledged_renew(struct lineage_store *store)
{
    struct log_state now;
    SCOPED_FD place = log_has_requests(store->log) ? -1 : open_place(store->dir, false);
    if (place >= 0 && log_look(store->log, &now, NULL) == LINEAGE_OK) {
        (void)!fs_unlink(place, PLACE_RESULTS ".before"); /* it may hold the secret that is being redacted */
        write_anew(store, place, now.size, false);
        store->log->next_id = 0;
    }
}

static bool count_row(void *context, const char *id, const struct tsv_record *record)
{
    (void)id;
    (void)record;
    ++*(size_t *)context;
    return true;
}

void acknowledged_find(struct acknowledged_lost *lost, const char *dir)
{
    *lost = (struct acknowledged_lost){.rows = 0};
    SCOPED_FD place =
        find_place(&lost->place, dir) ? fs_open(AT_FDCWD, lost->place.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -1;
    if (place < 0)
        return;
    if (fs_read_file(place, PLACE_RESULTS, &lost->results, NULL) == LINEAGE_OK && lost->results.length)
        each_row(&lost->results, count_row, &lost->rows);
    (void)!fs_read_file(place, PLACE_CONFIG, &lost->settings, NULL);
}

void acknowledged_lost_release(struct acknowledged_lost *lost)
{
    buf_release(&lost->results);
    buf_release(&lost->settings);
    buf_release(&lost->place);
}

int acknowledged_open(struct lineage_store *store, struct buf *path)
{
    const bool local = !log_has_requests(store->log);
    return local && find_place(path, store->dir) ? open_place(store->dir, false) : -1;
}

void acknowledged_set_aside(const char *dir)
{
    SCOPED_FD place = open_place(dir, false);
    if (place < 0)
        return;
    (void)!fs_rename(place, PLACE_RESULTS, place, PLACE_RESULTS ".before");
    (void)!fs_unlink(place, PLACE_CONFIG);
    (void)!fs_unlink(place, PLACE_REPEATED_RUNS);
}
