/*
 * outbox_file.h: files on this machine's disk, outbox/TIME-PID.trial, that hold requests to a log on a server.
 *
 * A file holds one request, complete or not at all: a head with a digest, then one JSON object (outbox.c says what is
 * in it). A process that writes or delivers a request holds a lock on its file, so that another command does not
 * deliver it too; the lock of a killed process is gone at once. A handle reuses its file: a delivered request is erased
 * but its file stays, because making a new file name durable costs more than the row.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include <lineage/status.h>

enum { OUTBOX_NAME_MAX = 96 };

/* A file that this handle holds a lock on; fd -1: none. */
struct outbox_file {
    int fd;
    char name[OUTBOX_NAME_MAX]; /* relative to the store's directory */
};

/* Writes the request over the previous one. Creates and locks the file if there is none. With sync the request is
 * durable when the call returns. */
enum lineage_status outbox_write(struct outbox_file *file, int dir_fd, const json_t *request, bool sync,
                                 struct lineage_error *err);

/* Erases the request of the file after it was delivered. */
void outbox_strike(struct outbox_file *file);

/* outbox_leave leaves the file and its request to other commands; outbox_remove deletes it. */
void outbox_leave(struct outbox_file *file);
void outbox_remove(struct outbox_file *file, int dir_fd);

/*
 * Calls visit for each request that no other process holds, oldest first. The file is locked during the call, and the
 * visitor owns the request. visit returns false to stop. A file that holds no request is removed: the request was
 * delivered, or its end is missing, so that it was never sent and its writer was never told that it is kept. A file that
 * is damaged otherwise may hold a trial that was acknowledged: it gets the ending .damaged, and visit is called with its
 * new name and a NULL request, in every later walk too. If a file cannot be read because memory runs out or the disk
 * fails, the walk ends with an error. *n_held counts the files that other processes hold.
 */
typedef bool outbox_visit_fn(void *context, struct outbox_file *file, json_t *request);
enum lineage_status outbox_each(int dir_fd, outbox_visit_fn *visit, void *context, size_t *n_held, struct lineage_error *err);

/* Reports the damaged files without changing anything. *n_waiting counts the files that hold a trial, and those that another
 * process holds. */
enum lineage_status outbox_check(int dir_fd, void (*report)(void *context, const char *name), void *context, size_t *n_waiting,
                                 struct lineage_error *err);

/* Sets aside a request that can never be delivered, by changing the suffix of its file. name receives the new name. */
void outbox_refuse(struct outbox_file *file, int dir_fd, char name[OUTBOX_NAME_MAX]);
