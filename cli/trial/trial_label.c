#include "trial/one_trial.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "support/environment.h"

/*
 * A trial that succeeded but printed no score says nothing about its parameters, so it is labelled harness_abort, and a
 * night runs it again. preflight_crash is for a failure before the first step, which cost nothing, so that an agent may
 * fix the cause and try again. The same failure after the first step is a crash. If the same setting was measured
 * before, the setting is not the cause of a failure.
 */
enum lineage_label trial_label(const struct trial_results *results, const struct trial_outcome *outcome)
{
    static const enum lineage_label labels[] = {
        [TRIAL_SIGNALLED] = LINEAGE_CRASH,
        [TRIAL_SILENT] = LINEAGE_CRASH,
        [TRIAL_NOT_FINITE] = LINEAGE_CRASH,
        [TRIAL_MEMORY_OVERRUN] = LINEAGE_CRASH,
        [TRIAL_PREFLIGHT_FAILED] = LINEAGE_PREFLIGHT_CRASH,
        [TRIAL_DISQUALIFIED] = LINEAGE_DISQUALIFIED,
        [TRIAL_TRAIN_OVERRUN] = LINEAGE_TRAIN_BUDGET_OVERRUN,
        [TRIAL_EVAL_OVERRUN] = LINEAGE_EVAL_BUDGET_OVERRUN,
        [TRIAL_ARTIFACT_OVERRUN] = LINEAGE_SIZE_BLOCKED,
        [TRIAL_INTERRUPTED] = LINEAGE_HARNESS_ABORT,
        [TRIAL_ABANDONED] = LINEAGE_HARNESS_ABORT,
        [TRIAL_NOT_STARTED] = LINEAGE_HARNESS_ABORT,
        [TRIAL_PRUNED] = LINEAGE_DISCARD,
    };
    if (results->plan->identity.repeats_measured && !(outcome->end == TRIAL_FINISHED && results->score.present))
        return LINEAGE_HARNESS_ABORT;
    if (outcome->end == TRIAL_FINISHED)
        return results->score.present ? LINEAGE_BASELINE : results->lost_score ? LINEAGE_CRASH : LINEAGE_HARNESS_ABORT;
    const bool full = outcome->end == TRIAL_SIGNALLED && outcome->cause == LINEAGE_CAUSE_DISK; /* torch aborts then */
    if (outcome->lacks && (outcome->end == TRIAL_FAILED || outcome->end == TRIAL_PREFLIGHT_FAILED || full))
        return LINEAGE_HARNESS_ABORT;
    if (outcome->end != TRIAL_FAILED)
        return labels[outcome->end];
    if (outcome->failure == TRIAL_FAILURE_SIZE)
        return LINEAGE_SIZE_BLOCKED;
    return outcome->failure == TRIAL_FAILURE_INPUT && !results->begun ? LINEAGE_PREFLIGHT_CRASH : LINEAGE_CRASH;
}

enum { SHELL_SIGNAL = 128, SIGNALS = 65, STATUSES = 256 };

int trial_label_signal(int exit_status)
{
    static const int left_by_python[] = {SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGSEGV, SIGTERM};
    for (size_t i = 0; i < sizeof left_by_python / sizeof *left_by_python; i++)
        if (exit_status == STATUSES - left_by_python[i])
            return left_by_python[i];
    return exit_status > SHELL_SIGNAL && exit_status < SHELL_SIGNAL + SIGNALS ? exit_status - SHELL_SIGNAL : 0;
}

void trial_label_status(char *out, size_t size, int exit_status)
{
    int number = trial_label_signal(exit_status);
    const char *name = number ? strsignal(number) : NULL;
    out[0] = '\0';
    if (name && !strstr(name, "nknown") && !strstr(name, "eal-time"))
        snprintf(out, size, ", which stands for signal %d (%s)%s", number, name,
                 number == SIGKILL ? ", perhaps out of memory" : "");
}

static enum lineage_cause cause_of_signal(int number)
{
    static const int own[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP, SIGPIPE};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (own[i] == number)
            return LINEAGE_CAUSE_CODE;
    return number == SIGXCPU                                           ? LINEAGE_CAUSE_TIME
           : number == SIGINT || number == SIGTERM || number == SIGHUP ? LINEAGE_CAUSE_INTERRUPT
           : number == SIGXFSZ                                         ? LINEAGE_CAUSE_DISK
                                                                       : LINEAGE_CAUSE_UNKNOWN;
}

enum lineage_cause trial_label_cause(const struct trial_results *results, const struct trial_outcome *outcome)
{
    static const enum lineage_cause causes[] = {
        [TRIAL_TRAIN_OVERRUN] = LINEAGE_CAUSE_TIME,    [TRIAL_EVAL_OVERRUN] = LINEAGE_CAUSE_TIME,
        [TRIAL_SILENT] = LINEAGE_CAUSE_TIME,           [TRIAL_MEMORY_OVERRUN] = LINEAGE_CAUSE_MEMORY,
        [TRIAL_NOT_FINITE] = LINEAGE_CAUSE_DIVERGENCE, [TRIAL_INTERRUPTED] = LINEAGE_CAUSE_INTERRUPT,
        [TRIAL_ABANDONED] = LINEAGE_CAUSE_INTERRUPT,   [TRIAL_NOT_STARTED] = LINEAGE_CAUSE_MISSING,
    };
    enum lineage_cause cause = outcome->cause;
    bool lacks,
        failed = outcome->end == TRIAL_FAILED || outcome->end == TRIAL_SIGNALLED || outcome->end == TRIAL_PREFLIGHT_FAILED;
    if (outcome->end == TRIAL_FINISHED)
        return results->lost_score ? LINEAGE_CAUSE_DIVERGENCE : LINEAGE_CAUSE_UNKNOWN;
    if (!failed)
        return (size_t)outcome->end < sizeof causes / sizeof *causes ? causes[outcome->end] : LINEAGE_CAUSE_UNKNOWN;
    if (!outcome->unexplained && (cause == LINEAGE_CAUSE_UNKNOWN || cause == LINEAGE_CAUSE_CODE))
        cli_cause_words(outcome->text, &cause, &lacks);
    if (cause != LINEAGE_CAUSE_UNKNOWN)
        return cause;
    if (outcome->end == TRIAL_FAILED && !outcome->unexplained && !outcome->lacks)
        return LINEAGE_CAUSE_CODE;
    return cause_of_signal(outcome->end == TRIAL_SIGNALLED ? outcome->signal : trial_label_signal(outcome->exit_status));
}

/* Writes " after step 37 of 120", " after step 3 of 450 of the warm start", or "". */
static void where(const struct trial_results *results, char text[64 + TRIAL_PHASE_MAX])
{
    bool own = strcmp(results->phase, TRIAL_PHASE_TRAIN) != 0 && strcmp(results->phase, TRIAL_PHASE_EVAL) != 0;
    text[0] = '\0';
    if (results->begun && results->steps > 0)
        snprintf(text, 64 + TRIAL_PHASE_MAX, " after step %lld of %lld%s%s", (long long)results->step, (long long)results->steps,
                 own ? " of the " : "", own ? results->phase : "");
    else if (results->begun && results->step > 0)
        snprintf(text, 64 + TRIAL_PHASE_MAX, " after step %lld", (long long)results->step);
}

void trial_label_overrun(char *out, size_t size, const struct trial_outcome *outcome, double seconds, double cpu_seconds)
{
    const char *unit = outcome->processor ? "processor seconds" : "s";
    double limit = outcome->processor ? cpu_seconds : seconds;
    if (outcome->timed) {
        snprintf(out, size, "was ended by timeout (exit status %d)", outcome->exit_status);
        return;
    }
    int n = snprintf(out, size, "took more than %g %s", limit, unit);
    if (outcome->used > limit && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, " (%.4g)", outcome->used);
}

/*
 * Writes ": at this pace all 120 steps take 97 s", or "" if the steps say nothing about it. It shows by how much the
 * limit was too small, which is not known otherwise, because the trial was stopped at the limit.
 */
static void forecast(const struct trial_results *results, const struct trial_outcome *outcome, char text[96])
{
    text[0] = '\0';
    double steps = (double)results->steps, step = (double)results->step;
    if (strcmp(results->phase, TRIAL_PHASE_TRAIN) == 0 && results->run <= 1 && step > 0 && step < steps)
        snprintf(text, 96, ": at this pace all %.0f steps take %.3g s", steps, outcome->total_s * steps / step);
}

/*
 * The reason states measured values with units, and the limit, because only the notes are left once telemetry is
 * deleted.
 */
void trial_label_explain(const struct trial_results *results, struct trial_outcome *outcome)
{
    const struct trial_settings *limits = &results->plan->settings;
    const size_t size = sizeof outcome->reason;
    char at[64 + TRIAL_PHASE_MAX], how[96], pace[96], status[96], *reason = outcome->reason;
    where(results, at);
    trial_label_status(status, sizeof status, outcome->exit_status);
    switch (outcome->end) {
    case TRIAL_FINISHED:
        if (!results->score.present && results->lost_score)
            snprintf(reason, size, "its score is not a finite number");
        else if (!results->score.present)
            snprintf(reason, size, "exit 0 without a score: %.480s%s%s%s%s", outcome->looked, outcome->others[0] ? ", but " : "",
                     outcome->others, outcome->reports_error ? ", and its output has an error: " : "",
                     outcome->reports_error ? outcome->evidence : "");
        break;
    case TRIAL_FAILED:
        if (outcome->evidence[0] && outcome->unexplained)
            snprintf(reason, size, "failed%s: %s, left with exit status %d%s", at, outcome->evidence, outcome->exit_status,
                     status);
        else
            snprintf(reason, size, "failed%s: %s", at, outcome->text);
        break;
    case TRIAL_SIGNALLED:
        snprintf(reason, size, "killed by signal %d (%s)%s%s%s", outcome->signal, strsignal(outcome->signal), at,
                 outcome->evidence[0] ? ": " : "", outcome->evidence);
        break;
    case TRIAL_TRAIN_OVERRUN:
        trial_label_overrun(how, sizeof how, outcome, limits->train_seconds, limits->train_cpu_seconds);
        forecast(results, outcome, pace);
        snprintf(reason, size, "training %s, stopped%s%s", how, at, pace);
        break;
    case TRIAL_EVAL_OVERRUN:
        trial_label_overrun(how, sizeof how, outcome, limits->eval_seconds, limits->eval_cpu_seconds);
        snprintf(reason, size, "the final evaluation %s%s", how, at);
        break;
    case TRIAL_MEMORY_OVERRUN:
        if (outcome->out_of_memory) {
            snprintf(reason, size, "%s%s", outcome->text, at);
            break;
        }
        snprintf(reason, size, "it held %.0f bytes of memory, %.0f are allowed, stopped%s", outcome->peak_bytes,
                 limits->memory_bytes, at);
        break;
    case TRIAL_NOT_STARTED: snprintf(reason, size, "not started: %s", outcome->text); break;
    case TRIAL_ARTIFACT_OVERRUN:
    case TRIAL_PREFLIGHT_FAILED:
    case TRIAL_PRUNED:
    case TRIAL_DISQUALIFIED: snprintf(reason, size, "%s", outcome->text); break;
    case TRIAL_SILENT: snprintf(reason, size, "it said nothing for %g s, stopped%s", limits->silence_seconds, at); break;
    case TRIAL_NOT_FINITE: snprintf(reason, size, "%s, stopped%s", outcome->text, at); break;
    case TRIAL_ABANDONED: snprintf(reason, size, "the process that watched it was killed%s", at); break;
    case TRIAL_INTERRUPTED:
        snprintf(reason, size, "%s%s", outcome->text[0] ? outcome->text : "interrupted by the user", at);
        break;
    }
    size_t n = strlen(reason);
    if (n && outcome->has_seed)
        snprintf(reason + n, size - n, ", with seed %" PRIu64, outcome->seed);
}
