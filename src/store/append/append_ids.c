/* append_ids.c: gives or checks the id of a new row, and finds the spelling of an id in the store. */
#include "append_ids.h"

#include <string.h>

#include "../format/id.h"
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

/* The number is padded to the width of the widest id in the log, because people sort these ids as text. */
static enum lineage_status give_next_id(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    char text[32];
    size_t at = sizeof text, width = state->id_width < 20 ? state->id_width : 20; /* a damaged mirror may contain any width */
    for (uint64_t left = state->next_id; left || sizeof text - at < width; left /= 10)
        text[--at] = (char)('0' + left % 10);
    a->trial.exp_id = arena_text(a->arena, text + at, sizeof text - at);
    return a->trial.exp_id ? LINEAGE_OK : store_no_memory(err);
}

/* An id given by the caller is refused in either spelling, because readers treat exp_014 and 014 as the same trial. */
enum lineage_status append_id_give(struct appending *a, struct lineage_error *err)
{
    const char *there;
    if (is_empty(a->trial.exp_id))
        return give_next_id(a, err);
    enum lineage_status status = append_id_find(a, a->trial.exp_id, &there, err);
    if (status != LINEAGE_OK || !there)
        return status;
    if (strcmp(there, a->trial.exp_id) == 0)
        return store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' is already in %s", there, a->store->log->place);
    return store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' names the same trial as '%.80s', which is already in %s",
                      a->trial.exp_id, there, a->store->log->place);
}
