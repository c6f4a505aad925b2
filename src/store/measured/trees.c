/*
 * trees.c: compares two directories. Both are walked together, directory by directory; every name is opened relative to
 * its directory without following links, so nothing outside of the two trees is read. A name is looked at before it is
 * opened, and once more afterwards, because it may refer to something else by then.
 *
 * A program that exists on one side only may have been renamed. Such files are kept until the end, and then matched by
 * their names without the directory, or because only one of their kind is left on each side.
 */
#include <fcntl.h>

#include "../files/fs.h"
#include "collecting.h"
#include "literals.h"

enum { DEPTH_MAX = 16, PATH_LENGTH_MAX = 1024, NAMES_MAX = 20000, FROM = 0, TO = 1 };

struct entry {
    char *name;
    bool is_dir;
    uint64_t size;
};

struct listing {
    struct entry *items;
    size_t n, capacity;
};

/* A program that only one side has. */
struct lone {
    char *path, *text;
    size_t length;
    bool to, used;
};

struct trees {
    struct collecting *c;
    size_t files[2], bytes[2];
    struct lone *lone;
    size_t n_lone, lone_capacity;
};

static void release_listing(struct listing *list)
{
    for (size_t i = 0; i < list->n; i++)
        free(list->items[i].name);
    free(list->items);
    *list = (struct listing){0};
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Lists regular files and directories. Names with a dot in front are caches and settings of other tools. */
static void list_directory(struct trees *t, int dir_fd, struct listing *list)
{
    int fd = fs_open(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
    DIR *dir = fd >= 0 ? fs_list(fd) : NULL;
    const char *name;
    struct stat st;
    t->c->incomplete = t->c->incomplete || !dir;
    while (dir && !t->c->failed && (name = fs_next(dir))) {
        if (name[0] == '.' || strcmp(name, "__pycache__") == 0 || fs_stat(dir_fd, name, AT_SYMLINK_NOFOLLOW, &st) != 0 ||
            !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
            continue;
        if (list->n == NAMES_MAX) {
            t->c->incomplete = true;
            break;
        }
        if (!LIST_ROOM(list->items, list->n, list->capacity)) {
            t->c->failed = true;
            break;
        }
        char *mine = strdup(name);
        if (mine)
            list->items[list->n++] = (struct entry){mine, S_ISDIR(st.st_mode), (uint64_t)st.st_size};
        else
            t->c->failed = true;
    }
    if (dir)
        closedir(dir);
    if (list->n)
        qsort(list->items, list->n, sizeof *list->items, by_name);
}

bool read_regular(struct buf *out, int dir_fd, const char *name, size_t max)
{
    struct stat st;
    int fd = fs_open(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
    bool good = fd >= 0 && fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size <= max &&
                buf_reserve(out, (size_t)st.st_size);
    ssize_t n = good ? fs_read_at(fd, out->data + out->length, (size_t)st.st_size, 0) : -1;
    if (n >= 0) {
        out->length += (size_t)n;
        out->data[out->length] = '\0';
    }
    fs_close(fd);
    return n >= 0;
}

/* Reads a file into a new buffer. Returns NULL, with *length 0, if it cannot be read or a limit is reached. */
static char *read_text(struct trees *t, int side, int dir_fd, const char *name, size_t *length)
{
    struct buf out = {0};
    const size_t left = LINEAGE_MEASURED_BYTES - t->bytes[side];
    bool within = t->files[side] < LINEAGE_MEASURED_FILES &&
                  read_regular(&out, dir_fd, name, left < LINEAGE_MEASURED_FILE ? left : LINEAGE_MEASURED_FILE);
    t->c->failed = t->c->failed || out.failed;
    t->c->incomplete = t->c->incomplete || !within;
    *length = out.length;
    t->files[side] += within;
    t->bytes[side] += out.length;
    if (within)
        return out.data;
    buf_release(&out);
    return NULL;
}

static void keep_lone(struct trees *t, const char *path, char *text, size_t length, bool to)
{
    char *mine = strdup(path);
    if (!mine || !LIST_ROOM(t->lone, t->n_lone, t->lone_capacity)) {
        t->c->failed = true;
        free(mine);
        free(text);
        return;
    }
    t->lone[t->n_lone++] = (struct lone){mine, text, length, to, false};
}

static void compare_lone(struct trees *t, int side, int dir_fd, const struct entry *entry, const char *path)
{
    size_t length;
    if (entry->size > LINEAGE_MEASURED_FILE) {
        collect_code(t->c, path, NULL, 0, 0, LINEAGE_LINES_LARGE);
        return;
    }
    char *text = read_text(t, side, dir_fd, entry->name, &length);
    if (text)
        keep_lone(t, path, text, length, side == TO);
}

static void compare_both(struct trees *t, int from_fd, int to_fd, const struct entry *from, const struct entry *to,
                         const char *path)
{
    if (from->size > LINEAGE_MEASURED_FILE || to->size > LINEAGE_MEASURED_FILE) {
        if (from->size != to->size)
            collect_code(t->c, path, NULL, 0, 0, LINEAGE_LINES_LARGE);
        t->c->incomplete = true;
        return;
    }
    struct file_text a, b;
    char *old = read_text(t, FROM, from_fd, from->name, &a.length), *new = read_text(t, TO, to_fd, to->name, &b.length);
    a.text = old;
    b.text = new;
    bool same = old && new && a.length == b.length &&memcmp(old, new, a.length) == 0;
    if (old && new && !same)
        collect_file(t->c, path, &a, &b);
    free(old);
    free(new);
}

/* Descriptors are -1 for a directory that only the other side has. */
static void compare_directories(struct trees *t, int from_fd, int to_fd, const char *prefix, unsigned depth)
{
    struct listing from = {0}, to = {0};
    char path[PATH_LENGTH_MAX];
    if (depth > DEPTH_MAX) {
        t->c->incomplete = true;
        return;
    }
    if (from_fd >= 0)
        list_directory(t, from_fd, &from);
    if (to_fd >= 0)
        list_directory(t, to_fd, &to);
    for (size_t i = 0, k = 0; (i < from.n || k < to.n) && !t->c->failed;) {
        int order = i == from.n ? 1 : k == to.n ? -1 : strcmp(from.items[i].name, to.items[k].name);
        const struct entry *a = order <= 0 ? &from.items[i++] : NULL, *b = order >= 0 ? &to.items[k++] : NULL;
        if (a && b && a->is_dir != b->is_dir)
            a = NULL; /* a file became a directory, so the file is gone */
        int n = snprintf(path, sizeof path, "%s%s", prefix, a ? a->name : b->name);
        if (n < 0 || (size_t)n >= sizeof path - 1) {
            t->c->incomplete = true;
        } else if (a ? a->is_dir : b->is_dir) {
            int old = a ? fs_open(from_fd, a->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -1;
            int new = b ? fs_open(to_fd, b->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) : -1;
            memcpy(path + n, "/", 2);
            compare_directories(t, old, new, path, depth + 1);
            fs_close(old);
            fs_close(new);
        } else if (a && b)
            compare_both(t, from_fd, to_fd, a, b, path);
        else if (a)
            compare_lone(t, FROM, from_fd, a, path);
        else
            compare_lone(t, TO, to_fd, b, path);
    }
    release_listing(&from);
    release_listing(&to);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The only unused file of the other side with the same language; NULL if there are several or none. */
static struct lone *only_other(struct trees *t, const struct lone *file)
{
    enum language language = language_of(file->path, file->text, file->length);
    struct lone *found = NULL;
    size_t mine = 0;
    for (size_t i = 0; i < t->n_lone; i++) {
        struct lone *other = &t->lone[i];
        if (other->used || language_of(other->path, other->text, other->length) != language)
            continue;
        mine += other->to == file->to;
        if (other->to != file->to && found)
            return NULL;
        if (other->to != file->to)
            found = other;
    }
    return mine == 1 && language != LANGUAGE_NONE ? found : NULL;
}

static void match_lone(struct trees *t)
{
    enum { MATCHED_MAX = 500 }; /* the search is quadratic */
    for (unsigned pass = 0; pass < 2 && t->n_lone <= MATCHED_MAX; pass++)
        for (size_t i = 0; i < t->n_lone && !t->c->failed; i++) {
            struct lone *to = &t->lone[i], *from = NULL;
            if (!to->to || to->used)
                continue;
            for (size_t k = 0; pass == 0 && k < t->n_lone && !from; k++)
                if (!t->lone[k].to && !t->lone[k].used && strcmp(base_name(t->lone[k].path), base_name(to->path)) == 0)
                    from = &t->lone[k];
            if (pass == 1)
                from = only_other(t, to);
            if (!from)
                continue;
            struct file_text a = {from->text, from->length}, b = {to->text, to->length};
            if (a.length != b.length || memcmp(a.text, b.text, a.length) != 0)
                collect_file(t->c, to->path, &a, &b);
            from->used = to->used = true;
        }
    for (size_t i = 0; i < t->n_lone && !t->c->failed; i++) {
        const struct lone *file = &t->lone[i];
        struct file_text text = {file->text, file->length}, none = {NULL, 0};
        if (!file->used)
            collect_file(t->c, file->path, file->to ? &none : &text, file->to ? &text : &none);
    }
}

void collect_trees(struct collecting *c, int from_fd, int to_fd)
{
    struct trees t = {.c = c};
    compare_directories(&t, from_fd, to_fd, "", 0);
    match_lone(&t);
    for (size_t i = 0; i < t.n_lone; i++) {
        free(t.lone[i].path);
        free(t.lone[i].text);
    }
    free(t.lone);
}
