/*
 * picture.c: what the pictures of a report share; see picture.h. SVG is printed as text, because a few paths and texts
 * need no drawing library. Every byte that comes from a row passes through html_escape.c.
 */
#include "report/picture.h"

#include "report_assets.h"

/* ---- words ---- */

/* The default case is omitted, so that the compiler reports this place when a label is added. */
const char *outcome_class(enum lineage_label label)
{
    switch (label) {
    case LINEAGE_KEEP: return "keep";
    case LINEAGE_DISCARD: return "discard";
    case LINEAGE_BASELINE: return "baseline";
    case LINEAGE_CRASH:
    case LINEAGE_EVAL_BUDGET_OVERRUN:
    case LINEAGE_TRAIN_BUDGET_OVERRUN:
    case LINEAGE_SIZE_BLOCKED:
    case LINEAGE_PREFLIGHT_CRASH:
    case LINEAGE_HARNESS_ABORT:
    case LINEAGE_DISQUALIFIED: break;
    case LINEAGE_N_LABELS: return "void";
    }
    return "fail";
}

const char *label_words(enum lineage_label label)
{
    static const char *const words[MODEL_LABELS] = {
        "kept",          "discarded",    "crash",    "eval budget", "train budget", "size blocked", "preflight crash",
        "harness abort", "disqualified", "baseline", "void"};
    return words[label];
}

/* Rounds to significant digits instead of decimals, because scores of a store may be 0.0003 or 12000. */
const char *number_text(char out[PICTURE_NUMBER], double value, int digits)
{
    snprintf(out, PICTURE_NUMBER, "%.*g", digits, value);
    return out;
}

const char *score_text(char out[PICTURE_NUMBER], const struct model_trial *trial)
{
    return lineage_mean_text(out, trial->score.value, trial->margin.present ? trial->margin.value : (double)NAN);
}

/* Uses U+2212, because a hyphen is shorter than the plus above it in a column. */
const char *signed_text(char out[PICTURE_NUMBER], double value, int digits)
{
    snprintf(out, PICTURE_NUMBER, "%s%.*g", value < 0 ? "\u2212" : "+", digits, fabs(value));
    return out;
}

size_t decimal_text(char out[DECIMAL_MAX], double value, int decimals)
{
    static const double scales[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12};
    char digits[DECIMAL_MAX];
    uint64_t rest = (uint64_t)(fmin(fabs(value) * scales[decimals], 1e15) + 0.5);
    size_t n = 0, at = 0;
    if (value < 0 && rest)
        out[at++] = '-';
    for (; decimals > 0 && rest % 10 == 0; rest /= 10)
        decimals--;
    for (int left = decimals; rest || left >= 0; left--, rest /= 10) {
        if (left == 0 && decimals > 0)
            digits[n++] = '.';
        digits[n++] = (char)('0' + rest % 10);
    }
    while (n)
        out[at++] = digits[--n];
    return at;
}

/* ---- frame ---- */

void picture_begin(const struct picture *p, const char *name, double width, double height, const char *title,
                   const char *description, ...)
{
    va_list args;
    /* Every id contains the number of the store, because a page may hold several stores and ids must be unique. */
    const char *n = p->narrow ? "-narrow" : "";
    /* The marks of a short night are large even in a store of many trials. */
    size_t shown = strcmp(name, "morning") == 0 ? p->model->n - p->model->night : p->model->n;
    fprintf(p->out, "<svg class=\"pic pic-%s%s\" viewBox=\"0 0 %g %g\" role=\"img\" aria-labelledby=\"s%zu-%s%s-t s%zu-%s%s-d\"",
            name, shown > PICTURE_MANY ? " many" : "", width, height, p->store, name, n, p->store, name, n);
    /* A separate file needs a size and the namespace; in a page, the style sets the size and HTML knows svg. */
    if (p->alone)
        fprintf(p->out, " xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\"", width, height);
    fprintf(p->out, ">\n<title id=\"s%zu-%s%s-t\">%s</title><desc id=\"s%zu-%s%s-d\">", p->store, name, n, title, p->store, name,
            n);
    va_start(args, description);
    vfprintf(p->out, description, args);
    va_end(args);
    fputs("</desc>\n", p->out);
    if (p->alone)
        fprintf(p->out, "<style>%s</style><rect class=\"paper\" width=\"100%%\" height=\"100%%\"/>\n", report_picture_css);
}

void picture_end(const struct picture *p)
{
    fputs("</svg>\n", p->out);
}

/* With --svg the message becomes an SVG file too, because the program of the caller expects one. */
void picture_nothing(const struct picture *p, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (p->alone) {
        picture_begin(p, name, 640, 48, "Nothing to show", "Nothing to show yet.");
        fputs("<text class=\"word\" x=\"12\" y=\"28\">", p->out);
        vfprintf(p->out, format, args);
        fputs("</text>", p->out);
        picture_end(p);
    } else {
        fputs("<p class=\"none\">", p->out);
        vfprintf(p->out, format, args);
        fputs("</p>\n", p->out);
    }
    va_end(args);
}

/* %.5g is precise to a tenth of a unit at the width of a page, and takes half the bytes of all digits. */
void picture_words(const struct picture *p, double x, double y, const char *class, const char *format, ...)
{
    va_list args;
    fprintf(p->out, "<text class=\"%s\" x=\"%.4g\" y=\"%.5g\">", class, x, y);
    va_start(args, format);
    html_print_list(p->out, format, args);
    va_end(args);
    fputs("</text>", p->out);
}

void picture_line(const struct picture *p, double x0, double y0, double x1, double y1, const char *class)
{
    fprintf(p->out, "<path class=\"%s\" d=\"M%.5g %.5gL%.5g %.5g\"/>", class, x0, y0, x1, y1);
}

/* ---- scales ---- */

/* Rounds to 1, 2 or 5 times a power of ten. */
static double round_step(double raw)
{
    double power = pow(10, floor(log10(raw))), part = raw / power;
    return power * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10);
}

struct scale scale_linear(double low, double high, double from, double to, int ticks)
{
    /* With one value or none, uses a range around it, to avoid a division by 0. */
    if (!(high > low)) {
        double around = fabs(low) > 0 ? fabs(low) * 0.05 : 1;
        low -= around;
        high += around;
    }
    /* The halves of two huge numbers have a finite difference even if the numbers do not. */
    double step = round_step(fmax((high / ticks - low / ticks), 1e-300));
    return (struct scale){floor(low / step) * step, ceil(high / step) * step, from, to, step};
}

bool scale_holds(const struct scale *scale, double value)
{
    return value >= scale->low && value <= scale->high;
}

/* Halves the values, as in scale_linear, because the difference of two huge numbers may overflow. The result is
 * clamped, because a mark outside the frame would cover the picture beside it. */
double scale_at(const struct scale *scale, double value)
{
    double part = (value / 2 - scale->low / 2) / (scale->high / 2 - scale->low / 2);
    return scale->from + (scale->to - scale->from) * fmin(1, fmax(0, part));
}

void picture_y_axis(const struct picture *p, const struct scale *scale, double left, double right, const char *name)
{
    char text[PICTURE_NUMBER];
    int n = (int)lround((scale->high - scale->low) / scale->step);
    /* Multiplies instead of adding the step, which would accumulate errors; 50 is a limit for any input. */
    for (int i = 0; i <= n && i < 50; i++) {
        double value = scale->low + i * scale->step;
        /* A zero with a rounding error would be printed as 1e-17. */
        if (fabs(value) < scale->step * 1e-9)
            value = 0;
        double y = scale_at(scale, value);
        picture_line(p, left, y, right, y, "grid");
        picture_words(p, left - 8, y + 4, "tick end", "%s", lineage_mean_text(text, value, scale->step));
    }
    picture_words(p, 4, fmin(scale->from, scale->to) - 14, "axis", "%.40s", name);
}

/* Hoare 1961, Commun. ACM 4:321, Algorithm 65: a picture needs two or three quantiles of a list, and not its order. */
double picture_rank(double *values, size_t n, size_t at)
{
    for (size_t low = 0, high = n - 1; low < high;) {
        const double pivot = values[low + (high - low) / 2];
        size_t i = low, j = high + 1; /* j: one behind, so that it never falls below 0 */
        while (i < j) {
            while (values[i] < pivot)
                i++;
            while (pivot < values[j - 1])
                j--;
            if (i < j) {
                const double held = values[i];
                values[i++] = values[--j];
                values[j] = held;
            }
        }
        if (at >= i)
            low = i;
        else if (at < j)
            high = j - 1;
        else
            break;
    }
    return values[at];
}

bool score_range(const struct model *model, size_t first, double *low, double *high)
{
    double *scores = malloc((model->n + 1) * sizeof *scores);
    size_t n = 0;
    for (size_t i = first; scores && i < model->n; i++)
        if (model->trials[i].measured)
            scores[n++] = model->trials[i].score.value;
    if (n) {
        const double quarter = picture_rank(scores, n, (n - 1) / 4), third = picture_rank(scores, n, (n - 1) * 3 / 4);
        const double least = picture_rank(scores, n, 0), most = picture_rank(scores, n, n - 1), fence = 3 * (third - quarter);
        *low = fence > 0 ? fmax(least, quarter - fence) : least;
        *high = fence > 0 ? fmin(most, third + fence) : most;
    }
    /* Kept trials are always inside the range, however far out their scores are, because the picture is about them. */
    for (size_t i = first; n && i < model->n; i++)
        if (model->trials[i].measured && model->trials[i].label == LINEAGE_KEEP) {
            *low = fmin(*low, model->trials[i].score.value);
            *high = fmax(*high, model->trials[i].score.value);
        }
    free(scores);
    return n > 0;
}

/* ---- marks ---- */

/* Shows the change against the best score before the trial instead of its parent's score, because the best score
 * decides between keep and discard. */
void trial_title(FILE *out, const struct model *model, const struct model_trial *trial)
{
    char score[PICTURE_NUMBER], gain[PICTURE_NUMBER];
    html_print(out, "%.40s · %s", trial->id, label_words(trial->label));
    if (trial->score.present)
        fprintf(out, " · %s", score_text(score, trial));
    else if (*trial->odd)
        fprintf(out, " · %s", trial->odd);
    if (trial->margin.present)
        fprintf(out, " ± %s", number_text(score, trial->margin.value, 2));
    if (trial->score.present && trial->before.present)
        fprintf(out, " (%s)", signed_text(gain, trial->score.value - trial->before.value, 3));
    if (*trial->hypothesis)
        html_print(out, " · %.140s", trial->hypothesis);
    (void)model;
}

/* Without a script, the link of a trial that has no card leads to the table. */
void picture_trial_link(const struct picture *p, size_t i)
{
    if (i == MODEL_NONE) {
        fputs("–", p->out);
        return;
    }
    if (p->cards && p->cards[i])
        fprintf(p->out, "<a href=\"#s%zu-t%zu\"", p->store, i);
    else
        fprintf(p->out, "<a href=\"#s%zu-trials\"", p->store);
    html_print(p->out, " data-t=\"%zu\">%.40s</a>", i, p->model->trials[i].id);
}

/* ---- writes the marks of trials in a picture, and their density where a class has too many of them; see
 * picture.h.
 *
 * The density of dots is the number of dots in each square of CELL units. That of lines is the number of lines between
 * two places of neighbouring axes, each rounded to BAND units. Both are written as one path for each of four steps of
 * density, so the size of the picture depends on its area and not on the number of trials.
 */

enum {
    CELL = 4,
    CELLS_X = 256,
    CELLS_Y = 1024,
    BAND = 12,
    BANDS = 32,
    STEPS = 4,
    SEGMENT = MARK_POINTS * 2 * (DECIMAL_MAX + 1) /* bytes of the longest segment */
};

struct density {
    uint32_t cells[CELLS_X * CELLS_Y];
    uint32_t lines[MARK_POINTS][BANDS][BANDS]; /* [axis][band there][band at the next axis] */
    double x[MARK_POINTS];                     /* the axes */
    size_t n_points;
};

static size_t clamp(double value, size_t size, size_t n)
{
    double at = floor(value / (double)size);
    return at < 0 ? 0 : at >= (double)n ? n - 1 : (size_t)at;
}

static void add_density(struct density *density, const double *x, const double *y, size_t n)
{
    if (n == 1)
        density->cells[clamp(y[0], CELL, CELLS_Y) * CELLS_X + clamp(x[0], CELL, CELLS_X)]++;
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
             lines = largest(&density->lines[0][0][0], MARK_POINTS * BANDS * BANDS);
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

static size_t put_point(char *out, char command, double x, double y)
{
    size_t at = 0;
    out[at++] = command;
    at += decimal_text(out + at, x, 1);
    out[at++] = ' ';
    return at + decimal_text(out + at, y, 1);
}

/* Whether more marks were added than one path of the class should show. */
static bool is_dense(const struct marks *marks)
{
    const struct picture *p = marks->picture;
    return marks->density && marks->n > PICTURE_DENSE && (!p->narrow || p->model->n > PICTURE_TITLES);
}

/* A separate picture has no script that would draw the marks of a dense class, and neither has a narrow one beside a wide one. */
static bool only_density(const struct marks *marks)
{
    return is_dense(marks) && (marks->picture->alone || marks->picture->narrow);
}

static void add_segment(struct marks *marks, size_t i, const char *segment, size_t length)
{
    FILE *out = marks->picture->out;
    if (!marks->density) {
        fprintf(out, "<path class=\"m %s\" data-i=\"%zu\" d=\"%.*s\"><title>", marks->class, i, (int)length, segment);
        trial_title(out, marks->picture->model, &marks->picture->model->trials[i]);
        fputs("</title></path>\n", out);
        return;
    }
    char index[1 + DECIMAL_MAX] = " ";
    fwrite(index, 1, 1 + decimal_text(index + 1, (double)i, 0), marks->index);
    fwrite(segment, 1, length, marks->path);
}

void marks_add(struct marks *marks, size_t i, enum mark_shape shape, double x, double y)
{
    if (!isfinite(x) || !isfinite(y))
        return;
    static const char *const ends[] = {"h0", "l5 5m0-5l-5 5", "l2 3h-4z", "l2-3h-4z"};
    char segment[SEGMENT];
    const double corner = shape == MARK_CROSS ? 2.5 : 0; /* a cross begins at its corner */
    marks->n++;
    if (marks->density)
        add_density(marks->density, &x, &y, 1);
    if (only_density(marks))
        return;
    size_t at = put_point(segment, 'M', x - corner, y - corner), length = strlen(ends[shape]);
    memcpy(segment + at, ends[shape], length);
    add_segment(marks, i, segment, at + length);
}

void marks_add_line(struct marks *marks, size_t i, const double *x, const double *y, size_t n)
{
    char segment[SEGMENT];
    size_t at = 0;
    for (size_t k = 0; k < n; k++)
        if (!isfinite(x[k]) || !isfinite(y[k]))
            return;
    marks->n++;
    if (marks->density)
        add_density(marks->density, x, y, n);
    if (only_density(marks))
        return;
    for (size_t k = 0; k < n; k++)
        at += put_point(segment + at, k ? 'L' : 'M', x[k], y[k]);
    add_segment(marks, i, segment, at);
}

/* Without memory for a stream its marks are missing, but the page is valid. */
void marks_end(struct marks *marks)
{
    FILE *out = marks->picture->out;
    bool closed = !marks->index || fclose(marks->index) == 0;
    closed = (!marks->path || fclose(marks->path) == 0) && closed;
    if (marks->n && closed && marks->index_text && marks->path_text) {
        if (is_dense(marks))
            draw_density(marks);
        if (!only_density(marks))
            fprintf(out, "<path class=\"m %s\" data-i=\"%s\" %s=\"%s\"/>\n", marks->class, marks->index_text + 1,
                    is_dense(marks) ? "data-d" : "d", marks->path_text);
    }
    free(marks->index_text);
    free(marks->path_text);
    free(marks->density);
}
