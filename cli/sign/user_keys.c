#include "sign/user_keys.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { LINE = PATH_MAX + 200, KEY_LINE = 16384 };

/* ---- directories ---- */

/* Joins a file name to a directory of the user: that of the variable or, if it is not set, one below the home directory. */
static bool path_in(char out[PATH_MAX], const char *variable, const char *below_home, const char *name)
{
    const char *base = getenv(variable), *home = getenv("HOME");
    int n = base && base[0] == '/' ? snprintf(out, PATH_MAX, "%s/lineage/%s", base, name)
            : home && *home        ? snprintf(out, PATH_MAX, "%s/%s/lineage/%s", home, below_home, name)
                                   : -1;
    return n > 0 && n < PATH_MAX;
}

static bool config_path(char out[PATH_MAX], const char *name)
{
    return path_in(out, "XDG_CONFIG_HOME", ".config", name);
}

static bool heads_path(char out[PATH_MAX])
{
    return path_in(out, "XDG_STATE_HOME", ".local/state", "signed_heads");
}

/* Replaces a file of the user; a reader sees the old or the new one. */
static bool replace(const char *path, const char *text, size_t length)
{
    char fresh[PATH_MAX + 16];
    cli_make_parents(path);
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    FILE *out = cli_private_file(fresh);
    bool ok = out && fwrite(text, 1, length, out) == length && fflush(out) == 0 && fsync(fileno(out)) == 0;
    if (out)
        ok = fclose(out) == 0 && ok;
    if (ok && rename(fresh, path) == 0)
        return true;
    unlink(fresh);
    return false;
}

/* ---- keys ---- */

static bool read_line(char *out, size_t size, const char *path)
{
    FILE *in = fopen(path, "re");
    bool found = in && fgets(out, (int)size, in);
    if (in)
        fclose(in);
    if (!found)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return found && out[0];
}

void user_key_path(char out[PATH_MAX])
{
    char path[PATH_MAX];
    out[0] = '\0';
    if (config_path(path, "signing_key"))
        read_line(out, PATH_MAX, path);
}

bool user_keys_trusted(char out[PATH_MAX])
{
    return config_path(out, "allowed_signers") && access(out, R_OK) == 0;
}

/* Writes "TYPE BASE64" of a public key, without its comment. */
static int read_public(char key[KEY_LINE], const char *path)
{
    char line[KEY_LINE];
    if (!read_line(line, sizeof line, path))
        return cli_error(CLI_USAGE, "sign: cannot read a public key from %s: %s", path, errno ? strerror(errno) : "it is empty");
    size_t type = strcspn(line, " "), length = line[type] ? strcspn(line + type + 1, " ") : 0;
    if (strncmp(line, "ssh-", 4) != 0 && strncmp(line, "ecdsa-", 6) != 0 && strncmp(line, "sk-", 3) != 0)
        return cli_error(CLI_USAGE, "sign: %s is not a public key of ssh", path);
    snprintf(key, KEY_LINE, "%.*s", (int)(type + 1 + length), line);
    return length ? CLI_GO_ON : cli_error(CLI_USAGE, "sign: %s is not a public key of ssh", path);
}

static int trust(const char *key)
{
    char path[PATH_MAX], line[KEY_LINE], *text = NULL;
    size_t length;
    bool known = false;
    if (!config_path(path, "allowed_signers"))
        return cli_error(CLI_SYSTEM, "sign: HOME is not set, so there is no place for trusted keys");
    FILE *in = fopen(path, "re"), *out = open_memstream(&text, &length);
    while (in && out && fgets(line, sizeof line, in)) {
        known = known || strstr(line, key);
        fputs(line, out);
    }
    if (in)
        fclose(in);
    if (out && !known)
        fprintf(out, USER_KEYS_NAME " namespaces=\"" USER_KEYS_NAMESPACE "\" %s\n", key);
    bool ok = out && fclose(out) == 0 && (known || replace(path, text, length));
    free(text);
    return ok ? CLI_GO_ON : cli_error(CLI_SYSTEM, "sign: cannot write %s: %s", path, strerror(errno));
}

int user_key_trust(const char *path)
{
    char key[KEY_LINE];
    errno = 0;
    int status = read_public(key, path);
    return status == CLI_GO_ON ? trust(key) : status;
}

int user_key_choose(const char *path)
{
    char absolute[PATH_MAX], public[PATH_MAX + 8], place[PATH_MAX];
    size_t n = strlen(path);
    bool is_public = n > 4 && strcmp(path + n - 4, ".pub") == 0;
    if (!realpath(path, absolute))
        return cli_error(CLI_USAGE, "sign: --key %s: %s", path, strerror(errno));
    snprintf(public, sizeof public, "%s%s", absolute, is_public ? "" : ".pub");
    int status = user_key_trust(public);
    if (status != CLI_GO_ON)
        return status;
    strcat(absolute, "\n");
    if (config_path(place, "signing_key") && replace(place, absolute, strlen(absolute)))
        return CLI_GO_ON;
    return cli_error(CLI_SYSTEM, "sign: cannot write the name of the key into %s: %s", place, strerror(errno));
}

/* ---- heads ---- */

/* Reads "RECORDS HEAD TIME PATH". Returns the path, or NULL if the line is malformed. */
static const char *read_head(struct user_head *head, char *line)
{
    int at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNu64 " %64s %31s %n", &head->records, head->head, head->time, &at) != 3 || !at)
        return NULL;
    return line + at;
}

bool user_head_find(struct user_head *head, const char *store)
{
    char path[PATH_MAX], line[LINE];
    bool found = false;
    FILE *in = heads_path(path) ? fopen(path, "re") : NULL;
    while (in && !found && fgets(line, sizeof line, in)) {
        const char *of = read_head(head, line);
        found = of && strcmp(of, store) == 0;
    }
    if (in)
        fclose(in);
    return found;
}

void user_head_keep(const struct user_head *head, const char *store)
{
    char path[PATH_MAX], line[LINE], copy[LINE], *text = NULL, message[PATH_MAX + 100];
    struct user_head other;
    size_t length;
    if (!heads_path(path) || strchr(store, '\n'))
        return;
    FILE *in = fopen(path, "re"), *out = open_memstream(&text, &length);
    while (in && out && fgets(line, sizeof line, in)) {
        strcpy(copy, line);
        const char *of = read_head(&other, copy);
        if (of && strcmp(of, store) != 0)
            fputs(line, out);
    }
    if (in)
        fclose(in);
    if (out)
        fprintf(out, "%" PRIu64 " %s %s %s\n", head->records, head->head, head->time, store);
    if (out && fclose(out) == 0 && !replace(path, text, length)) {
        snprintf(message, sizeof message, "cannot note the signed head in %s: %s", path, strerror(errno));
        cli_say(message);
    }
    free(text);
}
