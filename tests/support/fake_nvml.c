/*
 * fake_nvml.c: stands in for the driver's libnvidia-ml.so.1. It has two GPUs. The file FAKE_NVML lists the processes that
 * hold memory, one `GPU PID MEBIBYTES` a line; -1 mebibytes are unknown to the driver. Each question appends a letter to
 * FAKE_NVML.asked.
 */
#include <stdio.h>
#include <stdlib.h>

struct process {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

static int devices[2];

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device);
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *processes);

int nvmlInit_v2(void)
{
    return 0;
}

int nvmlShutdown(void)
{
    return 0;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = 2;
    return 0;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **device)
{
    *device = &devices[i];
    return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *n, struct process *processes)
{
    const char *path = getenv("FAKE_NVML");
    char asked[4096];
    unsigned capacity = *n, pid;
    int gpu;
    long long mebibytes;
    *n = 0;
    FILE *in = path ? fopen(path, "r") : NULL;
    while (in && *n < capacity && fscanf(in, "%d %u %lld", &gpu, &pid, &mebibytes) == 3)
        if (device == &devices[gpu])
            processes[(*n)++] = (struct process){pid, mebibytes < 0 ? ~0ull : (unsigned long long)mebibytes << 20, 0, 0};
    if (in)
        fclose(in);
    snprintf(asked, sizeof asked, "%s.asked", path ? path : "nvml");
    FILE *out = in ? fopen(asked, "a") : NULL;
    if (out) {
        putc('.', out);
        fclose(out);
    }
    return 0;
}
