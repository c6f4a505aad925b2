/*
 * differences.c: the newest trials, each with the parameters that it changed.
 *
 * A trial is described by its changes against another one: its parent, or, for a trial without a known parent, such
 * as those of a sweep, the best trial of its time, which its row names.
 */
#include <math.h>

#include <lineage/code.h>
#include <lineage/text.h>

#include "../mirror/statement.h"
#include "report_parts.h"

/* A row may name itself (the first baseline is its own best). It then has nothing to be compared with. */
static enum lineage_status find_other(struct report_load *load, const char *id, const struct lineage_trial *self,
                                      struct lineage_trial *other, bool *found, struct lineage_error *err)
{
    int64_t seq;
    *found = false;
    if (!id[0])
        return LINEAGE_OK;
    enum lineage_status status = mirror_find(load->store->mirror, id, &seq, err);
    if (status == LINEAGE_OK && (uint64_t)seq != self->seq) {
        status = mirror_borrow(load->store->mirror, seq, other, &load->arena, err);
        *found = status == LINEAGE_OK;
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* How a trial did against its parent, which need not be the best: a step of a branch may be a gain and still not be
 * kept. */
static struct lineage_number difference(const struct lineage_trial *trial, const struct lineage_trial *parent)
{
    double delta = trial->score.value - parent->score.value;
    if (!trial->score.present || !parent->score.present || !isfinite(delta))
        return (struct lineage_number){0};
    return (struct lineage_number){true, delta};
}

/* There are at most some dozens of parameters, so a linear search is cheaper than a table. */
static bool is_constant(const struct lineage_report *report, const char *name)
{
    for (size_t i = 0; i < report->n_params; i++)
        if (strcmp(report->params[i].name, name) == 0)
            return report->params[i].constant;
    return false;
}

/* nan is not equal to itself, but a setting that stayed nan did not change. */
static bool same_value(const struct lineage_param *a, const struct lineage_param *b)
{
    if (a->text || b->text)
        return a->text && b->text && strcmp(a->text, b->text) == 0;
    return a->value == b->value || (isnan(a->value) && isnan(b->value));
}

static void set_before(struct lineage_report_change *change, const struct lineage_param *param)
{
    change->before = (struct lineage_number){true, param->value};
    change->before_text = param->text;
}

static void set_after(struct lineage_report_change *change, const struct lineage_param *param)
{
    change->after = (struct lineage_number){true, param->value};
    change->after_text = param->text;
}

/* Borrows in *at the row that the row `seq` names as its parent, until `row` is used again; *seq is 0 if there is none. Only an earlier
 * row counts, so that each walk ends. */
static enum lineage_status next_ancestor(struct report_load *load, int64_t *seq, struct lineage_trial *at, struct arena *row,
                                         struct lineage_error *err)
{
    int64_t parent = 0;
    enum lineage_status status =
        mirror_integer(load->store->mirror, &parent, err, "SELECT parent FROM ancestors WHERE seq = ?1", "i", *seq);
    *seq = parent > 0 && parent < *seq ? parent : 0;
    arena_reset(row);
    if (status == LINEAGE_OK && *seq)
        return mirror_borrow(load->store->mirror, *seq, at, row, err);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status copy_param(struct report_load *load, struct lineage_param *out, const struct lineage_param *param,
                                      struct lineage_error *err)
{
    out->name = arena_text(&load->arena, param->name, strlen(param->name));
    out->value = param->value;
    out->text = param->text ? arena_text(&load->arena, param->text, strlen(param->text)) : NULL;
    return out->name && (out->text || !param->text) ? LINEAGE_OK : store_no_memory(err);
}

/* A walk asks the mirror where it may end only after that many rows, because the answer costs as much as they do. */
enum { CHEAP_STEPS = 100 };

/* Finds the value that a trial has from its nearest ancestor that declares the name; NULL if there is none. A long walk ends at the
 * first row of the log that declares it. */
static enum lineage_status find_inherited(struct report_load *load, const struct lineage_trial *trial, const char *name,
                                          const struct lineage_param **value, struct lineage_error *err)
{
    SCOPED_ARENA row = {0};
    struct lineage_param *copy;
    int64_t seq = lineage_param_is_inherited(name, lineage_store_seeds(load->store)) ? (int64_t)trial->seq : 0, first = 0;
    enum lineage_status status = LINEAGE_OK;
    *value = NULL;
    for (size_t steps = 0; status == LINEAGE_OK && !*value && seq; steps++) {
        struct lineage_trial at;
        if (steps == CHEAP_STEPS)
            status =
                mirror_integer(load->store->mirror, &first, err, "SELECT min(seq) FROM param_rows WHERE key = ?1", "s", name);
        if (status == LINEAGE_OK || status == LINEAGE_ENOTFOUND)
            status = next_ancestor(load, &seq, &at, &row, err);
        if (status != LINEAGE_OK || !seq || seq < first)
            break;
        const struct lineage_param *found = lineage_trial_find_param(&at, name);
        if (found && (status = arena_items(&load->arena, 1, sizeof *copy, &copy, err)) == LINEAGE_OK &&
            (status = copy_param(load, copy, found, err)) == LINEAGE_OK)
            *value = copy;
    }
    return status;
}

static int by_name(const void *a, const void *b)
{
    const struct lineage_param *x = a, *y = b;
    return strcmp(x->name, y->name);
}

/* Adds what one ancestor declares and the trial has not. */
static enum lineage_status add_params_of(struct report_load *load, struct lineage_trial *trial,
                                         const struct lineage_trial *ancestor, struct lineage_error *err)
{
    struct lineage_param *params = NULL;
    size_t n = trial->n_params;
    enum lineage_status status = LINEAGE_OK;
    for (size_t k = 0; k < ancestor->n_params && status == LINEAGE_OK; k++) {
        const struct lineage_param *param = &ancestor->params[k];
        if (!lineage_param_is_inherited(param->name, lineage_store_seeds(load->store)) ||
            lineage_trial_find_param(trial, param->name))
            continue;
        if (!params)
            status = arena_items(&load->arena, n + ancestor->n_params, sizeof *params, &params, err);
        if (status == LINEAGE_OK && (status = copy_param(load, &params[n], param, err)) == LINEAGE_OK)
            n++;
    }
    if (!params || status != LINEAGE_OK)
        return status;
    if (trial->n_params)
        memcpy(params, trial->params, trial->n_params * sizeof *params);
    qsort(params, n, sizeof *params, by_name);
    trial->params = params;
    trial->n_params = n;
    return LINEAGE_OK;
}

/* A long walk ends early where the trial has all parameters of the log. */
enum lineage_status report_add_inherited(struct report_load *load, struct lineage_trial *trial, struct lineage_error *err)
{
    SCOPED_ARENA row = {0};
    struct lineage_trial at;
    int64_t seq = (int64_t)trial->seq, known = INT64_MAX;
    enum lineage_status status = LINEAGE_OK;
    for (size_t steps = 0; status == LINEAGE_OK && trial->n_params < (size_t)known; steps++) {
        if (steps == CHEAP_STEPS)
            status = mirror_integer(load->store->mirror, &known, err, "SELECT count(DISTINCT key) FROM param_values", "");
        if (status == LINEAGE_OK)
            status = next_ancestor(load, &seq, &at, &row, err);
        if (status != LINEAGE_OK || !seq)
            break;
        status = add_params_of(load, trial, &at, err);
    }
    return status;
}

/*
 * Both lists are sorted by name, so one pass over both is enough. A trial has from its parent what it does not declare,
 * so nothing of that changed, and the old value of what only the trial declares may be that of an ancestor.
 */
static enum lineage_status compare(struct report_load *load, struct lineage_report_full *full,
                                   struct lineage_report_change *changes, const struct lineage_trial *before, bool is_parent,
                                   struct lineage_error *err)
{
    const struct lineage_trial *after = &full->trial;
    size_t i = 0, j = 0;
    enum lineage_status status = LINEAGE_OK;
    while (status == LINEAGE_OK && (i < before->n_params || j < after->n_params)) {
        int order = i == before->n_params ? 1 : j == after->n_params ? -1 : strcmp(before->params[i].name, after->params[j].name);
        struct lineage_report_change change = {.name = order <= 0 ? before->params[i].name : after->params[j].name};
        if (order <= 0)
            set_before(&change, &before->params[i++]);
        if (order >= 0)
            set_after(&change, &after->params[j++]);
        const struct lineage_param *was = order == 0 ? &before->params[i - 1] : NULL;
        if (order > 0 && is_parent)
            status = find_inherited(load, before, change.name, &was, err);
        if (was && order > 0)
            set_before(&change, was);
        if ((order < 0 && is_parent && lineage_param_is_inherited(change.name, lineage_store_seeds(load->store))) ||
            (was && same_value(was, &after->params[j - 1])))
            continue;
        changes[full->n_changes++] = change;
    }
    return status;
}

/* The diff of the trial was made against its parent, or without one against the sweep's own files. Against another trial
 * it is only known whether both ran the same code. */
static enum lineage_status fill_code(struct report_load *load, struct lineage_report_full *full,
                                     const struct lineage_trial *other, bool is_parent, struct lineage_error *err)
{
    struct lineage_code_note own, its;
    struct lineage_commit_note commit;
    char text[sizeof own.change + 40] = "";
    full->code = "";
    bool has_code = lineage_code_note_parse(&own, full->trial.notes);
    if (!has_code && !lineage_commit_note_parse(&commit, full->trial.notes))
        return LINEAGE_OK;
    if (!has_code) /* compared with the same trial as the parameters */
        snprintf(text, sizeof text, "%s", commit.change);
    else if (own.change[0])
        snprintf(text, sizeof text, "%s%s", own.change, is_parent ? "" : " (against the sweep's files)");
    else if (other && lineage_code_note_parse(&its, other->notes) && strcmp(own.digest, its.digest) != 0)
        snprintf(text, sizeof text, "other files");
    full->code = arena_text(&load->arena, text, strlen(text));
    return full->code ? LINEAGE_OK : store_no_memory(err);
}

/* Without a trial to compare with, everything that the trial sets is a change, except what every trial sets. */
static enum lineage_status fill(struct report_load *load, struct lineage_report_full *full, struct lineage_error *err)
{
    struct lineage_trial other = {0};
    const struct lineage_trial *trial = &full->trial;
    struct lineage_report_change *changes;
    bool found, is_parent;
    enum lineage_status status = find_other(load, trial->parent_exp, trial, &other, &found, err);
    is_parent = found;
    if (found)
        full->delta_vs_parent = difference(trial, &other);
    if (status == LINEAGE_OK && !found)
        status = find_other(load, trial->baseline_exp, trial, &other, &found, err);
    if (status == LINEAGE_OK)
        status = arena_items(&load->arena, trial->n_params + other.n_params, sizeof *changes, &changes, err);
    TRY(status);
    full->compared_with = found ? other.exp_id : "";
    full->changes = changes;
    if (found)
        status = compare(load, full, changes, &other, is_parent, err);
    TRY(status);
    for (size_t i = 0; !found && i < trial->n_params; i++)
        if (!is_constant(&load->report, trial->params[i].name)) {
            changes[full->n_changes] = (struct lineage_report_change){.name = trial->params[i].name};
            set_after(&changes[full->n_changes++], &trial->params[i]);
        }
    full->remark = notes_remark(trial->notes, &load->arena);
    return full->remark ? fill_code(load, full, found ? &other : NULL, is_parent, err) : store_no_memory(err);
}

/* Whether a hypothesis may state a change: `lr 3e-4 → 1e-4`, `jit=off`, `from 4 to 8`. Much cheaper than reading it. */
static bool may_state(const char *hypothesis)
{
    if (strstr(hypothesis, "→") || strstr(hypothesis, "->") || strchr(hypothesis, '='))
        return true;
    for (const char *to = strstr(hypothesis, " to "); to; to = strstr(to + 4, " to "))
        if (to[4] >= '0' && to[4] <= '9')
            return true;
    return false;
}

/* A trial of `lineage run` that declares nothing and says nothing, as `run -- python train.py --lr 0.1`: its command tells what it changed. */
static bool is_silent_run(const struct lineage_trial *trial)
{
    return !*trial->hypothesis && !trial->n_params && trial->status != LINEAGE_BASELINE &&
           strncmp(trial->job_name, "trial-", 6) == 0;
}

static void add_value(struct buf *out, struct lineage_number number, const char *text)
{
    char short_form[LINEAGE_NUMBER_MAX];
    buf_puts(out, text ? text : lineage_setting_format(short_form, number.value));
}

/* Writes `lr 0.1 → 0.2, wd=0, without seed`. */
static void add_changes(struct buf *out, const struct lineage_report_full *full)
{
    enum { SHOWN = 8 };
    for (size_t i = 0; i < full->n_changes && i < SHOWN; i++) {
        const struct lineage_report_change *change = &full->changes[i];
        buf_printf(out, "%s%s%s", i ? ", " : "", change->after.present ? "" : "without ", change->name);
        if (change->after.present && change->before.present) {
            buf_puts(out, " ");
            add_value(out, change->before, change->before_text);
            buf_puts(out, " → ");
        } else if (change->after.present) {
            buf_puts(out, "=");
        }
        if (change->after.present)
            add_value(out, change->after, change->after_text);
    }
    if (full->n_changes > SHOWN)
        buf_printf(out, " and %zu more", full->n_changes - SHOWN);
}

enum lineage_status report_describe(struct report_load *load, struct lineage_trial *trials, size_t n, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < n; i++) {
        struct lineage_report_full full = {.trial = trials[i]};
        struct buf text = {0};
        load->report.in_words = load->report.in_words || may_state(trials[i].hypothesis) || is_silent_run(&trials[i]);
        if (*trials[i].hypothesis || !trials[i].n_params)
            continue;
        status = fill(load, &full, err);
        if (status == LINEAGE_OK)
            add_changes(&text, &full);
        if (text.failed || (text.length && !(trials[i].hypothesis = arena_text(&load->arena, text.data, text.length))))
            status = store_no_memory(err);
        buf_release(&text);
    }
    return status;
}

enum lineage_status report_against_parents(struct report_load *load, struct lineage_error *err)
{
    const struct lineage_report *report = &load->report;
    struct lineage_number *deltas;
    enum lineage_status status = arena_items(&load->arena, report->n_recent, sizeof *deltas, &deltas, err);
    load->report.recent_vs_parent = deltas;
    for (size_t i = 0; status == LINEAGE_OK && i < report->n_recent; i++) {
        struct lineage_trial parent = {0};
        bool found;
        status = find_other(load, report->recent[i].parent_exp, &report->recent[i], &parent, &found, err);
        if (status == LINEAGE_OK && found)
            deltas[i] = difference(&report->recent[i], &parent);
    }
    return status;
}

enum lineage_status report_full(struct report_load *load, struct lineage_error *err)
{
    struct lineage_trial *newest = NULL;
    struct lineage_report_full *full;
    size_t n = 0, limit = load->options->full;
    enum lineage_status status =
        limit ? mirror_list(load->store->mirror, MIRROR_NEWEST_INFORMATIVE, limit, &newest, &n, &load->arena, err) : LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = arena_items(&load->arena, n, sizeof *full, &full, err);
    for (size_t i = 0; status == LINEAGE_OK && i < n; i++) {
        full[i].trial = newest[i];
        status = fill(load, &full[i], err);
        load->report.n_full = i + 1;
    }
    load->report.full = full;
    return status;
}
