#include <ctype.h>

#include <lineage/text.h>

#include "run/command_trial.h"

/* Writes 4 instead of 4.0, because a program that expects a whole number rejects 4.0. */
const char *command_value(char out[COMMAND_VALUE_MAX], const struct lineage_param *param)
{
    char number[LINEAGE_NUMBER_MAX];
    snprintf(out, COMMAND_VALUE_MAX, "%s",
             param->text ? param->text : lineage_setting_format(number, param->value + 0.0)); /* + 0.0: no minus before a zero */
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
    struct cli_writer writer = {0};
    char value[COMMAND_VALUE_MAX];
    FILE *to = cli_writer_open(&writer);
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
    return cli_writer_close(&writer);
}

/* Number of variables that do not come from parameters: PARAMS, SEED, WORKDIR, PARENT_SNAPSHOT, COLUMNS. */
enum { FIXED = 5 };

/* Takes over ownership of the text. Returns false if the text is NULL. */
static bool own(struct command_environment *made, const char **place, char *text)
{
    if (!text)
        return false;
    *place = made->owned[made->n_owned++] = text;
    return true;
}

static char *__attribute__((format(printf, 1, 2))) print(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    return n < 0 ? NULL : text;
}

/* Returns LINEAGE_PARAM_NAME=VALUE. The name has only upper-case letters, digits and _, so that a shell can use it. */
static char *param_variable(const struct lineage_param *param)
{
    char value[COMMAND_VALUE_MAX];
    char *text = print("LINEAGE_PARAM_%s=%s", param->name, command_value(value, param));
    for (char *c = text ? text + strlen("LINEAGE_PARAM_") : NULL; c && *c != '='; c++)
        *c = isalnum((unsigned char)*c) ? (char)toupper((unsigned char)*c) : '_';
    return text;
}

static bool make_words(struct command_environment *made, const char *const *words, const struct command_values *values)
{
    bool ok = true;
    for (size_t i = 0; ok && words[i]; i++)
        ok = own(made, &made->argv[i], placeholders_replace(words[i], values));
    return ok;
}

/*
 * Without a snapshot, LINEAGE_PARENT_SNAPSHOT is set to an empty text, because a value that this process inherited must
 * not reach the command.
 */
static bool make_variables(struct command_environment *made, const char *const *more, const struct command_values *values,
                           const char *params, const char *parent)
{
    const char **at = made->environment;
    bool ok = own(made, at++, print("LINEAGE_PARAMS=%s", params)) &&
              own(made, at++, print("LINEAGE_SEED=%" PRIu64, values->seed)) &&
              own(made, at++, print("LINEAGE_WORKDIR=%s", values->workdir)) &&
              own(made, at++, print("LINEAGE_PARENT_SNAPSHOT=%s", parent ? parent : ""));
    for (size_t i = 0; ok && i < values->n_params; i++)
        ok = own(made, at++, param_variable(&values->params[i]));
    bool has_columns = false;
    for (size_t i = 0; ok && more && more[i]; i++) {
        has_columns = has_columns || strncmp(more[i], "COLUMNS=", 8) == 0;
        ok = own(made, at++, placeholders_replace(more[i], values));
    }
    if (ok && !has_columns) /* Rich cuts names and breaks lines at 80 columns where it finds no terminal */
        ok = own(made, at++, print("COLUMNS=400"));
    return ok;
}

bool command_environment_make(struct command_environment *made, const char *const *words, const char *const *more,
                              const struct command_values *values, const char *params, const char *parent)
{
    size_t n_words = cli_texts_length(words), n_variables = FIXED + values->n_params + cli_texts_length(more);
    *made = (struct command_environment){.argv = calloc(n_words + 1, sizeof(char *)),
                                         .environment = calloc(n_variables + 1, sizeof(char *)),
                                         .owned = calloc(n_words + n_variables, sizeof(char *))};
    return made->argv && made->environment && made->owned && make_words(made, words, values) &&
           make_variables(made, more, values, params, parent);
}

void command_environment_release(struct command_environment *made)
{
    for (size_t i = 0; i < made->n_owned; i++)
        free(made->owned[i]);
    free((void *)made->argv);
    free((void *)made->environment);
    free((void *)made->owned);
    *made = (struct command_environment){0};
}
