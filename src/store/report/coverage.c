/*
 * coverage.c: which values of which parameters were tried, and which combinations were not.
 *
 * A cell is looked up instead of counting its trials, so that the cost depends on the number of cells and not on the
 * number of trials. The look-ups of one report are limited as well, because two long lists without a common trial are
 * walked completely. A cell whose look-up did not finish is not reported as untried.
 */
#include <math.h>

#include <lineage/query.h>

#include "../format/setting_digest.h"
#include "../mirror/statement.h"
#include "report_parts.h"

#define CROSSED 5      /* parameters that are crossed with each other */
#define GRID_VALUES 10 /* a parameter with more values is a scale, not a grid */
#define LOOK_UPS 8192  /* look-up steps of one report */

/* A seed repeats a trial: no trial with seed 5 and alpha 0.3 is not a gap. The proposer of a trial is not one of its settings. */
static bool is_setting(const char *name)
{
    return strcmp(name, "proposer") != 0;
}

/* A crash says that a value was tried, not how good it is. */
static uint64_t measured(const uint64_t labels[LINEAGE_N_LABELS])
{
    return labels[LINEAGE_KEEP] + labels[LINEAGE_DISCARD] + labels[LINEAGE_BASELINE];
}

/* A trial that failed before it began may lack parameters, so only trials with a score decide whether a parameter is
 * constant. */
static enum lineage_status load_params(struct report_load *load, struct lineage_error *err)
{
    struct lineage_report *report = &load->report;
    struct lineage_report_param *params = NULL;
    const char **names;
    size_t n;
    enum lineage_status status = mirror_param_names(load->store->mirror, &names, &n, &report->more_params, &load->arena, err);
    if (status == LINEAGE_OK)
        status = arena_items(&load->arena, n, sizeof *params, &params, err);
    uint64_t all = measured(report->labels);
    for (size_t i = 0; status == LINEAGE_OK && i < n; i++) {
        struct lineage_report_param *param = &params[report->n_params];
        if (!is_setting(names[i]))
            continue;
        status = mirror_param_values(load->store->mirror, names[i], param, &load->arena, err);
        if (!param->n_values) /* only harness_abort trials have it */
            continue;
        param->constant = param->n_values == 1 && all && measured(param->values[0].labels) >= all;
        report->n_params++;
    }
    report->params = params;
    return status;
}

/* Each value of x occurs with one value of y and the other way round: the number of tried cells equals the number of
 * values of x and of y, with one tried cell in each row and column. */
static bool is_linked(const struct lineage_report_grid *grid, const bool *tried)
{
    size_t nx = grid->x->n_values, ny = grid->y->n_values, cells = 0;
    for (size_t i = 0; i < nx * ny; i++)
        cells += tried[i];
    if (nx != ny || cells != nx)
        return false;
    for (size_t i = 0; i < nx; i++) {
        size_t in_row = 0, in_column = 0;
        for (size_t j = 0; j < ny; j++) {
            in_row += tried[i * ny + j];
            in_column += tried[j * ny + i];
        }
        if (in_row != 1 || in_column != 1)
            return false;
    }
    return true;
}

static struct lineage_param param_of(const struct lineage_report_param *param, size_t i)
{
    return (struct lineage_param){param->name, param->values[i].value, param->values[i].text};
}

/* Looks up all cells of two parameters. If the limit of steps is reached, *settled is false and the pair is dropped,
 * because half of a grid would look like all of it. */
static enum lineage_status look_up(struct report_load *load, struct lineage_report_grid *grid, bool *tried, size_t (*untried)[2],
                                   size_t *steps, bool *settled, struct lineage_error *err)
{
    size_t ny = grid->y->n_values;
    *settled = true;
    for (size_t i = 0; *settled && i < grid->x->n_values; i++)
        for (size_t j = 0; *settled && j < ny; j++) {
            const struct lineage_param pair[2] = {param_of(grid->x, i), param_of(grid->y, j)};
            enum mirror_cell answer;
            TRY(mirror_pair_tried(load->store->mirror, pair, steps, &answer, err));
            *settled = answer != MIRROR_UNSETTLED;
            tried[i * ny + j] = answer == MIRROR_TRIED;
            if (answer == MIRROR_UNTRIED) {
                untried[grid->n_untried][0] = i;
                untried[grid->n_untried++][1] = j;
            }
        }
    return LINEAGE_OK;
}

static size_t value_index(const struct lineage_report_param *param, double number, const char *text)
{
    size_t i = 0;
    while (i < param->n_values && !(text ? param->values[i].text && strcmp(param->values[i].text, text) == 0
                                         : !param->values[i].text && param->values[i].value == number))
        i++;
    return i;
}

/*
 * The values of the crossed parameters that trials have, with those of their parents, as a bit for each value: all pairs of
 * parameters are found in one reading of each.
 */
struct inheriting {
    size_t last; /* the largest seq */
    uint32_t *parents; /* [last + 1] seqs; 0: none */
    bool *aborted; /* [last + 1] */
    uint16_t *values[CROSSED]; /* [last + 1]; NULL: not read yet */
};

enum { OWN = 1 << 15, OTHER_VALUE = 1 << 14 }; /* OWN: the trial declares the parameter itself */

static void inheriting_release(struct inheriting *in)
{
    free(in->parents);
    free(in->aborted);
    for (size_t i = 0; i < CROSSED; i++)
        free(in->values[i]);
}

static enum lineage_status read_parents(struct inheriting *in, struct mirror *mirror, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    in->last = mirror_position(mirror)->rows + 1; /* the provisional row may be one more */
    in->parents = calloc(in->last + 1, sizeof *in->parents);
    in->aborted = calloc(in->last + 1, sizeof *in->aborted);
    TRY(in->parents && in->aborted ? LINEAGE_OK : store_no_memory(err));
    enum lineage_status status =
        mirror_rows(mirror, &stmt, err, "SELECT seq, parent FROM ancestors WHERE seq <= ?1 AND parent BETWEEN 1 AND seq - 1", "i",
                    (int64_t)in->last);
    while (mirror_next(&status, mirror, stmt, err))
        in->parents[sqlite3_column_int64(stmt, 0)] = (uint32_t)sqlite3_column_int64(stmt, 1);
    TRY(mirror_end_rows(stmt, status));
    status =
        mirror_rows(mirror, &stmt, err,
                    "SELECT seq FROM trials INDEXED BY trials_by_seq WHERE seq BETWEEN 1 AND ?1 AND status = 'harness_abort'",
                    "i", (int64_t)in->last);
    while (mirror_next(&status, mirror, stmt, err))
        in->aborted[sqlite3_column_int64(stmt, 0)] = true;
    return mirror_end_rows(stmt, status);
}

/* *values becomes the list of the parameter, if it is not yet. */
static enum lineage_status read_values(uint16_t **values, struct inheriting *in, struct mirror *mirror,
                                       const struct lineage_report_param *param, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    if (!in->parents)
        TRY(read_parents(in, mirror, err));
    if (*values)
        return LINEAGE_OK;
    *values = calloc(in->last + 1, sizeof **values);
    TRY(*values ? LINEAGE_OK : store_no_memory(err));
    enum lineage_status status =
        mirror_rows(mirror, &stmt, err, "SELECT seq, value FROM param_rows WHERE key = ?1 AND seq BETWEEN 1 AND ?2", "si",
                    param->name, (int64_t)in->last);
    while (mirror_next(&status, mirror, stmt, err)) {
        const bool text = sqlite3_column_type(stmt, 1) == SQLITE_TEXT;
        const size_t i = value_index(param, sqlite3_column_double(stmt, 1), text ? mirror_text(stmt, 1) : NULL);
        (*values)[sqlite3_column_int64(stmt, 0)] |= (uint16_t)(OWN | (i < param->n_values ? 1 << i : OTHER_VALUE));
    }
    for (size_t seq = 1; seq <= in->last; seq++) /* parents come before */
        if (!(*values)[seq])
            (*values)[seq] = (*values)[in->parents[seq]] & (uint16_t)~OWN;
    return mirror_end_rows(stmt, status);
}

static void mark_pairs(bool *tried, const struct inheriting *in, const uint16_t *xs, const uint16_t *ys, size_t nx, size_t ny)
{
    for (size_t seq = 1; seq <= in->last; seq++)
        if (((xs[seq] | ys[seq]) & OWN) && !in->aborted[seq])
            for (size_t i = 0; i < nx; i++)
                for (size_t j = 0; xs[seq] >> i & 1 && j < ny; j++)
                    tried[i * ny + j] = tried[i * ny + j] || ys[seq] >> j & 1;
}

/* In a log in words trials state values, too. */
static enum lineage_status mark_stated(bool *tried, struct report_load *load, const struct lineage_report_grid *grid,
                                       struct lineage_error *err)
{
    struct lineage_sweep sweep;
    const size_t ny = grid->y->n_values;
    enum lineage_status status = lineage_sweep_load(load->store, grid->x->name, grid->y->name, &sweep, err);
    if (status != LINEAGE_OK) /* no trial has both */
        return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
    for (size_t k = 0; k < sweep.n_cells; k++) {
        const struct lineage_sweep_cell *cell = &sweep.cells[k];
        const size_t i = value_index(grid->x, cell->x, cell->x_text), j = value_index(grid->y, cell->y, cell->y_text);
        if (i < grid->x->n_values && j < ny)
            tried[i * ny + j] = true;
    }
    lineage_sweep_release(&sweep);
    return LINEAGE_OK;
}

/* A trial has the values that it does not declare from its parent, as `tried` and `sweep` know. a, b: the lists of the parameters. */
static enum lineage_status take_inherited(struct report_load *load, struct inheriting *in, struct lineage_report_grid *grid,
                                          uint16_t **a, uint16_t **b, bool *tried, size_t (*untried)[2],
                                          struct lineage_error *err)
{
    struct mirror *mirror = load->store->mirror;
    const size_t ny = grid->y->n_values;
    bool in_words;
    TRY(mirror_is_in_words(mirror, &in_words, err));
    if (in_words) {
        TRY(mark_stated(tried, load, grid, err));
    } else {
        TRY(read_values(a, in, mirror, grid->x, err));
        TRY(read_values(b, in, mirror, grid->y, err));
        mark_pairs(tried, in, *a, *b, grid->x->n_values, ny);
    }
    grid->n_untried = 0;
    for (size_t k = 0; k < grid->n_cells; k++)
        if (!tried[k]) {
            untried[grid->n_untried][0] = k / ny;
            untried[grid->n_untried++][1] = k % ny;
        }
    return LINEAGE_OK;
}

/* Allocates room for all cells at once, because the arena is freed with the report. */
static enum lineage_status cross(struct report_load *load, struct inheriting *in,
                                 const struct lineage_report_param *const crossed[CROSSED], size_t a, size_t b,
                                 struct lineage_report_grid *grids, size_t *steps, struct lineage_error *err)
{
    const struct lineage_report_param *x = crossed[a], *y = crossed[b];
    bool tried[GRID_VALUES * GRID_VALUES] = {false}, settled;
    size_t(*untried)[2];
    struct lineage_report_grid grid = {.x = x, .y = y, .n_cells = x->n_values * y->n_values};
    TRY(arena_items(&load->arena, grid.n_cells, sizeof *untried, &untried, err));
    TRY(look_up(load, &grid, tried, untried, steps, &settled, err));
    if (settled && grid.n_untried && load->has_parents)
        TRY(take_inherited(load, in, &grid, &in->values[a], &in->values[b], tried, untried, err));
    /* If no cell was tried, the two parameters belong to different kinds of trials, and the grid is not a gap. */
    if (!settled || !grid.n_untried || grid.n_untried == grid.n_cells)
        return LINEAGE_OK;
    grid.untried = (const size_t(*)[2])untried;
    grid.linked = is_linked(&grid, tried);
    grids[load->report.n_grids++] = grid;
    return LINEAGE_OK;
}

/* A parameter that always changed together with another one has the same gaps, which are listed once. */
static void drop_echoes(struct lineage_report *report, struct lineage_report_grid *grids)
{
    size_t kept = 0;
    for (size_t i = 0; i < report->n_grids; i++) {
        bool echo = false;
        for (size_t j = 0; !grids[i].linked && j < report->n_grids; j++)
            echo = echo || (grids[j].linked && (grids[j].y == grids[i].x || grids[j].y == grids[i].y));
        if (!echo)
            grids[kept++] = grids[i];
    }
    report->n_grids = kept;
}

/* Whether most values were drawn instead of chosen from a list: a proposer set them, or they have many digits. Nobody meant
 * to cross such values, so that a combination without a trial is not a gap. Integers with many digits are sizes. */
static bool is_drawn(const struct lineage_report *report, const struct lineage_report_param *param)
{
    uint64_t trials = 0, proposed = 0;
    size_t long_values = 0;
    for (size_t i = 0; i < param->n_values; i++) {
        double value = param->values[i].value, scale;
        trials += param->values[i].n;
        if (!isfinite(value) || value == floor(value))
            continue;
        /* More than three digits: the value is not what is left if it is rounded to three. */
        scale = pow(10, 2 - floor(log10(fabs(value))));
        long_values += fabs(rint(value * scale) / scale - value) > 1e-9 * fabs(value);
    }
    for (size_t i = 0; i < report->n_proposers; i++)
        proposed += report->proposers[i].n;
    return 2 * proposed > trials || 2 * long_values > param->n_values;
}

static enum lineage_status load_grids(struct report_load *load, struct lineage_error *err)
{
    struct lineage_report *report = &load->report;
    const struct lineage_report_param *crossed[CROSSED];
    struct lineage_report_grid *grids;
    RELEASED_BY(inheriting_release) struct inheriting in = {0};
    size_t n = 0, steps = LOOK_UPS;
    /* Crosses only the first few parameters: alpha, beta and gamma come first, and nobody reads more than ten pairs. */
    for (size_t i = 0; i < report->n_params && n < CROSSED; i++) {
        const struct lineage_report_param *param = &report->params[i];
        if (param->n_values > 1 && param->n_values <= GRID_VALUES && !param->more &&
            !setting_names_seed(param->name, lineage_store_seeds(load->store)) && !is_drawn(report, param))
            crossed[n++] = param;
    }
    enum lineage_status status = arena_items(&load->arena, n * n / 2, sizeof *grids, &grids, err);
    load->has_parents = false;
    if (status == LINEAGE_OK && mirror_position(load->store->mirror)->names == 1) /* the index exists */
        status = mirror_has(load->store->mirror, &load->has_parents, err,
                            "SELECT 1 FROM trials INDEXED BY trials_by_parent WHERE parent_exp <> '' LIMIT 1", "");
    for (size_t i = 0; status == LINEAGE_OK && i < n; i++)
        for (size_t j = i + 1; status == LINEAGE_OK && j < n; j++)
            status = cross(load, &in, crossed, i, j, grids, &steps, err);
    if (status == LINEAGE_OK)
        drop_echoes(report, grids);
    report->grids = grids;
    return status;
}

enum lineage_status report_coverage(struct report_load *load, struct lineage_error *err)
{
    TRY(load_params(load, err));
    return load_grids(load, err);
}
