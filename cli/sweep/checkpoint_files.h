/*
 * checkpoint_files.h: the checkpoints that trials of a night leave for later trials. They are in checkpoints/ of the
 * store: KEY.ckpt for a trial, warm-DIGEST.ckpt for a shared warm start. A store on a server also keeps them on the
 * server.
 */
#pragma once

#include "sweep/trial_list.h"

/* Sets list->checkpoints. Returns CLI_GO_ON or an exit status. */
int checkpoint_files_find_directory(struct trial_list *list);

/* Path of the checkpoint of trial i. */
void checkpoint_file(char out[NIGHT_PATH_MAX], const struct trial_list *list, size_t i);

/*
 * Copy a checkpoint to the store's server, or fetch it from there if it is missing locally. Both do nothing if the
 * store is a directory. A failure is printed and has no other effect: the night then treats the file as missing.
 */
void checkpoint_file_send(const struct trial_list *list, const char *path);
void checkpoint_file_fetch(const struct trial_list *list, const char *path);
