/* append_ids.c: gives or checks the id of a new row, and finds the spelling of an id in the store. */
#include "append_ids.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../format/id.h"
#include "acknowledged.h"
#include "append_state.h"

enum lineage_status append_id_find(struct appending *a, const char *id, const char **there, struct lineage_error *err)
{
    const char *spellings[] = {id, id_bare(id), NULL};
    enum lineage_status status = LINEAGE_OK;
    bool found = false;
    *there = NULL;
    if (strlen(id) <= 256)
        status = appending_format_text(a, &spellings[2], err, "exp_%s", id);
    for (size_t i = 0; status == LINEAGE_OK && !found && i < 3; i++)
        if (spellings[i] && (!i || spellings[i] != id)) {
            status = append_has_id(a->store, spellings[i], &found, err);
            *there = found ? spellings[i] : NULL;
        }
    return status;
}

/* Files of a trial whose row is gone are still those of that trial. */
static bool has_files(const struct lineage_store *store, const char *id)
{
    char path[PLACE_MAX];
    struct stat st;
    if (place_telemetry(path, id) && fs_stat(store->dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) == 0)
        return true;
    int n = snprintf(path, sizeof path, PLACE_PROVENANCE "/%s", id);
    return n > 0 && n < PLACE_MAX && fs_stat(store->dir_fd, path, AT_SYMLINK_NOFOLLOW, &st) == 0;
}

/* The number is padded to the width of the widest id in the log, because people sort these ids as text. */
static enum lineage_status give_id(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    char text[32];
    size_t at = sizeof text, width = state->id_width < 20 ? state->id_width : 20; /* a damaged mirror may contain any width */
    for (uint64_t left = state->next_id; left || sizeof text - at < width; left /= 10)
        text[--at] = (char)('0' + left % 10);
    a->trial.exp_id = arena_text(a->arena, text + at, sizeof text - at);
    return a->trial.exp_id ? LINEAGE_OK : store_no_memory(err);
}

static enum lineage_status give_next_id(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = give_id(a, err);
    while (status == LINEAGE_OK && !a->request && has_files(a->store, a->trial.exp_id)) {
        a->store->append->next_id++;
        status = give_id(a, err);
    }
    return status;
}

/* An id given by the caller is refused in either spelling, because readers treat exp_014 and 014 as the same trial. */
enum lineage_status append_id_give(struct appending *a, struct lineage_error *err)
{
    const char *there;
    if (is_empty(a->trial.exp_id))
        return give_next_id(a, err);
    enum lineage_status status = append_id_find(a, a->trial.exp_id, &there, err);
    if (status == LINEAGE_OK && !there && a->store->log->next_id && acknowledged_is_gone(a->store, a->trial.exp_id))
        return store_fail(err, LINEAGE_EEXIST,
                          "exp_id '%.80s' is that of an acknowledged row that is gone; see `lineage restore`", a->trial.exp_id);
    if (status == LINEAGE_OK && !there && !a->request && has_files(a->store, a->trial.exp_id))
        return store_fail(err, LINEAGE_EEXIST,
                          "exp_id '%.80s' is that of a trial without a row, of which telemetry or provenance is there",
                          a->trial.exp_id);
    if (status != LINEAGE_OK || !there)
        return status;
    if (strcmp(there, a->trial.exp_id) == 0)
        return store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' is already in %s", there, a->store->log->place);
    return store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' names the same trial as '%.80s', which is already in %s",
                      a->trial.exp_id, there, a->store->log->place);
}
