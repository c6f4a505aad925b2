#include "plan/planning.h"

#include <stdio.h>
#include <string.h>

static const char *const sums[] = {"requests", "replayed", "prompt_tokens", "completion_tokens", "seconds", NULL};

static double amount(const json_t *cost, const char *name)
{
    double value = json_number_value(json_object_get(cost, name));
    return value >= 0 && value < 1e15 ? value : 0; /* also not for nan */
}

static void add(struct planning *planning, const json_t *cost)
{
    static const char *const texts[] = {"model", "exchange", NULL};
    if (!planning->cost)
        planning->cost = json_object();
    for (size_t i = 0; sums[i]; i++) {
        double sum = amount(planning->cost, sums[i]) + amount(cost, sums[i]);
        json_object_set_new(planning->cost, sums[i], json_real(sum));
    }
    for (size_t i = 0; texts[i]; i++)
        if (json_is_string(json_object_get(cost, texts[i])))
            json_object_set(planning->cost, texts[i], json_object_get(cost, texts[i]));
    planning->tokens_reported += (uint64_t)(amount(cost, "prompt_tokens") + amount(cost, "completion_tokens"));
}

void planner_cost_take(struct planning *planning)
{
    for (size_t i = 0; i < json_array_size(planning->answers);) {
        const json_t *answer = json_array_get(planning->answers, i);
        const json_t *cost = json_object_size(answer) == 1 ? json_object_get(answer, "cost") : NULL;
        if (!json_is_object(cost)) {
            i++;
            continue;
        }
        add(planning, cost);
        json_array_remove(planning->answers, i);
    }
}

/* If the lines could not be written, what this execution used is counted all the same. */
static uint64_t tokens_used(struct planning *planning)
{
    spent_tokens_read(&planning->spent, planning->list->store, planning->list->sweep.name);
    return planning->spent.sum > planning->tokens_reported ? planning->spent.sum : planning->tokens_reported;
}

uint64_t planner_cost_tokens_left(struct planning *planning)
{
    uint64_t used = tokens_used(planning);
    return used < planning->tokens ? planning->tokens - used : 0;
}

bool planner_cost_is_too_high(struct planning *planning)
{
    if (!planning->tokens || planner_cost_tokens_left(planning) > 0)
        return false;
    if (planning->planner)
        fprintf(stderr,
                "lineage: the planner has used %llu tokens, and the sweep has %zu (--agent-tokens); the proposer takes over\n",
                (unsigned long long)tokens_used(planning), planning->tokens);
    planning->planner = NULL;
    return true;
}
