/* train_kernels.h: the speed of the trainer's kernels one by one, in the shapes of a model. Part of train_bench. */
#pragma once

#include <stdbool.h>

#include <trainer/policy.h>

struct kernel_rate {
    const char *name; /* "product: queries, keys, values", "attention", ... */
    double flops; /* operations that cannot be avoided, per second: those of causal attention, no padding */
};

enum { TRAIN_KERNELS = 11 };

/* Measures every kernel on one thread and takes its fastest run. Returns false when out of memory. */
bool train_kernels(const struct trainer_model *model, struct kernel_rate rates[TRAIN_KERNELS]);
