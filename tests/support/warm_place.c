/* warm_place.c: see warm_place.h. */
#include "support/warm_place.h"

#include <stdlib.h>

#include "support/files.h"
#include "support/forked_run.h"
#include "support/small_recipe.h"

static void make_warm(void *context)
{
    struct trainer_recipe recipe = small_recipe(TRAINER_HOPWORLD);
    warm_checkpoint(&recipe, 60, context);
}

int open_warm_place(void **state)
{
    struct warm_place *place = malloc(sizeof *place);
    place->dir = make_dir();
    place->warm = join(place->dir, "warm.ckpt");
    place->state = join(place->dir, "run.state");
    in_a_child(make_warm, place->warm);
    *state = place;
    return 0;
}

int close_warm_place(void **state)
{
    struct warm_place *place = *state;
    remove_dir(place->dir);
    free(place->warm);
    free(place->state);
    free(place);
    return 0;
}
