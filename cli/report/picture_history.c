/*
 * picture_history.c: the best score so far with the noise band and every outcome, for all trials and for the last
 * night. Both use the same drawing over different ranges of trials, so that they can be read alike.
 */

#include "report/picture.h"

enum { TOP = 30, STRIP = 17 };

#define NEAR 0.5 /* units: half a pixel of a page that is as wide as the picture */

struct plot {
    const struct picture *p;
    size_t first, n; /* trials[first .. first + n - 1] */
    struct scale y;
    int left, right;
    double foot; /* bottom of the scores */
    bool measured; /* at least one trial has a score, so there is a scale */
    int strip[MODEL_LABELS]; /* row below the scores; -1: no trial has the label */
    int strips;
};

/* Trials are placed by number, not by time: otherwise nights would be spots with empty days between them. */
static double x_of(const struct plot *plot, size_t i)
{
    double room = plot->right - plot->left - 16;
    return plot->left + 8 + (plot->n > 1 ? room * (double)(i - plot->first) / (double)(plot->n - 1) : room / 2);
}

static void count_strips(struct plot *plot)
{
    const struct model *model = plot->p->model;
    for (int label = 0; label < MODEL_LABELS; label++)
        plot->strip[label] = -1;
    /* A measured trial is drawn at its score; all others, including discarded trials without a score, are drawn in rows
     * below. */
    for (size_t i = plot->first; i < plot->first + plot->n; i++)
        if (!model->trials[i].measured)
            plot->strip[model->trials[i].label] = 0;
    for (int label = 0; label < MODEL_LABELS; label++)
        if (plot->strip[label] == 0)
            plot->strip[label] = plot->strips++;
}

static double strip_y(const struct plot *plot, enum lineage_label label)
{
    return plot->foot + 30 + plot->strip[label] * STRIP;
}

/* Draws the best score as steps that change after the trial which improved it. Steps that are closer than NEAR become one, so
 * that a chain of 100,000 kept trials does not make a path that takes a browser a minute to draw. */
static void best_path(const struct plot *plot)
{
    const struct model *model = plot->p->model;
    struct lineage_number now = model->n ? model->trials[plot->first].before : (struct lineage_number){0};
    bool drawn = false;
    double last = -NEAR;
    if (now.present) {
        fprintf(plot->p->out, "M%d %.5g", plot->left, scale_at(&plot->y, now.value));
        drawn = true;
    }
    for (size_t i = plot->first; i < plot->first + plot->n; i++) {
        struct lineage_number next = i + 1 < model->n            ? model->trials[i + 1].before
                                     : model->best != MODEL_NONE ? model->trials[model->best].score
                                                                 : (struct lineage_number){0};
        if (!next.present || (now.present && next.value == now.value))
            continue;
        double x = x_of(plot, i), y = scale_at(&plot->y, next.value);
        if (x - last < NEAR && i + 1 < plot->first + plot->n)
            continue;
        last = x;
        fprintf(plot->p->out, drawn ? "H%.5gV%.5g" : "M%.5g %.5g", x, y);
        drawn = true;
        now = next;
    }
    if (drawn)
        fprintf(plot->p->out, "H%d", plot->right);
}

/* Draws one rectangle from each change of the best to the next. */
static void noise_band(const struct plot *plot)
{
    const struct model *model = plot->p->model;
    double needed = model->needed;
    /* Without a threshold there is no band, because a band of zero width would look like certainty. */
    if (!(needed > 0))
        return;
    double from = plot->left;
    fputs("<path class=\"band\" d=\"", plot->p->out);
    for (size_t i = plot->first; i < plot->first + plot->n;) {
        size_t end = i + 1;
        struct lineage_number best = model->trials[i].before;
        while (end < plot->first + plot->n && best.present && model->trials[end].before.present &&
               model->trials[end].before.value == best.value)
            end++;
        double to = end == plot->first + plot->n ? plot->right : x_of(plot, end - 1);
        if (best.present && to - from >= NEAR)
            fprintf(plot->p->out, "M%.5g %.5gH%.5gV%.5gH%.5gz", from, scale_at(&plot->y, best.value + needed), to,
                    scale_at(&plot->y, best.value - needed), from);
        if (!best.present || to - from >= NEAR)
            from = to;
        i = end;
    }
    fputs("\"/>\n", plot->p->out);
}

/* A score outside the scale becomes a triangle at its edge. */
static void add_mark(const struct plot *plot, struct marks *marks, size_t i)
{
    const struct model_trial *trial = &plot->p->model->trials[i];
    double x = x_of(plot, i);
    const bool above = trial->score.value > plot->y.high;
    if (!trial->measured)
        marks_add(marks, i, MARK_CROSS, x, strip_y(plot, trial->label));
    else if (scale_holds(&plot->y, trial->score.value))
        marks_add(marks, i, MARK_DOT, x, scale_at(&plot->y, trial->score.value));
    else
        marks_add(marks, i, above ? MARK_ABOVE : MARK_BELOW, x, scale_at(&plot->y, trial->score.value) + (above ? -1 : 1));
}

/* The line has a margin in the colour of the paper, so that it can be followed through thousands of marks. */
static void best_line(const struct plot *plot)
{
    if (!plot->measured)
        return;
    for (int margin = 1; margin >= 0; margin--) {
        fprintf(plot->p->out, "<path class=\"best%s\" d=\"", margin ? " under" : "");
        best_path(plot);
        fputs("\"/>\n", plot->p->out);
    }
}

/* Draws failures first and kept trials last, so that the more important of two overlapping marks is on top. */
static void all_marks(const struct plot *plot, size_t total)
{
    static const struct {
        const char *name;
        enum lineage_label label;
    } classes[] = {{"cross fail", LINEAGE_N_LABELS},
                   {"dot discard", LINEAGE_DISCARD},
                   {"dot baseline", LINEAGE_BASELINE},
                   {"dot keep", LINEAGE_KEEP}};
    const struct model_trial *trials = plot->p->model->trials;
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++) {
        struct marks marks;
        if (classes[c].label == LINEAGE_BASELINE)
            best_line(plot);
        /* A kept row without a score is drawn with the failures, because it has no height. */
        if (marks_begin(&marks, plot->p, classes[c].name, total))
            for (size_t i = plot->first; i < plot->first + plot->n; i++)
                if (trials[i].measured ? trials[i].label == classes[c].label : c == 0)
                    add_mark(plot, &marks, i);
        marks_end(&marks);
    }
}

static void strips(const struct plot *plot)
{
    for (int label = 0; label < MODEL_LABELS; label++)
        if (plot->strip[label] >= 0) {
            double y = strip_y(plot, (enum lineage_label)label);
            picture_line(plot->p, plot->left, y, plot->right, y, "strip");
            picture_words(plot->p, plot->left - 8, y + 3.5, "small end", "%s", label_words((enum lineage_label)label));
        }
}

/* Labels marks with ids instead of dates, because commands take ids. */
static void x_axis(const struct plot *plot, double y)
{
    const struct model *model = plot->p->model;
    size_t step = plot->n / (size_t)((plot->right - plot->left) / 110) + 1;
    for (size_t i = 0; i < plot->n; i += step) {
        html_print(plot->p->out, "<text class=\"tick mid\" x=\"%.5g\" y=\"%.5g\">%.10s</text>", x_of(plot, plot->first + i), y,
                   model->trials[plot->first + i].id);
    }
}

/* Names kept trials that set a new best, newest first, as far as there is room. */
static void name_bests(const struct plot *plot)
{
    const struct model *model = plot->p->model;
    double free_from = plot->right + 40;
    for (size_t i = plot->first + plot->n; i-- > plot->first;) {
        const struct model_trial *trial = &model->trials[i];
        if (!trial->measured || !lineage_label_is_kept(trial->label) ||
            (trial->before.present && model_gain(model, trial->score.value, trial->before.value) <= 0))
            continue;
        double x = x_of(plot, i);
        if (x > free_from - 46)
            continue;
        free_from = x;
        picture_words(plot->p, x, scale_at(&plot->y, trial->score.value) + (model->direction == LINEAGE_HIGHER ? -9 : 18),
                      i == model->best ? "name mid strong" : "name mid", "%.10s", trial->id);
    }
}

static bool find_scale(struct plot *plot, double height)
{
    const struct model *model = plot->p->model;
    double low, high;
    if (!score_range(model, plot->first, &low, &high))
        return false;
    struct lineage_number before = model->trials[plot->first].before;
    if (before.present) {
        low = fmin(low, before.value);
        high = fmax(high, before.value);
    }
    /* Shows at most as much of the band as the scores take, because a huge threshold would squeeze the scores into a
     * line. */
    if (model->needed > 0 && isfinite(model->needed)) {
        double best = model->best != MODEL_NONE ? model->trials[model->best].score.value : high;
        low = fmin(low, fmax(best - model->needed, low - (high - low)));
        high = fmax(high, fmin(best + model->needed, high + (high - low)));
    }
    plot->y = scale_linear(low, high, TOP + height, TOP, 5);
    return true;
}

static void draw(const struct picture *p, const char *name, const char *title, size_t first, double height)
{
    struct plot plot = {.p = p,
                        .first = first,
                        .n = p->model->n - first,
                        .foot = TOP + height,
                        .left = p->narrow ? 92 : 104,
                        .right = picture_width(p) - 16};
    const struct model *model = p->model;
    char best[PICTURE_NUMBER] = "none";
    size_t failed = 0, voids = 0;
    for (size_t i = first; i < model->n; i++) {
        voids += model->trials[i].is_void;
        failed += !model->trials[i].measured && !model->trials[i].is_void;
    }
    bool measured = plot.measured = find_scale(&plot, height);
    if (!measured)
        plot.foot = TOP - 12;
    count_strips(&plot);
    if (model->best != MODEL_NONE)
        score_text(best, &model->trials[model->best]);
    double end = plot.foot + (plot.strips ? 34 + plot.strips * STRIP : 18);
    picture_begin(p, name, picture_width(p), end + 16, title, "%zu trials, %zu without a score; the best score is %s.",
                  plot.n - voids, failed, best);
    if (measured) {
        noise_band(&plot);
        picture_y_axis(p, &plot.y, plot.left, plot.right, model->metric);
    }
    strips(&plot);
    x_axis(&plot, end + 6);
    all_marks(&plot, plot.n);
    if (measured)
        name_bests(&plot);
    picture_end(p);
}

void picture_history(const struct picture *p)
{
    if (p->model->n == 0)
        picture_nothing(p, "history", "The store has no trial yet.");
    else
        draw(p, "history", "Scores of all trials and the best so far", 0, 320);
}

/* ---- the last night ---- */

void picture_morning(const struct picture *p)
{
    if (p->model->n == 0)
        picture_nothing(p, "morning", "The store has no trial yet.");
    else if (p->model->night == p->model->n)
        picture_nothing(p, "morning", "Nothing is new.");
    else
        draw(p, "morning", "Scores of the last night", p->model->night, 190);
}

struct night {
    size_t n, kept, discarded, baseline, failed, labels[MODEL_LABELS];
    size_t nearest; /* the discarded trial that came closest to being kept */
};

/* The closest discarded trial is named, because it is the first candidate for more seeds. */
static struct night count_night(const struct model *model)
{
    struct night night = {.n = model->n - model->night, .nearest = MODEL_NONE};
    for (size_t i = model->night; i < model->n; i++) {
        const struct model_trial *trial = &model->trials[i];
        night.labels[trial->label]++;
        night.kept += trial->label == LINEAGE_KEEP;
        night.discarded += trial->label == LINEAGE_DISCARD;
        night.baseline += trial->label == LINEAGE_BASELINE;
        if (trial->label == LINEAGE_DISCARD && trial->score.present &&
            (night.nearest == MODEL_NONE || model_gain(model, trial->score.value, model->trials[night.nearest].score.value) > 0))
            night.nearest = i;
    }
    night.n -= night.labels[MODEL_VOID];
    night.failed = night.n - night.kept - night.discarded - night.baseline;
    return night;
}

static void link_trial(const struct picture *p, size_t i)
{
    html_print(p->out, "<a href=\"#s%zu-t%zu\" data-t=\"%zu\">%.40s</a>", p->store, i, i, p->model->trials[i].id);
}

/* Prints an ISO date as "2026-05-07 22:14" and any other cell unchanged. */
static void moment(FILE *out, const char *text)
{
    if (strlen(text) < 16 || text[10] != 'T') {
        html_text(out, text, 20);
        return;
    }
    html_bytes(out, text, 10, 0);
    putc(' ', out);
    html_bytes(out, text + 11, 5, 0);
}

static void when(const struct picture *p)
{
    const struct model *model = p->model;
    const char *from = model->trials[model->night].timestamp, *to = model->trials[model->n - 1].timestamp;
    if (!*from && !*to)
        return;
    fputs(" (", p->out);
    moment(p->out, from);
    fputs(" to ", p->out);
    moment(p->out, to);
    fputs(")", p->out);
}

/* In a store's first night nothing is there to compare with, so progress is counted from the first trial with a score. */
static size_t first_ranked(const struct model *model)
{
    size_t i = 0;
    while (i < model->n && !(lineage_label_is_kept(model->trials[i].label) && model->trials[i].score.present))
        i++;
    return i;
}

static void first_sentence(const struct picture *p, const struct night *night)
{
    const struct model *model = p->model;
    const struct model_trial *best = model->best == MODEL_NONE ? NULL : &model->trials[model->best];
    struct lineage_number before = model->trials[model->night].before;
    char a[PICTURE_NUMBER], b[PICTURE_NUMBER], c[PICTURE_NUMBER];
    if (model->since)
        html_print(p->out, "%zu trial%s ran since %.40s", night->n, night->n == 1 ? "" : "s", model->since);
    else
        fprintf(p->out, "The last night ran %zu trial%s", night->n, night->n == 1 ? "" : "s");
    when(p);
    if (model->best == MODEL_NONE)
        fputs(" and no trial of the store has a score yet.", p->out);
    else if (!before.present && model->best != first_ranked(model)) {
        size_t first = first_ranked(model);
        const struct model_trial *was = &model->trials[first];
        fprintf(p->out, ", kept %zu and moved the best from %s (", night->kept, score_text(a, was));
        link_trial(p, first);
        fprintf(p->out, ") to <strong>%s</strong> (%s), by ", score_text(b, best),
                signed_text(c, best->score.value - was->score.value, 3));
        link_trial(p, model->best);
        fputs(".", p->out);
    } else if (!before.present) {
        fputs(" and set the first best, ", p->out);
        link_trial(p, model->best);
        fprintf(p->out, " with %s.", score_text(a, best));
    } else if (model->best >= model->night) {
        fprintf(p->out, ", kept %zu and moved the best from %s to <strong>%s</strong> (%s), by ", night->kept,
                lineage_mean_text(a, before.value, model->margin), score_text(b, best),
                signed_text(c, best->score.value - before.value, 3));
        link_trial(p, model->best);
        fputs(".", p->out);
    } else {
        fprintf(p->out, ", kept %zu, and the best is still ", night->kept);
        link_trial(p, model->best);
        fprintf(p->out, " with %s.", lineage_mean_text(a, before.value, model->margin));
    }
}

static void failures_clause(const struct picture *p, const struct night *night)
{
    bool any = false;
    fprintf(p->out, "; %zu gave no result (", night->failed);
    for (int label = 0; label < MODEL_LABELS; label++)
        if (night->labels[label] && strcmp(outcome_class((enum lineage_label)label), "fail") == 0) {
            fprintf(p->out, "%s%zu %s", any ? ", " : "", night->labels[label], label_words((enum lineage_label)label));
            any = true;
        }
    fputs(")", p->out);
}

static void second_sentence(const struct picture *p, const struct night *night)
{
    const struct model *model = p->model;
    char a[PICTURE_NUMBER], b[PICTURE_NUMBER];
    fprintf(p->out, " %zu %s discarded", night->discarded, night->discarded == 1 ? "was" : "were");
    if (night->nearest != MODEL_NONE && model->trials[night->nearest].before.present) {
        const struct model_trial *trial = &model->trials[night->nearest];
        fputs(", of which ", p->out);
        link_trial(p, night->nearest);
        fprintf(p->out, " came closest (%s", signed_text(a, trial->score.value - trial->before.value, 3));
        if (model->needed > 0)
            fprintf(p->out, ", needs %s", number_text(b, model->needed, 3));
        fputs(")", p->out);
    }
    if (night->failed)
        failures_clause(p, night);
    fputs(".", p->out);
}

void morning_sentences(const struct picture *p)
{
    struct night night = count_night(p->model);
    if (!night.n)
        return;
    fputs("<p class=\"lead\">", p->out);
    first_sentence(p, &night);
    second_sentence(p, &night);
    if (*p->model->summary->stopped)
        html_print(p->out, " %.600s.", p->model->summary->stopped);
    fputs("</p>\n", p->out);
}
