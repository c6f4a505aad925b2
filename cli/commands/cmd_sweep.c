/* cmd_sweep.c: `lineage sweep`: prints which values of parameters were tried. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>
#include <lineage/text.h>

#include "output/display_width.h"
#include "output/ideas_out.h"

/* Draws two parameters as a heat map on a terminal: one tile per pair of values, shaded by the best score.
 *
 * Shades go from dark (worst) to bright (best) with evenly rising lightness, so that colour-blind people can read them
 * too; without colour, blocks show the same. The second line of a tile is the number of trials and, after `!`, of those
 * without a score. A dot marks a pair that was not tried. */

#define NONE SIZE_MAX

/* Beyond 64 values a map is wider than any terminal, and a table is easier to read. */
enum { MOST_VALUES = 64, SHADES = 6, LABEL = 10, SCORE_TEXT = 30, TILE_TEXT = 40, NARROW = 50 };

struct tile {
    char score[TILE_TEXT], count[TILE_TEXT]; /* e.g. "★35.10" and "3 !1" */
    int shade; /* -1: no score */
};

struct axis {
    const char *name;
    char *labels[MOST_VALUES];
    size_t n, width; /* width: that of the widest label, in columns */
};

struct map {
    const struct cli_screen *screen;
    struct axis down, across;
    struct tile *tiles; /* [down.n * across.n] */
    size_t tile_width;
    char worst[TILE_TEXT], best[TILE_TEXT]; /* "" if nothing was measured */
};

/* Whether the values are few enough for a map. */
static bool heat_map_suits(const struct lineage_sweep *sweep)
{
    return sweep->n_xs <= MOST_VALUES && sweep->n_ys <= MOST_VALUES;
}

/* ---- contents ---- */

/* Labels have at most ten columns, because those above the tiles must fit their width. */
static char *label_of(double value, const char *text)
{
    char number[LINEAGE_NUMBER_MAX], quoted[LINEAGE_PARAM_QUOTED_MAX];
    if (text)
        return cli_text_line(lineage_param_text_format(quoted, text), 0);
    if (strlen(lineage_number_format(number, value)) > LABEL)
        snprintf(number, sizeof number, "%.4g", value);
    return strdup(number);
}

static bool fill_axis(struct axis *axis, const char *name, const double *values, const char **texts, size_t n)
{
    axis->name = name;
    for (axis->n = 0; axis->n < n; axis->n++) {
        char *label = label_of(values[axis->n], texts[axis->n]);
        if (!label)
            return false;
        axis->labels[axis->n] = label;
        size_t width = display_width(label);
        width = width < LABEL ? width : LABEL;
        axis->width = width > axis->width ? width : axis->width;
    }
    return true;
}

struct range {
    double worst, best; /* the ends of the scale */
    bool open;          /* the scale is cut off: some scores are worse than `worst` */
    int digits;         /* digits after the point: four digits in all, more if the range is narrow */
};

/* nan and infinities do not fit on a scale; they count as trials without a score. */
static bool is_measured(const struct lineage_sweep_cell *cell)
{
    return cell->best.present && isfinite(cell->best.value);
}

/* One outlier would give all other scores the same shade. So the scale begins at most four times as far from the best
 * score as the median is. scores[n] are sorted, n > 0. */
static struct range scale_of(const double *scores, size_t n, bool higher)
{
    double best = higher ? scores[n - 1] : scores[0], worst = higher ? scores[0] : scores[n - 1];
    double limit = best + 4 * (scores[n / 2] - best);
    bool open = limit != best && fabs(limit - best) < fabs(worst - best);
    double from = open ? limit : worst, largest = fmax(fabs(scores[0]), fabs(scores[n - 1]));
    double digits = from != best ? fmax(ceil(-log10(fabs(best - from))) + 2, 3 - floor(log10(largest))) : 4;
    return (struct range){from, best, open, digits < 0 ? 0 : digits > 6 ? 6 : (int)digits};
}

static bool range_of(struct range *range, const struct lineage_sweep *sweep, enum lineage_direction direction)
{
    double *scores = calloc(sweep->n_cells + 1, sizeof *scores);
    size_t n = 0;
    for (size_t i = 0; scores && i < sweep->n_cells; i++)
        if (is_measured(&sweep->cells[i]))
            scores[n++] = sweep->cells[i].best.value;
    *range = (struct range){.worst = (double)NAN, .best = (double)NAN};
    if (n) {
        qsort(scores, n, sizeof *scores, cli_by_number);
        *range = scale_of(scores, n, direction == LINEAGE_HIGHER);
    }
    bool loaded = scores != NULL;
    free(scores);
    return loaded;
}

static void score_text(char *out, double score, const struct range *range)
{
    /* %f is used if scores are of similar size, so that their decimal points align. Huge scores, and a range that is
     * smaller than the shown digits, need %g. */
    bool plain = fabs(score) < 1e7 && fabs(range->best - range->worst) > 1e-6;
    snprintf(out, SCORE_TEXT, plain ? "%.*f" : "%.*g", plain ? range->digits : 6, score);
}

/* Counts every label except the three that come with a score, so that a new failure label needs no change here. */
static size_t failures_of(const struct lineage_sweep_cell *cell)
{
    return cell->count - cell->labels[LINEAGE_KEEP] - cell->labels[LINEAGE_DISCARD] - cell->labels[LINEAGE_BASELINE];
}

static void fill_tile(struct tile *tile, const struct lineage_sweep_cell *cell, const struct range *range)
{
    size_t failures = failures_of(cell);
    double width = range->best - range->worst;
    int n = snprintf(tile->count, sizeof tile->count, "%zu", cell->count);
    if (failures)
        snprintf(tile->count + n, sizeof tile->count - (size_t)n, " !%zu", failures);
    if (!is_measured(cell)) {
        strcpy(tile->score, "-");
        return;
    }
    double part = width != 0 ? (cell->best.value - range->worst) / width : 1;
    tile->shade = part >= 1 ? SHADES - 1 : part > 0 ? (int)(part * SHADES) : 0;
    /* The star marks the best score, so that it can be seen without colour too, for example on paper. */
    bool best = cell->best.value == range->best;
    strcpy(tile->score, best ? cli_sign("★", "*") : "");
    score_text(tile->score + strlen(tile->score), cell->best.value, range);
}

static size_t find_value(double value, const char *text, const double *values, const char **texts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text && texts[i] ? strcmp(text, texts[i]) == 0 : !text && !texts[i] && value == values[i])
            return i;
    return NONE;
}

/* A nan value has no position on an axis, so it is in no tile. */
static void fill_tiles(struct map *map, const struct lineage_sweep *sweep, const struct range *range, bool turned)
{
    for (size_t i = 0; i < map->down.n * map->across.n; i++) {
        map->tiles[i] = (struct tile){.shade = -1};
        strcpy(map->tiles[i].score, cli_sign("·", "."));
    }
    for (size_t i = 0; i < sweep->n_cells; i++) {
        const struct lineage_sweep_cell *cell = &sweep->cells[i];
        size_t x = find_value(cell->x, cell->x_text, sweep->xs, sweep->x_texts, sweep->n_xs);
        size_t y = find_value(cell->y, cell->y_text, sweep->ys, sweep->y_texts, sweep->n_ys);
        if (x != NONE && y != NONE)
            fill_tile(&map->tiles[turned ? y * map->across.n + x : x * map->across.n + y], cell, range);
    }
}

/* A tile has a blank on either side. Without colour it begins with a block, which takes room too. */
static void measure_tiles(struct map *map)
{
    size_t widest = map->across.width;
    for (size_t i = 0; i < map->down.n * map->across.n; i++) {
        size_t score = display_width(map->tiles[i].score), count = display_width(map->tiles[i].count);
        widest = score > widest ? score : widest;
        widest = count > widest ? count : widest;
    }
    map->tile_width = widest + (map->screen->color ? 2 : 3);
}

/* ---- printing ---- */

/* Colours of the 256-colour palette whose lightness rises in even steps (24 to 95 of 100), from blue over green to
 * yellow, each with a text colour that is readable on it. */
static void shade_on(const struct map *map, int shade)
{
    static const int colors[SHADES] = {54, 25, 30, 36, 78, 191};
    if (map->screen->color && shade >= 0)
        printf("\033[48;5;%d;38;5;%dm", colors[shade], shade < 3 ? 231 : 16);
}

static void shade_off(const struct map *map, int shade)
{
    if (map->screen->color && shade >= 0)
        fputs("\033[0m", stdout);
}

static const char *block(const struct map *map, int shade)
{
    static const char *const blocks[SHADES] = {"▁", "▂", "▄", "▅", "▇", "█"};
    static const char *const plain[SHADES] = {"_", ".", "-", "=", "+", "#"};
    return map->screen->color ? "" : shade >= 0 ? cli_sign(blocks[shade], plain[shade]) : " ";
}

/* Pads by terminal columns, not by printf's bytes: the star and the dot have three bytes and one column. */
static void print_right(const char *text, size_t width)
{
    size_t taken, bytes = display_prefix(text, width, &taken);
    printf("%*s", (int)(width - taken), "");
    if (text[bytes])
        display_cut(stdout, text, width);
    else
        fputs(text, stdout);
}

static void print_tile_line(const struct map *map, const struct tile *tile, const char *text, bool first)
{
    const char *lead = block(map, first ? tile->shade : -1);
    shade_on(map, tile->shade);
    printf("%s ", lead);
    print_right(text, map->tile_width - 2 - display_width(lead));
    putchar(' ');
    shade_off(map, tile->shade);
}

static void print_row(const struct map *map, size_t row, size_t from, size_t until)
{
    const struct tile *tiles = map->tiles + row * map->across.n;
    print_right(map->down.labels[row], map->down.width);
    fputs("  ", stdout);
    for (size_t i = from; i < until; i++)
        print_tile_line(map, &tiles[i], tiles[i].score, true);
    printf("\n%*s", (int)map->down.width + 2, "");
    for (size_t i = from; i < until; i++)
        print_tile_line(map, &tiles[i], tiles[i].count, false);
    putchar('\n');
}

static void print_block(const struct map *map, size_t from, size_t until)
{
    fputs(cli_style_on(map->screen, CLI_QUIET), stdout);
    printf("%*s", (int)map->down.width + 2, "");
    for (size_t i = from; i < until; i++) {
        print_right(map->across.labels[i], map->tile_width - 1);
        putchar(' ');
    }
    printf("%s\n", cli_style_off(map->screen, CLI_QUIET));
    for (size_t row = 0; row < map->down.n; row++)
        print_row(map, row, from, until);
}

static void print_title(const struct map *map)
{
    char *down = cli_text_line(map->down.name, LINEAGE_NAME_MAX), *across = cli_text_line(map->across.name, LINEAGE_NAME_MAX);
    char title[8 * LINEAGE_NAME_MAX + 80];
    snprintf(title, sizeof title, "%s down, %s across: best score; below it trials and !failures", down ? down : "?",
             across ? across : "?");
    display_wrapped(stdout, title, map->screen->width);
    free(down);
    free(across);
}

/* The ends of the scale are printed as text, because shades alone have no unit. */
static void print_scale(const struct map *map)
{
    bool narrow = map->screen->width < NARROW;
    if (!map->best[0]) {
        printf("%s untried\n", cli_sign("·", "."));
        return;
    }
    printf("%s ", map->worst);
    for (int shade = 0; shade < SHADES; shade++) {
        shade_on(map, shade);
        fputs(!map->screen->color ? block(map, shade) : narrow ? " " : "  ", stdout);
        shade_off(map, shade);
    }
    printf("%s%s%s best%s%s untried\n", narrow ? "\n" : " ", cli_sign("★", "*"), map->best, narrow ? "\n" : "   ",
           cli_sign("·", "."));
}

static size_t per_block(const struct map *map)
{
    size_t room = map->screen->wide ? SIZE_MAX : map->screen->width - map->down.width - 2;
    size_t fit = room / map->tile_width;
    return fit < 1 ? 1 : fit < map->across.n ? fit : map->across.n;
}

static void print_map(const struct map *map, struct cli_screen *screen)
{
    size_t step = per_block(map), blocks = (map->across.n + step - 1) / step;
    cli_screen_expect(screen, blocks * (2 * map->down.n + 2) + 5);
    print_title(map);
    for (size_t from = 0; from < map->across.n; from += step) {
        if (from)
            putchar('\n');
        print_block(map, from, from + step < map->across.n ? from + step : map->across.n);
    }
    print_scale(map);
}

static bool fill(struct map *map, const struct lineage_sweep *sweep, const char *x, const char *y, const struct range *range,
                 bool turned)
{
    bool filled = fill_axis(turned ? &map->across : &map->down, x, sweep->xs, sweep->x_texts, sweep->n_xs) &&
                  fill_axis(turned ? &map->down : &map->across, y, sweep->ys, sweep->y_texts, sweep->n_ys) &&
                  (map->tiles = calloc(sweep->n_xs * sweep->n_ys, sizeof *map->tiles));
    if (!filled)
        return false;
    fill_tiles(map, sweep, range, turned);
    measure_tiles(map);
    if (isnan(range->best))
        return true;
    if (range->open)
        strcpy(map->worst, range->best > range->worst ? cli_sign("≤", "<=") : cli_sign("≥", ">="));
    score_text(map->worst + strlen(map->worst), range->worst, range);
    score_text(map->best, range->best, range);
    return true;
}

static void release(struct map *map)
{
    for (size_t i = 0; i < MOST_VALUES; i++) {
        free(map->down.labels[i]);
        free(map->across.labels[i]);
    }
    free(map->tiles);
}

/* Prints the map: values of x downwards and of y across. If the map fits the terminal only with swapped axes, they are
 * swapped; if it fits neither way, it is printed in several blocks. Returns an exit status. */
static int heat_map_print(const struct lineage_sweep *sweep, const char *x, const char *y, enum lineage_direction direction,
                          struct cli_screen *screen)
{
    struct range range;
    struct map map = {.screen = screen}, other = {.screen = screen};
    bool filled =
        range_of(&range, sweep, direction) && fill(&map, sweep, x, y, &range, false) && fill(&other, sweep, x, y, &range, true);
    /* The axes are swapped only if that avoids a second block; otherwise x stays where the user put it. */
    bool turn = filled && per_block(&map) < map.across.n && per_block(&other) == other.across.n;
    if (filled)
        print_map(turn ? &other : &map, screen);
    release(&map);
    release(&other);
    return filled ? CLI_OK : cli_no_memory();
}

/* ---- `lineage sweep`: prints which values of parameters were tried ---- */

/* A parameter may be a number in some trials and a text in others; each is printed as its own type. */
static void add_value(struct cli_list *list, double value, const char *text)
{
    char number[LINEAGE_NUMBER_MAX];
    if (text)
        cli_list_text(list, text);
    else
        cli_list_digits(list, lineage_setting_format(number, value));
}

static void fit(struct cli_list *list, bool pairs, struct cli_screen *screen)
{
    const struct cli_column_fit columns[] = {
        {.rank = 1, .least = 12}, {.rank = 2, .least = 12}, {.rank = 4}, {.rank = 3},
        {.rank = 5, .least = 12}, {.rank = 6, .least = 12},
    };
    const struct cli_column_fit single[] = {columns[0], columns[2], columns[3], columns[4], columns[5]};
    cli_list_fit(list, screen, pairs ? columns : single);
}

static int print_cells(const struct lineage_sweep *sweep, const char *x, const char *y, enum cli_format format,
                       struct cli_screen *screen)
{
    const char *columns[6] = {x,       y ? y : "trials", y ? "trials" : "best", y ? "best" : "best_id", y ? "best_id" : "labels",
                              "labels"};
    struct cli_list *list = cli_list_new(format, stdout, y ? 6 : 5, columns);
    char labels[CLI_LABELS_MAX];
    fit(list, y, screen);
    for (size_t i = 0; list && i < sweep->n_cells; i++) {
        const struct lineage_sweep_cell *cell = &sweep->cells[i];
        cli_labels_text(labels, cell->labels);
        add_value(list, cell->x, cell->x_text);
        if (y)
            add_value(list, cell->y, cell->y_text);
        cli_list_add(list, CLI_COUNT(cell->count), CLI_NUMBER(cell->best.value, cell->best.present));
        cli_list_style(list, cell->labels[LINEAGE_KEEP] + cell->labels[LINEAGE_BASELINE] ? CLI_KEPT : CLI_PLAIN, 0);
        cli_list_row(list, CLI_TEXT(cell->best_id), CLI_TEXT(labels));
    }
    return cli_list_finish(list);
}

/* The number 0 and the text "0" are different values. */
static bool is_value(double a, const char *a_text, double b, const char *b_text)
{
    return a_text && b_text ? strcmp(a_text, b_text) == 0 : !a_text && !b_text && a == b;
}

/* Whether cells[next] holds the i-th value of x and the j-th value of y. Cells are sorted by these values. */
static bool is_next(const struct lineage_sweep *sweep, size_t next, size_t i, size_t j)
{
    const struct lineage_sweep_cell *cell = &sweep->cells[next];
    return next < sweep->n_cells && is_value(cell->x, cell->x_text, sweep->xs[i], sweep->x_texts[i]) &&
           is_value(cell->y, cell->y_text, sweep->ys[j], sweep->y_texts[j]);
}

/* Prints the untried pairs: x and y were both tried, but not together. */
static void print_untried(FILE *out, const struct lineage_sweep *sweep, const char *x, const char *y)
{
    char a[LINEAGE_PARAM_QUOTED_MAX], b[LINEAGE_PARAM_QUOTED_MAX];
    size_t next = 0, shown = 0, untried = sweep->n_xs * sweep->n_ys - sweep->n_cells;
    if (!y || !untried || sweep->measured)
        return;
    fprintf(out, "untried (%zu):", untried);
    for (size_t i = 0; i < sweep->n_xs && shown < 20; i++)
        for (size_t j = 0; j < sweep->n_ys && shown < 20; j++)
            if (is_next(sweep, next, i, j)) {
                next++;
            } else {
                fprintf(out, "%s %s=%s %s=%s", shown ? "," : "", x, cli_value_text(a, sweep->xs[i], sweep->x_texts[i]), y,
                        cli_value_text(b, sweep->ys[j], sweep->y_texts[j]));
                shown++;
            }
    fputs(untried > shown ? ", ...\n" : "\n", out);
}

static json_t *value_json(double value, const char *text)
{
    return text ? cli_json_text(text) : cli_json_setting(value);
}

static json_t *cell_json(const struct lineage_sweep_cell *cell, const char *x, const char *y)
{
    json_t *object = json_object(), *labels = json_object();
    json_object_set_new(object, x, value_json(cell->x, cell->x_text));
    if (y)
        json_object_set_new(object, y, value_json(cell->y, cell->y_text));
    cli_json_set(object, "trials", json_integer((json_int_t)cell->count), "best",
                 cell->best.present ? cli_json_number(cell->best.value) : json_null(), "best_id",
                 cell->best_id ? cli_json_text(cell->best_id) : json_null(), NULL);
    for (int i = 0; i < LINEAGE_N_LABELS; i++)
        if (cell->labels[i])
            json_object_set_new(labels, lineage_label_name((enum lineage_label)i), json_integer((json_int_t)cell->labels[i]));
    json_object_set_new(object, "labels", labels);
    return object;
}

/* Lists all pairs, although people are shown only twenty, because a planner chooses from the list. */
static json_t *untried_json(const struct lineage_sweep *sweep, const char *x, const char *y)
{
    json_t *list = json_array();
    size_t next = 0;
    for (size_t i = 0; y && !sweep->measured && i < sweep->n_xs; i++)
        for (size_t j = 0; j < sweep->n_ys; j++)
            if (is_next(sweep, next, i, j))
                next++;
            else
                json_array_append_new(list, json_pack("{s:o, s:o}", x, value_json(sweep->xs[i], sweep->x_texts[i]), y,
                                                      value_json(sweep->ys[j], sweep->y_texts[j])));
    return list;
}

static int print_json(const struct lineage_sweep *sweep, const struct lineage_settings *settings, const char *x, const char *y)
{
    json_t *root = json_object(), *cells = json_array();
    for (size_t i = 0; i < sweep->n_cells; i++)
        json_array_append_new(cells, cell_json(&sweep->cells[i], x, y));
    cli_json_set(root, "cells", cells, "untried", untried_json(sweep, x, y), "without", json_integer((json_int_t)sweep->without),
                 "aborted", json_integer((json_int_t)sweep->aborted), "source",
                 settings ? cli_settings_sources_json(settings) : NULL, NULL);
    cli_json_print(stdout, root, true);
    json_decref(root);
    return CLI_OK;
}

static void print_remarks(FILE *out, const struct lineage_sweep *sweep, const char *x, const char *y)
{
    if (sweep->without)
        fprintf(out, "%zu trial%s without %s%s%s\n", sweep->without, sweep->without == 1 ? "" : "s", x, y ? " or " : "",
                y ? y : "");
    if (sweep->aborted)
        fprintf(out, "%zu trial%s with harness_abort left out\n", sweep->aborted, sweep->aborted == 1 ? "" : "s");
}

/* Prints the remarks below the table. On a terminal a remark may take several lines, and the list of untried pairs is
 * omitted, because the map shows them. */
static void print_below(const struct cli_screen *screen, const struct lineage_sweep *sweep, const char *x, const char *y,
                        const struct lineage_settings *settings, bool untried)
{
    char *text = NULL, *rest, *line;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return;
    if (untried)
        print_untried(out, sweep, x, y);
    print_remarks(out, sweep, x, y);
    cli_settings_explain(out, settings, "");
    if (fclose(out) == 0)
        for (rest = text; (line = strsep(&rest, "\n")) && *line;)
            display_wrapped(stdout, line, screen->terminal ? screen->width : SIZE_MAX);
    free(text);
}

/* Draws the map only if no format was asked for. */
static int print_sweep(struct cli_session *session, const struct lineage_sweep *sweep, const char *x, const char *y)
{
    const struct lineage_settings *settings = lineage_store_settings(session->store);
    if (session->format == CLI_JSON)
        return print_json(sweep, settings, x, y);
    if (cli_format_is_rows(session->format))
        return print_cells(sweep, x, y, session->format, &session->screen);
    bool map = session->screen.terminal && !session->format_text && y && heat_map_suits(sweep);
    int status = map ? heat_map_print(sweep, x, y, lineage_store_config(session->store)->direction, &session->screen)
                     : print_cells(sweep, x, y, CLI_TABLE, &session->screen);
    print_below(&session->screen, sweep, x, y, settings, !map);
    return status;
}

static int work(struct cli_session *session, void *context)
{
    struct lineage_sweep sweep;
    struct lineage_error err;
    const char *x = session->args.positional[0];
    const char *y = session->args.n_positional > 1 ? session->args.positional[1] : NULL;
    (void)context;
    enum lineage_status found = lineage_sweep_load(session->store, x, y, &sweep, &err);
    if (found != LINEAGE_OK)
        return found == LINEAGE_ENOTFOUND ? cli_error(CLI_NO, "%s", err.text) : cli_fail(&err);
    int status = print_sweep(session, &sweep, x, y);
    lineage_sweep_release(&sweep);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&session), CLI_SCREEN_OPTIONS(&session.screen), POPT_TABLEEND};
    return cli_on_store(&session, command, options, 1, 2, argc, argv, work, NULL);
}

const struct cli_command cmd_sweep = {
    .name = "sweep",
    .arguments = "PARAMETER [PARAMETER]",
    .description = "Prints one line per value, or per pair of values: the number of trials, the best score\n"
                   "among kept, discarded and baseline trials, and the labels. For two parameters, pairs "
                   "that\n"
                   "were not tried although both values were are listed. Trials with harness_abort are left\n"
                   "out. Exit status 1 if no trial has the parameters. A name that no trial declares as a\n"
                   "parameter is looked up among the settings that trials changed in words. A metric or a\n"
                   "numeric extra column can replace a parameter; untried pairs are then not listed.\n"
                   "\n"
                   "On a terminal, two parameters are shown as a heat map: a tile for each pair, shaded by its\n"
                   "best score. --format table prints a list instead.",
    .examples = "  lineage sweep alpha\n  lineage sweep alpha gamma --format json\n"
                "  lineage sweep optimizer alpha",
    .run = run,
};
