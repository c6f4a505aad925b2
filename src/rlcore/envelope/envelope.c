/*
 * envelope.c: the memory of a run, part by part, and whether it fits.
 *
 * It estimates what a run needs, without the overhead of an allocator. Parts are added in doubles
 * and reported one by one, because the answer to "out of memory" is to know which part to shrink.
 */
#include <rlcore/envelope.h>

#include "support/scratch.h"

const char *rl_envelope_part_name(enum rl_envelope_part part)
{
    static const char *const names[RL_ENVELOPE_PARTS] = {"weights",     "lora",     "gradients",    "optimizer",
                                                         "activations", "kv_cache", "gain_forward", "retriever"};
    return (unsigned)part < RL_ENVELOPE_PARTS ? names[part] : "unknown";
}

/* The number of the part that this name is; RL_ENVELOPE_PARTS: the capacity; -1: none. */
static int find_part(const char *name, size_t length)
{
    for (int part = 0; part < RL_ENVELOPE_PARTS; part++) {
        const char *known = rl_envelope_part_name((enum rl_envelope_part)part);
        if (strlen(known) == length && memcmp(known, name, length) == 0)
            return part;
    }
    return length == strlen("capacity") && memcmp(name, "capacity", length) == 0 ? RL_ENVELOPE_PARTS : -1;
}

enum rl_status rl_envelope_read(const char *text, double *bytes, double *capacity, struct rl_error *err)
{
    double read[RL_ENVELOPE_PARTS + 1] = {0};
    bool seen[RL_ENVELOPE_PARTS + 1] = {false};
    RL_TRY(RL_NEED(err, {"text", text}, {"bytes", bytes}, {"capacity", capacity}));
    const char *at = text;
    do {
        const size_t n = strcspn(at, ",");
        const char *equals = memchr(at, '=', n);
        const int part = equals ? find_part(at, (size_t)(equals - at)) : -1;
        char *end = NULL;
        const double gigabytes = equals ? strtod(equals + 1, &end) : NAN;
        if (part < 0 || end == equals + 1 || end != at + n || !(gigabytes >= 0) || isinf(gigabytes) || seen[part] ||
            (part == RL_ENVELOPE_PARTS && gigabytes <= 0))
            return rl_fail(err, RL_EINVAL,
                           "'%.*s' is not PART=GB, each part once; the parts are weights, lora, gradients, optimizer, "
                           "activations, kv_cache, gain_forward, retriever, and capacity, which is above 0",
                           (int)(n < 80 ? n : 80), at);
        read[part] = gigabytes * 1e9;
        seen[part] = true;
        at += n;
    } while (*at++ == ',');
    memcpy(bytes, read, RL_ENVELOPE_PARTS * sizeof *bytes);
    if (seen[RL_ENVELOPE_PARTS])
        *capacity = read[RL_ENVELOPE_PARTS];
    return RL_OK;
}

/*
 * 2 bytes per parameter: bf16. The factor 1.5 covers the adapter with its gradients and optimizer
 * states; the frozen base model has neither.
 */
void rl_envelope_lora(struct rl_envelope_run *run, double parameters)
{
    *run = (struct rl_envelope_run){
        .parameters = parameters, .bytes_per_parameter = 2, .training = RL_TRAIN_LORA, .lora_factor = 1.5, .kv_bytes = 2};
}

/* Two states: the moments of AdamW, in float like the weights. */
void rl_envelope_small(struct rl_envelope_run *run, double parameters, double activation_bytes)
{
    *run = (struct rl_envelope_run){.parameters = parameters,
                                    .bytes_per_parameter = sizeof(float),
                                    .training = RL_TRAIN_ALL,
                                    .optimizer_states = 2,
                                    .optimizer_bytes = sizeof(float),
                                    .activation_bytes = activation_bytes};
}

static enum rl_status check_run(const struct rl_envelope_run *r, struct rl_error *err)
{
    const struct {
        const char *name;
        double value;
    } fields[] = {{"parameters", r->parameters},
                  {"bytes_per_parameter", r->bytes_per_parameter},
                  {"lora_factor", r->lora_factor},
                  {"optimizer_states", r->optimizer_states},
                  {"optimizer_bytes", r->optimizer_bytes},
                  {"activation_bytes", r->activation_bytes},
                  {"n_layers", r->n_layers},
                  {"kv_width", r->kv_width},
                  {"kv_bytes", r->kv_bytes},
                  {"context", r->context},
                  {"sequences", r->sequences},
                  {"gain_forward_bytes", r->gain_forward_bytes},
                  {"retriever_bytes", r->retriever_bytes}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!(fields[i].value >= 0) || isinf(fields[i].value))
            return rl_fail(err, RL_EINVAL, "%s is %g, negative or not finite", fields[i].name, fields[i].value);
    if ((unsigned)r->training > RL_TRAIN_ALL)
        return rl_fail(err, RL_EINVAL, "training %d is unknown", (int)r->training);
    return RL_OK;
}

/* Products of finite numbers can overflow, so the results are checked as well. */
static enum rl_status check_bytes(const double *bytes, struct rl_error *err)
{
    for (int i = 0; i < RL_ENVELOPE_PARTS; i++)
        if (!(bytes[i] >= 0) || isinf(bytes[i]))
            return rl_fail(err, RL_EINVAL, "%s of %g bytes is not an amount of memory",
                           rl_envelope_part_name((enum rl_envelope_part)i), bytes[i]);
    return RL_OK;
}

enum rl_status rl_envelope_measure(const struct rl_envelope_run *run, double *bytes, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"run", run}, {"bytes", bytes}));
    RL_TRY(check_run(run, err));
    double weights = run->parameters * run->bytes_per_parameter;
    /* A pure evaluation has neither adapter, gradients nor optimizer: both are false. */
    bool lora = run->training == RL_TRAIN_LORA, all = run->training == RL_TRAIN_ALL;
    bytes[RL_ENVELOPE_WEIGHTS] = weights;
    bytes[RL_ENVELOPE_LORA] = lora ? run->lora_factor * weights : 0;
    bytes[RL_ENVELOPE_GRADIENTS] = all ? weights : 0;
    bytes[RL_ENVELOPE_OPTIMIZER] = all ? run->parameters * run->optimizer_states * run->optimizer_bytes : 0;
    bytes[RL_ENVELOPE_ACTIVATIONS] = run->activation_bytes;
    bytes[RL_ENVELOPE_KV_CACHE] =
        /* Factor 2: keys and values. */
        2 * run->n_layers * run->kv_width * run->kv_bytes * run->context * run->sequences;
    bytes[RL_ENVELOPE_GAIN_FORWARD] = run->gain_forward_bytes;
    bytes[RL_ENVELOPE_RETRIEVER] = run->retriever_bytes;
    return check_bytes(bytes, err);
}

/* The unit in which sizes are printed. */
struct unit {
    double bytes;
    const char *name;
};

/* The unit is chosen by the capacity, so that capacity and total are printed in the same unit. */
static struct unit unit_for(double capacity)
{
    return capacity >= 1e9 ? (struct unit){1e9, "GB"} : (struct unit){1e6, "MB"};
}

enum rl_status rl_envelope_judge(const double *bytes, double capacity, struct rl_envelope *out, struct rl_error *err)
{
    RL_TRY(RL_NEED(err, {"bytes", bytes}, {"out", out}));
    RL_TRY(check_bytes(bytes, err));
    if (!(capacity > 0) || isinf(capacity))
        return rl_fail(err, RL_EINVAL, "capacity is %g bytes, not above 0", capacity);
    struct unit unit = unit_for(capacity);
    *out = (struct rl_envelope){.capacity = capacity};
    for (int i = 0; i < RL_ENVELOPE_PARTS; i++) {
        out->total += bytes[i];
        /* If parts are equal the first is reported, so that the text is the same everywhere. */
        out->largest = bytes[i] > bytes[out->largest] ? (enum rl_envelope_part)i : out->largest;
    }
    out->fits = out->total <= capacity;
    snprintf(out->text, sizeof out->text, "%s: %.1f of %.1f %s; the largest part is %s with %.1f %s",
             out->fits ? "fits" : "does not fit", out->total / unit.bytes, capacity / unit.bytes, unit.name,
             rl_envelope_part_name(out->largest), bytes[out->largest] / unit.bytes, unit.name);
    return RL_OK;
}
