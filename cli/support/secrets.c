#define _GNU_SOURCE /* FNM_CASEFOLD */
#include "support/secrets.h"

#include <ctype.h>
#include <fnmatch.h>
#include <strings.h>

#include "cli.h"

/* id_* is meant for keys of ssh: a name with a point behind it, such as id_map.json, is another file. */
/* clang-format off */
static const char *const files[] = {
    ".env*", "*.env", "id_*", "!id_*.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".htpasswd", "credentials*", ".git-credentials", ".aws/*",
    ".ssh/*", ".gnupg/*", ".kube/*", ".docker/config.json", "kubeconfig*", "client_secret*", "service-account*.json",
    "service_account*.json", "secrets.*", ".secrets*", ".vault-token", NULL};
/* clang-format on */

/* A pattern with slashes is compared with as many of the last parts of the path. */
static bool matches(const char *pattern, const char *path)
{
    const char *from = path + strlen(path);
    size_t parts = 1;
    for (const char *c = pattern; *c; c++)
        parts += *c == '/';
    while (from > path && parts) {
        from--;
        parts -= *from == '/';
    }
    return fnmatch(pattern, *from == '/' ? from + 1 : from, FNM_CASEFOLD | FNM_PATHNAME) == 0;
}

static bool judge(bool secret, const char *const *patterns, const char *path)
{
    for (size_t i = 0; patterns && patterns[i]; i++) {
        bool exception = patterns[i][0] == '!';
        if (matches(patterns[i] + exception, path))
            secret = !exception;
    }
    return secret;
}

bool secret_file(const char *path, const char *const *more)
{
    return judge(judge(false, files, path), more, path);
}

static bool is_token_character(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* Whether a text looks drawn at random: 16 letters and digits in a row, of more than one kind. Words of people have points,
 * dashes and underscores between them. */
static bool has_random_run(const char *text, size_t length)
{
    size_t run = 0;
    bool upper = false, lower = false, digit = false;
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!isalnum(c)) {
            run = 0;
            upper = lower = digit = false;
            continue;
        }
        upper = upper || isupper(c);
        lower = lower || islower(c);
        digit = digit || isdigit(c);
        if (++run >= 16 && upper + lower + digit >= 2)
            return true;
    }
    return false;
}

/* Beginnings by which services mark their tokens. */
static const char *const beginnings[] = {"sk-",  "sk_live_", "sk_test_",    "rk_live_", "hf_",   "ghp_",  "gho_",  "ghu_",
                                         "ghs_", "ghr_",     "github_pat_", "glpat-",   "xoxb-", "xoxp-", "xoxa-", "xapp-",
                                         "AKIA", "ASIA",     "AIza",        "ya29.",    "npm_",  "pypi-", "eyJ",   NULL};

/* Returns the length of the token that begins here, or 0. */
static size_t token_length(const char *text)
{
    for (size_t i = 0; beginnings[i]; i++) {
        size_t n = strlen(beginnings[i]), end = n;
        if (strncmp(text, beginnings[i], n) != 0)
            continue;
        while (is_token_character(text[end]))
            end++;
        if (has_random_run(text + n, end - n))
            return end;
    }
    return 0;
}

static bool has_token(const char *text)
{
    for (size_t i = 0; text[i]; i++)
        if ((i == 0 || !isalnum((unsigned char)text[i - 1])) && token_length(text + i))
            return true;
    return false;
}

/* Whether all of the text looks drawn at random. */
static bool looks_random(const char *text)
{
    size_t n = strlen(text);
    return n >= 20 && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+/=.-") == n &&
           has_random_run(text, n);
}

enum { WORDS = 2, WORD = 24 };

/* Writes the last words of a name in lower case, the last one first. Words are separated by punctuation or by a capital. */
static void last_words(char words[WORDS][WORD], const char *name, size_t length)
{
    memset(words, 0, WORDS * sizeof *words);
    for (size_t i = 0; i < WORDS && length > 0; i++) {
        while (length > 0 && !isalnum((unsigned char)name[length - 1]))
            length--;
        size_t end = length;
        while (length > 0 && isalnum((unsigned char)name[length - 1])) {
            length--;
            if (length > 0 && isupper((unsigned char)name[length]) && islower((unsigned char)name[length - 1]))
                break;
        }
        size_t n = end - length < WORD ? end - length : 0; /* a longer word is in none of the lists */
        for (size_t k = 0; k < n; k++)
            words[i][k] = (char)tolower((unsigned char)name[length + k]);
    }
}

static bool is_in(const char *const *list, const char *word)
{
    for (size_t i = 0; list[i]; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

/* Names of passwords and keys, whatever the value is. */
static bool names_key(char words[WORDS][WORD])
{
    static const char *const alone[] = {"password", "passwd", "passphrase", "apikey", NULL};
    static const char *const kinds[] = {"api", "secret", "private", NULL};
    return is_in(alone, words[0]) || (strcmp(words[0], "key") == 0 && is_in(kinds, words[1]));
}

/* Names that can belong to a number of things, but to no text that is not a secret. */
static bool names_secret(char words[WORDS][WORD])
{
    static const char *const alone[] = {"secret", "credential", "credentials", "authorization", NULL};
    static const char *const tokens[] = {"auth",  "access", "refresh", "bearer", "session", "api",         "hf", "hub",
                                         "wandb", "github", "gitlab",  "slack",  "openai",  "huggingface", NULL};
    return is_in(alone, words[0]) || (strcmp(words[0], "token") == 0 && is_in(tokens, words[1])) ||
           (strcmp(words[0], "key") == 0 && (strcmp(words[1], "access") == 0 || strcmp(words[1], "wandb") == 0));
}

/* Names under which secrets and ordinary texts are found: sort_key=loss, pad_token=<pad>. */
static bool may_name_secret(char words[WORDS][WORD])
{
    static const char *const alone[] = {"key", "token", "auth", "cookie", "pass", "pwd", "pat", NULL};
    return is_in(alone, words[0]);
}

bool secret_name(const char *name, size_t length)
{
    char words[WORDS][WORD];
    last_words(words, name, length);
    return names_key(words) || names_secret(words);
}

/* Returns the offset of the password in a URL and its length, or 0: scheme://user:PASSWORD@host. */
static size_t url_password(const char *text, size_t *length)
{
    const char *at = strstr(text, "://");
    if (!at)
        return 0;
    at += 3;
    const char *end = at + strcspn(at, "/?# \t\n\"'");
    const char *host = memrchr(at, '@', (size_t)(end - at));
    const char *colon = host ? memchr(at, ':', (size_t)(host - at)) : NULL;
    if (!colon || colon + 1 == host)
        return 0;
    size_t n = (size_t)(host - colon - 1);
    if (n == strlen(SECRET_MASK) && strncmp(colon + 1, SECRET_MASK, n) == 0)
        return 0; /* it is masked already */
    *length = n;
    return (size_t)(colon + 1 - text);
}

const char *secret_param(const struct lineage_param *param, const char *const *harmless)
{
    char words[WORDS][WORD];
    size_t length;
    if (harmless && is_in(harmless, param->name))
        return NULL;
    last_words(words, param->name, strlen(param->name));
    if (names_key(words))
        return "is the name of a password or key";
    if (!param->text)
        return NULL;
    if (names_secret(words))
        return "is the name of a secret";
    if (may_name_secret(words) && looks_random(param->text))
        return "has a value that looks like a secret";
    if (has_token(param->text))
        return "has a value with the form of a token";
    for (const char *url = param->text; (url = strstr(url, "://")); url += 3)
        if (url_password(url, &length))
            return "has a URL with a password";
    return NULL;
}

bool secret_params_absent(const struct lineage_param *params, size_t n, const char *const *harmless)
{
    for (size_t i = 0; i < n; i++) {
        const char *why = secret_param(&params[i], harmless);
        if (!why)
            continue;
        return cli_refuse("the parameter '%.60s' %s, and would be recorded; pass it by a variable or a file. If it is harmless, "
                          "add its name to \"harmless_names\" in lineage.json",
                          params[i].name, why);
    }
    return true;
}

/* Whether the name belongs to a secret as the key of a URL's query. */
static bool names_secret_query(const char *name, size_t length)
{
    char words[WORDS][WORD];
    last_words(words, name, length);
    return may_name_secret(words) || strcmp(words[0], "sig") == 0 || strcmp(words[0], "signature") == 0;
}

/* Returns where the value begins that the text at `name` assigns to a secret name: NAME=VALUE, --NAME VALUE, "NAME: VALUE";
 * NULL if it does not. */
static const char *assigned(const char *name, bool in_query)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_' || name[n] == '-')
        n++;
    const char *value = name + n;
    if (n == 0 || !(secret_name(name, n) || (in_query && names_secret_query(name, n))))
        return NULL;
    value += strspn(value, "\"'");
    if (*value == '=' || *value == ':')
        value += 1 + strspn(value + 1, " \"'");
    else if (*name == '-' && *value == ' ')
        value += strspn(value, " \"'");
    else
        return NULL;
    if (strncasecmp(value, "bearer ", 7) == 0 || strncasecmp(value, "basic ", 6) == 0)
        value += strcspn(value, " ") + 1;
    return *value ? value : NULL;
}

/* If a secret begins at text + i, writes what is printed in front of it and returns its length; otherwise 0. */
static size_t secret_at(const char *text, size_t i, size_t *before)
{
    bool begins = i == 0 || !isalnum((unsigned char)text[i - 1]);
    size_t length = begins ? token_length(text + i) : 0;
    const char *value = begins && (i == 0 || (text[i - 1] != '-' && text[i - 1] != '_'))
                            ? assigned(text + i, i > 0 && strchr("?&", text[i - 1]) != NULL)
                            : NULL;
    *before = 0;
    if (value) {
        *before = (size_t)(value - text) - i;
        return strcspn(value, " \t\n\"'&;,");
    }
    if (!length && strncmp(text + i, "://", 3) == 0)
        *before = url_password(text + i, &length);
    return length;
}

char *secret_masked(const char *text)
{
    struct cli_writer writer = {0};
    size_t before;
    FILE *to = cli_writer_open(&writer);
    if (!to)
        return NULL;
    for (size_t i = 0; text[i];) {
        size_t length = secret_at(text, i, &before);
        if (length) {
            fwrite(text + i, 1, before, to);
            fputs(SECRET_MASK, to);
            i += before + length;
        } else {
            putc(text[i++], to);
        }
    }
    return cli_writer_close(&writer);
}
