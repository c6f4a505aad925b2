/* Tests chains and the tree: kept ancestors, ancestors that are passed over, missing parents, cycles, and deep
 * chains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "support/files.h"
#include "support/rows.h"

static struct lineage_error err;

/* Formats a chain like "1:000 0:001 | root ". Each entry, root first, is the number of trials passed over above it and
 * its id. The word at the end says how the walk ended. */
static const char *chain_text(struct lineage_store *store, const char *id)
{
    static const char *const ends[] = {"root", "missing", "cycle"};
    static char text[1024];
    struct lineage_chain chain;
    size_t used = 0;
    assert_int_equal(lineage_chain_load(store, id, &chain, &err), LINEAGE_OK);
    for (size_t i = 0; i < chain.n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%zu:%s ", chain.passed_over[i], chain.trials[i].exp_id);
    snprintf(text + used, sizeof text - used, "| %s %s", ends[chain.end], chain.end_id);
    lineage_chain_release(&chain);
    return text;
}

static void kept_ancestors_are_shown_and_the_others_counted(void **state)
{
    (void)state;
    const struct row rows[] = {{"00", .status = "discard"},
                               {"0", .parent = "00", .status = "baseline"},
                               {"1", .parent = "0", .status = "keep"},
                               {"2", .parent = "1", .status = "discard"},
                               {"3", .parent = "2", .status = "crash"},
                               {"4", .parent = "3", .status = "keep"},
                               {"5", .parent = "4", .status = "discard"},
                               {.id = NULL}};
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(chain_text(store, "4"), "1:0 0:1 2:4 | root ");
    assert_string_equal(chain_text(store, "5"), "1:0 0:1 2:4 0:5 | root "); /* the trial itself is listed, kept or not */
    assert_string_equal(chain_text(store, "00"), "0:00 | root ");
    assert_string_equal(chain_text(store, "exp_1"), "1:0 0:1 | root ");
    struct lineage_chain chain;
    assert_int_equal(lineage_chain_load(store, "9", &chain, &err), LINEAGE_ENOTFOUND);
    lineage_store_close(store);
    remove_dir(dir);
}

static void the_walk_ends_at_missing_parents_and_cycles(void **state)
{
    (void)state;
    const struct row rows[] = {{"1", .parent = "exp_99", .status = "keep"},
                               {"2", .parent = "1", .status = "keep"},
                               {"a", .parent = "c", .status = "keep"},
                               {"b", .parent = "a", .status = "discard"},
                               {"c", .parent = "b", .status = "keep"},
                               {"d", .parent = "c", .status = "keep"},
                               {"self", .parent = "self", .status = "keep"},
                               {"exp_s", .parent = "s", .status = "keep"},
                               {.id = NULL}};
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(chain_text(store, "2"), "0:1 0:2 | missing exp_99");
    assert_string_equal(chain_text(store, "a"), "1:c 0:a | cycle a");
    assert_string_equal(chain_text(store, "d"), "0:a 1:c 0:d | cycle c");
    assert_string_equal(chain_text(store, "self"), "0:self | cycle self");
    assert_string_equal(chain_text(store, "exp_s"), "0:exp_s | cycle exp_s"); /* exp_s and s are the same id */
    lineage_store_close(store);
    remove_dir(dir);
}

static void parents_resolve_with_and_without_prefix(void **state)
{
    (void)state;
    const struct row rows[] = {{"000", .status = "baseline"},
                               {"001", .parent = "exp_000", .status = "keep"},
                               {"exp_002", .parent = "001", .status = "keep"},
                               {"003", .parent = "002", .status = "keep"},
                               {.id = NULL}};
    char *dir = make_dir();
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_string_equal(chain_text(store, "003"), "0:000 0:001 0:exp_002 0:003 | root ");
    lineage_store_close(store);
    remove_dir(dir);
}

static bool add_node(void *context, const struct lineage_tree_node *node)
{
    char *text = context;
    size_t used = strlen(text);
    snprintf(text + used, 1024 - used, "%zu%s%s:%s/%zu ", node->depth, node->parent_missing ? "m" : "", node->in_cycle ? "c" : "",
             node->trial->exp_id, node->n_children);
    return strcmp(node->trial->exp_id, "stop") != 0;
}

static void the_tree_is_in_preorder_with_cycles_last(void **state)
{
    (void)state;
    const struct row rows[] = {{"x", .parent = "y", .status = "keep"},
                               {"2", .parent = "1", .status = "keep"},
                               {"1", .status = "baseline"},
                               {"3", .parent = "exp_1", .status = "crash"},
                               {"y", .parent = "x", .status = "keep"},
                               {"4", .parent = "2", .status = "keep"},
                               {"lost", .parent = "gone", .status = "keep"},
                               {"5", .parent = "lost", .status = "keep"},
                               {.id = NULL}};
    char *dir = make_dir(), text[1024] = "";
    add_rows(dir, rows);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_tree_walk(store, add_node, text, &err), LINEAGE_OK);
    assert_string_equal(text, "0:1/2 1:2/1 2:4/0 1:3/0 0m:lost/1 1:5/0 0c:x/1 0c:y/1 ");
    add_rows(dir, (const struct row[]){
                      {"stop", .parent = "1", .status = "keep"}, {"6", .parent = "1", .status = "keep"}, {.id = NULL}});
    text[0] = '\0';
    assert_int_equal(lineage_tree_walk(store, add_node, text, &err), LINEAGE_OK);
    assert_string_equal(text, "0:1/4 1:2/1 2:4/0 1:3/0 1:stop/0 ");
    lineage_store_close(store);
    remove_dir(dir);
}

static enum lineage_status add_child(struct lineage_store *store, const char *id, const char *parent)
{
    struct lineage_append_options options;
    lineage_append_options_init(&options);
    options.allow_missing_parent = true;
    return lineage_store_append(store, &(struct lineage_trial){.exp_id = id, .parent_exp = parent, .status = LINEAGE_CRASH},
                                &options, NULL, &err);
}

/* A new row may already be named as a parent by other rows. It closes a cycle only if its own ancestors lead back to
 * its id, in either spelling. */
static void an_awaited_row_may_close_a_cycle(void **state)
{
    (void)state;
    static const struct {
        /* The parent that an existing row names, the parent of the row `from`, and the id of the new row. */
        const char *awaits, *from_parent, *id;
        enum lineage_status status;
    } cases[] = {{"b", "b", "b", LINEAGE_EINVAL},         {"exp_b", "exp_b", "b", LINEAGE_EINVAL},
                 {"b", "b", "exp_b", LINEAGE_EINVAL},     {"b", "q", "b", LINEAGE_OK},
                 {"b", "exp_q", "b", LINEAGE_OK},         {"exp_b", "q", "exp_b", LINEAGE_OK},
                 {"exp_b", "exp_q", "exp_b", LINEAGE_OK}, {"b", "", "b", LINEAGE_OK}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *dir = make_dir();
        struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
        assert_int_equal(add_child(store, "waits", cases[i].awaits), LINEAGE_OK);
        assert_int_equal(add_child(store, "from", cases[i].from_parent), LINEAGE_OK);
        assert_int_equal(add_child(store, cases[i].id, "from"), cases[i].status);
        assert_true(cases[i].status == LINEAGE_OK || strstr(err.text, "a cycle"));
        assert_int_equal(add_child(store, "other", "waits"), LINEAGE_OK);
        lineage_store_close(store);
        remove_dir(dir);
    }
    char *dir = make_dir();
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(add_child(store, "waits", "b"), LINEAGE_OK);
    assert_int_equal(add_child(store, "b", "nowhere"), LINEAGE_OK);
    lineage_store_close(store);
    remove_dir(dir);
    lineage_chain_release(NULL);
}

static bool count_node(void *context, const struct lineage_tree_node *node)
{
    size_t *deepest = context;
    if (node->depth > *deepest)
        *deepest = node->depth;
    return true;
}

static void a_chain_of_thousands(void **state)
{
    (void)state;
    enum { N = 20000 };
    char *dir = make_dir(), id[16], last[16] = "";
    struct lineage_chain chain;
    size_t deepest = 0;
    FILE *out = fopen(in_dir(dir, "results.tsv"), "wb");
    fputs("exp_id\tparent_exp\tstatus\n", out);
    for (int i = 0; i < N; i++) {
        snprintf(id, sizeof id, "%05d", i);
        fprintf(out, "%s\t%s\t%s\n", id, last, i % 2 ? "discard" : "keep");
        memcpy(last, id, sizeof last);
    }
    assert_int_equal(fclose(out), 0);
    struct lineage_store *store = open_store(dir, LINEAGE_LOWER, NULL);
    assert_int_equal(lineage_chain_load(store, last, &chain, &err), LINEAGE_OK);
    assert_int_equal(chain.n, N / 2 + 1);
    assert_int_equal(chain.passed_over[chain.n - 2], 1);
    lineage_chain_release(&chain);
    assert_int_equal(lineage_tree_walk(store, count_node, &deepest, &err), LINEAGE_OK);
    assert_int_equal(deepest, N - 1);
    lineage_store_close(store);
    remove_dir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_ancestors_are_shown_and_the_others_counted),
        cmocka_unit_test(the_walk_ends_at_missing_parents_and_cycles),
        cmocka_unit_test(parents_resolve_with_and_without_prefix),
        cmocka_unit_test(the_tree_is_in_preorder_with_cycles_last),
        cmocka_unit_test(an_awaited_row_may_close_a_cycle),
        cmocka_unit_test(a_chain_of_thousands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
