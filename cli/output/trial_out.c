/*
 * trial_out.c: prints trials as JSON objects and as lists. The keys are the column names of results.tsv. What the notes
 * record is added in parsed form (params, turns), so that readers need not parse the notes.
 */

#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/text.h>

#include "output/ideas_out.h"

json_t *cli_json_figure(struct lineage_number number)
{
    return number.present ? cli_json_number(number.value) : json_null();
}

json_t *cli_json_column(const struct lineage_trial *trial, size_t i)
{
    const struct lineage_column *column = lineage_column(i);
    const void *member = (const char *)trial + column->offset;
    switch (column->kind) {
    case LINEAGE_COLUMN_NUMBER: return cli_json_figure(*(const struct lineage_number *)member);
    case LINEAGE_COLUMN_LABEL: return json_string(lineage_label_name(trial->status));
    case LINEAGE_COLUMN_TEXT: break;
    }
    return cli_json_text(lineage_trial_text(trial, i));
}

static json_t *turns_json(const struct lineage_trial *trial)
{
    json_t *turns = json_array();
    for (size_t i = 0; i < trial->n_turns; i++) {
        const struct lineage_turn_stat *turn = &trial->turns[i];
        json_t *object = json_object();
        cli_json_set(object, "turn", json_integer((json_int_t)turn->turn), "mean", cli_json_number(turn->mean), "std",
                     cli_json_number(turn->std), NULL);
        /* In the file 0 means unknown; printed as a number it would look like a mean over no values. */
        if (turn->count)
            json_object_set_new(object, "n", json_integer((json_int_t)turn->count));
        json_array_append_new(turns, object);
    }
    return turns;
}

static json_t *extras_json(const struct lineage_trial *trial)
{
    json_t *extras = json_object();
    for (size_t i = 0; i < trial->n_extras; i++)
        json_object_set_new(extras, trial->extras[i].column, cli_json_text(trial->extras[i].text));
    return extras;
}

json_t *cli_front_json(const struct lineage_front *front)
{
    json_t *list = json_array();
    for (size_t i = 0; i < front->n; i++)
        json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "exp_id", cli_json_text(front->points[i].exp_id), "score",
                                              cli_json_number(front->points[i].score), "second",
                                              cli_json_number(front->points[i].second)));
    return list;
}

json_t *cli_verdict_json(const struct lineage_hypothesis *h)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "verdict", lineage_verdict_name(h->verdict), "expected",
                     cli_json_number(h->expected), "happened", cli_json_number(h->happened), "margin",
                     h->margin > 0 ? cli_json_number(h->margin) : json_null(), "covered",
                     h->margin > 0 ? json_boolean(h->covered) : json_null());
}

void cli_json_set_margin(json_t *object, const struct lineage_config *config, const struct lineage_trial *trial)
{
    struct lineage_number margin = lineage_score_margin(config, trial);
    if (margin.present)
        json_object_set_new(object, "margin", cli_json_number(margin.value));
}

json_t *cli_trial_json(const struct lineage_trial *trial)
{
    json_t *object = json_object();
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        json_object_set_new(object, lineage_column(i)->name, cli_json_column(trial, i));
    cli_json_set(object, "score", cli_json_figure(trial->score), "ig_clip_scale_mean", cli_json_figure(trial->ig_clip_scale_mean),
                 "ig_clip_scale_std", cli_json_figure(trial->ig_clip_scale_std), "params",
                 cli_json_params(trial->params, trial->n_params), "metrics",
                 trial->n_metrics ? cli_json_metrics(trial->metrics, trial->n_metrics) : NULL, "cause",
                 lineage_notes_cause(trial->notes) ? json_string(lineage_cause_name(lineage_notes_cause(trial->notes))) : NULL,
                 "void", trial->void_label ? json_pack("{s:s}", "status", trial->void_label) : NULL, NULL);
    /* Turns and extra columns are left out if empty, because most trials have neither. */
    cli_json_set(object, "turns", trial->n_turns ? turns_json(trial) : NULL, "extras",
                 trial->n_extras ? extras_json(trial) : NULL, "line", trial->line ? json_integer((json_int_t)trial->line) : NULL,
                 NULL);
    return object;
}

static bool has_margins(const struct lineage_config *config)
{
    return config && config->noise_std > 0;
}

/*
 * The most important columns are those that identify a trial and show how it ended, then the reason; time and specialist are shown only
 * if there is room. The margins are left out if they are unknown. TSV never has them, so that a script finds every column at its place.
 */
static const char *columns_of(bool margins, bool narrow)
{
#define COLUMNS(status, margin)                                                                                                  \
    "exp_id=id:1/12,timestamp=time:9,specialist:8/8,parent_exp=parent:7/8,status:2/" status ",score:3," margin                   \
    "delta_vs_best=delta:5,params:6/12w,hypothesis:4/12%"
    return margins ? (narrow ? COLUMNS("9", "margin:6,") : COLUMNS("12", "margin:6,"))
                   : (narrow ? COLUMNS("9", "") : COLUMNS("12", ""));
#undef COLUMNS
}

struct cli_list *cli_trial_list_new(enum cli_format format, const struct lineage_config *config)
{
    return cli_list_of(format, NULL, columns_of(format == CLI_TABLE && has_margins(config), false));
}

/* Texts are quoted as in notes, so that a cell can be pasted after --notes. */
static char *params_text(const struct lineage_trial *trial, const struct lineage_settings *settings)
{
    char number[LINEAGE_NUMBER_MAX], quoted[LINEAGE_PARAM_QUOTED_MAX];
    struct cli_writer text = {0};
    FILE *out = cli_writer_open(&text);
    for (size_t i = 0; out && i < trial->n_params; i++)
        fprintf(out, "%s%s=%s", i ? " " : "", trial->params[i].name,
                trial->params[i].text ? lineage_param_text_format(quoted, trial->params[i].text)
                                      : lineage_setting_format(number, trial->params[i].value));
    if (out)
        cli_settings_add(out, settings, trial->seq, trial->n_params > 0);
    return cli_writer_close(&text);
}

static bool add_row(struct cli_list *list, const struct lineage_trial *trial, const struct lineage_settings *settings,
                    const struct lineage_config *margins, bool table)
{
    char *params = params_text(trial, settings);
    enum cli_style style = cli_label_style(trial->status);
    cli_list_text(list, trial->exp_id);
    cli_list_style(list, style, 0);
    cli_list_add(
        list, CLI_TEXT(trial->timestamp), CLI_TEXT(trial->specialist), CLI_TEXT(trial->parent_exp),
        CLI_TEXT(table ? lineage_trial_status((char[LINEAGE_STATUS_MAX]){0}, trial) : lineage_label_name(trial->status)));
    cli_list_style(list, style, 0);
    cli_list_number(list, trial->score.value, trial->score.present);
    cli_list_style(list, style, 0);
    if (has_margins(margins)) {
        struct lineage_number margin = lineage_score_margin(margins, trial);
        trial->score.present ? cli_list_figure(list, margin.value, margin.present) : cli_list_number(list, 0, false);
    }
    cli_list_add(list, CLI_NUMBER(trial->delta_vs_best.value, trial->delta_vs_best.present), CLI_TEXT(params),
                 CLI_TEXT(trial->hypothesis));
    free(params);
    return cli_list_end_row(list);
}

bool cli_trial_list_add(struct cli_list *list, const struct lineage_trial *trial, const struct lineage_config *config)
{
    return add_row(list, trial, NULL, config, false);
}

/* Prints whole trials, not only the table's columns, one by one, because the result of a query may be larger than
 * memory. After a failure the array is left unterminated, so that a reader notices. */
static int print_json(struct lineage_cursor *cursor, const struct lineage_settings *settings, size_t *n,
                      struct lineage_error *err)
{
    struct lineage_trial trial = {0};
    enum lineage_status status;
    putchar('[');
    while ((status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK) {
        json_t *object = cli_trial_json(&trial);
        if (settings)
            json_object_set_new(object, "settings", cli_settings_json(settings, trial.seq));
        const struct lineage_hypothesis h =
            lineage_hypothesis_of(&trial, lineage_hypothesis_margin(lineage_cursor_config(cursor)));
        cli_json_set_margin(object, lineage_cursor_config(cursor), &trial);
        if (h.verdict)
            json_object_set_new(object, "verdict", cli_verdict_json(&h));
        cli_json_element(object, !(*n)++);
    }
    puts(*n ? "\n]" : "]");
    return status == LINEAGE_ENOTFOUND ? CLI_OK : cli_fail(err);
}

static int print_list(struct lineage_cursor *cursor, const struct lineage_settings *settings, enum cli_format format,
                      struct cli_screen *screen, size_t *n, struct lineage_error *err)
{
    struct lineage_trial trial = {0};
    enum lineage_status status;
    const struct lineage_config *margins = format == CLI_TABLE ? lineage_cursor_config(cursor) : NULL;
    struct cli_list *list = cli_trial_list_new(format, margins);
    cli_list_fit(list, screen, columns_of(has_margins(margins), screen->width < 60));
    while ((status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK &&
           add_row(list, &trial, settings, margins, format == CLI_TABLE))
        ;
    *n = cli_list_rows(list);
    int result = cli_list_finish(list);
    return status == LINEAGE_OK || status == LINEAGE_ENOTFOUND ? result : cli_fail(err);
}

int cli_print_cursor(struct lineage_cursor *cursor, const struct lineage_settings *settings, enum cli_format format,
                     struct cli_screen *screen, size_t *n)
{
    struct lineage_error err;
    *n = 0;
    int status =
        format == CLI_JSON ? print_json(cursor, settings, n, &err) : print_list(cursor, settings, format, screen, n, &err);
    lineage_cursor_close(cursor);
    if (status == CLI_OK && *n == 0)
        cli_settings_explain(stderr, settings, "lineage: ");
    return status;
}

const char *cli_labels_text(char out[CLI_LABELS_MAX], const size_t labels[LINEAGE_N_LABELS])
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < LINEAGE_N_LABELS && used < 250; i++)
        if (labels[i])
            used += (size_t)snprintf(out + used, CLI_LABELS_MAX - used, "%s%zu %s", used ? ", " : "", labels[i],
                                     lineage_label_name((enum lineage_label)i));
    return out;
}

const char *cli_value_text(char *out, double value, const char *text)
{
    char number[LINEAGE_NUMBER_MAX];
    return text ? lineage_param_text_format(out, text) : strcpy(out, lineage_setting_format(number, value));
}
