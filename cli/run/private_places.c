#include "run/private_places.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A place may be a path below the value of a variable ("": the value itself), below the home directory, or both. */
static const struct {
    const char *variable, *below_variable, *below_home;
} places[] = {
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

enum { N_PLACES = sizeof places / sizeof *places, N_OF_MACHINE = sizeof of_machine / sizeof *of_machine };

/* Whether `path` is `directory` or below it. */
static bool is_in(const char *path, const char *directory)
{
    size_t n = strlen(directory);
    return strncmp(path, directory, n) == 0 && (!path[n] || path[n] == '/' || (n && directory[n - 1] == '/'));
}

const char *private_places_cover(const struct private_places *found, const char *path)
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

bool private_places_find(struct private_places *found, const char *const *needed, const char *const *readable)
{
    const char *home = getenv("HOME");
    char path[PATH_MAX];
    found->n = 0;
    found->paths = calloc(2 * N_PLACES + N_OF_MACHINE + 1, sizeof *found->paths);
    if (!found->paths)
        return false;
    for (size_t i = 0; i < N_PLACES; i++) {
        const char *value = places[i].variable ? getenv(places[i].variable) : NULL;
        if (join(path, value, places[i].below_variable))
            add(found, path, needed, readable);
        if (join(path, home, places[i].below_home))
            add(found, path, needed, readable);
    }
    for (size_t i = 0; i < N_OF_MACHINE; i++)
        if (access(of_machine[i], R_OK) == 0)
            add(found, of_machine[i], needed, readable);
    return true;
}

void private_places_release(struct private_places *found)
{
    for (size_t i = 0; i < found->n; i++)
        free(found->paths[i]);
    free(found->paths);
    *found = (struct private_places){.n = 0};
}
