/*
 * checkpoint.c: one file with header, parameters and digest.
 *
 * The file is replaced atomically, so a file with the checkpoint's name is complete. A night that is killed while it
 * writes leaves the previous checkpoint or none, and does not record a row.
 *
 * Moments of the optimizer are not included. A trial that starts from a checkpoint restarts the optimizer anyway
 * (make_first_weights in run/training.c), and without the moments the file has a third of the size.
 */
#include <inttypes.h>
#include <xxhash.h>

#include "support/error.h"
#include "support/atomic_file.h"
#include "policy/layout.h"

#define CHECKPOINT_MAGIC "LNGCKPT\n"
/* Policies without experts and without a value head keep version 1, which older programs read. */
enum { VERSION_PLAIN = 1, VERSION_MORE = 2, HEADER_BYTES = 128, DIGEST_BYTES = 8 };

/* Offsets in the header, whose numbers are little-endian. */
enum {
    AT_VERSION = 8,
    AT_TOKENS = 16,
    AT_WIDTH = 20,
    AT_LAYERS = 24,
    AT_HEADS = 28,
    AT_MLP = 32,
    AT_MAX_TOKENS = 36,
    AT_PREVIOUS = 40,
    AT_VALUE_HEAD = 44,
    AT_ROPE_BASE = 48,
    AT_STEPS = 56,
    AT_COUNT = 64,
    AT_EXPERTS = 72,
    AT_PER_TOKEN = 76,
    AT_RENORMALISE = 80,
    AT_KERNELS = 84, /* text, truncated or padded with zeros */
    KERNELS_BYTES = HEADER_BYTES - AT_KERNELS
};

/*
 * Writes byte by byte, so that a checkpoint is the same file on machines of any byte order, and a header never contains
 * a struct's padding.
 */
static void put(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const unsigned char *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static void put_kernels(unsigned char *at)
{
    char kernels[TRAINER_KERNELS_MAX];
    trainer_kernels(kernels);
    memcpy(at, kernels, strnlen(kernels, KERNELS_BYTES));
}

static uint64_t version_of(const struct trainer_model *model)
{
    return model->experts > 0 || model->value_head ? VERSION_MORE : VERSION_PLAIN;
}

/*
 * The header is zeroed first, because unused bytes must be the same in every file; otherwise equal policies would have
 * different digests.
 */
static void put_header(unsigned char *header, const struct trainer_checkpoint *checkpoint)
{
    const struct trainer_model *model = &checkpoint->model;
    uint64_t base;
    memset(header, 0, HEADER_BYTES);
    memcpy(header, CHECKPOINT_MAGIC, 8);
    memcpy(&base, &model->rope_base, sizeof base);
    put(header + AT_VERSION, version_of(model), 4);
    put(header + AT_VALUE_HEAD, model->value_head, 4);
    put(header + AT_TOKENS, (uint32_t)model->tokens, 4);
    put(header + AT_WIDTH, (uint32_t)model->width, 4);
    put(header + AT_LAYERS, (uint32_t)model->layers, 4);
    put(header + AT_HEADS, (uint32_t)model->heads, 4);
    put(header + AT_MLP, (uint32_t)model->mlp, 4);
    put(header + AT_MAX_TOKENS, (uint32_t)model->max_tokens, 4);
    put(header + AT_PREVIOUS, model->previous_token, 4);
    put(header + AT_ROPE_BASE, base, 8);
    put(header + AT_STEPS, checkpoint->steps, 8);
    put(header + AT_COUNT, trainer_model_parameters(model), 8);
    put_kernels(header + AT_KERNELS);
    if (model->experts == 0)
        return;
    put(header + AT_EXPERTS, (uint32_t)model->experts, 4);
    put(header + AT_PER_TOKEN, (uint32_t)model->experts_per_token, 4);
    put(header + AT_RENORMALISE, model->renormalise, 4);
}

static struct trainer_checkpoint get_header(const unsigned char *header)
{
    struct trainer_checkpoint checkpoint = {.steps = get(header + AT_STEPS, 8)};
    uint64_t base = get(header + AT_ROPE_BASE, 8);
    memcpy(&checkpoint.model.rope_base, &base, sizeof base);
    checkpoint.model.tokens = (int32_t)get(header + AT_TOKENS, 4);
    checkpoint.model.width = (int32_t)get(header + AT_WIDTH, 4);
    checkpoint.model.layers = (int32_t)get(header + AT_LAYERS, 4);
    checkpoint.model.heads = (int32_t)get(header + AT_HEADS, 4);
    checkpoint.model.mlp = (int32_t)get(header + AT_MLP, 4);
    checkpoint.model.max_tokens = (int32_t)get(header + AT_MAX_TOKENS, 4);
    checkpoint.model.previous_token = get(header + AT_PREVIOUS, 4) != 0;
    checkpoint.model.experts = (int32_t)get(header + AT_EXPERTS, 4);
    checkpoint.model.experts_per_token = (int32_t)get(header + AT_PER_TOKEN, 4);
    checkpoint.model.renormalise = get(header + AT_RENORMALISE, 4) != 0;
    checkpoint.model.value_head = get(header + AT_VALUE_HEAD, 4) != 0;
    return checkpoint;
}

/*
 * Returns the parameters as little-endian floats (free). They are encoded in memory first, so that digest and file
 * cover the same bytes.
 */
static unsigned char *encode(const float *params, size_t n)
{
    unsigned char *bytes = malloc(4 * n);
    for (size_t i = 0; bytes && i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &params[i], sizeof bits);
        put(bytes + 4 * i, bits, 4);
    }
    return bytes;
}

/*
 * The digest covers header and weights and is written last: a truncated file has no digest, and in a damaged file the
 * digest does not match. Trials start from these files night after night, so a silently damaged policy would cost more
 * than the hash.
 */
static bool take_digest(const unsigned char *header, const unsigned char *body, size_t bytes, unsigned char *digest)
{
    XXH64_state_t *state = XXH64_createState();
    if (!state)
        return false;
    XXH64_reset(state, 0);
    XXH64_update(state, header, HEADER_BYTES);
    XXH64_update(state, body, bytes);
    put(digest, XXH64_digest(state), DIGEST_BYTES);
    XXH64_freeState(state);
    return true;
}

enum trainer_status trainer_checkpoint_save(const char *path, const struct trainer_checkpoint *checkpoint, const float *params,
                                            struct trainer_error *err)
{
    size_t bytes = 4 * trainer_model_parameters(&checkpoint->model);
    unsigned char header[HEADER_BYTES], digest[DIGEST_BYTES];
    unsigned char *body = encode(params, bytes / 4);
    const struct file_part parts[] = {{header, sizeof header}, {body, bytes}, {digest, sizeof digest}};
    put_header(header, checkpoint);
    enum trainer_status status =
        body && take_digest(header, body, bytes, digest) ? atomic_file_write(path, parts, 3, err) : trainer_no_memory(err, bytes);
    free(body);
    return status;
}

static enum trainer_status damaged(struct trainer_error *err, const char *path, const char *what)
{
    return trainer_fail(err, TRAINER_ECORRUPT, "%s: damaged checkpoint: %s", path, what);
}

/*
 * Returns the number of parameters before the first one that is not finite (an exponent of all ones is infinity or
 * NaN). Without this check, a policy with such a parameter would be scored as always wrong.
 */
static size_t count_finite(const unsigned char *bytes, size_t n)
{
    size_t i = 0;
    while (i < n && ((bytes[4 * i + 3] & 0x7f) != 0x7f || !(bytes[4 * i + 2] & 0x80)))
        i++;
    return i;
}

/*
 * Magic and version are checked before the digest: a file of another kind must not be reported as damaged, and a
 * later version may have another digest. The model is checked even if the digest is right, because a right digest says
 * nothing about the program that wrote the file.
 */
static enum trainer_status check_file(const char *path, const unsigned char *bytes, size_t size,
                                      struct trainer_checkpoint *checkpoint, struct trainer_error *err)
{
    if (memcmp(bytes, CHECKPOINT_MAGIC, 8) != 0)
        return trainer_fail(err, TRAINER_ECORRUPT, "%s: not a checkpoint (magic)", path);
    uint64_t version = get(bytes + AT_VERSION, 4);
    if (version != VERSION_PLAIN && version != VERSION_MORE)
        return trainer_fail(err, TRAINER_ECORRUPT, "%s: checkpoint version %" PRIu64 ", this program reads %d and %d", path,
                            version, VERSION_PLAIN, VERSION_MORE);
    if (XXH64(bytes, size - DIGEST_BYTES, 0) != get(bytes + size - DIGEST_BYTES, DIGEST_BYTES))
        return damaged(err, path, "digest");
    *checkpoint = get_header(bytes);
    struct trainer_error model;
    if (trainer_model_check(&checkpoint->model, &model) != TRAINER_OK)
        return damaged(err, path, model.text);
    if (version != version_of(&checkpoint->model))
        return damaged(err, path, "experts");
    size_t n = trainer_model_parameters(&checkpoint->model);
    if (get(bytes + AT_COUNT, 8) != n || size != HEADER_BYTES + 4 * n + DIGEST_BYTES)
        return damaged(err, path, "number of parameters");
    size_t finite = count_finite(bytes + HEADER_BYTES, n);
    return finite == n ? TRAINER_OK
                       : trainer_fail(err, TRAINER_ECORRUPT, "%s: damaged checkpoint: parameter %zu is not finite", path, finite);
}

/*
 * Returns the name of the first size in which two models differ; NULL if they are the same. max_tokens is not compared:
 * positions are rotary, so a policy can get longer questions than those it was trained on.
 */
static const char *difference(const struct trainer_model *a, const struct trainer_model *b, int32_t values[2])
{
    const struct {
        const char *name;
        int32_t a, b;
    } sizes[] = {{"tokens", a->tokens, b->tokens},
                 {"width", a->width, b->width},
                 {"layers", a->layers, b->layers},
                 {"heads", a->heads, b->heads},
                 {"mlp", a->mlp, b->mlp},
                 {"previous_token", a->previous_token, b->previous_token},
                 {"experts", a->experts, b->experts},
                 {"experts_per_token", a->experts_per_token, b->experts_per_token},
                 {"renormalise", a->renormalise, b->renormalise}};
    /* for models without experts, the settings of experts do not matter */
    size_t n = sizeof sizes / sizeof *sizes - (a->experts == 0 && b->experts == 0 ? 2 : 0);
    for (size_t i = 0; i < n; i++)
        if (sizes[i].a != sizes[i].b) {
            values[0] = sizes[i].a;
            values[1] = sizes[i].b;
            return sizes[i].name;
        }
    return NULL;
}

static enum trainer_status check_shape(const char *path, const struct trainer_model *model, const struct trainer_model *wanted,
                                       struct trainer_error *err)
{
    int32_t values[2];
    const char *name = difference(model, wanted, values);
    if (name)
        return trainer_fail(err, TRAINER_ESHAPE, "%s: checkpoint of another model: %s is %d, the recipe wants %d", path, name,
                            values[0], values[1]);
    if (model->rope_base < wanted->rope_base || model->rope_base > wanted->rope_base)
        return trainer_fail(err, TRAINER_ESHAPE, "%s: checkpoint of another model: rope_base is %g, the recipe wants %g", path,
                            model->rope_base, wanted->rope_base);
    return TRAINER_OK;
}

/*
 * Reads the whole file, for check_file. Its length is limited to what its header announces, because a header that names few
 * parameters may be followed by a terabyte of nothing. Short files are always read, so that damage is reported as such.
 */
static unsigned char *read_file(const char *path, size_t *size, enum trainer_status *status, struct trainer_error *err)
{
    struct file_bounds bounds = {HEADER_BYTES + DIGEST_BYTES, (size_t)64 << 20};
    unsigned char header[HEADER_BYTES];
    *status = atomic_file_head(path, "checkpoint", header, sizeof header, err);
    if (*status != TRAINER_OK)
        return NULL;
    struct trainer_model model = get_header(header).model;
    if (trainer_model_check(&model, NULL) == TRAINER_OK) {
        size_t announced = HEADER_BYTES + 4 * trainer_model_parameters(&model) + DIGEST_BYTES;
        bounds.most = announced > bounds.most ? announced : bounds.most;
    }
    return atomic_file_read(path, "checkpoint", &bounds, size, status, err);
}

/*
 * wanted: the shape that the caller needs, or NULL for any. Parameters are written last, so that they are unchanged if
 * the file is refused.
 */
static enum trainer_status load(const char *path, const struct trainer_model *wanted, struct trainer_checkpoint *checkpoint,
                                float *params, size_t capacity, struct trainer_error *err)
{
    enum trainer_status status;
    size_t size = 0;
    unsigned char *bytes = read_file(path, &size, &status, err);
    if (status == TRAINER_OK)
        status = check_file(path, bytes, size, checkpoint, err);
    if (status == TRAINER_OK && wanted)
        status = check_shape(path, &checkpoint->model, wanted, err);
    size_t n = status == TRAINER_OK ? trainer_model_parameters(&checkpoint->model) : 0;
    if (wanted && n > capacity)
        n = capacity; /* the models differ only by the value head, which comes last */
    if (status == TRAINER_OK && params && n > capacity)
        status = trainer_fail(err, TRAINER_EINVAL, "%s: %zu parameters, room for %zu", path, n, capacity);
    for (size_t i = 0; status == TRAINER_OK && params && i < n; i++) {
        uint32_t bits = (uint32_t)get(bytes + HEADER_BYTES + 4 * i, 4);
        memcpy(&params[i], &bits, sizeof bits);
    }
    for (size_t i = n; status == TRAINER_OK && params && wanted && i < capacity; i++)
        params[i] = 0;
    free(bytes);
    return status;
}

enum trainer_status trainer_checkpoint_load(const char *path, struct trainer_checkpoint *checkpoint, float *params,
                                            size_t capacity, struct trainer_error *err)
{
    return load(path, NULL, checkpoint, params, capacity, err);
}

enum trainer_status trainer_checkpoint_kernels(const char *path, char kernels[TRAINER_KERNELS_MAX], struct trainer_error *err)
{
    struct trainer_checkpoint checkpoint;
    enum trainer_status status;
    size_t size = 0;
    unsigned char *bytes = read_file(path, &size, &status, err);
    if (status == TRAINER_OK)
        status = check_file(path, bytes, size, &checkpoint, err);
    if (status == TRAINER_OK)
        snprintf(kernels, TRAINER_KERNELS_MAX, "%.*s", (int)KERNELS_BYTES, (char *)bytes + AT_KERNELS);
    free(bytes);
    return status;
}

enum trainer_status trainer_checkpoint_load_as(const char *path, const struct trainer_model *model, float *params,
                                               uint64_t *steps, struct trainer_error *err)
{
    struct trainer_checkpoint checkpoint;
    TRY(load(path, model, &checkpoint, params, trainer_model_parameters(model), err));
    if (steps)
        *steps = checkpoint.steps;
    return TRAINER_OK;
}
