/*
 * One thread with one poll() watches the trial, because several threads would have to agree on what ended the trial
 * first. The first verdict counts (finish); everything after it only cleans up.
 */
#include "trial/one_trial.h"

#include <dlfcn.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "metrics/line_reader.h"
#include "metrics/metric_lines.h"
#include "trial/process_tree.h"
#include "trial/trial_process.h"

/* ---- GPU memory of a trial's processes, as the NVIDIA driver counts it (NVML, which nvidia-smi shows) ----
 *
 * The library libnvidia-ml.so.1 belongs to the driver and is loaded when a trial is first sampled. Without the driver, or
 * with another vendor's GPU, the answer is 0. The types and numbers are those of nvml.h, which has been binary compatible since
 * version 2 of each function. No header and no library of NVIDIA is needed to build or to run.
 */

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

/* A zeroed reader has not looked for the library yet. */
struct gpu_memory {
    struct nvml *nvml; /* NULL: not loaded */
    bool missing;      /* there is no library, or it found no GPU */
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

/* Whether there may be a GPU to ask; loads the library in the first call. */
static bool gpu_memory_ready(struct gpu_memory *gpu)
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

/* Returns the bytes that the processes of the tree hold on all GPUs; 0 if the driver does not tell. */
static double gpu_memory_read(struct gpu_memory *gpu, const struct process_tree *tree)
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

static void gpu_memory_release(struct gpu_memory *gpu)
{
    if (gpu->nvml) {
        gpu->nvml->shutdown();
        dlclose(gpu->nvml->library);
    }
    free(gpu->nvml);
    *gpu = (struct gpu_memory){0};
}

/* ---- the watch ---- */

/*
 * How often memory and processor time are sampled while one of them is limited: reading a thousand /proc/PID/stat takes a few milliseconds, so this interval catches
 * memory that grows within a second and does not slow down the trial.
 */
enum { LIMIT_INTERVAL_MS = 200 };

/* Interval of memory samples without a limit, when only the peak is recorded. */
enum { PEAK_INTERVAL_MS = 1000 };

/*
 * A program that prints line by line would wake this process for each line. So this process sleeps after a short read,
 * while more output arrives. A long read is followed by the next read at once, because a full pipe would block the
 * program.
 */
enum { NAP_MS = 1, NAP_BELOW = 8192 };

/* How often to check whether the child has ended, if the kernel has no pidfd. */
enum { EXIT_INTERVAL_MS = 50 };

/*
 * This many reads empty the largest pipe. They are enough to get the child's last output, and are bounded because a
 * descendant may keep writing forever.
 */
enum { PIPE_READS = 16 };

/* How far apart the signals for the processes of one job may arrive on a busy machine. */
enum { TOGETHER_MS = 1000 };

/*
 * How long processes that the command leaves behind may take to end by themselves. In `exec > >(tee log)`, what the training
 * printed last arrives a moment after the shell has ended.
 */
enum { AFTER_MS = 1000 };

/* A shell exits with this number plus that of the signal that ended its command. */
enum { SHELL_SIGNAL = 128 };

struct watch {
    const struct trial_job *job;
    struct trial_outcome *outcome;
    struct trial_process process;
    struct line_reader events, printed; /* printed: standard output and standard error, in order of arrival */
    struct metric_lines metrics;
    struct gpu_memory gpu;
    double gpu_looked; /* when GPU memory was sampled last */
    double began;
    double phase_began, phase_limit; /* phase_limit 0: none */
    double cpu_began, cpu_limit;     /* the same for processor seconds */
    double heard;    /* when the last byte arrived, on an output or event pipe */
    bool evaluating; /* the evaluation has begun */
    bool stop;       /* there is a verdict */
    bool scored;     /* a value of the score was read, or its absence was reported */
    bool impatient;  /* the user has interrupted twice */
    size_t read;     /* bytes of output in this round */
    char left[PROCESS_NAME_MAX]; /* a process that ran on after the command; "": none */
    bool after;      /* such a process has printed or reported something */
    bool told;       /* the processes that are left got TERM, and nothing that they report counts */
    uint64_t unreadable, first_unreadable; /* lines of events that cannot be read, and the number of the first of them */
};

/* Sets the verdict. The trial is then ended. */
static void finish(struct watch *w, enum trial_end end)
{
    w->outcome->end = end;
    w->stop = true;
}

/* Sets the verdict for a time limit. used is 0 if the trial was not measured, but stopped at the limit. */
static void finish_overrun(struct watch *w, enum trial_end end, bool processor, double used)
{
    w->outcome->processor = processor;
    w->outcome->used = used;
    finish(w, end);
}

/* The control group, or the process tree if there is none. */
static double sample_cpu(const struct watch *w)
{
    struct process_tree tree;
    double seconds = trial_process_is_grouped(&w->process) ? trial_cgroup_cpu(&w->process.group) : 0;
    if (seconds > 0)
        return seconds;
    if (w->job->guarded)
        process_tree_read(&tree, w->process.pid);
    else
        process_tree_read_group(&tree, w->process.pid);
    seconds = process_tree_seconds(&tree, w->process.pid);
    process_tree_release(&tree);
    return seconds;
}

static bool limits_cpu(const struct watch *w)
{
    return w->job->settings.train_cpu_seconds > 0 || w->job->settings.eval_cpu_seconds > 0;
}

/*
 * Compares the processor seconds of the current phase with their limit. This is also called when the command has ended
 * and when the evaluation begins, so that time between two samples is counted too.
 */
static void judge_cpu(struct watch *w)
{
    if (w->stop || w->cpu_limit <= 0)
        return;
    double used = sample_cpu(w) - w->cpu_began;
    if (used > w->cpu_limit)
        finish_overrun(w, w->evaluating ? TRIAL_EVAL_OVERRUN : TRIAL_TRAIN_OVERRUN, true, used);
}

/* ---- what it reports ---- */

/*
 * The first phase "eval" ends the training and begins the evaluation with its own time limit; evaluations during
 * training are reported as steps of training and count as training. Work after "done", for example writing a
 * checkpoint, has no limit. The times that the child reports are compared with the limits, because this process may
 * have read the report late.
 */
static void change_phase(struct watch *w, const struct trial_event *event)
{
    const struct trial_settings *limits = &w->job->settings;
    if (strcmp(event->phase, TRIAL_PHASE_EVAL) == 0 && !w->evaluating) {
        judge_cpu(w);
        w->evaluating = true;
        w->phase_began = cli_now();
        w->phase_limit = limits->eval_seconds;
        w->cpu_limit = limits->eval_cpu_seconds;
        if (w->cpu_limit > 0)
            w->cpu_began = sample_cpu(w);
        if (!w->stop && limits->train_seconds > 0 && event->train_s > limits->train_seconds)
            finish_overrun(w, TRIAL_TRAIN_OVERRUN, false, event->train_s);
    } else if (strcmp(event->phase, TRIAL_PHASE_DONE) == 0) {
        judge_cpu(w);
        w->phase_limit = w->cpu_limit = 0;
        if (!w->stop && limits->eval_seconds > 0 && event->eval_s > limits->eval_seconds)
            finish_overrun(w, TRIAL_EVAL_OVERRUN, false, event->eval_s);
    }
}

static void take_event(struct watch *w, struct trial_event *event)
{
    event->after_end = w->after ? w->left : NULL;
    w->scored = w->scored || event->has_score || event->lost_score;
    if (event->failed) {
        w->outcome->failure = event->failure;
        snprintf(w->outcome->text, sizeof w->outcome->text, "%s", event->failed);
    }
    if (event->phase)
        change_phase(w, event);
    if (w->job->event)
        w->job->event(w->job->context, event);
    if (!w->stop && w->job->event && w->job->hopeless &&
        w->job->hopeless(w->job->context, event, w->outcome->text, sizeof w->outcome->text))
        finish(w, TRIAL_PRUNED);
    if (event->not_finite && w->job->settings.stop_on_nan) {
        snprintf(w->outcome->text, sizeof w->outcome->text, "%.80s is not a finite number", event->not_finite);
        finish(w, TRIAL_NOT_FINITE);
    }
}

static bool is_blank_line(const char *text, size_t length)
{
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    return length == 0;
}

static void hide_members(struct watch *w, json_t *line, const struct trial_event *event)
{
    if (w->job->held)
        held_out_hide_members(w->job->held, line, event, &w->job->settings.metrics, w->job->settings.score);
}

/*
 * Lines after a verdict or after TERM are ignored, because the last lines of a stopped trial would otherwise change the reason
 * and the score. Lines that are not events are counted: a score or a failure may have been in them.
 */
static void take_event_line(void *context, const char *text, size_t length)
{
    struct watch *w = context;
    struct trial_event event;
    const bool over = w->stop || w->told;
    json_t *line = over ? NULL : event_line_read(&event, text, length, w->job->settings.score);
    if (line && w->job->held) {
        held_out_take_event(w->job->held, line, &event);
        hide_members(w, line, &event);
    }
    if (!line) {
        if (!over && !is_blank_line(text, length) && w->unreadable++ == 0)
            w->first_unreadable = w->events.n_lines;
        return;
    }
    take_event(w, &event);
    json_decref(line);
}

static void take_printed_line(void *context, const char *text, size_t length)
{
    struct watch *w = context;
    struct trial_event event;
    const bool enough = w->job->line && !w->stop && !w->job->line(w->job->context, text, length);
    if (!w->stop && !w->told && metric_lines_read(&w->metrics, &event, text, length)) {
        hide_members(w, w->metrics.line, &event);
        take_event(w, &event);
    }
    if (enough && !w->stop)
        finish(w, TRIAL_PRUNED);
}

/*
 * Reads events. Running out of memory counts as the end of the pipe: the trial continues and is judged by its exit
 * status.
 */
static bool read_events(struct watch *w)
{
    size_t n = w->process.events >= 0 ? line_reader_read(&w->events, &w->process.events) : 0;
    if (n) {
        w->heard = cli_now();
        w->after = w->left[0] != '\0';
        line_reader_each(&w->events, take_event_line, w);
    }
    return n > 0;
}

/* Shows and keeps whole lines, in which nothing that is held out is left. all: also the last one, which has no end. */
static void show_without_held(struct watch *w, bool all)
{
    struct line_reader *reader = &w->printed;
    size_t n = reader->length;
    while (!all && n && reader->bytes[n - 1] != '\n' && reader->bytes[n - 1] != '\r')
        n--;
    char *copy = n ? malloc(n) : NULL;
    if (!copy)
        return;
    held_out_take_lines(w->job->held, reader->bytes, n);
    memcpy(copy, reader->bytes, n);
    held_out_hide(w->job->held, copy, n);
    w->job->output(w->job->context, copy, n);
    free(copy);
}

/*
 * Output is first shown and kept, whether or not it holds metrics. A program may print gigabytes of short lines, so
 * lines are only parsed one by one if they may contain a metric.
 */
static bool read_output(struct watch *w)
{
    struct line_reader *reader = &w->printed;
    size_t n = w->process.printed >= 0 ? line_reader_read(reader, &w->process.printed) : 0;
    if (!n)
        return false;
    w->heard = cli_now();
    w->after = w->left[0] != '\0';
    const bool held = w->job->held && w->job->held->name;
    if (held)
        show_without_held(w, false);
    else
        w->job->output(w->job->context, reader->bytes + reader->length - n, n);
    if (held || metric_lines_may_be_in(&w->metrics, reader->bytes, reader->length) || w->job->line)
        line_reader_each_printed(reader, take_printed_line, w);
    else
        line_reader_skip(reader);
    w->read += n;
    return true;
}

/* Takes the last lines of a program whose output does not end with a line end. */
static void take_last_lines(struct watch *w)
{
    line_reader_last(&w->events, take_event_line, w);
    if (w->job->held && w->job->held->name)
        show_without_held(w, true);
    line_reader_last(&w->printed, take_printed_line, w);
}

/* ---- time ---- */

/*
 * Returns the milliseconds until the limit, counted from `from`; -1 without a limit. One millisecond is added, because
 * 0.4 would be rounded to 0 and poll would not sleep at all.
 */
static int milliseconds_left(double from, double limit)
{
    double left = from + limit - cli_now();
    if (limit <= 0)
        return -1;
    return left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1000) + 1;
}

static int time_left(const struct watch *w)
{
    return milliseconds_left(w->phase_began, w->phase_limit);
}

static int silence_left(const struct watch *w)
{
    return milliseconds_left(w->heard, w->job->settings.silence_seconds);
}

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static int sample_interval(const struct watch *w)
{
    bool limited = w->job->settings.memory_bytes > 0 || limits_cpu(w);
    return limited ? LIMIT_INTERVAL_MS : w->job->guarded ? PEAK_INTERVAL_MS : -1;
}

/* Returns the longest time to sleep: until a limit is reached or something must be checked again. */
static int patience(const struct watch *w)
{
    int most = sooner(sample_interval(w), sooner(time_left(w), silence_left(w)));
    if (!w->scored)
        most = sooner(most, milliseconds_left(w->began, 60 * w->job->settings.score_minutes));
    if (w->job->turn_seconds > 0)
        most = sooner(most, (int)(fmin(w->job->turn_seconds, 1e6) * 1000) + 1);
    return w->process.notice < 0 ? sooner(most, EXIT_INTERVAL_MS) : most;
}

/* The GPU is sampled no more often than needed for its peak, because each sample asks the driver. */
static void sample_gpu(struct watch *w, const struct process_tree *tree)
{
    if (!w->job->guarded || cli_now() - w->gpu_looked < 1e-3 * PEAK_INTERVAL_MS || !gpu_memory_ready(&w->gpu))
        return;
    w->gpu_looked = cli_now();
    w->outcome->peak_gpu_bytes = fmax(w->outcome->peak_gpu_bytes, gpu_memory_read(&w->gpu, tree));
}

/* Returns the resident bytes; 0 without /proc. */
static double sample_memory(struct watch *w)
{
    struct process_tree tree;
    if (w->job->guarded)
        process_tree_read(&tree, w->process.pid);
    else
        process_tree_read_group(&tree, w->process.pid);
    double bytes = process_tree_memory(&tree);
    sample_gpu(w, &tree);
    process_tree_release(&tree);
    return bytes;
}

/*
 * The peak is recorded before it is compared with the limit, so that the row of an overrun contains it. In a control
 * group the kernel enforces the limit.
 */
static void look_at_memory(struct watch *w)
{
    bool grouped = trial_process_is_grouped(&w->process);
    double bytes = !grouped || (w->job->guarded && !w->gpu.missing) ? sample_memory(w) : 0;
    if (grouped)
        bytes = trial_cgroup_memory(&w->process.group);
    if (bytes > w->outcome->peak_bytes)
        w->outcome->peak_bytes = bytes;
    if (!grouped && w->job->settings.memory_bytes > 0 && bytes > w->job->settings.memory_bytes)
        finish(w, TRIAL_MEMORY_OVERRUN);
}

/*
 * Sleeps until something happens. Returns false if a signal interrupted poll, because the state of the descriptors is
 * then unknown.
 */
static bool wait_for_news(struct watch *w, bool *interrupted, int milliseconds)
{
    struct pollfd fds[] = {{w->process.events, POLLIN, 0},
                           {w->process.printed, POLLIN, 0},
                           {*interrupted ? -1 : w->job->interrupts->fd, POLLIN, 0},
                           {w->process.notice, POLLIN, 0}};
    if (w->read > 0 && w->read < NAP_BELOW)
        poll(NULL, 0, NAP_MS);
    w->read = 0;
    if (poll(fds, sizeof fds / sizeof *fds, milliseconds) < 0)
        return false;
    if (fds[0].revents)
        read_events(w);
    if (fds[1].revents)
        read_output(w);
    *interrupted = *interrupted || fds[2].revents;
    return true;
}

/* A name that the program does not print is otherwise only noticed after hours. */
static void warn_without_score(struct watch *w)
{
    char looked[TRIAL_TEXT_MAX], text[TRIAL_TEXT_MAX + 100];
    if (w->scored || milliseconds_left(w->began, 60 * w->job->settings.score_minutes) != 0)
        return;
    w->scored = true;
    metric_lines_describe(&w->metrics, looked, sizeof looked);
    snprintf(text, sizeof text, "no value of the score after %g minutes: %s", w->job->settings.score_minutes, looked);
    cli_say(text);
}

static void judge_time(struct watch *w)
{
    warn_without_score(w);
    if (time_left(w) == 0)
        finish_overrun(w, w->evaluating ? TRIAL_EVAL_OVERRUN : TRIAL_TRAIN_OVERRUN, false, 0);
    else if (silence_left(w) == 0)
        finish(w, TRIAL_SILENT);
}

/* Clears a failure that the trial reported just before, because the interrupt is the reason for its end. */
static void be_interrupted(struct watch *w)
{
    w->outcome->text[0] = '\0';
    finish(w, TRIAL_INTERRUPTED);
}

/*
 * A scheduler that takes a machine back signals all processes of a job, in any order. If a signal that interrupts ended the
 * command, this process therefore waits a moment for its own signal, because the trial would otherwise count as a crash.
 */
static bool interrupt_follows(const struct watch *w)
{
    const int state = w->process.state;
    const int number = WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state) - SHELL_SIGNAL;
    if (!interrupts_include(number))
        return false;
    poll(NULL, 0, TOGETHER_MS); /* the signal itself ends the wait */
    return interrupts_came(w->job->interrupts);
}

static void call_turn(const struct watch *w)
{
    if (w->job->turn)
        w->job->turn(w->job->context);
}

/*
 * The trial ends when the child exits, not at the end of its pipe: a process that the child leaves behind may hold the
 * pipe open forever, and a child may close the pipe at once. Output that was written before the exit is still in the
 * pipe and is read below.
 *
 * In each round, reports are read before time limits are checked, because a trial that reported the end of its training
 * in time must not be stopped because the report was read late. An interrupt takes precedence over anything that the
 * child did at the same moment.
 */
static void keep_watch(struct watch *w)
{
    double looked = w->began;
    bool interrupted = false;
    while (!w->stop) {
        if (!wait_for_news(w, &interrupted, patience(w)))
            continue;
        if (sample_interval(w) > 0 && cli_now() - looked >= 1e-3 * sample_interval(w)) {
            look_at_memory(w);
            judge_cpu(w);
            looked = cli_now();
        }
        trial_process_look(&w->process);
        call_turn(w);
        if (!w->stop && (interrupted || (w->process.ended && interrupt_follows(w))))
            be_interrupted(w);
        else if (!w->stop && w->process.ended) {
            judge_cpu(w);
            break;
        } else if (!w->stop)
            judge_time(w);
    }
    for (int i = 0; i < PIPE_READS && !w->stop && read_events(w); i++)
        continue;
    for (int i = 0; i < PIPE_READS && read_output(w); i++)
        continue;
}

/* ---- its end ---- */

/*
 * A command that exited with status 0 but did not write its artifacts has not finished. Artifacts are not checked after
 * a crash, where a missing file says nothing new.
 */
static void judge_artifacts(struct watch *w)
{
    struct trial_outcome *outcome = w->outcome;
    for (size_t i = 0; i < w->job->n_artifacts && outcome->end == TRIAL_FINISHED; i++) {
        const struct trial_artifact *artifact = &w->job->artifacts[i];
        struct stat st;
        if (stat(artifact->path, &st) != 0) {
            outcome->end = TRIAL_FAILED;
            snprintf(outcome->text, sizeof outcome->text, "it did not leave %.400s behind", artifact->path);
        } else if (artifact->max_bytes > 0 && (double)st.st_size > artifact->max_bytes) {
            outcome->end = TRIAL_ARTIFACT_OVERRUN;
            snprintf(outcome->text, sizeof outcome->text, "%.400s has %lld bytes, %.0f are allowed", artifact->path,
                     (long long)st.st_size, artifact->max_bytes);
        }
    }
}

/* Exit status 0 after a reported failure is a failure: the report is more reliable than the exit status. */
static void judge(struct watch *w, int state)
{
    struct trial_outcome *outcome = w->outcome;
    char status[96];
    trial_label_status(status, sizeof status, WIFEXITED(state) ? WEXITSTATUS(state) : 0);
    outcome->exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    if (WIFSIGNALED(state)) {
        outcome->end = TRIAL_SIGNALLED;
        outcome->signal = WTERMSIG(state);
    } else if (outcome->exit_status == 0 && !outcome->text[0]) {
        outcome->end = TRIAL_FINISHED;
        judge_artifacts(w);
    } else {
        outcome->end = TRIAL_FAILED;
        outcome->unexplained = !outcome->text[0];
        if (!outcome->text[0])
            snprintf(outcome->text, sizeof outcome->text, "the trial left with exit status %d%s and did not say why",
                     outcome->exit_status, status);
    }
}

/* If the kernel killed a process for lack of memory, this becomes the reason why the trial ended. */
static void judge_memory(struct watch *w, const struct trial_cgroup_usage *usage)
{
    struct trial_outcome *outcome = w->outcome;
    if (!usage->oom_kills || (outcome->end != TRIAL_SIGNALLED && outcome->end != TRIAL_FAILED))
        return;
    outcome->end = TRIAL_MEMORY_OVERRUN;
    outcome->out_of_memory = true;
    if (w->job->settings.memory_bytes > 0)
        snprintf(outcome->text, sizeof outcome->text, "out of memory: cgroup limit %.0f bytes, peak %.0f",
                 w->job->settings.memory_bytes, outcome->peak_bytes);
    else
        snprintf(outcome->text, sizeof outcome->text, "out of memory: the kernel ended it, peak %.0f bytes", outcome->peak_bytes);
}

/* Called after the guardian has reported that no process is left, or after the guardian itself has exited. */
static void settle_group(struct watch *w)
{
    struct trial_cgroup_usage usage;
    if (!trial_process_is_grouped(&w->process))
        return;
    int left = trial_cgroup_clear(&w->process.group);
    if (left && !w->process.guardian.unseen)
        w->process.guardian.unseen = left;
    trial_cgroup_read(&w->process.group, &usage);
    w->outcome->peak_bytes = fmax(w->outcome->peak_bytes, usage.peak);
    if (!w->stop)
        judge_memory(w, &usage);
}

/* Whether the user has interrupted twice, and so does not want to wait for the grace period. */
static bool is_impatient(const struct watch *w)
{
    int signals = 0;
    if (w->outcome->end == TRIAL_INTERRUPTED)
        ioctl(w->job->interrupts->fd, FIONREAD, &signals);
    return signals > 1;
}

/*
 * Notes which processes are left, or, if a verdict ends the trial, which of them do nothing because a signal has stopped them.
 * The first one names all. A name may hold any byte, and is printed and written into notes.
 */
static void look_at_others(struct watch *w)
{
    struct process_tree tree;
    const struct process *first = NULL;
    size_t n = 0, size = sizeof w->outcome->others;
    process_tree_read(&tree, w->process.pid);
    for (size_t i = 0; i < tree.n; i++) {
        if (tree.at[i].ended || (w->stop && !tree.at[i].halted))
            continue;
        first = first ? first : &tree.at[i];
        n++;
    }
    w->outcome->others[0] = '\0';
    if (n) {
        const char *are = n > 1 ? "were" : "was", *many = n > 1 ? "es" : "",
                   *halted = first->halted ? ", stopped by a signal" : "";
        snprintf(w->left, sizeof w->left, "%s", first->name);
        for (char *c = w->left; *c; c++)
            *c = *c < ' ' || *c > '~' || *c == ';' ? '?' : *c;
        if (w->stop)
            snprintf(w->outcome->others, size, "%zu process%s (%s) %s stopped by a signal", n, many, w->left, are);
        else
            snprintf(w->outcome->others, size, "%zu process%s (%s%s) outlived the command and %s ended", n, many, w->left, halted,
                     are);
    }
    process_tree_release(&tree);
}

/* Lets processes that the command has left end by themselves, for a moment. The guardian ends them only at an order. */
static void wait_for_others(struct watch *w)
{
    bool interrupted = true;
    double end = cli_now() + 1e-3 * AFTER_MS;
    for (look_at_others(w); w->outcome->others[0] && !w->stop && cli_now() < end; look_at_others(w))
        wait_for_news(w, &interrupted, EXIT_INTERVAL_MS);
}

/*
 * Ends the remaining processes of the trial. Their output is still read, because a process that gets TERM may print
 * something and would block at a full pipe.
 */
static bool clear_away(struct watch *w)
{
    bool interrupted = true; /* do not poll the interrupt descriptor again: it stays readable */
    double ended = cli_now();
    if (w->job->guarded)
        wait_for_others(w);
    take_last_lines(w);
    w->told = true;
    trial_process_end(&w->process, false);
    for (trial_process_look(&w->process); !w->process.gone; trial_process_look(&w->process)) {
        wait_for_news(w, &interrupted, EXIT_INTERVAL_MS);
        guardian_wake(&w->process.guardian); /* without a guardian, all processes were gone at once */
        call_turn(w);
        if (!w->impatient && is_impatient(w)) {
            w->impatient = true;
            trial_process_end(&w->process, true);
        }
    }
    for (int i = 0; i < PIPE_READS && read_output(w); i++)
        continue;
    call_turn(w); /* lines that came with the end were read after the last turn; followers wait for them */
    if (w->process.lost)
        return cli_error(CLI_SYSTEM, "the trial was lost: %s", strerror(errno)), false;
    w->outcome->total_s = (w->stop ? cli_now() : ended) - w->began;
    if (!w->stop)
        judge(w, w->process.state);
    settle_group(w);
    return true;
}

/* The sum over all stages is for the row. */
static void report_unreadable(struct watch *w)
{
    const uint64_t n = w->unreadable + w->events.n_skipped;
    char text[96];
    uint64_t first = w->unreadable ? w->first_unreadable : w->events.first_skipped;
    if (w->events.n_skipped && w->events.first_skipped < first)
        first = w->events.first_skipped;
    if (n == 0)
        return;
    snprintf(text, sizeof text, "%llu line%s of events cannot be read, first at line %llu", (unsigned long long)n,
             n > 1 ? "s" : "", (unsigned long long)first);
    cli_say(text);
    snprintf(w->outcome->unreadable, sizeof w->outcome->unreadable, "%s", text);
}

bool trial_watch(struct trial_outcome *outcome, const struct trial_job *job)
{
    struct watch w = {
        .job = job, .outcome = outcome, .phase_limit = job->settings.train_seconds, .cpu_limit = job->settings.train_cpu_seconds};
    *outcome = (struct trial_outcome){0};
    /* Before the start: on a busy machine the command may end before this process runs again. */
    w.began = w.phase_began = w.heard = cli_now();
    if (!trial_process_start(&w.process, job))
        return false;
    w.events.most = LINE_READER_EVENT_MAX;
    metric_lines_init(&w.metrics, &job->settings.metrics, job->settings.score);
    keep_watch(&w);
    bool ok = clear_away(&w);
    trial_process_release(&w.process);
    outcome->unseen = w.process.unseen;
    metric_lines_describe(&w.metrics, outcome->looked, sizeof outcome->looked);
    metric_lines_say(&w.metrics);
    outcome->doubt = metric_lines_doubt(&w.metrics);
    report_unreadable(&w);
    metric_lines_release(&w.metrics);
    gpu_memory_release(&w.gpu);
    line_reader_release(&w.events);
    line_reader_release(&w.printed);
    return ok;
}
