/*
 * secrets.h: what looks like a secret: names of files, names and values of settings, and parts of a text.
 *
 * No rule finds every secret. These are made so that an ordinary setting of a training run is never taken for one: max_tokens,
 * key_dim, token_budget and pad_token are settings.
 */
#pragma once

#include <stdbool.h>

#include <lineage/trial.h>

#define SECRET_MASK "***"

/* Whether a file with this path should not be copied. more: patterns in addition (lineage_store_secret_files); NULL: none.
 * The last pattern that matches decides. */
bool secret_file(const char *path, const char *const *more);

/*
 * Returns why a parameter must not be recorded, as the end of a sentence that begins with its name, or NULL if it may.
 * harmless: names that a person has declared to be harmless (lineage_store_harmless_names); NULL: none.
 */
const char *secret_param(const struct lineage_param *param, const char *const *harmless);

/* Prints the reason to standard error for the first parameter that must not be recorded. Returns whether there is none. */
bool secret_params_absent(const struct lineage_param *params, size_t n, const char *const *harmless);

/* Whether the name of an option, a header or a variable says that its value is a secret: --api-key, PASSWORD, hf_token. */
bool secret_name(const char *name, size_t length);

/*
 * Returns a copy of the text in which passwords in URLs, values of query keys such as token=, the values of assignments and
 * options with a secret_name, and tokens of known forms are replaced by SECRET_MASK. NULL when out of memory; free it.
 */
char *secret_masked(const char *text);
