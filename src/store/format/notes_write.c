/* notes_write.c: writes the parameters, metrics and statistics of a trial into the notes of its row, where notes.c parses them.
 */
#include <lineage/notes.h>

#include "../fail.h"
#include "number.h"
#include "row.h"

static bool same(double a, double b)
{
    return a == b;
}

/* The parameter or metric of a parsed list, which is sorted by name: a received cell may have ten thousand of them. */
static const struct lineage_param *find_sorted(const struct lineage_param *list, size_t n, const char *name)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(list[middle].name, name);
        if (order == 0)
            return &list[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Adds the setting unless the notes already contain it; returns false if they give it another value. */
static bool add_param(struct buf *out, const struct lineage_param *param, const struct lineage_trial *said)
{
    char quoted[LINEAGE_PARAM_QUOTED_MAX], number[LINEAGE_NUMBER_MAX];
    const char *name = lineage_param_canonical(param->name);
    const struct lineage_param *other = find_sorted(said->params, said->n_params, name);
    if (other && (other->text || param->text))
        return other->text && param->text && strcmp(other->text, param->text) == 0;
    if (other)
        return same(other->value, param->value);
    buf_puts(out, name);
    buf_put(out, '=');
    buf_puts(out, param->text ? lineage_param_text_format(quoted, param->text) : lineage_setting_format(number, param->value));
    buf_put(out, ';');
    buf_put(out, ' ');
    return true;
}

/* Adds each member separately, because the notes may have the mean and the caller's trial the standard deviation. */
static bool add_clip_scale(struct buf *out, const struct lineage_trial *trial, const struct lineage_trial *said)
{
    struct lineage_number m = trial->ig_clip_scale_mean, s = trial->ig_clip_scale_std;
    if ((m.present && said->ig_clip_scale_mean.present && !same(m.value, said->ig_clip_scale_mean.value)) ||
        (s.present && said->ig_clip_scale_std.present && !same(s.value, said->ig_clip_scale_std.value)))
        return false;
    m.present = m.present && !said->ig_clip_scale_mean.present;
    s.present = s.present && !said->ig_clip_scale_std.present;
    if (!m.present && !s.present)
        return true;
    buf_puts(out, "ig_clip_scale");
    if (m.present) {
        buf_puts(out, " mean=");
        buf_add_number(out, m.value);
    }
    if (s.present) {
        buf_puts(out, " std=");
        buf_add_number(out, s.value);
    }
    buf_puts(out, "; ");
    return true;
}

/* Adds either all turns of the caller or none, because turns from two sources in one row could not be distinguished
 * later. */
static void add_turns(struct buf *out, const struct lineage_trial *trial, const struct lineage_trial *said)
{
    for (size_t i = 0; i < trial->n_turns && !said->n_turns; i++) {
        const struct lineage_turn_stat *turn = &trial->turns[i];
        buf_printf(out, "info_gain turn=%u mean=", turn->turn);
        buf_add_number(out, turn->mean);
        buf_puts(out, " std=");
        buf_add_number(out, turn->std);
        if (turn->count)
            buf_printf(out, " n=%llu", (unsigned long long)turn->count);
        buf_puts(out, "; ");
    }
}

/* Adds the metrics that the notes do not have, as one piece; returns the name of one that they give another value. */
static const char *add_metrics(struct buf *out, const struct lineage_trial *trial, const struct lineage_trial *said)
{
    size_t n = 0;
    for (size_t i = 0; i < trial->n_metrics; i++) {
        const struct lineage_param *metric = &trial->metrics[i];
        const struct lineage_param *other = find_sorted(said->metrics, said->n_metrics, metric->name);
        if (other && !same(other->value, metric->value))
            return metric->name;
        if (other)
            continue;
        buf_printf(out, "%s%s=", n++ ? ", " : "metrics ", metric->name);
        buf_add_number(out, metric->value);
    }
    if (n)
        buf_puts(out, "; ");
    return NULL;
}

/* Settings are written before the text of the caller, because only the beginning of a piece can set anything, and prose
 * may lack the semicolon that would end it. Two values for one setting are refused, because only the caller knows which
 * value the trial used. */
static enum lineage_status compose(struct buf *out, const struct lineage_trial *trial, const struct lineage_trial *said,
                                   struct lineage_error *err)
{
    if (!add_clip_scale(out, trial, said))
        return store_fail(err, LINEAGE_EINVAL, "notes: ig_clip_scale is set to another value than the trial's");
    for (size_t i = 0; i < trial->n_params; i++)
        if (!add_param(out, &trial->params[i], said))
            return store_fail(err, LINEAGE_EINVAL, "notes: %s is set to another value than the parameter %s",
                              lineage_param_canonical(trial->params[i].name), trial->params[i].name);
    const char *metric = add_metrics(out, trial, said);
    if (metric)
        return store_fail(err, LINEAGE_EINVAL, "notes: metric %s is set to another value than the trial's", metric);
    add_turns(out, trial, said);
    return LINEAGE_OK;
}

/* Refuses an infinite number, because it would set nothing, which its author does not expect. */
static enum lineage_status check_infinity(const char *notes, struct lineage_error *err)
{
    char name[LINEAGE_NAME_MAX];
    return *notes && notes_have_infinity(notes, name)
               ? store_fail(err, LINEAGE_EINVAL, "notes set %s to a number that is too large", name)
               : LINEAGE_OK;
}

enum lineage_status row_compose_notes(const char **notes, const struct lineage_trial *trial, struct buf *scratch,
                                      struct arena *arena, struct lineage_error *err)
{
    struct lineage_trial said;
    *notes = trial->notes ? trial->notes : "";
    buf_reset(scratch);
    TRY(notes_parse(&said, *notes, arena, err));
    TRY(compose(scratch, trial, &said, err));
    TRY(check_infinity(*notes, err));
    if (!scratch->length && !scratch->failed)
        return LINEAGE_OK;
    if (**notes)
        buf_puts(scratch, *notes);
    else
        buf_truncate(scratch, scratch->length - 2);
    *notes = scratch->failed ? NULL : arena_text(arena, scratch->data, scratch->length);
    return *notes ? LINEAGE_OK : store_no_memory(err);
}
