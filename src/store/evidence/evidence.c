/*
 * evidence.c: the runs of every trial of a store, and what they say (lineage/evidence.h).
 *
 * Rows never change: what several rows of one trial say together is derived here, each time that somebody asks.
 */
#include <lineage/evidence.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>
#include <lineage/query.h>
#include <lineage/replicas.h>

#include "../fail.h"
#include "../format/arena.h"
#include "../format/mean_note.h"
#include "../questions/questions.h"

enum { REPLICAS_FROM = 1000, FRESH_FROM = 3 };

struct row_id {
    const char *exp_id;
    size_t trial;
};

struct collection {
    struct arena arena;
    struct lineage_evidence_trial *trials;
    double *squares; /* [n] sum of squares of the runs of each trial */
    struct row_id *ids; /* rows in the order of the log */
    size_t n, capacity, n_ids, ids_capacity;
    uint64_t last_seq;
};

static const char *bare(const char *id)
{
    return strncmp(id, "exp_", 4) == 0 && id[4] ? id + 4 : id;
}

static size_t find_row(const struct collection *c, const char *exp_id)
{
    for (size_t i = c->n_ids; i-- > 0;) /* a trial usually runs again soon */
        if (strcmp(bare(c->ids[i].exp_id), bare(exp_id)) == 0)
            return c->ids[i].trial;
    return c->n;
}

static bool grow(void **items, size_t *capacity, size_t n, size_t size)
{
    if (n < *capacity)
        return true;
    size_t more = *capacity ? 2 * *capacity : 64;
    void *grown = realloc(*items, more * size);
    if (!grown)
        return false;
    *items = grown;
    *capacity = more;
    return true;
}

static void add_score(struct lineage_evidence_trial *trial, double *squares, double score, size_t seeds, double std, bool fresh)
{
    struct lineage_runs *to[] = {&trial->runs, fresh ? &trial->fresh : NULL};
    for (size_t k = 0; k < 2; k++) {
        if (!to[k])
            continue;
        to[k]->mean += (score - to[k]->mean) * (double)seeds / (double)(to[k]->n + seeds);
        to[k]->n += seeds;
    }
    *squares += (double)(seeds - 1) * std * std + (double)seeds * score * score;
    double n = (double)trial->runs.n, spread = *squares - n * trial->runs.mean * trial->runs.mean;
    /* What is left by rounding is not a variance. */
    bool rounded = spread <= 1e-12 * *squares;
    trial->variance = n > 1 && !rounded ? spread / (n - 1) : 0;
}

static bool add_id(struct collection *c, const char *exp_id, size_t trial)
{
    void *ids = c->ids;
    bool grown = grow(&ids, &c->ids_capacity, c->n_ids, sizeof *c->ids);
    c->ids = ids;
    const char *copy = grown ? arena_text(&c->arena, exp_id, strlen(exp_id)) : NULL;
    if (copy)
        c->ids[c->n_ids++] = (struct row_id){copy, trial};
    return copy != NULL;
}

static bool add_trial(struct collection *c, const struct lineage_trial *row)
{
    void *trials = c->trials, *squares = c->squares;
    size_t capacity = c->capacity;
    bool grown = grow(&trials, &c->capacity, c->n, sizeof *c->trials);
    c->trials = trials;
    grown = grown && grow(&squares, &capacity, c->n, sizeof *c->squares);
    c->squares = squares;
    if (!grown || !add_id(c, row->exp_id, c->n))
        return false;
    c->squares[c->n] = 0;
    c->trials[c->n++] = (struct lineage_evidence_trial){.exp_id = c->ids[c->n_ids - 1].exp_id, .seq = row->seq, .status = row->status};
    return true;
}

/* A row that names an unknown trial is a trial of its own, because its run is a result all the same. */
static bool take_row(struct collection *c, const struct lineage_trial *row)
{
    struct lineage_replicate replicate = {.score = {.present = false}};
    const bool scored = lineage_label_is_measured(row->status) && row->score.present && isfinite(row->score.value);
    const bool again = lineage_replicate_parse(&replicate, row->notes);
    size_t seeds, i = again ? find_row(c, replicate.exp_id) : c->n;
    double std;
    c->last_seq = row->seq;
    if (row->status == LINEAGE_HARNESS_ABORT || (i == c->n && !scored))
        return true;
    if (i == c->n ? !add_trial(c, row) : !add_id(c, row->exp_id, i))
        return false;
    struct lineage_evidence_trial *trial = &c->trials[i];
    const bool fresh = trial->seq != row->seq;
    trial->again += fresh;
    trial->failed += fresh && !scored;
    if (lineage_label_is_kept(row->status))
        trial->kept_id = c->ids[c->n_ids - 1].exp_id;
    if (!scored)
        return true;
    mean_note_parse(&seeds, &std, row->notes);
    add_score(trial, &c->squares[i], replicate.score.present ? replicate.score.value : row->score.value, seeds, std, fresh);
    return true;
}

/* Takes the rows of the cursor, and closes it. */
static enum lineage_status collect(struct collection *c, struct lineage_cursor *cursor, struct lineage_error *err)
{
    struct lineage_trial row = {0};
    bool taken = true;
    enum lineage_status status = LINEAGE_OK;
    while (taken && (status = lineage_cursor_next(cursor, &row, err)) == LINEAGE_OK)
        taken = take_row(c, &row);
    lineage_cursor_close(cursor);
    if (!taken)
        return store_no_memory(err);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* ---- noise ---- */

static enum lineage_status estimate_from_replicas(struct lineage_noise *noise, struct lineage_store *store, uint64_t last_seq,
                                                  struct lineage_error *err)
{
    const struct lineage_query newest = {.after = last_seq > REPLICAS_FROM ? last_seq - REPLICAS_FROM : 0};
    struct lineage_ideas *ideas = NULL;
    struct lineage_replicas replicas = {0};
    enum lineage_status status = lineage_ideas_new(&ideas, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_add_query(ideas, store, &newest, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_settle(ideas, err);
    if (status == LINEAGE_OK)
        status = lineage_replicas_find(&replicas, ideas, err);
    if (status == LINEAGE_OK && replicas.freedom && replicas.noise > 0) {
        *noise = (struct lineage_noise){.std = replicas.noise, .freedom = (double)replicas.freedom, .runs = replicas.scored,
                                        .estimated = true};
        lineage_noise_interval(noise);
    }
    lineage_replicas_release(&replicas);
    lineage_ideas_release(ideas);
    return status;
}

static bool pool_runs(struct lineage_evidence *evidence)
{
    size_t n = 0;
    struct lineage_noise_group *groups = calloc(evidence->n + 1, sizeof *groups);
    for (size_t i = 0; groups && i < evidence->n; i++)
        if (evidence->trials[i].runs.n > 1)
            groups[n++] = (struct lineage_noise_group){evidence->trials[i].runs.n, evidence->trials[i].variance};
    if (groups)
        lineage_noise_pool(&evidence->noise, groups, n);
    free(groups);
    return groups != NULL;
}

/* ---- verdicts ---- */

static void judge_trial(const struct lineage_evidence *evidence, struct lineage_evidence_trial *trial)
{
    struct lineage_judgement first;
    struct lineage_runs runs = {trial->runs.n - trial->fresh.n, trial->runs.mean};
    lineage_judge(&trial->judgement, &evidence->rule, &evidence->noise, &trial->runs, &evidence->best_runs);
    if (runs.n && trial->fresh.n)
        runs.mean += (trial->runs.mean - trial->fresh.mean) * (double)trial->fresh.n / (double)runs.n;
    if (runs.n) {
        lineage_judge(&first, &evidence->rule, &evidence->noise, &runs, &evidence->best_runs);
        trial->suggested = first.candidate;
    }
    if (trial->again)
        trial->judgement.candidate = trial->judgement.near = true;
}

static void judge_all(struct lineage_evidence *evidence)
{
    if (evidence->best >= evidence->n)
        return;
    const struct lineage_evidence_trial *best = &evidence->trials[evidence->best];
    const bool selected = best->status != LINEAGE_BASELINE && best->fresh.n >= FRESH_FROM;
    evidence->best_runs = selected ? best->fresh : best->runs;
    for (size_t i = 0; i < evidence->n; i++) {
        struct lineage_evidence_trial *trial = &evidence->trials[i];
        if (i != evidence->best)
            judge_trial(evidence, trial);
    }
}

static enum lineage_status find_best(struct lineage_evidence *evidence, struct collection *c, struct lineage_store *store,
                                     struct lineage_error *err)
{
    struct lineage_trial best = {0};
    struct lineage_error none;
    enum lineage_status status = lineage_best(store, &best, &none);
    evidence->best = evidence->n;
    if (status == LINEAGE_OK) {
        evidence->best = find_row(c, best.exp_id);
        evidence->best_score = best.score.value;
        evidence->best_id = arena_text(&c->arena, best.exp_id, strlen(best.exp_id));
        status = evidence->best_id ? LINEAGE_OK : store_no_memory(err);
    } else if (status != LINEAGE_ENOTFOUND && err) {
        *err = none;
    }
    lineage_trial_release(&best);
    if (evidence->best < evidence->n)
        evidence->trials[evidence->best].is_best = true;
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* lineage.json's measured floor may come from rows whose seeds have no rows of their own, so it counts while the rows say
 * less. */
static enum lineage_status find_noise(struct lineage_evidence *evidence, struct lineage_store *store, uint64_t last_seq,
                                      struct lineage_error *err)
{
    const struct lineage_config *config = lineage_store_config(store);
    struct lineage_noise configured;
    lineage_noise_of_config(&configured, config);
    evidence->noise = configured;
    if (isinf(configured.freedom))
        return LINEAGE_OK;
    if (!pool_runs(evidence))
        return store_no_memory(err);
    if (evidence->noise.freedom < configured.freedom && !evidence->noise.left_out)
        evidence->noise = configured;
    return evidence->noise.freedom > 0 ? LINEAGE_OK : estimate_from_replicas(&evidence->noise, store, last_seq, err);
}

static void release(struct collection *c)
{
    arena_release(&c->arena);
    free(c->trials);
    free(c->squares);
    free(c->ids);
    free(c);
}

static enum lineage_status load(struct lineage_evidence *evidence, struct lineage_store *store, struct lineage_cursor *cursor,
                                const struct lineage_evidence_rule *rule, struct lineage_error *err)
{
    struct collection *c = calloc(1, sizeof *c);
    const struct lineage_config *config = lineage_store_config(store);
    if (!c) {
        lineage_cursor_close(cursor);
        return store_no_memory(err);
    }
    enum lineage_status status = collect(c, cursor, err);
    evidence->trials = c->trials;
    evidence->n = c->n;
    evidence->memory = c;
    evidence->rule = (struct lineage_evidence_rule){.min_delta = config->min_delta,
                                                    .trials = rule && rule->trials ? rule->trials : config->night_trials,
                                                    .runs_max = rule ? rule->runs_max : 0,
                                                    .higher = config->direction == LINEAGE_HIGHER};
    if (status == LINEAGE_OK)
        status = find_best(evidence, c, store, err);
    if (status == LINEAGE_OK)
        status = find_noise(evidence, store, c->last_seq, err);
    if (status == LINEAGE_OK)
        judge_all(evidence);
    else
        lineage_evidence_release(evidence);
    return status;
}

enum lineage_status lineage_evidence_load(struct lineage_evidence *evidence, struct lineage_store *store,
                                          const struct lineage_evidence_rule *rule, struct lineage_error *err)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    *evidence = (struct lineage_evidence){0};
    enum lineage_status status = lineage_query_open(&cursor, store, &all, err);
    return status == LINEAGE_OK ? load(evidence, store, cursor, rule, err) : status;
}

enum lineage_status lineage_evidence_load_for(struct lineage_evidence *evidence, struct lineage_store *store, const char *exp_id,
                                              struct lineage_error *err)
{
    struct lineage_cursor *cursor;
    *evidence = (struct lineage_evidence){0};
    enum lineage_status status = mirror_runs_open(&cursor, store, exp_id, err);
    return status == LINEAGE_OK ? load(evidence, store, cursor, NULL, err) : status;
}

void lineage_evidence_release(struct lineage_evidence *evidence)
{
    if (evidence->memory)
        release(evidence->memory);
    *evidence = (struct lineage_evidence){0};
}

size_t lineage_evidence_find(const struct lineage_evidence *evidence, const char *exp_id)
{
    return evidence->memory ? find_row(evidence->memory, exp_id) : evidence->n;
}

void lineage_evidence_add(struct lineage_evidence *evidence, size_t i, const struct lineage_trial *row)
{
    struct collection *c = evidence->memory;
    size_t seeds;
    double std;
    mean_note_parse(&seeds, &std, row->notes);
    add_score(&evidence->trials[i], &c->squares[i], row->core_metric.value, seeds, std, true);
    evidence->trials[i].again++;
    if (!isinf(evidence->noise.freedom) && !evidence->noise.estimated) {
        struct lineage_noise before = evidence->noise;
        if (!pool_runs(evidence) || evidence->noise.freedom < before.freedom)
            evidence->noise = before;
    }
    judge_all(evidence);
}

bool lineage_evidence_is_ready(const struct lineage_evidence *evidence, size_t i)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    if (i == evidence->best || trial->kept_id || trial->judgement.state != LINEAGE_EVIDENCE_CONFIRMED)
        return false;
    double mean = trial->fresh.n ? trial->fresh.mean : trial->runs.mean;
    return evidence->rule.higher ? mean > evidence->best_score : mean < evidence->best_score;
}
