/* effective.c: the settings in force for a trial, along the chain of its parents, and the values of named settings. */
#include <lineage/replicas.h>
#include <lineage/settings.h>
#include <lineage/text.h>

#include "ideas_internal.h"

/* ---- the values of named settings in every trial: given by the trial itself, or inherited ---- */

#define NONE UINT32_MAX

/* The values, in the order of the log; a trial's values of one name are neighbours, most trusted first. */
struct given {
    struct lineage_setting setting;
    struct lineage_setting inherited; /* the same value in a trial that inherits it */
    size_t trial;                     /* SIZE_MAX: the log begins with it */
    size_t name;
};

struct settings_memory {
    struct arena arena;
    struct given *given; /* [n_given] */
    size_t n_given, capacity;
    uint64_t *seqs;   /* [n_trials] ascending; 0 for running trials, which come last */
    uint32_t *first;  /* [n_trials * n_names] the value in force: an index of given, or NONE */
    size_t n_trials;
};

static const char *copy(struct arena *arena, const char *text)
{
    return arena_text(arena, text, strlen(text));
}

/* The name of a setting that is at most a third of its letters away from `name`, the first of equals; or NULL. */
static const char *nearest_name(const struct lineage_ideas *ideas, const char *name)
{
    const char *found = NULL;
    size_t best = strlen(name) / 3 + 1;
    for (size_t t = 0; t < lineage_ideas_count(ideas); t++) {
        struct lineage_change change;
        for (size_t i = 0; lineage_ideas_change_at(&change, ideas, t, i); i++) {
            size_t d = lineage_name_distance(name, change.name);
            if (d < best) {
                best = d;
                found = change.name;
            }
        }
    }
    return found;
}

static bool is_of(const struct lineage_change *change, const char *knob, const char *name)
{
    return (*knob && change->knob && strcmp(change->knob, knob) == 0) || ascii_same(change->name, name);
}

static bool add_given(struct settings_memory *m, const struct lineage_change *change, bool old, size_t trial, size_t name,
                      const char *exp_id)
{
    if (m->n_given == NONE || !LIST_ROOM(m->given, m->n_given, m->capacity))
        return false;
    struct lineage_setting setting = {.text = copy(&m->arena, old ? change->from : change->to),
                                      .value = old ? change->from_value : change->to_value,
                                      .source = change->source,
                                      .set_by = copy(&m->arena, exp_id),
                                      .own = true};
    if (!setting.text || !setting.set_by)
        return false;
    m->given[m->n_given] = (struct given){setting, setting, trial, name};
    m->given[m->n_given++].inherited.own = false;
    return true;
}

/* Adds the values that one trial gives to a name, each value once. */
static bool add_own(struct settings_memory *m, struct lineage_setting_name *name, const struct lineage_ideas *ideas, size_t trial,
                    size_t at, const char *knob)
{
    const struct lineage_idea *idea = lineage_ideas_get(ideas, trial);
    struct lineage_change change;
    size_t from = m->n_given;
    const bool is_void_row = ideas->rows[trial].is_void_row;
    for (size_t i = 0; lineage_ideas_change_at(&change, ideas, trial, i); i++) {
        bool known = !is_of(&change, knob, name->name) || (is_void_row && change.source != LINEAGE_CHANGE_DECLARED);
        for (size_t k = from; k < m->n_given && !known; k++)
            known = lineage_quantity_equal(m->given[k].setting.text, change.to);
        if (!known && !add_given(m, &change, false, trial, at, idea->exp_id))
            return false;
    }
    if (m->n_given > from && !is_void_row) {
        name->trials += !idea->running;
        name->sources[m->given[from].setting.source] += !idea->running;
    }
    return true;
}

/* The value with which the log begins: the old value of the first change that is made while no value is in force. */
static bool add_first(struct settings_memory *m, const struct lineage_ideas *ideas, size_t n_names, size_t at, const char *knob,
                      const char *name)
{
    for (size_t t = 0; t < m->n_trials; t++) {
        struct lineage_change change;
        const size_t base = ideas->rows[t].base;
        bool open = !ideas->rows[t].is_void_row && (base == TRIAL_NONE || m->first[base * n_names + at] == NONE);
        for (size_t i = 0; open && lineage_ideas_change_at(&change, ideas, t, i); i++) {
            if (!change.from || !is_of(&change, knob, name))
                continue;
            uint32_t first = (uint32_t)m->n_given;
            if (!add_given(m, &change, true, SIZE_MAX, at, ""))
                return false;
            for (size_t k = 0; k < m->n_trials; k++)
                if (m->first[k * n_names + at] == NONE)
                    m->first[k * n_names + at] = first;
            return true;
        }
    }
    return true;
}

static bool fill(struct lineage_settings *settings, const struct lineage_ideas *ideas, const char *const *knobs)
{
    struct settings_memory *m = settings->memory;
    size_t n = settings->n;
    m->n_trials = lineage_ideas_count(ideas);
    m->seqs = calloc(m->n_trials + 1, sizeof *m->seqs);
    m->first = calloc(m->n_trials + 1, n * sizeof *m->first);
    bool ok = m->seqs && m->first;
    for (size_t t = 0; ok && t < m->n_trials; t++) {
        const struct idea_row *row = &ideas->rows[t];
        m->seqs[t] = row->idea.running ? UINT64_MAX : row->idea.seq;
        for (size_t i = 0; ok && i < n; i++) {
            uint32_t next = (uint32_t)m->n_given;
            ok = add_own(m, &settings->names[i], ideas, t, i, knobs[i]);
            uint32_t from = row->base != TRIAL_NONE ? m->first[row->base * n + i] : NONE;
            if (!ideas->has_parents && from != NONE && m->given[from].setting.source == LINEAGE_CHANGE_DECLARED)
                from = NONE; /* parameters are inherited from parents alone */
            m->first[t * n + i] = m->n_given > next ? next : from;
        }
    }
    for (size_t i = 0; ok && i < n; i++)
        ok = add_first(m, ideas, n, i, knobs[i], settings->names[i].name);
    return ok;
}

enum lineage_status lineage_settings_find(struct lineage_settings *settings, struct lineage_ideas *ideas,
                                          const char *const *names, size_t n, struct lineage_error *err)
{
    struct settings_memory *m = calloc(1, sizeof *m);
    const char *knobs[LINEAGE_SETTINGS_NAMES];
    *settings = (struct lineage_settings){.memory = m};
    if (n > LINEAGE_SETTINGS_NAMES) {
        free(m);
        *settings = (struct lineage_settings){0};
        return store_fail(err, LINEAGE_ELIMIT, "a question names at most %d settings", LINEAGE_SETTINGS_NAMES);
    }
    settings->names = m ? arena_alloc(&m->arena, n + 1, sizeof *settings->names) : NULL;
    enum lineage_status status = settings->names ? LINEAGE_OK : store_no_memory(err);
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++, settings->n = i) {
        settings->names[i].name = copy(&m->arena, names[i]);
        knobs[i] = ideas_knob_of(ideas, names[i], &m->arena);
        status = settings->names[i].name && knobs[i] ? LINEAGE_OK : store_no_memory(err);
    }
    if (status == LINEAGE_OK && n && !fill(settings, ideas, knobs))
        status = store_no_memory(err);
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++) {
        const char *near = settings->names[i].trials ? NULL : nearest_name(ideas, names[i]);
        settings->names[i].nearest = near ? copy(&m->arena, near) : NULL;
        if (near && !settings->names[i].nearest)
            status = store_no_memory(err);
    }
    if (status != LINEAGE_OK)
        lineage_settings_release(settings);
    return status;
}

void lineage_settings_release(struct lineage_settings *settings)
{
    struct settings_memory *m = settings->memory;
    if (m) {
        arena_release(&m->arena);
        free(m->given);
        free(m->seqs);
        free(m->first);
    }
    free(m);
    *settings = (struct lineage_settings){0};
}

const struct lineage_setting *lineage_settings_get(const struct lineage_settings *settings, uint64_t seq, size_t name, size_t i)
{
    const struct settings_memory *m = settings->memory;
    size_t low = 0, high = m && name < settings->n ? m->n_trials : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (m->seqs[middle] < seq)
            low = middle + 1;
        else
            high = middle;
    }
    if (!m || name >= settings->n || low == m->n_trials || m->seqs[low] != seq || m->first[low * settings->n + name] == NONE)
        return NULL;
    const struct given *given = &m->given[m->first[low * settings->n + name]];
    if (given->trial != low)
        return i ? NULL : &given->inherited;
    for (; i; i--, given++)
        if (given + 1 == m->given + m->n_given || given[1].trial != low || given[1].name != name)
            return NULL;
    return &given->setting;
}

/* ---- the settings in force for one trial ---- */

struct finder {
    struct lineage_effective *out;
    struct lineage_ideas *ideas;
    size_t *places; /* [ideas->knobs.n] the item of a knob + 1 */
    bool *follows;  /* [out->n] a parameter whose value the next trial on the way up may have had already */
    size_t capacity, follows_capacity;
};

/* Adds a setting unless a nearer trial or a more trusted source gave one for the knob. Returns its item, SIZE_MAX when out of
 * memory. */
static size_t add(struct finder *f, uint32_t name, struct lineage_effective_setting setting)
{
    struct lineage_effective *out = f->out;
    const struct knob_name *named = &f->ideas->named[name];
    if (f->places[named->number])
        return f->places[named->number] - 1;
    if (!LIST_ROOM(out->items, out->n, f->capacity) || !LIST_ROOM(f->follows, out->n, f->follows_capacity))
        return SIZE_MAX;
    setting.name = f->ideas->names.entries[name].text;
    setting.knob = named->knob;
    f->follows[out->n] = false;
    out->items[out->n] = setting;
    f->places[named->number] = ++out->n;
    return out->n - 1;
}

static const char *param_text(const struct lineage_param *param, struct arena *arena)
{
    char number[LINEAGE_NUMBER_MAX];
    const char *text = param->text ? param->text : lineage_setting_format(number, param->value);
    return arena_text(arena, text, strlen(text));
}

static bool same_param(const struct lineage_param *a, const struct lineage_effective_setting *b)
{
    return a->text ? !b->number.present && strcmp(a->text, b->value) == 0 : b->number.present && a->value == b->number.value;
}

/* The parameters of a trial on the way up: new ones, and those that a trial below kept unchanged. */
static bool add_params(struct finder *f, size_t trial)
{
    const struct idea_row *row = &f->ideas->rows[trial];
    const size_t before = f->out->n;
    for (size_t i = 0; i < row->n_params; i++) {
        const struct lineage_param param = row_param(f->ideas, row, i);
        const struct lineage_effective_setting setting = {.value = param_text(&param, f->out->memory),
                                                          .number = {!param.text, param.value},
                                                          .source = LINEAGE_CHANGE_DECLARED,
                                                          .set_by = trial};
        const size_t item = setting.value ? add(f, row->params[i].name, setting) : SIZE_MAX;
        if (item == SIZE_MAX)
            return false;
        if (item >= before)
            f->follows[item] = true;
        else if (f->follows[item] && same_param(&param, &f->out->items[item]))
            f->out->items[item].set_by = trial;
    }
    /* A trial without the parameter, or with another value, ends the run of equal values. */
    for (size_t i = 0; i < before; i++)
        f->follows[i] = f->follows[i] && f->out->items[i].set_by == trial;
    return true;
}

static bool add_changes(struct finder *f, size_t trial, bool in_words)
{
    const struct idea_row *row = &f->ideas->rows[trial];
    for (size_t i = 0; i < row->idea.n_changes; i++) {
        const struct lineage_change c = change_of(f->ideas, &row->own[i]);
        if (in_words && c.source == LINEAGE_CHANGE_DECLARED)
            continue;
        if (add(f, row->own[i].name,
                (struct lineage_effective_setting){.value = c.to, .number = c.to_value, .source = c.source, .set_by = trial}) ==
            SIZE_MAX)
            return false;
    }
    return true;
}

enum lineage_status lineage_effective_find(struct lineage_effective *settings, struct lineage_ideas *ideas, size_t trial,
                                           struct lineage_error *err)
{
    struct finder f = {.out = settings, .ideas = ideas};
    *settings = (struct lineage_effective){0};
    if (trial >= ideas->n || !ideas->settled)
        return store_fail(err, LINEAGE_EINVAL, "trial %zu is not in the set of ideas", trial);
    settings->memory = calloc(1, sizeof(struct arena));
    bool ok = settings->memory != NULL;
    size_t steps = 0;
    for (size_t at = trial; ok && at != TRIAL_NONE && steps < LINEAGE_EFFECTIVE_CHAIN; at = ideas->rows[at].base, steps++)
        for (size_t i = 0; ok && i < ideas->rows[at].n_params; i++)
            ok = ideas_name_knob(ideas, ideas->rows[at].params[i].name);
    f.places = calloc(ideas->knobs.n + 1, sizeof *f.places);
    ok = ok && f.places;
    for (size_t at = trial, i = 0; ok && i < steps; at = ideas->rows[at].base, i++) {
        const bool in_words = i > 0 && !ideas->has_parents; /* parameters are inherited from parents alone */
        ok = (in_words || add_params(&f, at)) && add_changes(&f, at, in_words);
    }
    free(f.places);
    free(f.follows);
    if (ok)
        return LINEAGE_OK;
    lineage_effective_release(settings);
    return store_no_memory(err);
}

void lineage_effective_release(struct lineage_effective *settings)
{
    free(settings->items);
    if (settings->memory)
        arena_release(settings->memory);
    free(settings->memory);
    *settings = (struct lineage_effective){0};
}
