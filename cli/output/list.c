/*
 * list.c: prints lists of rows as an aligned table, TSV, CSV or JSON.
 *
 * All but tables are streamed, so that a query of everything does not fill memory. A table collects its first rows to
 * find the column widths and streams after that. On a terminal the table is fitted to the width (table_fit.c). If
 * memory runs out, the failure is reported once at the end, so that callers can add cells without checks.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "cli.h"
#include "output/common_words.h"
#include "output/table_fit.h"

/* Rows from which the column widths are computed: more than anybody reads on a terminal, and a few MB at most. Shorter
 * lists get exact widths. */
enum { ROWS_OF_WIDTHS = 10000 };

struct cli_list {
    enum cli_format format;
    FILE *out;
    size_t n, column, rows, capacity;
    char **columns;
    size_t *widths; /* widths of a table's columns, after its first rows were printed */
    struct cli_screen *screen; /* NULL: not a fitted table */
    struct fit_column *fit; /* [n]; of a table on a terminal, else NULL */
    char *common; /* words that all rows share */
    struct fit_cell *cells; /* table: all rows until the widths are known; otherwise the current row */
    bool failed;
};

/* Copies the names, because those of `sql` belong to a statement that ends before its list. */
static bool copy_columns(struct cli_list *list, const char *const *columns)
{
    for (size_t i = 0; i < list->n; i++)
        if (!(list->columns[i] = strdup(columns[i])))
            return false;
    return true;
}

/* Quoted like results.tsv, so that the same readers can read both. */
static void print_cell(const struct cli_list *list, const char *text, bool last)
{
    const char separator = list->format == CLI_CSV ? ',' : '\t';
    const bool quoted = strpbrk(text, "\t\n\r\"") || strchr(text, separator);
    for (fputs(quoted ? "\"" : "", list->out); *text; text++) {
        if (*text == '"')
            fputc('"', list->out);
        fputc(*text, list->out);
    }
    fprintf(list->out, "%s%c", quoted ? "\"" : "", last ? '\n' : separator);
}

struct cli_list *cli_list_new(enum cli_format format, FILE *out, size_t n, const char *const *columns)
{
    struct cli_list *list = calloc(1, sizeof *list);
    if (!list)
        return NULL;
    *list = (struct cli_list){.format = format, .out = out, .n = n, .capacity = n};
    list->cells = calloc(n, sizeof *list->cells);
    list->columns = calloc(n, sizeof *list->columns);
    /* Returns the list even after a failed allocation, which cli_list_finish reports. */
    list->failed = !list->cells || !list->columns || !copy_columns(list, columns);
    if (list->failed)
        return list;
    if (format == CLI_JSON)
        fputc('[', out);
    for (size_t i = 0; cli_format_is_rows(format) && i < n; i++)
        print_cell(list, columns[i], i + 1 == n);
    return list;
}

/* Whether rows are collected until the widths are known. */
static bool waits(const struct cli_list *list)
{
    return list->format == CLI_TABLE && !list->widths;
}

/* A row with too many cells is remembered as a failure, because a row that is shifted by one column would be worse than
 * no row. */
static void add(struct cli_list *list, char *text, bool number)
{
    size_t base = waits(list) ? list->rows * list->n : 0;
    if (list->failed || !text || list->column >= list->n) {
        list->failed = true;
        free(text);
        return;
    }
    list->cells[base + list->column++] = (struct fit_cell){.text = text, .number = number};
}

/* Maximum number of code points that a table shows of a text; 0 means all. */
static size_t text_limit(const struct cli_list *list)
{
    if ((list->screen && list->screen->wide) || (list->fit && list->fit[list->column % list->n].words))
        return 0;
    return list->fit ? list->screen->width : 80;
}

/* In a table, cells are escaped so that they can neither control the terminal nor break the row. TSV and JSON quote
 * them instead, so that nothing is lost. */
void cli_list_text(struct cli_list *list, const char *text)
{
    bool table = list->format == CLI_TABLE;
    add(list, table ? cli_text_line(text ? text : "", text_limit(list)) : strdup(text ? text : ""), false);
}

/* All seventeen digits would take room from the hypothesis, and the last digits are noise. */
enum { FITTED_NUMBER = 9 };

void cli_list_number(struct cli_list *list, double value, bool present)
{
    char text[LINEAGE_NUMBER_MAX] = "";
    if (present)
        lineage_number_format(text, value);
    if (list->fit && !list->screen->wide && strlen(text) > FITTED_NUMBER)
        snprintf(text, sizeof text, "%.6g", value);
    add(list, strdup(text), true);
}

void cli_list_digits(struct cli_list *list, const char *number)
{
    add(list, strdup(number), true);
}

void cli_list_style(struct cli_list *list, enum cli_style style, size_t lead)
{
    size_t base = waits(list) ? list->rows * list->n : 0;
    if (list->failed || !list->column)
        return;
    list->cells[base + list->column - 1].style = style;
    list->cells[base + list->column - 1].lead = lead;
}

void cli_list_fit(struct cli_list *list, struct cli_screen *screen, const struct cli_column_fit *columns)
{
    if (!list || list->failed || list->format != CLI_TABLE)
        return;
    list->screen = screen;
    if (!screen->terminal)
        return;
    list->fit = calloc(list->n, sizeof *list->fit);
    list->failed = !list->fit;
    for (size_t i = 0; list->fit && i < list->n; i++)
        list->fit[i] = (struct fit_column){.title = columns[i].title ? columns[i].title : list->columns[i],
                                           .rank = columns[i].rank,
                                           .least = columns[i].least,
                                           .words = columns[i].words,
                                           .empty = !screen->wide};
}

/* The variation between seeds leaves about four meaningful digits of a statistic. Scripts get all digits. */
void cli_list_figure(struct cli_list *list, double value, bool present)
{
    char text[LINEAGE_NUMBER_MAX];
    if (list->format != CLI_TABLE) {
        cli_list_number(list, value, present);
        return;
    }
    snprintf(text, sizeof text, "%.4g", value);
    add(list, strdup(present ? text : "n/a"), true);
}

/* Stored as text like every cell, so that table, TSV and JSON print a number the same way. */
void cli_list_count(struct cli_list *list, size_t value)
{
    char text[LINEAGE_NUMBER_MAX];
    snprintf(text, sizeof text, "%zu", value);
    add(list, strdup(text), true);
}

static json_t *cell_json(const struct fit_cell *cell)
{
    return !cell->number ? cli_json_text(cell->text) : cell->text[0] ? cli_json_digits(cell->text) : json_null();
}

static void print_json_row(const struct cli_list *list)
{
    json_t *object = json_object();
    for (size_t i = 0; i < list->n; i++)
        json_object_set_new(object, list->columns[i], cell_json(&list->cells[i]));
    fputs(list->rows ? ",\n " : "\n ", list->out);
    char *line = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&line, &length);
    if (text) {
        cli_json_print(text, object, false);
        fclose(text);
        fwrite(line, 1, length - 1, list->out);
    }
    free(line);
    json_decref(object);
}

/* Zeroes the cells after freeing them, so that free_list may free every cell, used or not. */
static void free_cells(struct cli_list *list, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        free(list->cells[i].text);
        list->cells[i] = (struct fit_cell){0};
    }
}

/* Makes room for a whole row, so that add() never has to allocate. */
static void make_room(struct cli_list *list)
{
    size_t needed = (list->rows + 1) * list->n;
    if (needed <= list->capacity)
        return;
    struct fit_cell *grown = realloc(list->cells, needed * 2 * sizeof *grown);
    if (!grown) {
        list->failed = true;
        return;
    }
    memset(grown + list->capacity, 0, (needed * 2 - list->capacity) * sizeof *grown);
    list->cells = grown;
    list->capacity = needed * 2;
}

size_t cli_list_rows(const struct cli_list *list)
{
    return list->rows;
}

/* Counts code points, which is slightly wrong for wide and combining characters. It is good enough where no terminal is
 * known. */
static size_t width(const char *text)
{
    size_t points = 0;
    for (; *text; text++)
        points += ((unsigned char)*text & 0xC0) != 0x80;
    return points;
}

/* A cell may be wider than the measured ones. The last column is not padded, because trailing blanks disturb pasting
 * and diffs. */
static void print_padded(const struct cli_list *list, const char *text, size_t column, bool right, enum cli_style style)
{
    size_t taken = width(text), to = list->widths[column];
    int pad = taken < to ? (int)(to - taken) : 0;
    bool last = column + 1 == list->n;
    fprintf(list->out, "%*s%s%s%s%*s%s", right ? pad : 0, "", cli_style_on(list->screen, style), text,
            cli_style_off(list->screen, style), right || last ? 0 : pad, "", last ? "\n" : "  ");
}

static void print_table_rows(const struct cli_list *list, size_t rows)
{
    if (list->fit)
        for (size_t row = 0; row < rows; row++)
            fit_print_row(list->screen, list->out, list->fit, list->n, list->cells + row * list->n);
    else
        for (size_t i = 0; i < rows * list->n; i++)
            print_padded(list, list->cells[i].text, i % list->n, list->cells[i].number, list->cells[i].style);
}

/* Moves words that all rows share out of the column, so that it shows what differs. */
static void part_common(struct cli_list *list, size_t column)
{
    char **texts = calloc(list->rows, sizeof *texts);
    for (size_t row = 0; texts && row < list->rows; row++)
        texts[row] = list->cells[row * list->n + column].text;
    list->common = texts ? common_words(texts, list->rows) : NULL;
    free(texts);
}

/* Prints the head and the collected rows, fitted to the screen. The number of rows known so far decides whether a pager
 * is needed. */
static void begin_fitted(struct cli_list *list)
{
    bool all_are_here = list->rows < ROWS_OF_WIDTHS;
    for (size_t i = 0; all_are_here && !list->screen->wide && i < list->n; i++)
        if (list->fit[i].words && list->rows > 1)
            part_common(list, i);
    for (size_t i = 0; i < list->rows * list->n; i++)
        fit_measure(&list->fit[i % list->n], &list->cells[i]);
    fit_choose(list->fit, list->n, list->screen->wide ? SIZE_MAX : list->screen->width);
    cli_screen_expect(list->screen, list->rows + (list->common ? 3 : 2));
    fit_print_head(list->screen, list->out, list->fit, list->n);
    print_table_rows(list, list->rows);
}

void cli_list_head(struct cli_list *list)
{
    for (size_t i = 0; list->format == CLI_TABLE && !list->failed && i < list->n; i++)
        fprintf(list->out, "%s%s", list->columns[i], i + 1 < list->n ? "  " : "\n");
}

/* Prints the head of a table and the collected rows. Each title is aligned like the cells of its column, which the
 * first row shows. */
static void begin_table(struct cli_list *list)
{
    size_t *widths = calloc(list->n, sizeof *widths);
    list->failed = list->failed || !widths;
    if (list->failed) {
        free(widths);
        return;
    }
    list->widths = widths;
    if (list->fit) {
        begin_fitted(list);
        return;
    }
    for (size_t i = 0; i < list->n; i++)
        widths[i] = width(list->columns[i]);
    for (size_t i = 0; i < list->rows * list->n; i++)
        if (width(list->cells[i].text) > widths[i % list->n])
            widths[i % list->n] = width(list->cells[i].text);
    for (size_t i = 0; i < list->n; i++)
        print_padded(list, list->columns[i], i, list->cells[i].number, CLI_PLAIN);
    print_table_rows(list, list->rows);
}

static void end_table_row(struct cli_list *list)
{
    if (list->widths) {
        print_table_rows(list, 1);
        free_cells(list, 0, list->n);
    }
    list->rows++;
    if (!list->widths && list->rows == ROWS_OF_WIDTHS) {
        begin_table(list);
        free_cells(list, 0, list->rows * list->n);
    } else if (!list->widths) {
        make_room(list);
    }
}

/* Prints each complete row at once, so that the next program of a pipe can start, and `head` ends a query of a
 * million rows early. */
bool cli_list_end_row(struct cli_list *list)
{
    list->column = 0;
    if (list->failed)
        return false;
    if (list->format == CLI_TABLE) {
        end_table_row(list);
        return !list->failed && !(list->fit && list->screen->pager && ferror(list->out));
    }
    for (size_t i = 0; cli_format_is_rows(list->format) && i < list->n; i++)
        print_cell(list, list->cells[i].text, i + 1 == list->n);
    if (list->format == CLI_JSON)
        print_json_row(list);
    free_cells(list, 0, list->n);
    list->rows++;
    return true;
}

static void free_list(struct cli_list *list)
{
    if (list->cells)
        free_cells(list, 0, list->capacity);
    for (size_t i = 0; list->columns && i < list->n; i++)
        free(list->columns[i]);
    free(list->columns);
    free(list->widths);
    free(list->fit);
    free(list->common);
    free(list->cells);
    free(list);
}

/* An empty list is a header in TSV and [] in JSON, so that readers need no special case; an empty table prints
 * nothing. */
int cli_list_finish(struct cli_list *list)
{
    if (!list)
        return cli_no_memory();
    if (waits(list) && list->rows)
        begin_table(list);
    bool failed = list->failed;
    if (list->fit && list->widths && !failed) {
        for (size_t i = 0; i < list->n; i++)
            if (list->fit[i].words && (list->fit[i].shown || list->fit[i].empty))
                fit_print_note(list->screen, list->out, "all: ", list->common);
        fit_print_left_out(list->screen, list->out, list->fit, list->n);
    }
    if (list->format == CLI_JSON && !failed)
        fputs(list->rows ? "\n]\n" : "]\n", list->out);
    free_list(list);
    return failed ? cli_no_memory() : CLI_OK;
}
