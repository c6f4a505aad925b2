/* heat_map.c: draws the coverage of two parameters as a heat map. */
#include "output/heat_map.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>
#include <lineage/text.h>

#include "output/display_width.h"

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

bool heat_map_suits(const struct lineage_sweep *sweep)
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

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
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
        qsort(scores, n, sizeof *scores, by_value);
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

int heat_map_print(const struct lineage_sweep *sweep, const char *x, const char *y, enum lineage_direction direction,
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
