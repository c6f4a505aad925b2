/*
 * outbox_file.h: what was to be appended to a log on a server, on this machine's disk: outbox/TIME-PID.trial.
 *
 * A file holds one request, whole or not at all: a head with a digest, then one JSON object (outbox.c says what is in it).
 * Whoever writes or delivers one has it locked, so that a request that is on its way is not taken up by another command, and
 * one whose process was killed is, at once. A handle uses one file again and again: what was delivered is struck out, not
 * removed, because making a name durable costs more than the row.
 */
#ifndef APPEND_OUTBOX_FILE_H
#define APPEND_OUTBOX_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include <lineage/status.h>

enum { OUTBOX_NAME_MAX = 96 };

/* A file that this handle has locked; fd -1: none. */
struct outbox_file {
    int fd;
    char name[OUTBOX_NAME_MAX]; /* below the store's directory */
};

/* Write the request, over what was there; made and locked first if there is no file. With sync it is on the disk then. */
enum lineage_status outbox_write(struct outbox_file *file, int dir_fd, const json_t *request, bool sync, struct lineage_error *err);

/* It is delivered: what the file holds is no request any more. */
void outbox_strike(struct outbox_file *file);

/* Leave the file to whoever comes, its request in it; or remove it. */
void outbox_leave(struct outbox_file *file);
void outbox_remove(struct outbox_file *file, int dir_fd);

/*
 * Call visit for each request that nobody is at work on, oldest first; the file is locked meanwhile, and the request the
 * visitor's to read. False from it ends the walk. Files without a whole request are removed: it was never sent. One that cannot
 * be read for want of memory, or by a failing disk, ends the walk as an error. *n_held counts those that others have locked.
 */
typedef bool outbox_visit_fn(void *context, struct outbox_file *file, json_t *request);
enum lineage_status outbox_each(int dir_fd, outbox_visit_fn *visit, void *context, size_t *n_held, struct lineage_error *err);

/* Set a request aside that can never be delivered: its file gets another ending. name receives it. */
void outbox_refuse(struct outbox_file *file, int dir_fd, char name[OUTBOX_NAME_MAX]);

#endif
