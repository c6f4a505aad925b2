/*
 * fuzz_rollouts.c: reads arbitrary bytes as a data set of rollouts. A row that is accepted is a finished episode of the
 * environment, whose masked tokens have a turn.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "rollout/data_set.h"
#include "support/files.h"
#include "support/small_recipe.h"

static void check_rows(const struct trainer_rollouts *r)
{
    for (size_t row = 0; row < r->n; row++) {
        fuzz_assert(r->episode[row].done && r->prompt[row] < r->length[row] && (size_t)r->length[row] <= r->width);
        for (size_t t = 0; t < r->width; t++)
            fuzz_assert((r->turn[row * r->width + t] >= 0) == (r->mask[row * r->width + t] == 1));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_REVERSE);
    char *dir = make_dir(), *path = join(dir, "rollouts.jsonl");
    struct trainer_error err = {0};
    struct data_set set = {0};
    write_file(path, data, size);
    recipe.training.group_size = 2;
    recipe.tasks[0].questions = 1;
    snprintf(recipe.tasks[0].data, sizeof recipe.tasks[0].data, "%s", path);
    fuzz_assert(data_set_bytes(&recipe, 0) >= 0);
    enum trainer_status status = data_set_open(&set, &recipe, 0, size % 4, &err);
    fuzz_assert(status == TRAINER_OK || (err.text[0] && !strchr(err.text, '\n')));
    if (status == TRAINER_OK)
        check_rows(set.rows);
    data_set_close(&set);
    remove_dir(dir);
    free(path);
    return 0;
}
