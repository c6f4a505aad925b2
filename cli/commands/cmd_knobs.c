/* cmd_knobs.c: `lineage knobs`. */
#include <lineage/knobs.h>
#include <lineage/text.h>

#include "output/ideas_out.h"

enum { NEWEST = 1000 }; /* tries of a setting that are printed; 0: all */

struct knobs_options {
    char *min, *limit;
};

static json_t *text_or_null(const char *text)
{
    return text ? cli_json_text(text) : json_null();
}

static json_t *try_json(const struct lineage_ideas *ideas, const struct lineage_knob_try *attempt)
{
    static const char *const directions[] = {NULL, "down", "up"};
    const struct lineage_idea *idea = lineage_ideas_get(ideas, attempt->trial);
    json_t *object = json_object();
    cli_json_set(object, "exp_id", cli_json_text(idea->exp_id), "name", cli_json_text(attempt->change->name), "from",
                 text_or_null(attempt->change->from), "to", cli_json_text(attempt->change->to), "to_value",
                 cli_json_figure(attempt->change->to_value), "source",
                 json_string(lineage_change_source_name(attempt->change->source)), "direction",
                 text_or_null(directions[attempt->direction]), "status",
                 json_string(idea->running ? "running" : lineage_label_name(idea->status)), "score", cli_json_figure(idea->score),
                 "delta_vs_best", cli_json_figure(idea->delta_vs_best), "parent_exp", cli_json_text(idea->parent_exp), NULL);
    return object;
}

static json_t *knob_json(const struct lineage_ideas *ideas, const struct lineage_knob *knob)
{
    json_t *object = json_object(), *tries = json_array();
    cli_json_set(object, "name", cli_json_text(knob->name), "value", text_or_null(knob->value), "set_by",
                 knob->set_by == SIZE_MAX ? json_null() : cli_json_text(lineage_ideas_get(ideas, knob->set_by)->exp_id), "raised",
                 json_pack("{s:I, s:I}", "trials", (json_int_t)knob->up, "kept", (json_int_t)knob->up_kept), "lowered",
                 json_pack("{s:I, s:I}", "trials", (json_int_t)knob->down, "kept", (json_int_t)knob->down_kept), NULL);
    for (size_t i = 0; i < knob->n_tries; i++)
        json_array_append_new(tries, try_json(ideas, &knob->tries[i]));
    cli_json_set(object, "tries", tries, "left_out",
                 knob->n > knob->n_tries ? json_integer((json_int_t)(knob->n - knob->n_tries)) : NULL, NULL);
    return object;
}

/* Formats "raised 0 of 3 kept, lowered 1 of 2 kept". */
static const char *evidence(char *out, size_t size, const struct lineage_knob *knob)
{
    size_t n = 0;
    out[0] = '\0';
    if (knob->up)
        n = (size_t)snprintf(out, size, "raised: %zu of %zu kept", knob->up_kept, knob->up);
    if (knob->down && n < size)
        snprintf(out + n, size - n, "%slowered: %zu of %zu kept", n ? ", " : "", knob->down_kept, knob->down);
    return out;
}

/* Formats the values that were tried: "0.78 size_blocked (459) · 0.67 discard +0.0007 (892)" (free). */
static char *values(const struct lineage_ideas *ideas, const struct lineage_knob *knob, const struct cli_screen *screen)
{
    struct cli_writer writer = {0};
    char delta[LINEAGE_NUMBER_MAX];
    size_t older = knob->n - knob->n_tries;
    FILE *out = cli_writer_open(&writer);
    if (out && older)
        fprintf(out, "%zu older", older);
    for (size_t i = 0, shown = older; out && i < knob->n_tries; i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, knob->tries[i].trial);
        bool named = idea->running || !idea->delta_vs_best.present || idea->status != LINEAGE_DISCARD;
        fprintf(out, "%s%s", shown++ ? cli_sign(" · ", " / ") : "", knob->tries[i].change->to);
        if (named)
            fprintf(out, " %s", idea->running ? "running" : lineage_label_name(idea->status));
        if (idea->delta_vs_best.present && !idea->running)
            fprintf(out, " %s%s", idea->delta_vs_best.value > 0 ? "+" : "",
                    cli_number_text(delta, screen, idea->delta_vs_best.value));
        fprintf(out, " (%s)", idea->exp_id);
    }
    return cli_writer_close(&writer);
}

static int print_knobs(struct cli_session *session, const struct lineage_ideas *ideas, const struct lineage_knobs *knobs,
                       size_t least)
{
    struct cli_list *list =
        cli_list_of(session->format, &session->screen, "knob:1,value:3,set_by:6,trials:2,evidence:5/20,values:4/30");
    char text[120], trials[24];
    for (size_t i = 0; i < knobs->n && knobs->items[i].n >= least; i++) { /* most tries first */
        const struct lineage_knob *knob = &knobs->items[i];
        snprintf(trials, sizeof trials, "%zu", knob->n);
        char *tried = values(ideas, knob, session->format == CLI_TABLE ? &session->screen : NULL);
        cli_list_add(list, CLI_TEXT(knob->name), CLI_TEXT(knob->value),
                     CLI_TEXT(knob->set_by == SIZE_MAX ? NULL : lineage_ideas_get(ideas, knob->set_by)->exp_id), CLI_TEXT(trials),
                     CLI_TEXT(evidence(text, sizeof text, knob)), CLI_TEXT(tried));
        free(tried);
        if (!cli_list_end_row(list))
            break;
    }
    return cli_list_finish(list);
}

static int print_knob(struct cli_session *session, const struct lineage_ideas *ideas, const struct lineage_knob *knob)
{
    const size_t older = knob->n - knob->n_tries;
    struct cli_list *list =
        cli_list_of(session->format, &session->screen,
                    "exp_id:1,from:5,to:2,outcome:3,delta_vs_best=delta:4,parent_exp=parent:7,source:8,hypothesis:6/30");
    for (size_t i = 0; i < knob->n_tries; i++) {
        const struct lineage_knob_try *attempt = &knob->tries[i];
        const struct lineage_idea *idea = lineage_ideas_get(ideas, attempt->trial);
        char outcome[80];
        cli_idea_outcome(outcome, sizeof outcome, session->format == CLI_TABLE ? &session->screen : NULL, idea);
        cli_list_add(list, CLI_TEXT(idea->exp_id), CLI_TEXT(attempt->change->from), CLI_TEXT(attempt->change->to),
                     CLI_TEXT(outcome));
        cli_list_style(list, idea->running ? CLI_PLAIN : cli_label_style(idea->status), 0);
        cli_list_add(list, CLI_NUMBER(idea->delta_vs_best.value, idea->delta_vs_best.present), CLI_TEXT(idea->parent_exp),
                     CLI_TEXT(lineage_change_source_name(attempt->change->source)), CLI_TEXT(idea->hypothesis));
        if (!cli_list_end_row(list))
            break;
    }
    int status = cli_list_finish(list);
    char text[120];
    if (status == CLI_OK && session->format == CLI_TABLE && older)
        printf("%zu older lines are left out; --limit 0 prints all\n", older);
    if (status == CLI_OK && session->format == CLI_TABLE) {
        if (knob->value && knob->set_by != SIZE_MAX)
            printf("in force for the best trial: %s, set by %s\n", knob->value, lineage_ideas_get(ideas, knob->set_by)->exp_id);
        else if (knob->value)
            printf("in force for the best trial: %s, as other trials state it\n", knob->value);
        if (*evidence(text, sizeof text, knob))
            printf("%s\n", text);
    }
    return status;
}

static int no_such_knob(struct lineage_ideas *ideas, const char *name)
{
    struct lineage_settings settings;
    struct lineage_error err;
    if (lineage_settings_find(&settings, ideas, &name, 1, &err) != LINEAGE_OK)
        return cli_fail(&err);
    const char *near = settings.names[0].nearest;
    cli_error(CLI_NO,
              "no trial says that it changed '%s'%s%s%s; `lineage knobs` lists the settings that were changed, `lineage search` "
              "finds other words",
              name, near ? " (the nearest is '" : "", near ? near : "", near ? "')" : "");
    lineage_settings_release(&settings);
    return CLI_NO;
}

static int work(struct cli_session *session, void *context)
{
    const struct knobs_options *o = context;
    const char *name = session->args.n_positional ? session->args.positional[0] : NULL;
    struct lineage_ideas *ideas = NULL;
    struct lineage_knobs knobs = {0};
    struct lineage_error err;
    size_t least = 1, newest = cli_format_is_rows(session->format) ? 0 : NEWEST; /* TSV has no place to say what is missing */
    if ((o->min && !cli_count_parse(&least, "min", o->min)) || (o->limit && !cli_count_parse(&newest, "limit", o->limit)))
        return CLI_USAGE;
    int status = cli_ideas_load(&ideas, session->store);
    if (status != CLI_OK)
        return status;
    if (lineage_knobs_find(&knobs, ideas, cli_ideas_best(ideas, session->store), newest, &err) != LINEAGE_OK) {
        status = cli_fail(&err);
        goto done;
    }
    if (name) {
        const struct lineage_knob *knob = lineage_knobs_named(&knobs, ideas, name);
        status = !knob                         ? no_such_knob(ideas, name)
                 : session->format == CLI_JSON ? cli_json_answer(knob_json(ideas, knob))
                                               : print_knob(session, ideas, knob);
    } else if (session->format == CLI_JSON) {
        json_t *array = json_array();
        bool good = array != NULL;
        for (size_t i = 0; good && i < knobs.n && knobs.items[i].n >= least; i++)
            good = json_array_append_new(array, knob_json(ideas, &knobs.items[i])) == 0;
        if (good)
            cli_json_print(stdout, array, true);
        else
            status = cli_no_memory();
        json_decref(array);
    } else {
        status = print_knobs(session, ideas, &knobs, least);
    }

done:
    lineage_knobs_release(&knobs);
    lineage_ideas_release(ideas);
    return status;
}

static struct cli_session asked;
static struct knobs_options chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&asked),
    CLI_OPTION("min", &chosen.min, "N", "list only settings that at least N trials changed (default: 1)"),
    CLI_OPTION("limit", &chosen.limit, "N", "print the newest N tries of each setting (default: 1000, for TSV all; 0: all)"),
    CLI_SCREEN_OPTIONS(&asked.screen), POPT_TABLEEND};

const struct cli_command cmd_knobs = {
    .name = "knobs",
    .arguments = "[NAME]",
    .description = "Lists every setting that trials changed, under all names that the log uses for it: the\n"
                   "value in force for the best trial, how often raising and lowering it was kept, and each\n"
                   "value with its outcome. A change is read from the parameters of a row (declared) or from\n"
                   "the hypothesis (stated: 'lr 3e-4 -> 1e-4').\n\n"
                   "With NAME, prints one setting with a line per trial; upper case, '_' and '-' do not\n"
                   "matter. Exit status 1 if no trial changed it. The newest 1,000 tries of each setting are\n"
                   "printed; the others count in the sums, and how many were left out is printed, too\n"
                   "(`left_out` in JSON). TSV has all, unless --limit is given.",
    .examples = "  lineage knobs --min 2\n  lineage knobs warmdown_frac\n  lineage knobs weight-decay --format json",
    CLI_ON_STORE(asked, table, 0, 1, work, &chosen),
};
