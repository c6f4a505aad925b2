/*
 * picture_knobs.c: draws the history of the settings that most trials changed, one small chart for each: the values over
 * the trials in the order of the log. All charts share the horizontal scale, so that a reader sees which settings were
 * worked on at the same time. A setting whose values are mostly texts has a line for each text.
 */

#include "report/picture.h"

enum {
    KNOBS_MAX = 12,
    TRIES_LEAST = 2, /* a setting that was changed once has no history */
    CELL_WIDTH = 333, /* three beside each other, one in a narrow window */
    CELL_HEIGHT = 144,
    PLOT_LEFT = 72,
    PLOT_TOP = 44,
    PLOT_FOOT = 112,
    LINES_MAX = 5,     /* lines for texts; the last one holds all other texts */
    TITLES_TOTAL = 600 /* with more marks in all charts, marks have no titles of their own */
};

struct chart {
    const struct picture *p;
    const struct lineage_knob *knob;
    double x, y;  /* top left corner */
    bool numbers; /* else a line for each text */
    bool log;
    double low, high;
    const char *lines[LINES_MAX];
    size_t n_lines;
    size_t left_out; /* tries whose value is a text, in a chart of numbers */
};

static bool is_number(const struct lineage_change *change)
{
    return change->to_value.present && isfinite(change->to_value.value);
}

/* Returns the index of the trial in the model, or MODEL_NONE if it was appended after the model was loaded. */
static size_t trial_of(const struct chart *c, size_t try)
{
    return c->p->model->of_idea[c->knob->tries[try].trial];
}

static void find_range(struct chart *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->knob->n_tries; i++) {
        const struct lineage_change *change = c->knob->tries[i].change;
        if (!is_number(change))
            continue;
        c->low = n ? fmin(c->low, change->to_value.value) : change->to_value.value;
        c->high = n ? fmax(c->high, change->to_value.value) : change->to_value.value;
        n++;
    }
    c->numbers = n * 2 >= c->knob->n;
    c->left_out = c->numbers ? c->knob->n - n : 0;
    c->log = c->low > 0 && c->high / c->low >= 30;
}

static void find_lines(struct chart *c)
{
    for (size_t i = 0; i < c->knob->n_tries; i++) {
        const char *text = c->knob->tries[i].change->to;
        size_t line = 0;
        while (line < c->n_lines && strcmp(c->lines[line], text) != 0)
            line++;
        if (line == c->n_lines && c->n_lines < LINES_MAX)
            c->lines[c->n_lines++] = text;
        else if (line == c->n_lines)
            c->lines[LINES_MAX - 1] = "other";
    }
}

static double line_y(const struct chart *c, size_t line)
{
    double step = c->n_lines > 1 ? (double)(PLOT_FOOT - PLOT_TOP) / (double)(c->n_lines - 1) : 0;
    return c->y + PLOT_TOP + (double)line * step;
}

/* The halves of two huge numbers have a finite difference even if the numbers do not. */
static double number_y(const struct chart *c, double value)
{
    double low = c->log ? log10(c->low) : c->low / 2, high = c->log ? log10(c->high) : c->high / 2;
    double at = c->log ? log10(value) : value / 2, part = high > low ? (at - low) / (high - low) : 0.5;
    return c->y + PLOT_FOOT - part * (PLOT_FOOT - PLOT_TOP);
}

static double try_y(const struct chart *c, const struct lineage_change *change)
{
    size_t line = 0;
    if (c->numbers)
        return number_y(c, change->to_value.value);
    while (line + 1 < c->n_lines && strcmp(c->lines[line], change->to) != 0)
        line++;
    return line_y(c, line);
}

static double trial_x(const struct chart *c, size_t i)
{
    size_t n = c->p->model->n;
    double part = n > 1 ? (double)i / (double)(n - 1) : 0.5;
    return c->x + PLOT_LEFT + part * (CELL_WIDTH - PLOT_LEFT - 24);
}

static void draw_axes(const struct chart *c)
{
    char text[PICTURE_NUMBER];
    double left = c->x + PLOT_LEFT - 8, right = c->x + CELL_WIDTH - 16;
    for (size_t i = 0; !c->numbers && i < c->n_lines; i++) {
        picture_line(c->p, left, line_y(c, i), right, line_y(c, i), "grid");
        picture_words(c->p, left - 6, line_y(c, i) + 4, "tick end", "%.8s", c->lines[i]);
    }
    for (int end = 0; c->numbers && end < (c->high > c->low ? 2 : 1); end++) {
        double value = end ? c->high : c->low, y = number_y(c, value);
        picture_line(c->p, left, y, right, y, "grid");
        picture_words(c->p, left - 6, y + 4, "tick end", "%s",
                      lineage_mean_text(text, value, c->high > c->low ? c->high - c->low : (double)NAN));
    }
    picture_words(c->p, c->x + PLOT_LEFT, c->y + PLOT_FOOT + 20, "small quiet", "trial 1");
    picture_words(c->p, c->x + CELL_WIDTH - 24, c->y + PLOT_FOOT + 20, "small quiet end", "%zu", c->p->model->n);
}

static void draw_name(const struct chart *c)
{
    const struct lineage_knob *k = c->knob;
    char in_words[160] = "";
    size_t n = 0;
    picture_words(c->p, c->x + 8, c->y + 14, "strong", "%.40s", k->name);
    if (k->up)
        n = (size_t)snprintf(in_words, sizeof in_words, "raised: %zu of %zu kept", k->up_kept, k->up);
    if (k->down)
        n += (size_t)snprintf(in_words + n, sizeof in_words - n, "%slowered: %zu of %zu kept", n ? ", " : "", k->down_kept,
                              k->down);
    if (c->left_out)
        n += (size_t)snprintf(in_words + n, sizeof in_words - n, "%s%zu texts", n ? ", " : "", c->left_out);
    if (!n)
        n = (size_t)snprintf(in_words, sizeof in_words, "%zu tries", k->n);
    if (c->numbers && c->log)
        snprintf(in_words + n, sizeof in_words - n, ", log scale");
    picture_words(c->p, c->x + 8, c->y + 30, "small quiet", "%s", in_words);
}

/* The value in force for the best trial, if it is a number inside the chart. */
static void draw_value(const struct chart *c)
{
    double value;
    if (!c->numbers || !c->knob->value || !lineage_quantity_parse(&value, c->knob->value, strlen(c->knob->value)) ||
        !(value >= c->low && value <= c->high))
        return;
    double y = number_y(c, value);
    picture_line(c->p, c->x + PLOT_LEFT - 8, y, c->x + CELL_WIDTH - 16, y, "force");
}

/* Kept trials are drawn last, so that they are on top. */
static void draw_tries(const struct chart *c, size_t total)
{
    static const char *const kinds[] = {"discard", "fail", "baseline", "keep"};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        struct marks marks;
        char class[24];
        bool fail = strcmp(kinds[kind], "fail") == 0;
        snprintf(class, sizeof class, "%s %s", fail ? "cross" : "dot", kinds[kind]);
        if (marks_begin(&marks, c->p, class, total > TITLES_TOTAL ? PICTURE_TITLES + 1 : total))
            for (size_t i = 0; i < c->knob->n_tries; i++) {
                const struct lineage_change *change = c->knob->tries[i].change;
                size_t trial = trial_of(c, i);
                if (trial == MODEL_NONE || (c->numbers && !is_number(change)) ||
                    strcmp(outcome_class(c->p->model->trials[trial].label), kinds[kind]) != 0)
                    continue;
                marks_add(&marks, trial, fail ? MARK_CROSS : MARK_DOT, trial_x(c, trial), try_y(c, change));
            }
        marks_end(&marks);
    }
}

/* Returns the number of charts, and how many values they have in total. */
static size_t shown_knobs(const struct model *model, size_t *total)
{
    const struct lineage_knobs *knobs = &model->knobs;
    size_t n = 0;
    *total = 0;
    while (n < knobs->n && n < KNOBS_MAX && knobs->items[n].n >= TRIES_LEAST) /* most tries first */
        *total += knobs->items[n++].n;
    return n;
}

/* The facts of the charts as text, for readers who cannot see them. */
void knobs_table(const struct picture *p)
{
    FILE *out = p->out;
    size_t n = shown_knobs(p->model, &(size_t){0});
    if (!n)
        return;
    fputs(HTML_SCROLL "<table><thead><tr><th scope=\"col\">setting</th><th scope=\"col\">in force for the best</th><th "
                      "scope=\"col\">set by</th>"
                      "<th scope=\"col\" class=\"n\">tries</th><th scope=\"col\" class=\"n\">kept when raised</th>"
                      "<th scope=\"col\" class=\"n\">kept when lowered</th></tr></thead><tbody>\n",
          out);
    for (size_t i = 0; i < n; i++) {
        const struct lineage_knob *k = &p->model->knobs.items[i];
        size_t set_by = k->set_by == SIZE_MAX ? MODEL_NONE : p->model->of_idea[k->set_by];
        html_print(out, "<tr><th scope=\"row\">%.60s</th><td>%.60s</td><td>", k->name, k->value ? k->value : "not known");
        picture_trial_link(p, set_by);
        fprintf(out, "</td><td class=\"n\">%zu</td><td class=\"n\">%zu of %zu</td><td class=\"n\">%zu of %zu</td></tr>\n", k->n,
                k->up_kept, k->up, k->down_kept, k->down);
    }
    fputs("</tbody></table></div>\n", out);
}

void picture_knobs(const struct picture *p)
{
    const struct lineage_knobs *knobs = &p->model->knobs;
    size_t total, n = shown_knobs(p->model, &total);
    if (!n) {
        picture_nothing(p, "knobs", "No setting was changed by two trials, in a parameter, in the program or in words.");
        return;
    }
    size_t columns = (size_t)picture_width(p) / CELL_WIDTH;
    picture_begin(p, "knobs", (double)(columns * CELL_WIDTH), (double)((n + columns - 1) / columns * CELL_HEIGHT),
                  "History of the settings", "A chart for each of %zu settings of %zu: %zu values over %zu trials.", n, knobs->n,
                  total, p->model->n);
    for (size_t i = 0; i < n; i++) {
        struct chart chart = {
            .p = p, .knob = &knobs->items[i], .x = (double)(i % columns * CELL_WIDTH), .y = (double)(i / columns * CELL_HEIGHT)};
        find_range(&chart);
        if (!chart.numbers)
            find_lines(&chart);
        draw_name(&chart);
        draw_axes(&chart);
        draw_value(&chart);
        draw_tries(&chart, total);
    }
    picture_end(p);
}
