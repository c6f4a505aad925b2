/* show.c: prints one trial in full. */
#include "output/show.h"

#include <unistd.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "output/display_width.h"

/* Draws values as a row of blocks of different height. */

/* The i-th of `shown` values that are spread evenly over n values and include the first and the last. */
static double sample(const double *values, size_t n, size_t shown, size_t i)
{
    return values[shown > 1 ? i * (n - 1) / (shown - 1) : n - 1];
}

void sparkline_print(FILE *out, const double *values, size_t n, size_t columns)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const plain[] = {"_", ".", ",", "-", "~", "=", "*", "#"};
    size_t shown = n < columns ? n : columns;
    double low = sample(values, n, shown, 0), high = low;
    for (size_t i = 1; i < shown; i++) {
        low = fmin(low, sample(values, n, shown, i));
        high = fmax(high, sample(values, n, shown, i));
    }
    for (size_t i = 0; i < shown; i++) {
        /* halved first, because the difference may overflow */
        double value = sample(values, n, shown, i) / 2 - low / 2;
        size_t height = high > low ? (size_t)(value / (high / 2 - low / 2) * 7 + 0.5) : 0;
        fputs(cli_sign(blocks[height], plain[height]), out);
    }
}

enum { NAMES = 19, NARROW = 60 }; /* width of the names; a terminal narrower than NARROW has no room beside them */

/* Wraps at words; words longer than a line are split. On a narrow terminal the text goes below its name. */
static void print_wrapped(FILE *out, const struct cli_screen *screen, const char *text, enum cli_style style)
{
    size_t indent = NAMES + 1, room = screen->wide ? SIZE_MAX : screen->width - indent, next;
    bool below = screen->width < NARROW && !screen->wide && display_width(text) > room;
    if (below)
        fputc('\n', out), indent = 2, room = screen->width - indent;
    for (bool first = !below;; first = false) {
        size_t bytes = display_line(text, room, &next);
        fprintf(out, "%*s%s%.*s%s\n", first ? 0 : (int)indent, "", cli_style_on(screen, style), (int)bytes, text,
                cli_style_off(screen, style));
        if (!*(text += next))
            break;
    }
}

void cli_show_line(FILE *out, const struct cli_screen *screen, const char *name, const char *text, enum cli_style style)
{
    if (!screen || !screen->terminal) {
        fprintf(out, "%-*s %s%s%s\n", NAMES, name, cli_style_on(screen, style), text, cli_style_off(screen, style));
        return;
    }
    fputs(cli_style_on(screen, CLI_QUIET), out);
    size_t taken = display_cut(out, name, screen->wide ? SIZE_MAX : NAMES);
    fprintf(out, "%s%*s ", cli_style_off(screen, CLI_QUIET), taken < NAMES ? (int)(NAMES - taken) : 0, "");
    print_wrapped(out, screen, text, style);
}

static void print_number(FILE *out, const struct cli_screen *screen, const char *name, struct lineage_number number,
                         enum cli_style style)
{
    char text[LINEAGE_NUMBER_MAX];
    if (number.present)
        cli_show_line(out, screen, name, cli_number_text(text, screen, number.value), style);
}

/* Leaves out empty cells, because most of the 17 columns are empty and a reader looks for the others. */
static void print_text(FILE *out, const struct cli_screen *screen, const char *name, const char *text, enum cli_style style)
{
    char *line = text && *text ? cli_text_line(text, 0) : NULL;
    char *column = cli_text_line(name, 80); /* the name of an extra column is as untrusted as its cells */
    if (line && column)
        cli_show_line(out, screen, column, line, style);
    free(column);
    free(line);
}

static void print_column(FILE *out, const struct cli_screen *screen, const struct lineage_trial *trial, size_t i)
{
    const struct lineage_column *column = lineage_column(i);
    const void *member = (const char *)trial + column->offset;
    enum cli_style style = cli_label_style(trial->status);
    if (column->kind == LINEAGE_COLUMN_TEXT)
        print_text(out, screen, column->name, lineage_trial_text(trial, i), i ? CLI_PLAIN : style);
    else if (column->kind == LINEAGE_COLUMN_LABEL)
        print_text(out, screen, column->name, lineage_trial_status((char[LINEAGE_STATUS_MAX]){0}, trial), style);
    else
        print_number(out, screen, column->name, *(const struct lineage_number *)member,
                     member == (const void *)&trial->core_metric ? style : CLI_PLAIN);
}

static void print_turn(FILE *out, const struct cli_screen *screen, const struct lineage_turn_stat *turn)
{
    char a[LINEAGE_NUMBER_MAX], b[LINEAGE_NUMBER_MAX], name[40], text[2 * LINEAGE_NUMBER_MAX + 20];
    snprintf(name, sizeof name, "info_gain turn %-4u", turn->turn);
    snprintf(text, sizeof text, "mean %s, std %s", lineage_number_format(a, turn->mean), lineage_number_format(b, turn->std));
    cli_show_line(out, screen, name, text, CLI_PLAIN);
}

/* Without its uncertainty, luck in a score looks like progress. */
static void print_margin(FILE *out, const struct lineage_trial *trial, const struct lineage_config *config,
                         const struct cli_screen *screen)
{
    char text[80];
    struct lineage_number margin = {0};
    if (config)
        margin = lineage_score_margin(config, trial);
    snprintf(text, sizeof text, "%.3g (half of the score's 95 %% interval)", margin.value);
    if (margin.present)
        cli_show_line(out, screen, "margin", text, CLI_PLAIN);
}

void cli_show_claim(const struct cli_screen *screen, const struct lineage_store *store, const struct lineage_trial *trial)
{
    char text[LINEAGE_CLAIM_TEXT_MAX], whole[2 * LINEAGE_CLAIM_TEXT_MAX];
    if (*lineage_claim_text(text, store, trial))
        cli_show_line(stdout, screen, "claim", cli_with_store(whole, sizeof whole, text), CLI_PLAIN);
}

void cli_json_set_claim(json_t *object, const struct lineage_store *store, const struct lineage_trial *trial)
{
    char text[LINEAGE_CLAIM_TEXT_MAX];
    if (*lineage_claim_text(text, store, trial))
        json_object_set_new(object, "claim", cli_json_text(text));
}

void cli_say_claim(const struct lineage_store *store, const struct lineage_trial *trial)
{
    char text[LINEAGE_CLAIM_TEXT_MAX];
    if (isatty(STDERR_FILENO) && *lineage_claim_text(text, store, trial)) /* scripts ask `show`, and expect silence */
        cli_error(CLI_NO, "%s: kept, but %s", trial->exp_id, text);
}

static void print_lines(FILE *out, const struct lineage_trial *trial, const struct lineage_config *config,
                        const struct cli_screen *screen)
{
    char number[LINEAGE_NUMBER_MAX];
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        print_column(out, screen, trial, i);
    print_margin(out, trial, config, screen);
    for (size_t i = 0; i < trial->n_extras; i++)
        print_text(out, screen, trial->extras[i].column, trial->extras[i].text, CLI_PLAIN);
    print_number(out, screen, "ig_clip_scale_mean", trial->ig_clip_scale_mean, CLI_PLAIN);
    print_number(out, screen, "ig_clip_scale_std", trial->ig_clip_scale_std, CLI_PLAIN);
    for (size_t i = 0; i < trial->n_params; i++) {
        const struct lineage_param *param = &trial->params[i];
        print_text(out, screen, param->name, param->text ? param->text : lineage_setting_format(number, param->value), CLI_PLAIN);
    }
    for (size_t i = 0; i < trial->n_metrics; i++)
        print_number(out, screen, trial->metrics[i].name, (struct lineage_number){true, trial->metrics[i].value}, CLI_PLAIN);
    for (size_t i = 0; i < trial->n_turns; i++)
        print_turn(out, screen, &trial->turns[i]);
}

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (; (text = strchr(text, '\n')); text++)
        n++;
    return n;
}

/* Formats into memory first, because only the number of lines tells whether a pager is needed. */
static int print_fitted(const struct lineage_trial *trial, const struct lineage_config *config, struct cli_screen *screen)
{
    struct cli_writer text = {0};
    if (cli_writer_open(&text))
        print_lines(text.out, trial, config, screen);
    if (!cli_writer_close(&text))
        return cli_no_memory();
    cli_screen_expect(screen, count_lines(text.text) + 1);
    fputs(text.text, stdout);
    free(text.text);
    return CLI_OK;
}

/* Prints only the 17 columns, as in results.tsv. */
static int print_rows(const struct lineage_trial *trial, enum cli_format format)
{
    const char *names[LINEAGE_N_COLUMNS];
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        names[i] = lineage_column(i)->name;
    struct cli_list *list = cli_list_new(format, LINEAGE_N_COLUMNS, names);
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        const struct lineage_column *column = lineage_column(i);
        const void *member = (const char *)trial + column->offset;
        const struct lineage_number *number = member;
        if (column->kind == LINEAGE_COLUMN_NUMBER)
            cli_list_number(list, number->value, number->present);
        else
            cli_list_text(list, column->kind == LINEAGE_COLUMN_LABEL ? lineage_label_name(trial->status)
                                                                     : lineage_trial_text(trial, i));
    }
    cli_list_end_row(list);
    return cli_list_finish(list);
}

int cli_show_trial(const struct lineage_trial *trial, const struct lineage_config *config, enum cli_format format,
                   struct cli_screen *screen)
{
    if (format == CLI_TABLE && screen && screen->terminal)
        return print_fitted(trial, config, screen);
    if (format == CLI_TABLE)
        return print_lines(stdout, trial, config, screen), CLI_OK;
    if (cli_format_is_rows(format))
        return print_rows(trial, format);
    json_t *object = cli_trial_json(trial);
    if (config)
        cli_json_set_margin(object, config, trial);
    return cli_json_answer(object);
}

bool cli_compared_with(char id[LINEAGE_NAME_MAX], const struct lineage_store *store, const char *exp_id)
{
    struct lineage_error err;
    char *all = NULL, path[PATH_MAX];
    json_t *run = NULL;
    if (*exp_id && *exp_id != '.' && !strchr(exp_id, '/') &&
        lineage_store_path(&all, store, LINEAGE_PLACE_PROVENANCE, &err) == LINEAGE_OK &&
        snprintf(path, sizeof path, "%s/%s/run.json", all, exp_id) < PATH_MAX)
        run = json_load_file(path, 0, NULL);
    const char *against = cli_json_string(json_object_get(run, "git"), "against");
    if (against)
        snprintf(id, LINEAGE_NAME_MAX, "%s", against);
    json_decref(run);
    lineage_free(all);
    return against != NULL;
}
