#include "trial/pruning.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <lineage/query.h>
#include <lineage/render.h>
#include <lineage/text.h>

#include "cli.h"

/* ---- the rule ---- */

static const struct {
    const char *name;
    enum prune_method method;
} methods[] = {{"none", PRUNE_NONE}, {"median", PRUNE_MEDIAN}, {"halving", PRUNE_HALVING}};

static bool is_word(const char *at, size_t n, const char *word)
{
    return strlen(word) == n && strncmp(at, word, n) == 0;
}

static bool set_method(struct prune_rule *rule, const char *at, size_t n)
{
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (is_word(at, n, methods[i].name)) {
            rule->method = methods[i].method;
            return true;
        }
    return false;
}

/* A factor may have a fraction; the others count something. Below 1.1 the rungs would be closer than most steps. */
static bool set_number(struct prune_rule *rule, const char *name, size_t n, double value)
{
    bool whole = value == floor(value) && value >= 0 && value < 1e15;
    if (is_word(name, n, "warmup") && whole)
        rule->warmup = (int64_t)value;
    else if (is_word(name, n, "curves") && whole && value >= 1)
        rule->curves = (size_t)value;
    else if (is_word(name, n, "patience") && whole && value >= 1)
        rule->patience = (size_t)value;
    else if (is_word(name, n, "factor") && value >= 1.1 && value <= 1e6)
        rule->factor = value;
    else
        return false;
    return true;
}

bool prune_rule_parse(struct prune_rule *rule, const char *text, char *why, size_t size)
{
    struct prune_rule read = {PRUNE_NONE, -1, PRUNE_CURVES, PRUNE_PATIENCE, PRUNE_FACTOR};
    *rule = read;
    if (!text)
        return true;
    size_t n = strcspn(text, ",");
    if (!set_method(&read, text, n))
        return snprintf(why, size, "prune: '%.*s' is not a rule; use median, halving or none", (int)(n < 60 ? n : 60), text),
               false;
    for (const char *at = text + n; *at; at += n) {
        double value;
        n = strcspn(++at, ",");
        size_t name = strcspn(at, "=,");
        if (name + 1 >= n || !lineage_number_parse(&value, at + name + 1, n - name - 1) || !set_number(&read, at, name, value))
            return snprintf(why, size,
                            "prune: '%.*s' is not a setting; use warmup=STEPS, curves=N, patience=N (both from 1 on) or "
                            "factor=NUMBER (from 1.1 on)",
                            (int)(n < 60 ? n : 60), at),
                   false;
    }
    *rule = read;
    return true;
}

/* ---- the curves ---- */

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

void pruning_init(struct pruning *pruning, const struct prune_rule *rule, struct prune_curves *curves)
{
    *pruning = (struct pruning){.rule = *rule, .curves = *curves, .judged = -1};
    for (size_t i = 0; i < curves->n; i++) {
        const struct prune_curve *curve = &curves->items[i];
        if (curve->points[curve->n - 1].step > pruning->last)
            pruning->last = curve->points[curve->n - 1].step;
    }
    pruning->warmup = rule->warmup >= 0 ? rule->warmup : pruning->last / 10;
}

void pruning_release(struct pruning *pruning)
{
    prune_curves_release(&pruning->curves);
}

void pruning_go_back(struct pruning *pruning, int64_t step)
{
    pruning->judged = pruning->judged < step ? pruning->judged : step - 1;
    pruning->any = false;
    pruning->worse = 0;
}

static bool is_worse(const struct pruning *p, double value, double than)
{
    return p->curves.higher ? value < than : value > than;
}

/* Collects the values that the other trials had at the step, sorted, the smallest first. The trials that were pruned
 * count only if they came that far, and only for halving: a median over survivors and trials that were already worse
 * would move with every pruned trial. */
static size_t values_at(const struct pruning *p, int64_t step, double *values)
{
    size_t n = 0;
    for (size_t i = 0; i < p->curves.n; i++)
        if (p->curves.items[i].finished || p->rule.method == PRUNE_HALVING)
            n += prune_curve_at(&values[n], &p->curves.items[i], step);
    qsort(values, n, sizeof *values, cli_by_number);
    return n;
}

/* Whether the trial is at least as good as its parent, or as the best trial, was at the step. */
static bool keeps_up(const struct pruning *p, int64_t step)
{
    const size_t rivals[] = {p->curves.parent, p->curves.best};
    double value;
    for (int i = 0; i < 2; i++)
        if (rivals[i] != SIZE_MAX && prune_curve_at(&value, &p->curves.items[rivals[i]], step) && !is_worse(p, p->best, value))
            return true;
    return false;
}

/* The rung that the trial has reached since the previous step: first * factor^k; 0 if it has reached none. The first
 * rung is the warm-up, or a hundredth of the longest curve, as in Optuna. */
static int64_t rung_reached(const struct pruning *p, int64_t step)
{
    int64_t found = 0;
    double rung = fmax(1, (double)(p->warmup > 0 ? p->warmup : p->last / 100));
    for (; rung <= (double)step; rung *= p->rule.factor)
        if (ceil(rung) > (double)p->judged)
            found = (int64_t)ceil(rung);
    return found;
}

/* The value that a trial must reach: the median, or the worst of the best 1/factor. n counts the others; with halving
 * the trial itself is among those of whom a share goes on. */
static double bar(const struct pruning *p, const double *values, size_t n)
{
    if (p->rule.method == PRUNE_MEDIAN)
        return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    size_t pass = (size_t)((double)(n + 1) / p->rule.factor);
    size_t rank = pass > 0 ? pass - 1 : 0;
    return p->curves.higher ? values[n - 1 - rank] : values[rank];
}

/* Names a rival and its value at the step, if it has one. */
static size_t add_rival(const struct pruning *p, const char *what, size_t rival, int64_t step, char *out, size_t size)
{
    double value;
    if (rival == SIZE_MAX || !prune_curve_at(&value, &p->curves.items[rival], step))
        return 0;
    int n = snprintf(out, size, ", %s %s (%.6g)", what, p->curves.items[rival].id, value);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static void explain(const struct pruning *p, int64_t step, double limit, size_t n, char *why, size_t size)
{
    char share[48];
    snprintf(share, sizeof share, "the best 1/%g, down to", p->rule.factor);
    int written = snprintf(why, size, "pruned at step %lld: its best %.6g is worse than %s %.6g of %zu trials", (long long)step,
                           p->best, p->rule.method == PRUNE_MEDIAN ? "the median" : share, limit, n);
    size_t at = written > 0 && (size_t)written < size ? (size_t)written : 0;
    at += add_rival(p, "parent", p->curves.parent, step, why + at, size - at);
    if (p->curves.best != p->curves.parent)
        add_rival(p, "best", p->curves.best, step, why + at, size - at);
}

bool pruning_judge(struct pruning *p, int64_t step, double value, char *why, size_t size)
{
    double values[PRUNE_CURVES_READ + 2];
    if (!isfinite(value) || step <= p->judged)
        return false;
    p->best = p->any && is_worse(p, value, p->best) ? p->best : value;
    p->any = true;
    int64_t at = p->rule.method == PRUNE_HALVING ? rung_reached(p, step) : step;
    p->judged = step;
    if (p->rule.method == PRUNE_NONE || !at || step < p->warmup || step >= p->last)
        return false;
    size_t n = values_at(p, at, values);
    if (n < p->rule.curves)
        return false;
    double limit = bar(p, values, n);
    bool worse = is_worse(p, p->best, limit) && !keeps_up(p, at);
    p->worse = worse ? p->worse + 1 : 0;
    if (!worse || (p->rule.method == PRUNE_MEDIAN && p->worse < p->rule.patience))
        return false;
    explain(p, at, limit, n, why, size);
    return true;
}
