/* power_disk.c: see power_disk.h. */
#include "power_disk.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <xxhash.h>

#include "support/files.h"

enum { SECTOR = 512 };

struct bytes {
    char *data;
    size_t length;
};

struct mark {
    char *name, *data;
    size_t length;
};

/* An inode with its durable content. */
struct inode {
    dev_t device;
    ino_t number;
    int hold; /* keeps the number from being used again; -1 in a state */
    mode_t mode;
    struct bytes content; /* of a file; the target of a symbolic link */
    struct bytes cache;   /* in a state: the content with every write, durable or not */
    struct mark *marks;
    size_t n_marks;
    bool of_mirror;
    uint64_t size; /* after all changes */
};

struct entry {
    size_t dir, inode;
    char *name;
};

struct disk_state {
    struct inode *inodes;
    size_t n_inodes;
    struct entry *entries;
    size_t n_entries;
};

struct disk {
    struct disk_state start, now; /* in `now` only the names are kept up to date */
    struct change *changes;
    size_t n_changes;
};

static void must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(2);
    }
}

static void *grown(void *items, size_t n, size_t size)
{
    if (n && (n & (n - 1)) != 0)
        return items;
    items = realloc(items, (n ? 2 * n : 1) * size);
    must(items != NULL, "realloc");
    return items;
}

static char *copied(const char *bytes, size_t length)
{
    char *copy = malloc(length + 1);
    must(copy != NULL, "malloc");
    if (length)
        memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

/* ---- names, marks and contents ---- */

static struct entry *entry_of(const struct disk_state *state, size_t dir, const char *name)
{
    for (size_t i = 0; i < state->n_entries; i++)
        if (state->entries[i].dir == dir && strcmp(state->entries[i].name, name) == 0)
            return &state->entries[i];
    return NULL;
}

static void remove_entry(struct disk_state *state, size_t dir, const char *name)
{
    struct entry *entry = entry_of(state, dir, name);
    if (!entry)
        return;
    free(entry->name);
    *entry = state->entries[--state->n_entries];
}

static void set_entry(struct disk_state *state, size_t dir, const char *name, size_t inode)
{
    struct entry *entry = entry_of(state, dir, name);
    if (entry) {
        entry->inode = inode;
        return;
    }
    state->entries = grown(state->entries, state->n_entries, sizeof *state->entries);
    state->entries[state->n_entries++] = (struct entry){dir, inode, copied(name, strlen(name))};
}

static void resize(struct bytes *content, size_t length)
{
    char *data = realloc(content->data, length + 1);
    must(data != NULL, "realloc");
    if (length > content->length)
        memset(data + content->length, 0, length - content->length);
    data[length] = '\0';
    *content = (struct bytes){data, length};
}

static void remove_mark(struct inode *inode, const char *name)
{
    for (size_t i = 0; i < inode->n_marks; i++)
        if (strcmp(inode->marks[i].name, name) == 0) {
            free(inode->marks[i].name);
            free(inode->marks[i].data);
            inode->marks[i] = inode->marks[--inode->n_marks];
        }
}

static void set_mark(struct inode *inode, const char *name, const char *data, size_t length)
{
    remove_mark(inode, name);
    inode->marks = grown(inode->marks, inode->n_marks, sizeof *inode->marks);
    inode->marks[inode->n_marks++] = (struct mark){copied(name, strlen(name)), copied(data, length), length};
}

static void release_state(struct disk_state *state)
{
    for (size_t i = 0; i < state->n_inodes; i++) {
        while (state->inodes[i].n_marks)
            remove_mark(&state->inodes[i], state->inodes[i].marks[0].name);
        free(state->inodes[i].marks);
        free(state->inodes[i].content.data);
        free(state->inodes[i].cache.data);
        if (state->inodes[i].hold >= 0)
            close(state->inodes[i].hold);
    }
    for (size_t i = 0; i < state->n_entries; i++)
        free(state->entries[i].name);
    free(state->inodes);
    free(state->entries);
}

/* ---- reading a directory ---- */

static void read_marks(struct inode *inode, const char *path)
{
    char names[4096], data[4096];
    ssize_t n = listxattr(path, names, sizeof names);
    for (ssize_t at = 0; at < n; at += (ssize_t)strlen(names + at) + 1) {
        ssize_t length = strncmp(names + at, "user.", 5) == 0 ? getxattr(path, names + at, data, sizeof data) : -1;
        if (length >= 0)
            set_mark(inode, names + at, data, (size_t)length);
    }
}

static size_t add_inode(struct disk_state *state, const char *path, const struct stat *st)
{
    struct inode inode = {
        .device = st->st_dev, .number = st->st_ino, .mode = st->st_mode, .hold = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    must(inode.hold >= 0, path);
    state->inodes = grown(state->inodes, state->n_inodes, sizeof *state->inodes);
    state->inodes[state->n_inodes] = inode;
    return state->n_inodes++;
}

static void read_content(struct inode *inode, const char *path)
{
    if (S_ISLNK(inode->mode)) {
        char target[4096];
        ssize_t n = readlink(path, target, sizeof target);
        must(n >= 0, path);
        inode->content = (struct bytes){copied(target, (size_t)n), (size_t)n};
    } else if (S_ISREG(inode->mode)) {
        inode->content.data = read_file(path, &inode->content.length);
        inode->size = inode->content.length;
        read_marks(inode, path);
    }
}

static bool is_of_mirror(const char *name)
{
    return strncmp(name, "lineage.db", 10) == 0;
}

static void read_tree(struct disk *disk, size_t dir, const char *path)
{
    char **names = list_dir(path, "");
    for (size_t i = 0; names && names[i]; i++) {
        struct stat st;
        char *at = join(path, names[i]);
        if (strcmp(names[i], ".") != 0 && strcmp(names[i], "..") != 0 && lstat(at, &st) == 0) {
            size_t inode = disk_find(disk, &st);
            bool is_new = inode == SIZE_MAX;
            if (is_new)
                inode = add_inode(&disk->start, at, &st);
            disk->start.inodes[inode].of_mirror = is_of_mirror(names[i]);
            if (is_new)
                read_content(&disk->start.inodes[inode], at);
            set_entry(&disk->start, dir, names[i], inode);
            set_entry(&disk->now, dir, names[i], inode);
            if (S_ISDIR(st.st_mode))
                read_tree(disk, inode, at);
        }
        free(at);
    }
    if (names)
        free_list(names);
}

struct disk *disk_new(const char *root)
{
    struct disk *disk = calloc(1, sizeof *disk);
    struct stat st;
    must(disk != NULL, "calloc");
    must(stat(root, &st) == 0, root);
    add_inode(&disk->start, root, &st);
    read_tree(disk, 0, root);
    return disk;
}

void disk_free(struct disk *disk)
{
    for (size_t i = 0; i < disk->n_changes; i++) {
        free(disk->changes[i].name);
        free(disk->changes[i].to_name);
        free(disk->changes[i].bytes);
    }
    free(disk->changes);
    release_state(&disk->start);
    release_state(&disk->now);
    free(disk);
}

size_t disk_find(const struct disk *disk, const struct stat *st)
{
    for (size_t i = 0; i < disk->start.n_inodes; i++)
        if (disk->start.inodes[i].device == st->st_dev && disk->start.inodes[i].number == st->st_ino)
            return i;
    return SIZE_MAX;
}

size_t disk_look_up(const struct disk *disk, size_t dir, const char *name)
{
    const struct entry *entry = entry_of(&disk->now, dir, name);
    return entry ? entry->inode : SIZE_MAX;
}

/* ---- changes ---- */

/* A file that was made after the start has no durable content, and a link has its target from the beginning. */
size_t disk_add_inode(struct disk *disk, const char *path, const struct stat *st)
{
    size_t inode = add_inode(&disk->start, path, st);
    if (S_ISLNK(st->st_mode))
        read_content(&disk->start.inodes[inode], path);
    return inode;
}

static void apply_names(struct disk_state *state, const struct change *c)
{
    const struct entry *from;
    switch (c->kind) {
    case CHANGE_NAME: set_entry(state, c->dir, c->name, c->inode); break;
    case CHANGE_REMOVE: remove_entry(state, c->dir, c->name); break;
    case CHANGE_MOVE:
        set_entry(state, c->to_dir, c->to_name, c->inode);
        from = entry_of(state, c->dir, c->name);
        if (from && from->inode == c->inode)
            remove_entry(state, c->dir, c->name);
        break;
    default: break;
    }
}

/* Follows the size of a file, which says whether a write stays within a sector that the file has. */
static void follow_size(struct disk *disk, struct change *c)
{
    struct inode *inode = &disk->start.inodes[c->inode];
    if (c->kind == CHANGE_TRUNCATE)
        inode->size = c->offset;
    if (c->kind != CHANGE_WRITE)
        return;
    uint64_t end = c->offset + c->length;
    c->old_size = inode->size;
    c->within = end <= inode->size && c->offset / SECTOR == (end - 1) / SECTOR;
    inode->size = end > inode->size ? end : inode->size;
}

void disk_add(struct disk *disk, const struct change *change)
{
    struct change *c;
    disk->changes = grown(disk->changes, disk->n_changes, sizeof *disk->changes);
    c = &disk->changes[disk->n_changes++];
    *c = *change;
    c->name = change->name ? copied(change->name, strlen(change->name)) : NULL;
    c->to_name = change->to_name ? copied(change->to_name, strlen(change->to_name)) : NULL;
    c->bytes = change->bytes ? copied(change->bytes, change->length) : NULL;
    c->durable_at = SIZE_MAX;
    follow_size(disk, c);
    if (c->kind == CHANGE_NAME)
        disk->start.inodes[c->inode].of_mirror = is_of_mirror(c->name);
    c->of_mirror =
        c->kind == CHANGE_REMOVE ? is_of_mirror(c->name) : c->kind != CHANGE_ANSWER && disk->start.inodes[c->inode].of_mirror;
    apply_names(&disk->now, c);
}

size_t disk_n_changes(const struct disk *disk)
{
    return disk->n_changes;
}

const struct change *disk_change(const struct disk *disk, size_t i)
{
    return &disk->changes[i];
}

static bool is_of_names(const struct change *c)
{
    return c->kind == CHANGE_NAME || c->kind == CHANGE_REMOVE || c->kind == CHANGE_MOVE;
}

/* The index of the first sync of the inode after change i. */
static size_t synced_at(const struct disk *disk, size_t i, size_t inode)
{
    for (; i < disk->n_changes; i++)
        if (disk->changes[i].kind == CHANGE_SYNC && disk->changes[i].inode == inode)
            return i;
    return SIZE_MAX;
}

void disk_settle(struct disk *disk)
{
    for (size_t i = 0; i < disk->n_changes; i++) {
        struct change *c = &disk->changes[i];
        if (is_of_names(c)) /* a rename is one change, and durable with its new name */
            c->durable_at = synced_at(disk, i, c->kind == CHANGE_MOVE ? c->to_dir : c->dir);
        else if (c->kind != CHANGE_SYNC && c->kind != CHANGE_ANSWER)
            c->durable_at = synced_at(disk, i, c->inode);
    }
}

/* ---- states ---- */

unsigned disk_n_survivals(const struct disk *disk, size_t i)
{
    const struct change *c = &disk->changes[i];
    return c->kind != CHANGE_WRITE || c->of_mirror || c->within ? 2 : 4;
}

/*
 * How many bytes of a write survive if it is cut: half of those that it appends, because the size of a file may be behind
 * its bytes; or those up to the old end of the file, or in the first sector.
 */
static size_t cut_length(const struct change *c)
{
    if (c->offset == c->old_size)
        return c->length / 2;
    if (c->offset < c->old_size && c->old_size < c->offset + c->length)
        return (size_t)(c->old_size - c->offset);
    return SECTOR - (size_t)(c->offset % SECTOR) < c->length ? SECTOR - (size_t)(c->offset % SECTOR) : c->length;
}

/*
 * A disk writes whole sectors, and a sector is written from the cache. So with a write that survives, every earlier write to
 * the same sectors survives too, as far as those sectors go.
 */
static void write_bytes(struct inode *inode, const struct change *c, enum survival survival)
{
    const size_t end = c->offset + (survival == SURVIVES_CUT ? cut_length(c) : c->length);
    const size_t first = c->offset / SECTOR * SECTOR, last = (end + SECTOR - 1) / SECTOR * SECTOR;
    if (inode->content.length < end)
        resize(&inode->content, end);
    for (size_t at = first; survival != SURVIVES_AS_ZEROS && at < last && at < inode->content.length && at < inode->cache.length;
         at++)
        if (at < end || survival == SURVIVES)
            inode->content.data[at] = inode->cache.data[at];
}

/* What a reader of the running system sees. */
static void write_cache(struct inode *inode, const struct change *c)
{
    if (c->kind == CHANGE_TRUNCATE)
        resize(&inode->cache, (size_t)c->offset);
    if (c->kind != CHANGE_WRITE)
        return;
    if (inode->cache.length < c->offset + c->length)
        resize(&inode->cache, c->offset + c->length);
    memcpy(inode->cache.data + c->offset, c->bytes, c->length);
}

static void apply(struct disk_state *state, const struct change *c, enum survival survival)
{
    struct inode *inode = &state->inodes[c->inode];
    switch (c->kind) {
    case CHANGE_WRITE: write_bytes(inode, c, survival); break;
    case CHANGE_TRUNCATE: resize(&inode->content, (size_t)c->offset); break;
    case CHANGE_MARK: set_mark(inode, c->name, c->bytes, c->length); break;
    case CHANGE_UNMARK: remove_mark(inode, c->name); break;
    default: apply_names(state, c); break;
    }
}

static void copy_start(struct disk_state *state, const struct disk *disk)
{
    state->inodes = calloc(disk->start.n_inodes, sizeof *state->inodes);
    must(state->inodes != NULL, "calloc");
    for (size_t i = 0; i < disk->start.n_inodes; i++) {
        const struct inode *from = &disk->start.inodes[i];
        struct inode *to = &state->inodes[state->n_inodes++];
        *to = (struct inode){.mode = from->mode, .hold = -1};
        to->content = (struct bytes){copied(from->content.data, from->content.length), from->content.length};
        to->cache = (struct bytes){copied(from->content.data, from->content.length), from->content.length};
        for (size_t k = 0; k < from->n_marks; k++)
            set_mark(to, from->marks[k].name, from->marks[k].data, from->marks[k].length);
    }
    for (size_t i = 0; i < disk->start.n_entries; i++)
        set_entry(state, disk->start.entries[i].dir, disk->start.entries[i].name, disk->start.entries[i].inode);
}

struct disk_state *disk_state_new(const struct disk *disk, size_t end, const unsigned char *fate)
{
    struct disk_state *state = calloc(1, sizeof *state);
    must(state != NULL, "calloc");
    copy_start(state, disk);
    for (size_t i = 0; i < end; i++) {
        const struct change *c = &disk->changes[i];
        write_cache(&state->inodes[c->inode], c);
        if (c->durable_at < end)
            apply(state, c, SURVIVES);
        else if (fate[i] != SURVIVES_NOT)
            apply(state, c, (enum survival)fate[i]);
    }
    return state;
}

void disk_state_free(struct disk_state *state)
{
    release_state(state);
    free(state);
}

/* The hash of a directory does not depend on the order of its entries. */
static uint64_t hash_of(const struct disk_state *state, size_t inode)
{
    const struct inode *at = &state->inodes[inode];
    uint64_t hash = XXH3_64bits_withSeed(at->content.data, at->content.length, at->mode & S_IFMT);
    for (size_t i = 0; i < at->n_marks; i++)
        hash += XXH3_64bits_withSeed(at->marks[i].data, at->marks[i].length,
                                     XXH3_64bits(at->marks[i].name, strlen(at->marks[i].name)));
    for (size_t i = 0; S_ISDIR(at->mode) && i < state->n_entries; i++) {
        const struct entry *entry = &state->entries[i];
        if (entry->dir == inode)
            hash += XXH3_64bits_withSeed(entry->name, strlen(entry->name), hash_of(state, entry->inode));
    }
    return hash;
}

uint64_t disk_state_hash(const struct disk_state *state)
{
    return hash_of(state, 0);
}

static void write_inode(const struct disk_state *state, size_t inode, const char *path)
{
    const struct inode *at = &state->inodes[inode];
    if (S_ISLNK(at->mode)) {
        must(symlink(at->content.data, path) == 0, path);
        return;
    }
    if (S_ISREG(at->mode))
        write_file(path, at->content.data, at->content.length);
    for (size_t i = 0; S_ISREG(at->mode) && i < at->n_marks; i++)
        must(setxattr(path, at->marks[i].name, at->marks[i].data, at->marks[i].length, 0) == 0, path);
    if (!S_ISDIR(at->mode))
        return;
    must(inode == 0 || mkdir(path, 0755) == 0, path);
    for (size_t i = 0; i < state->n_entries; i++)
        if (state->entries[i].dir == inode) {
            char *below = join(path, state->entries[i].name);
            write_inode(state, state->entries[i].inode, below);
            free(below);
        }
}

void disk_state_write(const struct disk_state *state, const char *dir)
{
    write_inode(state, 0, dir);
}

const char *disk_state_file(const struct disk_state *state, const char *path, size_t *length)
{
    char name[256];
    size_t inode = 0;
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, "/");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        const struct entry *entry = entry_of(state, inode, name);
        if (!entry)
            return NULL;
        inode = entry->inode;
        at += n + (at[n] == '/');
    }
    *length = state->inodes[inode].content.length;
    return S_ISREG(state->inodes[inode].mode) ? state->inodes[inode].content.data : NULL;
}
