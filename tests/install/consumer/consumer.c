/*
 * consumer.c: checks an installation: trains a policy and appends to a store through the installed headers and
 * libraries.
 */
#include <stdio.h>

#include <lineage/query.h>
#include <lineage/store.h>
#include <rlcore/status.h>
#include <trainer/train.h>

/* The libraries also have an internal function of this name; a program may define its own. */
int objective(void);
int objective(void)
{
    return 0;
}

/* Trains one iteration from random weights, on strings of one token. */
static int train(void)
{
    struct trainer_recipe recipe;
    struct trainer_error err;
    trainer_recipe_init(&recipe);
    recipe.threads = 1;
    recipe.warm_start.steps = 0;
    recipe.training.iterations = 1;
    recipe.evaluation.questions = 8;
    trainer_env_init(&recipe.tasks[0].env, TRAINER_REVERSE);
    recipe.tasks[0].env.k_min = recipe.tasks[0].env.k_max = 1;
    if (trainer_recipe_check(&recipe, &err) == TRAINER_OK && trainer_run(&recipe, NULL, &err) == TRAINER_OK)
        return objective();
    fprintf(stderr, "%s\n", err.text);
    return 1;
}

static int append_and_read(struct lineage_store *store)
{
    struct lineage_error err;
    const struct lineage_trial trial = {.hypothesis = "wider clip", .status = LINEAGE_KEEP, .core_metric = {true, 34.5}};
    struct lineage_trial best = {0};
    if (lineage_store_append(store, &trial, NULL, NULL, &err) != LINEAGE_OK || lineage_best(store, &best, &err) != LINEAGE_OK) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("%s %s %s\n", best.exp_id, best.hypothesis, rl_status_text(RL_OK));
    lineage_trial_release(&best);
    return 0;
}

int main(int argc, char **argv)
{
    struct lineage_store *store;
    struct lineage_error err;
    if (argc != 2 || lineage_store_open(&store, argv[1], NULL, &err) != LINEAGE_OK)
        return 1;
    int status = train() || append_and_read(store);
    lineage_store_close(store);
    return status;
}
