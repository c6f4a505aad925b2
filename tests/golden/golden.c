/*
 * golden.c: runs the golden vectors of one family through its kernel and compares the results.
 *
 *     golden FAMILY double|single DIR...
 *
 * Every DIR/FAMILY/NAME.json is one call. Its `inputs` go through the adapters of `lineage core`, and the result must
 * contain each key of `expected` within the tolerance of fixtures/golden/README.md. The result may have more keys.
 * Whole numbers, booleans and strings are compared exactly. A family without a kernel or without any vector fails. A
 * DIR that does not exist is reported with SKIP.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <case_call.h>

struct tolerance {
    double absolute;   /* double: per element */
    double relative;   /* double: relative to the element, or to the largest magnitude in its array */
    double of_largest; /* single: relative to the largest magnitude in the array, at least 1 */
    bool compare;      /* false if single precision cannot represent the inputs */
};

struct check {
    const char *file;
    struct tolerance tolerance;
    double largest; /* largest magnitude in the array that is compared */
    unsigned differences;
};

static const unsigned SHOWN_DIFFERENCES = 4;

__attribute__((format(printf, 3, 4))) static void differ(struct check *c, const char *path, const char *format, ...)
{
    if (c->differences++ >= SHOWN_DIFFERENCES)
        return;
    va_list args;
    va_start(args, format);
    printf("FAIL %s: %s ", c->file, path);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

static double largest_in(const json_t *value)
{
    double largest = json_is_number(value) ? fabs(json_number_value(value)) : 0;
    for (size_t i = 0; i < json_array_size(value); i++)
        largest = fmax(largest, largest_in(json_array_get(value, i)));
    return largest;
}

static bool close_enough(const struct check *c, double got, double want)
{
    const struct tolerance *t = &c->tolerance;
    double difference = fabs(got - want);
    if (t->of_largest > 0)
        return difference <= t->of_largest * fmax(1, c->largest);
    return difference <= t->absolute + t->relative * fabs(want) || difference <= t->relative * c->largest;
}

static void compare_scalar(struct check *c, const char *path, const json_t *got, const json_t *want)
{
    if (json_is_null(want)) {
        if (got && !json_is_null(got))
            differ(c, path, "is there, expected none");
    } else if (json_is_string(want)) {
        if (!json_is_string(got) || strcmp(json_string_value(got), json_string_value(want)) != 0)
            differ(c, path, "is not '%s'", json_string_value(want));
    } else if (!json_is_number(got) && !json_is_boolean(got)) {
        differ(c, path, "is %s", got ? "not a number" : "missing");
    } else {
        double a = json_is_boolean(got) ? json_is_true(got) : json_number_value(got);
        double b = json_is_boolean(want) ? json_is_true(want) : json_number_value(want);
        bool exact = !json_is_real(want);
        if (exact ? a != b : !(c->tolerance.compare ? close_enough(c, a, b) : isfinite(a)))
            differ(c, path, "is %.17g, expected %.17g (differs by %.3g)", a, b, fabs(a - b));
    }
}

static void compare(struct check *c, const char *path, const json_t *got, json_t *want);

static void compare_array(struct check *c, const char *path, const json_t *got, json_t *want)
{
    if (!json_is_array(got) || json_array_size(got) != json_array_size(want)) {
        differ(c, path, "is %s of %zu entries, expected %zu",
               json_is_array(got) ? "a list"
               : got              ? "no list"
                                  : "missing, not a list",
               json_array_size(got), json_array_size(want));
        return;
    }
    for (size_t i = 0; i < json_array_size(want); i++) {
        char item[256];
        snprintf(item, sizeof item, "%s[%zu]", path, i);
        compare(c, item, json_array_get(got, i), json_array_get(want, i));
    }
}

static void compare_object(struct check *c, const char *path, const json_t *got, json_t *want)
{
    const char *key;
    json_t *value;
    if (!json_is_object(got))
        differ(c, path, "is not an object");
    json_object_foreach(want, key, value) {
        char item[256];
        snprintf(item, sizeof item, "%s%s%s", path, *path ? "." : "", key);
        c->largest = largest_in(value);
        compare(c, item, json_object_get(got, key), value);
    }
}

static void compare(struct check *c, const char *path, const json_t *got, json_t *want)
{
    if (json_is_object(want))
        compare_object(c, path, got, want);
    else if (json_is_array(want))
        compare_array(c, path, got, want);
    else
        compare_scalar(c, path, got, want);
}

/*
 * Returns the tolerance of a vector. Vectors with their own abs_tol and the KL edge cases are not compared in single
 * precision, because it cannot represent their inputs.
 */
static struct tolerance tolerance_of(const json_t *vector, bool single)
{
    const json_t *own = json_object_get(vector, "abs_tol");
    const char *family = json_string_value(json_object_get(vector, "family"));
    const char *name = json_string_value(json_object_get(vector, "name"));
    bool kl_edge = family && name && strcmp(family, "kl_penalty") == 0 && strstr(name, "-edge");
    struct tolerance t = {.absolute = own ? json_number_value(own) : 1e-10,
                          .relative = 1e-9,
                          .of_largest = single ? 1e-5 : 0,
                          .compare = !single || (!own && !kl_edge)};
    return t;
}

static unsigned run_vector(const struct case_kernel *kernel, const json_t *vector, const char *file, bool single)
{
    struct check c = {.file = file, .tolerance = tolerance_of(vector, single)};
    json_t *expected = json_object_get(vector, "expected");
    const json_t *error = json_object_get(expected, "error");
    struct case_call call;
    case_call_init(&call, json_object_get(vector, "inputs"));
    if (!call.failed)
        kernel->run(&call);
    if (error && !call.failed)
        differ(&c, "the call", "succeeded, expected error %s", json_string_value(error));
    else if (!error && call.failed)
        differ(&c, "the call", "failed: %s", call.err.text);
    else if (!error)
        compare(&c, "", call.outputs, expected);
    if (c.differences > SHOWN_DIFFERENCES)
        printf("FAIL %s: %u differences in all\n", file, c.differences);
    case_call_release(&call);
    return c.differences > 0;
}

static unsigned run_file(const struct case_kernel *kernel, const char *file, bool single)
{
    json_error_t problem;
    json_t *vector = json_load_file(file, 0, &problem);
    unsigned failed = 1;
    if (vector && json_is_object(json_object_get(vector, "expected")))
        failed = run_vector(kernel, vector, file, single);
    else
        printf("FAIL %s: %s\n", file, vector ? "no `expected` object" : problem.text);
    json_decref(vector);
    return failed;
}

static int is_vector(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && strcmp(dot, ".json") == 0;
}

struct tally {
    unsigned run, failed;
};

static void run_directory(const struct case_kernel *kernel, const char *root, const char *family, bool single,
                          struct tally *tally)
{
    char file[4096];
    struct dirent **entries = NULL;
    snprintf(file, sizeof file, "%s/%s", root, family);
    int n = scandir(file, &entries, is_vector, alphasort);
    if (n < 0 && errno != ENOENT) /* not every family has cases in every directory */
        printf("left out: %s: %s\n", file, strerror(errno));
    for (int i = 0; i < n; i++) {
        snprintf(file, sizeof file, "%s/%s/%s", root, family, entries[i]->d_name);
        tally->failed += run_file(kernel, file, single);
        tally->run++;
        free(entries[i]);
    }
    free(entries);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: golden FAMILY double|single DIR...\n");
        return 2;
    }
    bool single = strcmp(argv[2], "single") == 0;
    const struct case_kernel *kernel = case_find(argv[1], single);
    struct tally tally = {0};
    if (!kernel) {
        printf("FAIL %s: no kernel in %s precision\n", argv[1], argv[2]);
        return 1;
    }
    for (int i = 3; i < argc; i++)
        run_directory(kernel, argv[i], argv[1], single, &tally);
    printf("%s %s: %u vectors, %u failed\n", argv[1], argv[2], tally.run, tally.failed);
    return tally.failed || !tally.run;
}
