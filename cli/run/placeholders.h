/* placeholders.h: replaces {NAME} in the arguments of a command by values. */
#pragma once

#include <lineage/store.h>

/* What can be put in place of {NAME}: the parameters by their names, `seed` and `workdir`. */
struct command_values {
    const struct lineage_param *params;
    size_t n_params;
    uint64_t seed;
    const char *workdir;
};

/* Returns the text with its placeholders replaced (free); other braces are left unchanged. NULL: out of memory. */
char *placeholders_replace(const char *text, const struct command_values *values);

/*
 * Writes a parameter's value in the form used for arguments and environment variables: whole numbers without a point.
 * Returns out.
 */
#define COMMAND_VALUE_MAX 192
const char *command_value(char out[COMMAND_VALUE_MAX], const struct lineage_param *param);
