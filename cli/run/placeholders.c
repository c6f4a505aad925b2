#include "run/command_trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

/* Writes 4 instead of 4.0, because a program that expects a whole number rejects 4.0. */
const char *command_value(char out[COMMAND_VALUE_MAX], const struct lineage_param *param)
{
    char number[LINEAGE_NUMBER_MAX];
    if (param->text)
        snprintf(out, COMMAND_VALUE_MAX, "%s", param->text);
    else if (param->value == floor(param->value) && fabs(param->value) < 1e15)
        snprintf(out, COMMAND_VALUE_MAX, "%.0f", param->value + 0.0); /* + 0.0: no minus before a zero */
    else
        snprintf(out, COMMAND_VALUE_MAX, "%s", lineage_number_format(number, param->value));
    return out;
}

/* Returns the value of the name [n], or NULL if the name is not known. */
static const char *find(char out[COMMAND_VALUE_MAX], const struct command_values *values, const char *name, size_t n)
{
    for (size_t i = 0; i < values->n_params; i++)
        if (strlen(values->params[i].name) == n && memcmp(values->params[i].name, name, n) == 0)
            return command_value(out, &values->params[i]);
    if (n == 4 && memcmp(name, "seed", n) == 0) {
        snprintf(out, COMMAND_VALUE_MAX, "%" PRIu64, values->seed);
        return out;
    }
    return n == 7 && memcmp(name, "workdir", n) == 0 ? values->workdir : NULL;
}

/*
 * Braces without a known name are left unchanged, because commands also contain braces of the shell, of JSON and of
 * Python.
 */
char *placeholders_replace(const char *text, const struct command_values *values)
{
    char *out = NULL, value[COMMAND_VALUE_MAX];
    size_t length = 0;
    FILE *to = open_memstream(&out, &length);
    if (!to)
        return NULL;
    while (*text) {
        size_t n = *text == '{' ? strcspn(text + 1, "{}") : 0;
        const char *found = n && text[1 + n] == '}' ? find(value, values, text + 1, n) : NULL;
        if (found) {
            fputs(found, to);
            text += n + 2;
        } else {
            putc(*text++, to);
        }
    }
    if (fclose(to) == 0)
        return out;
    free(out);
    return NULL;
}
