/*
 * hypotheses.c: prints the trials that predicted a change, with the verdict on each; see picture.h. Supported and
 * refuted predictions come first, because they are what the store has learned; inconclusive ones follow as far as there
 * is room.
 */
#include "report/picture.h"

enum { ROWS = 60 };

static void happened_cell(FILE *out, const struct lineage_hypothesis *h)
{
    char text[PICTURE_NUMBER];
    fprintf(out, "<td class=\"n\">%s", signed_text(text, h->happened, 4));
    if (h->margin > 0)
        fprintf(out, " ± %s", number_text(text, h->margin, 2));
    fputs("</td>", out);
}

static void print_row(const struct picture *p, size_t i)
{
    const struct model_trial *trial = &p->model->trials[i];
    char text[PICTURE_NUMBER];
    FILE *out = p->out;
    fprintf(out, "<tr><td><span class=\"verdict v%d\">%s</span></td><td>", (int)trial->prediction.verdict,
            lineage_verdict_name(trial->prediction.verdict));
    picture_trial_link(p, i);
    html_print(out, "</td><td class=\"h\">%.400s</td><td class=\"n\">%s</td>", *trial->hypothesis ? trial->hypothesis : "–",
               signed_text(text, trial->prediction.expected, 4));
    happened_cell(out, &trial->prediction);
    fputs("</tr>\n", out);
}

static size_t print_rows(const struct picture *p, enum lineage_verdict verdict, size_t room)
{
    size_t shown = 0;
    for (size_t i = p->model->n; i-- > 0 && shown < room;)
        if (p->model->trials[i].prediction.verdict == verdict) {
            print_row(p, i);
            shown++;
        }
    return shown;
}

void hypotheses_print(const struct picture *p)
{
    static const enum lineage_verdict order[] = {LINEAGE_SUPPORTED, LINEAGE_REFUTED, LINEAGE_INCONCLUSIVE};
    size_t counts[LINEAGE_N_VERDICTS] = {0}, total, shown = 0;
    FILE *out = p->out;
    for (size_t i = 0; i < p->model->n; i++)
        counts[p->model->trials[i].prediction.verdict]++;
    total = p->model->n - counts[LINEAGE_VERDICT_NONE];
    if (!total) {
        fputs("<p class=\"none\">No trial that was kept or discarded predicted a change (--expected-delta).</p>\n", out);
        return;
    }
    fprintf(out,
            "<p>%zu supported, %zu refuted, %zu inconclusive. <span class=\"how\">A prediction is supported if the 95 %% "
            "interval of the measured change is on the predicted side of 0, and refuted if an improvement as large as predicted "
            "is excluded.%s</span></p>\n",
            counts[LINEAGE_SUPPORTED], counts[LINEAGE_REFUTED], counts[LINEAGE_INCONCLUSIVE],
            p->model->summary->margin > 0 ? "" : " Without a noise floor every verdict is inconclusive.");
    fputs(HTML_SCROLL "<table class=\"verdicts\"><thead><tr><th scope=\"col\">verdict</th><th scope=\"col\">trial</th>"
                      "<th scope=\"col\">hypothesis</th><th scope=\"col\" class=\"n\">expected</th><th scope=\"col\" "
                      "class=\"n\">measured</th></tr></thead><tbody>\n",
          out);
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        shown += print_rows(p, order[k], k == 0 ? ROWS / 2 : ROWS - shown);
    fputs("</tbody></table></div>\n", out);
    if (shown < total)
        fprintf(out,
                "<p class=\"how\">%zu of %zu are listed, newest first. The column verdict of the table of trials has all of "
                "them.</p>\n",
                shown, total);
}
