/* command_sandbox.c: see command_sandbox.h. */
#include "run/command_sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Takes ownership of the text. Returns it, or NULL if it is NULL. */
static const char *own(struct command_sandbox *made, char *text)
{
    if (text)
        made->owned[made->n_owned++] = text;
    return text;
}

static size_t count(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* ---- paths ---- */

/*
 * Programs keep shared memory and semaphores here. If the store or the working directory is here too, it stays read-only,
 * because otherwise the store would not be.
 */
static bool may_share_memory(const struct command_trial *t, const struct command_places *places)
{
    static const char shared[] = "/dev/shm";
    char here[PATH_MAX];
    return strncmp(places->trial, shared, strlen(shared)) != 0 &&
           realpath(t->dir ? t->dir : ".", here) && strncmp(here, shared, strlen(shared)) != 0;
}

/* The paths of --sandbox-write are relative to the directory in which the commands work. */
static bool add_given(struct command_sandbox *made, const char **writable, size_t *n,
                      const struct command_trial *t)
{
    for (size_t i = 0; t->sandbox_write && t->sandbox_write[i]; i++) {
        char path[PATH_MAX];
        const char *given = t->sandbox_write[i], *dir = t->dir && *given != '/' ? t->dir : NULL;
        int length = snprintf(path, sizeof path, "%s%s%s", dir ? dir : "", dir ? "/" : "", given);
        if (length < 0 || (size_t)length >= sizeof path)
            return cli_error(CLI_USAGE, "--sandbox-write %s: the path is too long", given), false;
        writable[*n] = own(made, realpath(path, NULL));
        if (!writable[(*n)++])
            return cli_error(CLI_USAGE, "--sandbox-write %s: %s", given, strerror(errno)), false;
    }
    return true;
}

static bool make_paths(struct command_sandbox *made, const struct command_trial *t,
                       const struct command_places *places, const char *temporary)
{
    const char **writable = made->writable = calloc(count(t->sandbox_write) + 5, sizeof *writable);
    size_t n = 0;
    if (!writable)
        return cli_no_memory(), false;
    made->sandbox.writable = writable;
    writable[n++] = places->workdir;
    writable[n++] = temporary;
    writable[n++] = places->events;
    if (may_share_memory(t, places))
        writable[n++] = "/dev/shm";
    return add_given(made, writable, &n, t);
}

/* Makes the directory for temporary files. Returns "TMPDIR=..", or NULL after printing an error. */
static const char *make_temporary(struct command_sandbox *made, const struct command_places *places)
{
    static const char variable[] = "TMPDIR=";
    size_t size = sizeof variable + strlen(places->trial) + sizeof "/" COMMAND_SANDBOX_TEMPORARY;
    char *text = malloc(size);
    if (!text)
        return cli_no_memory(), NULL;
    snprintf(text, size, "%s%s/" COMMAND_SANDBOX_TEMPORARY, variable, places->trial);
    own(made, text);
    if (mkdirat(places->dir, COMMAND_SANDBOX_TEMPORARY, 0700) == 0)
        return text;
    return cli_error(CLI_SYSTEM, "cannot make %s: %s", text + strlen(variable), strerror(errno)),
           NULL;
}

/* A TMPDIR of --env is kept. */
static bool make_environment(struct command_sandbox *made, const struct command_trial *t,
                             const char *temporary)
{
    size_t n = count(t->environment);
    bool given = false;
    made->environment = calloc(n + 2, sizeof *made->environment);
    if (!made->environment)
        return cli_no_memory(), false;
    for (size_t i = 0; i < n; i++) {
        made->environment[i] = t->environment[i];
        given = given || strncmp(t->environment[i], "TMPDIR=", 7) == 0;
    }
    if (!given)
        made->environment[n] = temporary;
    return true;
}

/* ---- layers ---- */

/* Prints which layers there are, and why each of the others is missing. Returns false if the trial requires them. */
static bool report(const struct command_sandbox *made, const struct command_trial *t,
                   const int errors[SANDBOX_LAYERS])
{
    char names[SANDBOX_TEXT_MAX], text[256 + SANDBOX_LAYERS * 96];
    unsigned layer, missing = SANDBOX_ALL & ~made->sandbox.layers;
    const char *name;
    size_t n = 0;
    if (missing || !t->quiet) {
        snprintf(text, sizeof text, "sandbox: %s",
                 made->sandbox.layers ? sandbox_names(names, made->sandbox.layers) : "none");
        cli_say(text);
    }
    for (size_t i = 0; (name = sandbox_layer_at(i, &layer)); i++)
        if (missing & layer)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%.60s)", n ? ", " : "", name,
                                  strerror(errors[i]));
    if (!missing)
        return true;
    if (strcmp(t->sandbox, "require") == 0)
        return cli_error(CLI_SYSTEM,
                         "nothing was run: the sandbox would lack %s; --sandbox try does without",
                         text),
               false;
    cli_error(CLI_NO, "warning: the sandbox lacks %s", text);
    return true;
}

bool command_sandbox_make(struct command_sandbox *made, const struct command_trial *t,
                          const struct command_places *places)
{
    int errors[SANDBOX_LAYERS];
    *made =
        (struct command_sandbox){.owned = calloc(count(t->sandbox_write) + 1, sizeof *made->owned)};
    if (!made->owned)
        return cli_no_memory(), false;
    const char *temporary = make_temporary(made, places);
    if (!temporary || !make_paths(made, t, places, strchr(temporary, '/')) ||
        !make_environment(made, t, temporary))
        return false;
    made->sandbox.layers = sandbox_probe(&made->sandbox, errors);
    return report(made, t, errors);
}

void command_sandbox_release(struct command_sandbox *made)
{
    for (size_t i = 0; i < made->n_owned; i++)
        free(made->owned[i]);
    free(made->owned);
    free(made->writable);
    free(made->environment);
    *made = (struct command_sandbox){.n_owned = 0};
}
