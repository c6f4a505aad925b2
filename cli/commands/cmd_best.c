/* cmd_best.c: `lineage best`: prints the best trial and how the score got there. */

#include <lineage/text.h>

#include "output/show.h"

enum { SPARKLINE = 60, LABEL = 20 };

/* values[seq - first] is the best score after trial seq; the first trial is the first one with a rank. */
struct progress {
    double *values;
    size_t n, capacity, improved; /* improved: how many trials beat all earlier ones */
};

/* A trial without a rank repeats the previous best, so that the drawing shows how long a plateau lasted. */
static bool add_progress(struct progress *p, const struct lineage_trial *trial, enum lineage_direction direction)
{
    bool ranks = lineage_label_is_kept(trial->status) && trial->score.present && isfinite(trial->score.value);
    double before = p->n ? p->values[p->n - 1] : (double)NAN;
    if (!p->n && !ranks)
        return true;
    if (!CLI_ROOM(p->values, p->n, p->capacity))
        return false;
    double score = trial->score.value;
    bool better = ranks && (!p->n || (direction == LINEAGE_HIGHER ? score > before : score < before));
    p->improved += better && p->n;
    p->values[p->n++] = better ? score : before;
    return true;
}

/* Called only on a terminal, because this reads all rows, whereas the rest of the command needs a single index
 * look-up. */
static enum lineage_status load_progress(struct lineage_store *store, struct progress *p, struct lineage_error *err)
{
    const struct lineage_query all = {0};
    enum lineage_direction direction = lineage_store_config(store)->direction;
    struct lineage_cursor *cursor;
    struct lineage_trial trial = {0};
    enum lineage_status status = lineage_query_open(&cursor, store, &all, err);
    if (status != LINEAGE_OK)
        return status;
    while ((status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK)
        if (!add_progress(p, &trial, direction))
            break;
    lineage_cursor_close(cursor);
    return status;
}

static void print_progress(const struct cli_screen *screen, const struct progress *p)
{
    char first[LINEAGE_NUMBER_MAX], last[LINEAGE_NUMBER_MAX];
    const size_t room = screen->width > LABEL + 10 ? screen->width - LABEL : 10;
    struct cli_writer text = {0};
    FILE *out = cli_writer_open(&text);
    if (!out)
        return;
    sparkline_print(out, p->values, p->n, room < SPARKLINE ? room : SPARKLINE);
    fprintf(out, " %s to %s in %zu trials, %zu improvement%s", cli_number_text(first, screen, p->values[0]),
            cli_number_text(last, screen, p->values[p->n - 1]), p->n, p->improved, p->improved == 1 ? "" : "s");
    if (cli_writer_close(&text))
        cli_show_line(stdout, screen, "best so far", text.text, CLI_PLAIN);
    free(text.text);
}

/* The drawing is only for people, and only on a screen that can show it. */
static int show_progress(struct cli_session *session)
{
    struct progress p = {0};
    struct lineage_error err;
    enum lineage_status status = load_progress(session->store, &p, &err);
    if (status == LINEAGE_ENOTFOUND && p.improved)
        print_progress(&session->screen, &p);
    free(p.values);
    return status == LINEAGE_ENOTFOUND ? CLI_OK : status == LINEAGE_OK ? cli_no_memory() : cli_fail(&err);
}

/* One line for each trial that is best in both scores; none if the store has one score. */
static void show_front(const struct cli_session *session, const struct lineage_front *front)
{
    char score[LINEAGE_NUMBER_MAX], second[LINEAGE_NUMBER_MAX];
    for (size_t i = 0; i < front->n; i++) {
        char *id = cli_text_line(front->points[i].exp_id, 0);
        json_t *text = json_sprintf(
            "%s: %s, %s %s", id ? id : "", cli_number_text(score, &session->screen, front->points[i].score),
            lineage_store_config(session->store)->second, cli_number_text(second, &session->screen, front->points[i].second));
        cli_show_line(stdout, &session->screen, "front", text ? json_string_value(text) : "", CLI_PLAIN);
        json_decref(text);
        free(id);
    }
}

static void print_json(const struct cli_session *session, const struct lineage_trial *best, const struct lineage_front *front,
                       const struct lineage_evidence *evidence)
{
    const struct lineage_config *config = lineage_store_config(session->store);
    json_t *object = cli_trial_json(best), *setting = cli_answer_json(evidence);
    cli_json_set_margin(object, config, best);
    if (!lineage_evidence_same_scores(evidence)) /* the claim names another run as the remedy */
        cli_json_set_claim(object, session->store, best);
    if (front->n)
        cli_json_set(object, "second", cli_json_text(config->second), "front", cli_front_json(front), NULL);
    if (setting)
        json_object_set_new(object, "setting", setting);
    cli_json_answer(object);
}

static int print_best(struct cli_session *session, const struct lineage_trial *best, const struct lineage_front *front,
                      const struct lineage_evidence *evidence)
{
    char text[CLI_ANSWER_TEXT_MAX];
    if (session->format == CLI_JSON)
        return print_json(session, best, front, evidence), CLI_OK;
    int status = cli_show_trial(best, lineage_store_config(session->store), session->format, &session->screen);
    if (status != CLI_OK || session->format != CLI_TABLE)
        return status;
    if (*cli_answer_text(text, evidence, session->store))
        cli_show_line(stdout, &session->screen, "setting", text, CLI_PLAIN);
    const size_t held_back = *text ? lineage_evidence_held_back(evidence) : evidence->n;
    if (held_back < evidence->n)
        cli_show_line(stdout, &session->screen, "held back", cli_held_back_text(text, evidence, held_back), CLI_PLAIN);
    if (!lineage_evidence_same_scores(evidence)) /* the claim names another run as the remedy */
        cli_show_claim(&session->screen, session->store, best);
    show_front(session, front);
    return CLI_OK;
}

/* Returns 1 if no trial has a rank yet. This is not an error, because scripts ask before their first trial. */
static int work(struct cli_session *session, void *context)
{
    struct lineage_trial trial = {0};
    struct lineage_evidence evidence = {.sure = (double)NAN};
    struct lineage_front front = {0};
    struct lineage_error err;
    (void)context;
    enum lineage_status found = lineage_best_of(session->store, &trial, &evidence, &err);
    if (found == LINEAGE_ENOTFOUND)
        return cli_error(CLI_NO, "%s", err.text);
    if (found != LINEAGE_OK)
        return cli_fail(&err);
    int status = lineage_front_load(&front, session->store, &err) == LINEAGE_OK ? CLI_OK : cli_fail(&err);
    if (status == CLI_OK)
        status = print_best(session, &trial, &front, &evidence);
    lineage_evidence_release(&evidence);
    lineage_front_release(&front);
    lineage_trial_release(&trial);
    if (status == CLI_OK && session->screen.terminal && session->format == CLI_TABLE)
        status = show_progress(session);
    return status;
}

static struct cli_session asked;
static struct poptOption table[] = {CLI_SESSION_OPTIONS(&asked), CLI_SCREEN_OPTIONS(&asked.screen), POPT_TABLEEND};

const struct cli_command cmd_best = {
    .name = "best",
    .arguments = "",
    .description = "Prints the kept or baseline trial with the best finite score, in the store's direction.\n"
                   "If two trials tie, the earlier one wins. If trials ran more than once, it prints the setting with\n"
                   "the best mean instead, kept or not: means are drawn to the middle of all as far as noise may\n"
                   "explain the difference, so that one lucky run does not win against ten good ones. It says\n"
                   "how many runs the setting had, its mean with the 95 % margin, and how likely it is better than\n"
                   "the next one. The row is that of a run that counts, not of one that diverged. A setting\n"
                   "that would be the best, had not more of its runs diverged than did not, is held back and\n"
                   "printed as such. Exit status 1 if no trial has a score. In a store with a second score\n"
                   "(`init --second`) it also prints the front: the kept trials that are best in both scores\n"
                   "(`query --front` lists them).",
    .examples = "  lineage best\n  lineage best --direction higher --format json | jq .exp_id",
    CLI_ON_STORE(asked, table, 0, 0, work, NULL),
};
