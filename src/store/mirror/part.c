/*
 * part.c: the mirror of a night, which has the rows that a worker of a list or a grid needs. A log of 10^8 rows would take
 * such a worker 20 minutes and 60 GB to mirror, and it asks only for the best trial, for its own trials and for the parents
 * of its rows.
 *
 * The part is in memory and belongs to one handle, so no other command can take it for lineage.db.
 */
#include <stdlib.h>
#include <string.h>

#include "connection.h"
#include "meta.h"
#include "mirror_internal.h"
#include "part.h"

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static struct mirror_part *part_new(const uint64_t *keys, size_t n)
{
    struct mirror_part *part = calloc(1, sizeof *part);
    if (!part || !(part->keys = calloc(n + 1, sizeof *part->keys))) {
        free(part);
        return NULL;
    }
    if (n)
        memcpy(part->keys, keys, n * sizeof *keys);
    qsort(part->keys, n, sizeof *part->keys, compare_keys);
    part->n = n;
    return part;
}

void mirror_part_free(struct mirror *mirror)
{
    if (mirror->part)
        free(mirror->part->keys);
    free(mirror->part);
    mirror->part = NULL;
}

/* Whether following the log with the mirror that is there costs less than a new part: it lacks few rows. */
static bool is_nearly_up_to_date(struct mirror *mirror, const struct log_state *log)
{
    char metric[LINEAGE_NAME_MAX];
    const struct mirror_position *at = &mirror->meta.at;
    bool read = mirror_recover(mirror, NULL) == LINEAGE_OK && mirror_load_meta(mirror, metric, NULL) == LINEAGE_OK;
    return read && strcmp(metric, mirror->store->config.metric) == 0 && log_is_same(&at->log, log) && at->watermark &&
           at->watermark <= log->size && log->size - at->watermark <= MIRROR_PART_MIN * (log->size / log->records);
}

/* A second score and a measured noise floor depend on rows that are not kept. */
enum lineage_status mirror_follow_night(struct mirror *mirror, const uint64_t *keys, size_t n, struct lineage_error *err)
{
    struct log_state now;
    const struct lineage_store *store = mirror->store;
    const bool depends = store->config.noise_freedom || store->config.second[0];
    if (mirror->part || depends || !log_has_history(store->log) || log_look(store->log, &now, NULL) != LINEAGE_OK ||
        now.records <= MIRROR_PART_MIN || is_nearly_up_to_date(mirror, &now))
        return LINEAGE_OK;
    mirror->part = part_new(keys, n);
    if (!mirror->part)
        return store_no_memory(err);
    return mirror_connect(mirror, false, err);
}

bool mirror_is_part(const struct mirror *mirror)
{
    return mirror->part != NULL;
}

bool mirror_part_has_key(const struct mirror *mirror, uint64_t key)
{
    const struct mirror_part *part = mirror->part;
    return part && bsearch(&key, part->keys, part->n, sizeof key, compare_keys);
}

void mirror_part_begin(struct mirror *mirror)
{
    if (mirror->part)
        mirror->part->asking++;
}

/* The part may have been completed in between. */
void mirror_part_end(struct mirror *mirror)
{
    if (mirror->part && mirror->part->asking)
        mirror->part->asking--;
}

bool mirror_part_answers(const struct mirror *mirror)
{
    return !mirror->part || mirror->part->asking;
}

unsigned mirror_generation(const struct mirror *mirror)
{
    return mirror->generation;
}
