/* cmd_search.c: `lineage search`: lists the trials that contain given words. */

#include <lineage/render.h>
#include <lineage/search.h>
#include <lineage/settings.h>
#include <lineage/text.h>

#include "cli.h"

enum { LIMIT_DEFAULT = 20, SPANS_MAX = 64, EXCERPT_BYTES = 400, BEFORE_MATCH = 100 };

struct search_options {
    char *status, *specialist, *since, *until, *limit;
    int exit_status;
};

/* Prints the text with its matches highlighted, beginning a few words before the first match. Everything except the
 * highlights is escaped first, because a hypothesis may contain escape sequences. */
static void print_excerpt(const struct cli_screen *screen, const char *place, const char *words, const char *text)
{
    struct lineage_span spans[SPANS_MAX];
    char *safe = lineage_text_safe(text, strlen(text), 0);
    size_t n = safe ? lineage_search_spans(spans, SPANS_MAX, words, safe) : 0;
    if (n == 0) {
        lineage_free(safe);
        return;
    }
    size_t length = strlen(safe), from = spans[0].start > BEFORE_MATCH ? spans[0].start - BEFORE_MATCH : 0;
    while (from > 0 && safe[from - 1] != ' ' && from < spans[0].start)
        from++;
    size_t to = length - from > EXCERPT_BYTES ? from + EXCERPT_BYTES : length;
    while (to < length && ((unsigned char)safe[to] & 0xc0) == 0x80)
        to++;
    printf("    %s%s:%s %s", cli_style_on(screen, CLI_QUIET), place, cli_style_off(screen, CLI_QUIET), from ? ".. " : "");
    for (size_t i = 0; i < n && spans[i].end <= to; i++) {
        printf("%.*s%s%.*s%s", (int)(spans[i].start - from), safe + from, cli_style_on(screen, CLI_STRONG),
               (int)(spans[i].end - spans[i].start), safe + spans[i].start, cli_style_off(screen, CLI_STRONG));
        from = spans[i].end;
    }
    printf("%.*s%s\n", (int)(to - from), safe + from, to < length ? " .." : "");
    lineage_free(safe);
}

/* On a terminal, each trial is followed by the places where the words occur. */
static int print_excerpts(struct lineage_cursor *cursor, const struct cli_screen *screen, const char *words, size_t *n)
{
    struct lineage_trial trial = {0};
    struct lineage_error err;
    enum lineage_status status;
    char score[LINEAGE_NUMBER_MAX];
    for (*n = 0; (status = lineage_cursor_next(cursor, &trial, &err)) == LINEAGE_OK; ++*n) {
        enum cli_style style = cli_label_style(trial.status);
        cli_print(stdout, "%s%.40s  %s%s%s%s  %.40s\n", cli_style_on(screen, style), trial.exp_id,
                  lineage_trial_status((char[LINEAGE_STATUS_MAX]){0}, &trial), trial.score.present ? "  " : "",
                  trial.score.present ? cli_number_text(score, screen, trial.score.value) : "", cli_style_off(screen, style),
                  trial.specialist);
        print_excerpt(screen, "hypothesis", words, trial.hypothesis);
        print_excerpt(screen, "notes", words, trial.notes);
    }
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? CLI_OK : cli_fail(&err);
}

/* Joins the arguments to one search, so that `lineage search grad clip` needs no quotes; free the result. */
static char *join(const char *const *arguments)
{
    struct cli_writer writer = {0};
    FILE *out = cli_writer_open(&writer);
    for (size_t i = 0; out && arguments[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", arguments[i]);
    return cli_writer_close(&writer);
}

static int work(struct cli_session *session, void *context)
{
    const struct search_options *o = context;
    struct lineage_query filter = {.specialist = o->specialist, .since = o->since, .until = o->until, .limit = LIMIT_DEFAULT};
    struct lineage_cursor *cursor;
    struct lineage_error err;
    size_t n;
    if ((o->status && !cli_labels_parse(&filter.labels, o->status)) ||
        (o->limit && !cli_count_parse(&filter.limit, "limit", o->limit)))
        return CLI_USAGE;
    if (filter.limit == 0)
        return cli_error(CLI_USAGE, "--limit 0 would print nothing; give at least 1");
    char *words = join(session->args.positional);
    if (!words)
        return cli_no_memory();
    if (lineage_search(&cursor, session->store, words, &filter, &err) != LINEAGE_OK) {
        free(words);
        return cli_fail(&err);
    }
    int status = session->format == CLI_TABLE && session->screen.terminal
                     ? print_excerpts(cursor, &session->screen, words, &n)
                     : cli_print_cursor(cursor, lineage_store_settings(session->store), session->format, &session->screen, &n);
    free(words);
    return status == CLI_OK && o->exit_status && n == 0 ? CLI_NO : status;
}

static struct cli_session asked;
static struct search_options chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&asked),
    CLI_OPTION("status", &chosen.status, "LABELS", "only trials with one of these labels, separated by commas"),
    CLI_OPTION("specialist", &chosen.specialist, "NAME", "only trials of this specialist"),
    CLI_OPTION("since", &chosen.since, "DATE", "only trials from DATE on: 2026-05-07, yesterday, 3 days ago"),
    CLI_OPTION("until", &chosen.until, "DATE", "only trials before DATE"),
    CLI_OPTION("limit", &chosen.limit, "N", "print at most N trials (default: 20)"),
    CLI_FLAG("exit-status", &chosen.exit_status, "exit with status 1 if nothing matches"),
    CLI_SCREEN_OPTIONS(&asked.screen),
    POPT_TABLEEND};

const struct cli_command cmd_search = {
    .name = "search",
    .arguments = "WORDS...",
    .description = "Lists the trials whose exp_id, specialist, hypothesis, notes or remarks contain the words,\n"
                   "best match first. A trial must contain all words; case and accents are ignored. An\n"
                   "identifier is found as a whole and by its parts: muon_wd_mlp and gradClip by wd and clip.\n\n"
                   "  grad clip              both words\n"
                   "  \"grad clip\"            the words next to each other\n"
                   "  anneal*                words that begin with anneal\n"
                   "  clip OR norm           either word\n"
                   "  norm NOT layer         the first word without the second\n"
                   "  hypothesis:clip        only in exp_id, specialist, hypothesis, notes, remarks\n\n"
                   "AND, OR and NOT are written in capitals; parentheses group. On a terminal, matches are\n"
                   "highlighted. If more than 4,000 trials match, the newest 4,000 are ranked.",
    .examples = "  lineage search 'grad clip'\n  lineage search '(warmdown OR cooldown) frac*' --status keep\n"
                "  lineage search 'hypothesis:dropout NOT attention' --format json",
    CLI_ON_STORE(asked, table, 1, SIZE_MAX, work, &chosen),
};
