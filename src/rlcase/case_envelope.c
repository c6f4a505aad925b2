/* case_envelope.c: `lineage core envelope`. */
#include <rlcore/envelope.h>

#include "case_call.h"

/* Defaults follow from the size of the model; a case replaces the numbers that it knows better. */
static struct rl_envelope_run read_run(struct case_call *call)
{
    static const char *const trainings[] = {"none", "lora", "all", NULL};
    struct rl_envelope_run run;
    double parameters = case_number(call, "parameters");
    int training = case_present(call, "training") ? case_choice(call, "training", trainings) : RL_TRAIN_LORA;
    if (training == RL_TRAIN_ALL)
        rl_envelope_small(&run, parameters, 0);
    else
        rl_envelope_lora(&run, parameters);
    run.training = (enum rl_training)training;
    const struct {
        const char *name;
        double *value;
    } fields[] = {{"bytes_per_parameter", &run.bytes_per_parameter},
                  {"lora_factor", &run.lora_factor},
                  {"optimizer_states", &run.optimizer_states},
                  {"optimizer_bytes", &run.optimizer_bytes},
                  {"activation_bytes", &run.activation_bytes},
                  {"n_layers", &run.n_layers},
                  {"kv_width", &run.kv_width},
                  {"kv_bytes", &run.kv_bytes},
                  {"context", &run.context},
                  {"sequences", &run.sequences},
                  {"gain_forward_bytes", &run.gain_forward_bytes},
                  {"retriever_bytes", &run.retriever_bytes}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *fields[i].value = case_number_or(call, fields[i].name, *fields[i].value);
    return run;
}

/*
 * A measured cache replaces the computed one, because frameworks page and share memory that the
 * formula counts in full.
 */
void case_envelope(struct case_call *call)
{
    struct rl_envelope_run shape = read_run(call);
    double bytes[RL_ENVELOPE_PARTS] = {0}, capacity = case_number(call, "capacity_bytes");
    struct rl_envelope out;
    CASE_RUN(call, rl_envelope_measure(&shape, bytes, &call->err));
    bytes[RL_ENVELOPE_KV_CACHE] = case_number_or(call, "kv_cache_bytes", bytes[RL_ENVELOPE_KV_CACHE]);
    CASE_RUN(call, rl_envelope_judge(bytes, capacity, &out, &call->err));
    if (call->failed)
        return;
    json_t *parts = json_object();
    for (int i = 0; i < RL_ENVELOPE_PARTS; i++)
        json_object_set_new(parts, rl_envelope_part_name((enum rl_envelope_part)i), case_real_value(bytes[i]));
    case_put(call, "bytes", parts);
    case_put_number(call, "total_bytes", out.total);
    case_put(call, "fits", json_boolean(out.fits));
    case_put(call, "largest", json_string(rl_envelope_part_name(out.largest)));
    case_put(call, "message", json_string(out.text));
}
