/*
 * ideas_answers.c: everything that the library reads out of the words of a log, in one program call.
 *
 *   ideas_answers [--features] STORE
 *
 * Prints one line of JSON per trial, in the order of the log: its changes, and its five nearest earlier trials with the
 * verdict `same`, as `lineage show` and `lineage similar --before --limit 5` print them. Then follow the groups of replicas
 * (lineage/replicas.h) and the claims of novelty, as `lineage claims` prints them. ideas_bench.py measures these answers.
 *
 * --features adds what the decisions rest on: for each trial the candidates for a change and the pairs with similar
 * trials, each with its features. ideas_fit.py fits the weights to them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <lineage/ideas.h>
#include <lineage/replicas.h>

#include "ideas/ideas_internal.h"

enum { NEAREST = 5, PAIRS = 48 };

static json_t *text(const char *text, size_t length)
{
    return text ? json_stringn(text, length) : json_null();
}

static json_t *changes_json(const struct lineage_ideas *ideas, size_t trial)
{
    json_t *list = json_array();
    struct lineage_change c;
    for (size_t i = 0; lineage_ideas_change_at(&c, ideas, trial, i); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s?, s:s, s:s}", "name", c.name, "knob", c.knob, "from", c.from, "to",
                                              c.to, "source", lineage_change_source_name(c.source)));
    return list;
}

static json_t *ids_json(const struct lineage_ideas *ideas, const size_t *trials, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(lineage_ideas_get(ideas, trials[i])->exp_id));
    return list;
}

static json_t *features_json(const float *features, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_real((double)features[i]));
    return list;
}

static json_t *candidates_json(struct lineage_ideas *ideas, const char *hypothesis)
{
    static struct stated candidates[STATED_MAX];
    struct tokens tokens;
    json_t *list = json_array();
    if (!tokens_read(&tokens, hypothesis, strlen(hypothesis)))
        return list;
    size_t n = stated_candidates(candidates, &tokens, row_is_metric, ideas);
    for (size_t i = 0; i < n; i++) {
        const struct stated *c = &candidates[i];
        json_t *object = json_object();
        json_object_set_new(object, "prefix", text(hypothesis + c->prefix.at, c->prefix.length));
        json_object_set_new(object, "name", text(hypothesis + c->name.at, c->name.length));
        json_object_set_new(object, "from", c->from.length ? text(hypothesis + c->from.at, c->from.length) : json_null());
        json_object_set_new(object, "to", text(hypothesis + c->to.at, c->to.length));
        json_object_set_new(object, "score", json_real(c->score));
        json_object_set_new(object, "features", features_json(c->features, N_STATED_FEATURES));
        json_array_append_new(list, object);
    }
    free(tokens.items);
    return list;
}

static json_t *pairs_json(struct lineage_ideas *ideas, size_t trial)
{
    static struct similar_pair pairs[PAIRS];
    json_t *list = json_array();
    size_t n;
    if (!similar_pairs(pairs, &n, PAIRS, ideas, &ideas->rows[trial], &ideas->arena, trial, trial))
        return list;
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:f, s:o}", "exp_id", lineage_ideas_get(ideas, pairs[i].row)->exp_id, "verdict",
                                        pairs[i].verdict, "features", features_json(pairs[i].features, N_SIMILAR_FEATURES)));
    return list;
}

static json_t *similar_json(struct lineage_ideas *ideas, size_t trial)
{
    struct lineage_similar_list similar;
    struct lineage_error err;
    json_t *list = json_array();
    if (lineage_ideas_similar(&similar, ideas, trial, false, NEAREST, &err) != LINEAGE_OK)
        return list;
    for (size_t i = 0; i < similar.n; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:b, s:s}", "exp_id", lineage_ideas_get(ideas, similar.items[i].trial)->exp_id,
                                        "same", similar.items[i].same, "why", similar.items[i].why));
    lineage_similar_release(&similar);
    return list;
}

static json_t *claims_json(struct lineage_ideas *ideas)
{
    struct lineage_novelty_list claims;
    struct lineage_error err;
    json_t *list = json_array();
    if (lineage_ideas_claims(&claims, ideas, 0, &err) != LINEAGE_OK)
        return list;
    for (size_t i = 0; i < claims.n; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:o}", "exp_id", lineage_ideas_get(ideas, claims.items[i].trial)->exp_id,
                                        "claim", claims.items[i].claim, "counter",
                                        ids_json(ideas, claims.items[i].counter, claims.items[i].n_counter)));
    lineage_novelty_release(&claims);
    return list;
}

static json_t *replicas_json(struct lineage_ideas *ideas)
{
    struct lineage_replicas replicas;
    struct lineage_error err;
    json_t *list = json_array();
    if (lineage_replicas_find(&replicas, ideas, &err) != LINEAGE_OK)
        return list;
    for (size_t i = 0; i < replicas.n; i++)
        json_array_append_new(list, ids_json(ideas, replicas.groups[i].trials, replicas.groups[i].n));
    lineage_replicas_release(&replicas);
    return list;
}

static void print(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(object);
}

int main(int argc, char **argv)
{
    bool features = argc > 2 && strcmp(argv[1], "--features") == 0;
    struct lineage_store *store = NULL;
    struct lineage_ideas *ideas = NULL;
    struct lineage_error err;
    if (argc != 2 + features) {
        fputs("usage: ideas_answers [--features] STORE\n", stderr);
        return 2;
    }
    if (lineage_store_open(&store, argv[1 + features], NULL, &err) != LINEAGE_OK ||
        lineage_ideas_load(&ideas, store, &err) != LINEAGE_OK ||
        lineage_ideas_set_strictness(ideas, LINEAGE_STRICTNESS, &err) != LINEAGE_OK) {
        fprintf(stderr, "ideas_answers: %s\n", err.text);
        lineage_store_close(store);
        return 3;
    }
    for (size_t i = 0; i < lineage_ideas_count(ideas); i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, i);
        json_t *object = json_pack("{s:s, s:o, s:o}", "exp_id", idea->exp_id, "changes", changes_json(ideas, i), "similar",
                                   similar_json(ideas, i));
        if (features) {
            json_object_set_new(object, "candidates", candidates_json(ideas, idea->hypothesis));
            json_object_set_new(object, "pairs", pairs_json(ideas, i));
        }
        print(object);
    }
    print(json_pack("{s:o}", "replicas", replicas_json(ideas)));
    print(json_pack("{s:o}", "claims", claims_json(ideas)));
    lineage_ideas_release(ideas);
    lineage_store_close(store);
    return 0;
}
