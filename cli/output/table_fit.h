/*
 * table_fit.h: decides which columns of a table a terminal has room for, and how wide each one is.
 *
 * Columns are added in the order of their ranks as long as the least width of each fits. The remaining room is then
 * distributed to the shortened columns, in proportion to their least width. Numbers are aligned at their decimal
 * points.
 */
#pragma once

#include "cli.h"

struct fit_cell {
    char *text;
    bool number;
    enum cli_style style;
    size_t lead; /* bytes of a drawing in front of the text */
};

struct fit_column {
    const char *title;
    unsigned rank;
    size_t least;
    bool words; /* as in cli_column_fit */
    bool number, shown, empty; /* empty: no measured cell has a value */
    size_t natural, width;     /* in terminal columns; natural: width of the widest cell, width: width of the column */
    size_t whole, fraction;    /* for numbers: the width before the point, and from the point on */
};

/* Measures a cell for its column; call it for all cells before fit_choose. */
void fit_measure(struct fit_column *column, const struct fit_cell *cell);

/* Sets `shown` and `width` of all columns; width SIZE_MAX means unlimited. */
void fit_choose(struct fit_column *columns, size_t n, size_t width);

void fit_print_head(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n);
void fit_print_row(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n,
                   const struct fit_cell *cells);

/* Prints a dimmed remark below a table, wrapped to the terminal. Prints nothing if text is NULL or empty. */
void fit_print_note(const struct cli_screen *screen, FILE *out, const char *label, const char *text);

/* Prints a dimmed list of the columns that had no room, if any. */
void fit_print_left_out(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n);
