/*
 * picture_tree.c: draws the lineage as a graph of rows, as `git log --graph` lays out commits.
 *
 * A row is a trial that was kept or has children. The child that leads on (towards the best trial, or else the one with
 * the most descendants) stays in its parent's lane, so that a chain of a hundred kept trials is a straight line; the
 * other rows branch off into lanes of their own. All other trials are dots beside the row of their nearest ancestor
 * with a row, so that a store of 10,000 trials remains readable.
 */

#include "report/picture.h"

enum {
    ROWS_MAX = 160,
    ROW = 22,
    LANE = 16,
    LANES_MAX = 18, /* deeper branches share the last lane */
    LEFT = 16,
    DOTS = 470, /* x coordinate where the dots begin */
    DOTS_RIGHT = 992,
    LINES_MAX = 4, /* a row with more lines of dots gets a bar instead */
    DOT = 9,
    GUTTER = 56,    /* room for the arcs of citations */
    ARCS_MAX = 120
};

struct tree {
    const struct picture *p;
    size_t n;
    size_t *descendants; /* [n] */
    bool *row;           /* [n] */
    size_t *owner;       /* [n]; the trial itself or its nearest ancestor that has a row; MODEL_NONE: none */
    size_t *first_child, *next_child; /* [n]; among rows */
    size_t *last_child;
    size_t *dots, *dot_list, *dot_at; /* [n], [n], [n + 1]: the trials beside each row */
    struct place {
        double x, y;
    } *place; /* [n]; for rows */
    size_t *order, *lane, n_rows; /* rows from top to bottom */
    size_t loose;                 /* dots without a row above them */
    struct arc {
        size_t from, to; /* a row cites a row */
    } arcs[ARCS_MAX];
    size_t n_arcs, more_arcs; /* arcs drawn and left out */
    double left;              /* x coordinate of the first lane */
    double up, down;              /* spread of gains and of losses, for the colours */
};

/* ---- which trials get a row ---- */

/* A parent may come after its child in the file, so a trial is added to its parent only after all its children were
 * added. */
static void count_descendants(struct tree *t)
{
    const struct model_trial *trials = t->p->model->trials;
    size_t *waiting = t->dots, *ready = t->order, n_ready = 0;
    for (size_t i = 0; i < t->n; i++)
        waiting[i] = 0;
    for (size_t i = 0; i < t->n; i++)
        if (trials[i].parent != MODEL_NONE)
            waiting[trials[i].parent]++;
    for (size_t i = 0; i < t->n; i++)
        if (!waiting[i])
            ready[n_ready++] = i;
    for (size_t k = 0; k < n_ready; k++) {
        size_t parent = trials[ready[k]].parent;
        if (parent == MODEL_NONE)
            continue;
        t->descendants[parent] += t->descendants[ready[k]] + 1;
        if (--waiting[parent] == 0)
            ready[n_ready++] = parent;
    }
}

struct candidate {
    size_t i, weight;
};

static int by_weight(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->i > y->i) - (x->i < y->i);
}

/* The chain comes first, then kept trials by their number of descendants, then others with children. */
static size_t weight_of(const struct tree *t, size_t i)
{
    const struct model_trial *trial = &t->p->model->trials[i];
    size_t weight = t->descendants[i];
    if (lineage_label_is_kept(trial->label))
        weight += t->n + 1;
    if (trial->on_chain)
        weight += 4 * (t->n + 1);
    return weight;
}

/* Sorts only if there are too many trials, because the weight only decides which trials are left out. Of a chain that is longer
 * than the picture, the beginning and the end are shown. */
static bool choose_rows(struct tree *t)
{
    struct candidate *all = malloc((t->n + 1) * sizeof *all);
    size_t n = 0, chain = 0;
    for (size_t i = 0; all && i < t->n; i++)
        if (weight_of(t, i) > 0) {
            all[n++] = (struct candidate){i, weight_of(t, i)};
            chain += t->p->model->trials[i].on_chain;
        }
    if (all && n > ROWS_MAX)
        qsort(all, n, sizeof *all, by_weight);
    for (size_t k = 0; all && k < n && k < ROWS_MAX; k++)
        t->row[all[chain > ROWS_MAX && k >= ROWS_MAX / 4 ? chain - ROWS_MAX + k : k].i] = true;
    free(all);
    return all != NULL;
}

enum { NOT_YET = 1, KNOWN };

/* Walks upwards to the nearest row or to a trial whose owner is known, and then gives the whole way its owner, so that long
 * chains take time in proportion to their length. This ends, because the store's walk has broken all cycles of parents. */
static void find_owners(struct tree *t)
{
    const struct model_trial *trials = t->p->model->trials;
    size_t *known = t->lane; /* not used before lay_rows */
    for (size_t i = 0; i < t->n; i++)
        known[i] = NOT_YET;
    for (size_t i = 0; i < t->n; i++) {
        size_t above = i, owner;
        while (above != MODEL_NONE && !t->row[above] && known[above] == NOT_YET)
            above = trials[above].parent;
        owner = above == MODEL_NONE ? MODEL_NONE : t->row[above] ? above : t->owner[above];
        for (size_t at = i; at != above; at = trials[at].parent) {
            t->owner[at] = owner;
            known[at] = KNOWN;
        }
        if (above != MODEL_NONE) {
            t->owner[above] = owner;
            known[above] = KNOWN;
        }
    }
    memset(t->lane, 0, t->n * sizeof *t->lane);
}

/* ---- layout ---- */

/* The nearest ancestor with a row replaces a parent without one, so that a chain through omitted trials stays
 * connected. */
static size_t parent_row(const struct tree *t, size_t i)
{
    size_t parent = t->p->model->trials[i].parent;
    return parent == MODEL_NONE ? MODEL_NONE : t->owner[parent];
}

/* Appends at the end, so that children stay in file order. */
static void link_rows(struct tree *t)
{
    for (size_t i = 0; i < t->n; i++)
        t->first_child[i] = t->next_child[i] = t->last_child[i] = MODEL_NONE;
    for (size_t i = 0; i < t->n; i++) {
        size_t parent = t->row[i] ? parent_row(t, i) : MODEL_NONE;
        if (parent == MODEL_NONE)
            continue;
        if (t->first_child[parent] == MODEL_NONE)
            t->first_child[parent] = i;
        else
            t->next_child[t->last_child[parent]] = i;
        t->last_child[parent] = i;
    }
}

/* `>` instead of `>=`: of equal children the older one leads, so that the same store always gives the same page. */
static size_t leading_child(const struct tree *t, size_t i)
{
    size_t lead = MODEL_NONE;
    for (size_t c = t->first_child[i]; c != MODEL_NONE; c = t->next_child[c])
        if (lead == MODEL_NONE || weight_of(t, c) > weight_of(t, lead))
            lead = c;
    return lead;
}

/* Places branches below their parent, and the child that leads on below the branches. */
static void lay_rows(struct tree *t, size_t *stack)
{
    for (size_t root = 0; root < t->n; root++) {
        size_t depth = 0;
        if (!t->row[root] || parent_row(t, root) != MODEL_NONE)
            continue;
        stack[depth++] = root;
        t->lane[root] = 0;
        while (depth) {
            size_t i = stack[--depth], lead = leading_child(t, i), begin;
            t->order[t->n_rows++] = i;
            if (lead == MODEL_NONE)
                continue;
            stack[depth++] = lead;
            t->lane[lead] = t->lane[i];
            begin = depth;
            for (size_t c = t->first_child[i]; c != MODEL_NONE; c = t->next_child[c])
                if (c != lead) {
                    stack[depth++] = c;
                    t->lane[c] = t->lane[i] + 1;
                }
            for (size_t a = begin, b = depth; a + 1 < b; a++) { /* the stack returns the oldest first */
                size_t held = stack[a];
                stack[a] = stack[--b];
                stack[b] = held;
            }
        }
    }
}

/* Counts, sums up, then fills: one array holds the lists of all rows, without an allocation for each. */
static void gather_dots(struct tree *t)
{
    memset(t->dot_at, 0, (t->n + 1) * sizeof *t->dot_at);
    for (size_t i = 0; i < t->n; i++)
        if (!t->row[i] && t->owner[i] != MODEL_NONE)
            t->dot_at[t->owner[i] + 1]++;
        else if (!t->row[i])
            t->loose++;
    for (size_t i = 0; i < t->n; i++)
        t->dot_at[i + 1] += t->dot_at[i];
    memcpy(t->dots, t->dot_at, t->n * sizeof *t->dots);
    for (size_t i = 0; i < t->n; i++)
        if (!t->row[i] && t->owner[i] != MODEL_NONE)
            t->dot_list[t->dots[t->owner[i]]++] = i;
}

static void take_arcs(struct tree *t, bool chain)
{
    const struct model *model = t->p->model;
    for (size_t k = 0; k < t->n_rows; k++) {
        size_t i = t->order[k];
        if (model->trials[i].idea == MODEL_NONE || model->trials[i].on_chain != chain)
            continue;
        const struct lineage_idea *idea = lineage_ideas_get(model->ideas, model->trials[i].idea);
        for (size_t c = 0; c < idea->n_cites; c++) {
            size_t cited = model->of_idea[idea->cites[c]];
            if (cited == MODEL_NONE || cited == i || !t->row[cited] || cited == parent_row(t, i))
                continue;
            if (t->n_arcs < ARCS_MAX)
                t->arcs[t->n_arcs++] = (struct arc){i, cited};
            else
                t->more_arcs++;
        }
    }
}

/* Citations between rows, except of the parent, which an edge joins already. Those of the chain come first, because they
 * say what the best is made of. */
static void find_arcs(struct tree *t)
{
    take_arcs(t, true);
    take_arcs(t, false);
    t->left = LEFT + (t->n_arcs ? GUTTER : 0);
}

static size_t per_line(void)
{
    return (DOTS_RIGHT - DOTS) / DOT;
}

static size_t dots_of(const struct tree *t, size_t row)
{
    return t->dot_at[row + 1] - t->dot_at[row];
}

/* More dots would be a slab; how they are distributed can be read from a bar. A narrow picture has bars only. */
static bool is_bar(const struct tree *t, size_t dots)
{
    return dots && (t->p->narrow || dots > LINES_MAX * per_line());
}

static double lines_height(const struct tree *t, size_t dots)
{
    double lines = (double)((dots + per_line() - 1) / per_line());
    if (is_bar(t, dots))
        return t->p->narrow ? 2 * ROW : ROW;
    return fmax(ROW, lines * DOT + 6);
}

static double place_rows(struct tree *t)
{
    double y = 34;
    for (size_t k = 0; k < t->n_rows; k++) {
        size_t i = t->order[k], lane = t->lane[i] < LANES_MAX ? t->lane[i] : LANES_MAX - 1;
        t->place[i] = (struct place){t->left + (double)(lane * LANE), y};
        y += lines_height(t, dots_of(t, i));
    }
    return y;
}

/* ---- drawing ---- */

enum { N_KINDS = 8 };

static const char *const kinds[N_KINDS] = {"fail", "down3", "down2", "down1", "zero", "up1", "up2", "up3"};
static const char *const kind_words[N_KINDS] = {"without a score",  "far worse",       "worse",  "a little worse",
                                                "without a change", "a little better", "better", "far better"};

/* Returns one of eight kinds: three for better, three for worse, one for almost no change, and one for no score. */
static size_t kind_of(const struct tree *t, size_t i)
{
    const struct model_trial *trial = &t->p->model->trials[i];
    if (!trial->measured)
        return 0;
    double gain = trial->before.present ? model_gain(t->p->model, trial->score.value, trial->before.value) : 0;
    double spread = gain > 0 ? t->up : t->down, part = spread > 0 ? gain / spread : 0;
    return part > 0.66 ? 7 : part > 0.2 ? 6 : part > 0 ? 5 : part < -0.66 ? 1 : part < -0.2 ? 2 : part < 0 ? 3 : 4;
}

/* Returns the 90th percentile of the changes with that sign instead of their maximum, because gains are small in stores
 * where one run in a hundred diverges. */
static double spread_of(const struct tree *t, double *room, double sign)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct model_trial *trial = &t->p->model->trials[i];
        double gain = trial->before.present ? sign * model_gain(t->p->model, trial->score.value, trial->before.value) : 0;
        if (trial->measured && gain > 0)
            room[n++] = gain;
    }
    return n ? picture_rank(room, n, (n - 1) * 9 / 10) : 0;
}

static bool find_spread(struct tree *t)
{
    double *room = malloc((t->n + 1) * sizeof *room);
    if (room) {
        t->up = spread_of(t, room, 1);
        t->down = spread_of(t, room, -1);
    }
    free(room);
    return room != NULL;
}

/* Called twice, the second time for the chain, because later drawings are on top. */
static void draw_edges(const struct tree *t, bool chain)
{
    fprintf(t->p->out, "<path class=\"%s\" d=\"", chain ? "edge chain" : "edge");
    for (size_t k = 0; k < t->n_rows; k++) {
        size_t i = t->order[k], parent = parent_row(t, i);
        if (parent == MODEL_NONE || t->p->model->trials[i].on_chain != chain)
            continue;
        struct place a = t->place[parent], b = t->place[i];
        if (a.x == b.x)
            fprintf(t->p->out, "M%.5g %.6gV%.6g", a.x, a.y, b.y);
        else
            fprintf(t->p->out, "M%.5g %.6gC%.5g %.6g %.5g %.6g %.5g %.6g", a.x, a.y, a.x, b.y, a.x, b.y, b.x, b.y);
    }
    fputs("\"/>\n", t->p->out);
}

/* The arcs are beside the lanes, where they cross no text: far trials are joined by wide arcs. */
static void draw_arcs(const struct tree *t)
{
    double x = t->left - 9;
    for (size_t k = 0; k < t->n_arcs; k++) {
        double a = t->place[t->arcs[k].from].y, b = t->place[t->arcs[k].to].y;
        double out = fmin(GUTTER - 4, 6 + 2.4 * sqrt(fabs(a - b))) * 4 / 3;
        html_print(
            t->p->out,
            "<path class=\"cite\" d=\"M%.5g %.6gC%.5g %.6g %.5g %.6g %.5g %.6g\"><title>%.40s cites %.40s</title></path>\n", x, a,
            x - out, a, x - out, b, x, b, t->p->model->trials[t->arcs[k].from].id, t->p->model->trials[t->arcs[k].to].id);
    }
}

/* The hypothesis takes the room that the id and the score leave, up to the dots if the row has any. */
static size_t room_for_text(const struct tree *t, size_t i, double x, size_t used)
{
    double end = !t->p->narrow && dots_of(t, i) ? DOTS - 8 : picture_width(t->p) - 8;
    return (size_t)fmax(8, (end - x) / 6.9 - (double)used);
}

static void draw_names(const struct tree *t)
{
    for (size_t k = 0; k < t->n_rows; k++) {
        size_t i = t->order[k], used;
        const struct model_trial *trial = &t->p->model->trials[i];
        double x = t->place[i].x + 10, y = t->place[i].y + 4;
        char score[PICTURE_NUMBER], gain[PICTURE_NUMBER], words[3 * PICTURE_NUMBER];
        used = (size_t)snprintf(words, sizeof words, " %s",
                                trial->score.present ? score_text(score, trial)
                                : *trial->odd        ? trial->odd
                                                     : label_words(trial->label));
        if (trial->score.present && trial->before.present)
            used += (size_t)snprintf(words + used, sizeof words - used, " (%s)",
                                     signed_text(gain, trial->score.value - trial->before.value, 2));
        used += 3 + strnlen(trial->id, 14);
        html_print(t->p->out,
                   "<text class=\"row%s\" x=\"%.5g\" y=\"%.6g\" data-n=\"%zu\"><tspan class=\"id\">%.14s</tspan>%s  <tspan "
                   "class=\"quiet\">%.*s</tspan></text>\n",
                   trial->on_chain ? " strong" : "", x, y, i, trial->id, words, (int)room_for_text(t, i, x, used),
                   trial->hypothesis);
    }
}

/* Draws kind by kind instead of row by row: beyond PICTURE_TITLES trials one path holds all marks of a kind, and only
 * one kind can be open at a time. */
static void draw_dots(const struct tree *t, size_t kind)
{
    struct marks marks;
    char class[32];
    bool fail = kind == 0;
    snprintf(class, sizeof class, "%s %s", fail ? "cross" : "dot", kinds[kind]);
    if (marks_begin(&marks, t->p, class, t->n))
        for (size_t k = 0; k < t->n_rows; k++) {
            size_t i = t->order[k];
            for (size_t d = t->dot_at[i]; d < t->dot_at[i + 1] && !is_bar(t, dots_of(t, i)); d++) {
                size_t at = d - t->dot_at[i];
                double x = DOTS + 6 + (double)(at % per_line() * DOT), y = t->place[i].y + (double)(at / per_line() * DOT);
                if (kind_of(t, t->dot_list[d]) != kind)
                    continue;
                marks_add(&marks, t->dot_list[d], fail ? MARK_CROSS : MARK_DOT, x, y);
            }
        }
    marks_end(&marks);
}

static void draw_nodes(const struct tree *t, size_t kind)
{
    struct marks marks;
    char class[40];
    snprintf(class, sizeof class, "node %s", kinds[kind]);
    if (marks_begin(&marks, t->p, class, t->n))
        for (size_t k = 0; k < t->n_rows; k++)
            if (kind_of(t, t->order[k]) == kind)
                marks_add(&marks, t->order[k], MARK_DOT, t->place[t->order[k]].x, t->place[t->order[k]].y);
    marks_end(&marks);
}

/* A bar has a part for each colour, as wide as its share of the trials. */
static void draw_bar(const struct tree *t, const size_t *counts, size_t total, double y)
{
    double x = t->p->narrow ? t->left + 26 : DOTS + 6, end = t->p->narrow ? PICTURE_NARROW - 70 : DOTS_RIGHT - 70, room = end - x;
    for (size_t k = 0; k < N_KINDS; k++) {
        double width = room * (double)counts[k] / (double)total;
        if (counts[k])
            fprintf(t->p->out,
                    "<rect class=\"part %s\" x=\"%.5g\" y=\"%.6g\" width=\"%.5g\" height=\"10\"><title>%zu %s</title></rect>",
                    kinds[k], x, y - 5, fmax(0.5, width), counts[k], kind_words[k]);
        x += width;
    }
    picture_words(t->p, end + 6, y + 4, "small quiet", "%zu", total);
    putc('\n', t->p->out);
}

static void draw_bars(const struct tree *t)
{
    for (size_t k = 0; k < t->n_rows; k++) {
        size_t row = t->order[k], counts[N_KINDS] = {0};
        if (!is_bar(t, dots_of(t, row)))
            continue;
        for (size_t d = t->dot_at[row]; d < t->dot_at[row + 1]; d++)
            counts[kind_of(t, t->dot_list[d])]++;
        draw_bar(t, counts, dots_of(t, row), t->place[row].y + (t->p->narrow ? 18 : 0));
    }
}

static void draw_loose_bar(const struct tree *t, double y)
{
    size_t counts[N_KINDS] = {0};
    for (size_t i = 0; i < t->n; i++)
        if (!t->row[i] && t->owner[i] == MODEL_NONE)
            counts[kind_of(t, i)]++;
    draw_bar(t, counts, t->loose, y + (t->p->narrow ? 18 : 0));
}

/* Trials with neither parent nor children have no row to be drawn beside. They are drawn anyway, so that the number of
 * marks is right. */
static void draw_loose(const struct tree *t, double y)
{
    if (!t->loose)
        return;
    picture_words(t->p, LEFT, y + 4, "row quiet", "without parent and children");
    if (is_bar(t, t->loose)) {
        draw_loose_bar(t, y);
        return;
    }
    for (size_t k = 0; k < N_KINDS; k++) {
        struct marks marks;
        char class[32];
        bool fail = k == 0;
        size_t at = 0;
        snprintf(class, sizeof class, "%s %s", fail ? "cross" : "dot", kinds[k]);
        if (marks_begin(&marks, t->p, class, t->n))
            for (size_t i = 0; i < t->n; i++) {
                if (t->row[i] || t->owner[i] != MODEL_NONE)
                    continue;
                double x = DOTS + 6 + (double)(at % per_line() * DOT), dy = y + (double)(at / per_line() * DOT);
                at++;
                if (kind_of(t, i) == k)
                    marks_add(&marks, i, fail ? MARK_CROSS : MARK_DOT, x, dy);
            }
        marks_end(&marks);
    }
}

static void draw_legend(const struct tree *t)
{
    char text[PICTURE_NUMBER];
    double x = t->p->narrow ? 108 : DOTS + 130;
    if (!t->p->narrow)
        picture_words(t->p, LEFT, 14, "axis", "trial, score (change against the best before it), hypothesis");
    picture_words(t->p, x - 14, 14, "axis end", "worse by %s", number_text(text, t->down, 2));
    for (size_t k = 1; k < N_KINDS; k++)
        fprintf(t->p->out, "<path class=\"node %s\" d=\"M%.5g 10h0\"/>", kinds[k], x + (double)(k - 1) * 15);
    picture_words(t->p, x + 106, 14, "axis", "better by %s", number_text(text, t->up, 2));
    if (t->p->narrow)
        return;
    fprintf(t->p->out, "<path class=\"cross fail\" d=\"M%.5g 7.5l5 5m0-5l-5 5\"/>", x + 250);
    picture_words(t->p, x + 262, 14, "axis", "no score");
}

static void draw(struct tree *t)
{
    double y = place_rows(t), height = y + (t->loose ? lines_height(t, t->loose) : 0);
    size_t chain = 0;
    if (t->more_arcs)
        height += ROW;
    for (size_t i = 0; i < t->n; i++)
        chain += t->p->model->trials[i].on_chain;
    picture_begin(t->p, "tree", picture_width(t->p), height, "Lineage of all trials",
                  "%zu trials; %zu of them kept on the way to the best one; %zu rows; %zu citations.", t->n, chain, t->n_rows,
                  t->n_arcs);
    if (t->more_arcs)
        picture_words(t->p, LEFT, height - 8, "small quiet", "%zu more citations are not drawn; an opened trial lists its own.",
                      t->more_arcs);
    draw_legend(t);
    draw_arcs(t);
    draw_edges(t, false);
    draw_edges(t, true);
    draw_bars(t);
    for (size_t k = 0; k < N_KINDS; k++) {
        draw_dots(t, k);
        draw_nodes(t, k);
    }
    draw_loose(t, y);
    draw_names(t);
    picture_end(t->p);
}

/* Tries all allocations even after a failure; release then frees what exists and accepts NULL. */
static bool allocate(struct tree *t)
{
    size_t **lists[] = {&t->descendants, &t->owner,    &t->first_child, &t->next_child, &t->last_child,
                        &t->dots,        &t->dot_list, &t->dot_at,      &t->order,      &t->lane};
    bool ok = true;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        ok = (*lists[i] = calloc(t->n + 1, sizeof(size_t))) && ok;
    t->row = calloc(t->n + 1, sizeof *t->row);
    t->place = calloc(t->n + 1, sizeof *t->place);
    return ok && t->row && t->place;
}

static void release(struct tree *t)
{
    size_t *const lists[] = {t->descendants, t->owner,    t->first_child, t->next_child, t->last_child,
                             t->dots,        t->dot_list, t->dot_at,      t->order,      t->lane};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]);
    free(t->row);
    free(t->place);
}

/* The stack is as large as the store, because recursion would overflow on a chain of a million trials. */
void picture_tree(const struct picture *p)
{
    struct tree t = {.p = p, .n = p->model->n};
    size_t *stack = malloc((t.n + 1) * sizeof *stack);
    if (t.n == 0)
        picture_nothing(p, "tree", "The store has no trial yet.");
    else if (stack && allocate(&t) && find_spread(&t)) {
        count_descendants(&t);
        if (choose_rows(&t)) {
            find_owners(&t);
            link_rows(&t);
            lay_rows(&t, stack);
            find_arcs(&t);
            gather_dots(&t);
            draw(&t);
        }
    }
    free(stack);
    if (t.n)
        release(&t);
}
