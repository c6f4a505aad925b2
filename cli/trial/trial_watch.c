/*
 * trial_watch.c: spawn, listen, keep time, reap.
 *
 * A single process with one poll(): threads would need a second copy of every decision about who
 * ended the trial first. The first verdict stands (finish); what comes after it is clearing away.
 */
#include "trial/trial_watch.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "trial/metric_lines.h"
#include "trial/peers.h"
#include "trial/process_tree.h"
#include "trial/trial_process.h"

/* Reading a thousand /proc/PID/stat takes a few milliseconds: often enough to catch what grows within a
 * second, seldom enough not to slow the trial down. */
enum { MEMORY_INTERVAL_MS = 200 };

/* Without a limit the peak is worth a note, not five looks a second. */
enum { PEAK_INTERVAL_MS = 1000 };

/* A program that prints line by line would wake this process for each: after a read of less it takes a nap, in which
 * more comes together. One that prints much is read at once, as a full pipe would hold it up. */
enum { NAP_MS = 1, NAP_BELOW = 8192 };

/* How often to ask whether the child has ended where the kernel has no descriptor for that. */
enum { EXIT_INTERVAL_MS = 50 };

/* A longer line is no event: a child that writes without end must not fill this process. */
enum { LINE_MAX_BYTES = 1 << 20, READ_BYTES = 1 << 16 };

/* Reads that empty the largest pipe: what the child said last is found, a descendant that goes on talking is
 * not listened to for ever. */
enum { PIPE_READS = 16 };

/* Lines of one descriptor. */
struct reader {
    char *line; /* bytes of a line not yet ended */
    size_t length, capacity;
    bool overlong; /* the rest of this line is passed over */
};

struct watch {
    const struct trial_job *job;
    struct trial_outcome *outcome;
    struct trial_process process;
    struct reader events, printed[2]; /* printed: standard output, standard error */
    struct peers peers;
    struct metric_lines metrics;
    double began, phase_began, phase_limit, heard; /* heard: the last byte of either */
    bool evaluating, stop, impatient, ending; /* ending: it has said that it is done or has failed */
    size_t read; /* bytes of output in this round */
};

static void finish(struct watch *w, enum trial_end end)
{
    w->outcome->end = end;
    w->stop = true;
}

/* ---- what it says ---- */

/* The child's own time of training decides where it is told: how late this process got to read
 * must not turn a trial within its budget into an overrun. */
static void begin_evaluation(struct watch *w, const struct trial_event *event)
{
    double limit = w->job->train_seconds;
    w->evaluating = true;
    w->phase_began = cli_now();
    w->phase_limit = w->job->eval_seconds;
    if (limit > 0 && event->train_s > limit)
        finish(w, TRIAL_TRAIN_OVERRUN);
}

/* What comes after the evaluation, writing a checkpoint say, is nobody's budget. */
static void end_evaluation(struct watch *w, const struct trial_event *event)
{
    double limit = w->job->eval_seconds;
    w->phase_limit = 0;
    if (limit > 0 && event->eval_s > limit)
        finish(w, TRIAL_EVAL_OVERRUN);
}

/* Only the first begins the budget of the evaluation: those on the way are told as steps of
 * training, which pays for them. */
static void change_phase(struct watch *w, const struct trial_event *event)
{
    if (strcmp(event->phase, TRIAL_PHASE_EVAL) == 0 && !w->evaluating)
        begin_evaluation(w, event);
    else if (strcmp(event->phase, TRIAL_PHASE_DONE) == 0)
        end_evaluation(w, event);
}

/* A value that is no number says that the training is lost, which is worth nothing more. */
static void judge_values(struct watch *w, const struct trial_event *event)
{
    if (!event->not_finite || !w->job->stop_on_nan)
        return;
    snprintf(w->outcome->text, sizeof w->outcome->text, "%.80s is not a finite number", event->not_finite);
    finish(w, TRIAL_NOT_FINITE);
}

static void take_event(struct watch *w, const struct trial_event *event)
{
    w->ending = w->ending || event->failed || (event->phase && strcmp(event->phase, TRIAL_PHASE_DONE) == 0);
    peers_watch(&w->peers, event->peers);
    if (event->failed) {
        w->outcome->failure = event->failure;
        snprintf(w->outcome->text, sizeof w->outcome->text, "%s", event->failed);
    }
    if (event->phase)
        change_phase(w, event);
    if (w->job->event)
        w->job->event(w->job->context, event);
    judge_values(w, event);
}

/* After a verdict nothing is heard any more, or the last lines of a trial that was stopped
 * would change why it was. What is no event is passed over: a script may print what it likes
 * there. */
static void hear(struct watch *w, const char *text, size_t length)
{
    struct trial_event event;
    json_t *line = w->stop ? NULL : trial_wire_read(&event, text, length, w->job->score_name);
    if (!line)
        return;
    take_event(w, &event);
    json_decref(line);
}

static void hear_printed(struct watch *w, const char *text, size_t length)
{
    struct trial_event event;
    if (!w->stop && metric_lines_read(&w->metrics, &event, text, length))
        take_event(w, &event);
}

/* What is left is the beginning of a line; one without end is given up. */
static void keep_rest(struct reader *reader, const char *from)
{
    reader->length -= (size_t)(from - reader->line);
    memmove(reader->line, from, reader->length);
    if (reader->length > LINE_MAX_BYTES) {
        reader->overlong = true;
        reader->length = 0;
    }
}

/* Only whole lines: an event may arrive in two reads. */
static void hear_events(struct watch *w)
{
    struct reader *reader = &w->events;
    char *from = reader->line, *end;
    while ((end = memchr(from, '\n', reader->length - (size_t)(from - reader->line)))) {
        if (!reader->overlong)
            hear(w, from, (size_t)(end - from));
        reader->overlong = false;
        from = end + 1;
    }
    keep_rest(reader, from);
}

/* The end of the next line: a progress bar ends its lines by a carriage return. */
static char *line_end(char *from, size_t n, char **newline)
{
    if (*newline && *newline < from)
        *newline = memchr(from, '\n', n);
    size_t before = *newline ? (size_t)(*newline - from) : n;
    char *again = memchr(from, '\r', before);
    return again ? again : *newline;
}

static void hear_printed_lines(struct watch *w, struct reader *reader)
{
    char *from = reader->line, *end, *newline = memchr(from, '\n', reader->length);
    while ((end = line_end(from, reader->length - (size_t)(from - reader->line), &newline))) {
        if (!reader->overlong)
            hear_printed(w, from, (size_t)(end - from));
        reader->overlong = false;
        from = end + 1;
    }
    keep_rest(reader, from);
}

/* A program may print gigabytes of short lines: only where there may be a metric they are looked at one by one. */
static void hear_output(struct watch *w, struct reader *reader)
{
    if (metric_lines_may_be_in(&w->metrics, reader->line, reader->length)) {
        hear_printed_lines(w, reader);
        return;
    }
    char *end = memrchr(reader->line, '\n', reader->length);
    reader->overlong = reader->overlong && !end;
    keep_rest(reader, end ? end + 1 : reader->line);
}

static bool make_room(struct reader *reader)
{
    if (reader->capacity - reader->length >= READ_BYTES)
        return true;
    char *grown = realloc(reader->line, reader->capacity + READ_BYTES);
    if (!grown)
        return false;
    reader->line = grown;
    reader->capacity += READ_BYTES;
    return true;
}

/* Read what is there; 0 if there is nothing now. The descriptor is closed at its end. Out
 * of memory counts as the end of the pipe: the trial goes on and is judged by its exit. */
static size_t read_some(struct watch *w, struct reader *reader, int *fd)
{
    ssize_t n = make_room(reader) ? read(*fd, reader->line + reader->length, reader->capacity - reader->length) : 0;
    if (n < 0)
        return 0;
    if (n == 0) {
        close(*fd);
        *fd = -1;
        return 0;
    }
    w->heard = cli_now();
    reader->length += (size_t)n;
    return (size_t)n;
}

static bool listen_once(struct watch *w)
{
    size_t n = w->process.events >= 0 ? read_some(w, &w->events, &w->process.events) : 0;
    if (n)
        hear_events(w);
    return n > 0;
}

/* Shown and kept before it is understood: nothing that it prints is lost for being no metric. */
static bool read_output(struct watch *w)
{
    size_t all = 0;
    for (int i = 0; i < 2; i++) {
        struct reader *reader = &w->printed[i];
        size_t n = w->process.printed[i] >= 0 ? read_some(w, reader, &w->process.printed[i]) : 0;
        if (n) {
            w->job->output(w->job->context, reader->line + reader->length - n, n);
            hear_output(w, reader);
        }
        all += n;
    }
    w->read += all;
    return all > 0;
}

/* The last line of a program that ends without a line end. */
static void hear_last_lines(struct watch *w)
{
    if (w->events.length && !w->events.overlong)
        hear(w, w->events.line, w->events.length);
    for (int i = 0; i < 2; i++)
        if (w->printed[i].length && !w->printed[i].overlong)
            hear_printed(w, w->printed[i].line, w->printed[i].length);
}

/* ---- time ---- */

/* Milliseconds until the budget of this phase ends, -1 for never. One millisecond more than is
 * left: 0.4 would become 0, and poll would not sleep at all. Long budgets are cut to what an int
 * holds. */
static int time_left(const struct watch *w)
{
    double left = w->phase_began + w->phase_limit - cli_now();
    if (w->phase_limit <= 0)
        return -1;
    return left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1000) + 1;
}

/* The same of silence. */
static int silence_left(const struct watch *w)
{
    double left = w->heard + w->job->silence_seconds - cli_now();
    if (w->job->silence_seconds <= 0)
        return -1;
    return left <= 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1000) + 1;
}

static int sooner(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

static int memory_interval(const struct watch *w)
{
    return w->job->memory_bytes > 0 ? MEMORY_INTERVAL_MS : w->job->guarded ? PEAK_INTERVAL_MS : -1;
}

/* How long to sleep at most: until a wall, or until something is to be looked at again. */
static int patience(const struct watch *w)
{
    int most = sooner(memory_interval(w), sooner(time_left(w), silence_left(w)));
    if (w->job->turn_seconds > 0)
        most = sooner(most, (int)(fmin(w->job->turn_seconds, 1e6) * 1000) + 1);
    return w->process.notice < 0 ? sooner(most, EXIT_INTERVAL_MS) : most;
}

/* 0 without /proc. */
static double sample_memory(const struct watch *w)
{
    struct process_tree tree;
    if (w->job->guarded)
        process_tree_read(&tree, w->process.pid);
    else
        process_tree_read_group(&tree, w->process.pid);
    double bytes = process_tree_memory(&tree);
    process_tree_release(&tree);
    return bytes;
}

/* The peak is kept before it is judged, so that the row of an overrun says how large it was. In a control group the
 * kernel judges. */
static void look_at_memory(struct watch *w)
{
    bool grouped = trial_process_is_grouped(&w->process);
    double bytes = grouped ? trial_cgroup_memory(&w->process.group) : sample_memory(w);
    if (bytes > w->outcome->peak_bytes)
        w->outcome->peak_bytes = bytes;
    if (!grouped && w->job->memory_bytes > 0 && bytes > w->job->memory_bytes)
        finish(w, TRIAL_MEMORY_OVERRUN);
}

/* Sleep until something happens. False if nothing is known of the descriptors: a signal came. */
static bool wait_for_news(struct watch *w, bool *interrupted, int milliseconds)
{
    struct pollfd fds[] = {{w->process.events, POLLIN, 0},
                           {w->process.printed[0], POLLIN, 0},
                           {w->process.printed[1], POLLIN, 0},
                           {*interrupted ? -1 : w->job->interrupts->fd, POLLIN, 0},
                           {w->process.notice, POLLIN, 0},
                           {w->ending || w->stop ? -1 : w->peers.news, POLLIN, 0}};
    if (w->read > 0 && w->read < NAP_BELOW)
        poll(NULL, 0, NAP_MS);
    w->read = 0;
    if (poll(fds, sizeof fds / sizeof *fds, milliseconds) < 0)
        return false;
    if (fds[0].revents)
        listen_once(w);
    if (fds[1].revents || fds[2].revents)
        read_output(w);
    *interrupted = *interrupted || fds[3].revents;
    return true;
}

static void judge_time(struct watch *w)
{
    if (time_left(w) == 0)
        finish(w, w->evaluating ? TRIAL_EVAL_OVERRUN : TRIAL_TRAIN_OVERRUN);
    else if (silence_left(w) == 0)
        finish(w, TRIAL_SILENT);
}

/* Of a run by several processes: whoever started them ends all when one is lost, and asks this one to go like a person
 * would. Which came first is known: they do not go when they are asked. */
static void judge_peers(struct watch *w)
{
    if (!w->stop && !w->ending && peers_lost(&w->peers, w->outcome->text, sizeof w->outcome->text))
        finish(w, TRIAL_FAILED);
}

/* Of processes on other machines it is not known whether one was lost before: then both are said. */
static void be_interrupted(struct watch *w)
{
    w->outcome->text[0] = '\0'; /* a failure that it told just before is not why it ends */
    if (w->peers.elsewhere)
        snprintf(w->outcome->text, sizeof w->outcome->text,
                 "interrupted by the user, or by its launcher for a process lost on another machine");
    finish(w, TRIAL_INTERRUPTED);
}

static void take_a_breath(const struct watch *w)
{
    if (w->job->turn)
        w->job->turn(w->job->context);
}

/* The end is the child's exit, not the end of what it says: a process that it left behind may
 * hold the pipe open for ever, and a child may close it at once. What was said before the exit
 * is in the pipe then. Order within a round: what the child said comes before the clock, since
 * a trial that said in time that training is over must not lose to the wall for having been
 * read late; the user comes before everything that the child did in the same instant. */
static void keep_watch(struct watch *w)
{
    double looked = w->began;
    bool interrupted = false;
    while (!w->stop) {
        if (!wait_for_news(w, &interrupted, patience(w)))
            continue;
        if (memory_interval(w) > 0 && cli_now() - looked >= 1e-3 * memory_interval(w)) {
            look_at_memory(w);
            looked = cli_now();
        }
        trial_process_look(&w->process);
        take_a_breath(w);
        judge_peers(w);
        if (interrupted && !w->stop)
            be_interrupted(w);
        else if (!w->stop && w->process.ended)
            break;
        else if (!w->stop)
            judge_time(w);
    }
    for (int i = 0; i < PIPE_READS && !w->stop && listen_once(w); i++)
        continue;
    for (int i = 0; i < PIPE_READS && read_output(w); i++)
        continue;
}

/* ---- its end ---- */

/* A command that left with success but not with what it was run for did not finish. Only of a
 * trial that finished: of one that crashed a missing file says nothing new. */
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
            snprintf(outcome->text, sizeof outcome->text, "%.400s has %lld bytes, %.0f are allowed",
                     artifact->path, (long long)st.st_size, artifact->max_bytes);
        }
    }
}

/* Success with a reason for failure is a failure: the reason is the better evidence. */
static void judge(struct watch *w, int state)
{
    struct trial_outcome *outcome = w->outcome;
    outcome->exit_status = WIFEXITED(state) ? WEXITSTATUS(state) : 0;
    if (WIFSIGNALED(state)) {
        outcome->end = TRIAL_SIGNALLED;
        outcome->signal = WTERMSIG(state);
    } else if (outcome->exit_status == 0 && !outcome->text[0]) {
        outcome->end = TRIAL_FINISHED;
        judge_artifacts(w);
    } else {
        outcome->end = TRIAL_FAILED;
        if (!outcome->text[0])
            snprintf(outcome->text, sizeof outcome->text,
                     "the trial left with exit status %d and did not say why", outcome->exit_status);
    }
}

/* Whoever was ended by the kernel, or left because a part of it was: that is why. */
static void judge_memory(struct watch *w, const struct trial_cgroup_usage *usage)
{
    struct trial_outcome *outcome = w->outcome;
    if (!usage->oom_kills || (outcome->end != TRIAL_SIGNALLED && outcome->end != TRIAL_FAILED))
        return;
    outcome->end = TRIAL_MEMORY_OVERRUN;
    outcome->out_of_memory = true;
    if (w->job->memory_bytes > 0)
        snprintf(outcome->text, sizeof outcome->text, "out of memory: cgroup limit %.0f bytes, peak %.0f",
                 w->job->memory_bytes, outcome->peak_bytes);
    else
        snprintf(outcome->text, sizeof outcome->text, "out of memory: the kernel ended it, peak %.0f bytes",
                 outcome->peak_bytes);
}

/* Once the guardian says that all is gone, or is gone itself. */
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

/* A person who interrupts twice does not want to wait for the grace. */
static bool is_impatient(const struct watch *w)
{
    int signals = 0;
    if (w->outcome->end == TRIAL_INTERRUPTED)
        ioctl(w->job->interrupts->fd, FIONREAD, &signals);
    return signals > 1;
}

/* Whatever is still there goes: a trial that is over trains no more. It is listened to meanwhile, as a process that
 * is asked to end may have something to print, and would hang at a full pipe. */
static bool clear_away(struct watch *w)
{
    bool interrupted = true; /* no further look at that descriptor, which stays readable */
    double ended = cli_now();
    trial_process_end(&w->process, false);
    for (trial_process_look(&w->process); !w->process.gone; trial_process_look(&w->process)) {
        wait_for_news(w, &interrupted, EXIT_INTERVAL_MS);
        guardian_wake(&w->process.guardian); /* there is one: what has none went at once */
        take_a_breath(w);
        if (!w->impatient && is_impatient(w)) {
            w->impatient = true;
            trial_process_end(&w->process, true);
        }
    }
    for (int i = 0; i < PIPE_READS && read_output(w); i++)
        continue;
    hear_last_lines(w);
    if (w->process.lost)
        return cli_error(CLI_SYSTEM, "the trial was lost: %s", strerror(errno)), false;
    w->outcome->total_s = (w->stop ? cli_now() : ended) - w->began;
    if (!w->stop)
        judge(w, w->process.state);
    settle_group(w);
    return true;
}

/* false means that there is no evidence at all, and then no row is written. */
bool trial_watch(struct trial_outcome *outcome, const struct trial_job *job)
{
    struct watch w = {.job = job, .outcome = outcome, .phase_limit = job->train_seconds};
    *outcome = (struct trial_outcome){0};
    if (!trial_process_start(&w.process, job))
        return false;
    peers_init(&w.peers);
    metric_lines_init(&w.metrics, &job->metrics, job->score_name);
    w.began = w.phase_began = w.heard = cli_now();
    keep_watch(&w);
    bool ok = clear_away(&w);
    trial_process_release(&w.process);
    outcome->unseen = w.process.unseen;
    metric_lines_describe(&w.metrics, outcome->looked, sizeof outcome->looked);
    metric_lines_release(&w.metrics);
    peers_release(&w.peers);
    free(w.events.line);
    free(w.printed[0].line);
    free(w.printed[1].line);
    return ok;
}
