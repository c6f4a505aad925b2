/*
 * warm_place.h: makes a directory with a policy trained on a few demonstrations, as setup and teardown of a cmocka
 * test.
 */
#pragma once

struct warm_place {
    char *dir;
    /* checkpoint of small_recipe(TRAINER_HOPWORLD) after 60 steps, trained in a child, so the test may still fork */
    char *warm;
    char *state; /* path for a run's state; the file does not exist yet */
};

int open_warm_place(void **state);
int close_warm_place(void **state);
