/*
 * trial_card.c: prints one trial in full as an article. What the trial changed comes first.
 */
#include "report/picture.h"

#include <fcntl.h>

#include <lineage/code.h>
#include <lineage/render.h>
#include <lineage/snapshot.h>
#include <lineage/text.h>

#include "output/show.h"

enum {
    /* These limits keep the page small, because cards with their curves and diffs are most of its bytes. */
    CARDS_ALL = 150, /* all trials are shown if there are at most this many */
    CARDS_MAX = 150,
    CARDS_BEST = 20,
    CARDS_NEWEST = 20,
    CURVES = 8,
    POINTS = 120,
    DIFF_SHOWN = 24000,
    NOTES_SHOWN = 4000,
    CHANGES_SHOWN = 24,
    CITES_SHOWN = 30
};

/* ---- choosing trials ---- */

/* A trial that was chosen before is not counted again, so the order of the choices is their priority when room is
 * short. */
static void choose(bool *chosen, size_t *n, size_t i)
{
    if (!chosen[i] && *n < CARDS_MAX) {
        chosen[i] = true;
        ++*n;
    }
}

static int by_seq(const void *a, const void *b)
{
    const struct model_trial *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

void cards_choose(const struct model *model, bool *chosen, size_t *n)
{
    *n = 0;
    if (model->n <= CARDS_ALL) {
        for (size_t i = 0; i < model->n; i++)
            choose(chosen, n, i);
        return;
    }
    /* The newest first, because they are what a reader looks for in the morning. */
    for (size_t i = model->n, left = CARDS_NEWEST; i-- > 0 && left; left--)
        choose(chosen, n, i);
    for (size_t k = 0; k < model->summary->n_leaders && k < CARDS_BEST; k++) {
        const struct model_trial wanted = {.seq = model->summary->leaders[k].seq};
        const struct model_trial *leader = bsearch(&wanted, model->trials, model->n, sizeof wanted, by_seq);
        if (leader)
            choose(chosen, n, (size_t)(leader - model->trials));
    }
    for (size_t i = model->best; i != MODEL_NONE; i = model->trials[i].parent)
        choose(chosen, n, i);
    for (size_t i = model->n; i-- > model->night;)
        choose(chosen, n, i);
}

/* ---- what it changed, and citations ---- */

static void changes_part(const struct picture *p, size_t trial)
{
    const struct lineage_idea *idea = lineage_ideas_get(p->model->ideas, trial);
    struct lineage_change change;
    FILE *out = p->out;
    if (!idea->n_changes)
        return;
    fputs("<table class=\"changes\"><thead><tr><th scope=\"col\">changed</th><th scope=\"col\" class=\"n\">from</th>"
          "<th scope=\"col\" class=\"n\">to</th><th scope=\"col\">source</th></tr></thead><tbody>",
          out);
    for (size_t i = 0; i < CHANGES_SHOWN && lineage_ideas_change_at(&change, p->model->ideas, trial, i); i++) {
        html_print(out,
                   "<tr class=\"changed\"><th scope=\"row\">%.60s</th><td class=\"n\">%.60s</td><td class=\"n\">%.60s</td>"
                   "<td>%s</td></tr>",
                   change.name, change.from ? change.from : "–", change.to, lineage_change_source_name(change.source));
    }
    fputs("</tbody></table>", out);
    if (idea->n_changes > CHANGES_SHOWN)
        fprintf(out, "<p class=\"how\">%zu more changes are not shown.</p>", idea->n_changes - CHANGES_SHOWN);
    putc('\n', out);
}

static void cites_part(const struct picture *p, const char *words, const size_t *ideas, size_t n)
{
    if (!n)
        return;
    fprintf(p->out, "<p class=\"how\">%s ", words);
    for (size_t i = 0; i < n && i < CITES_SHOWN; i++) {
        size_t trial = p->model->of_idea[ideas[i]];
        fputs(i ? ", " : "", p->out);
        if (trial == MODEL_NONE)
            html_text(p->out, lineage_ideas_get(p->model->ideas, ideas[i])->exp_id, 40);
        else
            picture_trial_link(p, trial);
    }
    if (n > CITES_SHOWN)
        fprintf(p->out, " and %zu more", n - CITES_SHOWN);
    fputs("</p>\n", p->out);
}

/* ---- parameters ---- */

/* A linear search, because trials have about ten parameters. */
static const struct lineage_param *param_of(const struct model_trial *trial, const char *name)
{
    for (size_t i = 0; trial && i < trial->n_params; i++)
        if (strcmp(trial->params[i].name, name) == 0)
            return &trial->params[i];
    return NULL;
}

/* Whether both parameters exist and have the same value. */
static bool same_value(const struct lineage_param *a, const struct lineage_param *b)
{
    if (!a || !b || !a->text != !b->text)
        return false;
    return a->text ? strcmp(a->text, b->text) == 0 : a->value == b->value;
}

static const char *value_of(char text[LINEAGE_NUMBER_MAX], const struct lineage_param *param)
{
    return !param ? "not set" : param->text ? param->text : lineage_number_format(text, param->value);
}

static void put_setting(FILE *out, const struct lineage_param *param)
{
    char text[LINEAGE_NUMBER_MAX];
    html_print(out, "%.60s=%.80s", param->name, value_of(text, param));
}

static void param_row(FILE *out, bool first, const char *name, const struct lineage_param *now,
                      const struct lineage_param *before)
{
    fputs(first ? "<table class=\"changes\"><thead><tr><th>differs from the parent</th><th class=\"n\">here</th>"
                  "<th class=\"n\">parent</th></tr></thead><tbody>"
                : "",
          out);
    char a[LINEAGE_NUMBER_MAX], b[LINEAGE_NUMBER_MAX];
    html_print(out, "<tr class=\"changed\"><th scope=\"row\">%.60s</th><td class=\"n\">%.80s</td><td class=\"n\">%.80s</td></tr>",
               name, value_of(a, now), value_of(b, before));
}

/* Whether the table of changes shows the parameter. */
static bool is_declared(const struct picture *p, const struct model_trial *trial, const char *name)
{
    struct lineage_change change;
    for (size_t i = 0;
         trial->idea != MODEL_NONE && i < CHANGES_SHOWN && lineage_ideas_change_at(&change, p->model->ideas, trial->idea, i); i++)
        if (change.source == LINEAGE_CHANGE_DECLARED && strcmp(change.name, name) == 0)
            return true;
    return false;
}

/* Prints the parameters that differ from the parent, and that the table of changes does not show, as a table, and the
 * others in one line. */
static void params_part(const struct picture *p, const struct model_trial *trial, const struct model_trial *parent)
{
    FILE *out = p->out;
    bool any = false, rest = false;
    for (size_t i = 0; parent && i < trial->n_params; i++) {
        const struct lineage_param *before = param_of(parent, trial->params[i].name);
        if (same_value(&trial->params[i], before) || is_declared(p, trial, trial->params[i].name))
            continue;
        param_row(out, !any, trial->params[i].name, &trial->params[i], before);
        any = true;
    }
    /* A parameter that only the parent has is a change too. */
    for (size_t i = 0; parent && i < parent->n_params; i++)
        if (!param_of(trial, parent->params[i].name)) {
            param_row(out, !any, parent->params[i].name, NULL, &parent->params[i]);
            any = true;
        }
    fputs(any ? "</tbody></table>" : "", out);
    for (size_t i = 0; i < trial->n_params; i++) {
        if (parent && !same_value(&trial->params[i], param_of(parent, trial->params[i].name)))
            continue;
        fputs(rest ? ", " : parent ? "<p class=\"how\">Same as the parent: " : "<p class=\"how\">Parameters: ", out);
        put_setting(out, &trial->params[i]);
        rest = true;
    }
    fputs(rest ? "</p>" : "", out);
}

/* Prints the metrics that were measured beside the score, in one line. */
static void metrics_part(FILE *out, const struct model_trial *trial)
{
    for (size_t i = 0; i < trial->n_metrics; i++) {
        fputs(i ? ", " : "<p class=\"how\">Measured: ", out);
        put_setting(out, &trial->metrics[i]);
    }
    fputs(trial->n_metrics ? "</p>" : "", out);
}

/* ---- step curves ---- */

struct curve {
    char key[LINEAGE_NAME_MAX];
    double *step, *value;
    size_t n, room, value_room;
    int rank;
};

struct curves {
    struct curve *all;
    size_t n, room;
    bool failed;
};

/* Learning curves come first. Clocks, counters and the information gain, which has its own picture, come last or not at
 * all. */
static int rank_of(const char *key)
{
    static const char *const first[] = {"em",      "score", "val_loss",  "val_bpb",       "reward",         "loss",
                                        "entropy", "kl",    "grad_norm", "clip_fraction", "response_tokens"};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (strcmp(key, first[i]) == 0)
            return (int)i;
    return cli_ends_with(key, "_s") || cli_ends_with(key, "_tokens") || strncmp(key, "info_gain", 9) == 0 ? 1000 : 100;
}

static bool add_point(struct curve *curve, double step, double value)
{
    if (!CLI_ROOM(curve->step, curve->n, curve->room) || !CLI_ROOM(curve->value, curve->n, curve->value_room))
        return false;
    curve->step[curve->n] = step;
    curve->value[curve->n++] = value;
    return true;
}

/* Rows are sorted by key. */
static bool take_step(void *context, size_t n, const char *const *names, const char *const *texts)
{
    struct curves *curves = context;
    double step, value;
    (void)names;
    if (n < 3 || !texts[0] || !texts[1] || !texts[2] || !lineage_number_parse(&step, texts[1], strlen(texts[1])) ||
        !lineage_number_parse(&value, texts[2], strlen(texts[2])) || !isfinite(value) || !isfinite(step))
        return true;
    if (!curves->n || strncmp(curves->all[curves->n - 1].key, texts[0], LINEAGE_NAME_MAX - 1) != 0) {
        if (!CLI_ROOM(curves->all, curves->n, curves->room))
            return curves->failed = true, false;
        curves->all[curves->n] = (struct curve){.rank = rank_of(texts[0])};
        snprintf(curves->all[curves->n++].key, LINEAGE_NAME_MAX, "%s", texts[0]);
    }
    curves->failed = !add_point(&curves->all[curves->n - 1], step, value);
    return !curves->failed;
}

static int by_rank(const void *a, const void *b)
{
    const struct curve *x = a, *y = b;
    return x->rank != y->rank ? x->rank - y->rank : strcmp(x->key, y->key);
}

/* Draws every k-th point and the last one. */
static void draw_curve(const struct picture *p, const struct curve *c)
{
    double low = INFINITY, high = -INFINITY;
    char a[PICTURE_NUMBER], b[PICTURE_NUMBER], d[PICTURE_NUMBER];
    for (size_t i = 0; i < c->n; i++) {
        low = fmin(low, c->value[i]);
        high = fmax(high, c->value[i]);
    }
    /* The range is not rounded to ticks, because a picture this small has no ticks and the curve should fill it. */
    struct scale y = {low, high > low ? high : low + 1, 64, 18, 1};
    double first = c->step[0], span = c->step[c->n - 1] > first ? c->step[c->n - 1] - first : 1;
    /* 120 points are all that the width can show; runs of 10,000 steps would make a page of megabytes. */
    size_t every = (c->n + POINTS - 1) / POINTS;
    html_print(p->out,
               "<svg class=\"pic\" viewBox=\"0 0 190 80\" role=\"img\" data-first=\"%.9g\" data-last=\"%.9g\" data-low=\"%.9g\" "
               "data-high=\"%.9g\"><title>%.60s: %zu steps, last %s</title>",
               first, c->step[c->n - 1], y.low, y.high, c->key, c->n, number_text(a, c->value[c->n - 1], 4));
    picture_words(p, 4, 11, "axis", "%.20s", c->key);
    picture_words(p, 186, 11, "row end strong", "%s", number_text(a, c->value[c->n - 1], 4));
    picture_line(p, 4, 66, 186, 66, "grid");
    fputs("<path class=\"curve\" d=\"", p->out);
    for (size_t i = 0; i < c->n; i++)
        if (i % every == 0 || i + 1 == c->n)
            fprintf(p->out, "%c%.4g %.4g", i ? 'L' : 'M', 4 + 182 * (c->step[i] - first) / span, scale_at(&y, c->value[i]));
    fputs("\"/>", p->out);
    picture_words(p, 4, 78, "small", "%s", number_text(a, first, 6));
    picture_words(p, 186, 78, "small end", "step %s · %s to %s", number_text(a, c->step[c->n - 1], 6), number_text(b, low, 3),
                  number_text(d, high, 3));
    fputs("</svg>\n", p->out);
}

static void curves_part(const struct picture *p, const struct model_trial *trial)
{
    struct curves curves = {0};
    struct lineage_error err;
    char statement[160];
    size_t shown = 0;
    snprintf(statement, sizeof statement, "SELECT key, step, value FROM step_metrics WHERE seq = %" PRIu64 " ORDER BY key, step",
             trial->seq);
    if (lineage_sql(p->model->store, statement, take_step, &curves, &err) == LINEAGE_OK && !curves.failed && curves.n) {
        qsort(curves.all, curves.n, sizeof *curves.all, by_rank);
        for (size_t i = 0; i < curves.n && shown < CURVES; i++)
            if (curves.all[i].rank < 1000 && curves.all[i].n > 1) {
                fputs(shown++ ? "" : "<h3>Steps</h3><div class=\"curves\">\n", p->out);
                draw_curve(p, &curves.all[i]);
            }
        fputs(shown ? "</div>\n" : "", p->out);
    }
    for (size_t i = 0; i < curves.n; i++) {
        free(curves.all[i].step);
        free(curves.all[i].value);
    }
    free(curves.all);
}

/* ---- information gain ---- */

/* Bars start at 0 because the sign matters: a turn with a negative gain led away from the answer. */
static void gains_part(const struct picture *p, const struct model_trial *trial)
{
    enum { WIDTH = 34, SHOWN = 24 };
    double low = 0, high = 0;
    char text[PICTURE_NUMBER];
    size_t n = trial->n_turns < SHOWN ? trial->n_turns : SHOWN;
    if (!n)
        return;
    for (size_t i = 0; i < n; i++) {
        low = fmin(low, trial->turns[i].mean);
        high = fmax(high, trial->turns[i].mean);
    }
    struct scale y = {low, high > low ? high : low + 1, 86, 26, 1};
    fprintf(p->out,
            "<h3>Information gain by turn</h3>" HTML_SCROLL "<svg "
            "class=\"pic gains\" viewBox=\"0 0 %d 112\" width=\"%d\" role=\"img\"><title>Mean information gain of each "
            "turn</title>\n",
            30 + (int)n * WIDTH, 30 + (int)n * WIDTH);
    picture_line(p, 4, scale_at(&y, 0), 26 + (double)n * WIDTH, scale_at(&y, 0), "grid");
    for (size_t i = 0; i < n; i++) {
        const struct lineage_turn_stat *turn = &trial->turns[i];
        double x = 8 + (double)i * WIDTH, top = scale_at(&y, fmax(0, turn->mean)), foot = scale_at(&y, fmin(0, turn->mean));
        fprintf(p->out,
                "<rect class=\"bar %s\" x=\"%.4g\" y=\"%.4g\" width=\"22\" height=\"%.4g\"><title>turn %" PRIu32
                ": %.4g, standard deviation %.4g</title></rect>",
                turn->mean < 0 ? "fail" : "keep", x, top, fmax(1, foot - top), turn->turn, turn->mean, turn->std);
        picture_words(p, x + 11, 104, "tick mid", "%" PRIu32, turn->turn);
        picture_words(p, x + 11, top - 5, "small mid", "%s", number_text(text, turn->mean, 2));
    }
    fputs("</svg></div>\n", p->out);
}

/* ---- diff ---- */

/* The diff of two directories, which the caller frees; NULL if they cannot be compared. */
static char *read_diff(const char *from, const char *to, size_t *n)
{
    int a = open(from, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
        b = open(to, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char *text = NULL;
    FILE *out = a >= 0 && b >= 0 ? open_memstream(&text, n) : NULL;
    if (out) {
        (void)tree_diff(out, a, b, (size_t)1 << 20, DIFF_SHOWN);
        fclose(out);
    }
    cli_close(a);
    cli_close(b);
    return text;
}

/* Uses <ins> and <del> in addition to colours, for readers who have only the text of the page or a print. Long lines
 * are shortened, because snapshots may hold minified files and data. */
static void put_diff(FILE *out, const char *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = end ? (size_t)(end - text) - at : n - at;
        const char *tag = text[at] == '+' ? "ins" : text[at] == '-' ? "del" : NULL;
        if (tag)
            fprintf(out, "<%s>", tag);
        html_bytes(out, text + at, length, 400);
        if (tag)
            fprintf(out, "</%s>", tag);
        putc('\n', out);
        at += length + 1;
    }
}

/* A missing snapshot is usual, because only kept trials have one, and leaves this part out. */
static char *snapshot_of(const struct model *model, const struct model_trial *trial)
{
    struct lineage_trial row = {.exp_id = trial->id, .specialist = trial->specialist, .snapshot_path = trial->snapshot};
    struct lineage_error err;
    char *path = NULL;
    return *trial->snapshot && lineage_snapshot_path(&path, model->store, &row, &err) == LINEAGE_OK ? path : NULL;
}

static void show_diff(const struct picture *p, const struct model_trial *trial, const char *text, size_t n, bool cut)
{
    fputs("<h3>Changes of its files</h3><pre>", p->out);
    put_diff(p->out, text, n);
    if (cut) /* names the command that shows all of it */
        html_print(p->out, "… the rest: lineage diff %.60s", trial->id);
    fputs("</pre>\n", p->out);
}

/* Shows the diff by which the trial changed its code, which is kept for discarded and failed trials too. */
static void own_diff_part(const struct picture *p, const struct model_trial *trial)
{
    const struct lineage_trial row = {.exp_id = trial->id, .notes = trial->notes};
    struct lineage_error err;
    char *text;
    size_t n;
    if (lineage_code_diff(&text, &n, p->model->store, &row, &err) != LINEAGE_OK) {
        html_print(p->out, "<h3>Changes of its files</h3><p>%.400s</p>\n", err.text);
        return;
    }
    show_diff(p, trial, text, n < DIFF_SHOWN ? n : DIFF_SHOWN, n > DIFF_SHOWN);
    lineage_free(text);
}

static void diff_part(const struct picture *p, const struct model_trial *trial, const struct model_trial *parent)
{
    struct lineage_code_note note;
    if (lineage_code_note_parse(&note, trial->notes) && note.change[0]) {
        own_diff_part(p, trial);
        return;
    }
    char *from = parent ? snapshot_of(p->model, parent) : NULL, *to = from ? snapshot_of(p->model, trial) : NULL;
    size_t n = 0;
    char *text = to ? read_diff(from, to, &n) : NULL;
    if (text && n)
        show_diff(p, trial, text, n < DIFF_SHOWN ? n : DIFF_SHOWN, n > DIFF_SHOWN);
    free(text);
    lineage_free(from);
    lineage_free(to);
}

/* ---- the card ---- */

static void pair(FILE *out, const char *name, const char *text, size_t max)
{
    if (*text)
        html_print(out, "<dt>%s</dt><dd>%.*s</dd>", name, (int)max, text);
}

static void seconds_pair(FILE *out, const char *name, struct lineage_number seconds)
{
    if (seconds.present)
        fprintf(out, "<dt>%s</dt><dd>%.4g s</dd>", name, seconds.value);
}

static void verdict_pair(FILE *out, const struct lineage_hypothesis *prediction)
{
    char text[LINEAGE_HYPOTHESIS_TEXT_MAX];
    pair(out, "verdict", lineage_hypothesis_text(text, prediction), 0);
}

void trial_card(const struct picture *p, size_t i, bool with_diff)
{
    const struct model_trial *trial = &p->model->trials[i];
    const struct model_trial *parent = trial->parent == MODEL_NONE ? NULL : &p->model->trials[trial->parent];
    const struct lineage_idea *idea = trial->idea == MODEL_NONE ? NULL : lineage_ideas_get(p->model->ideas, trial->idea);
    FILE *out = p->out;
    char gain[PICTURE_NUMBER], claim[LINEAGE_CLAIM_TEXT_MAX];
    const struct lineage_trial row = {.exp_id = trial->id, .status = trial->label, .delta_vs_best = trial->before};
    fprintf(out, "<article class=\"card\" id=\"s%zu-t%zu\" data-i=\"%zu\"><h3><span class=\"tag %s\">", p->store, i, i,
            outcome_class(trial->label));
    trial_title(out, p->model, trial);
    fputs("</span></h3>", out);
    if (idea) {
        changes_part(p, trial->idea);
        cites_part(p, "Cites", idea->cites, idea->n_cites);
        cites_part(p, "Cited by", idea->cited_by, idea->n_cited_by);
    }
    fputs("<dl>", out);
    pair(out, "hypothesis", trial->hypothesis, 2000);
    pair(out, "expected", trial->expected, 60);
    verdict_pair(out, &trial->prediction);
    pair(out, "claim", lineage_claim_text(claim, p->model->store, &row), 0);
    if (trial->score.present && trial->before.present)
        fprintf(out, "<dt>against the best</dt><dd>%s</dd>", signed_text(gain, trial->score.value - trial->before.value, 4));
    pair(out, "specialist", trial->specialist, 80);
    pair(out, "parent", trial->parent_exp, 80);
    pair(out, "appended", trial->timestamp, 40);
    struct lineage_code_note note;
    struct lineage_commit_note commit;
    if (lineage_code_note_parse(&note, trial->notes))
        pair(out, "code", note.change, 400);
    else if (lineage_commit_note_parse(&commit, trial->notes))
        pair(out, "code", commit.change, 400);
    seconds_pair(out, "training", trial->train_s);
    seconds_pair(out, "in all", trial->total_s);
    pair(out, "notes", trial->notes, NOTES_SHOWN);
    fputs("</dl>\n", out);
    params_part(p, trial, parent);
    metrics_part(out, trial);
    curves_part(p, trial);
    gains_part(p, trial);
    if (with_diff)
        diff_part(p, trial, parent);
    fputs("</article>\n", out);
}
