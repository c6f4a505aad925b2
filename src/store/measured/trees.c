/*
 * trees.c: compares two directories. A name is looked at before it is opened, and once more afterwards, because it may refer to
 * something else by then; and every name is opened without following links, so nothing outside of the two trees is read.
 *
 * A program that exists on one side only may have been renamed. Such files are matched by their names without the directory, or because
 * only one of their kind is left on each side.
 */
#include <fcntl.h>

#include "../files/fs.h"
#include "collecting.h"
#include "literals.h"

enum { DEPTH_MAX = 16, PATH_LENGTH_MAX = 1024, NAMES_MAX = 20000, MATCHED_MAX = 500 };

struct entry {
    const char *path;
    uint64_t size;
    struct buf text; /* data NULL: not read */
    bool lone;       /* only this side has it, and no file of the other side was found for it */
};

struct tree {
    struct collecting *c;
    struct arena *arena;
    int fd;
    struct entry *items; /* [n] by path */
    size_t n, capacity;
    size_t files, bytes; /* that were read */
};

/* By path. What is in a directory comes without other files in between. */
static int by_path(const void *a, const void *b)
{
    const char *x = ((const struct entry *)a)->path, *y = ((const struct entry *)b)->path;
    while (*x && *x == *y)
        x++, y++;
    return (*x == '/' ? 1 : (unsigned char)*x) - (*y == '/' ? 1 : (unsigned char)*y);
}

/* Lists the regular files below a directory. Names with a dot in front are caches and settings of other tools. */
static void list_files(struct tree *t, int dir_fd, const char *prefix, unsigned depth)
{
    const int fd = depth <= DEPTH_MAX ? fs_open(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0) : -1;
    DIR *dir = fd >= 0 ? fs_list(fd) : NULL;
    const char *name;
    struct stat st;
    char path[PATH_LENGTH_MAX];
    t->c->incomplete = t->c->incomplete || !dir;
    while (dir && !t->c->failed && (name = fs_next(dir))) {
        if (name[0] == '.' || strcmp(name, "__pycache__") == 0 || fs_stat(dir_fd, name, AT_SYMLINK_NOFOLLOW, &st) != 0 ||
            !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
            continue;
        const int n = snprintf(path, sizeof path, "%s%s%s", prefix, name, S_ISDIR(st.st_mode) ? "/" : "");
        if (n < 0 || (size_t)n >= sizeof path || t->n == NAMES_MAX) {
            t->c->incomplete = true;
        } else if (S_ISDIR(st.st_mode)) {
            const int below = fs_open(dir_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
            list_files(t, below, path, depth + 1);
            fs_close(below);
        } else {
            const char *mine = arena_text(t->arena, path, (size_t)n);
            if (mine && LIST_ROOM(t->items, t->n, t->capacity))
                t->items[t->n++] = (struct entry){.path = mine, .size = (uint64_t)st.st_size, .lone = true};
            else
                t->c->failed = true;
        }
    }
    if (dir)
        closedir(dir);
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

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns false if the file cannot be read or a limit is reached. */
static bool read_file(struct tree *t, struct entry *file)
{
    char directory[PATH_LENGTH_MAX];
    const char *name = base_name(file->path);
    const size_t left = LINEAGE_MEASURED_BYTES - t->bytes;
    snprintf(directory, sizeof directory, "%.*s", (int)(name - file->path), file->path);
    const int below = *directory ? fs_open_below(t->fd, directory) : -1, fd = *directory ? below : t->fd;
    const bool read = t->files < LINEAGE_MEASURED_FILES && fd >= 0 &&
                      read_regular(&file->text, fd, name, left < LINEAGE_MEASURED_FILE ? left : LINEAGE_MEASURED_FILE);
    fs_close(below);
    t->c->failed = t->c->failed || file->text.failed;
    t->c->incomplete = t->c->incomplete || !read;
    t->files += read;
    t->bytes += file->text.length;
    return read;
}

/* Compares two versions of a file that were read, of which one may be missing. */
static void compare_texts(struct collecting *c, const struct entry *from, const struct entry *to)
{
    struct file_text a = {NULL, 0}, b = {NULL, 0};
    if (from)
        a = (struct file_text){from->text.data, from->text.length};
    if (to)
        b = (struct file_text){to->text.data, to->text.length};
    if (!from || !to || a.length != b.length || memcmp(a.text, b.text, a.length) != 0)
        collect_file(c, to ? to->path : from->path, &a, &b);
}

static void compare_both(struct tree *from, struct entry *a, struct tree *to, struct entry *b)
{
    a->lone = b->lone = false;
    if (a->size > LINEAGE_MEASURED_FILE || b->size > LINEAGE_MEASURED_FILE) {
        if (a->size != b->size)
            collect_code(to->c, b->path, NULL, 0, 0, LINEAGE_LINES_LARGE);
        to->c->incomplete = true;
        return;
    }
    const bool old = read_file(from, a), new = read_file(to, b);
    if (old && new)
        compare_texts(to->c, a, b);
    buf_release(&a->text);
    buf_release(&b->text);
}

static void read_lone(struct tree *t, struct entry *file)
{
    if (file->size > LINEAGE_MEASURED_FILE)
        collect_code(t->c, file->path, NULL, 0, 0, LINEAGE_LINES_LARGE);
    file->lone = file->size <= LINEAGE_MEASURED_FILE && read_file(t, file);
}

static enum language language_in(const struct entry *file)
{
    return language_of(file->path, file->text.data, file->text.length);
}

/* The lone file of a tree with that name, or with NULL the only one in that language; NULL if there are several or none. */
static struct entry *find_lone(struct tree *t, const char *name, enum language language)
{
    struct entry *found = NULL;
    for (size_t i = 0; i < t->n; i++) {
        struct entry *file = &t->items[i];
        if (!file->lone || (name ? strcmp(base_name(file->path), name) != 0 : language_in(file) != language))
            continue;
        if (name)
            return file;
        if (found)
            return NULL;
        found = file;
    }
    return found;
}

static void match_lone(struct tree *from, struct tree *to, bool by_name)
{
    for (size_t i = 0; i < to->n && !to->c->failed; i++) {
        struct entry *file = &to->items[i], *other = NULL;
        const enum language language = file->lone ? language_in(file) : LANGUAGE_NONE;
        if (file->lone && by_name)
            other = find_lone(from, base_name(file->path), language);
        else if (language != LANGUAGE_NONE && find_lone(to, NULL, language) == file)
            other = find_lone(from, NULL, language);
        if (other) {
            compare_texts(to->c, other, file);
            file->lone = other->lone = false;
        }
    }
}

void collect_trees(struct collecting *c, int from_fd, int to_fd)
{
    struct arena arena = {0};
    struct tree trees[2] = {{.c = c, .arena = &arena, .fd = from_fd}, {.c = c, .arena = &arena, .fd = to_fd}};
    struct tree *from = &trees[0], *to = &trees[1];
    size_t n_lone = 0;
    for (size_t side = 0; side < 2; side++) {
        list_files(&trees[side], trees[side].fd, "", 0);
        if (trees[side].n)
            qsort(trees[side].items, trees[side].n, sizeof *trees[side].items, by_path);
    }
    for (size_t i = 0, k = 0; (i < from->n || k < to->n) && !c->failed;) {
        const int order = i == from->n ? 1 : k == to->n ? -1 : by_path(&from->items[i], &to->items[k]);
        struct entry *a = order <= 0 ? &from->items[i++] : NULL, *b = order >= 0 ? &to->items[k++] : NULL;
        n_lone += !a || !b;
        if (a && b)
            compare_both(from, a, to, b);
        else
            read_lone(a ? from : to, a ? a : b);
    }
    for (size_t pass = 0; pass < 2 && n_lone <= MATCHED_MAX; pass++) /* the search is quadratic */
        match_lone(from, to, pass == 0);
    for (size_t i = 0, k = 0; i < from->n || k < to->n;) {
        const int order = i == from->n ? 1 : k == to->n ? -1 : by_path(&from->items[i], &to->items[k]);
        struct entry *file = order <= 0 ? &from->items[i++] : &to->items[k++];
        if (file->lone && !c->failed)
            compare_texts(c, order <= 0 ? file : NULL, order <= 0 ? NULL : file);
        buf_release(&file->text);
    }
    free(from->items);
    free(to->items);
    arena_release(&arena);
}
