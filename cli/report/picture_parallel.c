/*
 * picture_parallel.c: parallel coordinates over the parameters that vary, the score last. It is the only picture that
 * shows more than two parameters at once. Selections on its axes filter the table and the tree.
 */

#include "report/picture.h"
#include "report/report_axes.h"

enum { TOP = 58, FOOT = 332, NO_VALUE = 364, SHOWN = 9, SHOWN_NARROW = 4 };

struct parallel {
    const struct picture *p;
    size_t n; /* number of axes without the score */
    int left, right;
    struct scale score;
};

static double x_of(const struct parallel *c, size_t axis)
{
    return c->left + (double)(c->right - c->left) * (double)axis / (double)c->n;
}

/*
 * Hundreds of trials with a handful of values would look like a handful of lines, so each line is shifted by up to 5
 * units that depend on the trial.
 */
static double apart(const struct parallel *c, size_t axis, size_t i)
{
    enum { FEW = 24, STEPS = 21 };
    uint32_t mixed = ((uint32_t)i + 1) * 2654435761u ^ ((uint32_t)axis + 1) * 2246822519u;
    if (c->p->model->n < 40 || c->p->model->axes[axis].n_distinct > FEW)
        return 0;
    return ((double)((mixed >> 8) % STEPS) - STEPS / 2) * 0.5;
}

/* A missing value is drawn on a separate line below the axes; at 0 it would look like a value. */
static double y_of(const struct parallel *c, size_t axis, size_t i)
{
    double value = c->p->model->axes[axis].value[i];
    if (isnan(value))
        return NO_VALUE;
    return FOOT - (FOOT - TOP) * axis_place(&c->p->model->axes[axis], value) + apart(c, axis, i);
}

static double score_y(const struct parallel *c, size_t i)
{
    const struct model_trial *trial = &c->p->model->trials[i];
    return trial->measured ? scale_at(&c->score, trial->score.value) : NO_VALUE;
}

/* A trial without any of the parameters gets no line. */
static bool has_any(const struct parallel *c, size_t i)
{
    for (size_t axis = 0; axis < c->n; axis++)
        if (!isnan(c->p->model->axes[axis].value[i]))
            return true;
    return false;
}

_Static_assert(SHOWN + 1 <= MARK_POINTS, "a line has a point on each axis and on that of the score");

static void add_line(const struct parallel *c, struct marks *marks, size_t i)
{
    double x[MARK_POINTS], y[MARK_POINTS];
    for (size_t axis = 0; axis < c->n; axis++) {
        x[axis] = x_of(c, axis);
        y[axis] = y_of(c, axis, i);
    }
    x[c->n] = c->right;
    y[c->n] = score_y(c, i);
    marks_add_line(marks, i, x, y, c->n + 1);
}

static void draw_lines(const struct parallel *c, const char *kind)
{
    struct marks marks;
    char class[32];
    bool drawn[MODEL_LABELS];
    for (int label = 0; label < MODEL_LABELS; label++)
        drawn[label] = strcmp(outcome_class((enum lineage_label)label), kind) == 0;
    snprintf(class, sizeof class, "thread %s", kind);
    if (marks_begin(&marks, c->p, class, c->p->model->n))
        for (size_t i = 0; i < c->p->model->n; i++)
            if (drawn[c->p->model->trials[i].label] && has_any(c, i))
                add_line(c, &marks, i);
    marks_end(&marks);
}

/* data-axis and the two values let the script turn a selection into a condition. */
static void draw_axis(const struct parallel *c, size_t axis)
{
    const struct model_axis *a = &c->p->model->axes[axis];
    char text[PICTURE_NUMBER];
    double x = x_of(c, axis);
    picture_words(c->p, x, axis % 2 ? TOP - 40 : TOP - 24, "axis mid", "%.*s", c->p->narrow ? 14 : 22, a->name);
    for (size_t w = 0; a->words && w < a->n_distinct; w++)
        picture_words(c->p, x + 6, FOOT - (FOOT - TOP) * axis_place(a, (double)w) + 4, "tick halo", "%.14s", a->words[w]);
    if (!a->words) {
        picture_words(c->p, x, TOP - 8, "tick mid halo", "%s", number_text(text, a->high, 4));
        picture_words(c->p, x, FOOT + 16, "tick mid halo", "%s", number_text(text, a->low, 4));
    }
    fprintf(c->p->out, "<g class=\"rail\" data-axis=\"%zu\" data-x=\"%.5g\" data-top=\"%d\" data-foot=\"%d\">", axis, x, TOP,
            FOOT);
    picture_line(c->p, x, TOP, x, FOOT, "rail");
    fprintf(c->p->out, "<rect class=\"grip\" x=\"%.5g\" y=\"%d\" width=\"32\" height=\"%d\"/></g>\n", x - 16, TOP - 8,
            FOOT - TOP + 16);
}

/* The attributes have 17 digits, because the script converts a selection back to scores and compares them with the
 * data. */
static void draw_score_axis(const struct parallel *c)
{
    char text[PICTURE_NUMBER];
    picture_words(c->p, c->right, TOP - (c->n % 2 ? 40 : 24), "axis mid strong", "%.*s", c->p->narrow ? 14 : 22,
                  c->p->model->metric);
    for (double value = c->score.low; value < c->score.high + c->score.step / 2 && c->score.step > 0; value += c->score.step)
        picture_words(c->p, c->right + 6, scale_at(&c->score, value) + 4, "tick", "%s",
                      lineage_mean_text(text, fabs(value) < c->score.step * 1e-9 ? 0 : value, c->score.step));
    fprintf(c->p->out,
            "<g class=\"rail\" data-axis=\"score\" data-x=\"%d\" data-top=\"%d\" data-foot=\"%d\" data-low=\"%.17g\" "
            "data-high=\"%.17g\">",
            c->right, TOP, FOOT, c->score.low, c->score.high);
    picture_line(c->p, c->right, TOP, c->right, FOOT, "rail");
    fprintf(c->p->out, "<rect class=\"grip\" x=\"%d\" y=\"%d\" width=\"32\" height=\"%d\"/></g>\n", c->right - 16, TOP - 8,
            FOOT - TOP + 16);
}

void picture_parallel(const struct picture *p)
{
    static const char *const kinds[] = {"fail", "discard", "baseline", "keep"};
    struct parallel c = {.p = p, .left = p->narrow ? 44 : 70, .right = picture_width(p) - (p->narrow ? 60 : 70)};
    size_t most = p->narrow ? SHOWN_NARROW : SHOWN;
    c.n = p->model->n_axes < most ? p->model->n_axes : most;
    double low = 0, high = 1;
    if (!c.n) {
        picture_nothing(p, "parallel",
                        "No parameter varies. Parameters are numbers such as alpha=0.3 in notes, or options of lineage append.");
        return;
    }
    score_range(p->model, 0, &low, &high);
    c.score = scale_linear(low, high, FOOT, TOP, 5);
    picture_begin(p, "parallel", picture_width(p), NO_VALUE + 16, "Parameters of all trials",
                  "A line for each trial through %zu parameter%s and its score.", c.n, c.n == 1 ? "" : "s");
    picture_line(p, c.left, NO_VALUE, c.right, NO_VALUE, "strip");
    picture_words(p, c.left - 10, NO_VALUE + 4, "small end", "none");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        draw_lines(&c, kinds[k]);
    for (size_t axis = 0; axis < c.n; axis++)
        draw_axis(&c, axis);
    draw_score_axis(&c);
    picture_end(p);
}
