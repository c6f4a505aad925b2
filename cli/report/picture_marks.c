/*
 * picture_marks.c: writes the marks of trials in a picture, and their density where a class has too many of them; see
 * picture.h.
 *
 * The density of dots is the number of dots in each square of CELL units. That of lines is the number of lines between
 * two places of neighbouring axes, each rounded to BAND units. Both are written as one path for each of four steps of
 * density, so the size of the picture depends on its area and not on the number of trials.
 */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/picture.h"

enum {
    CELL = 4,
    CELLS_X = 256,
    CELLS_Y = 1024,
    BAND = 12,
    BANDS = 32,
    POINTS_MAX = 12, /* points of a line */
    STEPS = 4,
    SEGMENT = 320 /* bytes of the longest segment */
};

struct density {
    uint32_t cells[CELLS_X * CELLS_Y];
    uint32_t lines[POINTS_MAX][BANDS][BANDS]; /* [axis][band there][band at the next axis] */
    double x[POINTS_MAX]; /* the axes */
    size_t n_points;
};

static size_t clamp(double value, size_t size, size_t n)
{
    double at = floor(value / (double)size);
    return at < 0 ? 0 : at >= (double)n ? n - 1 : (size_t)at;
}

/* Reads the points of "M10 20L30 40"; a dot has one. */
static size_t read_points(double x[POINTS_MAX], double y[POINTS_MAX], const char *segment)
{
    size_t n = 0;
    char *end;
    while (n < POINTS_MAX && (*segment == 'M' || *segment == 'L')) {
        x[n] = strtod(segment + 1, &end);
        y[n++] = strtod(end, &end);
        segment = end;
        /* the small l of a cross or of a triangle ends the loop */
    }
    return n;
}

static void add_density(struct density *density, const char *segment)
{
    double x[POINTS_MAX], y[POINTS_MAX];
    size_t n = read_points(x, y, segment);
    double middle = strstr(segment, "l5 5") ? 2.5 : 0; /* a cross begins at its corner */
    if (n == 1)
        density->cells[clamp(y[0] + middle, CELL, CELLS_Y) * CELLS_X + clamp(x[0] + middle, CELL, CELLS_X)]++;
    for (size_t k = 1; k < n; k++)
        density->lines[k - 1][clamp(y[k - 1], BAND, BANDS)][clamp(y[k], BAND, BANDS)]++;
    if (n > density->n_points) {
        density->n_points = n;
        memcpy(density->x, x, n * sizeof *x);
    }
}

/* The steps are logarithmic, because a few squares hold most of the trials. */
static int step_of(uint32_t count, uint32_t most)
{
    if (!count)
        return -1;
    return most > 1 ? (int)fmin(STEPS - 1, floor(STEPS * log((double)count) / log((double)most))) : STEPS - 1;
}

static uint32_t largest(const uint32_t *counts, size_t n)
{
    uint32_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = counts[i] > most ? counts[i] : most;
    return most;
}

static void draw_cells(FILE *out, const struct density *density, int step, uint32_t most)
{
    for (size_t y = 0; y < CELLS_Y; y++)
        for (size_t x = 0; x < CELLS_X; x++)
            if (step_of(density->cells[y * CELLS_X + x], most) == step)
                fprintf(out, "M%zu %zuh4v4h-4z", x * CELL, y * CELL);
}

static void draw_bands(FILE *out, const struct density *density, int step, uint32_t most)
{
    for (size_t k = 0; k + 1 < density->n_points; k++)
        for (size_t a = 0; a < BANDS; a++)
            for (size_t b = 0; b < BANDS; b++)
                if (step_of(density->lines[k][a][b], most) == step)
                    fprintf(out, "M%.4g %zuL%.4g %zu", density->x[k], a * BAND + BAND / 2, density->x[k + 1],
                            b * BAND + BAND / 2);
}

static void draw_density(const struct marks *marks)
{
    const struct density *density = marks->density;
    uint32_t cells = largest(density->cells, CELLS_X * CELLS_Y),
             lines = largest(&density->lines[0][0][0], POINTS_MAX * BANDS * BANDS);
    for (int step = 0; step < STEPS; step++) {
        fprintf(marks->picture->out, "<path class=\"density %s d%d\" d=\"", marks->class, step + 1);
        if (cells)
            draw_cells(marks->picture->out, density, step, cells);
        else
            draw_bands(marks->picture->out, density, step, lines);
        fputs("\"/>\n", marks->picture->out);
    }
}

/* Uses two streams in memory, one for the indices and one for the path: the indices are printed first, but both are
 * complete only when all marks are drawn. */
bool marks_begin(struct marks *marks, const struct picture *p, const char *class, size_t total)
{
    *marks = (struct marks){.picture = p, .class = class};
    if (total <= PICTURE_TITLES && !p->narrow)
        return true;
    marks->density = calloc(1, sizeof *marks->density);
    marks->index = open_memstream(&marks->index_text, &marks->index_length);
    marks->path = open_memstream(&marks->path_text, &marks->path_length);
    return marks->density && marks->index && marks->path;
}

void marks_add(struct marks *marks, size_t i, const char *stretch, ...)
{
    FILE *out = marks->picture->out;
    char segment[SEGMENT];
    va_list args;
    va_start(args, stretch);
    vsnprintf(segment, sizeof segment, stretch, args);
    va_end(args);
    marks->n++;
    if (marks->density) {
        fprintf(marks->index, " %zu", i);
        fputs(segment, marks->path);
        add_density(marks->density, segment);
        return;
    }
    fprintf(out, "<path class=\"m %s\" data-i=\"%zu\" d=\"%s\"><title>", marks->class, i, segment);
    trial_title(out, marks->picture->model, &marks->picture->model->trials[i]);
    fputs("</title></path>\n", out);
}

/* Without memory for a stream its marks are missing, but the page is valid. A separate picture has no script, so it
 * needs no indices, and a narrow one beside a wide one shows densities only. */
void marks_end(struct marks *marks)
{
    FILE *out = marks->picture->out;
    bool closed = !marks->index || fclose(marks->index) == 0;
    closed = (!marks->path || fclose(marks->path) == 0) && closed;
    bool dense = marks->n > PICTURE_DENSE && (!marks->picture->narrow || marks->picture->model->n > PICTURE_TITLES);
    if (marks->n && closed && marks->index_text && marks->path_text) {
        if (dense)
            draw_density(marks);
        if (!dense || !(marks->picture->alone || marks->picture->narrow))
            fprintf(out, "<path class=\"m %s\" data-i=\"%s\" %s=\"%s\"/>\n", marks->class, marks->index_text + 1,
                    dense ? "data-d" : "d", marks->path_text);
    }
    free(marks->index_text);
    free(marks->path_text);
    free(marks->density);
}
