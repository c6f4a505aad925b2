/*
 * cmd_status.c: `lineage status`: lists the running trials of a store.
 *
 * Trials on this machine report their state in their work directories. Trials of a night also have a claim; for trials
 * on other machines, nothing but the claim is known.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lineage/queue.h>
#include <lineage/text.h>

#include "cli.h"
#include "support/running_files.h"

/* Number of bytes read from the end of the events: enough for the latest value of every metric. */
enum { READ_MAX = 1 << 18, TRIAL_MAX = 1 << 20, METRICS_SHOWN = 6 };

struct trial_state {
    char name[256], phase[64];
    double step, steps, started, train_seconds; /* 0: unknown */
    json_t *metrics;                            /* the latest value of each */
};

/* A claim, and the state of the trial as its holder reports it. */
struct claimed {
    struct lineage_claim claim;
    json_t *about;
    bool shown;
};

struct status {
    struct cli_session session;
    struct cli_list *list;
    double now;
    bool complete; /* every row of the list was added */
    struct claimed *claims;
    size_t n_claims;
};

/* ---- reading a trial's files ---- */

/* The files belong to the trial, so links are not followed, pipes are not waited for, and the size is limited. */
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

/* The latest name replaces earlier ones; before the first event, the name comes from trial.json. */
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
    /* Steps are counted anew in every phase, because the steps of the training do not tell when the evaluation ends. */
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

/* Reads the first line, which contains the name, and the end of the file, which has the latest values. A line whose
 * beginning was not read is not JSON and is skipped. */
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

/* Prints a duration such as 7:05 in a table, and seconds in TSV and JSON. */
static void put_seconds(const struct status *o, double seconds, bool known)
{
    char text[32];
    cli_duration_format(text, seconds);
    if (o->session.format == CLI_TABLE)
        cli_list_text(o->list, known ? text : "");
    else
        cli_list_number(o->list, floor(seconds), known);
}

/* The remaining time as the steps so far predict it, but at most until the time limit. */
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

/* The list has these columns only if there are claims. */
static void put_claim(const struct status *o, const struct lineage_claim *claim)
{
    char key[17] = "";
    if (!o->n_claims)
        return;
    if (claim)
        snprintf(key, sizeof key, "%016" PRIx64, claim->key);
    cli_list_text(o->list, claim ? claim->worker : "");
    cli_list_text(o->list, claim ? claim->night : "");
    cli_list_text(o->list, key);
    cli_list_number(o->list, claim ? (double)claim->attempt : 0, claim != NULL);
    put_seconds(o, claim ? claim->left : 0, claim != NULL);
}

static void put_trial(struct status *o, const char *job, bool held, const struct trial_state *t,
                      const struct lineage_claim *claim)
{
    double elapsed = o->now - t->started, left = seconds_left(t, elapsed);
    cli_list_text(o->list, job);
    cli_list_text(o->list, t->name);
    cli_list_text(o->list, !held ? "killed" : t->phase[0] ? t->phase : "running");
    put_step(o, t);
    put_metrics(o, t);
    put_seconds(o, elapsed, held && t->started > 0);
    put_seconds(o, left, held && t->started > 0 && isfinite(left));
    put_claim(o, claim);
    o->complete = cli_list_end_row(o->list) && o->complete;
}

/* ---- claims ---- */

static bool add_claim(void *context, const struct lineage_claim *claim)
{
    struct status *o = context;
    struct claimed *grown = realloc(o->claims, (o->n_claims + 1) * sizeof *grown);
    if (!grown)
        return o->complete = false;
    o->claims = grown;
    o->claims[o->n_claims++] = (struct claimed){*claim, json_loads(claim->about, 0, NULL), false};
    return true;
}

static int read_claims(struct status *o, struct lineage_store *store)
{
    struct lineage_queue *queue;
    struct lineage_error err;
    enum lineage_status status = lineage_queue_open(&queue, store, &err);
    if (status == LINEAGE_OK)
        status = lineage_queue_each(queue, add_claim, o, &err);
    lineage_queue_close(queue);
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

static void release_claims(struct status *o)
{
    for (size_t i = 0; i < o->n_claims; i++)
        json_decref(o->claims[i].about);
    free(o->claims);
}

/* Names of work directories are random on every machine, so they do not collide. */
static const struct lineage_claim *find_claim(struct status *o, const char *job)
{
    for (size_t i = 0; i < o->n_claims; i++) {
        const char *trial = json_string_value(json_object_get(o->claims[i].about, "trial"));
        if (trial && strcmp(trial, job) == 0) {
            o->claims[i].shown = true;
            return &o->claims[i].claim;
        }
    }
    return NULL;
}

/* Clocks of other machines are not compared with the local clock: the worker reports how long its trial has run. */
static void put_elsewhere(struct status *o, const struct claimed *claimed)
{
    const char *job = json_string_value(json_object_get(claimed->about, "trial"));
    struct trial_state t = {.metrics = json_object()};
    double running = json_number_value(json_object_get(claimed->about, "running"));
    take_name(&t, claimed->about);
    take_event(&t, claimed->about);
    json_object_del(t.metrics, "running");
    t.started = running > 0 ? o->now - running : 0;
    put_trial(o, job ? job : "", true, &t, &claimed->claim);
    json_decref(t.metrics);
}

/* A claim that nobody holds is not a running trial. */
static void put_rest(struct status *o)
{
    for (size_t i = 0; i < o->n_claims; i++)
        if (!o->claims[i].shown && !o->claims[i].claim.free)
            put_elsewhere(o, &o->claims[i]);
}

/* A directory that is not locked belongs to a command whose watcher was killed; the next `run` appends its row. */
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
        put_trial(o, name + 1, held, &t, find_claim(o, name + 1));
    }
    json_decref(trial);
    json_decref(t.metrics);
}

/* Uses the wall clock, because another process wrote `started`. */
static int work(struct cli_session *session, void *context)
{
    static const char *const columns[] = {"trial", "name",   "phase", "step", "metrics", "running",
                                          "left",  "worker", "night", "key",  "attempt", "lease"};
    enum { OF_TRIALS = 7, ALL = sizeof columns / sizeof *columns };
    struct status *o = context;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    o->now = (double)now.tv_sec;
    o->complete = true;
    int status = read_claims(o, session->store);
    if (status != CLI_GO_ON)
        return status;
    o->list = cli_list_new(session->format, stdout, o->n_claims ? ALL : OF_TRIALS, columns);
    if (!o->list)
        return cli_no_memory();
    running_each_dir(lineage_store_dir(session->store), visit, o);
    put_rest(o);
    bool any = cli_list_rows(o->list) > 0;
    status = cli_list_finish(o->list);
    if (!o->complete)
        return cli_no_memory();
    /* Returns 1 if no trial is running, so that a script can wait with `while lineage status`. */
    return status == CLI_OK && !any ? CLI_NO : status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct status o = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&o.session), POPT_TABLEEND};
    int status = cli_on_store(&o.session, command, options, 0, 0, argc, argv, work, &o);
    release_claims(&o);
    return status;
}

const struct cli_command cmd_status = {
    .name = "status",
    .arguments = "",
    .description = "Lists the running trials of the store: step, latest metrics, elapsed time, and the time\n"
                   "left according to its steps or its time limit. `killed` means that the process which\n"
                   "watched the trial is gone; the next `lineage run` records it. For trials of nights, on "
                   "all\n"
                   "machines, it also prints worker, key, attempt and the rest of the lease. Exit status 1 "
                   "if\n"
                   "no trial is running.",
    .examples = "  lineage status -C runs/mine\n  lineage status --format json",
    .run = run,
};
