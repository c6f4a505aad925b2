/* show.c: one trial in full. */
#include <stdlib.h>

#include <lineage/text.h>

#include "output/show.h"

static void print_number(const char *name, struct lineage_number number)
{
    char text[LINEAGE_NUMBER_MAX];
    if (number.present)
        printf("%-19s %s\n", name, lineage_number_format(text, number.value));
}

/* Empty cells are left out: most of 17 columns are, and a person looks for those that are not. */
static void print_text(const char *name, const char *text)
{
    char *line = text && *text ? cli_text_line(text, 0) : NULL;
    char *column = cli_text_line(name, 80); /* of an extra column: as much a stranger's text as its cells */
    if (line && column)
        printf("%-19s %s\n", column, line);
    free(column);
    free(line);
}

static void print_column(const struct lineage_trial *trial, size_t i)
{
    const struct lineage_column *column = lineage_column(i);
    if (column->kind == LINEAGE_COLUMN_TEXT)
        print_text(column->name, lineage_trial_text(trial, i));
    else if (column->kind == LINEAGE_COLUMN_LABEL)
        print_text(column->name, lineage_label_name(trial->status));
    else
        print_number(column->name,
                     *(const struct lineage_number *)(const void *)((const char *)trial + column->offset));
}

static int print_lines(const struct lineage_trial *trial)
{
    char a[LINEAGE_NUMBER_MAX], b[LINEAGE_NUMBER_MAX];
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        print_column(trial, i);
    for (size_t i = 0; i < trial->n_extras; i++)
        print_text(trial->extras[i].column, trial->extras[i].text);
    print_number("ig_clip_scale_mean", trial->ig_clip_scale_mean);
    print_number("ig_clip_scale_std", trial->ig_clip_scale_std);
    for (size_t i = 0; i < trial->n_params; i++)
        if (trial->params[i].text)
            print_text(trial->params[i].name, trial->params[i].text);
        else
            print_number(trial->params[i].name, (struct lineage_number){true, trial->params[i].value});
    for (size_t i = 0; i < trial->n_turns; i++)
        printf("info_gain turn %-4u mean %s, std %s\n", trial->turns[i].turn,
               lineage_number_format(a, trial->turns[i].mean), lineage_number_format(b, trial->turns[i].std));
    return CLI_OK;
}

/* The 17 columns alone, as results.tsv has them. */
static int print_tsv(const struct lineage_trial *trial)
{
    const char *names[LINEAGE_N_COLUMNS];
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        names[i] = lineage_column(i)->name;
    struct cli_list *list = cli_list_new(CLI_TSV, stdout, LINEAGE_N_COLUMNS, names);
    for (size_t i = 0; list && i < LINEAGE_N_COLUMNS; i++) {
        const struct lineage_column *column = lineage_column(i);
        const void *member = (const char *)trial + column->offset;
        const struct lineage_number *number = member;
        if (column->kind == LINEAGE_COLUMN_NUMBER)
            cli_list_number(list, number->value, number->present);
        else
            cli_list_text(list, column->kind == LINEAGE_COLUMN_LABEL ? lineage_label_name(trial->status)
                                                                     : lineage_trial_text(trial, i));
    }
    if (list)
        cli_list_end_row(list);
    return cli_list_finish(list);
}

int cli_show_trial(const struct lineage_trial *trial, enum cli_format format)
{
    if (format == CLI_TABLE)
        return print_lines(trial);
    if (format == CLI_TSV)
        return print_tsv(trial);
    json_t *object = cli_trial_json(trial);
    cli_json_print(stdout, object, true);
    json_decref(object);
    return CLI_OK;
}
