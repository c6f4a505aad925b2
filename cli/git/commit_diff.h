/* commit_diff.h: the difference between the code of two trials, from their commits. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * Returns a unified diff, which the caller frees; "" if the code is the same. from and to are the objects of two run.json
 * (work_tree_diff.h). Files of more than file_max bytes are only named, like binary ones. Returns NULL if there is no
 * repository that has both commits, or if the diff is longer than GIT_DIFF_MAX. Configuration is not read, and no program
 * that attributes name is run. The file of the night that ran a trial ("plan") is left out.
 */
char *commit_diff(const json_t *from, const json_t *to, size_t file_max, size_t *length);

/* Whether commit_diff leaves out the file of a night that differs. */
bool commit_plan_differs(const json_t *from, const json_t *to);

enum commit_lack {
    COMMIT_LACKS_NOTHING, /* or it is not known */
    COMMIT_LACKS_COMMITS,
    COMMIT_LACKS_CHANGES, /* only what the parent had not committed: changes, untracked files */
};

/* What the code of a trial that is about to run lacks of the code of its parent: both are objects of run.json, with the trial's HEAD in
 * "commit". */
enum commit_lack commit_lacks(const json_t *git, const json_t *parent);
