/*
 * append.c: one row into the log.
 *
 * Everything that can be refused is refused before the first byte; what goes beside the row (telemetry,
 * snapshot) is there before it and taken away again if the row does not get in.
 */
#include "append.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lineage/text.h>

#include "../format/row.h"
#include "../mirror/mirror.h"
#include "fs.h"
#include "snapshot.h"
#include "telemetry.h"

struct appending {
    struct lineage_store *store;
    const struct lineage_append_options *options;
    struct lineage_trial trial; /* members are the caller's, or in arena */
    struct arena arena;
    struct lineage_number score;
    struct log_stat end;
    struct snapshot snapshot;
    bool wrote_telemetry;
};

static enum lineage_status no_memory(struct lineage_error *err)
{
    return store_fail(err, LINEAGE_ENOMEM, "out of memory");
}

static bool is_empty(const char *text)
{
    return !text || !*text;
}

static enum lineage_status format_text(struct appending *a, const char **out, struct lineage_error *err,
                                       const char *format, ...) __attribute__((format(printf, 4, 5)));

static enum lineage_status format_text(struct appending *a, const char **out, struct lineage_error *err,
                                       const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *out = arena_text(&a->arena, text, (size_t)length);
    return *out ? LINEAGE_OK : no_memory(err);
}

/* The member that holds the score: that of the score column, else core_metric. */
static struct lineage_number *score_member(struct appending *a)
{
    int column = lineage_column_find(lineage_store_metric(a->store));
    if (column >= 0 && lineage_column((size_t)column)->kind == LINEAGE_COLUMN_NUMBER)
        return trial_number_member(&a->trial, (size_t)column);
    return &a->trial.core_metric;
}

/* In a file whose score column is another one, a core_metric given is meant for that column. */
static void place_score(struct appending *a)
{
    const struct row_layout *layout = mirror_layout(a->store->mirror);
    struct lineage_number *member = score_member(a);
    if (layout && layout->column[lineage_column_find("core_metric")] < 0 && !member->present)
        *member = a->trial.core_metric;
    a->score = *member;
}

static enum lineage_status check_layout(struct appending *a, struct lineage_error *err)
{
    const struct row_layout *layout = mirror_layout(a->store->mirror);
    if (!layout) {
        const char *metric = a->store->config.metric;
        if (metric[0] && lineage_column_find(metric) < 0)
            return store_fail(err, LINEAGE_EINVAL, "a new results.tsv has no column '%s' for the score", metric);
        return LINEAGE_OK;
    }
    if (layout->identical)
        return LINEAGE_OK;
    if (layout->shape == ROW_AUTORESEARCH)
        return store_fail(err, LINEAGE_EINVAL,
                          "%s/results.tsv is a five-column log; `lineage import` it into a new store first",
                          a->store->dir);
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++) {
        const char *text = lineage_trial_text(&a->trial, i);
        if (layout->column[i] < 0 && text && *text)
            return store_fail(err, LINEAGE_EINVAL, "%s/results.tsv has no column %s; `lineage import` it first",
                              a->store->dir, lineage_column(i)->name);
    }
    return LINEAGE_OK;
}

static enum lineage_status give_id(struct appending *a, struct lineage_error *err)
{
    const struct append_state *state = a->store->append;
    bool found = false;
    if (is_empty(a->trial.exp_id))
        return format_text(a, &a->trial.exp_id, err, "%0*llu", (int)state->id_width,
                           (unsigned long long)state->next_id);
    enum lineage_status status = append_has_id(a->store, a->trial.exp_id, &found, err);
    if (status == LINEAGE_OK && found)
        status = store_fail(err, LINEAGE_EEXIST, "exp_id '%.80s' is already in %s/results.tsv", a->trial.exp_id,
                            a->store->dir);
    return status;
}

/* A new id closes a cycle only if a row already names it as parent: then its own ancestors are walked. */
static enum lineage_status check_cycle(struct appending *a, struct lineage_error *err)
{
    bool awaited = false, cycle = false;
    enum lineage_status status = mirror_is_parent(a->store->mirror, a->trial.exp_id, &awaited, err);
    if (status == LINEAGE_OK && awaited)
        status = mirror_descends(a->store->mirror, a->trial.parent_exp, a->trial.exp_id, &cycle, err);
    if (status == LINEAGE_OK && cycle)
        status = store_fail(err, LINEAGE_EINVAL, "parent_exp '%.80s' descends from exp_id '%.80s': a cycle",
                            a->trial.parent_exp, a->trial.exp_id);
    return status;
}

static const char *without_prefix(const char *id)
{
    return strncmp(id, "exp_", 4) == 0 ? id + 4 : id;
}

/* exp_014 and 014 name the same trial: the row gets the id that is in the store, which every tool follows. */
static enum lineage_status resolve_parent(struct appending *a, bool *found, struct lineage_error *err)
{
    const char *written = a->trial.parent_exp, *bare = without_prefix(written), *prefixed = written;
    enum lineage_status status = append_has_id(a->store, written, found, err);
    if (status != LINEAGE_OK || *found)
        return status;
    status = append_has_id(a->store, bare, found, err);
    if (*found)
        a->trial.parent_exp = bare;
    if (status != LINEAGE_OK || *found || strlen(written) > 256)
        return status;
    status = format_text(a, &prefixed, err, "exp_%s", written);
    if (status == LINEAGE_OK)
        status = append_has_id(a->store, prefixed, found, err);
    if (*found)
        a->trial.parent_exp = prefixed;
    return status;
}

static enum lineage_status check_parent(struct appending *a, struct lineage_error *err)
{
    bool found = false;
    if (is_empty(a->trial.parent_exp))
        return LINEAGE_OK;
    enum lineage_status status = resolve_parent(a, &found, err);
    if (status == LINEAGE_OK && !found &&
        strcmp(without_prefix(a->trial.parent_exp), without_prefix(a->trial.exp_id)) == 0)
        return store_fail(err, LINEAGE_EINVAL, "parent_exp is exp_id itself, '%.80s'", a->trial.exp_id);
    if (status == LINEAGE_OK && !found && !a->options->allow_missing_parent)
        status = store_fail(err, LINEAGE_ENOTFOUND, "parent_exp '%.80s' is not in %s/results.tsv",
                            a->trial.parent_exp, a->store->dir);
    return status == LINEAGE_OK ? check_cycle(a, err) : status;
}

static enum lineage_status give_timestamp(struct appending *a, struct lineage_error *err)
{
    char text[32];
    struct tm tm;
    time_t now = time(NULL);
    if (!is_empty(a->trial.timestamp))
        return LINEAGE_OK;
    if (!gmtime_r(&now, &tm) || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &tm))
        return store_fail(err, LINEAGE_EIO, "cannot read the clock");
    return format_text(a, &a->trial.timestamp, err, "%s", text);
}

/* Two means of n seeds differ by noise_std * sqrt(2/n) by chance; two of those are asked for. */
static double threshold(const struct appending *a)
{
    const struct lineage_config *config = &a->store->config;
    double min_delta = isnan(a->options->min_delta) ? config->min_delta : a->options->min_delta;
    double noise = isnan(a->options->noise_std) ? config->noise_std : a->options->noise_std;
    unsigned seeds = a->options->noise_seeds ? a->options->noise_seeds : config->noise_seeds;
    return fmax(min_delta, 2 * noise * sqrt(2.0 / (seeds ? seeds : 1)));
}

static void decide_status(struct appending *a)
{
    const struct append_state *state = a->store->append;
    double gain = state->best - a->score.value;
    if (a->store->config.direction == LINEAGE_HIGHER)
        gain = -gain;
    bool keep = a->score.present && (!state->has_best || (gain > 0 && gain > threshold(a)));
    a->trial.status = keep ? LINEAGE_KEEP : LINEAGE_DISCARD;
}

/* Digits after the point of a number as it is written; -1 if it is written with an exponent. */
static int decimals(double value)
{
    char text[LINEAGE_NUMBER_MAX];
    lineage_number_format(text, value);
    return strchr(text, 'e') ? -1 : (int)strlen(strchr(text, '.') + 1);
}

/* a - b as the decimals that were written: 34.96 - 34.51 is 0.45, not 0.45000000000000284. */
static double difference(double a, double b)
{
    int places = decimals(a) > decimals(b) ? decimals(a) : decimals(b);
    double exact = a - b, scale = 1;
    if (decimals(a) < 0 || decimals(b) < 0 || places > 12 || fabs(exact) >= 1e3)
        return exact;
    for (int i = 0; i < places; i++)
        scale *= 10;
    return rint(exact * scale) / scale;
}

static void compare_with_best(struct appending *a)
{
    const struct append_state *state = a->store->append;
    if (a->options->auto_status)
        decide_status(a);
    if (is_empty(a->trial.baseline_exp)) {
        if (state->has_best)
            a->trial.baseline_exp = arena_text(&a->arena, state->best_id, strlen(state->best_id));
        else if (a->trial.status == LINEAGE_BASELINE)
            a->trial.baseline_exp = a->trial.exp_id;
    }
    if (!a->trial.delta_vs_best.present && state->has_best && a->score.present)
        a->trial.delta_vs_best = (struct lineage_number){true, difference(a->score.value, state->best)};
}

static enum lineage_status fill_in(struct appending *a, struct lineage_error *err)
{
    place_score(a);
    enum lineage_status status = check_layout(a, err);
    if (status == LINEAGE_OK)
        status = give_id(a, err);
    if (status == LINEAGE_OK)
        status = check_parent(a, err);
    if (status == LINEAGE_OK)
        status = give_timestamp(a, err);
    if (status == LINEAGE_OK)
        compare_with_best(a);
    return status;
}

static enum lineage_status put_beside(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    if (a->options->telemetry) {
        status = telemetry_write(a->store->dir_fd, a->trial.exp_id, a->options->telemetry,
                                 a->options->telemetry_length, !a->options->no_sync, err);
        a->wrote_telemetry = status == LINEAGE_OK;
    }
    if (status == LINEAGE_OK && a->snapshot.copied && lineage_label_is_kept(a->trial.status)) {
        status = snapshot_publish(&a->snapshot, a->store->dir_fd, a->trial.exp_id,
                                  a->trial.specialist ? a->trial.specialist : "", !a->options->no_sync, err);
        a->trial.snapshot_path = a->snapshot.path;
    }
    return status;
}

static void take_back(struct appending *a)
{
    char path[TELEMETRY_PATH_MAX];
    if (a->wrote_telemetry && telemetry_path(path, a->trial.exp_id))
        fs_unlink(a->store->dir_fd, path);
    snapshot_remove(&a->snapshot, a->store->dir_fd);
}

static enum lineage_status write_row(struct appending *a, struct lineage_error *err)
{
    struct append_state *state = a->store->append;
    const struct row_layout *layout = mirror_layout(a->store->mirror); /* none yet: this handle made the file */
    struct buf bytes = {0};
    if (state->finish_line)
        buf_puts(&bytes, "\n");
    if (log_size(a->store->log) == 0)
        row_write_header(&bytes);
    row_write(&bytes, &a->trial, layout);
    enum lineage_status status = bytes.failed ? no_memory(err) : LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = log_append(a->store->log, bytes.data, bytes.length, !a->options->no_sync, err);
    if (status == LINEAGE_OK)
        append_note(a->store, &a->trial, a->score, log_size(a->store->log));
    else
        append_forget(state);
    buf_release(&bytes);
    return status;
}

/* With the lock held. */
static enum lineage_status append_locked(struct appending *a, struct lineage_error *err)
{
    enum lineage_status status = append_catch_up(a->store, &a->end, err);
    if (status == LINEAGE_OK)
        status = fill_in(a, err);
    if (status == LINEAGE_OK)
        status = row_check(&a->trial, err); /* again: generated cells count too */
    if (status == LINEAGE_OK)
        status = put_beside(a, err);
    if (status == LINEAGE_OK)
        status = write_row(a, err);
    if (status != LINEAGE_OK)
        take_back(a);
    return status;
}

/*
 * Refuse for a store without a file before the lock makes one: nothing is written then, and nobody can be waiting on
 * a file that is taken away again.
 */
static enum lineage_status try_without_file(struct appending *a, struct lineage_error *err)
{
    struct log_stat stat;
    enum lineage_status status = log_stat(a->store->log, &stat, err);
    if (status != LINEAGE_OK || stat.exists)
        return status;
    struct appending trial = *a;
    status = append_catch_up(a->store, &stat, err);
    if (status == LINEAGE_OK)
        status = fill_in(&trial, err);
    if (status == LINEAGE_OK)
        status = row_check(&trial.trial, err);
    a->arena = trial.arena;
    append_forget(a->store->append);
    return status;
}

static enum lineage_status prepare(struct appending *a, struct lineage_error *err)
{
    char *notes = NULL;
    enum lineage_status status = LINEAGE_OK;
    if (a->options->auto_status)
        a->trial.status = LINEAGE_DISCARD;
    status = row_check(&a->trial, err);
    if (status == LINEAGE_OK)
        status = row_compose_notes(&notes, &a->trial, &a->arena, err);
    a->trial.notes = notes;
    if (status == LINEAGE_OK && a->options->snapshot_dir &&
        (a->options->auto_status || lineage_label_is_kept(a->trial.status)))
        status = snapshot_copy(&a->snapshot, a->store->dir_fd, a->options->snapshot_dir, !a->options->no_sync, err);
    return status;
}

/* The mirror follows at close and at the next read; here only where waiting would cost memory, or where the next
 * row's checks need it (a parent that was missing may be any id to come). */
static void follow(struct lineage_store *store, const struct lineage_append_options *options)
{
    struct append_state *state = store->append;
    state->follow_at_close = state->follow_at_close && !options->no_mirror_sync;
    if (state->n_ids < APPEND_LAG && !options->allow_missing_parent)
        return;
    mirror_follow(store->mirror);
    bool valid = state->valid && mirror_position(store->mirror)->watermark == state->end.size;
    append_forget(state);
    state->valid = valid;
    state->follow_at_close = false;
}

/* The row as it stands in the file: what notes say is parsed from them. */
static enum lineage_status give_row(struct lineage_trial *row, struct appending *a, struct lineage_error *err)
{
    a->trial.score = a->score;
    enum lineage_status status = notes_parse(&a->trial, a->trial.notes, &a->arena, err);
    return status == LINEAGE_OK ? trial_copy(row, &a->trial, err) : status;
}

enum lineage_status lineage_store_append(struct lineage_store *store, const struct lineage_trial *trial,
                                         const struct lineage_append_options *options, struct lineage_trial *row,
                                         struct lineage_error *err)
{
    struct lineage_append_options defaults;
    struct appending a = {.store = store, .trial = *trial};
    lineage_append_options_init(&defaults);
    a.options = options ? options : &defaults;
    if (row)
        *row = (struct lineage_trial){0};
    enum lineage_status status = prepare(&a, err);
    if (status == LINEAGE_OK)
        status = try_without_file(&a, err);
    if (status == LINEAGE_OK)
        status = log_lock(store->log, &a.end, err);
    if (status == LINEAGE_OK) {
        status = append_locked(&a, err);
        log_unlock(store->log);
        if (status == LINEAGE_OK)
            follow(store, a.options);
    }
    if (status == LINEAGE_OK && row)
        status = give_row(row, &a, err);
    snapshot_release(&a.snapshot, store->dir_fd);
    arena_release(&a.arena);
    return status;
}
