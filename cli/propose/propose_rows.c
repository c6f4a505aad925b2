#include "propose/propose_rows.h"

#include <math.h>
#include <string.h>

#include <lineage/code.h>
#include <lineage/notes.h>
#include <lineage/text.h>

#include "support/environment.h"

/* How much a failure says about its setting; 0: nothing. A preflight also fails where a machine lacks something. */
static const double failure_weights[LINEAGE_N_LABELS] = {
    [LINEAGE_CRASH] = 1,        [LINEAGE_EVAL_BUDGET_OVERRUN] = 1, [LINEAGE_TRAIN_BUDGET_OVERRUN] = 1,
    [LINEAGE_SIZE_BLOCKED] = 1, [LINEAGE_PREFLIGHT_CRASH] = 0.5,
};

/* Returns false if the row says nothing about the setting: harness_abort, or a keep or discard without a score, which
 * a user wrote by hand. A trial that was pruned has no score either, but its setting was bad. */
static bool ended(struct propose_trial *trial, const struct lineage_trial *row)
{
    bool pruned = strncmp(lineage_notes_reason(row->notes), "pruned at step ", 15) == 0;
    bool compared = lineage_label_is_measured(row->status);
    if (compared && row->score.present && isfinite(row->score.value)) {
        trial->end = PROPOSE_MEASURED;
        return true;
    }
    trial->weight = compared ? 1 : cli_blames_environment(row->notes) ? 0 : failure_weights[row->status];
    trial->end = trial->weight > 0 ? PROPOSE_FAILED : PROPOSE_UNRELATED;
    return compared ? row->score.present || pruned : lineage_label_is_failure(row->status);
}

void propose_row_program(char *out, size_t size, const char *notes)
{
    static const char word[] = "program ";
    *out = '\0';
    for (const char *at = notes ? notes : ""; at; at = (at = strchr(at, ';')) ? at + 1 : NULL) {
        const char *piece = at + strspn(at, " ");
        size_t n = strncmp(piece, word, sizeof word - 1) == 0 ? strspn(piece + sizeof word - 1, "0123456789abcdef") : 0;
        if (n != 16 || n >= size || (piece[sizeof word - 1 + n] && piece[sizeof word - 1 + n] != ';'))
            continue;
        snprintf(out, size, "%.16s", piece + sizeof word - 1);
        return;
    }
}

static bool is_of_other_program(const struct lineage_trial *row, const char *program, enum propose_end end)
{
    char own[20];
    struct lineage_code_note code;
    if (!program)
        return false;
    propose_row_program(own, sizeof own, row->notes);
    if (own[0] && strcmp(own, program) != 0)
        return true;
    return end != PROPOSE_MEASURED && lineage_code_note_parse(&code, row->notes) && code.change[0];
}

/* Reads the value that a trial states in words, or inherits. */
static bool read_words(double *x, bool *own, const struct lineage_settings *words, const struct propose_range *range,
                       uint64_t seq)
{
    for (size_t i = 0; words && i < words->n; i++) {
        const struct lineage_setting *setting =
            strcmp(words->names[i].name, range->name) == 0 ? lineage_settings_get(words, seq, i, 0) : NULL;
        if (!setting)
            continue;
        const struct lineage_param param = {range->name, setting->value.value, setting->value.present ? NULL : setting->text};
        *own = *own || setting->own;
        return propose_value_of(x, range, &param);
    }
    return false;
}

/* A trial that only inherits its values says nothing about them: it was run for another change. */
static bool read_setting(double *x, struct propose_rows *r, const struct lineage_number *fallback,
                         const struct lineage_trial *row)
{
    bool own = false, has[PROPOSE_RANGES_MAX];
    for (size_t i = 0; i < r->space->n; i++) {
        const struct propose_range *range = &r->space->ranges[i];
        const struct lineage_param *param = lineage_trial_find_param(row, range->name);
        bool falls_back = !param && fallback && fallback[i].present;
        r->declared[i] += param != NULL;
        if (falls_back)
            x[i] = fallback[i].value;
        has[i] = param        ? propose_value_of(&x[i], range, param)
                 : falls_back ? true
                              : read_words(&x[i], &own, r->words, range, row->seq);
        own = own || param || fallback;
    }
    return propose_complete(r->space, x, has) && own;
}

static bool is_of_sweep(const struct lineage_trial *row, const char *sweep)
{
    struct lineage_night_link link;
    return sweep && lineage_night_link_parse(&link, row->notes) && strcmp(link.sweep, sweep) == 0;
}

enum propose_row propose_row_read(struct propose_trial *trial, bool *own, struct propose_rows *rows,
                                  const struct lineage_trial *row)
{
    *trial = (struct propose_trial){.score = row->score.value};
    *own = is_of_sweep(row, rows->sweep);
    rows->n++;
    if (!ended(trial, row))
        return PROPOSE_ROW_SILENT;
    if (is_of_other_program(row, rows->program, trial->end))
        return PROPOSE_ROW_OTHER;
    return read_setting(trial->x, rows, *own ? rows->fallback : NULL, row) ? PROPOSE_ROW_PAST : PROPOSE_ROW_ELSEWHERE;
}
