/* effective.c: the settings in force for a trial, along the chain of its parents. */
#include <lineage/replicas.h>

#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "ideas_internal.h"

/* Without this macro uthash calls exit when memory runs out, which a library must not do. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct place {
    UT_hash_handle hh;
    size_t item;
    bool follows;           /* a parameter whose value the next trial on the way up may have had already */
    struct place *next;     /* another such parameter */
};

struct finder {
    struct lineage_effective *out;
    struct place *places; /* by knob */
    struct place *following;
    size_t capacity;
    struct arena *arena;
};

/* Adds a setting unless a nearer trial or a more trusted source gave one for the knob. *place receives where it is. */
static bool add(struct finder *f, const struct lineage_effective_setting *setting, struct place **place)
{
    struct lineage_effective *out = f->out;
    HASH_FIND_STR(f->places, setting->knob, *place);
    if (*place)
        return true;
    if (!LIST_ROOM(out->items, out->n, f->capacity))
        return false;
    *place = arena_alloc(f->arena, 1, sizeof **place);
    if (!*place)
        return false;
    (*place)->item = out->n;
    out->items[out->n++] = *setting;
    HASH_ADD_KEYPTR(hh, f->places, setting->knob, strlen(setting->knob), *place);
    return (*place)->hh.tbl != NULL;
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
static bool add_params(struct finder *f, struct lineage_ideas *ideas, size_t trial)
{
    const struct idea_row *row = &ideas->rows[trial];
    size_t before = f->out->n;
    for (size_t i = 0; i < row->n_params; i++) {
        const struct lineage_param param = row_param(ideas, row, i);
        struct lineage_change change = {.name = param.name};
        struct change_key key = {0};
        struct place *place = NULL;
        if (!row_name_knob(ideas, &change, &key, NULL, f->arena, false))
            return false;
        struct lineage_effective_setting setting = {.name = change.name,
                                                    .knob = change.knob,
                                                    .value = param_text(&param, f->arena),
                                                    .number = {!param.text, param.value},
                                                    .source = LINEAGE_CHANGE_DECLARED,
                                                    .set_by = trial};
        if (!setting.value || !add(f, &setting, &place))
            return false;
        struct lineage_effective_setting *there = &f->out->items[place->item];
        if (place->item >= before && !place->follows) {
            place->follows = true;
            place->next = f->following;
            f->following = place;
        } else if (place->follows && same_param(&param, there)) {
            there->set_by = trial;
        }
    }
    /* A trial without the parameter, or with another value, ends the run of equal values. */
    for (struct place **at = &f->following; *at;)
        if (f->out->items[(*at)->item].set_by == trial) {
            at = &(*at)->next;
        } else {
            (*at)->follows = false;
            *at = (*at)->next;
        }
    return true;
}

static bool add_changes(struct finder *f, const struct lineage_ideas *ideas, size_t trial, bool in_words)
{
    struct lineage_change c;
    for (size_t i = 0; lineage_ideas_change_at(&c, ideas, trial, i); i++) {
        struct place *place = NULL;
        if (in_words && c.source == LINEAGE_CHANGE_DECLARED)
            continue;
        const struct lineage_effective_setting setting = {
            .name = c.name, .knob = c.knob, .value = c.to, .number = c.to_value, .source = c.source, .set_by = trial};
        if (!add(f, &setting, &place))
            return false;
    }
    return true;
}

enum lineage_status lineage_effective_find(struct lineage_effective *settings, struct lineage_ideas *ideas, size_t trial,
                                           struct lineage_error *err)
{
    struct finder f = {.out = settings, .arena = calloc(1, sizeof *f.arena)};
    *settings = (struct lineage_effective){.memory = f.arena};
    bool ok = f.arena != NULL;
    if (trial >= ideas->n || !ideas->settled) {
        lineage_effective_release(settings);
        return store_fail(err, LINEAGE_EINVAL, "trial %zu is not in the set of ideas", trial);
    }
    for (size_t at = trial, steps = 0; ok && at != TRIAL_NONE && steps < LINEAGE_EFFECTIVE_CHAIN; steps++) {
        const bool in_words = steps > 0 && !ideas->has_parents; /* parameters are inherited from parents alone */
        ok = (in_words || add_params(&f, ideas, at)) && add_changes(&f, ideas, at, in_words);
        at = ideas->rows[at].base;
    }
    HASH_CLEAR(hh, f.places);
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
