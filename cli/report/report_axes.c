/*
 * report_axes.c: the parameters that vary, and how much of the score's variance each explains; see report_axes.h. It
 * knows neither pictures nor stores, because the pictures of coverage, of parameters and of importance must agree on
 * what an axis is and where its bins end.
 */
#include "report/report_axes.h"

#include "cli.h"

enum { IMPORTANCE_CLASSES = 5, SHUFFLES = 200 };

/* One parameter of one trial; sorted by name, then by trial. */
struct setting {
    const char *name, *text; /* text is NULL for a number */
    double value;
    size_t trial;
};

static int by_name(const void *a, const void *b)
{
    const struct setting *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->trial > y->trial) - (x->trial < y->trial);
}

/* A seed is not a setting, because nobody chooses it to improve a score. As an axis it would come first by chance in a
 * store with repeated settings. */
bool axis_is_setting(const struct model_axis *axis)
{
    return !axis->seed;
}

/* A text with a different value in every trial is a remark, not a setting. */
static bool is_pictured(const struct model_axis *axis)
{
    return axis->n_distinct > 1 && !(axis->words && axis->n_distinct > AXIS_WORDS_MAX);
}

static int rank_of(const struct model_axis *axis)
{
    static const char *const first[] = {"alpha", "beta", "gamma"};
    for (int i = 0; i < 3; i++)
        if (strcmp(axis->name, first[i]) == 0)
            return i;
    return axis_is_setting(axis) ? 3 : 4;
}

/* The name is the last criterion, because qsort is not stable and the same store must give the same page. */
static int by_rank(const void *a, const void *b)
{
    const struct model_axis *x = a, *y = b;
    int rank = rank_of(x) - rank_of(y);
    if (is_pictured(x) != is_pictured(y))
        return is_pictured(x) ? -1 : 1;
    if (rank)
        return rank;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* Beyond a factor of 50, as is usual for learning rates, a linear axis would show all small values as one. Values of 0
 * or less have no logarithm. */
static bool same_order(double low, double high)
{
    return !(low > 0 && high / low >= 50);
}

/* Replaces texts by their rank in the alphabet; a number among them counts as missing. Returns false when out of
 * memory. */
static bool number_words(struct model_axis *axis, struct setting *settings, size_t n)
{
    size_t words = 0, distinct = 0;
    for (size_t i = 0; i < n; i++)
        words += settings[i].text != NULL;
    if (!words)
        return true;
    axis->words = malloc(words * sizeof *axis->words);
    if (!axis->words)
        return false;
    words = 0;
    for (size_t i = 0; i < n; i++)
        if (settings[i].text)
            axis->words[words++] = settings[i].text;
    qsort(axis->words, words, sizeof *axis->words, cli_by_text);
    for (size_t i = 0; i < words; i++)
        if (!i || strcmp(axis->words[i], axis->words[distinct - 1]) != 0)
            axis->words[distinct++] = axis->words[i];
    for (size_t i = 0; i < n; i++) {
        const char **at =
            settings[i].text ? bsearch(&settings[i].text, axis->words, distinct, sizeof *axis->words, cli_by_text) : NULL;
        settings[i].value = at ? (double)(at - axis->words) : NAN;
    }
    return true;
}

/* settings[0 .. n - 1] have the same name. Returns false when out of memory. */
static bool add_axis(struct model_axis *axis, size_t trials, struct setting *settings, size_t n)
{
    *axis = (struct model_axis){
        .name = settings[0].name, .n = n, .distinct = malloc(n * sizeof(double)), .value = malloc((trials + 1) * sizeof(double))};
    if (!axis->distinct || !axis->value || !number_words(axis, settings, n))
        return false;
    /* NAN marks a trial without the parameter. A second array is not needed, because every user tests for NAN
     * anyway. */
    for (size_t i = 0; i < trials; i++)
        axis->value[i] = NAN;
    axis->n = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(settings[i].value))
            axis->value[settings[i].trial] = axis->distinct[axis->n++] = settings[i].value;
    qsort(axis->distinct, axis->n, sizeof(double), cli_by_number);
    for (size_t i = 0; i < axis->n; i++)
        if (!i || axis->distinct[i] != axis->distinct[axis->n_distinct - 1])
            axis->distinct[axis->n_distinct++] = axis->distinct[i];
    axis->low = axis->n ? axis->distinct[0] : 0;
    axis->high = axis->n ? axis->distinct[axis->n_distinct - 1] : 0;
    axis->log = axis->n && !axis->words && !same_order(axis->low, axis->high);
    return true;
}

static void drop_axis(struct model_axis *axis)
{
    free(axis->distinct);
    free(axis->value);
    free(axis->words);
}

/* Keeps the first columns in the order of the axes found so far. */
static void place_axis(struct model *model, const struct model_axis *axis)
{
    /* The list is short, sorted, and cut after each insertion, because stores may have hundreds of parameters and an
     * axis holds a number per trial. */
    struct model_axis all[MODEL_COLUMNS + 1];
    size_t most = model->n > MODEL_LARGE ? MODEL_COLUMNS_LARGE : MODEL_COLUMNS;
    memcpy(all, model->axes, model->n_columns * sizeof *all);
    all[model->n_columns] = *axis;
    qsort(all, model->n_columns + 1, sizeof *all, by_rank);
    if (model->n_columns == most)
        drop_axis(&all[most]);
    else
        model->n_columns++;
    memcpy(model->axes, all, model->n_columns * sizeof *all);
}

/* Called twice, first without an output array, to allocate one block of the right size. Leaves out values that are not
 * finite and trials that teach nothing (harness_abort). */
static size_t collect(const struct model *model, struct setting *settings)
{
    size_t n = 0;
    for (size_t i = 0; i < model->n; i++)
        for (size_t j = 0; j < model->trials[i].n_params; j++) {
            const struct lineage_param *param = &model->trials[i].params[j];
            if ((!param->text && !isfinite(param->value)) || !lineage_label_is_informational(model->trials[i].label))
                continue;
            if (settings)
                settings[n] = (struct setting){param->name, param->text, param->value, i};
            n++;
        }
    return n;
}

bool axes_find(struct model *model)
{
    size_t n = collect(model, NULL);
    struct setting *settings = malloc((n + 1) * sizeof *settings);
    bool ok = settings != NULL;
    if (ok) {
        collect(model, settings);
        qsort(settings, n, sizeof *settings, by_name);
    }
    for (size_t i = 0, end; ok && i < n; i = end) {
        struct model_axis axis;
        for (end = i + 1; end < n && strcmp(settings[end].name, settings[i].name) == 0;)
            end++;
        ok = add_axis(&axis, model->n, settings + i, end - i);
        axis.seed = lineage_param_is_seed(axis.name, lineage_store_seeds(model->store));
        if (ok && axis.n)
            place_axis(model, &axis);
        else
            drop_axis(&axis);
    }
    while (model->n_axes < model->n_columns && model->n_axes < MODEL_AXES && is_pictured(&model->axes[model->n_axes]))
        model->n_axes++;
    free(settings);
    return ok;
}

double axis_place(const struct model_axis *axis, double value)
{
    if (axis->log)
        return (log(value) - log(axis->low)) / (log(axis->high) - log(axis->low));
    return (value - axis->low) / (axis->high - axis->low);
}

/* A linear search, because there are at most ten bins. */
size_t axis_class(const double *edges, size_t n, double value)
{
    size_t at = 0;
    while (at + 1 < n && edges[at + 1] <= value)
        at++;
    return at;
}

size_t axis_classes(const struct model *model, const struct model_axis *axis, size_t max, double *edges)
{
    size_t n = 0, classes = 0;
    if (axis->n_distinct <= max) {
        memcpy(edges, axis->distinct, axis->n_distinct * sizeof *edges);
        return axis->n_distinct;
    }
    double *sorted = malloc((model->n + 1) * sizeof *sorted);
    if (!sorted)
        return 0;
    for (size_t i = 0; i < model->n; i++)
        if (!isnan(axis->value[i]))
            sorted[n++] = axis->value[i];
    qsort(sorted, n, sizeof *sorted, cli_by_number);
    for (size_t i = 0; i < max; i++) {
        /* Bins have equal counts instead of equal widths; otherwise one outlier would put all other values into one
         * bin. A value that fills several bins gives one edge. */
        double edge = sorted[i * n / max];
        if (!classes || edge > edges[classes - 1])
            edges[classes++] = edge;
    }
    free(sorted);
    return classes;
}

struct classed {
    double *score;
    size_t *class;
    size_t n, classes;
};

/* Mean of the scores and the sum of their squared differences from it, which do not depend on the classes. */
static double spread_of(const struct classed *c, double *mean)
{
    double all = 0, total = 0;
    for (size_t i = 0; i < c->n; i++)
        all += c->score[i];
    *mean = all / (double)c->n;
    for (size_t i = 0; i < c->n; i++)
        total += (c->score[i] - *mean) * (c->score[i] - *mean);
    return total;
}

/* 1 - (n-1)/(n-k) SSW/SST, from the sums and sizes of the classes */
static double epsilon_squared(const struct classed *c, const double *sum, const size_t *count, double mean, double total)
{
    double between = 0;
    for (size_t k = 0; k < c->classes; k++)
        if (count[k])
            between += (double)count[k] * pow(sum[k] / (double)count[k] - mean, 2);
    if (!(total > 0))
        return NAN;
    return 1 - (double)(c->n - 1) / (double)(c->n - c->classes) * (total - between) / total;
}

/* Uses its own generator with a constant seed, because the same store must always give the same page, and rand differs
 * between systems. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13; /* xorshift64, Marsaglia 2003, J. Stat. Softw. 8(14) */
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A permutation test instead of an F table, because scores with crashes near 0 are far from normal. Shuffling in place
 * is safe: it only destroys the pairing, and the share was computed before. */
static double chance_of(struct classed *c, const size_t *count, double mean, double total)
{
    double shares[SHUFFLES];
    uint64_t state = 88172645463325252u;
    for (int s = 0; s < SHUFFLES; s++) {
        double sum[IMPORTANCE_CLASSES] = {0};
        for (size_t i = c->n - 1; i > 0; i--) {
            size_t j = (size_t)((next_random(&state) >> 32) * (i + 1) >> 32); /* a division takes most of the time of a shuffle */
            double held = c->score[i];
            c->score[i] = c->score[j];
            c->score[j] = held;
            sum[c->class[i]] += c->score[i]; /* nothing moves it any more */
        }
        sum[c->class[0]] += c->score[0];
        shares[s] = epsilon_squared(c, sum, count, mean, total);
    }
    qsort(shares, SHUFFLES, sizeof *shares, cli_by_number);
    return shares[SHUFFLES * 95 / 100];
}

/* Bins without a measured trial are not counted. */
static void number_classes(struct classed *c)
{
    size_t number[IMPORTANCE_CLASSES], used = 0;
    bool seen[IMPORTANCE_CLASSES] = {false};
    for (size_t i = 0; i < c->n; i++)
        seen[c->class[i]] = true;
    for (size_t k = 0; k < IMPORTANCE_CLASSES; k++)
        number[k] = seen[k] ? used++ : 0;
    for (size_t i = 0; i < c->n; i++)
        c->class[i] = number[c->class[i]];
    c->classes = used;
}

bool axis_importance(struct axis_importance *out, const struct model *model, const struct model_axis *axis)
{
    double edges[IMPORTANCE_CLASSES];
    struct classed c = {malloc((model->n + 1) * sizeof(double)), malloc((model->n + 1) * sizeof(size_t)), 0, 0};
    bool ok = c.score && c.class;
    *out = (struct axis_importance){0};
    size_t classes = ok ? axis_classes(model, axis, IMPORTANCE_CLASSES, edges) : 0;
    for (size_t i = 0; ok && i < model->n; i++)
        if (model->trials[i].measured && !isnan(axis->value[i])) {
            c.score[c.n] = model->trials[i].score.value;
            c.class[c.n++] = axis_class(edges, classes, axis->value[i]);
        }
    if (ok)
        number_classes(&c);
    out->n = c.n;
    out->classes = c.classes;
    /* Otherwise n - k is 0 or almost 0, and the share is meaningless. */
    if (ok && c.classes > 1 && c.n > c.classes + 1) {
        double sum[IMPORTANCE_CLASSES] = {0}, mean;
        size_t count[IMPORTANCE_CLASSES] = {0};
        for (size_t i = 0; i < c.n; i++) {
            sum[c.class[i]] += c.score[i];
            count[c.class[i]]++;
        }
        const double total = spread_of(&c, &mean), share = epsilon_squared(&c, sum, count, mean, total);
        out->share = (struct lineage_number){isfinite(share), share};
        out->chance = out->share.present ? chance_of(&c, count, mean, total) : 0;
    }
    free(c.score);
    free(c.class);
    return ok;
}
