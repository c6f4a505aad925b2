/* Tests best, find, queries, sweeps, tried and SQL on stores whose rows are given in the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/rows.h>

#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

static void assert_best(const char *dir, enum lineage_direction direction, const char *id)
{
    struct lineage_store *store = open_store(dir, direction, NULL);
    struct lineage_trial best;
    enum lineage_status status = lineage_best(store, &best, &err);
    if (id) {
        assert_int_equal(status, LINEAGE_OK);
        assert_string_equal(best.exp_id, id);
    } else {
        assert_int_equal(status, LINEAGE_ENOTFOUND);
    }
    lineage_trial_release(&best);
    lineage_store_close(store);
}

static void first_in_file_wins_a_tie(void **state)
{
    (void)state;
    const struct row rows[] = {{"a", .status = "keep", .metric = "2"},
                               {"b", .status = "baseline", .metric = "1"},
                               {"c", .status = "keep", .metric = "1.0"},
                               {"d", .status = "keep", .metric = "2e0"},
                               {.id = NULL}};
    char *dir = make_dir();
    add_rows(dir, rows);
    assert_best(dir, LINEAGE_LOWER, "b");
    assert_best(dir, LINEAGE_HIGHER, "a");
    remove_dir(dir);
}

static void only_kept_trials_with_finite_scores_rank(void **state)
{
    (void)state;
    const struct row rows[] = {{"nan", .status = "keep", .metric = "nan"},
                               {"low", .status = "keep", .metric = "-inf"},
                               {"high", .status = "keep", .metric = "inf"},
                               {"none", .status = "keep"},
                               {"disc", .status = "discard", .metric = "-5"},
                               {"big", .status = "size_blocked", .metric = "9"},
                               {.id = NULL}};
    char *dir = make_dir();
    add_rows(dir, rows);
    assert_best(dir, LINEAGE_LOWER, NULL);
    assert_best(dir, LINEAGE_HIGHER, NULL);
    add_rows(dir, (const struct row[]){
                      {"x", .status = "keep", .metric = "-0.0"}, {"y", .status = "baseline", .metric = "0.0"}, {.id = NULL}});
    assert_best(dir, LINEAGE_LOWER, "x");
    assert_best(dir, LINEAGE_HIGHER, "x");
    remove_dir(dir);
}

static void ids_resolve_with_and_without_prefix(void **state)
{
    (void)state;
    const struct row rows[] = {{"014", .status = "keep"},
                               {"exp_7", .status = "keep"},
                               {"exp_014", .status = "discard"},
                               {"014", .status = "crash"},
                               {.id = NULL}};
    struct lineage_trial trial;
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_find(store, "014", &trial, &err), LINEAGE_OK);
    assert_int_equal(trial.seq, 4); /* the last row of a repeated id */
    lineage_trial_release(&trial);
    assert_int_equal(lineage_find(store, "exp_014", &trial, &err), LINEAGE_OK);
    assert_int_equal(trial.seq, 3); /* an exact match is preferred */
    lineage_trial_release(&trial);
    assert_int_equal(lineage_find(store, "7", &trial, &err), LINEAGE_OK);
    assert_string_equal(trial.exp_id, "exp_7");
    lineage_trial_release(&trial);
    assert_int_equal(lineage_find(store, "exp_exp_7", &trial, &err), LINEAGE_OK);
    lineage_trial_release(&trial);
    assert_int_equal(lineage_find(store, "8", &trial, &err), LINEAGE_ENOTFOUND);
    lineage_store_close(store);
    remove_dir(dir);
}

static const struct row sweep_rows[] = {
    {"0", "s", .status = "baseline", .metric = "10", .timestamp = "2026-01-01T00:00:00Z"},
    {"1", "s", .status = "keep", .metric = "9", .notes = "alpha=0.3; gamma=1.0", .timestamp = "2026-01-02T00:00:00Z"},
    {"2", "t", .status = "discard", .metric = "11", .notes = "alpha=0.1; gamma=0.9", .timestamp = "2026-01-03T00:00:00Z"},
    {"3", "t", .status = "crash", .notes = "alpha=0.9; gamma=1.0", .timestamp = "2026-01-04T00:00:00Z"},
    {"4", "s", .status = "keep", .metric = "nan", .notes = "α=0.3; gamma=0.9; lr=1e-4", .timestamp = "2026-01-05T00:00:00Z"},
    {"5", "s", .status = "discard", .metric = "9", .notes = "alpha=nan; gamma=0.5", .timestamp = "2026-01-06T00:00:00Z"},
    {.id = NULL}};

static struct lineage_range range(const char *text)
{
    struct lineage_range out;
    assert_int_equal(lineage_range_parse(&out, text, &err), LINEAGE_OK);
    return out;
}

static void assert_query(struct lineage_store *store, const char *a, const char *a_range, const char *b, const char *b_range,
                         const char *sort, size_t limit, const char *ids)
{
    const struct lineage_condition conditions[] = {{.name = a, .range = a ? range(a_range) : (struct lineage_range){{0}, {0}}},
                                                   {.name = b, .range = b ? range(b_range) : (struct lineage_range){{0}, {0}}}};
    const struct lineage_query query = {
        .conditions = conditions, .n_conditions = (a != NULL) + (size_t)(b != NULL), .sort = sort, .limit = limit};
    assert_string_equal(ids_of(store, &query), ids);
}

static void ranges_are_closed_and_never_match_nan(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_query(store, "alpha", "0.1:0.3", NULL, NULL, NULL, 0, "1 2 4 ");
    assert_query(store, "alpha", "0.3", NULL, NULL, NULL, 0, "1 4 ");
    assert_query(store, "alpha", ":", NULL, NULL, NULL, 0, "1 2 3 4 ");
    assert_query(store, "α", "0.2:", "gamma", "1.0:", NULL, 0, "1 3 ");
    assert_query(store, "adv_rescale_alpha", ":0.5", "gamma", ":0.9", NULL, 0, "2 4 ");
    assert_query(store, "gamma", "0.9", "alpha", "0.1:0.3", NULL, 1, "2 ");
    assert_query(store, "core_metric", ":", NULL, NULL, NULL, 0, "0 1 2 5 ");
    assert_query(store, "score", "9:10", NULL, NULL, NULL, 0, "0 1 5 ");
    assert_query(store, "lr", "1e-4", NULL, NULL, NULL, 0, "4 ");
    assert_query(store, "beta", ":", NULL, NULL, NULL, 0, "");
    lineage_store_close(store);
    remove_dir(dir);
}

static void sorting_keeps_file_order_in_ties(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_query(store, NULL, NULL, NULL, NULL, "core_metric", 0, "1 5 0 2 ");
    assert_query(store, NULL, NULL, NULL, NULL, "-core_metric", 0, "2 0 1 5 ");
    assert_query(store, NULL, NULL, NULL, NULL, "alpha", 0, "2 1 4 3 ");
    assert_query(store, NULL, NULL, NULL, NULL, "-alpha", 3, "3 1 4 ");
    assert_query(store, "gamma", "0.9:", NULL, NULL, "-alpha", 0, "3 1 4 2 ");
    assert_query(store, "gamma", ":", NULL, NULL, "-gamma", 0, "1 3 2 4 5 ");
    assert_query(store, NULL, NULL, NULL, NULL, "-specialist", 2, "2 3 ");
    assert_query(store, NULL, NULL, NULL, NULL, "job_name", 0, ""); /* rows without a value are left out */
    lineage_store_close(store);
    remove_dir(dir);
}

static void labels_specialists_and_dates_filter(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(ids_of(store, &(struct lineage_query){.labels = 1u << LINEAGE_KEEP}), "1 4 ");
    assert_string_equal(ids_of(store, &(struct lineage_query){.labels = 1u << LINEAGE_KEEP | 1u << LINEAGE_BASELINE}), "0 1 4 ");
    assert_string_equal(
        ids_of(store, &(struct lineage_query){.labels = 1u << LINEAGE_CRASH | 1u << LINEAGE_KEEP, .specialist = "t"}), "3 ");
    assert_string_equal(ids_of(store, &(struct lineage_query){.since = "2026-01-04"}), "3 4 5 ");
    assert_string_equal(ids_of(store, &(struct lineage_query){.since = "2026-01-02T00:00:00Z", .until = "2026-01-04T00:00:00Z"}),
                        "1 2 ");
    lineage_store_close(store);
    remove_dir(dir);
}

static void unknown_names_are_refused_with_the_known_ones(void **state)
{
    (void)state;
    struct lineage_cursor *cursor;
    struct lineage_sweep sweep;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    const char *const names[] = {"aplha", "t.seq", "score; DROP TABLE trials", "", "hypothesis"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct lineage_condition condition = {.name = names[i], .range = range(":")};
        const struct lineage_query query = {.conditions = &condition, .n_conditions = 1};
        assert_int_equal(lineage_query_open(&cursor, store, &query, &err), LINEAGE_EINVAL);
        assert_null(cursor);
    }
    const struct lineage_query query = {.sort = "-aplha"};
    assert_int_equal(lineage_query_open(&cursor, store, &query, &err), LINEAGE_EINVAL);
    assert_non_null(strstr(err.text, "aplha"));
    assert_non_null(strstr(err.text, "core_metric"));
    assert_non_null(strstr(err.text, "gamma"));
    assert_int_equal(lineage_sweep_load(store, "aplha", NULL, &sweep, &err), LINEAGE_EINVAL);
    lineage_store_close(store);
    remove_dir(dir);
}

static void ranges_parse(void **state)
{
    (void)state;
    struct lineage_range r;
    const char *const bad[] = {"", "x", "1:x", "2:1", "nan", "nan:1", "1:2:3", "0x1", "1,2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(lineage_range_parse(&r, bad[i], &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_range_parse(&r, "1e-4:", &err), LINEAGE_OK);
    assert_true(r.low.present && r.low.value == 1e-4 && !r.high.present);
    assert_int_equal(lineage_range_parse(&r, ":-.5", &err), LINEAGE_OK);
    assert_true(!r.low.present && r.high.present && r.high.value == -.5);
    assert_int_equal(lineage_range_parse(&r, "-inf:inf", &err), LINEAGE_OK);
}

static void a_sweep_shows_cells_and_what_lacks_them(void **state)
{
    (void)state;
    struct lineage_sweep sweep;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_sweep_load(store, "alpha", "gamma", &sweep, &err), LINEAGE_OK);
    assert_int_equal(sweep.n_cells, 4);
    assert_int_equal(sweep.n_xs, 3);
    assert_int_equal(sweep.n_ys, 2);
    assert_int_equal(sweep.without, 2); /* trial 0 has neither, trial 5 has no numeric alpha */
    assert_true(sweep.cells[1].x == 0.3 && sweep.cells[1].y == 0.9 && sweep.cells[1].count == 1);
    assert_false(sweep.cells[1].best.present); /* nan does not count */
    assert_true(sweep.cells[2].best.present && sweep.cells[2].best.value == 9);
    assert_string_equal(sweep.cells[2].best_id, "1");
    assert_int_equal(sweep.cells[3].labels[LINEAGE_CRASH], 1);
    lineage_sweep_release(&sweep);
    assert_int_equal(lineage_sweep_load(store, "gamma", NULL, &sweep, &err), LINEAGE_OK);
    assert_int_equal(sweep.n_cells, 3);
    assert_true(sweep.n_ys == 1 && sweep.ys[0] == 0);
    assert_int_equal(sweep.without, 1);
    lineage_sweep_release(&sweep);
    lineage_store_close(store);
    remove_dir(dir);
}

static void tried_finds_what_lies_within_tolerance(void **state)
{
    (void)state;
    struct lineage_cursor *cursor;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    const struct lineage_param near[] = {{"alpha", 0.31, NULL}, {"gamma", 0.95, NULL}};
    assert_int_equal(lineage_tried(&cursor, store, near, 2, 0.08, &err), LINEAGE_OK);
    assert_string_equal(ids_of_cursor(cursor), "1 4 ");
    assert_int_equal(lineage_tried(&cursor, store, near, 2, 0.001, &err), LINEAGE_OK);
    assert_string_equal(ids_of_cursor(cursor), "");
    const struct lineage_param never[] = {{"dropout", 0.1, NULL}};
    assert_int_equal(lineage_tried(&cursor, store, never, 1, 1, &err), LINEAGE_OK);
    assert_string_equal(ids_of_cursor(cursor), "");
    assert_int_equal(lineage_tried(&cursor, store, near, 0, 1, &err), LINEAGE_EINVAL);
    assert_int_equal(lineage_tried(&cursor, store, near, 1, NAN, &err), LINEAGE_EINVAL);
    lineage_store_close(store);
    remove_dir(dir);
}

/* The seqs of a range come in the order of its values, and are sorted by a set of bits if there are many. */
static void a_range_is_listed_in_the_order_of_the_log(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    static const struct {
        const char *range;
        size_t n; /* number of trials */
    } cases[] = {{"0.2:0.6", ROWS / 2}, {"0:1", ROWS}, {"0.3", ROWS / 10}, {"0.9:5", ROWS / 10}, {"7:8", 2}, {"2:3", 0}};
    char *dir = make_dir();
    add_rows(dir, &(struct row){.id = NULL});
    FILE *out = fopen(in_dir(dir, "results.tsv"), "ab");
    for (size_t i = 0; i < ROWS; i++)
        fprintf(out, "%03zu\t2026-05-01T00:00:00Z\topt\t\t\t\t\t\tdiscard\t1\t\t\t\t\t\t\talpha=0.%zu\n", i, i * 7 % 10);
    fputs("far\t\t\t\t\t\t\t\tdiscard\t1\t\t\t\t\t\t\talpha=8\nnear\t\t\t\t\t\t\t\tdiscard\t1\t\t\t\t\t\t\talpha=7\n", out);
    assert_int_equal(fclose(out), 0);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (uint64_t after = 0; after < ROWS; after += ROWS / 4) {
            struct lineage_condition condition = {.name = "alpha"};
            const struct lineage_query query = {.conditions = &condition, .n_conditions = 1, .after = after};
            struct lineage_cursor *cursor;
            struct lineage_trial trial;
            uint64_t last = after;
            size_t n = 0;
            assert_int_equal(lineage_range_parse(&condition.range, cases[i].range, &err), LINEAGE_OK);
            assert_int_equal(lineage_query_open(&cursor, store, &query, &err), LINEAGE_OK);
            for (; lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK; n++) {
                assert_true(trial.seq > last && trial.params[0].value >= condition.range.low.value &&
                            trial.params[0].value <= condition.range.high.value);
                last = trial.seq;
            }
            lineage_cursor_close(cursor);
            assert_int_equal(n, cases[i].n > 2 ? cases[i].n - cases[i].n * after / ROWS : cases[i].n);
        }
    lineage_store_close(store);
    remove_dir(dir);
}

static void a_cursor_survives_other_calls_on_its_store(void **state)
{
    (void)state;
    struct lineage_cursor *cursor;
    struct lineage_trial trial, other;
    char *dir = make_dir();
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_query_open(&cursor, store, &(struct lineage_query){0}, &err), LINEAGE_OK);
    assert_int_equal(lineage_cursor_next(cursor, &trial, &err), LINEAGE_OK);
    add_rows(dir, (const struct row[]){{"6", .status = "keep", .metric = "1"}, {.id = NULL}});
    assert_int_equal(lineage_best(store, &other, &err), LINEAGE_OK);
    assert_string_equal(other.exp_id, "6");
    lineage_trial_release(&other);
    assert_string_equal(trial.exp_id, "0");
    assert_string_equal(ids_of_cursor(cursor), "1 2 3 4 5 ");
    lineage_store_close(store);
    remove_dir(dir);
}

/* The text at that position; texts end with NULs. */
static const char *text_of(const struct lineage_row_texts *texts, size_t at)
{
    const char *text = texts->bytes;
    while (at--)
        text += strlen(text) + 1;
    assert_true(text < texts->bytes + texts->n_bytes);
    return text;
}

/* Rows that lineage_cursor_next did not return, as arrays. */
static void rows_come_as_arrays_too(void **state)
{
    (void)state;
    const struct row rows[] = {{"0", "s", .status = "baseline", .metric = "3"},
                               {"1", "s", .status = "discard", .metric = "nan", .notes = "alpha=0.3; optimizer=adam"},
                               {"2", .status = "crash", .notes = "lr=2; metrics loss=0.5"},
                               {.id = NULL}};
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    struct lineage_cursor *cursor;
    struct lineage_trial first;
    struct lineage_rows found;
    assert_int_equal(lineage_query_open(&cursor, store, &(struct lineage_query){0}, &err), LINEAGE_OK);
    assert_int_equal(lineage_cursor_next(cursor, &first, &err), LINEAGE_OK);
    assert_int_equal(lineage_cursor_rows(cursor, &found, &err), LINEAGE_OK);
    assert_int_equal(found.n, 2);
    assert_string_equal(text_of(&found.texts, 0), "1");
    assert_string_equal(text_of(&found.texts, LINEAGE_ROW_TEXTS), "2");
    assert_string_equal(text_of(&found.texts, 2 * LINEAGE_ROW_TEXTS - 2), "lr=2; metrics loss=0.5");
    assert_string_equal(text_of(&found.texts, 2 * LINEAGE_ROW_TEXTS - 1), ""); /* not void */
    assert_true(found.present[0] && isnan(found.numbers[0]) && !found.present[LINEAGE_ROW_NUMBERS]);
    assert_int_equal(found.labels[1], LINEAGE_CRASH);
    assert_int_equal(found.seqs[1], 3);
    assert_int_equal(found.params.n, 3);
    assert_int_equal(found.params.ends[0], 2);
    assert_int_equal(found.params.ends[1], 3);
    assert_string_equal(text_of(&found.params.names, 1), "optimizer");
    assert_true(!found.params.is_text[0] && found.params.is_text[1] && found.params.values[2] == 2);
    assert_string_equal(text_of(&found.params.texts, 1), "adam");
    assert_true(found.metrics.n == 1 && found.metrics.ends[0] == 0 && found.metrics.values[0] == 0.5);
    assert_int_equal(lineage_cursor_rows(cursor, &found, &err), LINEAGE_OK);
    assert_int_equal(found.n, 0);
    lineage_cursor_close(cursor);
    lineage_store_close(store);
    remove_dir(dir);
}

static bool count_row(void *context, size_t n, const char *const *names, const char *const *texts)
{
    (void)n, (void)names, (void)texts;
    ++*(unsigned *)context;
    return true;
}

static const struct row page_rows[] = {{"0", "s", .status = "baseline", .metric = "10"},
                                       {"1", "s", .status = "keep", .metric = "9", .notes = "alpha=0.3"},
                                       {"2", "t", .status = "discard", .metric = "11", .notes = "alpha=0.1"},
                                       {"3", "", .status = "crash", .notes = "alpha=0.9"},
                                       {"4", "s", .status = "keep", .metric = "9", .notes = "alpha=0.3; lr=1e-4"},
                                       {"5", "u", .status = "discard", .metric = "9", .notes = "alpha=0.2"},
                                       {"6", "s", .status = "discard", .metric = "-0.0", .notes = "alpha=0.3"},
                                       {.id = NULL}};

/* Pages of one trial each, joined together, equal the whole list. */
static void assert_pages(struct lineage_store *store, struct lineage_query query, const char *ids)
{
    char all[256] = "";
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    assert_string_equal(ids_of(store, &query), ids);
    query.limit = 1;
    for (query.after = 0;;) {
        assert_int_equal(lineage_query_open(&cursor, store, &query, &err), LINEAGE_OK);
        enum lineage_status status = lineage_cursor_next(cursor, &trial, &err);
        if (status == LINEAGE_OK) {
            strcat(strcat(all, trial.exp_id), " ");
            query.after = trial.seq;
        }
        lineage_cursor_close(cursor);
        if (status != LINEAGE_OK)
            break;
    }
    assert_string_equal(all, ids);
}

static void pages_go_on_behind_a_trial_in_any_order(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, page_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    const struct lineage_condition alpha = {.name = "alpha", .range = range("0.2:1")};
    const struct lineage_query led = {.conditions = &alpha, .n_conditions = 1};
    struct lineage_query query = led;
    assert_pages(store, (struct lineage_query){0}, "0 1 2 3 4 5 6 ");
    assert_pages(store, (struct lineage_query){.sort = "-seq"}, "6 5 4 3 2 1 0 ");
    assert_pages(store, (struct lineage_query){.sort = "score"}, "6 1 4 5 0 2 ");
    assert_pages(store, (struct lineage_query){.sort = "-score"}, "2 0 1 4 5 6 ");
    assert_pages(store, (struct lineage_query){.sort = "-specialist"}, "5 2 0 1 4 6 ");
    assert_pages(store, (struct lineage_query){.sort = "alpha"}, "2 5 1 4 6 3 ");
    assert_pages(store, (struct lineage_query){.sort = "-alpha"}, "3 1 4 6 5 2 ");
    assert_pages(store, led, "1 3 4 5 6 ");
    query.sort = "-seq";
    assert_pages(store, query, "6 5 4 3 1 ");
    query.sort = "-score";
    assert_pages(store, query, "1 4 5 6 ");
    query.sort = "-alpha";
    assert_pages(store, query, "3 1 4 6 5 ");
    query.sort = "lr";
    assert_pages(store, query, "4 ");
    query = (struct lineage_query){.sort = "score", .after = 4}; /* row 4 is trial 3, a crash without score */
    assert_string_equal(ids_of(store, &query), "");
    lineage_store_close(store);
    remove_dir(dir);
}

/* Of 45,000 trials the first 12,000 and the last 500 have an alpha in the range. These are too many to be looked up
 * one by one, and in reverse order the gap between them is longer than what is read for one page. */
static void a_page_of_a_wide_range_is_the_same_as_of_the_list(void **state)
{
    (void)state;
    char *dir = make_dir(), *line = malloc(45000 * 64), *end = line;
    for (int i = 1; i <= 45000; i++)
        end += sprintf(end, "%d\t\ts\t\t\t\t\t\tkeep\t1\t\t\t\t\t\t\talpha=%s\n", i, i <= 12000 || i > 44500 ? "0.5" : "2");
    add_rows(dir, (const struct row[]){{.id = NULL}});
    add_bytes(dir, line);
    free(line);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    const struct lineage_condition alpha = {.name = "alpha", .range = range("0.4:0.6")};
    struct lineage_query query = {.conditions = &alpha, .n_conditions = 1, .limit = 3};
    assert_string_equal(ids_of(store, &query), "1 2 3 ");
    query.after = 11998;
    assert_string_equal(ids_of(store, &query), "11999 12000 44501 ");
    query = (struct lineage_query){.conditions = &alpha, .n_conditions = 1, .limit = 3, .sort = "-seq"};
    assert_string_equal(ids_of(store, &query), "45000 44999 44998 ");
    query.after = 44502;
    assert_string_equal(ids_of(store, &query), "44501 12000 11999 ");
    query.after = 2;
    assert_string_equal(ids_of(store, &query), "1 ");
    lineage_store_close(store);
    remove_dir(dir);
}

/* Adds trials 1 to 30,000. They have many ties, some have no score, and conditions hold for a third of them, for a
 * few, for the last one, or for none. */
static void add_many(const char *dir)
{
    char *lines = malloc(30000 * 96), *end = lines;
    unsigned x = 1;
    for (int i = 1; i <= 30000; i++) {
        x = x * 1103515245 + 12345;
        end += sprintf(end, "%d\t20%02u-01-01\ts\t\t\t\t\t\tkeep\t", i, x >> 28);
        end += x >> 27 & 7 ? sprintf(end, "%u", x >> 20 & 255) : 0;
        end += sprintf(end, "\t\t\t\t\t\t\talpha=0.%u; gamma=%d; lr=%d%s\n", x >> 16 & 7, i % 3, i, i > 29000 ? "; late=1" : "");
    }
    add_rows(dir, (const struct row[]){{.id = NULL}});
    add_bytes(dir, lines);
    free(lines);
}

/* A list of any length begins like the whole list. A list after any trial continues like the whole list. */
static void assert_list_begins(struct lineage_store *store, struct lineage_query query)
{
    char first[4096], rest[4096];
    /* Too long to be filled by walking, as short lists are. */
    query.limit = 1001;
    const char *all = ids_of(store, &query), *at = all;
    size_t n = 0;
    for (; n < 40 && *at; n++)
        at = strchr(at, ' ') + 1;
    query.limit = n < 20 ? 20 : n - 20;
    const char *middle = all;
    for (size_t i = 0; i < query.limit && *middle; i++)
        middle = strchr(middle, ' ') + 1;
    snprintf(first, sizeof first, "%.*s", (int)(middle - all), all);
    snprintf(rest, sizeof rest, "%.*s", (int)(at - middle), middle);
    for (const char *p = first; *p; p = strchr(p, ' ') + 1)
        query.after = strtoull(p, NULL, 10); /* ids equal row numbers here */
    uint64_t after = query.after;
    query.after = 0;
    assert_string_equal(ids_of(store, &query), first);
    query.after = after;
    query.limit = 20;
    if (n == 40)
        assert_string_equal(ids_of(store, &query), rest);
}

static void a_short_list_is_the_beginning_of_the_list_in_any_order(void **state)
{
    (void)state;
    static const char *const sorts[] = {NULL,     "-seq",  "score", "-score", "timestamp", "-timestamp",  "exp_id",
                                        "-alpha", "alpha", "lr",    "-lr",    "-late",     "-core_metric"};
    const struct lineage_condition sets[][2] = {
        {{.name = "gamma", .range = range("1")}, {.name = "alpha", .range = range("0.2:0.6")}},
        {{.name = "lr", .range = range("29500:")}, {.name = "alpha", .range = range("0.3:")}},
        {{.name = "lr", .range = range(":29990")}, {.name = "late", .range = range("1")}},
        {{.name = "gamma", .range = range("0:1")}, {.name = "score", .range = range("250:")}},
        {{.name = "score", .range = range(":200")}, {.name = "lr", .range = range("12000:")}},
        {{.name = "alpha", .range = range("0.1")}, {.name = "alpha", .range = range("0.2")}}};
    char *dir = make_dir();
    add_many(dir);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t set = 0; set < sizeof sets / sizeof *sets; set++)
        for (size_t sort = 0; sort < sizeof sorts / sizeof *sorts; sort++)
            assert_list_begins(store, (struct lineage_query){.conditions = sets[set], .n_conditions = 2, .sort = sorts[sort]});
    lineage_store_close(store);
    remove_dir(dir);
}

static void counts_what_a_query_finds(void **state)
{
    (void)state;
    size_t n;
    char *dir = make_dir();
    add_rows(dir, page_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    const struct lineage_condition alpha = {.name = "alpha", .range = range("0.2:1")};
    struct lineage_query query = {.conditions = &alpha, .n_conditions = 1, .sort = "-score", .after = 6};
    assert_int_equal(lineage_query_count(&n, store, &query, &err), LINEAGE_OK);
    /* One of five has no score; `after` does not change the count. */
    assert_int_equal(n, 4);
    query.limit = 3;
    assert_int_equal(lineage_query_count(&n, store, &query, &err), LINEAGE_OK);
    assert_int_equal(n, 3);
    query = (struct lineage_query){.sort = "nonsense"};
    assert_int_equal(lineage_query_count(&n, store, &query, &err), LINEAGE_EINVAL);
    lineage_store_close(store);
    remove_dir(dir);
}

static const struct row text_rows[] = {
    {"a", .status = "keep", .metric = "1", .notes = "alpha=0.1; optimizer=adam; size='7B'"},
    {"b", .status = "keep", .metric = "2", .notes = "alpha=0.3, optimizer=sgd"},
    {"c", .status = "discard", .metric = "3", .notes = "alpha=0.3; optimizer=adam; optimizer diverged, x=y"},
    {"d", .status = "keep", .metric = "4", .notes = "optimizer=adam diverged; alpha=0.9"},
    {"e", .status = "harness_abort", .notes = "optimizer=muon; alpha=0.1; mixed=1"},
    {"f", .status = "keep", .metric = "5", .notes = "mixed=one; optimizer=Adam"},
    {.id = NULL}};

/* Asserts which ids a condition finds, in the order of `sort`. */
static void assert_texts_find(struct lineage_store *store, const char *name, const char *const *texts, size_t n, const char *sort,
                              const char *want)
{
    const struct lineage_condition condition = {.name = name, .texts = texts, .n_texts = n};
    const struct lineage_query query = {.conditions = &condition, .n_conditions = 1, .sort = sort};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    char got[32] = "";
    assert_int_equal(lineage_query_open(&cursor, store, &query, &err), LINEAGE_OK);
    while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK)
        strcat(got, trial.exp_id);
    lineage_cursor_close(cursor);
    assert_string_equal(got, want);
}

static void texts_are_found_exactly(void **state)
{
    (void)state;
    const char *const texts[] = {"adam", "sgd"}, *const size[] = {"7B"}, *const none[] = {"lion"};
    const char *const kept[] = {"keep"};
    char *dir = make_dir();
    add_rows(dir, text_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_texts_find(store, "optimizer", texts, 1, NULL, "ac");
    assert_texts_find(store, "optimizer", texts, 2, NULL, "abc");
    assert_texts_find(store, "optimizer", texts, 2, "-optimizer", "bac");
    assert_texts_find(store, "optimizer", none, 1, NULL, "");
    /* No values: every trial that has an optimizer. */
    assert_texts_find(store, "optimizer", NULL, 0, "optimizer", "faceb");
    assert_texts_find(store, "size", size, 1, NULL, "a");
    assert_texts_find(store, "mixed", NULL, 0, "mixed", "ef"); /* numbers sort first */
    assert_texts_find(store, "status", kept, 1, NULL, "abdf");
    assert_string_equal(sql_value(store, "SELECT group_concat(value) FROM params WHERE value > 0.2"), "0.3,0.3,0.9,1.0");
    assert_string_equal(sql_value(store, "SELECT count(*) FROM text_params WHERE value = 'adam'"), "2");
    lineage_store_close(store);
    remove_dir(dir);
}

/* A condition with the wrong kind of value is an error, not "never tried". */
static void a_condition_of_the_wrong_kind_is_an_error(void **state)
{
    (void)state;
    const char *const texts[] = {"high"};
    const struct {
        struct lineage_condition condition;
        const char *says;
    } wrong[] = {{{.name = "alpha", .texts = texts, .n_texts = 1}, "holds numbers"},
                 {{.name = "score", .texts = texts, .n_texts = 1}, "holds numbers"},
                 {{.name = "optimizer", .range = range("0:1")}, "holds text"},
                 {{.name = "optimiser", .texts = texts, .n_texts = 1}, "optimizer"}};
    char *dir = make_dir();
    add_rows(dir, text_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct lineage_query query = {.conditions = &wrong[i].condition, .n_conditions = 1};
        struct lineage_cursor *cursor;
        assert_int_equal(lineage_query_open(&cursor, store, &query, &err), LINEAGE_EINVAL);
        assert_non_null(strstr(err.text, wrong[i].says));
    }
    lineage_store_close(store);
    remove_dir(dir);
}

static void a_range_never_finds_a_text(void **state)
{
    (void)state;
    const struct lineage_condition condition = {.name = "mixed", .range = range("0:")};
    const struct lineage_query query = {.conditions = &condition, .n_conditions = 1};
    size_t n;
    char *dir = make_dir();
    add_rows(dir, text_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_query_count(&n, store, &query, &err), LINEAGE_OK);
    assert_int_equal(n, 1);
    lineage_store_close(store);
    remove_dir(dir);
}

static void assert_tried(struct lineage_store *store, const char *optimizer, double alpha, const char *want)
{
    const struct lineage_param wanted[] = {{"optimizer", 0, optimizer}, {"alpha", alpha, NULL}};
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    char got[32] = "";
    assert_int_equal(lineage_tried(&cursor, store, wanted, 2, 0.05, &err), LINEAGE_OK);
    while (lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK)
        strcat(got, trial.exp_id);
    lineage_cursor_close(cursor);
    assert_string_equal(got, want);
}

static void texts_and_numbers_are_tried_together(void **state)
{
    (void)state;
    char *dir = make_dir();
    add_rows(dir, text_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_tried(store, "adam", 0.31, "c");
    assert_tried(store, "adam", 0.1, "a");
    assert_tried(store, "sgd", 0.1, "");
    assert_tried(store, "muon", 0.1, ""); /* an aborted trial does not count as tried */
    lineage_store_close(store);
    remove_dir(dir);
}

/* There are enough rows that a sweep reads sums and pairs instead of rows. A plain pass over the written values must
 * agree with it. Scores are coarse, so of several equal scores the first must be chosen. Every 40th row has no y. */
enum { SWEPT = 4000, XS = 8 };

static enum lineage_label swept_label(size_t i)
{
    static const enum lineage_label labels[] = {LINEAGE_CRASH, LINEAGE_DISCARD, LINEAGE_HARNESS_ABORT, LINEAGE_KEEP,
                                                LINEAGE_BASELINE};
    return labels[(i * 2654435761u >> 11) % 5];
}

static size_t swept_x(size_t i)
{
    return (i * 2654435761u >> 17) % XS;
}

static int swept_score(size_t i)
{
    return (int)((i * 2654435761u >> 7) % 50);
}

static void add_swept(const char *dir)
{
    char line[200];
    add_rows(dir, (const struct row[]){{"first", "s", .status = "crash"}, {.id = NULL}});
    for (size_t i = 0; i < SWEPT; i++) {
        snprintf(line, sizeof line, "%zu\tT\ts\t\t\t\t\t\t%s\t%d\t\t\t\t\t\t\talpha=%s%zu%s%s\n", i,
                 lineage_label_name(swept_label(i)), swept_score(i), swept_x(i) ? "" : "-", swept_x(i), i % 40 ? ", mode=" : "",
                 i % 40 ? (i % 3 ? "b" : "a") : "");
        add_bytes(dir, line);
    }
}

/* mode: the mode of the counted rows; NULL: any mode or none. */
static void check_cell(const struct lineage_sweep_cell *cell, const char *mode, bool higher)
{
    size_t count = 0, kept = 0, best = SWEPT;
    for (size_t i = 0; i < SWEPT; i++) {
        enum lineage_label label = swept_label(i);
        if (swept_x(i) != (size_t)cell->x || label == LINEAGE_HARNESS_ABORT ||
            (mode && (i % 40 == 0 || strcmp(mode, i % 3 ? "b" : "a") != 0)))
            continue;
        count++;
        kept += label == LINEAGE_KEEP;
        if (label != LINEAGE_CRASH &&
            (best == SWEPT || (higher ? swept_score(i) > swept_score(best) : swept_score(i) < swept_score(best))))
            best = i;
    }
    assert_int_equal(cell->count, count);
    assert_int_equal(cell->labels[LINEAGE_KEEP], kept);
    assert_true(best < SWEPT && cell->best.present);
    assert_int_equal(cell->best.value, swept_score(best));
    assert_int_equal(strtoull(cell->best_id, NULL, 10), best);
    assert_int_equal(signbit(cell->x) != 0, cell->x == 0); /* 0 was written as -0 */
}

static void a_sweep_of_many_rows_is_what_one_pass_gives(void **state)
{
    (void)state;
    struct lineage_sweep sweep;
    char *dir = make_dir();
    add_swept(dir);
    for (int higher = 0; higher < 2; higher++) {
        struct lineage_store *store = open_store(dir, higher ? LINEAGE_HIGHER : LINEAGE_LOWER, NULL);
        assert_int_equal(lineage_sweep_load(store, "alpha", NULL, &sweep, &err), LINEAGE_OK);
        size_t n = sweep.n_cells;
        assert_true(n > 2 && sweep.without == 1 && sweep.aborted > 0);
        for (size_t i = 0; i < n; i++)
            check_cell(&sweep.cells[i], NULL, higher);
        lineage_sweep_release(&sweep);
        assert_int_equal(lineage_sweep_load(store, "alpha", "mode", &sweep, &err), LINEAGE_OK);
        assert_true(sweep.n_xs == n && sweep.n_ys == 2 && sweep.without == 1 + SWEPT / 40);
        for (size_t i = 0; i < sweep.n_cells; i++)
            check_cell(&sweep.cells[i], sweep.cells[i].y_text, higher);
        lineage_sweep_release(&sweep);
        lineage_store_close(store);
    }
    remove_dir(dir);
}

static void a_sweep_has_texts_on_its_axes(void **state)
{
    (void)state;
    struct lineage_sweep sweep;
    char *dir = make_dir();
    add_rows(dir, text_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_sweep_load(store, "optimizer", NULL, &sweep, &err), LINEAGE_OK);
    assert_int_equal(sweep.n_cells, 3);
    assert_string_equal(sweep.cells[0].x_text, "Adam");
    assert_true(isnan(sweep.cells[1].x) && sweep.cells[1].count == 2);
    assert_string_equal(sweep.cells[1].best_id, "a");
    assert_true(sweep.n_xs == 3 && sweep.aborted == 1 && strcmp(sweep.x_texts[2], "sgd") == 0 && sweep.n_ys == 1);
    lineage_sweep_release(&sweep);
    assert_int_equal(lineage_sweep_load(store, "optimizer", "alpha", &sweep, &err), LINEAGE_OK);
    assert_int_equal(sweep.n_cells, 3); /* 4 possible pairs, without sgd 0.1 */
    assert_true(sweep.n_xs == 2 && sweep.n_ys == 2 && !sweep.y_texts[0] && sweep.ys[0] == 0.1);
    assert_true(sweep.cells[0].y == 0.1 && sweep.cells[1].y == 0.3 && sweep.cells[2].y == 0.3);
    lineage_sweep_release(&sweep);
    assert_int_equal(lineage_sweep_load(store, "mixed", NULL, &sweep, &err), LINEAGE_OK);
    /* Only the aborted trial has a number. */
    assert_true(sweep.n_xs == 1 && strcmp(sweep.x_texts[0], "one") == 0);
    lineage_sweep_release(&sweep);
    lineage_store_close(store);
    remove_dir(dir);
}

static bool after_some_askings(void *context)
{
    return --*(int *)context < 0;
}

static void a_long_question_can_be_cancelled(void **state)
{
    (void)state;
    int patience = 3;
    size_t n;
    const char *endless = "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    const struct lineage_open_options options = {.cancelled = after_some_askings, .context = &patience};
    struct lineage_store *store;
    char *dir = make_dir();
    add_rows(dir, page_rows);
    assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
    assert_int_equal(lineage_sql(store, endless, count_row, &n, &err), LINEAGE_ECANCELLED);
    assert_int_equal(lineage_sql(store, endless, count_row, &n, &err), LINEAGE_ECANCELLED);
    patience = 3;
    assert_string_equal(sql_value(store, "SELECT count(*) FROM trials"), "7"); /* the handle still works */
    lineage_store_close(store);
    remove_dir(dir);
}

static void sql_cannot_write(void **state)
{
    (void)state;
    unsigned n = 0;
    char *dir = make_dir();
    const char *const refused[] = {"DELETE FROM trials",
                                   "SELECT 1; DELETE FROM trials",
                                   "DROP TABLE trials",
                                   "ATTACH 'x.db' AS x",
                                   "PRAGMA user_version = 5",
                                   "PRAGMA writable_schema = 1",
                                   "CREATE TEMP TABLE t (a)",
                                   "VACUUM INTO 'copy.db'",
                                   "BEGIN",
                                   "SELECT load_extension('x')",
                                   "WITH a AS (SELECT 1) INSERT INTO trials SELECT * FROM trials",
                                   "",
                                   "nonsense",
                                   "EXPLAIN DELETE FROM trials",
                                   "SELECT count(*) FROM pragma_function_list",
                                   "INSERT INTO meta DEFAULT VALUES RETURNING *"};
    add_rows(dir, sweep_rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        assert_int_equal(lineage_sql(store, refused[i], count_row, &n, &err), LINEAGE_EINVAL);
    assert_int_equal(n, 0);
    assert_int_equal(
        lineage_sql(store, "SELECT exp_id FROM params WHERE key = 'gamma' AND value >= 0.9 -- all\n ; ", count_row, &n, &err),
        LINEAGE_OK);
    assert_int_equal(n, 4);
    assert_string_equal(sql_value(store, "WITH RECURSIVE c(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM c WHERE x < 9)"
                                         " SELECT sum(x) FROM c"),
                        "45");
    assert_string_equal(sql_value(store, "SELECT core_metric FROM trials WHERE exp_id = '4'"), "NULL");
    assert_string_equal(sql_value(store, "SELECT param('alpha=2; beta=nan', 'alpha')"), "2.0");
    assert_string_equal(sql_value(store, "SELECT param('alpha=2; beta=nan', 'beta')"), "NULL");
    assert_string_equal(sql_value(store, "SELECT param('alpha=2', NULL)"), "NULL");
    assert_string_equal(sql_value(store, "SELECT param(NULL, 'alpha')"), "NULL");
    lineage_store_close(store);
    remove_dir(dir);
}

/* Combines conditions on parameters and extra columns. One condition selects the rows, the others are checked on each
 * row, and a third name sorts them. */
static void conditions_of_every_kind_meet(void **state)
{
    (void)state;
    char *dir = make_dir();
    struct lineage_cursor *cursor;
    add_bytes(dir, "exp_id\tstatus\tcore_metric\tnotes\tgpu\n"
                   "a\tkeep\t1\talpha=0.1; lr=3\t10\nb\tkeep\t2\talpha=0.2; lr=2; wd=1\t20\n"
                   "c\tkeep\t3\talpha=0.3; lr=1; wd=2\tx\nd\tkeep\t4\twd=3; lr=0\t30\n");
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    const struct lineage_condition any[] = {{.name = "alpha"}, {.name = "wd"}, {.name = "gpu"}};
    const struct lineage_condition ranges[] = {{.name = "alpha", .range = range("0.1:0.2")},
                                               {.name = "gpu", .range = range("5:")}};
    const struct lineage_condition below = {.name = "lr", .range = range(":1")};
    const struct {
        struct lineage_query query;
        const char *ids;
    } cases[] = {{{.conditions = any, .n_conditions = 2}, "b c "},
                 {{.conditions = any, .n_conditions = 3}, "b "},
                 {{.conditions = any + 1, .n_conditions = 2, .sort = "-lr"}, "b d "},
                 {{.conditions = any + 2, .n_conditions = 1, .sort = "lr"}, "d b a "},
                 {{.conditions = any + 2, .n_conditions = 1, .sort = "lr", .limit = SIZE_MAX}, "d b a "},
                 {{.conditions = ranges, .n_conditions = 2}, "a b "},
                 {{.conditions = &below, .n_conditions = 1}, "c d "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(ids_of(store, &cases[i].query), cases[i].ids);
    struct lineage_condition many[300];
    for (size_t i = 0; i < 300; i++)
        many[i] = ranges[0];
    assert_int_equal(lineage_query_open(&cursor, store, &(struct lineage_query){.conditions = many, .n_conditions = 300}, &err),
                     LINEAGE_ELIMIT);
    lineage_store_close(store);
    remove_dir(dir);
}

static bool at_once(void *context)
{
    return ++*(int *)context > 0;
}

/* Queries other than SQL can be cancelled while they run, too. */
static void a_long_list_can_be_cancelled(void **state)
{
    (void)state;
    int asked = 0;
    const struct lineage_open_options options = {.cancelled = at_once, .context = &asked};
    const struct lineage_condition condition = {.name = "alpha", .range = range("0.3:")};
    struct lineage_store *store;
    struct lineage_cursor *cursor;
    char *dir = make_dir();
    add_many(dir);
    assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
    assert_int_equal(
        lineage_query_open(&cursor, store,
                           &(struct lineage_query){.conditions = &condition, .n_conditions = 1, .sort = "hypothesis"}, &err),
        LINEAGE_ECANCELLED);
    assert_int_not_equal(asked, 0);
    lineage_store_close(store);
    remove_dir(dir);
}

/* An empty sweep is an error that names the parameters. An infinite score is never the best. */
static void a_sweep_of_nothing_is_said(void **state)
{
    (void)state;
    struct lineage_sweep sweep;
    char *dir = make_dir();
    add_rows(dir, (const struct row[]){{"0", .status = "keep", .metric = "inf", .notes = "lr=1; wd=1"},
                                       {"1", .status = "discard", .metric = "-inf", .notes = "lr=1; wd=1"},
                                       {.id = NULL}});
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_sweep_load(store, "alpha", NULL, &sweep, &err), LINEAGE_ENOTFOUND);
    assert_string_equal(err.text, "no trial has alpha");
    assert_int_equal(lineage_sweep_load(store, "lr", "beta", &sweep, &err), LINEAGE_ENOTFOUND);
    assert_string_equal(err.text, "no trial has lr and beta");
    assert_int_equal(lineage_sweep_load(store, "lr", "wd", &sweep, &err), LINEAGE_OK);
    assert_int_equal(sweep.cells[0].count, 2);
    assert_false(sweep.cells[0].best.present);
    lineage_sweep_release(&sweep);
    lineage_sweep_release(NULL);
    struct lineage_cursor *cursor;
    const struct lineage_param wanted = {"lr", 1, NULL};
    assert_int_equal(lineage_tried(&cursor, store, &wanted, 1, (double)INFINITY, &err), LINEAGE_EINVAL);
    lineage_store_close(store);
    remove_dir(dir);
}

static void extra_columns_are_queryable_in_file_order(void **state)
{
    (void)state;
    struct lineage_trial trial;
    struct lineage_cursor *cursor;
    struct lineage_open_options options = {.metric = "val_bpb"};
    struct lineage_store *store;
    char *dir = make_dir();
    add_bytes(dir, "zeta\texp_id\tstatus\tval_bpb\tbytes\n"
                   "z 1\ta\tkeep\t1.081000\t100\nz 2\tb\tdiscard\t1.0\t\nz 3\tc\tkeep\t1.2\t300\n");
    assert_int_equal(lineage_store_open(&store, dir, &options, &err), LINEAGE_OK);
    assert_string_equal(lineage_store_metric(store), "val_bpb");
    assert_int_equal(lineage_find(store, "a", &trial, &err), LINEAGE_OK);
    assert_int_equal(trial.n_extras, 2);
    assert_string_equal(trial.extras[0].column, "zeta");
    assert_string_equal(trial.extras[0].text, "z 1");
    assert_string_equal(trial.extras[1].column, "bytes");
    assert_true(trial.score.present && trial.score.value == 1.081);
    lineage_trial_release(&trial);
    assert_query(store, "bytes", "50:", NULL, NULL, "-bytes", 0, "c a ");
    assert_query(store, "bytes", "300", "val_bpb", "1.1:", NULL, 0, "c ");
    assert_query(store, NULL, NULL, NULL, NULL, "bytes", 1, "a ");
    const struct lineage_query by_status = {.sort = "status"};
    assert_int_equal(lineage_query_open(&cursor, store, &by_status, &err), LINEAGE_OK);
    assert_string_equal(ids_of_cursor(cursor), "b a c ");
    lineage_store_close(store);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_in_file_wins_a_tie),
        cmocka_unit_test(only_kept_trials_with_finite_scores_rank),
        cmocka_unit_test(ids_resolve_with_and_without_prefix),
        cmocka_unit_test(ranges_are_closed_and_never_match_nan),
        cmocka_unit_test(sorting_keeps_file_order_in_ties),
        cmocka_unit_test(labels_specialists_and_dates_filter),
        cmocka_unit_test(unknown_names_are_refused_with_the_known_ones),
        cmocka_unit_test(ranges_parse),
        cmocka_unit_test(a_sweep_shows_cells_and_what_lacks_them),
        cmocka_unit_test(tried_finds_what_lies_within_tolerance),
        cmocka_unit_test(a_range_is_listed_in_the_order_of_the_log),
        cmocka_unit_test(a_cursor_survives_other_calls_on_its_store),
        cmocka_unit_test(rows_come_as_arrays_too),
        cmocka_unit_test(pages_go_on_behind_a_trial_in_any_order),
        cmocka_unit_test(a_page_of_a_wide_range_is_the_same_as_of_the_list),
        cmocka_unit_test(a_short_list_is_the_beginning_of_the_list_in_any_order),
        cmocka_unit_test(counts_what_a_query_finds),
        cmocka_unit_test(a_long_question_can_be_cancelled),
        cmocka_unit_test(sql_cannot_write),
        cmocka_unit_test(texts_are_found_exactly),
        cmocka_unit_test(a_condition_of_the_wrong_kind_is_an_error),
        cmocka_unit_test(a_range_never_finds_a_text),
        cmocka_unit_test(texts_and_numbers_are_tried_together),
        cmocka_unit_test(a_sweep_has_texts_on_its_axes),
        cmocka_unit_test(a_sweep_of_many_rows_is_what_one_pass_gives),
        cmocka_unit_test(conditions_of_every_kind_meet),
        cmocka_unit_test(a_long_list_can_be_cancelled),
        cmocka_unit_test(a_sweep_of_nothing_is_said),
        cmocka_unit_test(extra_columns_are_queryable_in_file_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
