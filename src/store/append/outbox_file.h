/*
 * outbox_file.h: requests to a log on a server, on this machine's disk: outbox/TIME-PID.trial.
 *
 * A file holds one request, complete or not at all: a head with a digest, then one JSON object (outbox.c says what is
 * in it). A process that writes or delivers a request holds a lock on its file, so that another command does not
 * deliver it too; the lock of a killed process is gone at once. A handle reuses its file: a delivered request is
 * struck out instead of removed, because making a new name durable costs more than the row.
 */
#ifndef APPEND_OUTBOX_FILE_H
#define APPEND_OUTBOX_FILE_H

#include <jansson.h>
#include <stdbool.h>

#include <lineage/status.h>

enum { OUTBOX_NAME_MAX = 96 };

/* A file that this handle holds a lock on; fd -1: none. */
struct outbox_file {
    int fd;
    char name[OUTBOX_NAME_MAX]; /* below the store's directory */
};

/* Writes the request over the previous one. Creates and locks the file first if there is none. With sync it is
 * durable when the call returns. */
enum lineage_status outbox_write(struct outbox_file *file, int dir_fd, const json_t *request, bool sync, struct lineage_error *err);

/* The request was delivered: the file holds none any more. */
void outbox_strike(struct outbox_file *file);

/* outbox_leave leaves the file and its request to other commands; outbox_remove deletes it. */
void outbox_leave(struct outbox_file *file);
void outbox_remove(struct outbox_file *file, int dir_fd);

/*
 * Calls visit for each request that no other process holds, oldest first. The file is locked meanwhile, and the
 * visitor owns the request. visit returns false to stop. Files without a complete request are removed, because it was
 * never sent. A file that cannot be read for want of memory or because of a disk error ends the walk with an error.
 * *n_held counts the files that other processes hold.
 */
typedef bool outbox_visit_fn(void *context, struct outbox_file *file, json_t *request);
enum lineage_status outbox_each(int dir_fd, outbox_visit_fn *visit, void *context, size_t *n_held, struct lineage_error *err);

/* Sets a request aside that can never be delivered, by giving its file another ending. name receives the new name. */
void outbox_refuse(struct outbox_file *file, int dir_fd, char name[OUTBOX_NAME_MAX]);

#endif
