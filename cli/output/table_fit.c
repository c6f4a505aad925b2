/* table_fit.c: fits the columns of a table to a terminal. */
#include "output/table_fit.h"

#include <stdint.h>
#include <string.h>

#include "output/display_width.h"

enum { GAP = 2 }; /* blanks between columns */

/* Returns where the part of a number begins that is right of the alignment point: 12.5, 1e-05, 3, nan. */
static size_t point_of(const char *text)
{
    return strcspn(text, text[0] == 'i' || text[0] == 'n' ? "" : ".e");
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

void fit_measure(struct fit_column *column, const struct fit_cell *cell)
{
    column->natural = larger(column->natural, display_width(cell->text));
    column->empty = column->empty && !cell->text[0];
    /* Only numbers are aligned at a point; for a text only the width is measured. */
    if (!cell->number)
        return;
    size_t point = point_of(cell->text);
    column->number = true;
    column->whole = larger(column->whole, point);
    column->fraction = larger(column->fraction, strlen(cell->text + point));
    column->natural = larger(column->natural, column->whole + column->fraction);
}

static size_t least_of(const struct fit_column *column)
{
    return column->least && column->least < column->natural ? column->least : column->natural;
}

/* The column with the next rank, or NULL after the last. */
static struct fit_column *next_in_rank(struct fit_column *columns, size_t n, unsigned after)
{
    struct fit_column *next = NULL;
    for (size_t i = 0; i < n; i++)
        if (columns[i].rank > after && (!next || columns[i].rank < next->rank))
            next = &columns[i];
    return next;
}

/* The visible column that is shortened most, relative to its least width; NULL if none is shortened. */
static struct fit_column *most_cut(struct fit_column *columns, size_t n)
{
    struct fit_column *most = NULL;
    for (size_t i = 0; i < n; i++)
        if (columns[i].shown && columns[i].least && columns[i].width < columns[i].natural &&
            (!most || columns[i].width * most->least < most->width * columns[i].least))
            most = &columns[i];
    return most;
}

/* The first column is always shown, because a table needs at least one. */
void fit_choose(struct fit_column *columns, size_t n, size_t width)
{
    size_t taken = 0;
    for (size_t i = 0; i < n; i++)
        columns[i].natural = larger(columns[i].natural, display_width(columns[i].title));
    for (struct fit_column *c = next_in_rank(columns, n, 0); c; c = next_in_rank(columns, n, c->rank)) {
        size_t needed = least_of(c) + (taken ? GAP : 0);
        c->shown = width == SIZE_MAX || (!c->empty && (!taken || taken + needed <= width));
        c->width = width == SIZE_MAX ? c->natural : least_of(c) < width ? least_of(c) : width;
        taken += c->shown ? needed : 0;
    }
    for (struct fit_column *c; taken < width && (c = most_cut(columns, n)); taken++)
        c->width++;
}

static void blanks(FILE *out, size_t n)
{
    fprintf(out, "%*s", (int)n, "");
}

/* Number of blanks before a number so that the points of the column align. */
static size_t indent_of(const struct fit_column *column, const char *text)
{
    size_t right = column->fraction + point_of(text);
    return right < column->width ? column->width - right : 0;
}

static size_t print_styled(const struct cli_screen *screen, FILE *out, const struct fit_cell *cell, size_t columns)
{
    size_t taken = 0;
    if (cell->lead) {
        char lead[512];
        snprintf(lead, sizeof lead, "%.*s", (int)cell->lead, cell->text);
        fputs(cli_style_on(screen, CLI_QUIET), out);
        taken = display_cut(out, lead, columns);
        fputs(cli_style_off(screen, CLI_QUIET), out);
    }
    enum cli_style style = cell->text[cell->lead] ? cell->style : CLI_PLAIN;
    fputs(cli_style_on(screen, style), out);
    taken += display_cut(out, cell->text + cell->lead, columns - taken);
    fputs(cli_style_off(screen, style), out);
    return taken;
}

static void print_cell(const struct cli_screen *screen, FILE *out, const struct fit_column *column, const struct fit_cell *cell,
                       bool last)
{
    size_t indent = cell->number ? indent_of(column, cell->text) : 0;
    blanks(out, last && !cell->text[0] ? 0 : indent);
    size_t taken = indent + print_styled(screen, out, cell, column->width - indent);
    if (!last && taken < column->width)
        blanks(out, column->width - taken);
}

static size_t last_shown(const struct fit_column *columns, size_t n)
{
    size_t last = 0;
    for (size_t i = 0; i < n; i++)
        last = columns[i].shown ? i : last;
    return last;
}

void fit_print_row(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n,
                   const struct fit_cell *cells)
{
    size_t last = last_shown(columns, n);
    /* Trailing blanks are dropped, because they disturb pasting and wrap on a line that is full. */
    while (last && (!columns[last].shown || !cells[last].text[0]))
        last--;
    for (size_t i = 0; i <= last; i++)
        if (columns[i].shown) {
            print_cell(screen, out, &columns[i], &cells[i], i == last);
            blanks(out, i == last ? 0 : GAP);
        }
    fputc('\n', out);
}

void fit_print_head(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n)
{
    size_t last = last_shown(columns, n);
    fputs(cli_style_on(screen, CLI_QUIET), out);
    for (size_t i = 0; i <= last; i++)
        if (columns[i].shown) {
            size_t title = display_width(columns[i].title), width = columns[i].width;
            if (columns[i].number && title < width)
                blanks(out, width - title);
            size_t taken = display_cut(out, columns[i].title, width);
            if (!columns[i].number && i < last)
                blanks(out, width - taken);
            blanks(out, i == last ? 0 : GAP);
        }
    fputs(cli_style_off(screen, CLI_QUIET), out);
    fputc('\n', out);
}

void fit_print_note(const struct cli_screen *screen, FILE *out, const char *label, const char *text)
{
    size_t indent = display_width(label), room = screen->width - indent;
    for (size_t at = 0, next; text && text[at]; at += next) {
        int bytes = (int)display_line(text + at, room, &next);
        fprintf(out, "%s%*s%.*s%s\n", cli_style_on(screen, CLI_QUIET), (int)indent, at ? "" : label, bytes, text + at,
                cli_style_off(screen, CLI_QUIET));
    }
}

void fit_print_left_out(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n)
{
    char text[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof text - 80; i++)
        if (!columns[i].shown && !columns[i].empty)
            used += (size_t)snprintf(text + used, 64, "%s%s", used ? ", " : "", columns[i].title);
    snprintf(text + used, sizeof text - used, "%s", used ? " (--wide)" : "");
    fit_print_note(screen, out, "not shown: ", text);
}
