/*
 * list.c: prints lists of rows as an aligned table, TSV, CSV or JSON.
 *
 * All but tables are streamed, so that a query of everything does not fill memory. A table collects its first rows to
 * find the column widths and streams after that. On a terminal the table is fitted to the width. If
 * memory runs out, the failure is reported once at the end, so that callers can add cells without checks.
 */

#include <assert.h>

#include <lineage/evidence.h>
#include <lineage/text.h>

#include "cli.h"
#include "output/display_width.h"

/* ---- which columns of a table a terminal has room for, and how wide each one is ----
 *
 * Columns are added in the order of their ranks as long as the least width of each fits. The remaining room is then
 * distributed to the shortened columns, in proportion to their least width. Numbers are aligned at their decimal
 * points. */

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
    bool words; /* as in cli_list_of */
    bool number, shown, empty; /* empty: no measured cell has a value */
    size_t natural, width;     /* in terminal columns; natural: width of the widest cell, width: width of the column */
    size_t whole, fraction;    /* for numbers: the width before the point, and from the point on */
};

enum { MOST_NAMED = 24 }; /* columns of cli_list_of */
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

/* Measures a cell for its column; call it for all cells before fit_choose. */
static void fit_measure(struct fit_column *column, const struct fit_cell *cell)
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

static bool ranks_behind(const struct fit_column *a, const struct fit_column *b)
{
    return a->rank != b->rank ? a->rank > b->rank : a > b;
}

/* The next column by rank, of equal ones by place; the first with NULL, and NULL after the last. */
static struct fit_column *next_in_rank(struct fit_column *columns, size_t n, const struct fit_column *after)
{
    struct fit_column *next = NULL;
    for (size_t i = 0; i < n; i++)
        if ((!after || ranks_behind(&columns[i], after)) && (!next || ranks_behind(next, &columns[i])))
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

/* Sets `shown` and `width` of all columns; width SIZE_MAX means unlimited.
 * The first column is always shown, because a table needs at least one. */
static void fit_choose(struct fit_column *columns, size_t n, size_t width)
{
    size_t taken = 0;
    for (size_t i = 0; i < n; i++)
        columns[i].natural = larger(columns[i].natural, display_width(columns[i].title));
    for (struct fit_column *c = next_in_rank(columns, n, NULL); c; c = next_in_rank(columns, n, c)) {
        size_t needed = least_of(c) + (taken ? GAP : 0);
        c->shown = width == SIZE_MAX || (!c->empty && (!taken || taken + needed <= width));
        c->width = width == SIZE_MAX ? c->natural : least_of(c) < width ? least_of(c) : width;
        taken += c->shown ? needed : 0;
    }
    for (struct fit_column *c; taken < width && (c = most_cut(columns, n)); taken++)
        c->width++;
}

/* printf with a width took a fifth of the time of a long table. */
static void blanks(FILE *out, size_t n)
{
    static const char some[] = "                                ";
    for (size_t k; n; n -= k) {
        k = n < sizeof some - 1 ? n : sizeof some - 1;
        fwrite(some, 1, k, out);
    }
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

static void print_fitted(const struct cli_screen *screen, FILE *out, const struct fit_column *column, const struct fit_cell *cell,
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

static void fit_print_row(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n,
                          const struct fit_cell *cells)
{
    size_t last = last_shown(columns, n);
    /* Trailing blanks are dropped, because they disturb pasting and wrap on a line that is full. */
    while (last && (!columns[last].shown || !cells[last].text[0]))
        last--;
    for (size_t i = 0; i <= last; i++)
        if (columns[i].shown) {
            print_fitted(screen, out, &columns[i], &cells[i], i == last);
            blanks(out, i == last ? 0 : GAP);
        }
    fputc('\n', out);
}

static void fit_print_head(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n)
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

/* Prints a dimmed remark below a table, wrapped to the terminal. Prints nothing if text is NULL or empty. */
static void fit_print_note(const struct cli_screen *screen, FILE *out, const char *label, const char *text)
{
    size_t indent = display_width(label), room = screen->width - indent;
    for (size_t at = 0, next; text && text[at]; at += next) {
        int bytes = (int)display_line(text + at, room, &next);
        fprintf(out, "%s%*s%.*s%s\n", cli_style_on(screen, CLI_QUIET), (int)indent, at ? "" : label, bytes, text + at,
                cli_style_off(screen, CLI_QUIET));
    }
}

/* Prints a dimmed list of the columns that had no room, if any. */
static void fit_print_left_out(const struct cli_screen *screen, FILE *out, const struct fit_column *columns, size_t n)
{
    char text[256] = "";
    size_t used = 0;
    for (size_t i = 0; i < n && used < sizeof text - 80; i++)
        if (!columns[i].shown && !columns[i].empty)
            used += (size_t)snprintf(text + used, 64, "%s%s", used ? ", " : "", columns[i].title);
    snprintf(text + used, sizeof text - used, "%s", used ? " (--wide)" : "");
    fit_print_note(screen, out, "not shown: ", text);
}

/* ---- finds the words that several texts share ---- */

/* Returns the length of the word at text in bytes; name='a b' is one word. */
static size_t word_length(const char *text)
{
    bool quoted = false;
    size_t n = 0;
    for (; text[n] && (quoted || text[n] != ' '); n++)
        quoted ^= text[n] == '\'';
    return n;
}

/* Returns where text contains the word, or NULL. */
static char *find_word(char *text, const char *word, size_t length)
{
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        n = word_length(text);
        if (n == length && memcmp(text, word, n) == 0)
            return text;
    }
    return NULL;
}

static bool is_common(char *const *texts, size_t n, const char *word, size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (!find_word(texts[i], word, length))
            return false;
    return true;
}

/* Removes the word and the blank that separates it from its neighbour. */
static void remove_word(char *text, const char *word, size_t length)
{
    char *at = find_word(text, word, length);
    if (!at)
        return;
    char *rest = at + length;
    if (*rest == ' ')
        rest++;
    else if (at > text)
        at--;
    memmove(at, rest, strlen(rest) + 1);
}

/* out has room for the first text. Returns the number of bytes used. */
static size_t collect(char *out, char *const *texts, size_t n)
{
    size_t used = 0;
    for (const char *word = texts[0]; *word;) {
        size_t length = word_length(word);
        if (is_common(texts, n, word, length)) {
            memcpy(out + used, word, length);
            used += length;
            out[used++] = ' ';
        }
        word += length + (word[length] == ' ');
    }
    return used;
}

/* Removes the words that all texts[n] contain from the texts, in place, and returns them; free the result. Returns NULL
 * if there are none, or if memory runs out, and then changes nothing. Words are separated by blanks outside single
 * quotes. */
static char *common_words(char *const *texts, size_t n)
{
    char *common = malloc(strlen(texts[0]) + 2);
    size_t used = common ? collect(common, texts, n) : 0;
    if (!used) {
        free(common);
        return NULL;
    }
    common[used - 1] = '\0';
    for (size_t at = 0; at < used; at += word_length(common + at) + 1)
        for (size_t i = 0; i < n; i++)
            remove_word(texts[i], common + at, word_length(common + at));
    return common;
}

/* ---- prints lists of rows as an aligned table, TSV, CSV or JSON ---- */

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

/* cli_list_new returns this list if memory runs out. It ignores cells, and cli_list_finish reports the failure. */
static struct cli_list lost = {.failed = true};

struct cli_list *cli_list_new(enum cli_format format, size_t n, const char *const *columns)
{
    struct cli_list *list = calloc(1, sizeof *list);
    if (!list)
        return &lost;
    *list = (struct cli_list){.format = format, .out = stdout, .n = n, .capacity = n};
    list->cells = calloc(n, sizeof *list->cells);
    list->columns = calloc(n, sizeof *list->columns);
    /* Returns the list even after a failed allocation, which cli_list_finish reports. */
    list->failed = !list->cells || !list->columns || !copy_columns(list, columns);
    if (list->failed)
        return list;
    if (format == CLI_JSON)
        fputc('[', list->out);
    for (size_t i = 0; cli_format_is_rows(format) && i < n; i++)
        print_cell(list, columns[i], i + 1 == n);
    return list;
}

struct cli_list *cli_list_of(enum cli_format format, struct cli_screen *screen, const char *columns)
{
    const char *names[MOST_NAMED];
    size_t n = 0;
    char *copy = strdup(columns);
    if (!copy)
        return &lost;
    char *rest = copy, *name;
    for (; (name = strtok_r(rest, ",", &rest)) && n < MOST_NAMED; names[n++] = name)
        name[strcspn(name, "=:")] = '\0';
    assert(!name);
    struct cli_list *list = cli_list_new(format, n, names);
    free(copy);
    if (screen)
        cli_list_fit(list, screen, columns);
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

/* Longer numbers are shortened, because their last digits are noise. */
enum { SHORT_NUMBER = 9, DECIMALS = 6, MOST_DECIMALS = 17 };

const char *cli_number_text(char *out, const struct cli_screen *screen, double value)
{
    const double size = fabs(value);
    lineage_number_format(out, value);
    if (!screen || screen->wide || strlen(out) <= SHORT_NUMBER || !isfinite(value))
        return out;
    double decimals = screen->noise > 0 ? fmin(MOST_DECIMALS, fmax(1, 2 - floor(log10(screen->noise)))) : DECIMALS;
    if (size < 1e-4 || size >= 1e12) {
        snprintf(out, LINEAGE_NUMBER_MAX, "%.*g", DECIMALS, value);
    } else if (snprintf(out, LINEAGE_NUMBER_MAX, "%.*f", (int)decimals, value) < LINEAGE_NUMBER_MAX) {
        size_t n = strlen(out);
        while (n > 2 && out[n - 1] == '0' && out[n - 2] != '.')
            out[--n] = '\0';
    } else {
        lineage_number_format(out, value);
    }
    return out;
}

void cli_list_number(struct cli_list *list, double value, bool present)
{
    char text[LINEAGE_NUMBER_MAX] = "";
    if (present)
        cli_number_text(text, list->screen, value);
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

/* Reads NAME=TITLE:RANK/LEAST with its signs. */
static void read_fit(struct cli_list *list, size_t i, const char *text)
{
    const char *rank = text + strcspn(text, ":,"), *title = memchr(text, '=', (size_t)(rank - text));
    struct fit_column *fit = &list->fit[i];
    char *end;
    if (title) {
        free(list->columns[i]);
        list->columns[i] = strndup(title + 1, (size_t)(rank - title - 1));
        list->failed = list->failed || !list->columns[i];
    }
    *fit = (struct fit_column){.title = list->columns[i], .empty = !list->screen->wide};
    fit->rank = (unsigned)strtoul(rank + (*rank == ':'), &end, 10);
    if (*end == '/')
        fit->least = strtoul(end + 1, &end, 10);
    if (*end == '%') {
        const size_t part = list->screen->width * 3 / 10;
        fit->least = part < fit->least ? fit->least : part;
    }
    fit->words = *end == 'w';
}

void cli_list_fit(struct cli_list *list, struct cli_screen *screen, const char *columns)
{
    if (list->failed || list->format != CLI_TABLE)
        return;
    list->screen = screen;
    if (!screen->terminal)
        return;
    list->fit = calloc(list->n, sizeof *list->fit);
    list->failed = !list->fit;
    for (size_t i = 0; !list->failed && i < list->n; i++) {
        read_fit(list, i, columns);
        columns += strcspn(columns, ",");
        assert((*columns == ',') == (i + 1 < list->n));
        columns += *columns == ',';
    }
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

static void list_mean(struct cli_list *list, double value, double margin)
{
    char text[LINEAGE_NUMBER_MAX];
    if (list->format == CLI_TABLE)
        cli_list_digits(list, lineage_mean_text(text, value, margin));
    else
        cli_list_number(list, value, true);
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
    cli_json_element(object, !list->rows);
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
    const size_t taken = width(text), to = list->widths[column], pad = taken < to ? to - taken : 0;
    const bool last = column + 1 == list->n;
    blanks(list->out, right ? pad : 0);
    fputs(cli_style_on(list->screen, style), list->out);
    fputs(text, list->out);
    fputs(cli_style_off(list->screen, style), list->out);
    blanks(list->out, right || last ? 0 : pad);
    fputs(last ? "\n" : "  ", list->out);
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

void cli_list_cells(struct cli_list *list, const struct cli_cell *cell)
{
    for (; cell->kind != CLI_CELL_END; cell++)
        switch (cell->kind) {
        case CLI_CELL_END: break;
        case CLI_CELL_TEXT: cli_list_text(list, cell->text); break;
        case CLI_CELL_DIGITS: cli_list_digits(list, cell->text); break;
        case CLI_CELL_COUNT: cli_list_count(list, cell->count); break;
        case CLI_CELL_NUMBER: cli_list_number(list, cell->value, cell->present); break;
        case CLI_CELL_FIGURE: cli_list_figure(list, cell->value, cell->present); break;
        case CLI_CELL_MEAN: list_mean(list, cell->value, cell->margin); break;
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
    if (list == &lost)
        return;
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
