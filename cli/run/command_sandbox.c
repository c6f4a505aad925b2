#include "run/run_parts.h"

#include <sys/stat.h>
#include <unistd.h>

/* A place may be a path below the value of a variable ("": the value itself), below the home directory, or both. */
static const struct {
    const char *variable, *below_variable, *below_home;
} private_of_tools[] = {
    {NULL, NULL, ".ssh"},
    {"GNUPGHOME", "", ".gnupg"},
    {NULL, NULL, ".netrc"},
    {"NETRC", "", NULL},
    {"PGPASSFILE", "", ".pgpass"},
    {NULL, NULL, ".pg_service.conf"},
    {NULL, NULL, ".git-credentials"},
    {"XDG_CONFIG_HOME", "git/credentials", ".config/git/credentials"},
    {"XDG_CONFIG_HOME", "gh", ".config/gh"},
    {"XDG_CONFIG_HOME", "glab-cli", ".config/glab-cli"},
    {"XDG_CONFIG_HOME", "hub", ".config/hub"},
    {NULL, NULL, ".aws"},
    {"AWS_SHARED_CREDENTIALS_FILE", "", NULL},
    {"AZURE_CONFIG_DIR", "", ".azure"},
    {"CLOUDSDK_CONFIG", "", ".config/gcloud"},
    {"GOOGLE_APPLICATION_CREDENTIALS", "", NULL},
    {"XDG_CONFIG_HOME", "rclone", ".config/rclone"},
    {NULL, NULL, ".kube"},
    {"KUBECONFIG", "", NULL},
    {"DOCKER_CONFIG", "", ".docker"},
    {NULL, NULL, ".pypirc"},
    {NULL, NULL, ".npmrc"},
    {NULL, NULL, ".cargo/credentials.toml"},
    {NULL, NULL, ".kaggle"},
    {"HF_TOKEN_PATH", "", NULL},
    {"HF_HOME", "token", ".cache/huggingface/token"},
    {"HF_HOME", "stored_tokens", ".cache/huggingface/stored_tokens"},
    {NULL, NULL, ".password-store"},
    {"XDG_DATA_HOME", "keyrings", ".local/share/keyrings"},
    {NULL, NULL, ".mozilla"},
    {"XDG_CONFIG_HOME", "chromium", ".config/chromium"},
    {"XDG_CONFIG_HOME", "google-chrome", ".config/google-chrome"},
    {NULL, NULL, ".bash_history"},
    {NULL, NULL, ".zsh_history"},
    {NULL, NULL, ".psql_history"},
    {"XDG_STATE_HOME", "lineage/key", ".local/state/lineage/key"},
};

/* Places that do not depend on the user. Nobody but root can read the last three. */
static const char *const of_machine[] = {"/run/secrets", "/var/run/secrets", "/etc/shadow", "/etc/gshadow", "/etc/krb5.keytab"};

enum { N_PLACES = sizeof private_of_tools / sizeof *private_of_tools, N_OF_MACHINE = sizeof of_machine / sizeof *of_machine };

/* Whether `path` is `directory` or below it. */
static bool is_in(const char *path, const char *directory)
{
    size_t n = strlen(directory);
    return strncmp(path, directory, n) == 0 && (!path[n] || path[n] == '/' || (n && directory[n - 1] == '/'));
}

/* Returns the place that contains the path (absolute and resolved), or NULL. */
static const char *private_places_cover(const struct private_places *found, const char *path)
{
    for (size_t i = 0; i < found->n; i++)
        if (is_in(path, found->paths[i]))
            return found->paths[i];
    return NULL;
}

static bool is_wanted(const char *path, const struct private_places *found, const char *const *needed,
                      const char *const *readable)
{
    if (private_places_cover(found, path))
        return false;
    for (size_t i = 0; needed[i]; i++)
        if (is_in(needed[i], path))
            return false;
    for (size_t i = 0; readable[i]; i++)
        if (is_in(path, readable[i]))
            return false;
    return true;
}

static void add(struct private_places *found, const char *path, const char *const *needed, const char *const *readable)
{
    char *real = realpath(path, NULL); /* what is missing needs no cover, and the sandbox lets nobody make it */
    if (real && is_wanted(real, found, needed, readable))
        found->paths[found->n++] = real;
    else
        free(real);
}

/* Returns false if one of them is missing, or the path is too long. */
static bool join(char path[PATH_MAX], const char *base, const char *below)
{
    if (!base || *base != '/' || !below)
        return false;
    int n = snprintf(path, PATH_MAX, "%s%s%s", base, *below ? "/" : "", below);
    return n > 0 && n < PATH_MAX;
}

/*
 * Finds the places that exist, except for those that contain one of `needed` (absolute paths, ended by NULL), or are one of
 * `readable` or below one of them. Returns false if there is no memory. Call private_places_release in either case.
 */
static bool private_places_find(struct private_places *found, const char *const *needed, const char *const *readable)
{
    const char *home = getenv("HOME");
    char path[PATH_MAX];
    found->n = 0;
    found->paths = calloc(2 * N_PLACES + N_OF_MACHINE + 1, sizeof *found->paths);
    if (!found->paths)
        return false;
    for (size_t i = 0; i < N_PLACES; i++) {
        const char *value = private_of_tools[i].variable ? getenv(private_of_tools[i].variable) : NULL;
        if (join(path, value, private_of_tools[i].below_variable))
            add(found, path, needed, readable);
        if (join(path, home, private_of_tools[i].below_home))
            add(found, path, needed, readable);
    }
    for (size_t i = 0; i < N_OF_MACHINE; i++)
        if (access(of_machine[i], R_OK) == 0)
            add(found, of_machine[i], needed, readable);
    return true;
}

static void private_places_release(struct private_places *found)
{
    for (size_t i = 0; i < found->n; i++)
        free(found->paths[i]);
    free(found->paths);
    *found = (struct private_places){.n = 0};
}

/* Takes ownership of the text. Returns it, or NULL if it is NULL. */
static const char *own(struct command_sandbox *made, char *text)
{
    if (text)
        made->owned[made->n_owned++] = text;
    return text;
}

/*
 * Programs keep shared memory and semaphores here. If the store or the working directory is here too, it stays read-only,
 * because otherwise the store would not be.
 */
static bool may_share_memory(const struct command_trial *t, const struct command_places *places)
{
    static const char shared[] = "/dev/shm";
    char here[PATH_MAX];
    return strncmp(places->trial, shared, strlen(shared)) != 0 && realpath(t->dir ? t->dir : ".", here) &&
           strncmp(here, shared, strlen(shared)) != 0;
}

/* Adds the paths of an option to the n of `paths`. They are relative to the directory in which the commands work. */
static bool add_given(struct command_sandbox *made, const char **paths, size_t n, const char *option, const char *const *list,
                      const struct command_trial *t)
{
    for (size_t i = 0; list && list[i]; i++) {
        char path[PATH_MAX];
        const char *given = list[i], *dir = t->dir && *given != '/' ? t->dir : NULL;
        int length = snprintf(path, sizeof path, "%s%s%s", dir ? dir : "", dir ? "/" : "", given);
        if (length < 0 || (size_t)length >= sizeof path)
            return cli_refuse("%s %s: the path is too long", option, given);
        paths[n + i] = own(made, realpath(path, NULL));
        if (!paths[n + i])
            return cli_refuse("%s %s: %s", option, given, strerror(errno));
    }
    return true;
}

static bool make_paths(struct command_sandbox *made, const struct command_trial *t, const struct command_places *places,
                       const char *temporary)
{
    const char **writable = made->writable = calloc(cli_texts_length(t->sandbox_write) + 5, sizeof *writable);
    size_t n = 0;
    if (!writable)
        return cli_no_memory(), false;
    made->sandbox.writable = writable;
    writable[n++] = places->workdir;
    writable[n++] = temporary;
    writable[n++] = places->events;
    if (may_share_memory(t, places))
        writable[n++] = "/dev/shm";
    return add_given(made, writable, n, "--sandbox-write", t->sandbox_write, t);
}

/* What the trial needs is not hidden: its own directories, the one in which it works, and the paths that are named. */
static bool find_hidden(struct command_sandbox *made, const struct command_trial *t, const struct command_places *places)
{
    char here[PATH_MAX];
    size_t n = 0, n_writable = cli_texts_length(made->writable);
    const char **readable = calloc(cli_texts_length(t->sandbox_read) + 1, sizeof *readable),
               **needed = calloc(n_writable + 3, sizeof *needed);
    bool good = readable && needed;
    if (good) {
        needed[n++] = places->trial;
        needed[n++] = realpath(t->dir ? t->dir : ".", here) ? here : "/";
        memcpy(needed + n, made->writable, n_writable * sizeof *needed);
        good = add_given(made, readable, 0, "--sandbox-read", t->sandbox_read, t);
        if (good && !private_places_find(&made->hidden, needed, readable))
            good = (cli_no_memory(), false);
        const char *cover;
        for (size_t i = 0; good && readable[i]; i++)
            if ((cover = private_places_cover(&made->hidden, readable[i])))
                good = cli_refuse("--sandbox-read %s: %s is hidden or shown as a whole", t->sandbox_read[i], cover);
    } else
        cli_no_memory();
    made->sandbox.hidden = (const char *const *)made->hidden.paths;
    free(readable);
    free(needed);
    return good;
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
    return cli_error(CLI_SYSTEM, "cannot make %s: %s", text + strlen(variable), strerror(errno)), NULL;
}

/* A TMPDIR of --env is kept. */
static bool make_environment(struct command_sandbox *made, const struct command_trial *t, const char *temporary)
{
    size_t n = cli_texts_length(t->environment);
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

static void say_hidden(const struct private_places *hidden)
{
    char text[1024];
    size_t n = (size_t)snprintf(text, sizeof text, "sandbox hides");
    for (size_t i = 0; i < hidden->n && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s %s", i ? "," : "", hidden->paths[i]);
    cli_say(text);
}

/* Prints which layers there are, and why each of the others is missing. Returns false if the trial requires them. */
static bool report(const struct command_sandbox *made, const struct command_trial *t, const int errors[SANDBOX_LAYERS])
{
    char names[SANDBOX_TEXT_MAX], text[256 + SANDBOX_LAYERS * 96];
    unsigned layer, missing = SANDBOX_ALL & ~made->sandbox.layers;
    const char *name;
    size_t n = 0;
    if (missing || !t->quiet) {
        snprintf(text, sizeof text, "sandbox: %s", made->sandbox.layers ? sandbox_names(names, made->sandbox.layers) : "none");
        cli_say(text);
    }
    if (!t->quiet && made->sandbox.layers & SANDBOX_MOUNTS && made->hidden.n)
        say_hidden(&made->hidden);
    for (size_t i = 0; (name = sandbox_layer_at(i, &layer)); i++)
        if (missing & layer)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s (%.60s)", n ? ", " : "", name, strerror(errors[i]));
    if (!missing)
        return true;
    if (strcmp(t->sandbox, "require") == 0)
        return cli_refuse("nothing was run: the sandbox would lack %s; --sandbox try does without", text);
    cli_error(CLI_NO, "warning: the sandbox lacks %s", text);
    return true;
}

bool command_sandbox_make(struct command_sandbox *made, const struct command_trial *t, const struct command_places *places)
{
    int errors[SANDBOX_LAYERS];
    *made = (struct command_sandbox){
        .owned = calloc(cli_texts_length(t->sandbox_write) + cli_texts_length(t->sandbox_read) + 1, sizeof *made->owned)};
    if (!made->owned)
        return cli_no_memory(), false;
    const char *temporary = make_temporary(made, places);
    if (!temporary || !make_paths(made, t, places, strchr(temporary, '/')) || !find_hidden(made, t, places) ||
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
    private_places_release(&made->hidden);
    free(made->environment);
    *made = (struct command_sandbox){.n_owned = 0};
}
