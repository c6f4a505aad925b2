/* wide_questions.c: see questions.h. */
#include "questions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <lineage/compare.h>
#include <lineage/query.h>
#include <lineage/remarks.h>
#include <lineage/render.h>
#include <lineage/report.h>
#include <lineage/snapshot.h>

#include "support/files.h"

static const char rows[] =
    "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\tcore_metric\t"
    "val_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes\tgpu\tpeak\n"
    "000\t2026-01-01\tgrpo\t\t\tqa\tstart\t\tbaseline\t0.5\t\t\t10\t12\t\t\tmix=1; seed=1; lr=0.1; drop=0; "
    "optimizer=adam\ta100\t30\n"
    "001\t2026-01-02\tgrpo\t000\t000\tqa\tagain\t+0.1\tkeep\t0.6\t\t0.1\t11\t13\t\t\tmix=big; seed=2; lr=0.1; drop=-0.0; "
    "optimizer=adam\ta100\t31\n"
    "002\t2026-01-03\tgrpo\t001\t001\tqa\tthird\t\tdiscard\t0.55\t\t-0.05\t12\t14\t\t\tseed=3; lr=0.1; drop=0; "
    "optimizer=adam\th100\t\n"
    "003\t2026-01-04\tadv\t001\t001\tqa\tother\t+1\tkeep\t0.7\t\t0.1\t13\t15\tj\tsnapshots/x\tmix=2; seed=1; lr=0.2; drop=0.1; "
    "optimizer=sgd\ta100\t40\n"
    "004\t2026-01-05\tadv\t003\t003\tqa\tmore\t\tdiscard\t0.65\t\t-0.05\t14\t16\t\t\tmix=big; seed=2; lr=0.2; drop=-0.0; "
    "optimizer='7B'\th100\t41\n"
    "005\t2026-01-06\tadv\t003\t003\tqa\tlast\t\tkeep\t0.75\t\t0.05\t15\t17\t\t\tmix=small; seed=3; lr=0.3; schedule=cosine, "
    "optimizer=adam\th100\tx\n"
    "006\t2026-01-07\tadv\t005\t005\tqa\tdied\t\tcrash\t\t\t\t\t\t\t\tseed=4; lr=0.3\t\t\n"
    "007\t2026-01-08\tadv\t005\t005\tqa\tstopped\t\tharness_abort\t\t\t\t\t\t\t\tseed=5; lr=0.3; optimizer=adam\t\t\n"
    "008\t2026-01-09\tadv\t009\t005\tqa\tround\t\tdiscard\tinf\t\t\t\t\t\t\tseed=6; lr=0.3\t\t\n"
    "009\t2026-01-10\tadv\texp_008\t005\tqa\tand round\t\tkeep\t0.1\t\t\t\t\t\t\tseed=7; lr=0.3\t\t\n";

static enum lineage_status print_comparison(struct lineage_store *store, const struct lineage_compare_options *options, FILE *out,
                                            struct lineage_error *err)
{
    struct lineage_comparison c;
    enum lineage_status status = lineage_compare(store, options, &c, err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < c.n_variants; i++) {
        const struct lineage_variant *v = &c.variants[i];
        fprintf(out, "%s %zu %.17g %.17g %zu %.17g %zu:", v->name, v->n_trials, v->mean.value, v->std.value, v->n_pairs,
                v->difference.value, v->n_settings);
        for (size_t j = 0; j < v->n_settings; j++)
            fprintf(out, " %s %s %g", v->settings[j].name, v->settings[j].text ? v->settings[j].text : "", v->settings[j].high);
        fputc('\n', out);
    }
    for (size_t i = 0; i < c.n_confounded; i++)
        fprintf(out, "%s ", c.confounded[i]);
    lineage_comparison_release(&c);
    return LINEAGE_OK;
}

static enum lineage_status ask_specialists(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    const struct lineage_condition condition = {.name = "core_metric", .range = {{true, 0.1}, {true, 0.9}}};
    return print_comparison(store, &(struct lineage_compare_options){.conditions = &condition, .n_conditions = 1}, out, err);
}

static enum lineage_status ask_variants(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    static const char *const names[] = {"grpo,lr=0.1", "optimizer=sgd", "001,004", "003"};
    return print_comparison(
        store,
        &(struct lineage_compare_options){.variants = names, .n_variants = 4, .over = "seed,lr", .baseline = "optimizer=sgd"},
        out, err);
}

static enum lineage_status ask_by_value(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    enum lineage_status status =
        print_comparison(store, &(struct lineage_compare_options){.by = "lr", .baseline = "0.2"}, out, err);
    if (status == LINEAGE_OK)
        status = print_comparison(store, &(struct lineage_compare_options){.by = "optimizer", .baseline = "adam"}, out, err);
    return status;
}

static enum lineage_status print_sweep(struct lineage_store *store, const char *x, const char *y, FILE *out,
                                       struct lineage_error *err)
{
    struct lineage_sweep sweep;
    enum lineage_status status = lineage_sweep_load(store, x, y, &sweep, err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < sweep.n_cells; i++) {
        const struct lineage_sweep_cell *cell = &sweep.cells[i];
        fprintf(out, "%.17g %.17g %s %s %zu %.17g %s\n", cell->x, cell->y, cell->x_text ? cell->x_text : "-",
                cell->y_text ? cell->y_text : "-", cell->count, cell->best.value, cell->best_id ? cell->best_id : "-");
    }
    fprintf(out, "%zu %zu\n", sweep.without, sweep.aborted);
    lineage_sweep_release(&sweep);
    return LINEAGE_OK;
}

static enum lineage_status ask_sweep_texts(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    enum lineage_status status = print_sweep(store, "optimizer", NULL, out, err);
    if (status == LINEAGE_OK)
        status = print_sweep(store, "mix", "seed", out, err);
    if (status == LINEAGE_OK)
        status = print_sweep(store, "seed", "mix", out, err);
    return status == LINEAGE_OK ? print_sweep(store, "optimizer", "mix", out, err) : status;
}

static enum lineage_status ask_sweep_numbers(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    enum lineage_status status = print_sweep(store, "seed", NULL, out, err);
    return status == LINEAGE_OK ? print_sweep(store, "drop", "lr", out, err) : status;
}

static enum lineage_status ask_list(struct lineage_store *store, const struct lineage_query *query, FILE *out,
                                    struct lineage_error *err)
{
    struct lineage_cursor *cursor;
    size_t n;
    enum lineage_status status = lineage_query_count(&n, store, query, err);
    if (status == LINEAGE_OK)
        status = lineage_query_open(&cursor, store, query, err);
    if (status != LINEAGE_OK)
        return status;
    fprintf(out, "%zu\n", n);
    return print_trials(out, cursor, err);
}

static enum lineage_status ask_texts(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    static const char *const wanted[] = {"adam", "sgd"}, *const cards[] = {"a100"};
    const struct lineage_condition conditions[] = {{.name = "optimizer", .texts = wanted, .n_texts = 2},
                                                   {.name = "gpu", .texts = cards, .n_texts = 1},
                                                   {.name = "seed", .range = {{true, 1}, {true, 1}}}};
    return ask_list(store, &(struct lineage_query){.conditions = conditions, .n_conditions = 3, .sort = "-seed"}, out, err);
}

static enum lineage_status ask_extras(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    const struct lineage_condition any = {.name = "peak"};
    return ask_list(store, &(struct lineage_query){.conditions = &any, .n_conditions = 1, .sort = "peak", .limit = 3, .after = 1},
                    out, err);
}

static enum lineage_status ask_newest(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    const struct lineage_condition any = {.name = "lr"};
    return ask_list(store,
                    &(struct lineage_query){.labels = 1u << LINEAGE_KEEP | 1u << LINEAGE_DISCARD,
                                            .sort = "-seq",
                                            .conditions = &any,
                                            .n_conditions = 1,
                                            .limit = 2},
                    out, err);
}

static enum lineage_status ask_tried_text(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    const struct lineage_param wanted[] = {{"optimizer", 0, "adam"}, {"lr", 0.1, NULL}};
    struct lineage_cursor *cursor;
    enum lineage_status status = lineage_tried(&cursor, store, wanted, 2, 0.5, err);
    return status == LINEAGE_OK ? print_trials(out, cursor, err) : status;
}

static enum lineage_status ask_nearest(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    static const char *const adam[] = {"adam"};
    const struct lineage_condition conditions[] = {{.name = "optimizer", .texts = adam, .n_texts = 1},
                                                   {.name = "lr", .range = {{true, 0.01}, {true, 0.1}}},
                                                   {.name = "alpha", .range = {{true, 77}, {true, 77}}}};
    struct lineage_cursor *cursor;
    enum lineage_status status = lineage_nearest(&cursor, store, conditions, 3, 3, err);
    return status == LINEAGE_OK ? print_trials(out, cursor, err) : status;
}

static bool print_remark(void *context, const struct lineage_remark *remark)
{
    fprintf(context, "%s %s %s %s\n", remark->timestamp, remark->exp_id, remark->author, remark->text);
    return true;
}

static enum lineage_status ask_remarks(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    return lineage_remarks_read(store, "003", print_remark, out, err);
}

static enum lineage_status ask_report(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_report_options options;
    struct lineage_report *report;
    lineage_report_options_init(&options);
    options.chain = 2;
    enum lineage_status status = lineage_report_load(&report, store, &options, err);
    if (status != LINEAGE_OK)
        return status;
    fprintf(out, "%zu %zu %zu %zu %s", report->n_leaders, report->n_params, report->n_full, report->rows,
            report->best ? report->best->exp_id : "");
    lineage_report_release(report);
    return LINEAGE_OK;
}

/* Asks for the chain of a row whose parents form a cycle. */
static enum lineage_status ask_circle(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_chain chain;
    enum lineage_status status = lineage_chain_load(store, "008", &chain, err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < chain.n; i++)
        print_trial(out, &chain.trials[i]);
    fprintf(out, "%d %s\n", (int)chain.end, chain.end_id);
    lineage_chain_release(&chain);
    return LINEAGE_OK;
}

static enum lineage_status ask_board(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_report_options options;
    struct lineage_report *report;
    lineage_report_options_init(&options);
    options.rules = LINEAGE_RULES_BOARD;
    enum lineage_status status = lineage_report_load(&report, store, &options, err);
    if (status != LINEAGE_OK)
        return status;
    const struct lineage_board *board = report->board;
    for (size_t i = 0; i < board->n; i++)
        fprintf(out, "%s %s %zu\n", board->rows[i].id, board->rows[i].score, board->parent_row[i]);
    fprintf(out, "%s %s %s %s %s\n", board->best.id, board->best.score, board->best.specialist, board->best.hypothesis,
            board->best.snapshot);
    lineage_report_release(report);
    return LINEAGE_OK;
}

static enum lineage_status ask_path(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_trial trial;
    char *path = NULL;
    enum lineage_status status = lineage_find(store, "exp_003", &trial, err);
    if (status != LINEAGE_OK)
        return status;
    status = lineage_snapshot_path(&path, store, &trial, err);
    if (status == LINEAGE_OK)
        fprintf(out, "%s", strrchr(path, '/'));
    lineage_free(path);
    lineage_trial_release(&trial);
    return status;
}

const struct question wide_questions[] = {{"list texts", ask_texts},        {"compare", ask_specialists},
                                          {"variants", ask_variants},       {"by value", ask_by_value},
                                          {"sweep texts", ask_sweep_texts}, {"sweep numbers", ask_sweep_numbers},
                                          {"list extras", ask_extras},      {"list newest", ask_newest},
                                          {"tried text", ask_tried_text},   {"remarks", ask_remarks},
                                          {"load report", ask_report},      {"snapshot path", ask_path},
                                          {"circle", ask_circle},           {"board", ask_board},
                                          {"nearest", ask_nearest}};
const size_t n_wide_questions = sizeof wide_questions / sizeof *wide_questions;

void make_wide_store(const char *dir)
{
    static const char config[] = "{\"direction\": \"higher\", \"min_delta\": 0.01}",
                      remarks[] = "{\"timestamp\": \"T\", \"exp_id\": \"003\", \"author\": \"me\", \"text\": \"look\"}\n",
                      best[] = "{\"exp_id\": \"005\", \"core_metric\": 0.75, \"specialist\": 7, \"hypothesis\": \"last\","
                               " \"snapshot_path\": null}\n";
    const struct {
        const char *name, *bytes;
        size_t length;
    } files[] = {{"results.tsv", rows, sizeof rows - 1},
                 {"lineage.json", config, sizeof config - 1},
                 {"remarks.jsonl", remarks, sizeof remarks - 1},
                 {"best.json", best, sizeof best - 1}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *path = join(dir, files[i].name);
        write_file(path, files[i].bytes, files[i].length);
        free(path);
    }
    char *snapshots = join(dir, "snapshots"), *snapshot = join(snapshots, "x");
    if (mkdir(snapshots, 0755) != 0 || mkdir(snapshot, 0755) != 0)
        abort();
    free(snapshots);
    free(snapshot);
}

/* Asks for a sweep of two parameters that no row has together, which therefore has no cell. */
static enum lineage_status print_nothing(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    enum lineage_status status = print_sweep(store, "lr", "alone", out, err);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status ask_sweep_large(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    static const char *const axes[][2] = {{"lr", "wd"},  {"lr", NULL},   {"opt", "wd"},
                                          {"opt", NULL}, {"half", NULL}, {"bad", NULL}};
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < sizeof axes / sizeof *axes; i++)
        status = print_sweep(store, axes[i][0], axes[i][1], out, err);
    return status == LINEAGE_OK ? print_nothing(store, out, err) : status;
}

/* Asks for short lists within wide ranges, which the store reads in the requested order. */
static enum lineage_status ask_walk(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    const struct lineage_condition conditions[] = {{.name = "seed", .range = {{true, 0}, {true, 3000}}},
                                                   {.name = "lr", .range = {{true, 0.1}, {true, 0.1}}},
                                                   {.name = "gpu", .range = {{true, 0}, {true, 100}}}};
    static const char *const sorts[] = {"-seed", "gpu", "-gpu", "-seq", "score", "lr"};
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < sizeof sorts / sizeof *sorts; i++)
        status = ask_list(
            store, &(struct lineage_query){.conditions = conditions, .n_conditions = 3, .sort = sorts[i], .limit = 5}, out, err);
    return status;
}

static enum lineage_status ask_report_large(struct lineage_store *store, FILE *out, struct lineage_error *err)
{
    struct lineage_report *report;
    enum lineage_status status = lineage_report_load(&report, store, NULL, err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < report->n_params; i++)
        fprintf(out, "%s %zu %g %s\n", report->params[i].name, report->params[i].n_values, report->params[i].high,
                report->params[i].high_text ? report->params[i].high_text : "-");
    for (size_t i = 0; i < report->n_grids; i++)
        fprintf(out, "%s %s %zu\n", report->grids[i].x->name, report->grids[i].y->name, report->grids[i].n_untried);
    lineage_report_release(report);
    return LINEAGE_OK;
}

const struct question large_questions[] = {
    {"sweep large", ask_sweep_large}, {"walk", ask_walk}, {"report large", ask_report_large}};
const size_t n_large_questions = sizeof large_questions / sizeof *large_questions;

/*
 * Scores are coarse, so there are many ties, and rows in the second half reach each score later. u and v occur
 * together only in one abort, after many rows that have only one of them.
 */
void make_large_store(const char *dir)
{
    char *path = join(dir, "results.tsv");
    FILE *log = fopen(path, "w");
    if (!log)
        abort();
    fputs("exp_id\tstatus\tcore_metric\tnotes\tgpu\n", log);
    for (int i = 0; i < 2200; i++)
        fprintf(log, "%04d\t%s\t%d.5\tlr=0.%d; opt=o%d; seed=%d; tag=t%d; half=%d; bad=%d; u=%d; v=%d%s\t%d\n", i,
                i % 7   ? "keep"
                : i % 2 ? "crash"
                        : "harness_abort",
                i % 10, i == 1 ? 7 : i % 3, i % 2, i, i % 40, i >= 1500, i % 7 == 0 && i % 2, i == 2002 || i % 2,
                i == 2002 || !(i % 2),
                i >= 1000 && i < 1100 ? ""
                : i % 5               ? i % 4 ? "; wd=0.0" : "; wd=-0.0"
                                      : "; wd=1",
                i % 90);
    fputs("last\tkeep\t9\talone=1\t\n", log);
    fclose(log);
    free(path);
}
