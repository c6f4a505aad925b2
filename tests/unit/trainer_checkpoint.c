/*
 * trainer_checkpoint.c: tests that a checkpoint is read back as it was written, that damaged files are refused, and
 * that replacing a checkpoint is all or nothing.
 */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <trainer/policy.h>

#include "support/files.h"

/* ---- faults: the N-th of these calls fails, by the linker's --wrap --------------------------- */

static int faults_left = -1; /* calls that succeed before one fails; -1: none fails */

static bool fault(int code)
{
    if (faults_left < 0 || faults_left-- > 0)
        return false;
    faults_left = -1;
    errno = code;
    return true;
}

ssize_t __real_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size);
ssize_t __wrap_write(int fd, const void *data, size_t size)
{
    return fault(ENOSPC) ? -1 : __real_write(fd, data, size > 100 ? 100 : size);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return fault(EIO) ? -1 : __real_fsync(fd);
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return fault(EACCES) ? -1 : __real_rename(from, to);
}

int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
    bool failed = fault(EIO);
    int result = __real_close(fd);
    if (failed)
        errno = EIO;
    return failed ? -1 : result;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    return fault(EMFILE) ? -1 : __real_open(path, flags, 0666);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fault(ENOMEM) ? NULL : __real_malloc(size);
}

/* ---- a small model ---- */

enum { N_PARAMS = 3 * 2 * 2 + 2 * 2 + 4 * 4 + 2 * 2 * 2 + 2 };

static struct trainer_model tiny(void)
{
    struct trainer_model model;
    trainer_model_init(&model);
    model.tokens = 3;
    model.width = 2;
    model.layers = 1;
    model.heads = 1;
    model.mlp = 2;
    model.max_tokens = 9;
    return model;
}

struct place {
    char *dir, *path;
    float params[N_PARAMS];
};

static int enter(void **state)
{
    struct place *place = malloc(sizeof *place);
    struct trainer_model model = tiny();
    place->dir = make_dir();
    place->path = join(place->dir, "p.ckpt");
    assert_int_equal(trainer_model_parameters(&model), N_PARAMS);
    trainer_policy_initf(&model, 3, place->params);
    *state = place;
    return 0;
}

static int leave(void **state)
{
    struct place *place = *state;
    free(place->path);
    remove_dir(place->dir);
    free(place);
    return 0;
}

static enum trainer_status save(const struct place *place, uint64_t steps, struct trainer_error *err)
{
    const struct trainer_checkpoint checkpoint = {tiny(), steps};
    return trainer_checkpoint_save(place->path, &checkpoint, place->params, err);
}

static enum trainer_status load(const struct place *place, struct trainer_checkpoint *checkpoint, float *params,
                                struct trainer_error *err)
{
    return trainer_checkpoint_load(place->path, checkpoint, params, N_PARAMS, err);
}

static void assert_says(const struct trainer_error *err, const struct place *place, const char *why)
{
    if (!strstr(err->text, why) || strncmp(err->text, place->path, strlen(place->path)) != 0)
        fail_msg("'%s' does not say '%s'", err->text, why);
}

/* Asserts that no temporary file is left beside the checkpoint. */
static void assert_alone(const struct place *place)
{
    char **names = list_dir(place->dir, "p.ckpt");
    assert_non_null(names[0]);
    assert_null(names[1]);
    free_list(names);
}

/* ---- there and back ---- */

static void what_is_saved_is_loaded(void **state)
{
    struct place *place = *state;
    struct trainer_checkpoint read;
    float params[N_PARAMS];
    place->params[5] = -0.0f;
    place->params[6] = 1e-42f;
    assert_int_equal(save(place, UINT64_C(1) << 40, NULL), TRAINER_OK);
    assert_int_equal(load(place, &read, params, NULL), TRAINER_OK);
    assert_memory_equal(params, place->params, sizeof params);
    struct trainer_model model = tiny();
    assert_true(read.steps == UINT64_C(1) << 40 && read.model.tokens == model.tokens && read.model.width == model.width &&
                read.model.layers == model.layers && read.model.heads == model.heads && read.model.mlp == model.mlp &&
                read.model.max_tokens == model.max_tokens && read.model.rope_base == model.rope_base &&
                read.model.previous_token == model.previous_token);
    char kernels[TRAINER_KERNELS_MAX], saved[TRAINER_KERNELS_MAX];
    trainer_kernels(kernels);
    assert_int_equal(trainer_checkpoint_kernels(place->path, saved, NULL), TRAINER_OK);
    assert_string_equal(saved, kernels);
    assert_alone(place);
}

static void the_header_alone_can_be_read(void **state)
{
    struct place *place = *state;
    struct trainer_checkpoint read;
    assert_int_equal(save(place, 7, NULL), TRAINER_OK);
    assert_int_equal(trainer_checkpoint_load(place->path, &read, NULL, 0, NULL), TRAINER_OK);
    assert_int_equal(read.steps, 7);
    assert_int_equal(read.model.mlp, 2);
}

static void a_file_has_the_size_that_is_promised(void **state)
{
    struct place *place = *state;
    size_t size;
    assert_int_equal(save(place, 7, NULL), TRAINER_OK);
    free(read_file(place->path, &size));
    assert_int_equal(size, 128 + 4 * N_PARAMS + 8);
}

static void too_little_room_is_refused(void **state)
{
    struct place *place = *state;
    struct trainer_checkpoint read;
    struct trainer_error err;
    float params[N_PARAMS];
    assert_int_equal(save(place, 7, NULL), TRAINER_OK);
    assert_int_equal(trainer_checkpoint_load(place->path, &read, params, N_PARAMS - 1, &err), TRAINER_EINVAL);
    assert_says(&err, place, "room for");
}

static void a_missing_file_is_not_found(void **state)
{
    struct place *place = *state;
    struct trainer_checkpoint read;
    struct trainer_error err;
    assert_int_equal(load(place, &read, NULL, &err), TRAINER_ENOTFOUND);
    assert_says(&err, place, "no such checkpoint");
}

static void a_directory_is_no_checkpoint(void **state)
{
    struct place *place = *state;
    struct trainer_checkpoint read;
    struct trainer_error err;
    assert_int_equal(mkdir(place->path, 0777), 0);
    assert_int_equal(load(place, &read, NULL, &err), TRAINER_EIO);
    assert_int_equal(save(place, 1, &err), TRAINER_EIO);
    assert_says(&err, place, "not a regular file");
    assert_alone(place);
}

/* ---- damage ---- */

/* A refused checkpoint leaves the caller's parameters unchanged. */
static void a_pipe_is_not_replaced(void **state)
{
    struct place *place = *state;
    struct trainer_error err;
    struct stat st;
    assert_int_equal(mkfifo(place->path, 0600), 0);
    assert_int_equal(save(place, 1, &err), TRAINER_EIO);
    assert_says(&err, place, "not a regular file");
    assert_int_equal(stat(place->path, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
    assert_alone(place);
    unlink(place->path);
}

static void assert_corrupt(const struct place *place, const char *why)
{
    struct trainer_checkpoint read;
    struct trainer_error err = {TRAINER_OK, ""};
    float params[N_PARAMS], untouched[N_PARAMS];
    memset(params, 0x55, sizeof params);
    memset(untouched, 0x55, sizeof untouched);
    assert_int_equal(load(place, &read, params, &err), TRAINER_ECORRUPT);
    assert_int_equal(err.status, TRAINER_ECORRUPT);
    assert_says(&err, place, why);
    assert_memory_equal(params, untouched, sizeof params);
}

static const char *what_guards(size_t byte)
{
    return byte < 8 ? "magic" : byte < 12 ? "version" : "digest";
}

static void every_damaged_byte_is_refused(void **state)
{
    struct place *place = *state;
    size_t size;
    assert_int_equal(save(place, 7, NULL), TRAINER_OK);
    char *bytes = read_file(place->path, &size);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        write_file(place->path, bytes, size);
        assert_corrupt(place, what_guards(i));
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
    }
    free(bytes);
}

static void every_truncation_is_refused(void **state)
{
    struct place *place = *state;
    size_t size;
    assert_int_equal(save(place, 7, NULL), TRAINER_OK);
    char *bytes = read_file(place->path, &size);
    for (size_t i = 0; i < size; i++) {
        write_file(place->path, bytes, i);
        assert_corrupt(place, i < 128 + 8 ? "length" : "digest");
    }
    free(bytes);
}

/* The file's digest matches, because the program that wrote the file stored these weights. */
static void weights_that_are_not_finite_are_refused(void **state)
{
    struct place *place = *state;
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY};
    const size_t at[] = {0, N_PARAMS / 2, N_PARAMS - 1};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
            const struct trainer_checkpoint out = {tiny(), 7};
            struct trainer_checkpoint in;
            struct trainer_error err;
            char why[48];
            float params[N_PARAMS] = {0};
            memcpy(params, place->params, sizeof params);
            params[at[k]] = bad[i];
            assert_int_equal(trainer_checkpoint_save(place->path, &out, params, NULL), TRAINER_OK);
            snprintf(why, sizeof why, "parameter %zu is not finite", at[k]);
            assert_int_equal(trainer_checkpoint_load(place->path, &in, NULL, 0, &err), TRAINER_ECORRUPT);
            assert_non_null(strstr(err.text, why));
        }
    /* The largest and the smallest finite floats are accepted. */
    const struct trainer_checkpoint out = {tiny(), 7};
    struct trainer_checkpoint in;
    float params[N_PARAMS] = {FLT_MAX, -FLT_MAX, FLT_MIN, FLT_TRUE_MIN, -0.0f};
    assert_int_equal(trainer_checkpoint_save(place->path, &out, params, NULL), TRAINER_OK);
    assert_int_equal(trainer_checkpoint_load(place->path, &in, params, N_PARAMS, NULL), TRAINER_OK);
    assert_float_equal(params[0], FLT_MAX, 0);
}

static void more_bytes_are_refused(void **state)
{
    struct place *place = *state;
    size_t size;
    assert_int_equal(save(place, 7, NULL), TRAINER_OK);
    char *bytes = read_file(place->path, &size), *longer = calloc(size + 4, 1);
    memcpy(longer, bytes, size);
    write_file(place->path, longer, size + 4);
    assert_corrupt(place, "digest");
    free(bytes);
    free(longer);
}

/* ---- another shape ---- */

static void assert_other_shape(const struct place *place, struct trainer_model model, const char *why)
{
    struct trainer_error err;
    float *params = malloc(trainer_model_parameters(&model) * sizeof *params);
    assert_int_equal(trainer_checkpoint_load_as(place->path, &model, params, NULL, &err), TRAINER_ESHAPE);
    assert_says(&err, place, why);
    free(params);
}

static void another_shape_is_refused_by_name(void **state)
{
    struct place *place = *state;
    struct trainer_model model = tiny();
    assert_int_equal(save(place, 7, NULL), TRAINER_OK);
#define OTHER(member, value, why)                                                                                                \
    do {                                                                                                                         \
        struct trainer_model other = model;                                                                                      \
        other.member = (value);                                                                                                  \
        assert_other_shape(place, other, why);                                                                                   \
    } while (0)
    OTHER(tokens, 12, "tokens is 3, the recipe wants 12");
    OTHER(width, 8, "width is 2, the recipe wants 8");
    OTHER(layers, 2, "layers is 1, the recipe wants 2");
    OTHER(heads, 4, "heads is 1, the recipe wants 4");
    OTHER(mlp, 7, "mlp is 2, the recipe wants 7");
    OTHER(previous_token, false, "previous_token is 1, the recipe wants 0");
    OTHER(rope_base, 999, "rope_base is 1000, the recipe wants 999");
}

/* max_tokens is not part of the shape: longer episodes use the same weights. */
static void the_same_shape_is_loaded(void **state)
{
    struct place *place = *state;
    struct trainer_model model = tiny();
    uint64_t steps = 0;
    float params[N_PARAMS];
    model.max_tokens = 50;
    assert_int_equal(save(place, 7, NULL), TRAINER_OK);
    assert_int_equal(trainer_checkpoint_load_as(place->path, &model, params, &steps, NULL), TRAINER_OK);
    assert_int_equal(steps, 7);
    assert_memory_equal(params, place->params, sizeof params);
}

/* ---- replacement ---- */

static void assert_steps(const struct place *place, uint64_t steps)
{
    struct trainer_checkpoint read;
    float params[N_PARAMS];
    assert_int_equal(load(place, &read, params, NULL), TRAINER_OK);
    assert_int_equal(read.steps, steps);
}

static void a_new_one_replaces_the_old_one(void **state)
{
    struct place *place = *state;
    assert_int_equal(save(place, 1, NULL), TRAINER_OK);
    assert_int_equal(save(place, 2, NULL), TRAINER_OK);
    assert_steps(place, 2);
    assert_alone(place);
}

static void a_directory_that_is_missing_is_named(void **state)
{
    struct place *place = *state;
    struct trainer_error err;
    free(place->path);
    place->path = join(place->dir, "none/p.ckpt");
    assert_int_equal(save(place, 1, &err), TRAINER_EIO);
    assert_says(&err, place, "open");
}

/*
 * Tries for every N that the N-th call fails. Either the old checkpoint remains unchanged and without a temporary
 * file, or the new one is in place and only syncing its directory entry has failed.
 */
static void a_failed_save_leaves_the_old_one(void **state)
{
    struct place *place = *state;
    int failures = 0;
    for (int n = 0;; n++) {
        struct trainer_error err = {TRAINER_OK, ""};
        assert_int_equal(save(place, 1, NULL), TRAINER_OK);
        faults_left = n;
        enum trainer_status status = save(place, 2, &err);
        bool injected = faults_left < 0;
        faults_left = -1;
        assert_steps(place, status == TRAINER_OK ? 2 : 1);
        assert_alone(place);
        assert_true(status == TRAINER_OK || status == TRAINER_EIO || status == TRAINER_ENOMEM);
        assert_true(status == err.status);
        failures += status != TRAINER_OK;
        if (!injected)
            break;
    }
    assert_int_equal(failures, 11); /* 2 allocations, open, 5 writes, fsync, close, rename */
}

static void a_failed_load_says_so(void **state)
{
    struct place *place = *state;
    int failures = 0;
    assert_int_equal(save(place, 1, NULL), TRAINER_OK);
    for (int n = 0;; n++) {
        struct trainer_checkpoint read;
        struct trainer_error err;
        float params[N_PARAMS];
        faults_left = n;
        enum trainer_status status = load(place, &read, params, &err);
        bool injected = faults_left < 0;
        faults_left = -1;
        assert_true(status == TRAINER_OK || status == TRAINER_EIO || status == TRAINER_ENOMEM);
        failures += status != TRAINER_OK;
        if (!injected)
            break;
    }
    assert_int_equal(failures, 3); /* the header is opened first, then the whole file; an allocation */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, enter, leave)
    const struct CMUnitTest tests[] = {
        TEST(what_is_saved_is_loaded),
        TEST(the_header_alone_can_be_read),
        TEST(a_file_has_the_size_that_is_promised),
        TEST(too_little_room_is_refused),
        TEST(a_missing_file_is_not_found),
        TEST(a_directory_is_no_checkpoint),
        TEST(a_pipe_is_not_replaced),
        TEST(every_damaged_byte_is_refused),
        TEST(every_truncation_is_refused),
        TEST(weights_that_are_not_finite_are_refused),
        TEST(more_bytes_are_refused),
        TEST(another_shape_is_refused_by_name),
        TEST(the_same_shape_is_loaded),
        TEST(a_new_one_replaces_the_old_one),
        TEST(a_directory_that_is_missing_is_named),
        TEST(a_failed_save_leaves_the_old_one),
        TEST(a_failed_load_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
