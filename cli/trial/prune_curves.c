#include "trial/prune_curves.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/query.h>
#include <lineage/render.h>

#include "cli.h"

/* Takes the points of telemetry's member "steps" that have the metric. A step that does not come later than the one
 * before it is left out, so that the points can be searched. */
static bool take_points(struct prune_curve *curve, const json_t *telemetry, const char *key)
{
    const bool anew = json_is_true(json_object_get(telemetry, "begun_anew")); /* its steps are not those of a whole training */
    const json_t *steps = anew ? NULL : json_object_get(telemetry, "steps");
    curve->points = calloc(json_array_size(steps) + 1, sizeof *curve->points);
    for (size_t i = 0; curve->points && i < json_array_size(steps); i++) {
        const json_t *step = json_object_get(json_array_get(steps, i), "step");
        const json_t *value = json_object_get(json_array_get(steps, i), key);
        struct prune_point point = {json_integer_value(step), json_number_value(value)};
        if (json_is_integer(step) && json_is_number(value) && isfinite(point.value) &&
            (!curve->n || point.step > curve->points[curve->n - 1].step))
            curve->points[curve->n++] = point;
    }
    return curve->points != NULL;
}

/* A pipe in the place of telemetry would block the trial for ever, and a link to a device would fill the memory. */
static json_t *load_regular(const char *path)
{
    enum { LARGEST = 64 << 20 };
    struct stat about;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool regular = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size <= LARGEST;
    json_t *root = regular ? json_loadfd(fd, 0, NULL) : NULL;
    cli_close(fd);
    return root;
}

/* Adds the curve of a row, unless it is there already. *at is its index; SIZE_MAX if the row has no curve. Returns false
 * when out of memory. */
static bool add(struct prune_curves *curves, size_t *at, const char *telemetry, const struct lineage_trial *row, const char *key)
{
    char path[PATH_MAX];
    struct prune_curve curve = {.finished = row->score.present};
    size_t k = 0;
    while (k < curves->n && strcmp(curves->items[k].id, row->exp_id) != 0)
        k++;
    *at = k < curves->n ? k : SIZE_MAX;
    int length = snprintf(path, sizeof path, "%s/%s.json", telemetry, row->exp_id);
    if (k < curves->n || length < 0 || (size_t)length >= sizeof path || strlen(row->exp_id) >= sizeof curve.id)
        return true;
    json_t *root = load_regular(path);
    if (!root)
        return true;
    strcpy(curve.id, row->exp_id);
    bool ok = take_points(&curve, root, key);
    json_decref(root);
    if (!ok || !curve.n) {
        free(curve.points);
        return ok;
    }
    *at = curves->n;
    curves->items[curves->n++] = curve;
    return true;
}

static enum lineage_status read_newest(struct prune_curves *curves, struct lineage_store *store, const char *telemetry,
                                       const char *key, struct lineage_error *err)
{
    const struct lineage_query newest = {.labels = 1u << LINEAGE_KEEP | 1u << LINEAGE_DISCARD | 1u << LINEAGE_BASELINE,
                                         .sort = "-seq",
                                         .limit = PRUNE_CURVES_READ};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    size_t at;
    enum lineage_status status = lineage_query_open(&cursor, store, &newest, err);
    if (status != LINEAGE_OK)
        return status;
    while ((status = lineage_cursor_next(cursor, &row, err)) == LINEAGE_OK)
        if (!add(curves, &at, telemetry, &row, key)) {
            lineage_cursor_close(cursor);
            return LINEAGE_ENOMEM;
        }
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Adds one trial that may be older than the newest ones. id is NULL for the best. A parent that is not in the store has
 * no curve. */
static enum lineage_status read_one(struct prune_curves *curves, size_t *at, struct lineage_store *store, const char *id,
                                    const char *telemetry, const char *key, struct lineage_error *err)
{
    struct lineage_trial row = {0};
    enum lineage_status status = id ? lineage_find(store, id, &row, err) : lineage_best_kept(store, &row, err);
    if (status == LINEAGE_OK && !add(curves, at, telemetry, &row, key))
        status = LINEAGE_ENOMEM;
    lineage_trial_release(&row);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

bool prune_curves_read(struct prune_curves *curves, struct lineage_store *store, const char *parent, const char *key)
{
    struct lineage_error err = {.status = LINEAGE_ENOMEM, .text = "out of memory"};
    char *telemetry = NULL;
    *curves = (struct prune_curves){
        .parent = SIZE_MAX, .best = SIZE_MAX, .higher = lineage_store_config(store)->direction == LINEAGE_HIGHER};
    curves->items = calloc(PRUNE_CURVES_READ + 2, sizeof *curves->items);
    enum lineage_status status =
        curves->items ? lineage_store_path(&telemetry, store, LINEAGE_PLACE_TELEMETRY, &err) : LINEAGE_ENOMEM;
    if (status == LINEAGE_OK)
        status = read_newest(curves, store, telemetry, key, &err);
    if (status == LINEAGE_OK)
        status = read_one(curves, &curves->best, store, NULL, telemetry, key, &err);
    if (status == LINEAGE_OK && parent && *parent)
        status = read_one(curves, &curves->parent, store, parent, telemetry, key, &err);
    lineage_free(telemetry);
    if (status == LINEAGE_OK)
        return true;
    prune_curves_release(curves);
    return cli_fail(&err), false;
}

void prune_curves_release(struct prune_curves *curves)
{
    for (size_t i = 0; i < curves->n; i++)
        free(curves->items[i].points);
    free(curves->items);
    *curves = (struct prune_curves){.parent = SIZE_MAX, .best = SIZE_MAX};
}

bool prune_curve_at(double *value, const struct prune_curve *curve, int64_t step)
{
    size_t low = 0, high = curve->n; /* the first point behind the step is in [low, high] */
    if (curve->points[curve->n - 1].step < step)
        return false;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (curve->points[middle].step <= step)
            low = middle + 1;
        else
            high = middle;
    }
    if (low)
        *value = curve->points[low - 1].value;
    return low > 0;
}
