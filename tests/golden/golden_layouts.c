/*
 * golden_layouts.c: runs the golden vectors in other layouts of a batch, for every kernel that can read them: rows with
 * a stride larger than their width, ragged rows, and 64-bit masks and ids.
 *
 *     golden_layouts double|single|bfloat16 DIR...
 *
 * The results must be bit-identical to those for the same numbers passed as lists; golden.c tests that the latter are
 * right. With bfloat16, the inputs of both calls are rounded first. A DIR that does not exist is skipped.
 */
#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <rlcase/case.h>

enum { ARRAYS = 16, GAP = 3 };

enum layout { STRIDED, RAGGED, N_LAYOUTS };
static const char *const layout_names[] = {"strided", "ragged"};

enum precision { DOUBLE, SINGLE, HALF };

/* The [B][T] inputs of one vector as arrays; they are removed from its lists. */
struct laid {
    struct rl_case_array arrays[ARRAYS];
    void *memory[ARRAYS];
    size_t n, b, t;
    size_t *start; /* [b+1] starts of the rows in the ragged layout */
};

struct tally {
    unsigned run, cut, failed;
};

static float rounded(double x)
{
    float single = (float)x;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    bits &= 0xffff0000;
    memcpy(&single, &bits, sizeof single);
    return single;
}

static double number(const json_t *rows, size_t i, size_t j)
{
    const json_t *item = json_array_get(json_array_get(rows, i), j);
    return json_is_true(item) ? 1 : json_number_value(item);
}

/* Returns true if all rows have the same length. Vectors with other lists test errors, and golden.c runs them. */
static bool is_rectangle(const json_t *rows, size_t b, size_t t)
{
    if (json_array_size(rows) != b)
        return false;
    for (size_t i = 0; i < b; i++)
        if (json_array_size(json_array_get(rows, i)) != t)
            return false;
    return true;
}

/*
 * Returns the starts of ragged rows. A row ends after the last token that counts and the last reward, which some
 * estimators read outside the mask. The first row keeps its width, because T is the length of the longest row and
 * some definitions divide by T.
 */
static size_t *starts_of(const json_t *inputs, size_t b, size_t t)
{
    const json_t *mask = json_object_get(inputs, "response_mask"), *losses = json_object_get(inputs, "loss_mask");
    const json_t *rewards = json_object_get(inputs, "token_level_rewards");
    size_t *start = calloc(b + 1, sizeof *start);
    mask = mask ? mask : losses;
    for (size_t i = 0; start && i < b; i++) {
        size_t n = t;
        while (i && mask && n && number(mask, i, n - 1) == 0 && (!rewards || number(rewards, i, n - 1) == 0))
            n--;
        start[i + 1] = start[i] + n;
    }
    return start;
}

static void put(void *memory, enum rl_case_type type, size_t at, double value)
{
    float single = (float)value;
    uint32_t bits;
    if (type == RL_CASE_FLOAT64)
        ((double *)memory)[at] = value;
    else if (type == RL_CASE_FLOAT32)
        ((float *)memory)[at] = single;
    else if (type == RL_CASE_INT64)
        ((int64_t *)memory)[at] = (int64_t)value;
    else {
        memcpy(&bits, &single, sizeof bits);
        ((uint16_t *)memory)[at] = (uint16_t)(bits >> 16);
    }
}

/*
 * Copies one input into its layout. Elements between rows are poison: NaN, or an invalid value in masks. Strided
 * arrays begin one element into their memory block, as the columns of a slice do, because an array is aligned only to
 * its own type. A block ends with the last row.
 */
static void lay(struct laid *x, const char *name, const json_t *rows, enum rl_case_type type, enum layout layout)
{
    size_t stride = x->t + GAP, first = layout == STRIDED;
    size_t n = layout == RAGGED ? x->start[x->b] : (x->b - 1) * stride + x->t;
    size_t size = type == RL_CASE_BFLOAT16 ? sizeof(uint16_t) : type == RL_CASE_FLOAT32 ? sizeof(float) : sizeof(double);
    unsigned char *memory = malloc((first + n) * size), *data = memory + first * size;
    for (size_t at = 0; at < n; at++)
        put(data, type, at, type == RL_CASE_INT64 ? 77 : (double)NAN);
    for (size_t i = 0; i < x->b; i++) {
        size_t at = layout == RAGGED ? x->start[i] : i * stride;
        size_t width = layout == RAGGED ? x->start[i + 1] - x->start[i] : x->t;
        for (size_t j = 0; j < width; j++)
            put(data, type, at + j, number(rows, i, j));
    }
    struct rl_case_array array = {.name = name, .type = type, .n_dims = 2, .shape = {x->b, x->t}, .data = data};
    if (layout == RAGGED) {
        array.n_dims = 1;
        array.shape[0] = x->start[x->b];
        array.start = x->start;
        array.n_rows = x->b;
    } else {
        array.stride = stride;
    }
    x->memory[x->n] = memory;
    x->arrays[x->n++] = array;
}

static void release(struct laid *x)
{
    for (size_t i = 0; i < x->n; i++)
        free(x->memory[i]);
    free(x->start);
}

/* Lists the names and kinds of the kernel's [B][T] inputs that this vector has. For HALF it rounds real inputs. */
static size_t batch_inputs(const json_t *kernel, json_t *inputs, const char *names[ARRAYS], const char *kinds[ARRAYS])
{
    size_t i, n = 0;
    json_t *item;
    json_array_foreach(json_object_get(kernel, "inputs"), i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));
        if (strcmp(json_string_value(json_object_get(item, "shape")), "[B][T]") != 0 || n == ARRAYS ||
            !json_is_array(json_object_get(inputs, name)))
            continue;
        names[n] = name;
        kinds[n++] = json_string_value(json_object_get(item, "kind"));
    }
    return n;
}

static void round_rows(json_t *rows)
{
    size_t i, j;
    json_t *row, *item;
    json_array_foreach(rows, i, row)
        json_array_foreach(row, j, item)
            json_array_set_new(row, j, json_real((double)rounded(json_number_value(item))));
}

static double value_at(const struct rl_case_array *array, size_t i)
{
    switch (array->type) {
    case RL_CASE_FLOAT64: return ((const double *)array->data)[i];
    case RL_CASE_FLOAT32: return (double)((const float *)array->data)[i];
    case RL_CASE_INT64: return (double)((const int64_t *)array->data)[i];
    case RL_CASE_INT32: return ((const int32_t *)array->data)[i];
    case RL_CASE_UINT8:
    case RL_CASE_BFLOAT16: break;
    }
    return ((const uint8_t *)array->data)[i];
}

static bool same_array(const struct rl_case_array *got, json_t *want)
{
    bool flat = got->n_dims == 1 && !got->start;
    size_t rows = got->start ? got->n_rows : flat ? 1 : got->shape[0];
    if (!flat && json_array_size(want) != rows)
        return false;
    for (size_t i = 0; i < rows; i++) {
        const json_t *row = flat ? want : json_array_get(want, i);
        size_t at = got->start ? got->start[i] : i * (got->stride ? got->stride : got->shape[got->n_dims - 1]);
        size_t width = got->start ? got->start[i + 1] - at : got->shape[got->n_dims - 1];
        for (size_t j = 0; j < width; j++) {
            const json_t *item = json_array_get(row, j);
            if (value_at(got, at + j) != json_number_value(item) || !json_is_number(item))
                return false;
        }
    }
    return true;
}

static const struct rl_case_array *find(const struct rl_case *done, const char *name)
{
    size_t n;
    const struct rl_case_array *arrays = rl_case_arrays(done, &n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(arrays[i].name, name) == 0)
            return &arrays[i];
    return NULL;
}

static unsigned differences(const char *file, enum layout layout, const struct rl_case *got, const struct rl_case *want)
{
    json_t *values = json_loads(rl_case_values(got), 0, NULL), *wanted = json_loads(rl_case_values(want), 0, NULL);
    unsigned n = 0;
    const char *key;
    json_t *item;
    json_object_foreach(wanted, key, item) {
        const struct rl_case_array *array = find(got, key);
        bool none = json_is_null(item) && !array;
        if (layout == STRIDED && array && array->n_dims == 2 && !array->stride) {
            printf("FAIL %s: %s is not strided, so that the inputs were copied\n", file, key);
            n++;
        }
        if (none || (array ? same_array(array, item) : json_equal(json_object_get(values, key), item)))
            continue;
        printf("FAIL %s, %s: %s differs\n", file, layout_names[layout], key);
        n++;
    }
    json_decref(values);
    json_decref(wanted);
    return n;
}

static unsigned run_layout(const char *file, const char *family, bool single, enum layout layout, const struct laid *x,
                           const json_t *rest, const struct rl_case *want)
{
    struct rl_case *got;
    struct rl_error err;
    char *text = json_dumps(rest, JSON_REAL_PRECISION(17));
    enum rl_status status = rl_case_run(&got, family, single, text, x->arrays, x->n, &err);
    unsigned failed = 0;
    if ((status == RL_OK) != (want != NULL)) {
        printf("FAIL %s, %s: %s\n", file, layout_names[layout], status == RL_OK ? "succeeds" : err.text);
        failed = 1;
    } else if (want) {
        failed = differences(file, layout, got, want) > 0;
    }
    rl_case_release(got);
    free(text);
    return failed;
}

static void run_vector(const json_t *kernel, json_t *inputs, const char *file, enum precision precision, struct tally *tally)
{
    const char *family = json_string_value(json_object_get(kernel, "family")), *names[ARRAYS], *kinds[ARRAYS];
    size_t n = batch_inputs(kernel, inputs, names, kinds);
    const json_t *first = n ? json_object_get(inputs, names[0]) : NULL;
    size_t b = json_array_size(first), t = json_array_size(json_array_get(first, 0));
    enum rl_case_type real = precision == DOUBLE ? RL_CASE_FLOAT64 : precision == SINGLE ? RL_CASE_FLOAT32 : RL_CASE_BFLOAT16;
    for (size_t k = 0; k < n; k++) {
        if (!is_rectangle(json_object_get(inputs, names[k]), b, t))
            return;
        if (precision == HALF && strcmp(kinds[k], "reals") == 0)
            round_rows(json_object_get(inputs, names[k]));
    }
    if (!b || !t)
        return;
    struct rl_case *want;
    char *text = json_dumps(inputs, JSON_REAL_PRECISION(17));
    bool fails = rl_case_run_json(&want, family, precision != DOUBLE, text, NULL) != RL_OK;
    for (unsigned layout = 0; layout < N_LAYOUTS; layout++) {
        struct laid x = {.b = b, .t = t, .start = starts_of(inputs, b, t)};
        json_t *rest = json_copy(inputs);
        for (size_t k = 0; k < n; k++) {
            lay(&x, names[k], json_object_get(inputs, names[k]), strcmp(kinds[k], "reals") == 0 ? real : RL_CASE_INT64,
                (enum layout)layout);
            json_object_del(rest, names[k]);
        }
        tally->cut += layout == RAGGED && x.start[b] < b * t;
        tally->failed += run_layout(file, family, precision != DOUBLE, (enum layout)layout, &x, rest, fails ? NULL : want);
        tally->run++;
        json_decref(rest);
        release(&x);
    }
    rl_case_release(want);
    free(text);
}

static int is_vector(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".json") == 0;
}

static void run_directory(const json_t *kernel, const char *root, enum precision precision, struct tally *tally)
{
    const char *family = json_string_value(json_object_get(kernel, "family"));
    char file[4096];
    struct dirent **entries = NULL;
    snprintf(file, sizeof file, "%s/%s", root, family);
    int n = scandir(file, &entries, is_vector, alphasort);
    for (int i = 0; i < n; i++) {
        snprintf(file, sizeof file, "%s/%s/%s", root, family, entries[i]->d_name);
        json_t *vector = json_load_file(file, 0, NULL);
        run_vector(kernel, json_object_get(vector, "inputs"), file, precision, tally);
        json_decref(vector);
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"double", "single", "bfloat16"};
    unsigned precision = 0;
    while (argc > 2 && precision < 3 && strcmp(argv[1], names[precision]) != 0)
        precision++;
    struct rl_case *described;
    struct tally tally = {0};
    if (argc < 3 || precision == 3 || rl_case_describe(&described, NULL) != RL_OK) {
        fprintf(stderr, "usage: golden_layouts double|single|bfloat16 DIR...\n");
        return 2;
    }
    json_t *kernels = json_loads(rl_case_values(described), 0, NULL), *kernel;
    size_t k;
    json_array_foreach(kernels, k, kernel)
        for (int i = 2; json_is_true(json_object_get(kernel, "layouts")) && i < argc; i++)
            run_directory(kernel, argv[i], (enum precision)precision, &tally);
    json_decref(kernels);
    rl_case_release(described);
    printf("%s: %u runs, %u of them with rows cut, %u failed\n", argv[1], tally.run, tally.cut, tally.failed);
    return tally.failed || !tally.cut;
}
