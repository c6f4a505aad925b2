/* front.c: the kept trials with two scores, and those of them that no other one dominates (lineage/front.h). */
#include <math.h>

#include <lineage/front.h>
#include <lineage/require.h>

#include "questions.h"

/* Each kept trial is loaded, because its second score may be a metric in its notes. There are few of them. */
enum lineage_status mirror_two_scores(struct mirror *mirror, struct lineage_front_point **points, size_t *n, struct arena *arena,
                                      struct lineage_error *err)
{
    const char *second = mirror_store(mirror)->config.second;
    const struct lineage_query kept = {.labels = 1u << LINEAGE_KEEP | 1u << LINEAGE_BASELINE};
    struct mirror_seqs found = {0};
    *n = 0;
    *points = NULL;
    if (!second[0])
        return LINEAGE_OK;
    enum lineage_status status = mirror_query(mirror, &kept, &found, err);
    if (status == LINEAGE_OK && !(*points = arena_alloc(arena, found.n + 1, sizeof **points)))
        status = store_no_memory(err);
    for (size_t i = 0; status == LINEAGE_OK && i < found.n; i++) {
        struct lineage_trial trial = {0};
        status = mirror_load(mirror, found.items[i], &trial, err);
        struct lineage_number other = status == LINEAGE_OK ? lineage_requirement_value(&trial, second) : trial.score;
        if (status == LINEAGE_OK && trial.score.present && isfinite(trial.score.value) && other.present &&
            isfinite(other.value)) {
            const char *id = arena_text(arena, trial.exp_id, strlen(trial.exp_id));
            (*points)[(*n)++] = (struct lineage_front_point){id, trial.score.value, other.value};
            status = id ? LINEAGE_OK : store_no_memory(err);
        }
        lineage_trial_release(&trial);
    }
    free(found.items);
    return status;
}

/* The sign that makes a larger value better. */
static double sign_of(enum lineage_direction direction)
{
    return direction == LINEAGE_HIGHER ? 1 : -1;
}

/* An insertion sort, stable as qsort is not: of equal points the earlier trial stays first. */
static void sort(struct lineage_front_point *points, size_t n, double first, double second)
{
    for (size_t i = 1; i < n; i++) {
        struct lineage_front_point point = points[i];
        size_t k = i;
        for (; k > 0; k--) {
            double by = first * (point.score - points[k - 1].score), then = second * (point.second - points[k - 1].second);
            if (by < 0 || (by == 0 && then <= 0))
                break;
            points[k] = points[k - 1];
        }
        points[k] = point;
    }
}

/* From the best first score on, a point is on the front if its second score is better than all before it. */
size_t mirror_front(const struct lineage_config *config, struct lineage_front_point *points, size_t n)
{
    double first = sign_of(config->direction), second = sign_of(config->second_direction);
    size_t kept = 0;
    sort(points, n, first, second);
    for (size_t i = 0; i < n; i++)
        if (!kept || second * (points[i].second - points[kept - 1].second) > 0)
            points[kept++] = points[i];
    return kept;
}

struct front_question {
    struct lineage_store *store;
    struct lineage_front *front;
};

static enum lineage_status ask(void *context, struct lineage_error *err)
{
    struct front_question *q = context;
    struct arena *arena = q->front->memory;
    arena_release(arena);
    TRY(mirror_sync(q->store->mirror, err));
    TRY(mirror_two_scores(q->store->mirror, &q->front->points, &q->front->n, arena, err));
    q->front->n = mirror_front(&q->store->config, q->front->points, q->front->n);
    return LINEAGE_OK;
}

enum lineage_status lineage_front_load(struct lineage_front *front, struct lineage_store *store, struct lineage_error *err)
{
    struct front_question q = {store, front};
    *front = (struct lineage_front){.memory = calloc(1, sizeof(struct arena))};
    if (!front->memory)
        return store_no_memory(err);
    return mirror_ask(store->mirror, ask, &q, err);
}

void lineage_front_release(struct lineage_front *front)
{
    if (front->memory)
        arena_release(front->memory);
    free(front->memory);
    *front = (struct lineage_front){0};
}
