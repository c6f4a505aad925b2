/* rlcore_groups.c: tests the index of groups with arbitrary labels. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "support/groups.h"
#include "support/random_batch.h"

enum { MAX_ROWS = 64 };

static struct rl_groups build(size_t n, const int64_t *labels, struct rl_workspace *ws)
{
    struct rl_scratch s = rl_scratch_begin(ws);
    struct rl_groups groups = rl_groups_take(&s, n);
    assert_true(rl_scratch_fits(&s));
    rl_groups_build(&groups, labels);
    return groups;
}

static void assert_index_holds(const struct rl_groups *g, const int64_t *labels)
{
    size_t seen = 0;
    for (size_t group = 0; group < g->n; group++)
        for (size_t j = g->start[group]; j < g->start[group + 1]; j++, seen++) {
            assert_int_equal(g->of_row[g->order[j]], group);
            assert_true(labels[g->order[j]] == labels[g->order[g->start[group]]]);
            if (j > g->start[group])
                assert_true(g->order[j - 1] < g->order[j]);
            else if (j > 0)
                assert_true(labels[g->order[j - 1]] < labels[g->order[j]]);
        }
    assert_int_equal(seen, g->n_rows);
}

static void random_labels(void **state)
{
    (void)state;
    static _Alignas(64) unsigned char memory[8192];
    struct rl_workspace ws = {.data = memory, .size = sizeof memory};
    struct test_rng rng = {7};
    for (size_t n = 0; n <= MAX_ROWS; n++) {
        int64_t labels[MAX_ROWS];
        for (size_t i = 0; i < n; i++)
            labels[i] = (int64_t)test_rng_below(&rng, n / 3 + 1) * -1234567890123;
        struct rl_groups g = build(n, labels, &ws);
        assert_index_holds(&g, labels);
    }
}

static void extreme_labels(void **state)
{
    (void)state;
    static _Alignas(64) unsigned char memory[1024];
    struct rl_workspace ws = {.data = memory, .size = sizeof memory};
    const int64_t labels[] = {INT64_MAX, INT64_MIN, 0, INT64_MIN, INT64_MAX, -1};
    struct rl_groups g = build(6, labels, &ws);
    assert_int_equal(g.n, 4);
    assert_int_equal(rl_group_size(&g, 0), 2);
    assert_int_equal(g.of_row[5], 1);
    assert_int_equal(g.of_row[0], 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_labels), cmocka_unit_test(extreme_labels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
