/*
 * list.c: lists of rows as aligned table, TSV or JSON.
 *
 * TSV and JSON stream, so that a query of everything does not fill memory; a table waits for the widths of its first
 * rows and streams from there on. Running out of memory is remembered and told once, at the end: callers add cells
 * without checks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "cli.h"

/* More than anybody reads in a terminal, and a few MB at most; a list that ends before has
 * exact widths. */
enum { ROWS_OF_WIDTHS = 10000 };

struct cell {
    char *text;
    bool number;
};

struct cli_list {
    enum cli_format format;
    FILE *out;
    size_t n, column, rows, capacity;
    char **columns;
    size_t *widths; /* of a table's columns, once its first rows are printed */
    struct cell *cells; /* table: all rows until then; else the current one */
    bool failed;
};

static bool copy_columns(struct cli_list *list, const char *const *columns)
{
    for (size_t i = 0; i < list->n; i++)
        if (!(list->columns[i] = strdup(columns[i])))
            return false;
    return true;
}

struct cli_list *cli_list_new(enum cli_format format, FILE *out, size_t n, const char *const *columns)
{
    struct cli_list *list = calloc(1, sizeof *list);
    if (!list)
        return NULL;
    *list = (struct cli_list){.format = format, .out = out, .n = n, .capacity = n};
    list->cells = calloc(n, sizeof *list->cells);
    list->columns = calloc(n, sizeof *list->columns);
    list->failed = !list->cells || !list->columns || !copy_columns(list, columns);
    if (list->failed)
        return list;
    if (format == CLI_JSON)
        fputc('[', out);
    for (size_t i = 0; format == CLI_TSV && i < n; i++)
        fprintf(out, "%s%c", columns[i], i + 1 < n ? '\t' : '\n');
    return list;
}

/* Whether rows are kept until the widths are known. */
static bool waits(const struct cli_list *list)
{
    return list->format == CLI_TABLE && !list->widths;
}

/* One cell too many is remembered like lack of memory: a row that is shifted by one column is
 * worse than none. */
static void add(struct cli_list *list, char *text, bool number)
{
    size_t base = waits(list) ? list->rows * list->n : 0;
    if (list->failed || !text || list->column >= list->n) {
        list->failed = true;
        free(text);
        return;
    }
    list->cells[base + list->column++] = (struct cell){text, number};
}

/* A table is for a terminal, on which cells of other people's text must neither act nor break the row; in TSV
 * and JSON quoting does that, and nothing may be lost. */
void cli_list_text(struct cli_list *list, const char *text)
{
    bool table = list->format == CLI_TABLE;
    add(list, table ? cli_text_line(text ? text : "", 80) : strdup(text ? text : ""), false);
}

void cli_list_number(struct cli_list *list, double value, bool present)
{
    char text[LINEAGE_NUMBER_MAX] = "";
    if (present)
        lineage_number_format(text, value);
    add(list, strdup(text), true);
}

/* Four digits are what the spread between seeds leaves of a statistic; scripts get all of them. */
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

void cli_list_count(struct cli_list *list, size_t value)
{
    char text[LINEAGE_NUMBER_MAX];
    snprintf(text, sizeof text, "%zu", value);
    add(list, strdup(text), true);
}

/* Quoted as results.tsv is, so that what reads the store reads this. */
static void print_tsv_cell(FILE *out, const char *text)
{
    if (!strpbrk(text, "\t\n\r\"")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void print_tsv_row(const struct cli_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        print_tsv_cell(list->out, list->cells[i].text);
        fputc(i + 1 < list->n ? '\t' : '\n', list->out);
    }
}

/* Counts stay integers: a reader that compares 3 with "3.0" would find them different. */
static json_t *cell_json(const struct cell *cell)
{
    double value;
    if (!cell->number)
        return cli_json_text(cell->text);
    if (!cell->text[0])
        return json_null();
    if (!strpbrk(cell->text, ".einfa"))
        return json_integer(strtoll(cell->text, NULL, 10));
    lineage_number_parse(&value, cell->text, strlen(cell->text));
    return cli_json_number(value);
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

/* Cells are zeroed so that free_list may free them all, used or not. */
static void free_cells(struct cli_list *list, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        free(list->cells[i].text);
        list->cells[i] = (struct cell){0};
    }
}

/* A row ahead: add() never has to grow. */
static void make_room(struct cli_list *list)
{
    size_t needed = (list->rows + 1) * list->n;
    if (needed <= list->capacity)
        return;
    struct cell *grown = realloc(list->cells, needed * 2 * sizeof *grown);
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

/* Code points for columns. Wide and combining characters are off by a little; a table of widths would be
 * larger than the rest of this file. */
static size_t width(const char *text)
{
    size_t points = 0;
    for (; *text; text++)
        points += ((unsigned char)*text & 0xC0) != 0x80;
    return points;
}

/* A cell may be wider than those that the widths are of. The last column is not padded: blanks at the end of a line
 * break pasting and diffs. */
static void print_padded(const struct cli_list *list, const char *text, size_t column, bool right)
{
    size_t taken = width(text), to = list->widths[column];
    int pad = taken < to ? (int)(to - taken) : 0;
    bool last = column + 1 == list->n;
    if (right)
        fprintf(list->out, "%*s%s", pad, "", text);
    else
        fprintf(list->out, "%s%*s", text, last ? 0 : pad, "");
    fputs(last ? "\n" : "  ", list->out);
}

static void print_table_rows(const struct cli_list *list, size_t rows)
{
    for (size_t i = 0; i < rows * list->n; i++)
        print_padded(list, list->cells[i].text, i % list->n, list->cells[i].number);
}

/* The head of a table and the rows that waited for it. Heads stand on the side on which their
 * column's cells do, which is known from the first row. */
static void begin_table(struct cli_list *list)
{
    size_t *widths = calloc(list->n, sizeof *widths);
    list->failed = list->failed || !widths;
    if (list->failed) {
        free(widths);
        return;
    }
    for (size_t i = 0; i < list->n; i++)
        widths[i] = width(list->columns[i]);
    for (size_t i = 0; i < list->rows * list->n; i++)
        if (width(list->cells[i].text) > widths[i % list->n])
            widths[i % list->n] = width(list->cells[i].text);
    list->widths = widths;
    for (size_t i = 0; i < list->n; i++)
        print_padded(list, list->columns[i], i, list->cells[i].number);
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

/* A row goes out as soon as it is whole: what follows in a pipe starts to work, and `head` ends
 * a query of a million rows early. */
bool cli_list_end_row(struct cli_list *list)
{
    list->column = 0;
    if (list->failed)
        return false;
    if (list->format == CLI_TABLE) {
        end_table_row(list);
        return !list->failed;
    }
    if (list->format == CLI_TSV)
        print_tsv_row(list);
    else
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
    free(list->cells);
    free(list);
}

/* A list without rows prints its head in TSV and [] in JSON, so that readers need no case for
 * it; a table prints nothing, as there is nothing to see. */
int cli_list_finish(struct cli_list *list)
{
    if (!list)
        return cli_error(CLI_SYSTEM, "out of memory");
    if (waits(list) && list->rows)
        begin_table(list);
    bool failed = list->failed;
    if (list->format == CLI_JSON && !failed)
        fputs(list->rows ? "\n]\n" : "]\n", list->out);
    free_list(list);
    return failed ? cli_error(CLI_SYSTEM, "out of memory") : CLI_OK;
}
