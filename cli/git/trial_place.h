/*
 * trial_place.h: where the repository of a trial is now. run.json has the paths of then: "top" of the work tree, "common", the
 * directory that all work trees of the repository share, and "store", the store that the trial was recorded in. Projects are
 * renamed, copied with their stores and cloned, and work trees are removed.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/*
 * Looks for the repository and notes it in git, the object of run.json, as "place" (null: it is gone, or git does not answer for it, which
 * "mute" names then) and "others". store is the
 * directory of the store now. A store that was copied or moved together with its repository has it in the same place beside it.
 * Otherwise the repository around the store or around the current directory is taken if it has the commit.
 */
void trial_place_find(json_t *git, const char *store);

/* The directory that was found, or the recorded one before trial_place_find; NULL if the repository is gone or mute. */
const char *trial_place_of(const json_t *git);

/* The commit that has the code of the trial, with the changes of then if it could be made; "" for none. */
const char *trial_place_code(const json_t *git);

/* Whether only the original of a copied store may change refs in that repository. */
bool trial_place_is_others(const json_t *git);

enum { TRIAL_PLACE_LACK_MAX = 640 };

/* Says in out why trial_place_of has nothing, and returns out. */
const char *trial_place_lack(char out[TRIAL_PLACE_LACK_MAX], const json_t *git);

/* Removes the notes, so that they do not get into run.json. */
void trial_place_forget(json_t *git);
