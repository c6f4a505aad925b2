/*
 * warm_start.c: see warm_start.h. Demonstrations are generated when they are needed, from seed and step, and never
 * repeat. So no data set has to be stored, and none can be overfitted. The resulting policy can follow some chains and
 * not others, as reinforcement learning needs: if the policy got all chains right, or none, rewards would carry no
 * signal.
 */
#include "learn/warm_start.h"

#include "support/carve.h"
#include "support/error.h"
#include "support/rng.h"

struct demos {
    size_t n, width;
    int32_t *tokens, *length;
    uint8_t *wanted;
    float *log_prob, *d_log_prob;
};

/* This memory is used only during the warm start, so that runs from a checkpoint never need it. */
static void carve_demos(struct demos *demos, struct carve *block)
{
    size_t n = demos->n * demos->width;
    demos->tokens = carve(block, n, sizeof(int32_t));
    demos->wanted = carve(block, n, 1);
    demos->log_prob = carve(block, n, sizeof(float));
    demos->d_log_prob = carve(block, n, sizeof(float));
    demos->length = carve(block, demos->n, sizeof(int32_t));
}

/*
 * Puts a worked solution of the question in front of some demonstrations. Solutions are not trained on, but a policy
 * that has never seen one could not read it later as a teacher (opsd). The choice has its own random stream, so that
 * the demonstrations themselves are the same as in a recipe without solutions.
 */
static size_t show(const struct demos *demos, const struct trainer_recipe *recipe, const struct trainer_env *env, uint64_t seed,
                   size_t at)
{
    struct trainer_rng rng = {trainer_seed(seed, 'w', 0)};
    if (recipe->warm_start.shown <= 0 || trainer_rng_uniform(&rng) >= recipe->warm_start.shown)
        return 0;
    size_t n = trainer_env_solve(env, trainer_env_demonstrated(seed), demos->tokens + at);
    memset(demos->wanted + at, 0, n);
    return n;
}

/*
 * Goes through the recipe's environments in turn. hopworld's demonstrations have their own range of hops, which
 * includes shorter questions than training has, because policies learn the beginnings of chains first.
 */
static void demonstrate(struct demos *demos, const struct trainer_recipe *recipe, uint64_t step)
{
    for (size_t i = 0; i < demos->n; i++) {
        struct trainer_env env = recipe->tasks[i % (size_t)recipe->n_tasks].env;
        if (env.kind == TRAINER_HOPWORLD) {
            env.k_min = recipe->warm_start.k_min;
            env.k_max = recipe->warm_start.k_max;
        }
        uint64_t seed = trainer_seed(recipe->seed, 'd', step * demos->n + i);
        size_t at = i * demos->width, shown = show(demos, recipe, &env, seed, at);
        at += shown;
        demos->length[i] = (int32_t)(shown + trainer_env_demonstrate(&env, &recipe->warm_start.demo, seed, demos->tokens + at,
                                                                     demos->wanted + at));
    }
}

/*
 * Mean cross-entropy over the wanted tokens, and its gradient. The mean is over all wanted tokens of the batch and not
 * per row, so a long demonstration counts more than a short one.
 */
static double cross_entropy(struct demos *demos)
{
    size_t wanted = 0;
    double loss = 0;
    for (size_t i = 0; i < demos->n; i++)
        for (size_t t = 0; t < (size_t)demos->length[i]; t++)
            wanted += demos->wanted[i * demos->width + t];
    for (size_t i = 0; i < demos->n; i++)
        for (size_t t = 0; t < (size_t)demos->length[i]; t++) {
            size_t at = i * demos->width + t;
            demos->d_log_prob[at] = demos->wanted[at] ? -1 / (float)wanted : 0;
            loss -= demos->wanted[at] ? (double)demos->log_prob[at] : 0;
        }
    return loss / (double)wanted;
}

/*
 * Share of the learning rate at a step. The rate falls to 5 % and not to 0, because the last steps would be wasted with
 * a rate near 0. It has to fall because Muon's steps have a fixed size.
 */
static double share_at(const struct trainer_warm_start *warm, int32_t step)
{
    double begin = warm->warmup > 0 ? fmin(1, (step + 1.0) / warm->warmup) : 1;
    double cosine = 0.5 * (1 + cos(3.141592653589793 * step / warm->steps));
    return begin * (0.95 * cosine + 0.05);
}

/* Uses the clip norm of training, so that a recipe limits updates in one place. */
static enum trainer_status step(struct learner *learner, struct demos *demos, const struct trainer_recipe *recipe, int32_t at,
                                double *loss, struct trainer_error *err)
{
    struct learner_rows rows = {demos->n, demos->width, demos->tokens, demos->length, demos->wanted};
    double norm, share = share_at(&recipe->warm_start, at);
    struct learner_rates rates = {.rate = share * recipe->warm_start.learning_rate,
                                  .matrix_rate = share * recipe->warm_start.matrix_rate,
                                  .clip_norm = recipe->training.clip_norm};
    demonstrate(demos, recipe, (uint64_t)at);
    TRY(learner_forward(learner, learner->params, &rows, demos->log_prob, NULL, err));
    *loss = cross_entropy(demos);
    if (!isfinite(*loss))
        return trainer_fail(err, TRAINER_ENUMERIC, "the loss is not finite");
    return learner_update(learner, demos->d_log_prob, NULL, &rates, &norm, err);
}

/*
 * The betas 0.9 and 0.98 do not come from the recipe, because tuning training.* for the noisier gradients of rewards
 * must not change the policy with which the run starts.
 */
enum trainer_status warm_start(struct learner *learner, const struct trainer_recipe *recipe, warm_step_fn *report, void *context,
                               struct trainer_error *err)
{
    struct demos demos = {.n = (size_t)recipe->warm_start.batch, .width = (size_t)recipe->model.max_tokens};
    struct carve block = {NULL, 0};
    enum trainer_status status = TRAINER_OK;
    carve_demos(&demos, &block);
    size_t bytes = block.used;
    block = (struct carve){carve_block(bytes), 0};
    if (!block.base)
        return trainer_no_memory(err, bytes);
    carve_demos(&demos, &block);
    learner_restart(learner, 0.9, 0.98, 0);
    for (int32_t i = 0; i < recipe->warm_start.steps && status == TRAINER_OK; i++) {
        double loss = 0;
        status = step(learner, &demos, recipe, i, &loss, err);
        if (status != TRAINER_OK)
            (void)trainer_blame(err, status, "warm start, step", i + 1);
        else if (status == TRAINER_OK && !report(context, i + 1, loss))
            status = trainer_fail(err, TRAINER_ESTOPPED, "stopped during the warm start, step %d", i + 1);
    }
    free(block.base);
    return status;
}
