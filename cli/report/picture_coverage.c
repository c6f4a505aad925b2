/*
 * picture_coverage.c: coverage of two parameters: best score, number of trials and failures, and what was not tried.
 * Empty cells are drawn like the others, because they are what a reader looks for.
 */

#include "report/picture.h"
#include "report/report_axes.h"

enum { CLASSES = 10, PAIRS_AXES = 7, LEFT = 96, TOP = 30, CELL_H = 40 };

struct cell {
    size_t n, failed, best; /* best: index, or MODEL_NONE */
};

struct grid {
    const struct picture *p;
    const struct model_axis *x, *y;
    double x_edge[CLASSES], y_edge[CLASSES];
    size_t nx, ny;
    struct cell cells[CLASSES * CLASSES];
    double low, high; /* of the cells' best scores, without outliers */
    size_t untried;
};

/* One score far from the others would give all others one colour, so the scale ends at Tukey's fences (1977): 1.5 times the
 * distance of the quartiles beyond them. */
static void set_scale(struct grid *g)
{
    double scores[CLASSES * CLASSES];
    size_t n = 0;
    for (size_t c = 0; c < g->nx * g->ny; c++)
        if (g->cells[c].best != MODEL_NONE)
            scores[n++] = g->p->model->trials[g->cells[c].best].score.value;
    qsort(scores, n, sizeof *scores, cli_by_number);
    if (!n)
        return;
    double first = scores[n / 4], third = scores[n - 1 - n / 4], fence = 1.5 * (third - first);
    g->low = scores[0];
    g->high = scores[n - 1];
    if (fence > 0) {
        g->low = fmax(g->low, first - fence);
        g->high = fmin(g->high, third + fence);
    }
}

/* Failures count as tried: a cell in which everything crashed is known, not empty. */
static void fill(struct grid *g)
{
    const struct model *model = g->p->model;
    for (size_t c = 0; c < CLASSES * CLASSES; c++)
        g->cells[c].best = MODEL_NONE;
    for (size_t i = 0; i < model->n; i++) {
        const struct model_trial *trial = &model->trials[i];
        if (isnan(g->x->value[i]) || isnan(g->y->value[i]))
            continue;
        struct cell *cell =
            &g->cells[axis_class(g->y_edge, g->ny, g->y->value[i]) * g->nx + axis_class(g->x_edge, g->nx, g->x->value[i])];
        cell->n++;
        cell->failed += !trial->measured;
        if (trial->measured &&
            (cell->best == MODEL_NONE || model_gain(model, trial->score.value, model->trials[cell->best].score.value) > 0))
            cell->best = i;
    }
    for (size_t c = 0; c < g->nx * g->ny; c++)
        g->untried += g->cells[c].n == 0;
    set_scale(g);
}

/* Returns one of five steps from worst to best. */
static int heat_of(const struct grid *g, const struct cell *cell)
{
    if (cell->best == MODEL_NONE)
        return -1;
    double score = g->p->model->trials[cell->best].score.value;
    double part = g->high > g->low ? (score - g->low) / (g->high - g->low) : 1;
    /* A hotter colour means a better score in either direction. */
    if (g->p->model->direction != LINEAGE_HIGHER)
        part = g->high > g->low ? 1 - part : 1;
    return (int)fmax(0, fmin(4, floor(part * 5)));
}

/* A bin that holds one value is labelled with that value; only a range has two ends. */
static void edge_text(FILE *out, const struct model_axis *axis, const double *edge, size_t n, size_t i)
{
    char from[PICTURE_NUMBER], to[PICTURE_NUMBER];
    if (axis->words) {
        html_text(out, axis->words[(size_t)edge[i]], 14);
        return;
    }
    fputs(number_text(from, edge[i], 4), out);
    if (axis->n_distinct > n && i + 1 < n)
        fprintf(out, "–%s", number_text(to, edge[i + 1], 4));
    else if (axis->n_distinct > n)
        fprintf(out, "–%s", number_text(to, axis->high, 4));
}

static void draw_cell(const struct grid *g, size_t ix, size_t iy, double width)
{
    const struct cell *cell = &g->cells[iy * g->nx + ix];
    FILE *out = g->p->out;
    /* The first row is at the bottom, because numbers increase upwards. */
    double x = LEFT + (double)ix * width, y = TOP + (double)(g->ny - 1 - iy) * CELL_H;
    char score[PICTURE_NUMBER];
    int heat = heat_of(g, cell);
    if (heat >= 0)
        fprintf(out, "<g class=\"cell heat%d\"", heat);
    else
        fprintf(out, "<g class=\"cell %s\"", cell->n ? "failed" : "untried");
    if (cell->best != MODEL_NONE)
        fprintf(out, " data-n=\"%zu\"", cell->best);
    fprintf(out, "><rect x=\"%.5g\" y=\"%.5g\" width=\"%.5g\" height=\"%d\"/>", x + 1, y + 1, width - 2, CELL_H - 2);
    if (cell->n) {
        fprintf(out, "<text class=\"mid\" x=\"%.5g\" y=\"%.5g\">%s</text>", x + width / 2, y + 18,
                cell->best == MODEL_NONE ? "–" : score_text(score, &g->p->model->trials[cell->best]));
        fprintf(out, "<text class=\"mid few\" x=\"%.5g\" y=\"%.5g\">%zu", x + width / 2, y + 32, cell->n);
        if (cell->failed)
            fprintf(out, " ×%zu", cell->failed);
        fputs("</text>", out);
    }
    html_print(out, "<title>%.40s ", g->x->name);
    edge_text(out, g->x, g->x_edge, g->nx, ix);
    html_print(out, ", %.40s ", g->y->name);
    edge_text(out, g->y, g->y_edge, g->ny, iy);
    if (cell->n)
        fprintf(out, ": %zu trial%s, %zu failed", cell->n, cell->n == 1 ? "" : "s", cell->failed);
    else
        fputs(": not tried", out);
    if (cell->best != MODEL_NONE)
        html_print(out, ", best %.40s", g->p->model->trials[cell->best].id);
    fputs("</title></g>\n", out);
}

static void draw_edges(const struct grid *g, double width)
{
    FILE *out = g->p->out;
    for (size_t i = 0; i < g->nx; i++) {
        fprintf(out, "<text class=\"tick mid\" x=\"%.5g\" y=\"%zu\">", LEFT + ((double)i + 0.5) * width,
                TOP + g->ny * CELL_H + 16);
        edge_text(out, g->x, g->x_edge, g->nx, i);
        fputs("</text>", out);
    }
    for (size_t i = 0; i < g->ny; i++) {
        fprintf(out, "<text class=\"tick end\" x=\"%d\" y=\"%zu\">", LEFT - 8, TOP + (g->ny - 1 - i) * CELL_H + 24);
        edge_text(out, g->y, g->y_edge, g->ny, i);
        fputs("</text>", out);
    }
    picture_words(g->p, LEFT - 8, TOP - 12, "axis end", "%.24s", g->y->name);
    picture_words(g->p, LEFT + (double)g->nx * width, TOP + (double)g->ny * CELL_H + 34, "axis end", "%.40s", g->x->name);
}

/* Prints one pair of parameters; x and y are indices into model->axes. */
static void picture_pair(const struct picture *p, size_t x, size_t y)
{
    struct grid *g = calloc(1, sizeof *g);
    if (!g)
        return;
    *g = (struct grid){.p = p, .x = &p->model->axes[x], .y = &p->model->axes[y]};
    g->nx = axis_classes(p->model, g->x, CLASSES, g->x_edge);
    g->ny = axis_classes(p->model, g->y, CLASSES, g->y_edge);
    if (g->nx && g->ny) {
        char name[64];
        /* At most 120 units: two bins over the whole width would be two walls of colour. */
        double width = fmin(120, (984.0 - LEFT) / (double)g->nx);
        fill(g);
        snprintf(name, sizeof name, "coverage-%zu-%zu", x, y);
        picture_begin(p, name, 1000, (double)(TOP + g->ny * CELL_H + 44), "Coverage of two parameters",
                      "%zu of %zu combinations of values were not tried.", g->untried, g->nx * g->ny);
        for (size_t iy = 0; iy < g->ny; iy++)
            for (size_t ix = 0; ix < g->nx; ix++)
                draw_cell(g, ix, iy, width);
        draw_edges(g, width);
        picture_end(p);
    }
    free(g);
}

static bool find_axis(const struct model *model, const char *name, size_t *at)
{
    for (*at = 0; *at < model->n_axes; ++*at)
        if (strcmp(model->axes[*at].name, name) == 0)
            return true;
    return false;
}

/* Chooses the pair of a separate picture: alpha and gamma if both vary. Returns false if fewer than two parameters vary. */
static bool coverage_first_pair(const struct model *model, size_t *x, size_t *y)
{
    *x = 0;
    *y = 1;
    return (find_axis(model, "alpha", x) && find_axis(model, "gamma", y)) || (*x = 0, *y = 1, model->n_axes > 1);
}

/* Each pair is a figure of its own, and the script shows one at a time. */
static void page_pair(const struct picture *p, size_t x, size_t y, bool first)
{
    html_print(p->out,
               "<figure class=\"pair%s\" data-x=\"%zu\" data-y=\"%zu\"><figcaption>%.60s × %.60s</figcaption>" HTML_SCROLL,
               first ? " shown" : "", x, y, p->model->axes[x].name, p->model->axes[y].name);
    picture_pair(p, x, y);
    fputs("</div></figure>\n", p->out);
}

void picture_coverage(const struct picture *p)
{
    const struct model *model = p->model;
    size_t x, y, n = model->n_axes < PAIRS_AXES ? model->n_axes : PAIRS_AXES;
    if (!coverage_first_pair(model, &x, &y)) {
        picture_nothing(
            p, "coverage",
            "Fewer than two parameters vary. Parameters are numbers such as alpha=0.3 in notes, or options of lineage append.");
        return;
    }
    if (p->alone) {
        picture_pair(p, x, y);
        return;
    }
    page_pair(p, x, y, true);
    /* Inside <details>, because 7 axes make 21 pairs, and a reader wants one or two. */
    if (n > 2)
        fputs("<details class=\"pairs\"><summary>Other pairs</summary>\n", p->out);
    for (size_t i = 0; n > 2 && i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            if (i != x || j != y)
                page_pair(p, i, j, false);
    if (n > 2)
        fputs("</details>\n", p->out);
}
