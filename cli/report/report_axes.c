/*
 * report_axes.c: the parameters that vary, and how much of the score's variance each explains; see report_axes.h. It
 * knows neither pictures nor stores, because the pictures of coverage, of parameters and of importance must agree on
 * what an axis is and where its bins end.
 */
#include "report/report_axes.h"

#include "cli.h"

/* Without this macro uthash calls exit when memory runs out. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { IMPORTANCE_CLASSES = 5, SHUFFLES = 200 };

/* One parameter of one trial. */
struct setting {
    const struct lineage_param *param;
    size_t trial;
};

/* The settings of one name, in the order of trials. */
struct named {
    UT_hash_handle hh;
    const char *name;
    struct setting *settings;
    size_t n, at;
};

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

/* Lists the texts of an axis in the order of the alphabet, *distinct of them. Returns false when out of memory. */
static bool list_words(struct model_axis *axis, const struct setting *settings, size_t n, size_t *distinct)
{
    size_t words = 0;
    for (size_t i = 0; i < n; i++)
        words += settings[i].param->text != NULL;
    if (!words)
        return true;
    axis->words = malloc(words * sizeof *axis->words);
    if (!axis->words)
        return false;
    words = 0;
    for (size_t i = 0; i < n; i++)
        if (settings[i].param->text)
            axis->words[words++] = settings[i].param->text;
    qsort(axis->words, words, sizeof *axis->words, cli_by_text);
    for (size_t i = 0; i < words; i++)
        if (!i || strcmp(axis->words[i], axis->words[*distinct - 1]) != 0)
            axis->words[(*distinct)++] = axis->words[i];
    return true;
}

/* A text is replaced by its rank in the alphabet; a number among texts counts as missing. */
static double place_of(const struct model_axis *axis, size_t words, const struct lineage_param *param)
{
    if (!axis->words)
        return param->value;
    const char **at = param->text ? bsearch(&param->text, axis->words, words, sizeof *axis->words, cli_by_text) : NULL;
    return at ? (double)(at - axis->words) : NAN;
}

/* Returns false when out of memory. */
static bool add_axis(struct model_axis *axis, size_t trials, const struct named *named)
{
    const size_t n = named->n;
    size_t words = 0;
    *axis = (struct model_axis){
        .name = named->name, .distinct = malloc(n * sizeof(double)), .value = malloc((trials + 1) * sizeof(double))};
    if (!axis->distinct || !axis->value || !list_words(axis, named->settings, n, &words))
        return false;
    /* NAN marks a trial without the parameter. A second array is not needed, because every user tests for NAN
     * anyway. */
    for (size_t i = 0; i < trials; i++)
        axis->value[i] = NAN;
    for (size_t i = 0; i < n; i++) {
        const double place = place_of(axis, words, named->settings[i].param);
        if (!isnan(place))
            axis->value[named->settings[i].trial] = axis->distinct[axis->n++] = place;
    }
    qsort(axis->distinct, axis->n, sizeof(double), cli_by_number);
    for (size_t i = 0; i < axis->n; i++)
        if (!i || axis->distinct[i] != axis->distinct[axis->n_distinct - 1])
            axis->distinct[axis->n_distinct++] = axis->distinct[i];
    double *fitting = realloc(axis->distinct, (axis->n_distinct + 1) * sizeof *fitting); /* mostly a few of a million */
    axis->distinct = fitting ? fitting : axis->distinct;
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

/* Leaves out values that are not finite and trials that teach nothing (harness_abort). */
static bool is_collected(const struct model_trial *trial, const struct lineage_param *param)
{
    return (param->text || isfinite(param->value)) && lineage_label_is_informational(trial->label);
}

struct names {
    struct named *table, *last; /* last: the name that was found last */
};

/* Trials have mostly the same parameters in the same order, so the name behind the one that was found last is tried first. Returns
 * NULL when out of memory. */
static struct named *find_name(struct names *names, const char *name)
{
    struct named *found = names->last && names->last->hh.next ? names->last->hh.next : names->table;
    if (!found || strcmp(found->name, name) != 0)
        HASH_FIND_STR(names->table, name, found);
    if (!found && (found = calloc(1, sizeof *found))) {
        found->name = name;
        HASH_ADD_KEYPTR(hh, names->table, found->name, strlen(name), found);
        if (!found->hh.tbl) { /* out of memory */
            free(found);
            return NULL;
        }
    }
    return names->last = found;
}

static void drop_names(struct names *names)
{
    struct named *named, *next;
    HASH_ITER(hh, names->table, named, next)
    {
        HASH_DEL(names->table, named);
        free(named);
    }
}

/* Counts the settings of each name, then writes them name by name into one block, in the order in which names appear. */
static bool collect(const struct model *model, struct names *names, struct setting **settings)
{
    size_t total = 0, from = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass && !(*settings = malloc((total + 1) * sizeof **settings)))
            return false;
        for (struct named *named = pass ? names->table : NULL; named; named = named->hh.next) {
            named->settings = *settings + from;
            from += named->n;
        }
        for (size_t i = 0; i < model->n; i++)
            for (size_t j = 0; j < model->trials[i].n_params; j++) {
                const struct lineage_param *param = &model->trials[i].params[j];
                if (!is_collected(&model->trials[i], param))
                    continue;
                struct named *named = find_name(names, param->name);
                if (!named)
                    return false;
                if (pass)
                    named->settings[named->at++] = (struct setting){param, i};
                else
                    total++, named->n++;
            }
    }
    return true;
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
    uint8_t *class; /* bytes, so that the shuffles of a large store stay in a near cache */
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

static size_t below(uint64_t random, size_t n)
{
    return (size_t)((random & UINT32_MAX) * n >> 32); /* a division takes most of the time of a shuffle */
}

/* A permutation test instead of an F table, because scores with crashes near 0 are far from normal. All trials are shuffled: a sample
 * may lack the few scores that differ. Shuffling in place is safe: it only destroys the pairing, and the share was computed before. */
static double chance_of(struct classed *c, const size_t *count, double mean, double total)
{
    double shares[SHUFFLES];
    uint64_t state = 88172645463325252u;
    for (int s = 0; s < SHUFFLES; s++) {
        double sum[IMPORTANCE_CLASSES] = {0};
        uint64_t random = next_random(&state);
        for (size_t i = c->n - 1; i > 0; i--) {
            random = i & 1 ? random >> 32 : next_random(&state); /* a half for each */
            const size_t j = below(random, i + 1);
            const uint8_t held = c->class[j];
            c->class[j] = c->class[i];
            c->class[i] = held;
            sum[held] += c->score[i]; /* nothing moves it any more */
        }
        sum[c->class[0]] += c->score[0];
        shares[s] = epsilon_squared(c, sum, count, mean, total);
    }
    qsort(shares, SHUFFLES, sizeof *shares, cli_by_number);
    return shares[SHUFFLES * 95 / 100];
}

/* The 95th percentile for many trials, without a shuffle: (n-1) SSB/SST tends to chi-squared with k-1 degrees of freedom if no
 * score is far out for the smallest class (Hajek 1961, Ann. Math. Stat. 32:506). NAN if one is. */
static double limit_of_chance(const struct classed *c, const size_t *count, double mean, double total)
{
    static const double percentiles[IMPORTANCE_CLASSES] = {0, 3.841459, 5.991465, 7.814728, 9.487729};
    double furthest = 0, n = (double)c->n, least = n;
    for (size_t i = 0; i < c->n; i++)
        furthest = fmax(furthest, (c->score[i] - mean) * (c->score[i] - mean));
    for (size_t k = 0; k < c->classes; k++)
        least = fmin(least, (double)count[k]);
    if (!(furthest * n * 200 < total * least))
        return NAN;
    return 1 - (n - 1 - percentiles[c->classes - 1]) / (n - (double)c->classes);
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
        c->class[i] = (uint8_t)number[c->class[i]];
    c->classes = used;
}

/* Returns false when out of memory. */
static bool find_importance(struct axis_importance *out, const struct model *model, const struct model_axis *axis)
{
    double edges[IMPORTANCE_CLASSES];
    struct classed c = {malloc((model->n + 1) * sizeof(double)), malloc(model->n + 1), 0, 0};
    bool ok = c.score && c.class;
    size_t classes = ok ? axis_classes(model, axis, IMPORTANCE_CLASSES, edges) : 0;
    for (size_t i = 0; ok && i < model->n; i++)
        if (model->trials[i].measured && !isnan(axis->value[i])) {
            c.score[c.n] = model->trials[i].score.value;
            c.class[c.n++] = (uint8_t)axis_class(edges, classes, axis->value[i]);
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
        out->chance = limit_of_chance(&c, count, mean, total);
        if (out->share.present && isnan(out->chance))
            out->chance = chance_of(&c, count, mean, total);
    }
    free(c.score);
    free(c.class);
    return ok;
}

bool axes_find(struct model *model)
{
    struct names names = {0};
    struct setting *settings = NULL;
    bool ok = collect(model, &names, &settings);
    for (const struct named *named = names.table; ok && named; named = named->hh.next) {
        struct model_axis axis;
        ok = add_axis(&axis, model->n, named);
        axis.seed = lineage_param_is_seed(axis.name, lineage_store_seeds(model->store));
        if (ok && axis.n)
            place_axis(model, &axis);
        else
            drop_axis(&axis);
    }
    while (model->n_axes < model->n_columns && model->n_axes < MODEL_AXES && is_pictured(&model->axes[model->n_axes]))
        model->n_axes++;
    for (size_t i = 0; ok && i < model->n_axes; i++)
        ok = !axis_is_setting(&model->axes[i]) || find_importance(&model->axes[i].importance, model, &model->axes[i]);
    drop_names(&names);
    free(settings);
    return ok;
}
