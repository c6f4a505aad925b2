#include "sweep/trial_list.h"

#include <stdlib.h>

bool trial_list_add(struct trial_list *list, const struct night_trial *trial)
{
    if (!CLI_ROOM(list->trials, list->n, list->capacity))
        return false;
    list->trials[list->n++] = *trial;
    return true;
}

int trial_list_add_sweep(struct trial_list *list)
{
    for (size_t i = 0; i < list->sweep.n; i++)
        if (!trial_list_add(list, &list->sweep.list[i]))
            return cli_no_memory();
    return CLI_GO_ON;
}

void trial_list_forget(struct trial_list *list, size_t i)
{
    list->n_proposed += i >= list->sweep.n && list->trials[i].exp_id;
    if (i >= list->sweep.n && i + 1 == list->n)
        night_trial_release(&list->trials[--list->n]);
}

struct night_trial *trial_list_find(const struct trial_list *list, uint64_t key)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->trials[i].key == key)
            return &list->trials[i];
    return NULL;
}

const char *trial_list_link(char out[LINEAGE_NIGHT_LINK_MAX], const struct trial_list *list, size_t i)
{
    const struct night_trial *trial = &list->trials[i];
    return lineage_night_link_format(out, list->sweep.name, trial->name, trial->key);
}

/* Only later trials are checked, because parents come before their children in a sweep (src/trainer/recipe/sweep.c). */
bool trial_list_is_parent(const struct trial_list *list, size_t i)
{
    for (size_t j = i + 1; j < list->n; j++) {
        const struct night_trial *trial = &list->trials[j];
        if (trial->parent == NIGHT_PARENT_TRIAL && trial->parent_trial == i)
            return true;
    }
    return false;
}

void trial_list_release(struct trial_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        night_trial_release(&list->trials[i]);
    free(list->trials);
    list->trials = NULL;
    list->n = list->capacity = 0;
    night_sweep_release(&list->sweep);
}
