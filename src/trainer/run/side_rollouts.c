#include "run/side_rollouts.h"

/* Values of the true answer are measured only on rollouts that are trained on. */
enum trainer_status side_play(struct run *run, const struct rollouts_plan *plan, struct sampler_job job,
                              struct trainer_iteration *metrics, struct trainer_error *err)
{
    job.rollouts = run->side;
    job.values = false;
    rollouts_add(run->side, plan, 0);
    enum trainer_status status = sampler_play(&run->sampler, &job, err);
    metrics->generation_s += job.generation_s;
    metrics->sampled_tokens += job.sampled;
    metrics->fed_tokens += job.fed;
    return status;
}
