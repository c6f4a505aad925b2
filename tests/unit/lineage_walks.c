/* Tests the questions that walk along the trials of several conditions: lineage_nearest, and queries with wide conditions. They
 * find the trials that a pass over all trials finds, and take few steps in a long log. */
#include "support/unit.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/query.h>
#include <lineage/voids.h>

#include "internal.h"
#include "mirror/statement.h"
#include "questions/questions.h"
#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

enum { LIMIT_MAX = 6 };

static const char *const names[] = {"alpha", "beta", "lr", "opt", "none"};

/* ---- the obvious way ---- */

enum { ROWS_MAX = 8002, PARAMS_MAX = 8 };

/* What the obvious way needs of each trial of a store, oldest first. It is read once and not for each question: reading takes most
 * of the time. */
struct seen {
    uint64_t seq;
    bool failed, informational;
    size_t n_params;
    struct lineage_param params[PARAMS_MAX];
    char texts[PARAMS_MAX][8];
};

static struct seen all[ROWS_MAX];
static size_t n_all;

static void read_all(struct lineage_store *store)
{
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    n_all = 0;
    assert_int_equal(lineage_query_open(&cursor, store, &(struct lineage_query){0}, &err), LINEAGE_OK);
    while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK) {
        assert_true(n_all < ROWS_MAX && trial.n_params <= PARAMS_MAX);
        struct seen *seen = &all[n_all++];
        *seen = (struct seen){.seq = trial.seq,
                              .failed = lineage_label_is_failure(trial.status),
                              .informational = lineage_label_is_informational(trial.status),
                              .n_params = trial.n_params};
        for (size_t i = 0; i < trial.n_params; i++) {
            struct lineage_param *param = &seen->params[i];
            *param = trial.params[i];
            for (size_t name = 0; name < sizeof names / sizeof *names; name++)
                if (strcmp(param->name, names[name]) == 0)
                    param->name = names[name];
            if (param->text) {
                assert_true(strlen(param->text) < sizeof seen->texts[i]);
                param->text = strcpy(seen->texts[i], param->text);
            }
        }
    }
    lineage_cursor_close(cursor);
}

static bool meets(const struct seen *trial, const struct lineage_condition *condition)
{
    const struct lineage_param *param = NULL;
    const struct lineage_range *range = &condition->range;
    bool met = false;
    for (size_t i = 0; i < trial->n_params && !param; i++)
        param = strcmp(trial->params[i].name, condition->name) == 0 ? &trial->params[i] : NULL;
    for (size_t i = 0; param && param->text && i < condition->n_texts; i++)
        met = met || strcmp(param->text, condition->texts[i]) == 0;
    if (!param || param->text || condition->n_texts)
        return met;
    return !isnan(param->value) && (!range->low.present || param->value >= range->low.value) &&
           (!range->high.present || param->value <= range->high.value);
}

struct near {
    uint64_t seq;
    size_t met;
    bool failed;
};

/* More conditions, then failures, then newer trials. */
static int by_nearness(const void *a, const void *b)
{
    const struct near *x = a, *y = b;
    if (x->met != y->met)
        return x->met > y->met ? -1 : 1;
    if (x->failed != y->failed)
        return x->failed ? -1 : 1;
    return x->seq > y->seq ? -1 : 1;
}

/* Writes the seqs of the nearest trials, "12 7 ". */
static void find_slowly(char out[200], const struct lineage_condition *conditions, size_t n, size_t limit)
{
    static struct near nears[ROWS_MAX];
    size_t found = 0;
    for (size_t t = 0; t < n_all; t++) {
        struct near near = {.seq = all[t].seq, .failed = all[t].failed};
        for (size_t i = 0; i < n; i++)
            near.met += meets(&all[t], &conditions[i]);
        if (near.met && all[t].informational)
            nears[found++] = near;
    }
    qsort(nears, found, sizeof *nears, by_nearness);
    *out = '\0';
    for (size_t i = 0; i < found && i < limit; i++)
        sprintf(out + strlen(out), "%d ", (int)nears[i].seq);
}

static void find_fast(char out[200], struct lineage_store *store, const struct lineage_condition *conditions, size_t n,
                      size_t limit)
{
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    assert_int_equal(lineage_nearest(&cursor, store, conditions, n, limit, &err), LINEAGE_OK);
    *out = '\0';
    while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK)
        sprintf(out + strlen(out), "%d ", (int)trial.seq);
    lineage_cursor_close(cursor);
}

/* ---- random stores ---- */

static unsigned seed;

static size_t draw(size_t n)
{
    return (size_t)rand_r(&seed) % n;
}

static const char *const texts[] = {"adam", "sgd", "muon", "never"};

/* Writes one parameter: a few values of alpha and beta, some of them odd, and a different lr in nearly each trial. */
static void write_param(FILE *out, size_t name, const char *equals, const char *quote)
{
    static const char *const odd[] = {"inf", "-inf", "-0.0", "0.0", "1e300", "-1"};
    fprintf(out, "%s%s%s%s", quote, names[name], quote, equals);
    if (name == 3 || (name == 1 && !draw(8)))
        fprintf(out, "%s%s%s", quote, texts[draw(3)], quote);
    else if (name == 2)
        fprintf(out, "%g", (double)draw(3000) / 3000);
    else if (!*quote && !draw(10))
        fputs(odd[draw(6)], out);
    else if (!*quote && !draw(30))
        fputs("nan", out);
    else
        fprintf(out, "%g", (double)draw(name ? 3 : 9) / 10);
}

/* Failures are dense in some stretches of the log and rare in others. */
static const char *draw_label(size_t i, size_t kind)
{
    static const char *const labels[] = {"keep",
                                         "discard",
                                         "crash",
                                         "size_blocked",
                                         "harness_abort",
                                         "disqualified",
                                         "train_budget_overrun",
                                         "preflight_crash",
                                         "eval_budget_overrun"};
    if (kind == 0)
        return labels[draw(9)];
    if (kind == 1)
        return i < 40 ? labels[draw(9)] : "discard";
    return draw(200) ? labels[draw(2)] : labels[2 + draw(7)];
}

/* With `column`, the parameters are in a column of JSON. The last record may lack its line end. The first trial was aborted, and
 * no other one has its alpha. */
static char *make_store(size_t n, size_t kind, bool column)
{
    char *dir = make_dir();
    FILE *out = fopen(in_dir(dir, "results.tsv"), "wb");
    fprintf(out,
            "exp_id\ttimestamp\tspecialist\tparent_exp\tbaseline_exp\tdomain\thypothesis\texpected_delta\tstatus\t"
            "core_metric\tval_bpb\tdelta_vs_best\ttrain_s\ttotal_s\tjob_name\tsnapshot_path\tnotes%s\n",
            column ? "\tparams" : "");
    fprintf(out, "aborted\t\t\t\t\t\t\t\tharness_abort\t\t\t\t\t\t\t\t%s\n",
            column ? "\t{\"alpha\": 0.15, \"beta\": 0.1, \"opt\": \"adam\"}" : "alpha=0.15; beta=0.1; opt=adam");
    for (size_t i = 0; i < n; i++) {
        const char *before = "";
        fprintf(out, "%03zu\t2026-05-01T00:00:00Z\topt\t\t\t\t\t\t%s\t1\t\t\t\t\t\t\t%s", i, draw_label(i, kind),
                column ? "\t{" : "");
        for (size_t name = 0; name < 4; name++)
            if (draw(4)) {
                fputs(before, out);
                write_param(out, name, column ? ": " : "=", column ? "\"" : "");
                before = column ? ", " : "; ";
            }
        fputs(column ? "}" : "", out);
        fputs(i + 1 < n || draw(2) ? "\n" : "", out);
    }
    assert_int_equal(fclose(out), 0);
    return dir;
}

static struct lineage_number draw_bound(size_t name)
{
    static const double odd[] = {(double)INFINITY, (double)-INFINITY, 0, -0.0, (double)NAN};
    return (struct lineage_number){draw(8) > 0, draw(10) ? (double)draw(12) / (name == 2 ? 12 : 10) : odd[draw(5)]};
}

/* Mostly one value or a narrow range, sometimes texts or a wide range. */
static void draw_condition(struct lineage_condition *condition, const char *wanted[4])
{
    size_t name = draw(5);
    *condition = (struct lineage_condition){.name = names[name]};
    if (name == 3 ? draw(6) > 0 : !draw(6)) {
        condition->n_texts = 1 + draw(3);
        for (size_t i = 0; i < condition->n_texts; i++)
            wanted[i] = texts[draw(4)];
        condition->texts = wanted;
        return;
    }
    condition->range.low = draw_bound(name);
    condition->range.high = draw(3) ? condition->range.low : draw_bound(name);
    if (name == 2 && condition->range.high.present && draw(2))
        condition->range.high.value += 0.003;
}

static void compare_ways(struct lineage_store *store, size_t times)
{
    char fast[200], slow[200];
    read_all(store);
    while (times-- > 0) {
        struct lineage_condition conditions[5];
        const char *wanted[5][4];
        size_t n = draw(6), limit = draw(LIMIT_MAX);
        for (size_t i = 0; i < n; i++)
            draw_condition(&conditions[i], wanted[i]);
        find_slowly(slow, conditions, n, limit);
        find_fast(fast, store, conditions, n, limit);
        assert_string_equal(fast, slow);
    }
}

static void the_search_finds_what_a_pass_finds(void **state)
{
    (void)state;
    for (seed = 1; seed < 40;) {
        unsigned began = seed;
        char *dir = make_store(1 + draw(began % 4 ? 150 : 3000), began % 3, began % 5 == 0);
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        compare_ways(store, 60);
        for (size_t i = 0; i < 5; i++)
            (void)!lineage_void_append(store, (const char *const[]){"000", "001", "003", "007", "149"}[i], "broken", NULL, &err);
        compare_ways(store, 20);
        lineage_store_close(store);
        remove_dir(dir);
        seed = began + 1;
    }
}

static void the_number_of_conditions_is_limited(void **state)
{
    struct lineage_cursor *cursor;
    struct lineage_condition conditions[LINEAGE_NEAREST_CONDITIONS + 1];
    char out[200];
    (void)state;
    char *dir = make_dir();
    add_rows(dir, (const struct row[]){{"1", .status = "keep", .metric = "1", .notes = "alpha=1"}, {.id = NULL}});
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t i = 0; i < LINEAGE_NEAREST_CONDITIONS + 1; i++)
        conditions[i] = (struct lineage_condition){.name = "alpha", .range = {{true, 1}, {true, 1}}};
    find_fast(out, store, conditions, LINEAGE_NEAREST_CONDITIONS, 3);
    assert_string_equal(out, "1 ");
    assert_int_equal(lineage_nearest(&cursor, store, conditions, LINEAGE_NEAREST_CONDITIONS + 1, 3, &err), LINEAGE_ELIMIT);
    assert_null(cursor);
    lineage_store_close(store);
    remove_dir(dir);
}

/* ---- queries ---- */

/* Seqs of at most `limit` trials (0: all) that meet all conditions, from the end on if `sort` is set. Returns their number. */
static size_t query_slowly(uint64_t *seqs, const struct lineage_query *query)
{
    size_t n = 0;
    for (size_t t = 0; t < n_all; t++) {
        const struct seen *trial = &all[query->sort ? n_all - 1 - t : t];
        size_t met = 0;
        for (size_t i = 0; i < query->n_conditions; i++)
            met += meets(trial, &query->conditions[i]);
        if (met == query->n_conditions && (!query->limit || n < query->limit))
            seqs[n++] = trial->seq;
    }
    return n;
}

/* Each condition leads to more than the 1,000 trials from which on what they have in common is looked for. */
static void draw_wide(struct lineage_condition *condition, const char *wanted[1])
{
    size_t name = draw(3);
    *condition = (struct lineage_condition){.name = names[name == 2 ? 3 : name]};
    condition->range.low = (struct lineage_number){draw(3) > 0, (double)draw(name ? 3 : 6) / 10};
    condition->range.high = (struct lineage_number){true, condition->range.low.value + (name ? 0 : 0.2)};
    wanted[0] = texts[draw(3)];
    if (name == 2)
        *condition = (struct lineage_condition){.name = "opt", .texts = wanted, .n_texts = 1};
}

static void a_query_finds_what_a_pass_finds(void **state)
{
    (void)state;
    enum { ROWS = ROWS_MAX - 2 };
    static uint64_t slow[ROWS_MAX];
    seed = 1;
    for (size_t kind = 0; kind < 3; kind++) {
        char *dir = make_store(ROWS, kind, kind == 1);
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        read_all(store);
        for (size_t times = 0; times < 40; times++) {
            struct lineage_condition conditions[4];
            const char *wanted[4][1];
            struct lineage_query query = {.conditions = conditions,
                                          .n_conditions = 2 + draw(3),
                                          .sort = draw(2) ? "-seq" : NULL,
                                          .limit = draw(2) * draw(200)};
            struct lineage_cursor *cursor;
            struct lineage_trial trial;
            size_t found = 0;
            for (size_t i = 0; i < query.n_conditions; i++)
                draw_wide(&conditions[i], wanted[i]);
            size_t n = query_slowly(slow, &query);
            assert_int_equal(lineage_query_open(&cursor, store, &query, &err), LINEAGE_OK);
            for (; lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK; found++)
                assert_true(found < n && trial.seq == slow[found]);
            assert_int_equal(found, n);
            lineage_cursor_close(cursor);
        }
        lineage_store_close(store);
        remove_dir(dir);
    }
}

/* ---- long logs ---- */

enum { FEW = 3000, MANY = 24000 };

/* The shapes of a log in which a search could go far back. */
enum shape {
    ONE_VALUE, /* each trial has beta=3 and another alpha; none failed */
    OLD_FAILURES, /* the same, and the first three failed */
    TIES, /* a coarse grid; each seventh trial failed */
    BLOCKS, /* alpha=1 was tried in the first half only, beta=3 in the second half */
    ABORTED, /* a coarse grid; two of three trials were aborted */
    N_SHAPES
};

static char *make_long(size_t n, enum shape shape)
{
    char *dir = make_dir();
    add_rows(dir, &(struct row){.id = NULL});
    FILE *out = fopen(in_dir(dir, "results.tsv"), "ab");
    for (size_t i = 0; i < n; i++) {
        bool failed = shape == OLD_FAILURES ? i < 3 : shape == TIES && i % 7 == 0;
        const char *label = failed ? "crash" : shape == ABORTED && i % 3 ? "harness_abort" : "discard";
        fprintf(out, "%03zu\t2026-05-01T00:00:00Z\topt\t\t\t\t\t\t%s\t1\t\t\t\t\t\t\t", i, label);
        if (shape == ONE_VALUE || shape == OLD_FAILURES)
            fprintf(out, "alpha=%zu; beta=3\n", i + 10);
        else if (shape == BLOCKS)
            fprintf(out, "alpha=%d; beta=%d\n", i < n / 2 ? 1 : 2, i < n / 2 ? 4 : 3);
        else
            fprintf(out, "alpha=%zu; beta=%zu\n", 2 + i % 5, i % 4);
    }
    assert_int_equal(fclose(out), 0);
    return dir;
}

static int count_step(void *context)
{
    ++*(size_t *)context;
    return 0;
}

/* The steps of SQLite's machine, in tens, of the question about alpha=1 and beta=3. */
static size_t steps_in(size_t n, enum shape shape)
{
    static const struct lineage_condition conditions[] = {{.name = "alpha", .range = {{true, 1}, {true, 1}}},
                                                          {.name = "beta", .range = {{true, 3}, {true, 3}}}};
    size_t steps = 0;
    struct mirror_seqs found = {0};
    char *dir = make_long(n, shape);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(mirror_sync(store->mirror, &err), LINEAGE_OK);
    sqlite3_progress_handler(mirror_db(store->mirror), 10, count_step, &steps);
    assert_int_equal(mirror_nearest(store->mirror, conditions, 2, 3, &found, &err), LINEAGE_OK);
    sqlite3_progress_handler(mirror_db(store->mirror), 0, NULL, NULL);
    assert_int_equal(found.n, 3);
    free(found.items);
    lineage_store_close(store);
    remove_dir(dir);
    return steps;
}

enum question { QUERY, PAGE, COUNT, TRIED, N_QUESTIONS };

/* The steps of a question about alpha=1 and beta=3 that no trial meets. */
static size_t steps_of(struct lineage_store *store, enum question question)
{
    static const struct lineage_condition conditions[] = {{.name = "alpha", .range = {{true, 1}, {true, 1}}},
                                                          {.name = "beta", .range = {{true, 3}, {true, 3}}}};
    static const struct lineage_param wanted[] = {{"alpha", 1, NULL}, {"beta", 3, NULL}};
    const struct lineage_query query = {.conditions = conditions,
                                        .n_conditions = 2,
                                        .sort = question == PAGE ? "-seq" : NULL,
                                        .limit = question == PAGE ? 20 : 0};
    struct mirror_seqs found = {0};
    size_t steps = 0, n = 0;
    enum lineage_status status = LINEAGE_OK;
    sqlite3_progress_handler(mirror_db(store->mirror), 10, count_step, &steps);
    if (question == COUNT)
        status = mirror_count(store->mirror, &query, &n, &err);
    else if (question == TRIED)
        status = mirror_tried(store->mirror, wanted, 2, 0.01, &found, &err);
    else
        status = mirror_query(store->mirror, &query, &found, &err);
    sqlite3_progress_handler(mirror_db(store->mirror), 0, NULL, NULL);
    assert_int_equal(status, LINEAGE_OK);
    assert_int_equal(found.n + n, 0);
    free(found.items);
    return steps;
}

/* Each value was tried in one half of the log. Up to 10,000 trials of a value are counted to find the rarest one. */
static void conditions_without_a_common_trial_take_few_steps(void **state)
{
    (void)state;
    enum { LONG = 24000, LONGER = 48000 };
    size_t steps[2][N_QUESTIONS];
    for (int many = 0; many < 2; many++) {
        char *dir = make_long(many ? LONGER : LONG, BLOCKS);
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        assert_int_equal(mirror_sync(store->mirror, &err), LINEAGE_OK);
        for (enum question q = 0; q < N_QUESTIONS; q++)
            steps[many][q] = steps_of(store, q);
        lineage_store_close(store);
        remove_dir(dir);
    }
    for (enum question q = 0; q < N_QUESTIONS; q++)
        if (steps[1][q] > steps[0][q] + steps[0][q] / 15)
            fail_msg("question %d takes %zu0 steps in %d rows and %zu0 in %d", (int)q, steps[0][q], LONG, steps[1][q], LONGER);
}

static void a_long_log_takes_few_steps(void **state)
{
    (void)state;
    for (enum shape shape = 0; shape < N_SHAPES; shape++) {
        size_t few = steps_in(FEW, shape), many = steps_in(MANY, shape);
        if (many > 2 * few + 50 || many > 500)
            fail_msg("shape %d takes %zu0 steps in %d rows and %zu0 in %d", (int)shape, few, FEW, many, MANY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_finds_what_a_pass_finds),
        cmocka_unit_test(the_number_of_conditions_is_limited),
        cmocka_unit_test(a_query_finds_what_a_pass_finds),
        cmocka_unit_test(a_long_log_takes_few_steps),
        cmocka_unit_test(conditions_without_a_common_trial_take_few_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
