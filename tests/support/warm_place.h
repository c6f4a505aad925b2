/* warm_place.h: a directory with a policy that has seen a few demonstrations, for a test of cmocka to set up and tear down. */
#ifndef SUPPORT_WARM_PLACE_H
#define SUPPORT_WARM_PLACE_H

struct warm_place {
    char *dir;
    char *
        warm; /* checkpoint of small_recipe(TRAINER_HOPWORLD) after 60 steps; made in a child, so that this process may fork */
    char *state; /* where a run may keep its state; nothing yet */
};

int open_warm_place(void **state);
int close_warm_place(void **state);

#endif
