/* progress.c: step, EM, tokens/s and time left of a run. */
#include "progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

void progress_begin(struct progress *progress, const char *name, bool quiet)
{
    char *safe = cli_text_line(name, 60);
    *progress = (struct progress){.quiet = quiet, .terminal = isatty(STDERR_FILENO), .score = -1};
    snprintf(progress->name, sizeof progress->name, "%.79s", safe ? safe : "");
    free(safe);
}

static void format_time(char text[32], double seconds)
{
    long s = seconds < 0 ? 0 : seconds < 3.6e6 ? (long)(seconds + 0.5) : 3600000;
    if (s >= 3600)
        snprintf(text, 32, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(text, 32, "%ld:%02ld", s / 60, s % 60);
}

static void print_state(const struct progress *progress, const struct trainer_event *event)
{
    char left[32];
    int32_t to_go = event->steps - event->step;
    fprintf(stderr, "%s: %s %d/%d", progress->name, progress->warm ? "warm start" : "step",
            (int)event->step, (int)event->steps);
    if (progress->warm)
        fprintf(stderr, ", loss %.3f", event->loss);
    if (progress->score >= 0)
        fprintf(stderr, ", EM %.3f", progress->score);
    if (progress->tokens_s > 0)
        fprintf(stderr, ", %.0f tokens/s", progress->tokens_s);
    if (event->step > 0 && to_go > 0) {
        format_time(left, (event->train_s - progress->began) / event->step * to_go);
        fprintf(stderr, ", %s left", left);
    }
}

static void measure(struct progress *progress, const struct trainer_event *event)
{
    const struct trainer_iteration *it = event->iteration;
    bool warm = event->kind == TRAINER_EVENT_WARM;
    if (progress->warm && !warm && event->kind == TRAINER_EVENT_ITERATION) {
        progress->began = event->train_s - it->generation_s - it->gain_s - it->update_s;
        progress->tenths = 0;
    }
    if (warm || it)
        progress->warm = warm;
    if (event->kind == TRAINER_EVENT_EVALUATION) {
        progress->score = event->score;
        progress->evaluates = true;
    }
    double seconds = it ? it->generation_s + it->gain_s + it->update_s : 0;
    if (seconds > 0)
        progress->tokens_s =
            (double)(it->sampled_tokens + it->gain_tokens + it->trained_tokens) / seconds;
}

/* Whether another tenth of the way is behind us. */
static bool is_tenth(struct progress *progress, const struct trainer_event *event)
{
    int32_t tenths = event->steps > 0 ? (int32_t)(10 * (int64_t)event->step / event->steps) : 0;
    bool more = tenths > progress->tenths;
    progress->tenths = tenths;
    return more;
}

/* Where no line can be written over: evaluations rather than steps, and of the warm start its
 * middle and end. */
static bool is_worth_a_line(struct progress *progress, const struct trainer_event *event)
{
    switch (event->kind) {
    case TRAINER_EVENT_WARM: return is_tenth(progress, event) && progress->tenths % 5 == 0;
    case TRAINER_EVENT_ITERATION: return !progress->evaluates && is_tenth(progress, event);
    case TRAINER_EVENT_EVALUATION: return is_tenth(progress, event);
    default: return true;
    }
}

static void print_phase(const struct progress *progress, const struct trainer_event *event)
{
    const char *end = progress->terminal ? "" : "\n";
    if (event->kind == TRAINER_EVENT_START)
        fprintf(stderr, "%s: %zu parameters, at most %.1f MiB%s", progress->name, event->parameters,
                event->memory_bound / (1 << 20), end);
    else if (event->kind == TRAINER_EVENT_EVALUATING)
        fprintf(stderr, "%s: final evaluation%s", progress->name, end);
    else
        fprintf(stderr, "%s: EM %.3f, greedy %.3f, trained %.1f s, evaluated %.1f s\n",
                progress->name, event->score, event->score_greedy, event->train_s, event->eval_s);
}

void progress_event(struct progress *progress, const struct trainer_event *event)
{
    bool step = event->kind == TRAINER_EVENT_WARM || event->kind == TRAINER_EVENT_ITERATION;
    bool evaluation = event->kind == TRAINER_EVENT_EVALUATION;
    measure(progress, event);
    bool nothing_trained = event->kind >= TRAINER_EVENT_EVALUATION && event->steps == 0;
    if (progress->quiet || nothing_trained ||
        (!progress->terminal && !is_worth_a_line(progress, event)))
        return;
    if (progress->terminal)
        fputs("\r\033[K", stderr);
    if (step || evaluation) {
        print_state(progress, event);
        fputs(progress->terminal ? "" : "\n", stderr);
    } else {
        print_phase(progress, event);
    }
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (!progress->quiet && progress->terminal)
        fputs("\r\033[K", stderr);
}
