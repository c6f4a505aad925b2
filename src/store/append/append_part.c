/*
 * append_part.c: see append_part.h.
 *
 * An append asks for the best trial, for the next id, whether a trial of the night has a row already, and whether the
 * parent is there and does not descend from the new id. A part answers the first three (mirror.h). The new id is larger
 * than every id of the log, so only a row whose parent is not in the log can name it. So the parent and all its ancestors
 * must be in the part. This is found out before the claim, because completing the mirror takes too long under it.
 */
#include "append_part.h"

#include <lineage/notes.h>
#include <lineage/voids.h>

#include "../questions/questions.h"

/* Whether the row depends on nothing but the best trial, the night and the parent. */
static bool is_simple(const struct appending *a)
{
    const struct lineage_append_options *options = a->options;
    const struct lineage_trial *trial = &a->checked;
    const struct lineage_config *config = &a->store->config; /* a floor may have been measured since the open */
    struct lineage_night_link night;
    if (config->noise_freedom || config->second[0])
        return false;
    if (!is_empty(trial->exp_id) || options->allow_missing_parent || options->keep_against || options->unconfirmed ||
        options->noise_freedom || lineage_is_void_row(trial, NULL))
        return false;
    return !lineage_night_link_parse(&night, trial->notes) || mirror_part_has_key(a->store->mirror, night.key);
}

/* Each step must find the row by the exact spelling of its id, because a row with another one may be among those that the part
 * lacks. */
static enum lineage_status walk_up(struct mirror *mirror, const char *parent, bool *rooted, struct lineage_error *err)
{
    struct buf id = {0};
    enum lineage_status status = LINEAGE_OK;
    uint64_t left = mirror_position(mirror)->rows + 1; /* a longer walk is in a cycle */
    buf_puts(&id, parent ? parent : "");
    for (*rooted = !id.length; status == LINEAGE_OK && !*rooted && left; left--) {
        status = id.failed ? store_no_memory(err) : mirror_parent_of(mirror, &id, err);
        *rooted = status == LINEAGE_OK && !id.length;
    }
    buf_release(&id);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status append_part_check(const struct appending *a, struct lineage_error *err)
{
    struct mirror *mirror = a->store->mirror;
    bool rooted = false;
    enum lineage_status status = LINEAGE_OK;
    if (!mirror_is_part(mirror))
        return LINEAGE_OK;
    if (is_simple(a)) {
        status = mirror_sync(mirror, err);
        if (status == LINEAGE_OK && mirror_is_part(mirror))
            status = walk_up(mirror, a->checked.parent_exp, &rooted, err);
        if (status == LINEAGE_EAWAY) /* nothing was read yet; the trial will wait in the outbox */
            status = LINEAGE_OK;
    }
    if (status == LINEAGE_OK && !rooted)
        status = mirror_complete(mirror, err);
    append_meet_mirror(a->store);
    return status;
}
