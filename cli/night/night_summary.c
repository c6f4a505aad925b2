#include "night/night_summary.h"

#include <string.h>

#include <lineage/text.h>

#include "night/night_stop.h"
#include "support/shell_word.h"
#include "trial/run_and_append.h"

static size_t count_left(const struct night *night)
{
    size_t left = planning_left(&night->planning);
    for (size_t i = 0; i < night->list.sweep.n; i++)
        left += !night->list.trials[i].exp_id || night->list.trials[i].label == LINEAGE_HARNESS_ABORT;
    return left;
}

/* Why the night has ended. */
static const char *ending(const struct night *night, int status, size_t left)
{
    const struct planning *planning = &night->planning;
    if (status == CLI_INTERRUPTED)
        return "interrupted";
    if (*night_stop_text(night))
        return night_stop_text(night);
    if (night->hours.used_up)
        return "the hours are used up";
    if (planning->on && planning->idle && planning->nothing)
        return planning->nothing;
    return left > 0 ? "the night has ended" : "the night is done";
}

static void print_command(const struct night *night)
{
    fputs("  lineage night", stderr);
    shell_word_write(stderr, night->list.sweep.file);
    fputs(" -C", stderr);
    shell_word_write(stderr, lineage_store_dir(night->list.store));
    for (const char *const *option = night->options; option && *option; option++)
        if (*night_stop_text(night) && (strcmp(*option, "--until") == 0 || strcmp(*option, "--plateau") == 0))
            option++; /* with its argument: the night would stop at once */
        else
            shell_word_write(stderr, *option);
    fputc('\n', stderr);
}

static void print_best(const struct night *night)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    char score[LINEAGE_NUMBER_MAX];
    if (lineage_best(night->list.store, &best, &err) == LINEAGE_OK && best.core_metric.present) {
        lineage_number_format(score, best.core_metric.value);
        fprintf(stderr, "; the best of the store is %s, %s", best.exp_id, score);
    }
    lineage_trial_release(&best);
}

void night_summarize(const struct night *night, int status)
{
    size_t left = count_left(night);
    const struct night_sweep *sweep = &night->list.sweep;
    if ((status != CLI_GO_ON && status != CLI_INTERRUPTED) || (left == 0 && night->quiet))
        return;
    char prospect[NIGHT_PROSPECT_MAX] = "";
    if (night->stop.has_target || night->stop.plateau)
        night_stop_prospect(prospect, night);
    fprintf(stderr, "lineage: %s; %s%s", ending(night, status, left), prospect, *prospect ? "; " : "");
    if (night->unscored)
        fprintf(
            stderr,
            "%zu finished without a score (`lineage rescore -C %s --night '%s' -m NAME` reads it from their logs and files); ",
            night->unscored, lineage_store_dir(night->list.store), sweep->name);
    if (left > 0) {
        fprintf(stderr, "%zu of %zu trials are left. To go on:\n", left, sweep->n + sweep->plan.trials);
        print_command(night);
        return;
    }
    if (sweep->n > 0)
        fprintf(stderr, "all %zu trials have their rows", sweep->n);
    if (night->planning.on)
        fprintf(stderr, "%s%zu proposed trials have theirs", sweep->n > 0 ? ", " : "", night->list.n_proposed);
    print_best(night);
    fputs(". What the next night should know:\n  lineage render -C", stderr);
    shell_word_write(stderr, lineage_store_dir(night->list.store));
    fputc('\n', stderr);
}

void night_tell_end(struct night *night, int status)
{
    char text[NIGHT_STOP_MAX + NIGHT_PROSPECT_MAX + 96], prospect[NIGHT_PROSPECT_MAX] = "";
    const size_t left = count_left(night);
    if (!night->notify.command || !night->list.store)
        return;
    if (*night_stop_text(night))
        night_stop_prospect(prospect, night);
    if (status != CLI_GO_ON && status != CLI_INTERRUPTED)
        snprintf(text, sizeof text, "night %s ended with exit status %d; its last message says why", night->list.sweep.name,
                 status);
    else
        snprintf(text, sizeof text, "night %s: %s; %zu trials are left%s%s", night->list.sweep.name, ending(night, status, left),
                 left, *prospect ? "; " : "", prospect);
    notify_send(&night->notify, night->list.store, "stop", NULL, text);
}
