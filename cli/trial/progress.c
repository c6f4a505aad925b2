/*
 * In a file or a CI log no line can be overwritten, so only every tenth of a phase is printed: eight hours of training
 * give a few dozen lines.
 */
#include "trial/progress.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

/* Interval of printed lines where lines cannot be overwritten, for a trial that does not report its number of steps. */
enum { SECONDS_BETWEEN_LINES = 30 };

/* A pipe that is writable accepts this many bytes. */
enum { PIECE = 4096 };

void progress_begin(struct progress *progress, const char *name, const char *score_label, bool quiet)
{
    char *safe = cli_text_line(name, 60);
    *progress = (struct progress){
        .score_label = score_label ? score_label : "score", .quiet = quiet, .terminal = isatty(STDERR_FILENO), .first = -1};
    snprintf(progress->name, sizeof progress->name, "%.79s", safe ? safe : "");
    free(safe);
}

static bool is_training(const struct progress *progress)
{
    return !progress->phase[0] || strcmp(progress->phase, TRIAL_PHASE_TRAIN) == 0;
}

/*
 * The speed is measured from the first reported step instead of the start, because loading and compiling are not
 * repeated.
 */
static void compose_time_left(FILE *out, const struct progress *progress, const struct trial_event *event)
{
    char left[32];
    int64_t done = event->step - progress->first, to_go = event->steps - event->step;
    if (done <= 0 || to_go <= 0)
        return;
    cli_duration_format(left, (cli_now() - progress->began) / (double)done * (double)to_go);
    fprintf(out, ", %s left", left);
}

/*
 * Returns the columns of the terminal. Some terminals report 0 or nothing, and COLUMNS may hold any text. Called for
 * every line, because windows may be resized during a night.
 */
static size_t terminal_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    long width = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : columns ? atol(columns) : 0;
    return width >= 10 && width <= 10000 ? (size_t)width : 80;
}

/* On a terminal, truncates the line, because a line that wraps cannot be overwritten. */
static void print_line(const struct progress *progress, const char *text)
{
    char *cut = progress->terminal ? cli_text_line(text, terminal_width() - 1) : NULL;
    fprintf(stderr, "%s%s", cut ? cut : text, progress->terminal ? "" : "\n");
    free(cut);
}

/* Shows the score, or the loss until there is a score. */
static void compose_step(FILE *out, const struct progress *progress, const struct trial_event *event)
{
    const json_t *loss = json_object_get(event->line, "loss"), *speed = json_object_get(event->line, "tokens_s");
    /* A step of a phase other than training is shown with the name of the phase: "warm start 3/450". */
    char *word = is_training(progress) ? NULL : cli_text_line(progress->phase, sizeof progress->phase);
    fprintf(out, "%s: %s %lld", progress->name, word ? word : "step", (long long)event->step);
    free(word);
    if (event->steps)
        fprintf(out, "/%lld", (long long)event->steps);
    if (progress->has_score)
        fprintf(out, ", %s %.3f", progress->score_label, progress->score);
    else if (json_is_number(loss))
        fprintf(out, ", loss %.3f", json_number_value(loss));
    if (json_is_number(speed))
        fprintf(out, ", %.0f tokens/s", json_number_value(speed));
    compose_time_left(out, progress, event);
}

static void print_step(const struct progress *progress, const struct trial_event *event)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    compose_step(out, progress, event);
    fclose(out);
    print_line(progress, text);
    free(text);
}

enum { AT_A_GLANCE = 5 };

/*
 * Shows the score and the first few final metrics; telemetry has all of them. Clip scales are left out, because they
 * are statistics for the row.
 */
static void print_final(const struct progress *progress, const struct trial_event *event)
{
    const char *name, *comma = " ";
    json_t *value;
    size_t n = 0;
    fprintf(stderr, "%s:", progress->name);
    if (event->has_score) {
        fprintf(stderr, " %s %.3f", progress->score_label, event->score);
        comma = ", ";
    }
    json_object_foreach((json_t *)(uintptr_t)event->line, name, value)
        if (event_is_metric(event, name, value, NULL) && strncmp(name, "ig_clip_scale", 13) != 0 && n++ < AT_A_GLANCE) {
            fprintf(stderr, "%s%.40s %.3f", comma, name, json_number_value(value));
            comma = ", ";
        }
    if (n > AT_A_GLANCE) {
        fprintf(stderr, "%s%zu more", comma, n - AT_A_GLANCE);
        comma = ", ";
    }
    if (event->train_s >= 0)
        fprintf(stderr, "%strained %.1f s", comma, event->train_s);
    if (event->eval_s >= 0)
        fprintf(stderr, ", evaluated %.1f s", event->eval_s);
    fputc('\n', stderr);
}

/*
 * Truncates the child's text and makes control characters visible, because the text may be a library's message with
 * escape sequences.
 */
static void print_text(const struct progress *progress, const char *text)
{
    char line[768];
    char *safe = cli_text_line(text, 120);
    snprintf(line, sizeof line, "%s: %s", progress->name, safe ? safe : "");
    print_line(progress, line);
    free(safe);
}

/* Whether the trial has passed another tenth of its steps. */
static bool is_tenth(struct progress *progress, const struct trial_event *event)
{
    int tenths = event->steps > 0 ? (int)(10 * event->step / event->steps) : 0;
    bool more = tenths > progress->tenths;
    progress->tenths = tenths;
    return more;
}

/*
 * Decides which lines are printed where lines cannot be overwritten: scores are preferred to steps, and of a phase
 * before the training only the middle and the end are shown.
 */
static bool is_worth_a_line(struct progress *progress, const struct trial_event *event)
{
    if (!event->steps && cli_now() - progress->told >= SECONDS_BETWEEN_LINES) {
        progress->told = cli_now();
        return true;
    }
    if (event->has_score)
        return is_tenth(progress, event);
    if (is_training(progress))
        return !progress->scores_on_the_way && is_tenth(progress, event);
    return is_tenth(progress, event) && progress->tenths % 5 == 0;
}

/*
 * The estimate of the time left starts again with each phase, because a step of a warm start takes a different time
 * than a step of training.
 */
static void take_phase(struct progress *progress, const char *phase)
{
    if (strncmp(progress->phase, phase, sizeof progress->phase - 1) == 0)
        return;
    snprintf(progress->phase, sizeof progress->phase, "%s", phase);
    progress->first = -1;
    progress->tenths = 0;
}

static void measure(struct progress *progress, const struct trial_event *event)
{
    if (event->phase)
        take_phase(progress, event->phase);
    if (event->has_step && progress->first < 0) {
        progress->first = event->step;
        progress->began = cli_now();
    }
    if (event->has_score) {
        progress->score = event->score;
        progress->has_score = progress->scores_on_the_way = true;
    }
}

static bool is_phase(const struct trial_event *event, const char *phase)
{
    return event->phase && strcmp(event->phase, phase) == 0;
}

/* Whether a line would be overwritten before anybody can read it, or would erase a line that the trial is printing. */
static bool is_too_soon(const struct progress *progress)
{
    return progress->rapid && progress->terminal && (progress->in_line || cli_now() - progress->told < 0.1);
}

/*
 * A failure is not shown here, because the command prints its reason once the row is appended. The line is cleared
 * before each text, because otherwise the end of a longer line would remain.
 */
void progress_event(struct progress *progress, const struct trial_event *event)
{
    bool done = is_phase(event, TRIAL_PHASE_DONE), evaluating = is_phase(event, TRIAL_PHASE_EVAL);
    bool step = event->has_step && !done && !evaluating;
    measure(progress, event);
    if (progress->quiet || event->failed || (step && !progress->terminal && !is_worth_a_line(progress, event)) ||
        (step && is_too_soon(progress)))
        return;
    if (progress->terminal) {
        progress->drawn = true;
        progress->told = cli_now();
    }
    if (progress->terminal && (step || done || evaluating || event->text))
        fputs("\r\033[K", stderr);
    if (done)
        print_final(progress, event);
    else if (step)
        print_step(progress, event);
    else if (event->text || evaluating)
        print_text(progress, event->text ? event->text : "final evaluation");
    fflush(stderr);
}

static void write_some(struct progress *progress, const char *bytes, size_t n)
{
    while (n > 0) {
        struct pollfd fd = {STDERR_FILENO, POLLOUT, 0};
        size_t piece = n < PIECE ? n : PIECE;
        ssize_t written = poll(&fd, 1, 0) == 1 && !(fd.revents & (POLLERR | POLLNVAL)) ? write(STDERR_FILENO, bytes, piece) : -1;
        if (written <= 0) {
            progress->unshown += n;
            return;
        }
        bytes += written;
        n -= (size_t)written;
    }
}

void progress_output(struct progress *progress, const char *bytes, size_t n)
{
    if (progress->quiet || n == 0)
        return;
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    fflush(stderr);
    progress->drawn = false;
    write_some(progress, bytes, n);
    progress->in_line = bytes[n - 1] != '\n';
}

/* Leaves the cursor at the beginning of an empty line, ready for a message or the shell's prompt. */
void progress_end(struct progress *progress)
{
    if (progress->quiet)
        return;
    if (progress->in_line)
        fputc('\n', stderr);
    if (progress->terminal)
        fputs("\r\033[K", stderr);
    if (progress->unshown)
        fprintf(stderr, "lineage: %zu bytes that it printed were not shown: nobody took them\n", progress->unshown);
}
