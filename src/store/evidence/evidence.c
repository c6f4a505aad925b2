/*
 * evidence.c: the runs of every trial of a store, and what they say (lineage/evidence.h).
 *
 * Rows never change: what several rows of one trial say together is derived here, each time that somebody asks.
 */
#include <lineage/evidence.h>

#include <math.h>
#include <xxhash.h>

#include <lineage/notes.h>
#include <lineage/query.h>
#include <lineage/replicas.h>
#include <lineage/text.h>
#include <lineage/voids.h>

#include "../fail.h"
#include "../format/arena.h"
#include "../format/id.h"
#include "../format/mean_note.h"
#include "../format/setting_digest.h"
#include "../questions/questions.h"
#include "shrunk_means.h"

enum { REPLICAS_FROM = 1000, FRESH_FROM = 3, CHAINS_LEAST = 256, AXES_MAX = 64 };
/* A trial diverges for itself, and not by chance, if more of its runs did than did not, by more than this. */
enum { DIVERGES = 2 };
/* Scores that differ by less than this share are equal but for rounding. */
#define ROUNDING 1e-14
/* Values further apart than this factor are compared by their logarithms. */
#define MAGNITUDES 20.0

struct row_id {
    const char *exp_id;
    size_t trial;
};

/* A score: the mean of that many seeds. */
struct run {
    const char *exp_id; /* of its row; NULL: it has none yet */
    size_t trial, seeds;
    double score, std;
    bool fresh, counts; /* counts: it did not diverge; see sum_runs */
};

/* A hash table of numbers by digest: a chain of the items for each remainder of the digest, the newest first, and twice as many chains
 * when there are as many items as chains. */
struct item {
    uint64_t digest;
    size_t number, next; /* next: index + 1 of the next one of the chain */
};

struct table {
    struct item *items;
    size_t *chains; /* [n_chains] index + 1 of the newest item */
    size_t n, capacity, n_chains;
};

/* A row without a score that runs no trial with a score again; after the end of the log, all such rows of one setting. */
struct unscored {
    struct lineage_failed_setting setting;
    uint64_t said; /* digest */
    bool has_seed, is_void;
};

/* A parameter of a trial's first row. */
struct number {
    size_t trial;
    uint64_t name, text; /* digests; text: of name and value, 0 for a number */
    double value;
};

struct collection {
    struct arena arena;
    const char *const *seeds; /* lineage_store_seeds */
    struct number *numbers;
    struct surface surface;
    struct lineage_evidence_trial *trials;
    struct run *runs; /* in the order of the log */
    struct row_id *ids; /* likewise */
    struct unscored *unscored; /* in the order of the log */
    struct table rows; /* indices of ids, by id without exp_ */
    struct table unscored_rows; /* indices of unscored, likewise */
    struct table scores; /* indices of runs, by trial and score; those that find_repeated has needed so far */
    struct table settings; /* trials, by what the row of a setting or of one of its seeds says; see settle_unscored */
    size_t n, capacity, n_unscored, unscored_capacity, n_ids, ids_capacity, n_runs, runs_capacity;
    size_t n_numbers, numbers_capacity;
    uint64_t last_seq;
};

static void table_link(struct table *table, size_t i)
{
    size_t *chain = &table->chains[table->items[i].digest % table->n_chains];
    table->items[i].next = *chain;
    *chain = i + 1;
}

static bool table_add(struct table *table, uint64_t digest, size_t number)
{
    if (!LIST_ROOM(table->items, table->n, table->capacity))
        return false;
    table->items[table->n++] = (struct item){.digest = digest, .number = number};
    if (table->n <= table->n_chains) {
        table_link(table, table->n - 1);
        return true;
    }
    const size_t n_chains = table->n_chains ? 2 * table->n_chains : CHAINS_LEAST;
    size_t *chains = calloc(n_chains, sizeof *chains);
    if (!chains)
        return false;
    free(table->chains);
    table->chains = chains;
    table->n_chains = n_chains;
    for (size_t i = 0; i < table->n; i++)
        table_link(table, i);
    return true;
}

/* The newest item of the digest, before `from` if that is not NULL; NULL if there is none. */
static const struct item *table_find(const struct table *table, uint64_t digest, const struct item *from)
{
    size_t at = from ? from->next : table->n_chains ? table->chains[digest % table->n_chains] : 0;
    while (at && table->items[at - 1].digest != digest)
        at = table->items[at - 1].next;
    return at ? &table->items[at - 1] : NULL;
}

static void table_release(struct table *table)
{
    free(table->items);
    free(table->chains);
}

/* Returns the trial of the newest row that has the id. */
static size_t find_row(const struct collection *c, const char *exp_id)
{
    const uint64_t digest = setting_digest_mix(0, id_bare(exp_id));
    for (const struct item *item = NULL; (item = table_find(&c->rows, digest, item));)
        if (strcmp(id_bare(c->ids[item->number].exp_id), id_bare(exp_id)) == 0)
            return c->ids[item->number].trial;
    return c->n;
}

/* Around the mean (Chan, Golub and LeVeque 1983, Am. Stat. 37:242): squares of scores far from 0 would cancel. */
static void add_score(struct lineage_evidence_trial *trial, double *squares, const struct run *run)
{
    struct lineage_runs *to[] = {&trial->runs, run->fresh ? &trial->fresh : NULL};
    const double seeds = (double)run->seeds, from = run->score - trial->runs.mean, before = (double)trial->runs.n;
    for (size_t k = 0; k < 2; k++) {
        if (!to[k])
            continue;
        to[k]->n += run->seeds;
        to[k]->mean += (run->score - to[k]->mean) * seeds / (double)to[k]->n;
    }
    const double n = (double)trial->runs.n;
    *squares += (seeds - 1) * run->std * run->std + (before > 0 ? from * from * before * seeds / n : 0);
    /* What is left by rounding is not a variance; what is too large for a number is an unknown one. */
    trial->variance = !isfinite(*squares)                                               ? (double)NAN
                      : n > 1 && sqrt(*squares / n) > ROUNDING * fabs(trial->runs.mean) ? *squares / (n - 1)
                                                                                        : 0;
}

/* How far runs are from each other, of all trials together: several of the few that ran again may have diverged. Rows of several seeds
 * say it themselves. Uses scratch [c->n_runs]. */
static double typical_spread(const struct collection *c, double *scratch, bool higher)
{
    double middle, spread;
    size_t n = 0;
    for (size_t k = 0; k < c->n_runs; k++)
        scratch[k] = c->runs[k].score;
    better_half(&middle, &spread, scratch, c->n_runs, higher);
    for (size_t k = 0; k < c->n_runs; k++)
        if (c->runs[k].seeds > 1)
            scratch[n++] = c->runs[k].std;
    qsort(scratch, n, sizeof *scratch, compare_numbers);
    return n ? fmax(spread, scratch[(n - 1) / 2]) : spread;
}

/* Whether the run is far outside of all trials, and of the best run of its own. */
static bool has_diverged(const struct run *run, double best, double middle, double spread, bool higher)
{
    double ahead = higher ? fmin(middle, best) - run->score : run->score - fmax(middle, best);
    return spread > 0 && ahead > FAR_OUTSIDE * spread && best != run->score;
}

/*
 * Sums up the runs of each trial. A run that diverged says nothing about the mean of a trial with other runs, and is left out. If many more
 * of its runs did than did not, its best one was the lucky one, and all count. Returns false when out of memory.
 */
static bool sum_runs(const struct lineage_evidence *evidence, const struct collection *c)
{
    const bool higher = evidence->rule.higher;
    double middle, spread, *scratch = calloc(c->n + c->n_runs + 1, sizeof *scratch), *best = scratch + c->n_runs;
    if (!scratch)
        return false;
    for (size_t i = 0; i < c->n; i++) {
        struct lineage_evidence_trial *trial = &c->trials[i];
        trial->runs = trial->fresh = (struct lineage_runs){0};
        trial->left_out = 0;
    }
    const double typical = typical_spread(c, scratch, higher);
    for (size_t i = 0; i < c->n; i++)
        best[i] = (double)NAN;
    for (size_t k = 0; k < c->n_runs; k++) {
        const struct run *run = &c->runs[k];
        best[run->trial] = higher ? fmax(best[run->trial], run->score) : fmin(best[run->trial], run->score);
    }
    memcpy(scratch, best, c->n * sizeof *scratch);
    better_half(&middle, &spread, scratch, c->n, higher);
    spread = fmax(spread, typical); /* settings may be closer to each other than their runs */
    memset(scratch, 0, c->n * sizeof *scratch);
    for (size_t k = 0; k < c->n_runs; k++) {
        const struct run *run = &c->runs[k];
        scratch[run->trial] += (double)run->seeds; /* all runs, for now */
        c->trials[run->trial].left_out += has_diverged(run, best[run->trial], middle, spread, higher) ? run->seeds : 0;
    }
    for (size_t i = 0; i < c->n; i++) {
        if (2 * (double)c->trials[i].left_out > scratch[i] + DIVERGES)
            c->trials[i].left_out = 0;
        scratch[i] = 0;
    }
    for (size_t k = 0; k < c->n_runs; k++) {
        struct run *run = &c->runs[k];
        run->counts = !c->trials[run->trial].left_out || !has_diverged(run, best[run->trial], middle, spread, higher);
        if (run->counts)
            add_score(&c->trials[run->trial], &scratch[run->trial], run);
    }
    free(scratch);
    return true;
}

static bool add_id(struct collection *c, const char *exp_id, size_t trial)
{
    const char *copy = LIST_ROOM(c->ids, c->n_ids, c->ids_capacity) ? arena_text(&c->arena, exp_id, strlen(exp_id)) : NULL;
    if (!copy || !table_add(&c->rows, setting_digest_mix(0, id_bare(exp_id)), c->n_ids))
        return false;
    c->ids[c->n_ids++] = (struct row_id){copy, trial};
    return true;
}

/* The numbers of the trial at c->n, and a digest of its texts. A seed says nothing about a setting. */
static bool add_numbers(struct collection *c, const struct lineage_trial *row)
{
    bool good = true;
    for (size_t i = 0; i < row->n_params && good; i++) {
        const struct lineage_param *p = &row->params[i];
        if (!lineage_param_is_inherited(p->name, c->seeds) || (!p->text && !isfinite(p->value)))
            continue;
        const uint64_t name = setting_digest_mix(0, p->name), text = p->text ? setting_digest_mix(name, p->text) | 1 : 0;
        good = LIST_ROOM(c->numbers, c->n_numbers, c->numbers_capacity);
        if (good)
            c->numbers[c->n_numbers++] = (struct number){c->n, name, text, p->value};
    }
    return good;
}

static bool add_trial(struct collection *c, const struct lineage_trial *row)
{
    if (!LIST_ROOM(c->trials, c->n, c->capacity) || !add_id(c, row->exp_id, c->n) || !add_numbers(c, row))
        return false;
    c->trials[c->n++] =
        (struct lineage_evidence_trial){.exp_id = c->ids[c->n_ids - 1].exp_id, .seq = row->seq, .status = row->status};
    return true;
}

static bool add_run(struct collection *c, const char *exp_id, size_t trial, double score, const char *notes, bool fresh)
{
    bool grown = LIST_ROOM(c->runs, c->n_runs, c->runs_capacity);
    struct run run = {.exp_id = exp_id, .trial = trial, .score = score, .fresh = fresh};
    mean_note_parse(&run.seeds, &run.std, notes);
    if (grown)
        c->runs[c->n_runs++] = run;
    return grown;
}

/* ---- settings whose seed is a parameter ---- */

static size_t find_setting(const struct collection *c, uint64_t digest)
{
    const struct item *item = table_find(&c->settings, digest, NULL);
    return item ? item->number : c->n;
}

/* What a row says of its setting, and of its seeds (setting_digest_of). */
struct said {
    uint64_t setting, seeds;
    bool named;
};

/*
 * The trial that the row is another seed of, or c->n. The same seed again does not count as one: it says nothing new about the noise, or its
 * code is another one. *ok becomes false when out of memory.
 */
static size_t find_other_seed(struct collection *c, const struct said *said, bool *ok)
{
    const uint64_t with_seed = setting_digest_seeded(said->setting, said->seeds);
    if (!said->seeds || !said->named || find_setting(c, with_seed) < c->n)
        return c->n;
    const size_t known = find_setting(c, said->setting);
    *ok = table_add(&c->settings, with_seed, known) && (known < c->n || table_add(&c->settings, said->setting, known));
    return known;
}

/* ---- settings without a score ---- */

/* Salts for what a row says, so that it is looked up in the same table as setting_digest. */
enum { SAID_BY_TRIAL = 1, SAID_BY_UNSCORED = 2 };

/* What the row says of its setting. A row that says nothing is a setting of its own. */
static uint64_t what_row_says(const struct said *said, const struct lineage_trial *row)
{
    return said->named ? said->setting : setting_digest_mix(said->setting, row->exp_id);
}

static struct unscored *find_unscored(const struct collection *c, const char *exp_id)
{
    const uint64_t digest = setting_digest_mix(0, id_bare(exp_id));
    for (const struct item *item = NULL; (item = table_find(&c->unscored_rows, digest, item));)
        if (strcmp(id_bare(c->unscored[item->number].setting.exp_id), id_bare(exp_id)) == 0)
            return &c->unscored[item->number];
    return NULL;
}

/* again: the row without a score that this one runs again, or NULL. */
static bool add_unscored(struct collection *c, const struct lineage_trial *row, const struct said *said,
                         const struct unscored *again)
{
    struct unscored one = {.setting = {.status = row->status, .n = 1},
                           .said = again ? again->said : what_row_says(said, row),
                           .has_seed = said->seeds != 0};
    if (!LIST_ROOM(c->unscored, c->n_unscored, c->unscored_capacity) ||
        !(one.setting.exp_id = arena_text(&c->arena, row->exp_id, strlen(row->exp_id))) ||
        !table_add(&c->unscored_rows, setting_digest_mix(0, id_bare(row->exp_id)), c->n_unscored))
        return false;
    one.setting.last_id = one.setting.exp_id;
    c->unscored[c->n_unscored++] = one;
    return true;
}

/* Remembers what the trial at i says, and what a row said that it runs again. */
static bool add_said(struct collection *c, const struct lineage_trial *row, const struct said *said, const struct unscored *again,
                     size_t i)
{
    return table_add(&c->settings, what_row_says(said, row) + SAID_BY_TRIAL, i) &&
           (!again || table_add(&c->settings, again->said + SAID_BY_TRIAL, i));
}

/* Keeps one entry for each setting that has no score. A seed that failed counts against the setting of the others. */
static bool settle_unscored(struct collection *c)
{
    size_t n = 0;
    for (size_t k = 0; k < c->n_unscored; k++) {
        const struct unscored *one = &c->unscored[k];
        const size_t trial = find_setting(c, one->said + SAID_BY_TRIAL);
        /* An entry's index comes behind those of all trials. */
        const size_t known = find_setting(c, one->said + SAID_BY_UNSCORED);
        if (one->is_void)
            continue;
        if (trial < c->n) {
            const bool counts = one->has_seed && one->setting.status != LINEAGE_HARNESS_ABORT;
            c->trials[trial].again += counts;
            c->trials[trial].failed += counts;
        } else if (known > c->n) {
            struct lineage_failed_setting *to = &c->unscored[known - c->n - 1].setting;
            *to = (struct lineage_failed_setting){to->exp_id, one->setting.exp_id, one->setting.status, to->n + 1};
        } else {
            if (!table_add(&c->settings, one->said + SAID_BY_UNSCORED, c->n + 1 + n))
                return false;
            c->unscored[n++] = *one;
        }
    }
    c->n_unscored = n;
    return true;
}

/* Equal scores have one digest: 0.0 is added, so that -0.0 is 0.0. */
static uint64_t run_digest(size_t trial, double score)
{
    const double run[] = {(double)trial, score + 0.0};
    return XXH3_64bits(run, sizeof run);
}

/*
 * The trial of which the row reproduced a score with the same seed, or c->n. The row does not count as another run. *ok becomes false
 * when out of memory.
 */
static size_t find_repeated(struct collection *c, const struct lineage_trial *row, bool *ok)
{
    char id[LINEAGE_NAME_MAX];
    const char *of = rerun_note_find(row->notes ? row->notes : "");
    snprintf(id, sizeof id, "%.*s", of ? (int)strcspn(of, ";") : 0, of ? of : "");
    const size_t trial = of ? find_row(c, id) : c->n;
    if (trial == c->n)
        return c->n;
    for (size_t k; *ok && (k = c->scores.n) < c->n_runs;)
        *ok = table_add(&c->scores, run_digest(c->runs[k].trial, c->runs[k].score), k);
    for (const struct item *item = NULL; (item = table_find(&c->scores, run_digest(trial, row->score.value), item));)
        if (c->runs[item->number].trial == trial && c->runs[item->number].score == row->score.value)
            return trial;
    return c->n;
}

/* Notes that the newest row, one of the trial at i, was kept. */
static void take_label(struct collection *c, const struct lineage_trial *row, size_t i, bool again)
{
    if (lineage_label_is_kept(row->status) &&
        (again || !c->trials[i].kept_id)) /* of seeds that were kept the first, not the luckiest */
        c->trials[i].kept_id = c->ids[c->n_ids - 1].exp_id;
}

/* A row that names an unknown trial is a trial of its own, because its run is a result all the same. */
static bool take_row(struct collection *c, const struct lineage_trial *row)
{
    struct lineage_replicate replicate = {.score = {.present = false}};
    const bool scored = lineage_label_is_measured(row->status) && row->score.present && isfinite(row->score.value);
    const bool again = lineage_replicate_parse(&replicate, row->notes);
    bool ok = true, back;
    struct said said;
    said.setting = setting_digest_of(&said.named, &said.seeds, row, c->seeds);
    const struct unscored *before = again ? find_unscored(c, replicate.exp_id) : NULL;
    size_t i = again ? find_row(c, replicate.exp_id) : scored ? find_other_seed(c, &said, &ok) : c->n;
    c->last_seq = row->seq;
    if (lineage_is_void_row(row, &back)) {
        struct unscored *one = find_unscored(c, row->parent_exp);
        if (one)
            one->is_void = !back;
        return true;
    }
    const size_t repeated = scored && !again ? find_repeated(c, row, &ok) : c->n;
    if (ok && repeated < c->n) {
        ok = add_id(c, row->exp_id, repeated);
        if (ok)
            take_label(c, row, repeated, false);
        return ok;
    }
    if (ok && i == c->n && !scored)
        return add_unscored(c, row, &said, before);
    if (!ok || row->status == LINEAGE_HARNESS_ABORT)
        return ok;
    if (i == c->n ? !add_said(c, row, &said, before, i) || !add_trial(c, row) : !add_id(c, row->exp_id, i))
        return false;
    struct lineage_evidence_trial *trial = &c->trials[i];
    const bool fresh = trial->seq != row->seq;
    trial->again += fresh;
    trial->failed += fresh && !scored;
    take_label(c, row, i, again);
    return !scored || add_run(c, c->ids[c->n_ids - 1].exp_id, i,
                              replicate.score.present ? replicate.score.value : row->score.value, row->notes, fresh);
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
    if (!taken || (status == LINEAGE_ENOTFOUND && !settle_unscored(c)))
        return store_no_memory(err);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* ---- where the trials are ---- */

/* A parameter that most trials have as a number, and not all the same. */
struct axis {
    uint64_t name;
    double low, high;
    size_t n;
};

static struct axis *find_axis(struct axis *axes, size_t *n, uint64_t name)
{
    size_t i = 0;
    while (i < *n && axes[i].name != name)
        i++;
    if (i == AXES_MAX)
        return NULL;
    if (i == *n)
        axes[(*n)++] = (struct axis){.name = name, .low = INFINITY, .high = -INFINITY};
    return &axes[i];
}

/* From 0 to 1; by its logarithm if it has values of several magnitudes. */
static double on_axis(const struct axis *axis, double value)
{
    const bool is_log = axis->low > 0 && axis->high >= MAGNITUDES * axis->low;
    return is_log ? log(value / axis->low) / log(axis->high / axis->low) : (value - axis->low) / (axis->high - axis->low);
}

/* Finds the parameters that may say which trials are near each other. Returns false when out of memory. */
static bool find_surface(struct collection *c)
{
    struct axis axes[AXES_MAX];
    size_t n = 0, n_used = 0;
    struct surface *surface = &c->surface;
    for (size_t i = 0; i < c->n_numbers; i++) {
        struct axis *axis = c->numbers[i].text ? NULL : find_axis(axes, &n, c->numbers[i].name);
        if (!axis && !c->numbers[i].text)
            return true;
        if (!axis)
            continue;
        axis->low = fmin(axis->low, c->numbers[i].value);
        axis->high = fmax(axis->high, c->numbers[i].value);
        axis->n++;
    }
    for (size_t k = 0; k < n; k++)
        if (2 * axes[k].n > c->n && axes[k].high > axes[k].low)
            axes[n_used++] = axes[k];
    if (!n_used || n_used > SURFACE_PARAMS_MAX)
        return true;
    surface->z = calloc(c->n, sizeof *surface->z);
    surface->group = calloc(c->n, sizeof *surface->group);
    if (!surface->z || !surface->group)
        return false;
    for (size_t i = 0; i < c->n * n_used; i++)
        surface->z[i / n_used][i % n_used] = (double)NAN;
    for (size_t i = 0; i < c->n_numbers; i++) {
        const struct number *number = &c->numbers[i];
        surface->group[number->trial] += number->text;
        for (size_t k = 0; k < n_used && !number->text; k++)
            if (axes[k].name == number->name)
                surface->z[number->trial][k] = on_axis(&axes[k], number->value);
    }
    surface->n_params = n_used;
    return true;
}

/* ---- noise ---- */

static enum lineage_status estimate_from_replicas(struct lineage_noise *noise, struct lineage_store *store, uint64_t last_seq,
                                                  struct lineage_error *err)
{
    const struct lineage_query newest = {.after = last_seq > REPLICAS_FROM ? last_seq - REPLICAS_FROM : 0};
    struct lineage_ideas *ideas = NULL;
    RELEASED_BY(lineage_replicas_release) struct lineage_replicas replicas = {0};
    enum lineage_status status = lineage_ideas_new(&ideas, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_add_query(ideas, store, &newest, err);
    if (status == LINEAGE_OK)
        status = lineage_ideas_settle(ideas, err);
    if (status == LINEAGE_OK)
        status = lineage_replicas_find(&replicas, ideas, err);
    if (status == LINEAGE_OK && replicas.freedom && replicas.noise > 0) {
        *noise = (struct lineage_noise){
            .std = replicas.noise, .freedom = (double)replicas.freedom, .runs = replicas.scored, .estimated = true};
        lineage_noise_interval(noise);
    }
    lineage_ideas_release(ideas);
    return status;
}

static bool pool_runs(struct lineage_evidence *evidence)
{
    size_t n = 0;
    struct lineage_noise_group *groups = calloc(evidence->n + 1, sizeof *groups);
    for (size_t i = 0; groups && i < evidence->n; i++)
        if (evidence->trials[i].runs.n > 1 && !isnan(evidence->trials[i].variance))
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

bool lineage_evidence_judge(struct lineage_evidence *evidence)
{
    const struct collection *c = evidence->memory;
    if (!evidence_expect(evidence, c ? &c->surface : NULL))
        return false;
    for (size_t i = 0; i < evidence->n; i++)
        evidence->trials[i].is_best = i == evidence->best;
    if (evidence->best >= evidence->n)
        return true;
    const struct lineage_evidence_trial *best = &evidence->trials[evidence->best];
    evidence->best_id = best->kept_id;
    const bool selected = best->status != LINEAGE_BASELINE && best->fresh.n >= FRESH_FROM;
    evidence->best_runs = selected ? best->fresh : best->runs;
    for (size_t i = 0; i < evidence->n; i++) {
        struct lineage_evidence_trial *trial = &evidence->trials[i];
        if (i != evidence->best)
            judge_trial(evidence, trial);
    }
    return true;
}

/* The row with the best score of its own is what an append compares with. */
static enum lineage_status find_top(struct lineage_evidence *evidence, struct collection *c, struct lineage_store *store,
                                    struct lineage_error *err)
{
    SCOPED_TRIAL top = {0};
    struct lineage_error none;
    enum lineage_status status = mirror_ask_top(store, &top, &none);
    if (status == LINEAGE_OK) {
        evidence->top_id = arena_text(&c->arena, top.exp_id, strlen(top.exp_id));
        status = evidence->top_id ? LINEAGE_OK : store_no_memory(err);
    } else if (status != LINEAGE_ENOTFOUND && err) {
        *err = none;
    }
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
    /* What was measured before a run was left out may come from that run, and replicas hold it, too. */
    bool rows_only = evidence->noise.left_out > 0;
    for (size_t i = 0; i < evidence->n; i++)
        rows_only = rows_only || evidence->trials[i].left_out || isnan(evidence->trials[i].variance);
    if (evidence->noise.freedom < configured.freedom && !rows_only)
        evidence->noise = configured;
    return rows_only || evidence->noise.freedom > 0 ? LINEAGE_OK : estimate_from_replicas(&evidence->noise, store, last_seq, err);
}

static void release(struct collection *c)
{
    arena_release(&c->arena);
    free(c->trials);
    free(c->runs);
    free(c->numbers);
    free(c->surface.z);
    free(c->surface.group);
    free(c->ids);
    free(c->unscored);
    table_release(&c->rows);
    table_release(&c->scores);
    table_release(&c->unscored_rows);
    table_release(&c->settings);
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
    c->seeds = lineage_store_seeds(store);
    enum lineage_status status = collect(c, cursor, err);
    evidence->trials = c->trials;
    evidence->n = c->n;
    evidence->memory = c;
    evidence->rule = (struct lineage_evidence_rule){.min_delta = config->min_delta,
                                                    .trials = rule && rule->trials ? rule->trials : lineage_config_trials(config),
                                                    .runs_max = rule ? rule->runs_max : 0,
                                                    .higher = config->direction == LINEAGE_HIGHER};
    if (status == LINEAGE_OK)
        status = sum_runs(evidence, c) && find_surface(c) ? find_top(evidence, c, store, err) : store_no_memory(err);
    if (status == LINEAGE_OK)
        status = find_noise(evidence, store, c->last_seq, err);
    if (status == LINEAGE_OK && !lineage_evidence_judge(evidence))
        status = store_no_memory(err);
    if (status != LINEAGE_OK)
        lineage_evidence_release(evidence);
    return status;
}

enum lineage_status lineage_evidence_load(struct lineage_evidence *evidence, struct lineage_store *store,
                                          const struct lineage_evidence_rule *rule, struct lineage_error *err)
{
    const struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    *evidence = (struct lineage_evidence){0};
    TRY(lineage_query_open(&cursor, store, &all, err));
    return load(evidence, store, cursor, rule, err);
}

enum lineage_status lineage_evidence_load_for(struct lineage_evidence *evidence, struct lineage_store *store, const char *exp_id,
                                              const struct lineage_evidence_rule *rule, struct lineage_error *err)
{
    struct lineage_cursor *cursor;
    *evidence = (struct lineage_evidence){0};
    TRY(mirror_runs_open(&cursor, store, exp_id, err));
    return load(evidence, store, cursor, rule, err);
}

void lineage_evidence_release(struct lineage_evidence *evidence)
{
    if (evidence->memory)
        release(evidence->memory);
    *evidence = (struct lineage_evidence){0};
}

const struct lineage_failed_setting *lineage_evidence_failed(const struct lineage_evidence *evidence, size_t i)
{
    const struct collection *c = evidence->memory;
    return c && i < c->n_unscored ? &c->unscored[i].setting : NULL;
}

size_t lineage_evidence_find(const struct lineage_evidence *evidence, const char *exp_id)
{
    return evidence->memory ? find_row(evidence->memory, exp_id) : evidence->n;
}

void lineage_evidence_add(struct lineage_evidence *evidence, size_t i, const struct lineage_trial *row)
{
    struct collection *c = evidence->memory;
    evidence->trials[i].again++;
    if (add_run(c, NULL, i, row->core_metric.value, row->notes, true) && sum_runs(evidence, c)) {
        if (!isinf(evidence->noise.freedom) && !evidence->noise.estimated) {
            struct lineage_noise before = evidence->noise;
            if (!pool_runs(evidence) || evidence->noise.freedom < before.freedom)
                evidence->noise = before;
        }
        if (!lineage_evidence_judge(evidence))
            evidence->best = evidence->n; /* nothing is confirmed without memory */
    }
}

bool lineage_evidence_is_ready(const struct lineage_evidence *evidence, size_t i)
{
    const struct lineage_evidence_trial *trial = &evidence->trials[i];
    return i != evidence->best && !trial->kept_id && trial->judgement.state == LINEAGE_EVIDENCE_CONFIRMED &&
           !evidence_best_is_stray(evidence);
}

/* ---- the noise floor in the settings ---- */

/* The digits that matter, because a pooled value has all seventeen. */
static double shorten(double value)
{
    char text[32];
    double shorter = value;
    int n = snprintf(text, sizeof text, "%.10g", value);
    return lineage_number_parse(&shorter, text, (size_t)n) ? shorter : value;
}

enum lineage_status lineage_noise_measure(struct lineage_store *store, bool clear, struct lineage_error *err)
{
    struct lineage_evidence evidence;
    const struct lineage_config *config = lineage_store_config(store);
    if (config->noise_std > 0 && !config->noise_freedom)
        return LINEAGE_OK;
    TRY(lineage_evidence_load_for(&evidence, store, NULL, NULL, err));
    const bool pooled = pool_runs(&evidence);
    const struct lineage_noise noise = evidence.noise;
    lineage_evidence_release(&evidence);
    if (!pooled)
        return store_no_memory(err);
    const bool known = noise.std > 0 && noise.freedom >= 1;
    if ((!known && !clear) ||
        (known ? shorten(noise.std) == config->noise_std && noise.freedom == config->noise_freedom : !config->noise_freedom))
        return LINEAGE_OK;
    enum lineage_status status = lineage_store_measure_noise(
        store, known ? shorten(noise.std) : 0, known ? (unsigned)noise.freedom : 0, known ? (unsigned)noise.runs : 0, err);
    return status == LINEAGE_EEXIST ? LINEAGE_OK : status;
}

bool lineage_may_repeat(const struct lineage_store *store, const struct lineage_trial *row)
{
    struct lineage_replicate replicate;
    bool repeats = lineage_replicate_parse(&replicate, row->notes);
    for (size_t i = 0; i < row->n_params && !repeats; i++)
        repeats = lineage_param_is_seed(row->params[i].name, lineage_store_seeds(store));
    return repeats;
}

/* A row of several seeds tells how much they differ. Without a floor yet, that of the baseline is waited for. */
static enum lineage_status tells_noise(bool *tells, struct lineage_store *store, const struct lineage_trial *row,
                                       struct lineage_error *err)
{
    *tells = lineage_label_is_measured(row->status) && lineage_score_runs(row->notes) > 1 &&
             (row->status == LINEAGE_BASELINE || lineage_store_config(store)->noise_std > 0);
    if (*tells || !lineage_label_is_measured(row->status) || !lineage_may_repeat(store, row))
        return LINEAGE_OK;
    return lineage_ran_again(tells, store, row, err); /* the first seed of a setting tells nothing yet */
}

enum lineage_status lineage_noise_after_append(struct lineage_store *store, const struct lineage_trial *rows, size_t n,
                                               struct lineage_error *err)
{
    bool repeats = false;
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; i < n && !repeats && status == LINEAGE_OK; i++)
        status = tells_noise(&repeats, store, &rows[i], err);
    return status == LINEAGE_OK && repeats ? lineage_noise_measure(store, false, err) : status;
}

enum lineage_status lineage_noise_after_void(struct lineage_store *store, const char *exp_id, struct lineage_error *err)
{
    SCOPED_TRIAL trial = {0};
    bool again = false;
    enum lineage_status status = lineage_find(store, exp_id, &trial, err);
    if (status == LINEAGE_OK)
        status = lineage_ran_again(&again, store, &trial, err);
    again = again || lineage_score_runs(trial.notes) > 1 || lineage_may_repeat(store, &trial);
    return status == LINEAGE_OK && again ? lineage_noise_measure(store, true, err) : status;
}

/* ---- the best trial ---- */

/* At most that many of the best scores are read, because a night may have discarded some of them for good. */
enum { LOOKED_AT = 64 };

/*
 * A night that confirms discards what is better until it has run again. Where it ended before anything did, its best single run is the
 * answer, as of any other log of single runs. LINEAGE_ENOTFOUND: a kept trial is better than all of these, or there is none.
 */
static enum lineage_status load_unconfirmed(struct lineage_store *store, struct lineage_trial *trial, struct lineage_error *err)
{
    const struct lineage_query best = {
        .labels = 1u << LINEAGE_KEEP | 1u << LINEAGE_BASELINE | 1u << LINEAGE_DISCARD, .sort = "best", .limit = LOOKED_AT};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    char id[LINEAGE_NAME_MAX] = "";
    enum lineage_status status = lineage_query_open_declared(&cursor, store, &best, err);
    TRY(status);
    while (!*id && (status = lineage_cursor_next(cursor, &row, err)) == LINEAGE_OK && row.status == LINEAGE_DISCARD)
        if (strstr(row.notes, LINEAGE_UNCONFIRMED))
            snprintf(id, sizeof id, "%s", row.exp_id);
    lineage_cursor_close(cursor);
    return *id ? lineage_find(store, id, trial, err) : status == LINEAGE_OK ? LINEAGE_ENOTFOUND : status;
}

const char *lineage_evidence_row(const struct lineage_evidence *evidence, size_t i)
{
    const struct collection *c = evidence->memory;
    if (evidence->trials[i].left_out > evidence->trials[i].runs.n)
        return evidence->trials[i].exp_id;
    const char *wanted = evidence->trials[i].kept_id ? evidence->trials[i].kept_id : evidence->trials[i].exp_id, *first = NULL;
    for (size_t k = 0; c && k < c->n_runs; k++) {
        if (c->runs[k].trial != i || !c->runs[k].counts)
            continue;
        if (c->runs[k].exp_id == wanted) /* both from c->ids */
            return wanted;
        first = first ? first : c->runs[k].exp_id;
    }
    return first ? first : wanted;
}

/* Loads the row of the answer or of the best kept trial. With single runs only, both are the kept row with the best score, or a better
 * one that only waits for its confirmation. */
static enum lineage_status load_best(struct lineage_store *store, bool kept, struct lineage_trial *trial,
                                     struct lineage_evidence *evidence, struct lineage_error *err)
{
    bool again = false;
    *trial = (struct lineage_trial){0};
    *evidence = (struct lineage_evidence){.sure = (double)NAN, .over_second = (double)NAN};
    enum lineage_status status = mirror_ask_any_again(&again, store, err);
    if (status == LINEAGE_OK && again)
        status = lineage_evidence_load_for(evidence, store, NULL, NULL, err);
    TRY(status);
    size_t i = kept ? evidence->best : evidence->answer;
    const bool alone = evidence->n == 1 && evidence->trials[0].kept_id; /* of its seeds not the luckiest */
    if (i >= evidence->n || (isnan(evidence->sure) && !alone)) {
        if (kept || (status = load_unconfirmed(store, trial, err)) == LINEAGE_ENOTFOUND)
            status = mirror_ask_top(store, trial, err);
        return status;
    }
    return lineage_find(store, kept ? evidence->trials[i].kept_id : lineage_evidence_row(evidence, i), trial, err);
}

bool lineage_evidence_same_scores(const struct lineage_evidence *evidence)
{
    bool same = evidence->noise.freedom > 0 && evidence->noise.runs && !(evidence->noise.std > 0);
    for (size_t i = 0; i < evidence->n; i++)
        same = same && !evidence->trials[i].left_out;
    return same;
}

enum lineage_status lineage_best_of(struct lineage_store *store, struct lineage_trial *trial, struct lineage_evidence *evidence,
                                    struct lineage_error *err)
{
    return load_best(store, false, trial, evidence, err);
}

enum lineage_status lineage_best(struct lineage_store *store, struct lineage_trial *trial, struct lineage_error *err)
{
    struct lineage_evidence evidence;
    enum lineage_status status = load_best(store, false, trial, &evidence, err);
    lineage_evidence_release(&evidence);
    return status;
}

enum lineage_status lineage_best_kept(struct lineage_store *store, struct lineage_trial *trial, struct lineage_error *err)
{
    struct lineage_evidence evidence;
    enum lineage_status status = load_best(store, true, trial, &evidence, err);
    lineage_evidence_release(&evidence);
    return status;
}

enum lineage_status lineage_find_named(struct lineage_store *store, const char *id, bool start, struct lineage_trial *trial,
                                       struct lineage_error *err)
{
    enum lineage_status status = lineage_find(store, id, trial, err);
    if (status != LINEAGE_ENOTFOUND || strcmp(id, "best") != 0)
        return status;
    return start ? lineage_best_kept(store, trial, err) : lineage_best(store, trial, err);
}
