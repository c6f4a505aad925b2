#define _GNU_SOURCE /* POSIX_SPAWN_SETSID */
#include "sign/signed_head.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- user keys ---- */

enum { USER_KEYS_LINE = PATH_MAX + 200, KEY_LINE = 16384 };

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

/* Path of allowed_signers; returns false if the file is missing. */
static bool user_keys_trusted(char out[PATH_MAX])
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

/* Looks up a store by its absolute path. */
static bool user_head_find(struct user_head *head, const char *store)
{
    char path[PATH_MAX], line[USER_KEYS_LINE];
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
    char path[PATH_MAX], line[USER_KEYS_LINE], copy[USER_KEYS_LINE], *text = NULL, message[PATH_MAX + 100];
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

/* ---- runs ssh-keygen, which makes and checks signatures ---- */

extern char **environ;

enum { SECONDS = 60, VARIABLES = 4096 };

/* Without a terminal, ssh-keygen would show a window to ask for the passphrase. */
static void make_environment(const char **out, bool may_ask)
{
    size_t n = 0;
    for (size_t i = 0; environ[i] && n < VARIABLES; i++)
        if (strncmp(environ[i], "SSH_ASKPASS", 11) != 0 || may_ask)
            out[n++] = environ[i];
    if (!may_ask)
        out[n++] = "SSH_ASKPASS_REQUIRE=never";
    out[n] = NULL;
}

static pid_t start(const char *const *argv, const char *input, bool may_ask, int output)
{
    const char *environment[VARIABLES + 2];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid = -1;
    sigemptyset(&none);
    make_environment(environment, may_ask);
    signal(SIGCHLD, SIG_DFL);
    int error = posix_spawnattr_init(&attributes);
    error |= posix_spawnattr_setsigmask(&attributes, &none);
    error |= posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK | (may_ask ? 0 : POSIX_SPAWN_SETSID)));
    error |= posix_spawn_file_actions_init(&actions);
    error |= posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input ? input : "/dev/null", O_RDONLY, 0);
    error |= posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    error |= posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    if (!error)
        error = posix_spawnp(&pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                             (char *const *)(uintptr_t)environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error ? -1 : pid;
}

static bool wait_for(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    int state = 0;
    for (unsigned i = 0; i < SECONDS * 50; i++) {
        pid_t done = waitpid(pid, &state, WNOHANG);
        if (done == pid)
            return WIFEXITED(state) && WEXITSTATUS(state) == 0;
        if (done < 0 && errno != EINTR)
            return false;
        nanosleep(&pause, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &state, 0);
    return false;
}

/* Runs argv[0] (searched in PATH) with the file `input` as its standard input; NULL: /dev/null. With may_ask it can ask for a
 * passphrase on the terminal; otherwise it has no terminal, and fails if it would have to ask. What it prints goes to out[size],
 * of which the first line is kept. Returns whether it exited with 0 within a minute. */
static bool run_ssh_keygen(const char *const *argv, const char *input, bool may_ask, char *out, size_t size)
{
    FILE *printed = tmpfile();
    out[0] = '\0';
    if (!printed) {
        snprintf(out, size, "cannot make a temporary file: %s", strerror(errno));
        return false;
    }
    pid_t pid = start(argv, input, may_ask, fileno(printed));
    if (pid < 0)
        snprintf(out, size, "cannot run %s (Debian: apt-get install openssh-client): %s", argv[0], strerror(errno));
    bool done = pid >= 0 && wait_for(pid);
    rewind(printed);
    if (pid >= 0 && !fgets(out, (int)size, printed))
        out[0] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    fclose(printed);
    return done;
}

/* ---- signed heads ---- */

#define PLACE_SIGNED ".results.tsv.signed"

enum { LINE = 8192, FILE_BYTES = 16 << 20, STATEMENT = 500 };

/* ---- the statement that is signed ---- */

static void statement(char out[STATEMENT], uint64_t records, const char *head, const struct lineage_redactions *redactions,
                      const char *time)
{
    snprintf(out, STATEMENT, "lineage signed head 1\nrecords %" PRIu64 "\nhead %s\nredactions %" PRIu64 " %s\ntime %s\n", records,
             head, redactions->bytes, redactions->bytes ? redactions->digest : "-", time);
}

/* A directory with the files `statement` and `signature`; ssh-keygen reads and writes files. */
struct workspace {
    char dir[PATH_MAX], statement[PATH_MAX + 16], signature[PATH_MAX + 24], sig[PATH_MAX + 24];
};

static bool write_file(const char *path, const char *text)
{
    FILE *out = cli_private_file(path);
    bool ok = out && fputs(text, out) >= 0;
    return out && fclose(out) == 0 && ok;
}

static bool workspace_make(struct workspace *w, const char *text)
{
    const char *above = getenv("TMPDIR");
    int n = snprintf(w->dir, sizeof w->dir, "%s/lineage-sign-XXXXXX", above && *above ? above : "/tmp");
    if (n < 0 || (size_t)n >= sizeof w->dir || !mkdtemp(w->dir)) {
        w->dir[0] = '\0';
        return false;
    }
    snprintf(w->statement, sizeof w->statement, "%s/statement", w->dir);
    snprintf(w->signature, sizeof w->signature, "%s/signature", w->dir);
    snprintf(w->sig, sizeof w->sig, "%s.sig", w->statement);
    return write_file(w->statement, text);
}

static void workspace_remove(const struct workspace *w)
{
    if (!w->dir[0])
        return;
    unlink(w->statement);
    unlink(w->signature);
    unlink(w->sig);
    rmdir(w->dir);
}

/* ---- reading ---- */

/* Opens the file of signatures inside the store, without following a link. */
static FILE *open_signed(const char *dir, const char *mode)
{
    char path[PATH_MAX];
    struct stat st;
    bool append = mode[0] == 'a';
    int n = snprintf(path, sizeof path, "%s/" PLACE_SIGNED, dir);
    if (n < 0 || (size_t)n >= sizeof path)
        return errno = ENAMETOOLONG, NULL;
    int flags = append ? O_RDWR | O_APPEND | O_CREAT : O_RDONLY;
    int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES)) {
        close(fd);
        return errno = EINVAL, NULL;
    }
    FILE *file = fd >= 0 ? fdopen(fd, append ? "a" : "r") : NULL;
    if (!file && fd >= 0)
        close(fd);
    return file;
}

static bool copy_text(char *out, size_t size, const json_t *object, const char *key)
{
    const char *text = cli_json_string(object, key);
    return text && (size_t)snprintf(out, size, "%s", text) < size;
}

/* A line without a line end was cut off by a kill, and does not count. */
static bool read_last(struct signed_heads *h, FILE *in)
{
    char line[LINE];
    json_t *last = NULL;
    bool any = false, sound = true;
    while (fgets(line, sizeof line, in)) {
        if (!strchr(line, '\n'))
            break;
        any = true;
        json_decref(last);
        last = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
    }
    json_int_t records = json_integer_value(json_object_get(last, "records"));
    sound = records > 0 && copy_text(h->head, sizeof h->head, last, "head") && copy_text(h->time, sizeof h->time, last, "time") &&
            strlen(h->head) == LINEAGE_DIGEST_TEXT - 1 && strspn(h->head, "0123456789abcdef") == LINEAGE_DIGEST_TEXT - 1 &&
            copy_text(h->signature, sizeof h->signature, last, "signature");
    json_int_t redacted = json_integer_value(json_object_get(last, "redactions"));
    sound = sound && redacted >= 0 &&
            (!redacted || copy_text(h->redactions.digest, sizeof h->redactions.digest, last, "redactions_digest"));
    h->redactions.bytes = (uint64_t)redacted;
    h->records = (uint64_t)records;
    h->is_damaged = any && !sound;
    json_decref(last);
    return any && sound;
}

/* Whether a key that the user trusts has made the signature. */
static void check_signature(struct signed_heads *h)
{
    char trusted[PATH_MAX], text[STATEMENT];
    struct workspace w;
    if (!(h->has_trusted = user_keys_trusted(trusted)))
        return;
    const char *const argv[] = {"ssh-keygen",        "-Y", "verify",    "-f", trusted, "-I", USER_KEYS_NAME, "-n",
                                USER_KEYS_NAMESPACE, "-s", w.signature, NULL};
    statement(text, h->records, h->head, &h->redactions, h->time);
    if (workspace_make(&w, text) && write_file(w.signature, h->signature))
        h->is_valid = run_ssh_keygen(argv, w.statement, false, h->why, sizeof h->why);
    else
        snprintf(h->why, sizeof h->why, "cannot write a temporary file: %s", strerror(errno));
    workspace_remove(&w);
}

/* A person who edits the store could record a redaction of a row that they changed, so the signature covers those, too. */
static void check_redactions(struct signed_heads *h, const struct lineage_store *store)
{
    struct lineage_redactions all = {.rows = 0}, signed_ones = {.rows = 0};
    struct lineage_error err;
    h->redactions_differ =
        lineage_redactions_read(store, 0, &all, &err) != LINEAGE_OK || all.bytes < h->redactions.bytes ||
        (h->redactions.bytes && (lineage_redactions_read(store, h->redactions.bytes, &signed_ones, &err) != LINEAGE_OK ||
                                 strcmp(signed_ones.digest, h->redactions.digest) != 0));
    h->redactions_since = h->redactions_differ ? 0 : (size_t)(all.bytes - h->redactions.bytes);
}

void signed_heads_read(struct signed_heads *h, const struct lineage_store *store)
{
    struct user_head kept;
    *h = (struct signed_heads){.is_there = false};
    if (!realpath(lineage_store_dir(store), h->store))
        h->store[0] = '\0';
    FILE *in = open_signed(lineage_store_dir(store), "r");
    h->is_damaged = !in && errno != ENOENT;
    h->is_there = in && read_last(h, in);
    if (in)
        fclose(in);
    if (h->is_there)
        check_signature(h);
    if (h->is_valid)
        check_redactions(h, store);
    if (h->store[0] && (h->is_remembered = user_head_find(&kept, h->store))) {
        h->remembered_records = kept.records;
        snprintf(h->remembered_head, sizeof h->remembered_head, "%s", kept.head);
        snprintf(h->remembered_time, sizeof h->remembered_time, "%s", kept.time);
    }
}

void signed_heads_remember(const struct signed_heads *h)
{
    struct user_head kept = {.records = h->records};
    if (!h->is_valid || !h->store[0] || (h->is_remembered && h->remembered_records >= h->records))
        return;
    snprintf(kept.head, sizeof kept.head, "%s", h->head);
    snprintf(kept.time, sizeof kept.time, "%s", h->time);
    user_head_keep(&kept, h->store);
}

/* ---- signing ---- */

static void time_now(char out[32])
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static bool read_signature(char *out, size_t size, const char *path)
{
    FILE *in = fopen(path, "re");
    size_t n = in ? fread(out, 1, size - 1, in) : 0;
    if (in)
        fclose(in);
    out[n] = '\0';
    return n > 0 && n < size - 1;
}

static int sign_statement(char *signature, size_t size, const char *text, const char *key, bool may_ask)
{
    struct workspace w;
    char why[300] = "";
    const char *const argv[] = {"ssh-keygen", "-Y", "sign", "-f", key, "-n", USER_KEYS_NAMESPACE, w.statement, NULL};
    bool ok = workspace_make(&w, text);
    if (!ok)
        snprintf(why, sizeof why, "cannot make a temporary file: %s", strerror(errno));
    ok = ok && run_ssh_keygen(argv, NULL, may_ask, why, sizeof why) && read_signature(signature, size, w.sig);
    workspace_remove(&w);
    if (ok)
        return CLI_GO_ON;
    return cli_error(CLI_SYSTEM, "cannot sign with %s: %s", key,
                     why[0] ? why : "ssh-keygen made no signature; if the key has a passphrase, give it to ssh-agent");
}

/* One line, with one write, and synced. A line that a kill cut off before is ended first, so that it stays alone. */
static int keep_signature(const struct lineage_store *store, const struct lineage_digests *digests,
                          const struct lineage_redactions *redactions, const char *time, const char *signature)
{
    json_t *line = json_pack("{s:I, s:s, s:s, s:s}", "records", (json_int_t)digests->records, "head", digests->head, "time", time,
                             "signature", signature);
    if (redactions->bytes)
        cli_json_set(line, "redactions", json_integer((json_int_t)redactions->bytes), "redactions_digest",
                     json_string(redactions->digest), NULL);
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    FILE *out = text ? open_signed(lineage_store_dir(store), "a") : NULL;
    char last = '\n';
    struct stat st;
    bool ok = out && fstat(fileno(out), &st) == 0 && (st.st_size == 0 || pread(fileno(out), &last, 1, st.st_size - 1) == 1);
    ok = ok && fprintf(out, "%s%s\n", last == '\n' ? "" : "\n", text) > 0 && fflush(out) == 0 && fsync(fileno(out)) == 0;
    int saved = errno;
    if (out)
        ok = fclose(out) == 0 && ok;
    free(text);
    json_decref(line);
    return ok ? CLI_GO_ON
              : cli_error(CLI_SYSTEM, "cannot write %s/" PLACE_SIGNED ": %s", lineage_store_dir(store), strerror(saved));
}

int signed_head_make(struct lineage_store *store, bool redacted, bool may_ask, struct lineage_digests *digests)
{
    char key[PATH_MAX], text[STATEMENT], time[32], signature[4096];
    struct signed_heads before;
    struct lineage_redactions redactions;
    struct lineage_error err;
    user_key_path(key);
    if (!key[0])
        return cli_error(CLI_USAGE, "no key to sign with is configured; choose one: lineage sign --key ~/.ssh/id_ed25519");
    if (lineage_store_digests(store, digests, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (!digests->head[0])
        return cli_error(CLI_NO, "nothing is signed, because rows do not match their digests; see lineage verify");
    if (!digests->records)
        return cli_error(CLI_NO, "nothing is signed, because the store has no rows");
    signed_heads_read(&before, store);
    if (before.redactions_differ || (before.redactions_since && !redacted))
        return cli_error(CLI_NO, "nothing is signed, because rows were redacted since the last signature; if you did that, use "
                                 "lineage sign --redacted");
    if (before.is_valid && strcmp(before.head, digests->head) == 0 && !before.redactions_since)
        return CLI_GO_ON;
    if (lineage_redactions_read(store, 0, &redactions, &err) != LINEAGE_OK)
        return cli_fail(&err);
    time_now(time);
    statement(text, digests->records, digests->head, &redactions, time);
    int status = sign_statement(signature, sizeof signature, text, key, may_ask);
    if (status == CLI_GO_ON)
        status = keep_signature(store, digests, &redactions, time, signature);
    if (status != CLI_GO_ON)
        return status;
    signed_heads_read(&before, store);
    signed_heads_remember(&before);
    return CLI_GO_ON;
}

void signed_head_after_night(struct lineage_store *store)
{
    char key[PATH_MAX];
    struct lineage_digests digests;
    user_key_path(key);
    if (key[0])
        (void)signed_head_make(store, false, false, &digests);
}
