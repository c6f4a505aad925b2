/* night_words.c: how a night stands, and what to type next. */
#include <string.h>

#include <lineage/text.h>

#include "night/night_turn.h"

static size_t count_left(const struct night *night)
{
    size_t left = night_proposals_left(night);
    for (size_t i = 0; i < night->sweep.n; i++)
        left += !night->trials[i].exp_id;
    return left;
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
    print_word(night->sweep.file);
    fputs(" -C", stderr);
    print_word(lineage_store_dir(night->store));
    for (const char *const *option = night->options; option && *option; option++)
        print_word(*option);
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

static const char *why_over(const struct night *night, int status, size_t left)
{
    if (status == CLI_INTERRUPTED)
        return "interrupted";
    return left > 0 || night->out_of_time ? "the hours are over" : "the night is done";
}

/* How things stand, and what to type next. On standard error, since standard output holds rows
 * alone. After an error nothing is said: its message is the last line then. */
void night_say_how_to_go_on(const struct night *night, int status)
{
    size_t left = count_left(night);
    if ((status != CLI_GO_ON && status != CLI_INTERRUPTED) || (left == 0 && night->quiet))
        return;
    fprintf(stderr, "lineage: %s; ", why_over(night, status, left));
    if (left > 0) {
        fprintf(stderr, "%zu of %zu trials are left. To go on:\n", left, night->sweep.n + night->sweep.plan.trials);
        print_command(night);
        return;
    }
    if (night->sweep.n > 0)
        fprintf(stderr, "all %zu trials have their rows", night->sweep.n);
    if (night->planning)
        fprintf(stderr, "%s%zu proposed trials have theirs", night->sweep.n > 0 ? ", " : "", night->n_proposed);
    print_best(night);
    fputs(". What the next night should know:\n  lineage render -C", stderr);
    print_word(lineage_store_dir(night->store));
    fputc('\n', stderr);
}
