/*
 * fit.h: which columns of a table a terminal has room for, and how wide each is.
 *
 * Columns come in the order of their ranks for as long as there is room for the least of each; then those that were cut
 * grow with what is left, in proportion to their least. Numbers stand under each other by their decimal points.
 */
#ifndef CLI_FIT_H
#define CLI_FIT_H

#include "cli.h"

struct fit_cell {
    char *text;
    bool number;
    enum cli_style style;
    size_t lead; /* bytes of a drawing before the text */
};

struct fit_column {
    const char *title;
    unsigned rank;
    size_t least;
    bool words; /* as in cli_column_fit */
    bool number, shown, empty; /* empty: no cell of those measured says anything */
    size_t natural, width;     /* columns of the terminal: of the widest cell, of this column */
    size_t whole, fraction;    /* of numbers: before the point, and from it on */
};

/* Measure a cell for its column; call for all cells before fit_choose. */
void fit_measure(struct fit_column *column, const struct fit_cell *cell);

/* Choose and set shown and width; SIZE_MAX is room for all. */
void fit_choose(struct fit_column *columns, size_t n, size_t width);

void fit_print_head(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n);
void fit_print_row(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n,
                   const struct fit_cell *cells);

/* A quiet remark below a table, as wide as the terminal; nothing if text is NULL or empty. */
void fit_print_note(const struct cli_screen *screen, FILE *out, const char *label, const char *text);

/* Which columns had no room, quietly; nothing if all had. */
void fit_print_left_out(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n);

#endif
