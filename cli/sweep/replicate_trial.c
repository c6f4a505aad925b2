#include "sweep/trial_list.h"

#include <xxhash.h>

/* Whether a key of this name, or a text with this placeholder, is anywhere in the value. */
static bool mentions(const json_t *value, const char *key, const char *placeholder)
{
    size_t i;
    const char *name;
    json_t *item;
    if (json_is_string(value))
        return placeholder && strstr(json_string_value(value), placeholder);
    json_array_foreach((json_t *)(uintptr_t)value, i, item)
        if (mentions(item, key, placeholder))
            return true;
    json_object_foreach((json_t *)(uintptr_t)value, name, item)
        if (strcmp(name, key) == 0 || mentions(item, key, placeholder))
            return true;
    return false;
}

bool replicate_is_default(const struct night_sweep *sweep)
{
    static const char *const varied[] = {"grid", "ranges", "trials", NULL};
    static const char *const shared[] = {"command", "eval", "preflight", "seed", "params", "base", "environment", NULL};
    const json_t *asked = json_object_get(sweep->root, "confirm");
    bool seeded = json_object_get(sweep->root, "seed") != NULL;
    if (asked || json_object_get(sweep->root, "decide_by")) /* examples decide by one run each */
        return json_is_true(asked);
    for (size_t i = 0; varied[i]; i++)
        if (mentions(json_object_get(sweep->root, varied[i]), "seed", NULL))
            return false;
    for (size_t i = 0; shared[i] && !seeded; i++)
        seeded = mentions(json_object_get(sweep->root, shared[i]), "seed", "{seed}");
    return seeded;
}

/* A copy of the trial's settings, which shares the parsed recipe or command. */
static bool copy_trial(struct night_trial *trial, const struct night_trial *from)
{
    *trial = (struct night_trial){.key = from->key,
                                  .recipe = from->recipe,
                                  .checkpoint = from->checkpoint,
                                  .recipe_seed = from->recipe_seed,
                                  .warm_start = from->warm_start,
                                  .work = from->work,
                                  .warm_work = from->warm_work,
                                  .command = json_incref(from->command),
                                  .own_name = strdup(from->name),
                                  .parent = from->parent,
                                  .parent_trial = from->parent_trial,
                                  .parent_name = ""};
    trial->name = trial->own_name;
    return trial->own_name != NULL;
}

/* Makes the trial again from the parameters that its row has in the sweep's ranges. */
static bool make_from_row(struct night_trial *trial, const struct night_sweep *sweep, const struct lineage_trial *row, char *why)
{
    json_t *params = json_object(), *proposal = json_object();
    for (size_t k = 0; k < row->n_params; k++)
        for (size_t r = 0; r < sweep->space.n; r++)
            if (strcmp(sweep->space.ranges[r].name, row->params[k].name) == 0)
                json_object_set_new(params, row->params[k].name,
                                    row->params[k].text ? json_string(row->params[k].text)
                                                        : cli_json_number(row->params[k].value));
    bool whole = json_object_size(params) > 0;
    cli_json_set(proposal, "params", params, "hypothesis",
                 row->hypothesis && *row->hypothesis ? json_string(row->hypothesis) : NULL, NULL);
    bool made = whole && night_sweep_make(trial, sweep, proposal, why);
    if (!whole)
        snprintf(why, NIGHT_WHY_MAX, "%s is not a trial of this sweep", row->exp_id);
    json_decref(proposal);
    return made;
}

/* The parent is the trial that the row names: `best` may be another one by now. */
static bool take_parent(struct night_trial *trial, const struct lineage_trial *row)
{
    bool has_parent = row->parent_exp && *row->parent_exp;
    if (trial->parent == NIGHT_PARENT_TRIAL) /* its checkpoint is kept even if it was discarded */
        return true;
    trial->parent = has_parent ? NIGHT_PARENT_OTHER : NIGHT_PARENT_BASE;
    trial->own_parent = has_parent ? strdup(row->parent_exp) : NULL;
    trial->parent_name = trial->own_parent ? trial->own_parent : "";
    return !has_parent || trial->own_parent;
}

/* Seeds after those of the first row, which may be several; run number N of every trial has the same seed, so that they
 * can be compared seed by seed. */
static uint64_t fresh_seed(const struct night_sweep *sweep, const struct night_trial *trial, size_t number)
{
    const json_t *own = json_object_get(json_object_get(trial->command, "params"), "seed");
    uint64_t first = trial->recipe ? trial->recipe_seed : 1;
    size_t each = (size_t)json_integer_value(json_object_get(trial->command, "seeds"));
    if (!own)
        own = json_object_get(trial->command, "seed");
    if (json_is_number(own))
        first = (uint64_t)json_number_value(own);
    each = each ? each : 1;
    return first + (sweep->baseline_seeds > each ? sweep->baseline_seeds : each) + (number - 1) * each;
}

static uint64_t key_of(uint64_t key, size_t number)
{
    char text[48];
    int n = snprintf(text, sizeof text, "run again %zu", number);
    return XXH64(text, (size_t)n, key);
}

/* The number is counted from the first run: row, or what it replicates because its first run has no score. */
static int add(struct trial_list *list, const struct lineage_trial *row, const char *first_notes, size_t again, size_t *i,
               char *why)
{
    struct lineage_night_link link;
    struct night_trial trial = {0}, *known;
    if (!lineage_night_link_parse(&link, first_notes) || strcmp(link.sweep, list->sweep.name) != 0)
        return snprintf(why, NIGHT_WHY_MAX, "%s is not a trial of the sweep %s", row->exp_id, list->sweep.name), CLI_NO;
    size_t number = again + 1;
    while ((known = trial_list_find(list, key_of(link.key, number))) && (known->exp_id || known->lost))
        number++;
    *i = known ? (size_t)(known - list->trials) : list->n;
    if (known)
        return CLI_GO_ON;
    known = trial_list_find(list, link.key);
    if (known ? !copy_trial(&trial, known) : !make_from_row(&trial, &list->sweep, row, why)) {
        night_trial_release(&trial);
        return known ? cli_no_memory() : CLI_NO;
    }
    trial.key = key_of(link.key, number);
    trial.fresh_seed = fresh_seed(&list->sweep, &trial, number);
    trial.replicates = strdup(row->exp_id);
    if (trial.replicates && take_parent(&trial, row) && trial_list_add(list, &trial))
        return CLI_GO_ON;
    night_trial_release(&trial);
    return cli_no_memory();
}

int replicate_trial_add(struct trial_list *list, const char *exp_id, size_t again, size_t *i, char why[NIGHT_WHY_MAX])
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    enum lineage_status found = lineage_find(list->store, exp_id, &row, &err);
    if (found == LINEAGE_ENOTFOUND)
        return snprintf(why, NIGHT_WHY_MAX, "%s", err.text), CLI_NO;
    struct lineage_trial first = {0};
    struct lineage_replicate replicate;
    if (found == LINEAGE_OK && lineage_replicate_parse(&replicate, row.notes))
        found = lineage_find(list->store, replicate.exp_id, &first, &err);
    int status = found == LINEAGE_OK ? add(list, &row, first.notes ? first.notes : row.notes, again, i, why) : cli_fail(&err);
    lineage_trial_release(&first);
    lineage_trial_release(&row);
    return status;
}
