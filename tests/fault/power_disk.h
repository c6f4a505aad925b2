/*
 * power_disk.h: a disk as a power failure may leave it.
 *
 * A disk starts from a directory whose content is durable, and gets the changes that a command made, in their order.
 * The model is stricter than the usual file systems: bytes of a file are durable after an fsync or fdatasync of that
 * file, names in a directory after an fsync of that directory, and nothing else is. Any subset of the changes that are
 * not durable may survive. A write may also survive in part: its beginning without the rest, or the new size of the file
 * with zeros instead of the bytes. Two writes to one sector of 512 bytes survive in their order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum change_kind {
    CHANGE_NAME,     /* dir/name becomes a name of the inode */
    CHANGE_MOVE,     /* dir/name becomes to_dir/to_name */
    CHANGE_REMOVE,   /* dir/name is removed */
    CHANGE_WRITE,    /* bytes[0..length) at offset */
    CHANGE_TRUNCATE, /* the file gets the length `offset` */
    CHANGE_MARK,     /* the extended attribute `name` gets bytes[0..length) */
    CHANGE_UNMARK,   /* the extended attribute `name` is removed */
    CHANGE_SYNC,     /* what was written to the inode, or its names if it is a directory, is durable */
    CHANGE_ANSWER    /* the command printed its result */
};

/* Inodes are numbered from 0; 0 is the store's directory. */
struct change {
    enum change_kind kind;
    size_t inode, dir, to_dir;
    char *name, *to_name;
    uint64_t offset;
    size_t length;
    char *bytes;
    size_t durable_at; /* index of the change after which this one is durable; SIZE_MAX: never */
    bool of_mirror;    /* of lineage.db or a file beside it */
    bool within;       /* a write inside one sector that the file had already: it survives completely or not at all */
    uint64_t old_size; /* of the file, before a write */
};

struct disk;

/* Reads the directory `root`. Every inode stays open, so that its number is not used again. Failures end the test. */
struct disk *disk_new(const char *root);
void disk_free(struct disk *disk);

/* The number of an inode; SIZE_MAX if the disk does not have it. */
size_t disk_find(const struct disk *disk, const struct stat *st);

/* The number of the inode that dir/name refers to now, after all changes; SIZE_MAX: none. */
size_t disk_look_up(const struct disk *disk, size_t dir, const char *name);

/* Adds a change. `name`, `to_name` and `bytes` are copied. An inode that is new gets its number from disk_add_inode,
 * which opens `path`. */
void disk_add(struct disk *disk, const struct change *change);
size_t disk_add_inode(struct disk *disk, const char *path, const struct stat *st);

size_t disk_n_changes(const struct disk *disk);
const struct change *disk_change(const struct disk *disk, size_t i);

/* Finds out when each change becomes durable. Call it after the last change. */
void disk_settle(struct disk *disk);

/* How a change that is not durable survives. */
enum survival { SURVIVES_NOT, SURVIVES, SURVIVES_CUT, SURVIVES_AS_ZEROS };

/* The number of ways in which a change can survive, from 2 to 4. */
unsigned disk_n_survivals(const struct disk *disk, size_t i);

/* The state in which changes [0..end) survive as fate[i] says; durable changes survive always. */
struct disk_state;
struct disk_state *disk_state_new(const struct disk *disk, size_t end, const unsigned char *fate);
void disk_state_free(struct disk_state *state);
uint64_t disk_state_hash(const struct disk_state *state);
void disk_state_write(const struct disk_state *state, const char *dir); /* dir is an empty directory */

/* The bytes of a file of the state, by its path; NULL if there is none. They belong to the state. */
const char *disk_state_file(const struct disk_state *state, const char *path, size_t *length);
