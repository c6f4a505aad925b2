/* running_trials.c: reads what running trials report, and what is claimed. */
#include "support/running_trials.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <lineage/text.h>

#include "support/running_files.h"

/* READ_MAX: bytes read from the end of the events, enough for the latest value of every metric. */
enum { READ_MAX = 1 << 18, TRIAL_MAX = 1 << 20 };

/* A claim, and the state of the trial as its holder reports it. */
struct running_claim {
    struct lineage_claim claim;
    json_t *about;
    bool shown;
};

/* The files belong to the trial, so links are not followed, pipes are not waited for, and the size is limited. */
static json_t *load_json(int dir, const char *name)
{
    char *text = malloc(TRIAL_MAX);
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd >= 0 && text ? read(fd, text, TRIAL_MAX) : -1;
    json_t *object = n > 0 ? json_loadb(text, (size_t)n, 0, NULL) : NULL;
    cli_close(fd);
    free(text);
    return object;
}

/* The latest name replaces earlier ones; before the first event, the name comes from trial.json. 120 code points of a hypothesis
 * fit, whatever they are. */
static void take_about(struct running_trial *t, const json_t *object)
{
    const char *name = cli_json_string(object, "name");
    const char *hypothesis = cli_json_string(object, "hypothesis");
    json_t *params = json_object_get(object, "params");
    if (name)
        snprintf(t->name, sizeof t->name, "%s", name);
    if (hypothesis)
        snprintf(t->hypothesis, sizeof t->hypothesis, "%.*s", (int)lineage_text_prefix(hypothesis, strlen(hypothesis), 120),
                 hypothesis);
    if (json_is_object(params) && !t->params)
        t->params = json_incref(params);
}

static void take_metric(struct running_trial *t, const char *name, json_t *value)
{
    static const char *const others[] = {"step", "steps", "train_s", "eval_s", NULL};
    for (size_t i = 0; others[i]; i++)
        if (strcmp(others[i], name) == 0)
            return;
    if (json_is_number(value))
        json_object_set(t->metrics, name, value);
}

static void take_event(struct running_trial *t, const json_t *line)
{
    const char *phase = cli_json_string(line, "phase"), *name;
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

static void take_lines(struct running_trial *t, const char *text, size_t n)
{
    for (const char *at = text, *end; (end = memchr(at, '\n', n - (size_t)(at - text))); at = end + 1) {
        json_t *line = json_loadb(at, (size_t)(end - at), 0, NULL);
        take_about(t, line);
        if (json_is_object(line))
            take_event(t, line);
        json_decref(line);
    }
}

/* Reads the first line, which contains the name, and the end of the file, which has the latest values. A line whose
 * beginning was not read is not JSON and is skipped. */
static void read_events(struct running_trial *t, int dir)
{
    char *text = malloc(READ_MAX);
    int fd = openat(dir, RUNNING_EVENTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    ssize_t n = text && fd >= 0 ? pread(fd, text, READ_MAX, 0) : -1;
    if (n > 0)
        take_lines(t, text, (size_t)n);
    if (size > READ_MAX && (n = pread(fd, text, READ_MAX, size - READ_MAX)) > 0)
        take_lines(t, text, (size_t)n);
    cli_close(fd);
    free(text);
}

static bool add_claim(void *context, const struct lineage_claim *claim)
{
    struct running_trials *trials = context;
    if (!CLI_ROOM(trials->claims, trials->n_claims, trials->claims_room))
        return trials->out_of_memory = true, false;
    trials->claims[trials->n_claims++] = (struct running_claim){*claim, json_loads(claim->about, 0, NULL), false};
    return true;
}

static enum lineage_status read_claims(struct running_trials *trials, struct lineage_store *store, struct lineage_error *err)
{
    struct lineage_queue *queue;
    enum lineage_status status = lineage_queue_open(&queue, store, err);
    if (status == LINEAGE_OK)
        status = lineage_queue_each(queue, add_claim, trials, err);
    lineage_queue_close(queue);
    return status;
}

/* Names of work directories are random on every machine, so they do not collide. */
static const struct lineage_claim *find_claim(struct running_trials *trials, const char *job)
{
    for (size_t i = 0; i < trials->n_claims; i++) {
        const char *trial = cli_json_string(trials->claims[i].about, "trial");
        if (trial && strcmp(trial, job) == 0) {
            trials->claims[i].shown = true;
            return &trials->claims[i].claim;
        }
    }
    return NULL;
}

/* The remaining time as the steps so far predict it, but at most until the time limit. */
static void fill_times(struct running_trial *t, double now)
{
    bool known = t->held && t->started > 0;
    double elapsed = now - t->started, left = INFINITY;
    if (t->step > 0 && t->steps > t->step)
        left = elapsed / t->step * (t->steps - t->step);
    if (t->train_seconds > 0)
        left = fmin(left, fmax(0, t->train_seconds - elapsed));
    t->elapsed = known ? elapsed : NAN;
    t->left = known && isfinite(left) ? left : NAN;
}

/* Takes over the trial's metrics. */
static void add_trial(struct running_trials *trials, struct running_trial *t, const char *job, const struct lineage_claim *claim)
{
    snprintf(t->job, sizeof t->job, "%s", job ? job : "");
    if (!t->phase[0])
        snprintf(t->phase, sizeof t->phase, "%s", "running");
    if (!t->held)
        snprintf(t->phase, sizeof t->phase, "%s", "killed");
    t->claim = claim;
    fill_times(t, trials->now);
    if (!CLI_ROOM(trials->list, trials->n, trials->room)) {
        trials->out_of_memory = true;
        json_decref(t->metrics);
        json_decref(t->params);
        return;
    }
    trials->list[trials->n++] = *t;
}

/* Clocks of other machines are not compared with the local clock: the worker reports how long its trial has run. */
static void add_elsewhere(struct running_trials *trials, const struct running_claim *claim)
{
    struct running_trial t = {.metrics = json_object(), .held = true};
    double running = json_number_value(json_object_get(claim->about, "running"));
    take_about(&t, claim->about);
    take_event(&t, claim->about);
    json_object_del(t.metrics, "running");
    t.started = running > 0 ? trials->now - running : 0;
    add_trial(trials, &t, cli_json_string(claim->about, "trial"), &claim->claim);
}

/* A directory that is not locked belongs to a command whose watcher was killed; the next `run` appends its row. */
static void visit(void *context, const char *name, int dir, bool held)
{
    struct running_trials *trials = context;
    struct running_trial t = {.held = held};
    json_t *trial = load_json(dir, RUNNING_TRIAL);
    if (held || trial) {
        t.metrics = json_object();
        take_about(&t, trial);
        t.started = json_number_value(json_object_get(trial, "started"));
        t.train_seconds = json_number_value(json_object_get(trial, "train_seconds"));
        read_events(&t, dir);
        add_trial(trials, &t, name + 1, find_claim(trials, name + 1));
    }
    json_decref(trial);
}

/* Uses the wall clock, because another process wrote `started`. A claim that nobody holds is not a running trial. */
enum lineage_status running_trials_load(struct running_trials *trials, struct lineage_store *store, struct lineage_error *err)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *trials = (struct running_trials){.now = (double)now.tv_sec};
    enum lineage_status status = read_claims(trials, store, err);
    if (status != LINEAGE_OK)
        return status;
    running_each_dir(lineage_store_dir(store), visit, trials);
    for (size_t i = 0; i < trials->n_claims; i++)
        if (!trials->claims[i].shown && !trials->claims[i].claim.free)
            add_elsewhere(trials, &trials->claims[i]);
    if (trials->out_of_memory) {
        *err = (struct lineage_error){.status = LINEAGE_ENOMEM, .text = "out of memory"};
        return LINEAGE_ENOMEM;
    }
    return LINEAGE_OK;
}

void running_trials_release(struct running_trials *trials)
{
    for (size_t i = 0; i < trials->n; i++)
        json_decref(trials->list[i].metrics), json_decref(trials->list[i].params);
    for (size_t i = 0; i < trials->n_claims; i++)
        json_decref(trials->claims[i].about);
    free(trials->list);
    free(trials->claims);
    *trials = (struct running_trials){.n = 0};
}
