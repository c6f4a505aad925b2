/*
 * gpu_memory.h: GPU memory of a trial's processes, as the NVIDIA driver counts it (NVML, which nvidia-smi shows).
 *
 * The library libnvidia-ml.so.1 belongs to the driver and is loaded when a trial is first sampled. Without the driver, or
 * with another vendor's GPU, the answer is 0.
 */
#pragma once

#include <stdbool.h>

#include "trial/process_tree.h"

struct nvml;

/* A zeroed reader has not looked for the library yet. */
struct gpu_memory {
    struct nvml *nvml; /* NULL: not loaded */
    bool missing;      /* there is no library, or it found no GPU */
};

/* Whether there may be a GPU to ask; loads the library in the first call. */
bool gpu_memory_ready(struct gpu_memory *gpu);

/* Returns the bytes that the processes of the tree hold on all GPUs; 0 if the driver does not tell. */
double gpu_memory_read(struct gpu_memory *gpu, const struct process_tree *tree);

void gpu_memory_release(struct gpu_memory *gpu);
