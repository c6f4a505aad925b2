/* flat_rows.c: copies trials into flat arrays. */
#include <math.h>
#include <string.h>

#include "flat_rows.h"

/* Every buffer, so that emptying, checking and releasing need no list of their own. */
enum { N_BUFFERS = sizeof(struct flat_rows) / sizeof(struct buf) };

static struct buf *buffers(struct flat_rows *flat)
{
    return (struct buf *)flat;
}

void flat_rows_reset(struct flat_rows *flat)
{
    for (size_t i = 0; i < N_BUFFERS; i++)
        buf_reset(buffers(flat) + i);
}

void flat_rows_release(struct flat_rows *flat)
{
    for (size_t i = 0; i < N_BUFFERS; i++)
        buf_release(buffers(flat) + i);
}

static void add_text(struct buf *texts, const char *text)
{
    buf_add(texts, text ? text : "", text ? strlen(text) + 1 : 1);
}

static void add_number(struct buf *numbers, double number)
{
    buf_add(numbers, &number, sizeof number);
}

static void add_count(struct buf *counts, uint64_t count)
{
    buf_add(counts, &count, sizeof count);
}

static void add_flag(struct buf *flags, bool flag)
{
    buf_add(flags, &flag, sizeof flag);
}

static void add_value(struct flat_values *flat, const char *name, const char *text, double value)
{
    add_text(&flat->names, name);
    add_text(&flat->texts, text);
    add_number(&flat->values, value);
    add_flag(&flat->is_text, text != NULL);
}

static void end_row(struct flat_values *flat)
{
    add_count(&flat->ends, flat->is_text.length / sizeof(bool));
}

static void add_named(struct flat_values *flat, const struct lineage_param *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        add_value(flat, items[i].name, items[i].text, items[i].value);
    end_row(flat);
}

static void add_columns(struct flat_rows *flat, const struct lineage_trial *trial)
{
    const char *const texts[LINEAGE_ROW_TEXTS] = {
        trial->exp_id,     trial->timestamp,      trial->specialist, trial->parent_exp,    trial->baseline_exp, trial->domain,
        trial->hypothesis, trial->expected_delta, trial->job_name,   trial->snapshot_path, trial->notes,
    };
    const struct lineage_number numbers[LINEAGE_ROW_NUMBERS] = {
        trial->core_metric,        trial->val_bpb,           trial->delta_vs_best, trial->train_s, trial->total_s,
        trial->ig_clip_scale_mean, trial->ig_clip_scale_std, trial->score,
    };
    const uint8_t label = (uint8_t)trial->status;
    for (size_t i = 0; i < LINEAGE_ROW_TEXTS; i++)
        add_text(&flat->texts, texts[i]);
    for (size_t i = 0; i < LINEAGE_ROW_NUMBERS; i++) {
        add_number(&flat->numbers, numbers[i].present ? numbers[i].value : 0);
        add_flag(&flat->present, numbers[i].present);
    }
    buf_add(&flat->labels, &label, sizeof label);
    add_count(&flat->seqs, trial->seq);
    add_count(&flat->lines, trial->line);
}

void flat_rows_add(struct flat_rows *flat, const struct lineage_trial *trial)
{
    add_columns(flat, trial);
    add_named(&flat->params, trial->params, trial->n_params);
    add_named(&flat->metrics, trial->metrics, trial->n_metrics);
    for (size_t i = 0; i < trial->n_extras; i++)
        add_value(&flat->extras, trial->extras[i].column, trial->extras[i].text ? trial->extras[i].text : "", (double)NAN);
    end_row(&flat->extras);
    if (trial->n_turns)
        buf_add(&flat->turns, trial->turns, trial->n_turns * sizeof *trial->turns);
    add_count(&flat->turn_ends, flat->turns.length / sizeof *trial->turns);
}

static struct lineage_row_texts texts_of(const struct buf *texts)
{
    return (struct lineage_row_texts){texts->data, texts->length};
}

static struct lineage_row_values values_of(const struct flat_values *flat)
{
    return (struct lineage_row_values){
        .ends = (const void *)flat->ends.data,
        .names = texts_of(&flat->names),
        .texts = texts_of(&flat->texts),
        .values = (const void *)flat->values.data,
        .is_text = (const void *)flat->is_text.data,
        .n = flat->is_text.length / sizeof(bool),
    };
}

bool flat_rows_view(const struct flat_rows *flat, size_t n, struct lineage_rows *rows)
{
    const struct buf *all = (const struct buf *)flat;
    for (size_t i = 0; i < N_BUFFERS; i++)
        if (all[i].failed)
            return false;
    *rows = (struct lineage_rows){
        .n = n,
        .texts = texts_of(&flat->texts),
        .numbers = (const void *)flat->numbers.data,
        .present = (const void *)flat->present.data,
        .labels = (const void *)flat->labels.data,
        .seqs = (const void *)flat->seqs.data,
        .lines = (const void *)flat->lines.data,
        .params = values_of(&flat->params),
        .metrics = values_of(&flat->metrics),
        .extras = values_of(&flat->extras),
        .turn_ends = (const void *)flat->turn_ends.data,
        .turns = (const void *)flat->turns.data,
    };
    return true;
}
