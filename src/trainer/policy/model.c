/*
 * model.c: sizes of a model and the layout of its parameters. Parameters are one flat array, so that a checkpoint is
 * one write, an optimizer one loop, and a gradient lane one sum. All layers have the same layout. q, k and v are one
 * matrix, so that one product of 3d columns replaces three.
 */
#include "support/error.h"
#include "policy/layout.h"

void trainer_model_init(struct trainer_model *model)
{
    *model = (struct trainer_model){.tokens = 121,
                                    .width = 64,
                                    .layers = 2,
                                    .heads = 2,
                                    .mlp = 256,
                                    .max_tokens = 80,
                                    .rope_base = 1000,
                                    .previous_token = true,
                                    .experts_per_token = 2,
                                    .renormalise = true};
}

/* The bounds keep every product of sizes within size_t, and within int, which is BLAS's type for sizes. */
static enum trainer_status check_range(const char *name, int32_t value, int32_t most, struct trainer_error *err)
{
    if (value >= 1 && value <= most)
        return TRAINER_OK;
    return trainer_fail(err, TRAINER_EINVAL, "model.%s %d: must be 1..%d", name, value, most);
}

/* The limit of 1024 experts is far more than one would train on a CPU; expert ids have 16 bits. */
static enum trainer_status check_experts(const struct trainer_model *model, struct trainer_error *err)
{
    if (model->experts == 0)
        return TRAINER_OK;
    if (model->experts < 2 || model->experts > 1024)
        return trainer_fail(err, TRAINER_EINVAL, "model.experts %d: must be 0, or 2..1024", model->experts);
    if (model->experts_per_token < 1 || model->experts_per_token > model->experts)
        return trainer_fail(err, TRAINER_EINVAL, "model.experts_per_token %d: must be 1..%d, the number of experts",
                            model->experts_per_token, model->experts);
    return TRAINER_OK;
}

enum trainer_status trainer_model_check(const struct trainer_model *model, struct trainer_error *err)
{
    const struct {
        const char *name;
        int32_t value, most;
    } sizes[] = {{"tokens", model->tokens, 1 << 20}, {"width", model->width, 1 << 14},
                 {"layers", model->layers, 128},     {"heads", model->heads, 256},
                 {"mlp", model->mlp, 1 << 16},       {"max_tokens", model->max_tokens, 1 << 16}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        TRY(check_range(sizes[i].name, sizes[i].value, sizes[i].most, err));
    }
    if (model->width % model->heads != 0 || model->width / model->heads % 2 != 0)
        return trainer_fail(err, TRAINER_EINVAL, "model.width %d: must be heads (%d) times an even number", model->width,
                            model->heads);
    if (!(model->rope_base > 1 && model->rope_base < 1e12))
        return trainer_fail(err, TRAINER_EINVAL, "model.rope_base %g: must be above 1", model->rope_base);
    return check_experts(model, err);
}

struct net_layout net_layout(const struct trainer_model *model)
{
    size_t d = (size_t)model->width, v = (size_t)model->tokens, m = (size_t)model->mlp;
    struct net_layout layout = {.embedding = 0, .previous = v * d};
    layout.layers = layout.previous + (model->previous_token ? v * d : 0);
    layout.per_layer = 2 * d + 4 * d * d + d * (size_t)model->experts + net_mlps(model) * 2 * d * m;
    layout.norm = layout.layers + (size_t)model->layers * layout.per_layer;
    layout.value = layout.norm + d;
    layout.count = layout.value + (model->value_head ? d + 1 : 0);
    return layout;
}

struct net_layer net_layer(const struct trainer_model *model, const struct net_layout *layout, int32_t layer)
{
    size_t d = (size_t)model->width, m = (size_t)model->mlp;
    struct net_layer at = {.norm1 = layout->layers + (size_t)layer * layout->per_layer};
    at.qkv = at.norm1 + d;
    at.out = at.qkv + 3 * d * d;
    at.norm2 = at.out + d * d;
    at.router = at.norm2 + d;
    at.up = at.router + d * (size_t)model->experts;
    at.down = at.up + d * m;
    at.per_expert = 2 * d * m;
    return at;
}

size_t trainer_model_routes(const struct trainer_model *model)
{
    return model->experts > 0 ? (size_t)model->layers * (size_t)model->experts_per_token : 0;
}

size_t trainer_model_parameters(const struct trainer_model *model)
{
    return net_layout(model).count;
}
