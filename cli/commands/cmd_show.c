/* cmd_show.c: `lineage show`: prints one trial in full. */

#include <lineage/text.h>
#include <lineage/voids.h>

#include "output/show.h"
#include "output/ideas_out.h"
#include "run/run_parts.h"

/* Prints the text, escaped, which it takes over. */
static void show_text(const struct cli_session *session, const char *name, json_t *text)
{
    char *line = text ? cli_text_line(json_string_value(text), 0) : NULL;
    if (line)
        cli_show_line(stdout, &session->screen, name, line, CLI_PLAIN);
    free(line);
    json_decref(text);
}

/* Prints one line for each change of the trial, for each trial that it cites, and for each trial that cites it. */
static void print_idea(const struct cli_session *session, const struct lineage_ideas *ideas, size_t trial)
{
    const struct lineage_idea *idea = lineage_ideas_get(ideas, trial);
    struct lineage_change c;
    for (size_t i = 0; lineage_ideas_change_at(&c, ideas, trial, i); i++)
        show_text(session, "change",
                  json_sprintf("%s %s%s%s (%s)", c.name, c.from ? c.from : "", c.from ? cli_sign(" → ", " > ") : "= ", c.to,
                               lineage_change_source_name(c.source)));
    const struct {
        const char *name;
        const size_t *trials;
        size_t n;
    } edges[] = {{"cites", idea->cites, idea->n_cites}, {"cited_by", idea->cited_by, idea->n_cited_by}};
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < edges[k].n; i++) {
            const struct lineage_idea *other = lineage_ideas_get(ideas, edges[k].trials[i]);
            show_text(session, edges[k].name,
                      json_sprintf("%s %s", other->exp_id, other->running ? "running" : lineage_label_name(other->status)));
        }
}

/* Prints the settings in force, except the trial's own changes, which are printed above. */
static void print_settings(const struct cli_session *session, const struct lineage_ideas *ideas, size_t trial,
                           const struct lineage_effective *settings)
{
    for (size_t i = 0; i < settings->n; i++) {
        const struct lineage_effective_setting *s = &settings->items[i];
        if (s->set_by != trial)
            show_text(session, "setting",
                      json_sprintf("%s = %s (%s by %s)", s->name, s->value, lineage_change_source_name(s->source),
                                   lineage_ideas_get(ideas, s->set_by)->exp_id));
    }
}

/* Prints what all runs of the trial say together, if it ran again. */
static int print_evidence(struct cli_session *session, const struct lineage_trial *trial)
{
    struct lineage_evidence evidence;
    struct lineage_error err;
    char text[CLI_EVIDENCE_TEXT_MAX];
    bool again = false;
    if (session->format != CLI_TABLE)
        return CLI_OK;
    if (lineage_ran_again(&again, session->store, trial, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (!again)
        return CLI_OK;
    if (lineage_evidence_load_for(&evidence, session->store, trial->exp_id, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    size_t i = lineage_evidence_find(&evidence, trial->exp_id);
    if (i < evidence.n && evidence.trials[i].again && *cli_evidence_text(text, &evidence, i))
        cli_show_line(stdout, &session->screen, "evidence", text, CLI_PLAIN);
    lineage_evidence_release(&evidence);
    return CLI_OK;
}

static bool take_void(void *context, const struct lineage_void *entry)
{
    json_t **out = context;
    *out = json_pack("{s:o, s:o, s:o, s:s, s:o}", "by", cli_json_text(entry->by), "timestamp", cli_json_text(entry->timestamp),
                     "reason", cli_json_text(entry->reason), "status", lineage_label_name(entry->label), "score",
                     entry->score.present ? cli_json_number(entry->score.value) : json_null());
    return false;
}

/* Sets *out to {by, timestamp, reason, status, score} of a void trial, or to NULL. */
static int load_void(json_t **out, struct cli_session *session, const char *exp_id)
{
    struct lineage_error err;
    *out = NULL;
    return lineage_voids_read(session->store, exp_id, take_void, out, &err) == LINEAGE_OK ? CLI_OK : cli_fail(&err);
}

static void print_void(const struct cli_session *session, const json_t *entry)
{
    char score[LINEAGE_NUMBER_MAX] = "no score";
    const json_t *number = json_object_get(entry, "score");
    if (json_is_number(number))
        lineage_number_format(score, json_number_value(number));
    show_text(session, "void",
              json_sprintf("by %s: %s (its row says %s, %s)", cli_json_string(entry, "by"), cli_json_string(entry, "reason"),
                           cli_json_string(entry, "status"), score));
}

static void print_row_label(const struct cli_session *session, enum lineage_label label)
{
    char text[100];
    snprintf(text, sizeof text, "judged again, because of void trials; its row says %s", lineage_label_name(label));
    cli_show_line(stdout, &session->screen, "verdict", text, CLI_PLAIN);
}

static void print_verdict(const struct cli_session *session, const struct lineage_hypothesis *h)
{
    char text[LINEAGE_HYPOTHESIS_TEXT_MAX];
    if (h->verdict)
        cli_show_line(stdout, &session->screen, "verdict", lineage_hypothesis_text(text, h), CLI_PLAIN);
}

static int print_json(const struct lineage_trial *trial, const struct lineage_store *store, const struct lineage_ideas *ideas,
                      size_t at, const struct lineage_effective *settings, const struct lineage_measured *measured,
                      const struct lineage_hypothesis *h, json_t *run, json_t *entry, enum lineage_label row_label)
{
    const struct lineage_idea *idea = lineage_ideas_get(ideas, at);
    json_t *object = cli_trial_json(trial);
    cli_json_set_margin(object, lineage_store_config(store), trial);
    cli_json_set_claim(object, store, trial);
    if (entry)
        json_object_set(object, "void", entry);
    cli_json_set(object, "row_status", row_label != trial->status ? json_string(lineage_label_name(row_label)) : NULL, "verdict",
                 h->verdict ? cli_verdict_json(h) : NULL, "changes", cli_changes_json(ideas, at), "settings",
                 cli_effective_json(ideas, settings), "cites", cli_idea_ids_json(ideas, idea->cites, idea->n_cites), "cited_by",
                 cli_idea_ids_json(ideas, idea->cited_by, idea->n_cited_by), NULL);
    if (*measured->against || *measured->command_against)
        cli_json_set(object, "code_changes", cli_measured_lines_json(measured, 0, 0), "measured_against",
                     cli_json_text(*measured->against ? measured->against : measured->command_against), NULL);
    if (run)
        json_object_set(object, "provenance", run);
    return cli_json_answer(object);
}

/* Prints the trial and its changes, and for a command's trial its provenance. TSV contains only the row of
 * results.tsv. */
static int show(struct cli_session *session, const struct lineage_trial *trial)
{
    struct lineage_ideas *ideas = NULL;
    const struct lineage_idea *idea = NULL;
    struct lineage_effective settings = {0};
    struct lineage_error err;
    json_t *run = NULL, *entry = NULL;
    enum lineage_label row_label = trial->status;
    struct lineage_measured measured = {.against = "", .command_against = ""};
    const struct lineage_hypothesis h =
        lineage_hypothesis_of(trial, lineage_hypothesis_margin(lineage_store_config(session->store)));
    size_t at = SIZE_MAX;
    int status = CLI_OK;
    if (!cli_format_is_rows(session->format)) {
        status = load_void(&entry, session, trial->exp_id);
        if (status == CLI_OK && lineage_row_label(&row_label, session->store, trial, &err) != LINEAGE_OK)
            status = cli_fail(&err);
        if (status == CLI_OK)
            status = cli_ideas_near(&ideas, session->store, trial->exp_id);
        if (status != CLI_OK)
            goto done;
        if (lineage_ideas_find(&at, ideas, trial->exp_id))
            idea = lineage_ideas_get(ideas, at);
        if ((idea && lineage_effective_find(&settings, ideas, at, &err) != LINEAGE_OK) ||
            lineage_measure_trial(&measured, session->store, trial, &err) != LINEAGE_OK) {
            status = cli_fail(&err);
            goto done;
        }
        run = provenance_is_closed(session->store, trial->exp_id) ? NULL : provenance_load(session->store, trial->exp_id);
    }
    if (session->format == CLI_JSON && idea)
        status = print_json(trial, session->store, ideas, at, &settings, &measured, &h, run, entry, row_label);
    else {
        status = cli_show_trial(trial, lineage_store_config(session->store), session->format, &session->screen);
        if (status == CLI_OK && entry)
            print_void(session, entry);
        if (status == CLI_OK && row_label != trial->status)
            print_row_label(session, row_label);
        if (status == CLI_OK && session->format == CLI_TABLE)
            print_verdict(session, &h), cli_show_claim(&session->screen, session->store, trial);
        if (status == CLI_OK)
            status = print_evidence(session, trial);
        if (status == CLI_OK && idea)
            print_idea(session, ideas, at);
        if (status == CLI_OK && idea)
            print_settings(session, ideas, at, &settings);
        if (status == CLI_OK)
            cli_measured_show(&measured, &session->screen);
        if (status == CLI_OK && run)
            provenance_print(run, &session->screen);
    }

done:
    json_decref(entry);
    json_decref(run);
    lineage_measured_release(&measured);
    lineage_effective_release(&settings);
    lineage_ideas_release(ideas);
    return status;
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_trial trial = {0};
    struct lineage_error err;
    (void)context;
    if (lineage_find_named(session->store, session->args.positional[0], false, &trial, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = show(session, &trial);
    lineage_trial_release(&trial);
    return status;
}

static struct cli_session asked;
static struct poptOption table[] = {CLI_SESSION_OPTIONS(&asked), CLI_SCREEN_OPTIONS(&asked.screen), POPT_TABLEEND};

const struct cli_command cmd_show = {
    .name = "show",
    .arguments = "ID",
    .description = "Prints all columns of a trial; the parameters, clip scale and information gain that its\n"
                   "notes record; the settings that it changed, as declared by its parameters, measured in\n"
                   "its program or stated by its hypothesis; the settings that it inherits from its parents,\n"
                   "with the trial that set each; the changed lines of its code; the trials that it cites and\n"
                   "that cite it; and for a trial of `run` what it was run from. For a void trial, why it is\n"
                   "void and what its own row says. exp_014 and 014 name the same trial.",
    .examples = "  lineage show 014\n  lineage show exp_014 --format json",
    CLI_ON_STORE(asked, table, 1, 1, work, NULL),
};
