/* held_out_section.c: see picture.h. */
#include "report/picture.h"

#include "output/show.h"

enum { HEIGHT = 260, LEFT = 70, RIGHT = 20, TOP = 20, BOTTOM = 30, TICKS = 5, NAME_BYTES = 64 };

struct held {
    const struct model *model;
    double *value; /* [model->n]; NAN: the trial has none */
    char name[NAME_BYTES];
    size_t n;
};

/* The latest value of a trial counts. The file and the log have the same order, so the search goes on where it ended. */
static void take(void *context, const char *exp_id, const char *name, double value)
{
    struct held *held = context;
    snprintf(held->name, sizeof held->name, "%s", name);
    for (size_t i = held->model->n; i-- > 0;)
        if (strcmp(held->model->trials[i].id, exp_id) == 0) {
            held->n += isnan(held->value[i]) ? 1 : 0;
            held->value[i] = value;
            return;
        }
}

/* NAN for a trial without one of the two. */
static double gap_of(const struct held *held, size_t i)
{
    const struct model_trial *trial = &held->model->trials[i];
    return trial->measured ? trial->score.value - held->value[i] : (double)NAN;
}

/* The gap over the trials that have one, in the order of the log. */
static void draw(const struct picture *p, const struct held *held)
{
    double low = 0, high = 0, x = LEFT, y = 0;
    size_t n = 0, k = 0;
    for (size_t i = 0; i < held->model->n; i++)
        if (!isnan(gap_of(held, i))) {
            low = fmin(low, gap_of(held, i));
            high = fmax(high, gap_of(held, i));
            n++;
        }
    if (n < 2)
        return;
    const struct scale scale = scale_linear(low, high, HEIGHT - BOTTOM, TOP, TICKS);
    picture_begin(p, "held-out", PICTURE_WIDE, HEIGHT, "Gap between the score and the held-out score",
                  "The score minus the held-out score of %zu trials.", n);
    picture_y_axis(p, &scale, LEFT, PICTURE_WIDE - RIGHT, "score − held-out");
    for (size_t i = 0; i < held->model->n; i++) {
        if (isnan(gap_of(held, i)))
            continue;
        const double at = LEFT + (double)(PICTURE_WIDE - LEFT - RIGHT) * (double)k / (double)(n - 1);
        const double level = scale_at(&scale, gap_of(held, i));
        if (k++)
            picture_line(p, x, y, at, level, "best");
        x = at;
        y = level;
    }
    picture_end(p);
}

static void print_rows(const struct picture *p, const struct held *held)
{
    char score[PICTURE_NUMBER], other[PICTURE_NUMBER], gap[PICTURE_NUMBER];
    html_print(p->out,
               HTML_SCROLL "<table><thead><tr><th scope=\"col\">trial</th><th scope=\"col\" class=\"n\">%.40s</th><th "
                           "scope=\"col\" class=\"n\">%.40s</th><th scope=\"col\" class=\"n\">gap</th></tr></thead><tbody>\n",
               p->model->metric, held->name);
    for (size_t i = 0; i < p->model->n; i++) {
        if (isnan(held->value[i]))
            continue;
        fputs("<tr><td>", p->out);
        picture_trial_link(p, i);
        fprintf(p->out, "</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
                p->model->trials[i].score.present ? score_text(score, &p->model->trials[i]) : "–",
                lineage_mean_text(other, held->value[i], p->model->margin),
                isnan(gap_of(held, i)) ? "–" : signed_text(gap, gap_of(held, i), 3));
    }
    fputs("</tbody></table></div>\n", p->out);
}

void held_out_section(const struct picture *p)
{
    struct held held = {.model = p->model, .value = malloc((p->model->n + 1) * sizeof *held.value)};
    size_t unread = 0;
    for (size_t i = 0; held.value && i < p->model->n; i++)
        held.value[i] = (double)NAN;
    fprintf(p->out, "<section><h2 id=\"s%zu-held-out\">Held out</h2>\n", p->store);
    const bool good = held.value && held_out_file_read(p->model->store, take, &held, &unread);
    if (!good)
        fputs("<p>The held-out scores cannot be read.</p>\n", p->out);
    else if (!held.n)
        fputs("<p>No trial has a held-out score (lineage run --held-out NAME).</p>\n", p->out);
    else {
        fputs("<p class=\"how\">The score of each trial minus the score that no planner saw. A gap that grows in the direction "
              "in which the score improves says that trials fit the score, and not the task.</p>\n",
              p->out);
        draw(p, &held);
        print_rows(p, &held);
    }
    if (unread)
        fprintf(p->out, "<p>%zu lines of held-out.jsonl cannot be read.</p>\n", unread);
    fputs("</section>\n", p->out);
    free(held.value);
}
