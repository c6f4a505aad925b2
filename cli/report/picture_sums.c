/*
 * picture_sums.c: pictures of sums over trials: calibration, failures, importance, variants over seeds, several stores.
 * They are in one file because most of them draw named rows over one numeric axis, and none of them computes its sums:
 * these come from the store or from report_axes.c.
 */

#include "report/picture.h"
#include "report/report_axes.h"

enum { TOP = 34 };

/* Names are at the left of a numeric axis. The words of a row are at its right, or below its marks in a narrow window. */
struct frame {
    int names, right, words_x, words_y, ticks;
    double row;
    size_t name_max; /* code points of a name */
};

static struct frame frame_of(const struct picture *p)
{
    return p->narrow ? (struct frame){112, 364, 20, 24, 3, 48, 15} : (struct frame){200, 690, 704, 4, 6, 30, 26};
}

/* Draws vertical lines at round values, a stronger one at 0. */
static void x_axis(const struct picture *p, const struct scale *x, double foot, const char *name)
{
    char text[PICTURE_NUMBER];
    int n = (int)lround((x->high - x->low) / x->step);
    for (int i = 0; i <= n && i < 50; i++) {
        double value = x->low + i * x->step;
        bool zero = fabs(value) < x->step * 1e-9;
        picture_line(p, scale_at(x, value), TOP - 10, scale_at(x, value), foot, zero ? "zero" : "grid");
        picture_words(p, scale_at(x, value), foot + 16, "tick mid", "%s", lineage_mean_text(text, zero ? 0 : value, x->step));
    }
    if (name)
        picture_words(p, frame_of(p).right, foot + 34, "axis end", "%s", name);
}

/* ---- calibration ---- */

/* The range always includes 0, so that right and wrong signs are on two sides of one line. */
void picture_calibration(const struct picture *p)
{
    const struct frame f = frame_of(p);
    const struct lineage_report *sum = p->model->summary;
    double low = 0, high = 0;
    char a[PICTURE_NUMBER], b[PICTURE_NUMBER];
    if (!sum->n_calibration) {
        picture_nothing(p, "calibration", "No trial has both an expectation (expected_delta) and a measured change.");
        return;
    }
    for (size_t i = 0; i < sum->n_calibration; i++) {
        low = fmin(low, fmin(sum->calibration[i].expected, sum->calibration[i].happened));
        high = fmax(high, fmax(sum->calibration[i].expected, sum->calibration[i].happened));
    }
    double foot = TOP + (double)sum->n_calibration * f.row;
    struct scale x = scale_linear(low, high, f.names, f.right, f.ticks);
    picture_begin(p, "calibration", picture_width(p), foot + 44, "Expected and measured changes by specialist",
                  "%zu specialists with expectations.", sum->n_calibration);
    x_axis(p, &x, foot, "change of the score");
    for (size_t i = 0; i < sum->n_calibration; i++) {
        const struct lineage_report_calibration *c = &sum->calibration[i];
        double y = TOP + (double)i * f.row + 12, from = scale_at(&x, c->expected), to = scale_at(&x, c->happened);
        picture_words(p, f.names - 12, y + 4, "row end", "%.*s", (int)f.name_max, *c->specialist ? c->specialist : "(none)");
        picture_line(p, from, y, to, y, "span");
        fprintf(p->out,
                "<circle class=\"expected\" cx=\"%.5g\" cy=\"%.5g\" r=\"5\"/><path class=\"dot keep\" d=\"M%.5g %.5gh0\"/>", from,
                y, to, y);
        uint64_t judged = c->verdicts[LINEAGE_SUPPORTED] + c->verdicts[LINEAGE_REFUTED] + c->verdicts[LINEAGE_INCONCLUSIVE];
        if (judged) /* the noise is known */
            picture_words(p, f.words_x, y + f.words_y, "row quiet",
                          "%s → %s · supported %" PRIu64 ", refuted %" PRIu64 " of %" PRIu64, signed_text(a, c->expected, 3),
                          signed_text(b, c->happened, 3), c->verdicts[LINEAGE_SUPPORTED], c->verdicts[LINEAGE_REFUTED], judged);
        else
            picture_words(p, f.words_x, y + f.words_y, "row quiet", "%s → %s · sign right %" PRIu64 " of %" PRIu64,
                          signed_text(a, c->expected, 3), signed_text(b, c->happened, 3), c->same_sign, c->n);
    }
    picture_end(p);
}

/* ---- two scores ---- */

/* A trial's second score: a metric, or one of the two times. */
static bool second_of(double *value, const struct model_trial *trial, const char *name)
{
    const struct lineage_number time = strcmp(name, "total_s") == 0   ? trial->total_s
                                       : strcmp(name, "train_s") == 0 ? trial->train_s
                                                                      : (struct lineage_number){0};
    for (size_t i = 0; i < trial->n_metrics; i++)
        if (strcmp(trial->metrics[i].name, name) == 0)
            return *value = trial->metrics[i].value, isfinite(*value);
    *value = time.value;
    return time.present;
}

static void front_marks(const struct picture *p, const struct scale *x, const struct scale *y)
{
    static const struct {
        const char *class;
        enum lineage_label label;
    } kinds[] = {{"dot discard", LINEAGE_DISCARD}, {"dot baseline", LINEAGE_BASELINE}, {"dot keep", LINEAGE_KEEP}};
    const struct model *model = p->model;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        struct marks marks;
        double second;
        if (marks_begin(&marks, p, kinds[k].class, model->n))
            for (size_t i = 0; i < model->n; i++)
                if (model->trials[i].measured && model->trials[i].label == kinds[k].label &&
                    second_of(&second, &model->trials[i], model->summary->second))
                    marks_add(&marks, i, MARK_DOT, scale_at(x, second), scale_at(y, model->trials[i].score.value));
        marks_end(&marks);
    }
}

void picture_front(const struct picture *p)
{
    enum { HEIGHT = 360, LEFT = 80 };
    const int edge = picture_width(p) - 24;
    const struct lineage_report *sum = p->model->summary;
    double low, high, second, left = INFINITY, right = -INFINITY;
    for (size_t i = 0; i < p->model->n; i++)
        if (p->model->trials[i].measured && second_of(&second, &p->model->trials[i], sum->second)) {
            left = fmin(left, second);
            right = fmax(right, second);
        }
    if (!sum->n_front || !score_range(p->model, 0, &low, &high) || left > right) {
        picture_nothing(p, "front", "No kept trial has both scores.");
        return;
    }
    struct scale x = scale_linear(left, right, LEFT, edge, p->narrow ? 3 : 6), y = scale_linear(low, high, HEIGHT, TOP, 6);
    picture_begin(p, "front", picture_width(p), HEIGHT + 44, "Trials by both scores, and the front",
                  "%zu trials are on the front.", sum->n_front);
    picture_y_axis(p, &y, LEFT, edge, p->model->metric);
    x_axis(p, &x, HEIGHT, sum->second);
    for (size_t i = 1; i < sum->n_front; i++)
        picture_line(p, scale_at(&x, sum->front[i - 1].second), scale_at(&y, sum->front[i - 1].score),
                     scale_at(&x, sum->front[i].second), scale_at(&y, sum->front[i].score), "span");
    front_marks(p, &x, &y);
    picture_end(p);
}

/* ---- failures ---- */

enum { REASONS = 3, LINE = 17 };

static size_t shown_reasons(const struct lineage_report_failure *f)
{
    return f->n_reasons < REASONS ? f->n_reasons : REASONS;
}

/* Reasons are beside the bar, or below it in a narrow window. */
static double failure_height(const struct picture *p, const struct lineage_report_failure *f)
{
    size_t reasons = shown_reasons(f);
    bool says = f->looked_at < f->n;
    double below = p->narrow ? (double)reasons + says : fmax((double)reasons - 1, says);
    return 32 + below * LINE;
}

static void draw_failure(const struct picture *p, const struct lineage_report_failure *f, double y, double width)
{
    FILE *out = p->out;
    double x = p->narrow ? 20 : 380, line = p->narrow ? y + 11 + LINE : y + 11;
    picture_words(p, 130, y + 11, "row end", "%s", label_words(f->label));
    fprintf(out, "<rect class=\"bar fail\" x=\"142\" y=\"%.5g\" width=\"%.4g\" height=\"14\"/>", y, fmax(2, width));
    picture_words(p, 150 + width, y + 11, "row strong", "%" PRIu64, f->n);
    if (f->looked_at < f->n) {
        picture_words(p, p->narrow ? x : 142, y + 11 + LINE, "small quiet", "reasons: the newest %" PRIu64, f->looked_at);
        line += p->narrow ? LINE : 0;
    }
    for (size_t r = 0; r < shown_reasons(f); r++)
        picture_words(p, x, line + (double)r * LINE, "row quiet", "%" PRIu64 " × %.*s (%.14s)", f->reasons[r].n,
                      p->narrow ? 36 : 76, *f->reasons[r].text ? f->reasons[r].text : "(notes say nothing)",
                      f->reasons[r].exp_id);
}

void picture_failures(const struct picture *p)
{
    const struct lineage_report *sum = p->model->summary;
    uint64_t most = 1;
    double y = TOP - 14, height = TOP, room = p->narrow ? 160 : 180;
    if (!sum->n_failures) {
        picture_nothing(p, "failures", "No trial failed.");
        return;
    }
    for (size_t i = 0; i < sum->n_failures; i++) {
        most = sum->failures[i].n > most ? sum->failures[i].n : most;
        height += failure_height(p, &sum->failures[i]);
    }
    picture_begin(p, "failures", picture_width(p), height, "Failures by label and reason", "%zu labels of failure.",
                  sum->n_failures);
    for (size_t i = 0; i < sum->n_failures; i++) {
        draw_failure(p, &sum->failures[i], y, room * (double)sum->failures[i].n / (double)most);
        y += failure_height(p, &sum->failures[i]);
    }
    picture_end(p);
}

/* ---- importance ---- */

/* Parameters without a known share go last; -9 is below every share, which may be negative. */
static int by_share(const void *a, const void *b)
{
    const struct model_axis *const *x = a, *const *y = b;
    double p = (*x)->importance.share.present ? (*x)->importance.share.value : -9;
    double q = (*y)->importance.share.present ? (*y)->importance.share.value : -9;
    return (p < q) - (p > q);
}

static void draw_share(const struct picture *p, const struct model_axis *axis, const struct scale *x, double y)
{
    const struct frame f = frame_of(p);
    const struct axis_importance *r = &axis->importance;
    char share[PICTURE_NUMBER];
    picture_words(p, f.names - 12, y + 4, "row end", "%.*s", (int)f.name_max, axis->name);
    if (!r->share.present) {
        picture_words(p, f.names + 6, y + 4, "row quiet", "n = %zu: too few trials", r->n);
        return;
    }
    double value = fmax(0, r->share.value), chance = isnan(r->chance) ? 1 : fmax(0, r->chance);
    /* Colour shows significance, not size: with few trials a large share may be noise, and readers act on what
     * is coloured. A smaller difference than this comes from the order in which scores are added. */
    bool says = value - chance > 1e-9;
    fprintf(p->out, "<rect class=\"bar %s\" x=\"%d\" y=\"%.5g\" width=\"%.5g\" height=\"14\"/>", says ? "keep" : "discard",
            f.names, y - 7, fmax(1, scale_at(x, value) - f.names));
    picture_line(p, scale_at(x, chance), y - 10, scale_at(x, chance), y + 10, "chance");
    picture_words(p, f.words_x, y + f.words_y, says ? "row strong" : "row quiet", "%s · n = %zu in %zu classes%s",
                  number_text(share, value, 2), r->n, r->classes, says ? "" : " · chance");
}

void picture_importance(const struct picture *p)
{
    const struct frame f = frame_of(p);
    const struct model *model = p->model;
    const struct model_axis *ranked[MODEL_AXES];
    size_t n = 0, least = model->n;
    for (size_t i = 0; i < model->n_axes; i++)
        if (axis_is_setting(&model->axes[i])) {
            ranked[n] = &model->axes[i];
            least = ranked[n]->importance.n < least ? ranked[n]->importance.n : least;
            n++;
        }
    if (!n) {
        picture_nothing(p, "importance", "No parameter varies.");
        return;
    }
    qsort(ranked, n, sizeof *ranked, by_share);
    /* Ten trials per parameter and thirty in all are the usual rules of thumb for regressions and means. With fewer,
     * the picture is shown with a warning. */
    bool few = least < 10 * n || least < 30;
    double foot = TOP + (double)n * f.row;
    struct scale x = scale_linear(0, 1, f.names, f.right, f.ticks - 1);
    picture_begin(p, "importance", picture_width(p), foot + (few ? 66 : 44), "Share of the score's variance by parameter",
                  "%zu parameter%s; the one with the fewest measured trials has %zu.", n, n == 1 ? "" : "s", least);
    x_axis(p, &x, foot, NULL);
    picture_words(p, f.right, foot + 34, "axis end", "share of the score's variance");
    for (size_t i = 0; i < n; i++)
        draw_share(p, ranked[i], &x, TOP + (double)i * f.row + 12);
    if (few)
        picture_words(p, 20, foot + 56, "row warn", "⚠ Few trials: %zu measured for %zu parameter%s.%s", least, n,
                      n == 1 ? "" : "s", p->narrow ? "" : " Parameters that changed together share the effect of one of them.");
    picture_end(p);
}

/* ---- variants over seeds ---- */

/* 0 is always included, because the question is whether an interval crosses it. */
static bool interval_range(const struct lineage_comparison *c, double *low, double *high)
{
    bool any = false;
    *low = *high = 0;
    for (size_t i = 1; i < c->n_variants; i++) {
        const struct lineage_variant *v = &c->variants[i];
        if (!v->difference.present)
            continue;
        any = true;
        *low = fmin(*low, v->family_low.present ? v->family_low.value : v->difference.value);
        *high = fmax(*high, v->family_high.present ? v->family_high.value : v->difference.value);
    }
    return any;
}

/* Draws both intervals: the thick one is for this variant alone, the thin one is corrected for choosing the best of
 * all. */
static void draw_variant(const struct picture *p, const struct lineage_variant *v, const struct scale *x, double y)
{
    const struct frame f = frame_of(p);
    char d[PICTURE_NUMBER], holm[PICTURE_NUMBER];
    picture_words(p, f.names - 12, y + 4, "row end", "%.*s", (int)f.name_max, *v->name ? v->name : "(none)");
    if (!v->difference.present) {
        picture_words(p, f.words_x, y + f.words_y, "row quiet", "no common seed");
        return;
    }
    double at = scale_at(x, v->difference.value);
    if (v->family_low.present)
        picture_line(p, scale_at(x, v->family_low.value), y, scale_at(x, v->family_high.value), y, "thin");
    if (v->low.present)
        picture_line(p, scale_at(x, v->low.value), y, scale_at(x, v->high.value), y, "thick");
    fprintf(p->out, "<path class=\"dot %s\" d=\"M%.5g %.5gh0\"/>",
            model_gain(p->model, v->difference.value, 0) > 0 ? "keep" : "fail", at, y);
    if (v->p_holm.present)
        picture_words(p, f.words_x, y + f.words_y, "row quiet", "%s · p %s · %zu seeds", signed_text(d, v->difference.value, 3),
                      number_text(holm, v->p_holm.value, 2), v->n_pairs);
    else
        picture_words(p, f.words_x, y + f.words_y, "row quiet", "%s · %zu seed%s: no interval",
                      signed_text(d, v->difference.value, 3), v->n_pairs, v->n_pairs == 1 ? "" : "s");
    if (v->failed)
        picture_words(p, f.words_x, y + f.words_y + 13, "small warn", "%zu failed, left out", v->failed);
}

/* Names the first variant, and the other parameters in which variants differ. This is printed in the picture instead of in a
 * remark below it, because a difference with another cause would mislead. */
static void draw_against(const struct picture *p, double foot)
{
    const struct lineage_comparison *c = &p->model->comparison;
    size_t shown = p->narrow ? 3 : 6;
    FILE *out = p->out;
    html_print(out, "<text class=\"axis\" x=\"20\" y=\"14\">against %.*s (%zu seeds)", p->narrow ? 20 : 40,
               *c->variants[0].name ? c->variants[0].name : "(none)", c->variants[0].n_seeds);
    if (c->n_confounded) {
        if (p->narrow)
            fprintf(out, "</text><text class=\"axis\" x=\"20\" y=\"%.5g\">they also differ in ", foot + 54);
        else
            fputs("; the variants also differ in ", out);
        for (size_t i = 0; i < c->n_confounded && i < shown; i++)
            html_print(out, i ? ", %.*s" : "%.*s", p->narrow ? 11 : 30, c->confounded[i]);
        fputs(c->n_confounded > shown ? " …" : "", out);
    }
    fputs("</text>", out);
}

void picture_seeds(const struct picture *p)
{
    const struct frame f = frame_of(p);
    const struct lineage_comparison *c = &p->model->comparison;
    double low, high;
    /* Nothing to compare is the usual case, not an error: most stores have no seeds. */
    if (!p->model->compared || !interval_range(c, &low, &high)) {
        picture_nothing(p, "seeds",
                        "No two specialists have a measured trial with the same seed (a parameter seed=N in each), so nothing "
                        "can be compared seed by seed.");
        return;
    }
    double foot = TOP + (double)(c->n_variants - 1) * f.row;
    struct scale x = scale_linear(low, high, f.names, f.right, f.ticks);
    picture_begin(p, "seeds", picture_width(p), foot + (p->narrow ? 62 : 44), "Paired differences over seeds",
                  "%zu variants against the first one.", c->n_variants - 1);
    x_axis(p, &x, foot, "difference of the score");
    draw_against(p, foot);
    for (size_t i = 1; i < c->n_variants; i++)
        draw_variant(p, &c->variants[i], &x, TOP + (double)(i - 1) * f.row + 12);
    picture_end(p);
}

/* ---- several stores ---- */

/* Draws the best score so far over trials. The line's style differs too, so that stores can be told apart without
 * colour. */
static void store_line(FILE *out, const struct model *m, size_t which, const struct scale *x, const struct scale *y)
{
    bool drawn = false;
    fprintf(out, "<path class=\"best style%zu\" d=\"", which % 6);
    for (size_t i = 0; i < m->n; i++) {
        struct lineage_number best = i + 1 < m->n            ? m->trials[i + 1].before
                                     : m->best != MODEL_NONE ? m->trials[m->best].score
                                                             : (struct lineage_number){0};
        if (!best.present || (drawn && i + 1 < m->n && m->trials[i].before.present && m->trials[i].before.value == best.value))
            continue;
        fprintf(out, drawn ? "H%.5gV%.5g" : "M%.5g %.5g", scale_at(x, (double)i + 1), scale_at(y, best.value));
        drawn = true;
    }
    fputs("\"/>\n", out);
}

void picture_stores(FILE *out, const struct model *models, size_t n)
{
    struct picture p = {.out = out, .model = models, .store = n};
    double low = INFINITY, high = -INFINITY, most = 1;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < models[i].n; j++) {
            struct lineage_number s = j ? models[i].trials[j].before : (struct lineage_number){0};
            most = fmax(most, (double)models[i].n);
            if (j + 1 == models[i].n && models[i].best != MODEL_NONE)
                s = models[i].trials[models[i].best].score;
            if (s.present) {
                low = fmin(low, s.value);
                high = fmax(high, s.value);
            }
        }
    if (!(high >= low)) {
        picture_nothing(&p, "stores", "No trial of these stores has a score.");
        return;
    }
    struct scale x = scale_linear(0, most, 78, 984, 8), y = scale_linear(low, high, 330, TOP, 5);
    x.high = most;
    picture_begin(&p, "stores", 1000, 366 + (double)(n * 18), "Best so far of each store", "%zu stores.", n);
    picture_y_axis(&p, &y, 78, 984, "best so far");
    for (double value = 0; value <= x.high; value += x.step) {
        char text[PICTURE_NUMBER];
        picture_words(&p, scale_at(&x, value), 348, "tick mid", "%s", number_text(text, value, 6));
    }
    picture_words(&p, 984, 362, "axis end", "trials");
    for (size_t i = 0; i < n; i++) {
        store_line(out, &models[i], i, &x, &y);
        double at = 372 + (double)(i * 18);
        fprintf(out, "<path class=\"best style%zu\" d=\"M78 %gh40\"/>", i % 6, at - 4);
        picture_words(&p, 126, at, "row", "%.60s", models[i].name);
    }
    picture_end(&p);
}
