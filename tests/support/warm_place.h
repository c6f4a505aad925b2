/*
 * warm_place.h: a directory with a policy that has seen a few demonstrations, for the setup and teardown of a
 * cmocka test.
 */
#ifndef SUPPORT_WARM_PLACE_H
#define SUPPORT_WARM_PLACE_H

struct warm_place {
    char *dir;
    char *warm;  /* checkpoint of small_recipe(TRAINER_HOPWORLD) after 60 steps, made in a child so that we may fork */
    char *state; /* path for the state of a run; no file yet */
};

int open_warm_place(void **state);
int close_warm_place(void **state);

#endif
