/* cmd_status.c: `lineage status`: the trials at work in a store. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lineage/text.h>

#include "cli.h"
#include "support/running_files.h"

/* Of the events: enough for the latest of every metric. */
enum { READ_MAX = 1 << 18, TRIAL_MAX = 1 << 20, METRICS_SHOWN = 6 };

struct trial_state {
    char name[256], phase[64];
    double step, steps, started, train_seconds; /* 0: not said */
    json_t *metrics;                            /* the latest of each */
};

struct status {
    struct cli_session session;
    struct cli_list *list;
    double now;
    bool complete; /* no row of the list failed */
};

/* ---- what a trial has said ---- */

/* The files are the trial's own: no link is followed, no pipe waited for, and no more read than is of use. */
static json_t *load_json(int dir, const char *name)
{
    char *text = malloc(TRIAL_MAX);
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 && text ? read(fd, text, TRIAL_MAX) : -1;
    json_t *object = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
    if (fd >= 0)
        close(fd);
    free(text);
    return object;
}

/* The latest name wins; trial.json has it before the first event. */
static void take_name(struct trial_state *t, const json_t *object)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    if (name)
        snprintf(t->name, sizeof t->name, "%s", name);
}

static void take_metric(struct trial_state *t, const char *name, json_t *value)
{
    static const char *const others[] = {"step", "steps", "train_s", "eval_s", NULL};
    for (size_t i = 0; others[i]; i++)
        if (strcmp(others[i], name) == 0)
            return;
    if (json_is_number(value))
        json_object_set(t->metrics, name, value);
}

static void take_event(struct trial_state *t, const json_t *line)
{
    const char *phase = json_string_value(json_object_get(line, "phase")), *name;
    json_t *value;
    /* Steps count anew in every phase: those of the training say nothing about the evaluation's end. */
    if (phase && strcmp(phase, t->phase) != 0) {
        snprintf(t->phase, sizeof t->phase, "%s", phase);
        t->step = t->steps = 0;
    }
    if (json_is_number(json_object_get(line, "step")))
        t->step = json_number_value(json_object_get(line, "step"));
    if (json_is_number(json_object_get(line, "steps")))
        t->steps = json_number_value(json_object_get(line, "steps"));
    json_object_foreach((json_t *)(uintptr_t)line, name, value)
        take_metric(t, name, value);
}

static void take_lines(struct trial_state *t, const char *text, size_t n)
{
    for (const char *at = text, *end; (end = memchr(at, '\n', n - (size_t)(at - text))); at = end + 1) {
        json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
        take_name(t, line);
        if (json_is_object(line))
            take_event(t, line);
        json_decref(line);
    }
}

/* The first line says the name; of the rest the end is enough. A line that is cut in two is no JSON and is passed by. */
static void read_events(struct trial_state *t, int dir)
{
    char *text = malloc(READ_MAX);
    int fd = openat(dir, RUNNING_EVENTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    ssize_t n = text && fd >= 0 ? pread(fd, text, READ_MAX, 0) : -1;
    if (n > 0)
        take_lines(t, text, (size_t)n);
    if (size > READ_MAX && (n = pread(fd, text, READ_MAX, size - READ_MAX)) > 0)
        take_lines(t, text, (size_t)n);
    if (fd >= 0)
        close(fd);
    free(text);
}

/* ---- printing ---- */

static void format_seconds(char text[32], double seconds)
{
    long s = seconds < 0 ? 0 : seconds < 3.6e6 ? (long)(seconds + 0.5) : 3600000;
    if (s >= 3600)
        snprintf(text, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, 32, "%ld:%02ld", s / 60, s % 60);
}

/* A clock for people, seconds for scripts. */
static void put_seconds(const struct status *o, double seconds, bool known)
{
    char text[32];
    format_seconds(text, seconds);
    if (o->session.format == CLI_TABLE)
        cli_list_text(o->list, known ? text : "");
    else
        cli_list_number(o->list, floor(seconds), known);
}

/* What its steps say, but no more than its wall leaves. */
static double seconds_left(const struct trial_state *t, double elapsed)
{
    double left = INFINITY;
    if (t->step > 0 && t->steps > t->step)
        left = elapsed / t->step * (t->steps - t->step);
    if (t->train_seconds > 0)
        left = fmin(left, fmax(0, t->train_seconds - elapsed));
    return left;
}

static void put_metrics(const struct status *o, const struct trial_state *t)
{
    char *text = NULL;
    size_t length, n = 0;
    const char *name;
    json_t *value;
    FILE *out = open_memstream(&text, &length);
    json_object_foreach(t->metrics, name, value)
        if (out && n++ < METRICS_SHOWN)
            fprintf(out, "%s%.60s %.4g", n > 1 ? ", " : "", name, json_number_value(value));
    if (out)
        fclose(out);
    cli_list_text(o->list, text ? text : "");
    free(text);
}

static void put_step(const struct status *o, const struct trial_state *t)
{
    char text[64] = "";
    if (t->steps > 0)
        snprintf(text, sizeof text, "%.0f/%.0f", t->step, t->steps);
    else if (t->step > 0)
        snprintf(text, sizeof text, "%.0f", t->step);
    cli_list_text(o->list, text);
}

static void put_trial(struct status *o, const char *job, bool held, const struct trial_state *t)
{
    double elapsed = o->now - t->started, left = seconds_left(t, elapsed);
    cli_list_text(o->list, job);
    cli_list_text(o->list, t->name);
    cli_list_text(o->list, !held ? "killed" : t->phase[0] ? t->phase : "running");
    put_step(o, t);
    put_metrics(o, t);
    put_seconds(o, elapsed, held && t->started > 0);
    put_seconds(o, left, held && t->started > 0 && isfinite(left));
    o->complete = cli_list_end_row(o->list) && o->complete;
}

/* One that nobody holds is a command's whose watcher was killed: the next `run` writes its row. */
static void visit(void *context, const char *name, int dir, bool held)
{
    struct status *o = context;
    struct trial_state t = {.metrics = json_object()};
    json_t *trial = load_json(dir, RUNNING_TRIAL);
    if (held || trial) {
        take_name(&t, trial);
        t.started = json_number_value(json_object_get(trial, "started"));
        t.train_seconds = json_number_value(json_object_get(trial, "train_seconds"));
        read_events(&t, dir);
        put_trial(o, name + 1, held, &t);
    }
    json_decref(trial);
    json_decref(t.metrics);
}

/* The wall clock and not the monotonic one: `started` was written by another process. */
static int work(struct cli_session *session, void *context)
{
    static const char *const columns[] = {"trial", "name", "phase", "step", "metrics", "running", "left"};
    struct status *o = context;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    o->now = (double)now.tv_sec;
    o->complete = true;
    o->list = cli_list_new(session->format, stdout, sizeof columns / sizeof *columns, columns);
    if (!o->list)
        return cli_error(CLI_SYSTEM, "out of memory");
    running_each_dir(lineage_store_dir(session->store), visit, o);
    bool any = cli_list_rows(o->list) > 0;
    int status = cli_list_finish(o->list);
    if (!o->complete)
        return cli_error(CLI_SYSTEM, "out of memory");
    /* 1 if none is at work: a script waits with `while lineage status`. */
    return status == CLI_OK && !any ? CLI_NO : status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct status o = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&o.session), POPT_TABLEEND};
    return cli_on_store(&o.session, command, options, 0, 0, argc, argv, work, &o);
}

const struct cli_command cmd_status = {
    .name = "status",
    .arguments = "",
    .description = "Lists the trials that are at work in the store: step, latest metrics, time since the start\n"
                   "and time left, by its steps or its wall. `killed` is one whose watcher is gone; the next\n"
                   "`lineage run` records it. Exit status 1: none.",
    .examples = "  lineage status -C runs/mine\n  lineage status --format json",
    .run = run,
};
