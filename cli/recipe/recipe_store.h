/*
 * recipe_store.h: creates and checks stores of trials whose score is EM, the share of questions that are answered
 * correctly.
 */
#pragma once

#include "cli.h"

/* Makes a directory (NULL: the current one) a store in which higher is better, unless it is a store already. Returns
 * CLI_GO_ON or an exit status. */
int recipe_store_make(const char *dir);

#define RECIPE_SCORE "em"

/* Refuses a store in which lower is better, or whose score has another name. Returns CLI_GO_ON or an exit status. */
int recipe_store_check(struct lineage_store *store);
