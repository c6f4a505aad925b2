/*
 * Tests the settings that a set of ideas finds (lineage/knobs.h), on random logs against the definition worked out in the slow,
 * obvious way, and how much memory a set takes for each trial. Also tests the table of texts.
 */
#include "support/unit.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/knobs.h>
#include <lineage/text.h>

#include "format/arena.h"
#include "ideas/text_table.h"

static struct lineage_error err;

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

static const char *pick(uint32_t *random, const char *const *texts, size_t n)
{
    return texts[next_random(random) % n];
}

/* A log of n trials with parents before and behind them, changes of all sources, equal and text values, and names that only a rule
 * joins. */
static struct lineage_ideas *random_set(uint32_t seed, size_t n)
{
    static const char *const names[] = {"lr", "weight_decay", "wd", "GPTQ block_size", "block_size", "Opt", "opt", "seed"};
    static const char *const values[] = {"0.1", "0.2", "1e-1", "32K", "32768", "adam", "sgd", "0.3"};
    static const char *const joined[] = {"Knob of two", "lr", "seed"};
    const struct lineage_knob_rule rule = {LINEAGE_KNOBS_SAME, joined, 3};
    struct lineage_ideas *ideas;
    uint32_t random = seed;
    assert_int_equal(lineage_ideas_new(&ideas, &err), LINEAGE_OK);
    if (seed % 2)
        assert_int_equal(lineage_ideas_add_rules(ideas, &rule, 1, &err), LINEAGE_OK);
    for (size_t i = 0; i < n; i++) {
        char id[16], parent[16] = "", hypothesis[160];
        struct lineage_param params[4];
        struct lineage_trial trial = {.exp_id = id,
                                      .parent_exp = parent,
                                      .hypothesis = hypothesis,
                                      .notes = "",
                                      .params = params,
                                      .seq = i + 1,
                                      .status = (enum lineage_label)(next_random(&random) % 4)};
        snprintf(id, sizeof id, "%03zu", i);
        if (seed % 5 && i)
            snprintf(parent, sizeof parent, "%03zu", next_random(&random) % (n + 2));
        for (; trial.n_params < next_random(&random) % 4; trial.n_params++) {
            const char *value = pick(&random, values, 8);
            double number = strtod(value, NULL);
            params[trial.n_params] = (struct lineage_param){names[trial.n_params * 2], number, number > 0 ? NULL : value};
        }
        snprintf(hypothesis, sizeof hypothesis, "Raise %s %s → %s, set %s=%s", pick(&random, names, 8), pick(&random, values, 5),
                 pick(&random, values, 5), pick(&random, names, 8), pick(&random, values, 8));
        assert_int_equal(lineage_ideas_add(ideas, &trial, next_random(&random) % 16 == 0, &err), LINEAGE_OK);
        if (next_random(&random) % 3)
            continue;
        const struct lineage_change given = {.name = next_random(&random) % 4 ? pick(&random, names, 8) : "--%--", /* no word */
                                             .from = next_random(&random) % 2 ? "7" : NULL,
                                             .to = pick(&random, values, 8),
                                             .source = LINEAGE_CHANGE_MEASURED};
        assert_int_equal(lineage_ideas_add_change(ideas, i, &given, &err), LINEAGE_OK);
    }
    assert_int_equal(lineage_ideas_settle(ideas, &err), LINEAGE_OK);
    return ideas;
}

/* A change and the trial that made it. */
struct made {
    struct lineage_change change;
    size_t trial, place;
};

static int by_knob(const void *a, const void *b)
{
    const struct made *x = a, *y = b;
    int order = strcmp(x->change.knob, y->change.knob);
    if (order || x->trial != y->trial)
        return order ? order : x->trial < y->trial ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static bool is_kept(const struct lineage_idea *idea)
{
    return idea->status == LINEAGE_KEEP || idea->status == LINEAGE_BASELINE;
}

/* Compares a knob with the changes made[n) of it, which are ordered by trial. */
static void must_be(const struct lineage_knob *knob, const struct lineage_ideas *ideas, const struct made *made, size_t n,
                    const size_t *line, size_t n_line, size_t newest)
{
    size_t tries[1024], n_tries = 0, up = 0, down = 0, up_kept = 0, first, set_by = SIZE_MAX;
    const char *value = NULL, *from = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct lineage_change *c = &made[i].change;
        const struct lineage_idea *idea = lineage_ideas_get(ideas, made[i].trial);
        bool beside = i && made[i - 1].trial == made[i].trial, on_line = false; /* the change before is of the same trial */
        bool again = beside && lineage_quantity_equal(made[i - 1].change.to, c->to);
        for (size_t k = 0; k < n_line; k++)
            on_line = on_line || line[k] == made[i].trial;
        from = c->from ? c->from : from;
        if (on_line && !(beside && made[i - 1].change.source < c->source)) {
            value = c->to;
            set_by = made[i].trial;
        }
        if (again)
            continue;
        tries[n_tries++] = i;
        bool numbers = c->from_value.present && c->to_value.present, finished = is_kept(idea) || idea->status == LINEAGE_DISCARD;
        up += numbers && finished && c->to_value.value > c->from_value.value;
        up_kept += numbers && is_kept(idea) && c->to_value.value > c->from_value.value;
        down += numbers && finished && c->to_value.value < c->from_value.value;
    }
    value = value ? value : from;
    assert_int_equal(knob->n, n_tries);
    assert_int_equal(knob->up, up);
    assert_int_equal(knob->up_kept, up_kept);
    assert_int_equal(knob->down, down);
    assert_int_equal(knob->set_by, set_by);
    assert_true(value ? knob->value && strcmp(knob->value, value) == 0 : !knob->value);
    first = newest && n_tries > newest ? n_tries - newest : 0;
    while (first && made[tries[first - 1]].trial == made[tries[first]].trial)
        first--;
    assert_int_equal(knob->n_tries, n_tries - first);
    for (size_t i = first; i < n_tries; i++) { /* each try that is to be listed is listed once */
        size_t listed = 0;
        for (size_t k = 0; k < knob->n_tries; k++)
            listed += knob->tries[k].trial == made[tries[i]].trial &&
                      strcmp(knob->tries[k].change->to, made[tries[i]].change.to) == 0 &&
                      strcmp(knob->tries[k].change->name, made[tries[i]].change.name) == 0;
        assert_true(listed >= 1);
    }
    for (size_t k = 1; k < knob->n_tries; k++) {
        const struct lineage_number a = knob->tries[k - 1].change->to_value, b = knob->tries[k].change->to_value;
        assert_true(a.present >= b.present);
        assert_false(a.present && b.present && a.value > b.value);
    }
}

static void compare(struct lineage_ideas *ideas, size_t best, size_t newest)
{
    enum { MOST = 1024 };
    size_t n = 0, line[MOST], n_line = lineage_knobs_line(line, MOST, ideas, best), n_knobs = 0;
    struct made *made = calloc(MOST, sizeof *made);
    struct lineage_knobs knobs;
    assert_non_null(made);
    for (size_t t = 0; t < lineage_ideas_count(ideas); t++)
        for (size_t i = 0; i < lineage_ideas_get(ideas, t)->n_changes; i++, n++) {
            assert_true(n < MOST && lineage_ideas_change_at(&made[n].change, ideas, t, i));
            made[n].trial = t;
            made[n].place = i;
        }
    qsort(made, n, sizeof *made, by_knob);
    assert_int_equal(lineage_knobs_find(&knobs, ideas, best, newest, &err), LINEAGE_OK);
    for (size_t from = 0, to; from < n; from = to, n_knobs++) {
        const struct lineage_knob *found = NULL;
        for (to = from + 1; to < n && strcmp(made[to].change.knob, made[from].change.knob) == 0; to++)
            ;
        for (size_t i = 0; i < knobs.n; i++)
            found = strcmp(knobs.items[i].knob, made[from].change.knob) == 0 ? &knobs.items[i] : found;
        assert_non_null(found);
        must_be(found, ideas, made + from, to - from, line, n_line, newest);
        for (size_t i = from; i < to; i++) /* every spelling of a change means its knob */
            assert_non_null(lineage_knobs_named(&knobs, ideas, made[i].change.name));
    }
    assert_int_equal(knobs.n, n_knobs);
    lineage_knobs_release(&knobs);
    free(made);
}

static void knobs_are_those_of_the_definition(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 120; seed++) {
        const size_t n = 2 + seed % 60;
        struct lineage_ideas *ideas = random_set(seed, n);
        for (size_t newest = 0; newest < 4; newest++)
            compare(ideas, seed % 4 ? seed % n : SIZE_MAX, newest);
        compare(ideas, n - 1, 1000);
        lineage_ideas_release(ideas);
    }
}

/* The bytes that the program has allocated; 0 where that is not counted, as under a sanitizer. */
static size_t allocated(void)
{
    struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

/* A set of n trials, each with four parameters that differ from its parent's. *knobs_bytes receives what its settings take. */
static size_t bytes_of_set(size_t n, size_t newest, size_t *knobs_bytes)
{
    struct lineage_ideas *ideas;
    struct lineage_knobs knobs;
    size_t before = allocated();
    assert_int_equal(lineage_ideas_new(&ideas, &err), LINEAGE_OK);
    for (size_t i = 0; i < n; i++) {
        char id[16], hypothesis[64];
        struct lineage_param params[] = {{"alpha", (double)(i % 97) / 97, NULL},
                                         {"beta", (double)(i % 11), NULL},
                                         {"seed", (double)(i % 7), NULL},
                                         {"lr", (double)(i % 1009) / 1e7, NULL}};
        const struct lineage_trial trial = {.exp_id = id,
                                            .parent_exp = i ? "1000000" : "",
                                            .hypothesis = hypothesis,
                                            .notes = "",
                                            .seq = i + 1,
                                            .params = params,
                                            .n_params = 4,
                                            .status = i ? LINEAGE_DISCARD : LINEAGE_BASELINE};
        snprintf(id, sizeof id, "%zu", 1000000 + i);
        snprintf(hypothesis, sizeof hypothesis, "try word%zu with batch and word%zu", i % 20, i * 7 % 20);
        assert_int_equal(lineage_ideas_add(ideas, &trial, false, &err), LINEAGE_OK);
    }
    assert_int_equal(lineage_ideas_settle(ideas, &err), LINEAGE_OK);
    size_t settled = allocated();
    assert_int_equal(lineage_knobs_find(&knobs, ideas, 0, newest, &err), LINEAGE_OK);
    *knobs_bytes = allocated() - settled;
    lineage_knobs_release(&knobs);
    lineage_ideas_release(ideas);
    return settled - before;
}

/* A trial of four changes took 2,300 bytes when each change was a struct. Capacities are at most twice what is used. */
static void a_trial_takes_little_memory(void **state)
{
    enum { TRIALS = 40000, PER_TRIAL = 600 };
    size_t few_bytes, more_bytes, bytes;
    (void)state;
    (void)bytes_of_set(1000, 100, &few_bytes);
    bytes = bytes_of_set(TRIALS, 100, &more_bytes);
    if (bytes > (size_t)TRIALS * PER_TRIAL)
        fail_msg("%zu bytes for each trial", bytes / TRIALS);
    /* What the settings take depends on the tries that are listed, and hardly on the trials. */
    if (more_bytes > 2 * few_bytes + 4096)
        fail_msg("settings of 1,000 trials take %zu bytes, of %d trials %zu", few_bytes, TRIALS, more_bytes);
}

/* ---- the table of texts ---- */

static void each_text_has_one_number(void **state)
{
    enum { TEXTS = 3000 };
    static const char *texts[TEXTS];
    static char bytes[TEXTS][12];
    struct text_table table = {0};
    uint32_t random = 7, n = 0;
    (void)state;
    for (size_t i = 0; i < TEXTS; i++) {
        size_t length = next_random(&random) % 4;
        for (size_t k = 0; k < length; k++)
            bytes[i][k] = (char)(next_random(&random) % 8); /* NUL is a byte like others */
        uint32_t known = 0;
        while (known < n && (table.entries[known].length != length || memcmp(texts[known], bytes[i], length) != 0))
            known++;
        assert_int_equal(text_table_find(&table, bytes[i], length), known < n ? known : TEXT_NONE);
        assert_int_equal(text_table_add(&table, bytes[i], length), known);
        if (known == n)
            texts[n++] = table.entries[known].text;
        assert_int_equal(table.n, n);
        assert_memory_equal(texts[known], bytes[i], length);
    }
    for (uint32_t i = 0; i < n; i++)
        assert_ptr_equal(texts[i], table.entries[i].text);
    text_table_release(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knobs_are_those_of_the_definition),
        cmocka_unit_test(a_trial_takes_little_memory),
        cmocka_unit_test(each_text_has_one_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
