/*
 * night_run.c: the trials of a night one after another.
 *
 * The order within a turn: find what to start from, run, keep the checkpoint for children, write
 * the row, rewrite KNOWLEDGE.md. A row is written last of what matters, because it is what says
 * that the trial need not be run again.
 *
 * Exit statuses: 0 when all is done and when the hours are over (a script that calls every night
 * must not take an evening that was too short for a failure), 130 after an interruption, 3 when
 * the system failed. A trial that fails is no failure of the night.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "night/night.h"
#include "recipe/origin.h"
#include "recipe/recipe_trial.h"
#include "report/page_file.h"

/* One trial being prepared. */
struct turn {
    struct night *night;
    size_t i;
    const struct trainer_trial *trial;
    struct trainer_recipe recipe; /* with the checkpoint it starts from */
    struct origin origin;
    struct recipe_trial run;
    char refused[TRAINER_ERROR_TEXT_MAX + 32];
    char link[LINEAGE_NIGHT_LINK_MAX], name[TRAINER_TRIAL_NAME_MAX + 64], keep[TRAINER_PATH_MAX];
};

/* Not the time of day: a clock that is set during the night would end it early or never. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- what a trial starts from ---- */

/* A missing parent becomes the reason of a row (preflight_crash) and not an error: the night
 * goes on with the trials that can run, and this one is not tried again in vain every evening. */
static int start_from(struct turn *turn, const char *id)
{
    struct lineage_error err;
    enum lineage_status found = origin_of_trial(&turn->origin, turn->night->store, id, &err);
    if (found == LINEAGE_ENOTFOUND)
        snprintf(turn->refused, sizeof turn->refused, "no parent to start from: %s", err.text);
    else if (found != LINEAGE_OK)
        return cli_fail(&err);
    else if (!turn->origin.checkpoint[0])
        snprintf(turn->refused, sizeof turn->refused, "no checkpoint to start from: %s",
                 turn->origin.why);
    else
        snprintf(turn->recipe.checkpoint, sizeof turn->recipe.checkpoint, "%s",
                 turn->origin.checkpoint);
    return CLI_GO_ON;
}

/* A trial of this sweep may have been discarded: then its checkpoint is in checkpoints/. The
 * snapshot first, because it is what the row refers to. */
static int start_from_trial(struct turn *turn, size_t parent)
{
    char kept[TRAINER_PATH_MAX];
    int status = start_from(turn, turn->night->exp_id[parent]);
    night_checkpoint(kept, turn->night, parent);
    if (status == CLI_GO_ON && turn->refused[0] && access(kept, R_OK) == 0) {
        snprintf(turn->recipe.checkpoint, sizeof turn->recipe.checkpoint, "%s", kept);
        turn->refused[0] = '\0';
    }
    return status;
}

/* The first trial of a store has no best one before it: it starts as its recipe says. */
static int start_from_best(struct turn *turn)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best(turn->night->store, &best, &err);
    lineage_trial_release(&best);
    if (status == LINEAGE_ENOTFOUND)
        return CLI_GO_ON;
    return status == LINEAGE_OK ? start_from(turn, "best") : cli_fail(&err);
}

/* False when out of memory, or when it did not work out: outcome says which. Without a row: a
 * warm start is nobody's trial and has no score that could be compared. */
static bool train_warm_start(struct turn *turn, const struct trainer_recipe *warm, const char *checkpoint,
                             struct trial_outcome *outcome)
{
    struct trial_request request = {.name = warm->name,
                                    .keep_as = checkpoint,
                                    .quiet = turn->night->quiet,
                                    .interrupts = &turn->night->interrupts};
    bool trained = recipe_trial_init(&turn->run, &request, warm) &&
                   trial_run_unrecorded(&request, lineage_store_dir(turn->night->store), outcome);
    recipe_trial_release(&turn->run);
    return trained;
}

/* Train the warm start that several trials share, unless it is there. If that fails the trial
 * does it itself, and its row says what went wrong. threads is not part of the digest, as it
 * changes no number; the trial's own is used. */
static int start_from_shared(struct turn *turn)
{
    char checkpoint[TRAINER_PATH_MAX];
    struct trial_outcome outcome = {0};
    struct trainer_recipe warm;
    night_warm_checkpoint(checkpoint, turn->night, &turn->recipe);
    night_warm_recipe(&warm, &turn->recipe);
    warm.threads = turn->recipe.threads;
    if (access(checkpoint, R_OK) == 0 || train_warm_start(turn, &warm, checkpoint, &outcome))
        snprintf(turn->recipe.checkpoint, sizeof turn->recipe.checkpoint, "%s", checkpoint);
    return outcome.end == TRIAL_INTERRUPTED ? CLI_INTERRUPTED : CLI_GO_ON;
}

static int start_from_base(struct turn *turn)
{
    struct lineage_error err;
    if (night_shares_warm_start(turn->night, turn->i))
        return start_from_shared(turn);
    if (turn->recipe.checkpoint[0] &&
        origin_of_checkpoint(&turn->origin, turn->night->store, turn->recipe.checkpoint, &err) !=
            LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

/* "best" is looked up when the trial's turn comes: it may be the child of a trial that ran an
 * hour ago. */
static int find_start(struct turn *turn)
{
    switch (turn->trial->parent) {
    case TRAINER_PARENT_BASE: break;
    case TRAINER_PARENT_TRIAL: return start_from_trial(turn, turn->trial->parent_trial);
    case TRAINER_PARENT_OTHER:
        return strcmp(turn->trial->parent_name, "best") == 0
                   ? start_from_best(turn)
                   : start_from(turn, turn->trial->parent_name);
    }
    return start_from_base(turn);
}

/* ---- a trial ---- */

/* The first trial that is measured is what the others are compared with. Asked of the store and
 * not of the sweep, for each trial anew: where the first one crashed the next takes its place. */
static bool is_baseline(const struct night *night)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    enum lineage_status status = lineage_best(night->store, &best, &err);
    lineage_trial_release(&best);
    return status == LINEAGE_ENOTFOUND;
}

/* One line per trial on standard output, flushed at once: who pipes a night into a file or a
 * script sees each trial when it ends. An interrupted trial has a row but keeps its place in
 * the list of those to be run. */
static int finish_trial(struct turn *turn, const struct trial_outcome *outcome,
                        const struct lineage_trial *row)
{
    struct night *night = turn->night;
    char score[LINEAGE_NUMBER_MAX] = "-";
    if (row->core_metric.present)
        lineage_number_format(score, row->core_metric.value);
    char *name = cli_text_line(turn->trial->name, 0);
    printf("%s\t%s\t%s\t%s\n", row->exp_id, lineage_label_name(row->status), score,
           name ? name : "");
    fflush(stdout);
    free(name);
    if (outcome->end == TRIAL_INTERRUPTED)
        return CLI_INTERRUPTED;
    night->label[turn->i] = row->status;
    night->exp_id[turn->i] = strdup(row->exp_id);
    return night->exp_id[turn->i] ? CLI_GO_ON : cli_error(CLI_SYSTEM, "out of memory");
}

/* The checkpoint is kept under its key only if somebody will start from it: a night of a
 * hundred trials would fill the disk with files that nobody reads. */
static int run_trial(struct turn *turn)
{
    struct night *night = turn->night;
    struct trial_outcome outcome = {0};
    struct lineage_trial row = {0};
    struct trial_request request = {.plan = {.parent = turn->origin.exp_id ? turn->origin.exp_id : "",
                                             .night = night_link(turn->link, night, turn->i),
                                             .baseline = is_baseline(night)},
                                    .refused = turn->refused[0] ? turn->refused : NULL,
                                    .keep_as = night_is_parent(night, turn->i) ? turn->keep : NULL,
                                    .name = turn->name,
                                    .quiet = night->quiet,
                                    .interrupts = &night->interrupts};
    night_checkpoint(turn->keep, night, turn->i);
    snprintf(turn->name, sizeof turn->name, "[%zu/%zu] %s", turn->i + 1, night->n,
             turn->trial->name);
    if (!recipe_trial_init(&turn->run, &request, &turn->recipe))
        return cli_error(CLI_SYSTEM, "out of memory");
    int status = trial_run(night->store, &request, &outcome, &row);
    if (status == CLI_GO_ON)
        status = finish_trial(turn, &outcome, &row);
    lineage_trial_release(&row);
    recipe_trial_release(&turn->run);
    return status;
}

/* On the heap: two recipes and their paths are too much for a stack that other code shares. */
static int take_turn(struct night *night, size_t i)
{
    struct turn *turn = calloc(1, sizeof *turn);
    if (!turn)
        return cli_error(CLI_SYSTEM, "out of memory");
    turn->night = night;
    turn->i = i;
    turn->trial = trainer_sweep_trial(night->sweep, i);
    turn->recipe = turn->trial->recipe;
    int status = find_start(turn);
    if (status == CLI_GO_ON)
        status = run_trial(turn);
    origin_release(&turn->origin);
    free(turn);
    return status;
}

/* ---- the night ---- */

/* After every trial, and before the first: whoever looks during the night finds what is known by then. */
static int write_knowledge(const struct night *night)
{
    char *path;
    struct lineage_render_options options;
    struct lineage_error err;
    lineage_render_options_init(&options);
    options.specialist = trainer_sweep_name(night->sweep);
    enum lineage_status status =
        lineage_store_path(&path, night->store, LINEAGE_PLACE_KNOWLEDGE, &err);
    if (status == LINEAGE_OK)
        status = lineage_render_file(night->store, path, &options, &err);
    lineage_free(path);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    return night->report ? page_file_beside(night->store) : CLI_GO_ON;
}

static size_t count_left(const struct night *night)
{
    size_t left = 0;
    for (size_t i = 0; i < night->n; i++)
        left += !night->exp_id[i];
    return left;
}

/* A trial that fails at once says nothing of how long one takes. Crashes and overruns have
 * their length from something else. */
static bool is_measured(enum lineage_label label)
{
    return label == LINEAGE_KEEP || label == LINEAGE_DISCARD || label == LINEAGE_BASELINE;
}

/* A word as a shell reads it. Words that need no quotes go without, so that the line looks as a
 * person would type it; the rest in single quotes, in which a shell expands nothing. */
static void print_word(const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:@%-";
    bool bare = *word && strspn(word, plain) == strlen(word);
    fputs(bare ? " " : " '", stderr);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", stderr);
        else
            fputc(*word, stderr);
    fputs(bare ? "" : "'", stderr);
}

static void print_command(const struct night *night)
{
    fputs("  lineage night", stderr);
    print_word(night->file);
    fputs(" -C", stderr);
    print_word(lineage_store_dir(night->store));
    fputc('\n', stderr);
}

static void print_best(const struct night *night)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    char score[LINEAGE_NUMBER_MAX];
    if (lineage_best(night->store, &best, &err) == LINEAGE_OK && best.core_metric.present) {
        lineage_number_format(score, best.core_metric.value);
        fprintf(stderr, "; the best of the store is %s, %s", best.exp_id, score);
    }
    lineage_trial_release(&best);
}

/* How things stand, and what to type next. On standard error, since standard output holds rows
 * alone. After an error nothing is said: its message is the last line then. */
static void say_how_to_go_on(const struct night *night, int status)
{
    size_t left = count_left(night);
    if ((status != CLI_GO_ON && status != CLI_INTERRUPTED) || (left == 0 && night->quiet))
        return;
    fprintf(stderr, "lineage: %s; ",
            status == CLI_INTERRUPTED ? "interrupted"
            : left > 0                ? "the hours are over"
                                      : "the night is done");
    if (left == 0) {
        fprintf(stderr, "all %zu trials have their rows", night->n);
        print_best(night);
        fputs(". What the next night should know:\n  lineage render -C", stderr);
        print_word(lineage_store_dir(night->store));
        fputc('\n', stderr);
        return;
    }
    fprintf(stderr, "%zu of %zu trials are left. To go on:\n", left, night->n);
    print_command(night);
}

/* No trial is begun that would run into the morning. */
static bool has_time(const struct night *night, double began, double forecast)
{
    double left = night->hours * 3600 - (now() - began);
    if (forecast <= left)
        return true;
    fprintf(stderr, "lineage: the next trial takes about %.0f s%s, %.0f s are left\n",
            ceil(forecast), night->pace > 0 ? "" : " (taken for granted while none is measured)",
            fmax(0, floor(left)));
    return false;
}

/* KNOWLEDGE.md after an interruption as well: the aborted trial is in it. An interruption
 * between two trials is seen here, one within a trial by its watcher, and both end the night
 * the same way. */
int night_run(struct night *night)
{
    double began = now();
    int status = write_knowledge(night);
    for (size_t i = 0; i < night->n && status == CLI_GO_ON; i++) {
        double start = now();
        bool warms_up;
        if (night->exp_id[i])
            continue;
        if (interrupts_came(&night->interrupts))
            status = CLI_INTERRUPTED;
        else if (!has_time(night, began, night_forecast(night, i, &warms_up)))
            break;
        if (status == CLI_GO_ON)
            status = take_turn(night, i);
        if (status == CLI_GO_ON || status == CLI_INTERRUPTED) {
            int written = write_knowledge(night);
            status = written == CLI_GO_ON ? status : written;
        }
        if (status == CLI_GO_ON && is_measured(night->label[i]))
            night_learn_turn(night, i, warms_up, now() - start);
    }
    say_how_to_go_on(night, status);
    return status == CLI_GO_ON ? CLI_OK : status;
}
