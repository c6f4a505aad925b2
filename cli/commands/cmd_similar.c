/* cmd_similar.c: `lineage similar`: lists the trials that resemble a trial or an idea. */

#include "output/ideas_out.h"

struct similar_options {
    int before;
    char *limit, *strictness;
};

enum { LIMIT_DEFAULT = 10 };

static int print_json(const struct lineage_ideas *ideas, const struct lineage_similar_list *list)
{
    json_t *array = json_array();
    for (size_t i = 0; i < list->n; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, list->items[i].trial);
        json_t *object = json_object();
        cli_json_set(object, "exp_id", cli_json_text(idea->exp_id), "same", json_boolean(list->items[i].same), "why",
                     cli_json_text(list->items[i].why), "status",
                     json_string(idea->running ? "running" : lineage_label_name(idea->status)), "score",
                     cli_json_figure(idea->score), "delta_vs_best", cli_json_figure(idea->delta_vs_best), NULL);
        json_array_append_new(array, object);
    }
    return cli_json_answer(array);
}

static int print_list(struct cli_session *session, const struct lineage_ideas *ideas, const struct lineage_similar_list *found)
{
    struct cli_list *list =
        cli_list_of(session->format, &session->screen, "exp_id:1,verdict:2,outcome:3,why:4/20,hypothesis:5/20");
    for (size_t i = 0; i < found->n; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, found->items[i].trial);
        char outcome[80];
        cli_idea_outcome(outcome, sizeof outcome, session->format == CLI_TABLE ? &session->screen : NULL, idea);
        cli_list_add(list, CLI_TEXT(idea->exp_id), CLI_TEXT(found->items[i].same ? "same" : "related"), CLI_TEXT(outcome));
        cli_list_style(list, idea->running ? CLI_PLAIN : cli_label_style(idea->status), 0);
        cli_list_add(list, CLI_TEXT(found->items[i].why), CLI_TEXT(idea->hypothesis));
        if (!cli_list_end_row(list))
            break;
    }
    return cli_list_finish(list);
}

/* Whether the text can only mean an id. */
static bool looks_like_id(const char *text)
{
    return strncmp(text, "exp_", 4) == 0 || text[strspn(text, "0123456789")] == '\0';
}

static enum lineage_status ask(struct lineage_similar_list *list, struct lineage_ideas *ideas, const char *what, bool before,
                               size_t limit, struct lineage_error *err)
{
    size_t trial;
    if (lineage_ideas_find(&trial, ideas, what))
        return lineage_ideas_similar(list, ideas, trial, !before, limit, err);
    return lineage_ideas_similar_text(list, ideas, what, limit, err);
}

static int work(struct cli_session *session, void *context)
{
    const struct similar_options *o = context;
    const char *what = session->args.positional[0];
    struct lineage_similar_list list;
    struct lineage_ideas *ideas;
    struct lineage_error err;
    size_t limit = LIMIT_DEFAULT, trial;
    double strictness = LINEAGE_STRICTNESS;
    if (o->limit && !cli_count_parse(&limit, "limit", o->limit))
        return CLI_USAGE;
    if (o->strictness && !cli_number_parse(&strictness, "strictness", o->strictness))
        return CLI_USAGE;
    if (!(strictness > 0 && strictness < 1))
        return cli_error(CLI_USAGE, "--strictness '%s' is not between 0 and 1; use for example 0.6", o->strictness);
    if (cli_ideas_alike(&ideas, session->store, what, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = CLI_OK;
    bool known = lineage_ideas_find(&trial, ideas, what);
    if (!known && looks_like_id(what))
        status = cli_error(CLI_NO, "similar: no trial %s", what);
    else if (!known && o->before)
        status = cli_error(CLI_USAGE, "similar: --before needs the id of a trial, which '%s' is not", what);
    else if (lineage_ideas_set_strictness(ideas, strictness, &err) != LINEAGE_OK ||
             ask(&list, ideas, what, o->before, limit, &err) != LINEAGE_OK)
        status = cli_fail(&err);
    else {
        status = session->format == CLI_JSON ? print_json(ideas, &list) : print_list(session, ideas, &list);
        if (status == CLI_OK && list.remark)
            status = cli_error(list.n ? CLI_OK : CLI_NO, "similar: %s", list.remark);
        else if (status == CLI_OK && !list.n)
            status = CLI_NO;
        lineage_similar_release(&list);
    }
    lineage_ideas_release(ideas);
    return status;
}

static struct cli_session asked;
static struct similar_options chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&asked),
    CLI_FLAG("before", &chosen.before, "list only trials before ID in the log, and running trials"),
    CLI_OPTION("limit", &chosen.limit, "N", "list at most N trials (default: 10)"),
    CLI_OPTION("strictness", &chosen.strictness, "P",
               "call a trial `same` only if that is at least this probable, between 0 and 1 (default: 0.4)"),
    CLI_SCREEN_OPTIONS(&asked.screen),
    POPT_TABLEEND};

const struct cli_command cmd_similar = {
    .name = "similar",
    .arguments = "ID|TEXT",
    .description =
        "Lists the trials that resemble a trial, or a text that describes an idea, most similar\n"
        "first. It compares words, names of settings and their values, numbers and citations. The\n"
        "verdict is `same` for a trial that already made the whole change, alone or together with\n"
        "others, and `related` for all others; --strictness sets how sure that must be. Running\n"
        "trials are listed too. Standard error says if nothing is like the idea, which of its words\n"
        "no trial has, and if only its parts were tried. Exit status 0 if there is one, 1 if nothing resembles it or the\n"
        "trial does not exist.",
    .examples = "  lineage similar 'raise grad_clip_norm from 0.3 to 0.5'\n"
                "  lineage similar 120 --before --limit 5 --format json\n  lineage similar 'double the warmup' --strictness 0.8",
    CLI_ON_STORE(asked, table, 1, 1, work, &chosen),
};
