/*
 * The types and numbers are those of nvml.h, which has been binary compatible since version 2 of each function. No header
 * and no library of NVIDIA is needed to build or to run.
 */
#include "trial/gpu_memory.h"

#include <dlfcn.h>
#include <limits.h>

#include "cli.h"

enum { NVML_SUCCESS = 0, NVML_ERROR_INSUFFICIENT_SIZE = 7 };

/* A driver may list this many processes of one GPU; beyond it, the list is read in part. */
enum { PROCESSES_MAX = 512 };

/* nvmlProcessInfo_t since version 2 of the functions that list processes. */
struct nvml_process {
    unsigned pid;
    unsigned long long used; /* bytes; all ones if the driver does not know them */
    unsigned gpu_instance, compute_instance;
};

typedef int nvml_list_fn(void *device, unsigned *n, struct nvml_process *processes);

struct nvml {
    void *library;
    int (*shutdown)(void);
    int (*device_count)(unsigned *n);
    int (*device_at)(unsigned i, void **device);
    nvml_list_fn *compute, *graphics; /* graphics: NULL if the driver has no such function */
    struct nvml_process processes[PROCESSES_MAX];
};

/* Version 3 came with driver 510, version 2 with driver 450. */
static void *newest(void *library, const char *v3, const char *v2)
{
    void *function = dlsym(library, v3);
    return function ? function : dlsym(library, v2);
}

static struct nvml *load(void)
{
    struct nvml *nvml = calloc(1, sizeof *nvml);
    unsigned n = 0;
    if (!nvml)
        return NULL;
    char why[256]; /* not shown: most machines have no GPU */
    nvml->library = cli_load_library("libnvidia-ml.so.1", RTLD_LOCAL, why, sizeof why);
    if (!nvml->library) {
        free(nvml);
        return NULL;
    }
    int (*init)(void) = NULL;
    *(void **)&init = dlsym(nvml->library, "nvmlInit_v2");
    *(void **)&nvml->shutdown = dlsym(nvml->library, "nvmlShutdown");
    *(void **)&nvml->device_count = dlsym(nvml->library, "nvmlDeviceGetCount_v2");
    *(void **)&nvml->device_at = dlsym(nvml->library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&nvml->compute =
        newest(nvml->library, "nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2");
    *(void **)&nvml->graphics =
        newest(nvml->library, "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2");
    if (init && nvml->shutdown && nvml->device_count && nvml->device_at && nvml->compute && init() == NVML_SUCCESS) {
        if (nvml->device_count(&n) == NVML_SUCCESS && n > 0)
            return nvml;
        nvml->shutdown();
    }
    dlclose(nvml->library);
    free(nvml);
    return NULL;
}

bool gpu_memory_ready(struct gpu_memory *gpu)
{
    if (!gpu->nvml && !gpu->missing) {
        gpu->nvml = load();
        gpu->missing = !gpu->nvml;
    }
    return gpu->nvml != NULL;
}

static bool has(const struct process_tree *tree, unsigned pid)
{
    for (size_t i = 0; i < tree->n; i++)
        if ((unsigned)tree->at[i].pid == pid)
            return true;
    return false;
}

/* A process that both computes and draws is in both lists with the same number, which counts once. */
static double of_device(struct nvml *nvml, void *device, const struct process_tree *tree)
{
    nvml_list_fn *const lists[] = {nvml->compute, nvml->graphics};
    unsigned seen[PROCESSES_MAX], n_seen = 0;
    double bytes = 0;
    for (int l = 0; l < 2 && lists[l]; l++) {
        unsigned n = PROCESSES_MAX;
        int status = lists[l](device, &n, nvml->processes);
        if (status != NVML_SUCCESS && status != NVML_ERROR_INSUFFICIENT_SIZE)
            continue;
        for (unsigned i = 0; i < n && i < PROCESSES_MAX; i++) {
            const struct nvml_process *process = &nvml->processes[i];
            bool again = false;
            for (unsigned k = 0; k < n_seen; k++)
                again = again || seen[k] == process->pid;
            if (again || process->used == ULLONG_MAX || !has(tree, process->pid))
                continue;
            bytes += (double)process->used;
            if (n_seen < PROCESSES_MAX)
                seen[n_seen++] = process->pid;
        }
    }
    return bytes;
}

double gpu_memory_read(struct gpu_memory *gpu, const struct process_tree *tree)
{
    unsigned n = 0;
    void *device;
    double bytes = 0;
    if (!gpu->nvml || gpu->nvml->device_count(&n) != NVML_SUCCESS)
        return 0;
    for (unsigned i = 0; i < n; i++)
        if (gpu->nvml->device_at(i, &device) == NVML_SUCCESS)
            bytes += of_device(gpu->nvml, device, tree);
    return bytes;
}

void gpu_memory_release(struct gpu_memory *gpu)
{
    if (gpu->nvml) {
        gpu->nvml->shutdown();
        dlclose(gpu->nvml->library);
    }
    free(gpu->nvml);
    *gpu = (struct gpu_memory){0};
}
