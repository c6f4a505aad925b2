/* propose_functions.c: see propose_functions.h. */
#include "propose_functions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/query.h>

#include "propose/propose_math.h"
#include "propose/propose_space.h"

static const double pi = 3.14159265358979324;

/* ---- the first eight ---- */

/* Dixon and Szego 1978. */
static double branin(const double *x)
{
    double a = x[0], b = x[1];
    return pow(b - 5.1 / (4 * pi * pi) * a * a + 5 / pi * a - 6, 2) + 10 * (1 - 1 / (8 * pi)) * cos(a) + 10;
}

static double rosenbrock(const double *x)
{
    double sum = 0;
    for (size_t i = 0; i + 1 < 4; i++)
        sum += 100 * pow(x[i + 1] - x[i] * x[i], 2) + pow(1 - x[i], 2);
    return sum;
}

static double ackley_of(const double *x, size_t n)
{
    double squares = 0, cosines = 0;
    for (size_t i = 0; i < n; i++) {
        squares += x[i] * x[i] / (double)n;
        cosines += cos(2 * pi * x[i]) / (double)n;
    }
    return -20 * exp(-0.2 * sqrt(squares)) - exp(cosines) + 20 + exp(1);
}

static double ackley(const double *x)
{
    return ackley_of(x, 5);
}

static double hartmann6(const double *x)
{
    static const double alpha[4] = {1, 1.2, 3, 3.2};
    static const double a[4][6] = {
        {10, 3, 17, 3.5, 1.7, 8}, {0.05, 10, 17, 0.1, 8, 14}, {3, 3.5, 1.7, 10, 17, 8}, {17, 8, 0.05, 10, 0.1, 14}};
    static const double p[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                   {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                   {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                   {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    double sum = 0;
    for (size_t i = 0; i < 4; i++) {
        double exponent = 0;
        for (size_t j = 0; j < 6; j++)
            exponent += a[i][j] * pow(x[j] - p[i][j], 2);
        sum -= alpha[i] * exp(-exponent);
    }
    return sum;
}

static double hartmann3(const double *x)
{
    static const double alpha[4] = {1, 1.2, 3, 3.2};
    static const double a[4][3] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
    static const double p[4][3] = {
        {0.3689, 0.1170, 0.2673}, {0.4699, 0.4387, 0.7470}, {0.1091, 0.8732, 0.5547}, {0.0381, 0.5743, 0.8828}};
    double sum = 0;
    for (size_t i = 0; i < 4; i++) {
        double exponent = 0;
        for (size_t j = 0; j < 3; j++)
            exponent += a[i][j] * pow(x[j] - p[i][j], 2);
        sum -= alpha[i] * exp(-exponent);
    }
    return sum;
}

/* Levy and Montalvo 1985, in four dimensions. */
static double levy(const double *x)
{
    double w[4], sum = 0;
    for (size_t i = 0; i < 4; i++)
        w[i] = 1 + (x[i] - 1) / 4;
    for (size_t i = 0; i + 1 < 4; i++)
        sum += pow(w[i] - 1, 2) * (1 + 10 * pow(sin(pi * w[i] + 1), 2));
    return pow(sin(pi * w[0]), 2) + sum + pow(w[3] - 1, 2) * (1 + pow(sin(2 * pi * w[3]), 2));
}

static double styblinski_tang(const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < 4; i++)
        sum += pow(x[i], 4) - 16 * x[i] * x[i] + 5 * x[i];
    return sum / 2;
}

/*
 * A made-up validation loss of a network: lr (log), layers, width, dropout, optimizer (adam, sgd, lion), and a momentum
 * that only sgd has. The best lr depends on width and optimizer; the optimum 0 is sgd with momentum 0.9.
 */
static double network(const double *x)
{
    static const double best_lr[3] = {-3, -1.5, -4}, offset[3] = {0.05, 0, 0.1};
    size_t optimizer = (size_t)x[4];
    double width = log2(x[2]) - 7, layers = x[1] - 4;
    double lr = log10(x[0]) - best_lr[optimizer] + 0.15 * width;
    double loss = 0.5 * lr * lr + 0.03 * layers * layers + 0.04 * width * width + 1.5 * pow(x[3] - 0.2 - 0.05 * layers, 2);
    if (optimizer == 1)
        loss += 2 * pow(x[5] - 0.9, 2) + 0.3 * lr * (x[5] - 0.9);
    return loss + offset[optimizer];
}

/* ---- the second eight ---- */

/* Writes R (x - shift), where R is a fixed random rotation: Gram and Schmidt on normal draws. */
static void rotate(double *out, const double *x, const double *shift, size_t n, uint64_t which)
{
    double r[PROBLEM_RANGES_MAX][PROBLEM_RANGES_MAX];
    struct propose_stream stream = propose_stream_of(which, 99, n);
    for (size_t i = 0; i < n; i++) {
        double length = 0;
        for (size_t j = 0; j < n; j++)
            r[i][j] = propose_normal(&stream);
        for (size_t k = 0; k < i; k++) {
            double product = 0;
            for (size_t j = 0; j < n; j++)
                product += r[i][j] * r[k][j];
            for (size_t j = 0; j < n; j++)
                r[i][j] -= product * r[k][j];
        }
        for (size_t j = 0; j < n; j++)
            length += r[i][j] * r[i][j];
        out[i] = 0;
        for (size_t j = 0; j < n; j++) {
            r[i][j] /= sqrt(length);
            out[i] += r[i][j] * (x[j] - shift[j]);
        }
    }
}

static double ellipsoid(const double *x)
{
    static const double shift[5] = {1.7, -2.9, 0.4, 3.1, -1.2};
    double z[5], sum = 0;
    rotate(z, x, shift, 5, 1);
    for (size_t i = 0; i < 5; i++)
        sum += pow(1000, (double)i / 4) * z[i] * z[i];
    return sum;
}

static double rastrigin(const double *x)
{
    static const double shift[3] = {1.3, -0.8, 2.1};
    double z[3], sum = 0;
    rotate(z, x, shift, 3, 2);
    for (size_t i = 0; i < 3; i++)
        sum += z[i] * z[i] + 10 - 10 * cos(2 * pi * z[i]);
    return sum;
}

static double michalewicz(const double *x)
{
    double sum = 0;
    for (size_t i = 0; i < 5; i++)
        sum -= sin(x[i]) * pow(sin((double)(i + 1) * x[i] * x[i] / pi), 20);
    return sum;
}

static double shekel(const double *x)
{
    static const double a[10][4] = {{4, 4, 4, 4}, {1, 1, 1, 1}, {8, 8, 8, 8}, {6, 6, 6, 6}, {3, 7, 3, 7},
                                    {2, 9, 2, 9}, {5, 5, 3, 3}, {8, 1, 8, 1}, {6, 2, 6, 2}, {7, 3.6, 7, 3.6}};
    static const double c[10] = {0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5};
    double sum = 0;
    for (size_t i = 0; i < 10; i++) {
        double square = c[i];
        for (size_t j = 0; j < 4; j++)
            square += pow(x[j] - a[i][j], 2);
        sum -= 1 / square;
    }
    return sum;
}

static double griewank(const double *x)
{
    static const double shift[4] = {120, -210, 70, 330};
    double z[4], sum = 0, product = 1;
    rotate(z, x, shift, 4, 3);
    for (size_t i = 0; i < 4; i++) {
        sum += z[i] * z[i] / 4000;
        product *= cos(z[i] / sqrt((double)i + 1));
    }
    return 1 + sum - product;
}

/* Whole numbers and choices with an interaction: units 4:256 (log), depth 1:12, batch 1:6, act of 4, norm of 3, decay. */
static double mixture(const double *x)
{
    static const double act[4] = {0.3, 0, 0.15, 0.6}, norm[3] = {0.2, 0.1, 0}, decay_of[3] = {-2, -3, -4};
    size_t a = (size_t)x[3], b = (size_t)x[4];
    double units = log2(x[0]) - 5 - (a == 1), depth = x[1] - (b == 2 ? 8 : 4), batch = x[2] - 3;
    double decay = log10(x[5]) - decay_of[b];
    return act[a] + norm[b] + 0.1 * units * units + 0.02 * depth * depth + 0.05 * batch * batch + 0.08 * decay * decay +
           0.02 * fabs(units * depth);
}

static double noisy_bowl(const double *x)
{
    static const double shift[4] = {0.23, 0.61, 0.47, 0.78};
    double z[4], sum = 0;
    rotate(z, x, shift, 4, 4);
    for (size_t i = 0; i < 4; i++)
        sum += (double)(1 + 2 * i) * z[i] * z[i];
    return sum;
}

/* A made-up error of a support vector machine: kernel (linear, poly, rbf), C, gamma unless linear, degree and coef0 if
 * poly. */
static double machine(const double *x)
{
    static const double best_c[3] = {0, 1, 2}, offset[3] = {0.3, 0.1, 0};
    size_t kernel = (size_t)x[0];
    double c = log10(x[1]) - best_c[kernel], error = offset[kernel] + 0.04 * c * c;
    if (kernel > 0) {
        double gamma = log10(x[2]) + 2;
        error += 0.06 * pow(gamma + 0.4 * c, 2);
    }
    if (kernel == 1)
        error += 0.05 * fabs(x[3] - 3) + 0.1 * pow(x[4] - 0.5, 2);
    return error;
}

/* ---- failures ---- */

/* The score falls towards x[0] = 1, but everything above 0.6 fails. */
static double cliff(const double *x)
{
    return 0.6 - x[0] + pow(x[1] - 0.5, 2) + pow(x[2] - 0.3, 2) + pow(x[3] - 0.7, 2);
}

static bool over_cliff(const double *x)
{
    return x[0] > 0.6;
}

/* ---- measured tables ---- */

enum { AXES_MAX = 3, VALUES_MAX = 16, REPLICAS_MAX = 4 };

/* Scores of a grid of cells, row by row; the last axis varies fastest. */
struct bench_table {
    size_t n_axes, n_values[AXES_MAX], n_replicas;
    double at[AXES_MAX][VALUES_MAX]; /* positions on the scale of the range, ascending */
    double *score;                   /* [n_replicas][cells], negated; NaN: not measured */
    size_t cells;
};

static double cell_of(const struct bench_table *table, size_t replica, size_t cell)
{
    double sum = 0;
    if (replica < table->n_replicas)
        return table->score[replica * table->cells + cell];
    for (size_t i = 0; i < table->n_replicas; i++)
        sum += table->score[i * table->cells + cell];
    return sum / (double)table->n_replicas;
}

/* Multilinear between the measured cells; `replica` n_replicas is the mean of all. */
static double interpolated(const struct bench_problem *problem, const double *x, size_t replica)
{
    const struct bench_table *table = problem->table;
    double share[AXES_MAX], sum = 0;
    size_t low[AXES_MAX];
    for (size_t a = 0; a < table->n_axes; a++) {
        double at = problem->ranges[a].scale == PROPOSE_LOG ? log(x[a]) : x[a];
        low[a] = 0;
        while (low[a] + 2 < table->n_values[a] && table->at[a][low[a] + 1] <= at)
            low[a]++;
        share[a] = fmin(fmax((at - table->at[a][low[a]]) / (table->at[a][low[a] + 1] - table->at[a][low[a]]), 0), 1);
    }
    for (size_t corner = 0; corner < (size_t)1 << table->n_axes; corner++) {
        double weight = 1;
        size_t cell = 0;
        for (size_t a = 0; a < table->n_axes; a++) {
            size_t up = corner >> a & 1;
            weight *= up ? share[a] : 1 - share[a];
            cell = cell * table->n_values[a] + low[a] + up;
        }
        if (weight > 0)
            sum += weight * cell_of(table, replica, cell);
    }
    return sum;
}

/* How a table is read from a store: an axis is a parameter, or the specialists of the rows. */
struct table_source {
    const char *store;
    size_t n_axes, n_replicas;
    struct {
        const char *name; /* NULL: specialist */
        size_t n;
        double values[VALUES_MAX];
        const char *texts[VALUES_MAX];
    } axes[AXES_MAX];
    const char *replica; /* parameter of the replicas, or NULL */
    double replicas[REPLICAS_MAX];
};

static const struct table_source sources[] = {
    {.store = "hop-grid",
     .n_axes = 3,
     .n_replicas = 1,
     .axes = {{.name = "lr", .n = 6, .values = {1e-4, 2e-4, 4e-4, 8e-4, 1.6e-3, 3.2e-3}},
              {.name = "alpha", .n = 4, .values = {0, 0.3, 0.6, 0.9}},
              {.name = "beta", .n = 2, .values = {0, 0.3}}}},
    {.store = "ladder-rates",
     .n_axes = 2,
     .n_replicas = 2,
     .axes = {{.name = "lr", .n = 5, .values = {1.5e-4, 3e-4, 6e-4, 1.2e-3, 2.4e-3}},
              {.n = 7, .texts = {"grpo", "joint", "separate", "turn-group", "turn-group-v1d", "v1d-alpha-0", "v1d-alpha-0.9"}}},
     .replica = "seed",
     .replicas = {101, 102}},
};

static bool find_index(size_t *index, const struct table_source *source, size_t a, const struct lineage_trial *trial)
{
    double value;
    bool named = source->axes[a].name != NULL;
    if (named && !lineage_trial_param(&value, trial, source->axes[a].name))
        return false;
    for (*index = 0; *index < source->axes[a].n; ++*index)
        if (named ? value == source->axes[a].values[*index] : strcmp(trial->specialist, source->axes[a].texts[*index]) == 0)
            return true;
    return false;
}

static bool take_row(struct bench_table *table, const struct table_source *source, const struct lineage_trial *trial)
{
    size_t cell = 0, index, replica = 0;
    double value;
    for (size_t a = 0; a < source->n_axes; a++) {
        if (!find_index(&index, source, a, trial))
            return false;
        cell = cell * source->axes[a].n + index;
    }
    if (source->replica && !lineage_trial_param(&value, trial, source->replica))
        return false;
    while (source->replica && replica < source->n_replicas && source->replicas[replica] != value)
        replica++;
    if (replica == source->n_replicas || !trial->score.present)
        return false;
    table->score[replica * table->cells + cell] = -trial->score.value;
    return true;
}

static bool read_rows(struct bench_table *table, const struct table_source *source, const char *dir)
{
    const struct lineage_query all = {0};
    const struct lineage_open_options options = {.no_mirror = true}; /* leaves the fixture unchanged */
    struct lineage_error err = {.text = "a row is outside of the table"};
    struct lineage_store *store = NULL;
    struct lineage_cursor *cursor = NULL;
    struct lineage_trial trial;
    bool good = lineage_store_open(&store, dir, &options, &err) == LINEAGE_OK &&
                lineage_query_open(&cursor, store, &all, &err) == LINEAGE_OK;
    while (good && lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK)
        good = take_row(table, source, &trial);
    lineage_cursor_close(cursor);
    lineage_store_close(store);
    for (size_t i = 0; good && i < table->n_replicas * table->cells; i++)
        good = isfinite(table->score[i]);
    if (!good)
        fprintf(stderr, "%s: %s\n", dir, err.text[0] ? err.text : "a cell has no row");
    return good;
}

static bool load_table(struct bench_problem *problem, struct bench_table *table, const struct table_source *source,
                       const char *experiments)
{
    char dir[4096];
    double best = INFINITY;
    snprintf(dir, sizeof dir, "%s/%s", experiments, source->store);
    *table = (struct bench_table){.n_axes = source->n_axes, .n_replicas = source->n_replicas, .cells = 1};
    for (size_t a = 0; a < source->n_axes; a++) {
        table->n_values[a] = source->axes[a].n;
        table->cells *= source->axes[a].n;
        for (size_t i = 0; i < source->axes[a].n; i++)
            table->at[a][i] = !source->axes[a].name                     ? (double)i
                              : problem->ranges[a].scale == PROPOSE_LOG ? log(source->axes[a].values[i])
                                                                        : source->axes[a].values[i];
    }
    table->score = malloc(table->cells * table->n_replicas * sizeof *table->score);
    for (size_t i = 0; table->score && i < table->cells * table->n_replicas; i++)
        table->score[i] = NAN;
    if (!table->score || !read_rows(table, source, dir))
        return false;
    for (size_t i = 0; i < table->cells; i++)
        best = fmin(best, cell_of(table, table->n_replicas, i));
    problem->table = table;
    problem->optimum = best;
    return true;
}

/* ---- the list ---- */

#define NUMBER(label, from, to) {.name = label, .low = from, .high = to}
#define LOGNUM(label, from, to) {.name = label, .scale = PROPOSE_LOG, .low = from, .high = to}
#define WHOLE(label, from, to) {.name = label, .scale = PROPOSE_INTEGER, .low = from, .high = to}
#define LOGINT(label, from, to) {.name = label, .scale = PROPOSE_LOG_INTEGER, .low = from, .high = to}
#define CHOICE(label, list)                                                                                                      \
    {.name = label,                                                                                                              \
     .scale = PROPOSE_CHOICE,                                                                                                    \
     .high = sizeof(list) / sizeof *(list) - 1,                                                                                  \
     .choices = list,                                                                                                            \
     .n_choices = sizeof(list) / sizeof *(list)}

static const struct propose_choice optimizers[] = {{.text = "adam"}, {.text = "sgd"}, {.text = "lion"}};
static const struct propose_choice activations[] = {{.text = "relu"}, {.text = "gelu"}, {.text = "tanh"}, {.text = "sigmoid"}};
static const struct propose_choice norms[] = {{.text = "none"}, {.text = "batch"}, {.text = "layer"}};
static const struct propose_choice kernels[] = {{.text = "linear"}, {.text = "poly"}, {.text = "rbf"}};
static const struct propose_choice variants[] = {{.text = "grpo"},         {.text = "joint"},          {.text = "separate"},
                                                 {.text = "turn-group"},   {.text = "turn-group-v1d"}, {.text = "v1d-alpha-0"},
                                                 {.text = "v1d-alpha-0.9"}};
static const double sgd[] = {1}, poly[] = {1}, curved[] = {1, 2};

#define CUBE2(a, b, c, d) {NUMBER("a", a, b), NUMBER("b", c, d)}
#define CUBE3(a, b) {NUMBER("a", a, b), NUMBER("b", a, b), NUMBER("c", a, b)}
#define CUBE4(a, b) {NUMBER("a", a, b), NUMBER("b", a, b), NUMBER("c", a, b), NUMBER("d", a, b)}
#define CUBE5(x, y) {NUMBER("a", x, y), NUMBER("b", x, y), NUMBER("c", x, y), NUMBER("d", x, y), NUMBER("e", x, y)}
#define CUBE6(x, y)                                                                                                              \
    {NUMBER("a", x, y), NUMBER("b", x, y), NUMBER("c", x, y), NUMBER("d", x, y), NUMBER("e", x, y), NUMBER("f", x, y)}

static struct bench_problem problems[] = {
    {.name = "Branin (2)",
     .set = "first",
     .n_ranges = 2,
     .ranges = CUBE2(-5, 10, 0, 15),
     .value = branin,
     .optimum = 0.39788735772973816},
    {.name = "Rosenbrock (4)", .set = "first", .n_ranges = 4, .ranges = CUBE4(-5, 10), .value = rosenbrock},
    {.name = "Ackley (5)", .set = "first", .n_ranges = 5, .ranges = CUBE5(-22.768, 42.768), .value = ackley},
    {.name = "Hartmann (6)",
     .set = "first",
     .n_ranges = 6,
     .ranges = CUBE6(0, 1),
     .value = hartmann6,
     .optimum = -3.32236801141551},
    {.name = "noisy Hartmann (3)",
     .set = "first",
     .n_ranges = 3,
     .ranges = CUBE3(0, 1),
     .value = hartmann3,
     .noise = 0.1,
     .optimum = -3.86278214782076},
    {.name = "Levy (4)", .set = "first", .n_ranges = 4, .ranges = CUBE4(-10, 10), .value = levy},
    {.name = "Styblinski-Tang (4)",
     .set = "first",
     .n_ranges = 4,
     .ranges = CUBE4(-5, 5),
     .value = styblinski_tang,
     .optimum = -39.16616570377142 * 4},
    {"network (6, mixed)",
     "first",
     6,
     {LOGNUM("lr", 1e-5, 1),
      WHOLE("layers", 1, 8),
      LOGINT("width", 8, 1024),
      NUMBER("dropout", 0, 0.6),
      CHOICE("optimizer", optimizers),
      {.name = "momentum", .low = 0, .high = 0.99, .condition = {true, 4, sgd, 1, 0, 0}}},
     .value = network},
    {.name = "ellipsoid (5, rotated)", .set = "second", .n_ranges = 5, .ranges = CUBE5(-5, 5), .value = ellipsoid},
    {.name = "Rastrigin (3, rotated)", .set = "second", .n_ranges = 3, .ranges = CUBE3(-5.12, 5.12), .value = rastrigin},
    {.name = "Michalewicz (5)",
     .set = "second",
     .n_ranges = 5,
     .ranges = CUBE5(0, 3.14159265358979324),
     .value = michalewicz,
     .optimum = -4.687658179},
    {.name = "Shekel (4)",
     .set = "second",
     .n_ranges = 4,
     .ranges = CUBE4(0, 10),
     .value = shekel,
     .optimum = -10.53640981669205},
    {.name = "Griewank (4, rotated)", .set = "second", .n_ranges = 4, .ranges = CUBE4(-600, 600), .value = griewank},
    {"mixture (6, mixed)",
     "second",
     6,
     {LOGINT("units", 4, 256), WHOLE("depth", 1, 12), WHOLE("batch", 1, 6), CHOICE("act", activations), CHOICE("norm", norms),
      LOGNUM("decay", 1e-6, 1e-1)},
     .value = mixture},
    {.name = "noisy bowl (4, rotated)", .set = "second", .n_ranges = 4, .ranges = CUBE4(0, 1), .value = noisy_bowl, .noise = 0.1},
    {"machine (5, conditional)",
     "second",
     5,
     {CHOICE("kernel", kernels),
      LOGNUM("C", 1e-3, 1e4),
      {.name = "gamma", .scale = PROPOSE_LOG, .low = 1e-5, .high = 10, .condition = {true, 0, curved, 2, 0, 0}},
      {.name = "degree", .scale = PROPOSE_INTEGER, .low = 2, .high = 6, .condition = {true, 0, poly, 1, 0, 0}},
      {.name = "coef0", .low = -1, .high = 1, .condition = {true, 0, poly, 1, 0, 0}}},
     .value = machine},
    {.name = "hop-grid (3)",
     .set = "table",
     .n_ranges = 3,
     .ranges = {LOGNUM("lr", 1e-4, 3.2e-3), NUMBER("alpha", 0, 0.9), NUMBER("beta", 0, 0.3)}},
    {.name = "ladder-rates (2, seeds)",
     .set = "table",
     .n_ranges = 2,
     .ranges = {LOGNUM("lr", 1.5e-4, 2.4e-3), CHOICE("variant", variants)}},
    {.name = "cliff (4, failing)", .set = "failing", .n_ranges = 4, .ranges = CUBE4(0, 1), .value = cliff, .fails = over_cliff},
};
enum { N_PROBLEMS = sizeof problems / sizeof *problems };

const struct bench_problem *bench_problems(size_t *n, const char *experiments)
{
    static struct bench_table tables[sizeof sources / sizeof *sources];
    size_t next = 0;
    for (size_t i = 0; i < N_PROBLEMS; i++)
        if (strcmp(problems[i].set, "table") == 0) {
            if (!load_table(&problems[i], &tables[next], &sources[next], experiments))
                return NULL;
            next++;
        }
    *n = N_PROBLEMS;
    return problems;
}

struct bench_result bench_evaluate(const struct bench_problem *problem, const double *x, uint64_t seed, size_t trial)
{
    struct propose_stream stream = propose_stream_of(seed, 77, trial);
    const struct bench_table *table = problem->table;
    double truth = table ? interpolated(problem, x, table->n_replicas) : problem->value(x);
    double observed = truth + problem->noise * propose_normal(&stream);
    if (table)
        observed = interpolated(problem, x, (size_t)(propose_uniform(&stream) * (double)table->n_replicas));
    return (struct bench_result){observed, truth - problem->optimum, problem->fails && problem->fails(x)};
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_floor(const struct bench_problem *problem)
{
    enum { DRAWS = 1001 };
    double regrets[DRAWS], x[PROPOSE_RANGES_MAX] = {0};
    struct propose_stream stream = propose_stream_of(1, 55, 0);
    for (size_t i = 0; i < DRAWS; i++) {
        for (size_t r = 0; r < problem->n_ranges; r++)
            x[r] = propose_value(&problem->ranges[r], propose_uniform(&stream));
        regrets[i] = bench_evaluate(problem, x, 0, i).regret;
    }
    qsort(regrets, DRAWS, sizeof *regrets, ascending);
    return fmax(1e-4 * regrets[DRAWS / 2], problem->table ? 1.0 / 2048 : 0);
}
