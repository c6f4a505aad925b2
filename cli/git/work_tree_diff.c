/*
 * The state of a work tree is recorded twice. The diffs and copies of untracked files are complete in the store, whatever
 * happens to the repository, as long as the commit is there. A commit object with all of this together is in the
 * repository, where a ref keeps it (trial_ref.c); files that another trial had, too, take no more space.
 */
#include "git/git.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "cli.h"
#include "support/secrets.h"

/* ---- stores equal files of a store's provenance once ---- */

/* An entry is named by a digest, but the bytes are compared all the same: the store may come from somebody else, and a
 * trial must not get other code than it had. */

struct contents {
    char *bytes;
    size_t length;
    mode_t mode;
};

/* Reads a regular file of at most `max` bytes. */
static bool read_contents(struct contents *c, const char *path, size_t max)
{
    struct stat st;
    size_t got = 0;
    ssize_t n = 1;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    *c = (struct contents){0};
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && (size_t)st.st_size <= max) {
        c->length = (size_t)st.st_size;
        c->mode = st.st_mode & 07777;
        c->bytes = malloc(c->length + 1);
    }
    while (c->bytes && got < c->length && (n = read(fd, c->bytes + got, c->length - got)) > 0)
        got += (size_t)n;
    cli_close(fd);
    return c->bytes && got == c->length;
}

static bool is_equal(const struct contents *a, const struct contents *b)
{
    return a->length == b->length && a->mode == b->mode && memcmp(a->bytes, b->bytes, a->length) == 0;
}

/* Makes the pool and its parent if they are missing. */
static bool add(const char *pool, const char *path, const char *entry)
{
    char parent[PATH_MAX];
    if (link(path, entry) == 0)
        return true;
    snprintf(parent, sizeof parent, "%s", pool);
    char *slash = strrchr(parent, '/');
    if (errno != ENOENT || !slash)
        return false;
    *slash = '\0';
    mkdir(parent, 0700);
    mkdir(pool, 0700);
    return link(path, entry) == 0;
}

/* Makes the file `path` and an equal file of the directory `pool` one file with two names, or adds it to the pool if there is
 * none. Equal means the same bytes and the same permissions. scratch is a directory on the same file system that no other
 * process uses. A failure is harmless: the file then stays a copy. pool NULL: does nothing.
 *
 * Nothing removes entries of the pool. An entry whose link count is 1 belongs to no trial any more and may be removed,
 * and so may the whole pool. A copy of the store that does not keep links has more bytes and the same files. */
static void file_pool_share(const char *pool, const char *path, const char *scratch)
{
    char entry[PATH_MAX], fresh[PATH_MAX];
    struct contents mine, theirs = {0};
    if (!pool || !read_contents(&mine, path, SIZE_MAX))
        return;
    XXH128_hash_t hash = XXH3_128bits(mine.bytes, mine.length);
    int n = snprintf(entry, sizeof entry, "%s/%016llx%016llx-%04o", pool, (unsigned long long)hash.high64,
                     (unsigned long long)hash.low64, (unsigned)mine.mode);
    int m = snprintf(fresh, sizeof fresh, "%s/.shared", scratch);
    if (n > 0 && n < PATH_MAX && m > 0 && m < PATH_MAX && !add(pool, path, entry) && read_contents(&theirs, entry, SIZE_MAX) &&
        is_equal(&mine, &theirs) && link(entry, fresh) == 0 && rename(fresh, path) != 0)
        unlink(fresh);
    free(mine.bytes);
    free(theirs.bytes);
}

/* ----  The state of a work tree is recorded twice ---- */

enum { HIDDEN_MAX = 32, LEFT_NAMED = 4 };

/* What is recorded of one work tree. */
struct recording {
    struct repository *repository;
    const char *dir;   /* provenance/ of the trial, absolute */
    const char *pool;  /* directory of the file pool */
    const char *store; /* absolute */
    const char *const *secrets; /* patterns of secret files beside the built-in ones; NULL: none */
    json_t *result;
    char seen[PATH_MAX]; /* the directory that is_of_other_store looked at last .. */
    bool seen_is_store;  /* .. and whether it belongs to a store */
    FILE *copied;        /* names of the untracked files that belong to the code, each with a NUL */
    char *changed;       /* names of changed files that look secret, one after the other .. */
    const char *hidden[HIDDEN_MAX]; /* .. and where each begins */
    size_t n_hidden;
    bool has_links; /* the index has submodules, or other repositories that were added */
    bool has_store; /* the index has files of the store, which is below the top */
};

/* Adds to the text that says what was not recorded. */
__attribute__((format(printf, 2, 3))) static void leave_out(const struct recording *r, const char *format, ...)
{
    const char *before = cli_json_string(r->result, "left_out");
    char text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    json_object_set_new(r->result, "left_out", before ? json_sprintf("%.800s; %s", before, text) : cli_json_text(text));
}

/* ---- files of stores ---- */

/* The files of a store, by which they are recognized if the store is the top directory of the repository: names, or
 * beginnings of names. */
static const char *const own[] = {
    "results.tsv",   ".results.tsv.digests", ".trial-",     ".rerun-",      ".init-",      ".claim",       "lineage.",
    "lineage_",      "telemetry/",           "snapshots/",  "logs/",        "provenance/", "checkpoints/", "outbox/",
    "remarks.jsonl", "insights.jsonl",       "server.json", "KNOWLEDGE.md", NULL};

const char *work_tree_below(const char *top, const char *path)
{
    size_t n = strlen(top);
    if (strncmp(path, top, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    return path + n + (path[n] == '/');
}

static const char *store_below_top(const struct recording *r)
{
    return work_tree_below(r->repository->top, r->store);
}

static bool is_of_store(const struct recording *r, const char *name)
{
    const char *below = store_below_top(r);
    size_t n = below ? strlen(below) : 0;
    if (n)
        return strncmp(name, below, n) == 0 && name[n] == '/';
    for (size_t i = 0; below && own[i]; i++)
        if (strncmp(name, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

static bool holds_store(const struct recording *r, const char *dir, size_t length)
{
    static const char *const marks[] = {"lineage.json", ".results.tsv.digests", "lineage.db", NULL};
    char path[2 * PATH_MAX];
    for (size_t i = 0; marks[i]; i++) {
        snprintf(path, sizeof path, "%s/%.*s/%s", r->repository->top, (int)length, dir, marks[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* Whether a directory above the file is a store. git lists the files of a directory together, so the last answer usually
 * holds for the next file. */
static bool is_of_other_store(struct recording *r, const char *name)
{
    const char *slash = strrchr(name, '/');
    size_t length = slash ? (size_t)(slash - name) : 0;
    if (!length || length >= sizeof r->seen)
        return false;
    if (strlen(r->seen) == length && strncmp(r->seen, name, length) == 0)
        return r->seen_is_store;
    memcpy(r->seen, name, length);
    r->seen[length] = '\0';
    r->seen_is_store = false;
    for (const char *end = strchr(name, '/'); end && !r->seen_is_store; end = strchr(end + 1, '/'))
        r->seen_is_store = holds_store(r, name, (size_t)(end - name));
    return r->seen_is_store;
}

enum { OWN = sizeof own / sizeof *own, TEXTS = OWN + HIDDEN_MAX, WORDS_MAX = TEXTS + 24 };

/* Appends pathspecs that leave out the store and hidden files to the words of a git command. texts must outlive the words. */
static void leave_out_store(const struct recording *r, const char **words, size_t n, char texts[][PATH_MAX + 32])
{
    const char *below = store_below_top(r);
    words[n++] = "--";
    words[n++] = ".";
    for (size_t i = 0; below && (*below ? i < 1 : own[i] != NULL); i++) {
        const char *name = *below ? below : own[i];
        size_t length = strlen(name);
        bool whole = name[length - 1] != '.' && name[length - 1] != '-' && name[length - 1] != '_';
        snprintf(texts[i], PATH_MAX + 32, ":(exclude,%s)%.*s%s", whole ? "literal" : "glob",
                 (int)(length - (name[length - 1] == '/')), name, whole ? "" : "*");
        words[n++] = texts[i];
    }
    for (size_t i = 0; i < r->n_hidden; i++) {
        snprintf(texts[OWN + i], PATH_MAX + 32, ":(exclude,literal)%.*s", PATH_MAX, r->hidden[i]);
        words[n++] = texts[OWN + i];
    }
    words[n] = NULL;
}

/* Lines for an exclude file of git: the names of a store's files in the directory `prefix` of the repository. */
static char *exclude_lines(const char *prefix)
{
    struct cli_writer writer = {0};
    FILE *out = cli_writer_open(&writer);
    for (size_t i = 0; out && own[i]; i++)
        fprintf(out, "/%s%s%s\n", prefix, own[i], own[i][strlen(own[i]) - 1] == '/' ? "" : "*");
    return cli_writer_close(&writer);
}

/* A line for .hgignore, whatever its syntax: the directory, or, for the top directory, a store's files in it. */
static char *mercurial_line(const char *below)
{
    struct cli_writer writer = {0};
    FILE *out = cli_writer_open(&writer);
    for (size_t i = 0; out && (*below ? i < 1 : own[i] != NULL); i++) {
        fputs(i ? "|" : *below ? "re:^" : "re:^(", out);
        for (const char *c = *below ? below : own[i]; *c; c++)
            fprintf(out, "%s%c", strchr("\\.^$*+?{}[]|()#", *c) ? "\\" : "", *c);
    }
    if (out)
        fputs(*below ? "/" : ")", out);
    return cli_writer_close(&writer);
}

bool work_tree_exclude_store(const char *dir)
{
    char prefix[PATH_MAX], path[PATH_MAX], ignored[PATH_MAX];
    static const char *const where[] = {"rev-parse", "--show-prefix", NULL},
                             *const file[] = {"rev-parse", "--path-format=absolute", "--git-path", "info/exclude", NULL},
                             *const check[] = {"check-ignore", "--no-index", "results.tsv", NULL};
    struct repository *r = calloc(1, sizeof *r);
    if (repository_above(path, dir, ".hg") && realpath(dir, ignored)) {
        char *line = mercurial_line(strcmp(path, ignored) == 0 ? "" : ignored + strlen(path) + 1);
        cli_tell("Mercurial has no ignore file for one directory: add the line `%s` to %s/.hgignore, or commits take the rows of "
                 "this store and updates take them back",
                 line ? line : "", path);
        free(line);
    }
    bool done = !r || !repository_find(r, dir) || !r->has_files || repository_ask(ignored, sizeof ignored, dir, check);
    if (!done && repository_ask(path, sizeof path, dir, file)) {
        if (!repository_ask(prefix, sizeof prefix, dir, where))
            prefix[0] = '\0';
        char *lines = exclude_lines(prefix);
        FILE *out = lines ? fopen(path, "ae") : NULL;
        done = out && (fputs(lines, out) >= 0) + (fclose(out) == 0) == 2;
        free(lines);
    }
    free(r);
    return done;
}

/* ---- the index ---- */

/* Lists the entries with a letter for their flags: "H 100644 OBJECT 0\tNAME". */
static char *list_index(const struct recording *r, size_t *length)
{
    static const char *const words[] = {"ls-files", "-s", "-v", "-z", NULL};
    return repository_git(r->repository, NULL, words, 4 * (size_t)GIT_NAMES_MAX, length);
}

static const char *name_in(const char *entry)
{
    const char *tab = strchr(entry, '\t');
    return tab ? tab + 1 : "";
}

static bool is_link(const char *entry)
{
    return strncmp(entry + 1, " 160000 ", 8) == 0;
}

/*
 * Files with the flags assume-unchanged (a small letter) and skip-worktree (S) are not compared by git, but the trial ran them. The
 * flags are removed in the copy of the index. A file that is not there was left out by a sparse checkout.
 */
static void look_at_index(struct recording *r)
{
    char path[2 * PATH_MAX];
    struct stat st;
    size_t length;
    const char *below = store_below_top(r);
    char *entries = list_index(r, &length);
    for (size_t at = 0; entries && at < length; at += strlen(entries + at) + 1) {
        const char *name = name_in(entries + at);
        const char *const seen[] = {"update-index", "--no-assume-unchanged", "--", name, NULL};
        const char *const here[] = {"update-index", "--no-skip-worktree", "--", name, NULL};
        r->has_links = r->has_links || is_link(entries + at);
        r->has_store = r->has_store || (below && *below && is_of_store(r, name));
        snprintf(path, sizeof path, "%s/%s", r->repository->top, name);
        bool flagged = (entries[at] >= 'a' && entries[at] <= 'z') || entries[at] == 'S';
        if (flagged && lstat(path, &st) == 0 && (!repository_run(r->repository, seen) || !repository_run(r->repository, here)))
            leave_out(r, "changes of %.100s, which has a flag of git against that", name);
    }
    free(entries);
}

/* ---- secret files ---- */

static void note_secret(const struct recording *r, const char *name)
{
    json_t *list = json_object_get(r->result, "secret_files"), *text = cli_json_text(name);
    if (!list)
        json_object_set_new(r->result, "secret_files", list = json_array());
    json_array_append_new(list, text);
}

/*
 * Finds the tracked files that were changed and look secret, so that diffs leave them out. Returns false if they cannot all
 * be left out; then no diff may be made.
 */
static bool hide_changed(struct recording *r)
{
    char texts[TEXTS][PATH_MAX + 32];
    const char *words[WORDS_MAX] = {"diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all",
                                    "HEAD"};
    size_t length;
    r->n_hidden = 0;
    json_object_del(r->result, "secret_files");
    leave_out_store(r, words, 7, texts);
    free(r->changed);
    r->changed = repository_git(r->repository, NULL, words, GIT_NAMES_MAX, &length);
    for (size_t at = 0; r->changed && at < length; at += strlen(r->changed + at) + 1) {
        const char *name = r->changed + at;
        if (!secret_file(name, r->secrets))
            continue;
        if (r->n_hidden == HIDDEN_MAX)
            return false;
        r->hidden[r->n_hidden++] = name;
        note_secret(r, name);
    }
    return r->changed != NULL;
}

/* ---- diffs ---- */

static bool write_bytes(const char *dir, const char *name, const char *text, size_t length, mode_t mode)
{
    char path[PATH_MAX];
    FILE *out = cli_path_in(path, dir, name) ? cli_private_file(path) : NULL;
    if (!out)
        return false;
    bool ok = fchmod(fileno(out), mode) == 0 && fwrite(text, 1, length, out) == length;
    return fclose(out) == 0 && ok;
}

/*
 * cached is "--cached" to compare the index with HEAD, or NULL to compare the files with the index. A diff that is too
 * large is left out rather than truncated, because half a diff cannot be applied. Returns whether it was written.
 */
static bool write_diff(const struct recording *r, const char *name, const char *key, const char *cached)
{
    char file[64], texts[TEXTS][PATH_MAX + 32];
    const char *words[WORDS_MAX] = {"diff",     "--no-ext-diff", "--no-textconv",           "--no-color",
                                    "--binary", "--full-index",  "--ignore-submodules=all", cached ? cached : "--no-renames"};
    size_t length;
    leave_out_store(r, words, 8, texts);
    char *text = repository_git(r->repository, NULL, words, GIT_DIFF_MAX, &length);
    snprintf(file, sizeof file, "%s.diff", name);
    bool written = text && (length == 0 || write_bytes(r->dir, file, text, length, 0600));
    if (written)
        json_object_set_new(r->result, key, json_integer((json_int_t)length));
    else
        leave_out(r, "the %s changes: a diff that git could not make, or of more than 8 MiB", key);
    free(text);
    return written;
}

/* ---- untracked files ---- */

/* Creates the parent directories of a path. The part of the path before offset `from` already exists. */
static bool make_parents(char *path, size_t from)
{
    for (char *slash = path + from; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        bool ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        *slash = '/';
        if (!ok)
            return false;
    }
    return true;
}

/* Makes the same link again. It is never followed here. */
static bool copy_link(const char *from, char *to, size_t parents)
{
    char target[PATH_MAX];
    ssize_t n = readlink(from, target, sizeof target - 1);
    if (n <= 0 || !make_parents(to, parents))
        return false;
    target[n] = '\0';
    return symlink(target, to) == 0;
}

/* Copies a regular file or a link. Returns false for another kind of file, if it is larger than *room, or if copying fails. */
static bool copy_untracked(const struct recording *r, const char *name, size_t *room)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct contents file;
    struct stat st;
    int n = snprintf(from, sizeof from, "%s/%s", r->repository->top, name);
    int m = snprintf(to, sizeof to, "%s/untracked/%s", r->dir, name);
    if (n < 0 || n >= PATH_MAX || m < 0 || m >= PATH_MAX)
        return false;
    if (lstat(from, &st) == 0 && S_ISLNK(st.st_mode))
        return copy_link(from, to, strlen(r->dir));
    bool ok = read_contents(&file, from, *room) && make_parents(to, strlen(r->dir)) &&
              write_bytes(r->dir, to + strlen(r->dir) + 1, file.bytes, file.length, file.mode & 0700);
    if (ok) {
        *room -= file.length;
        file_pool_share(r->pool, to, r->dir);
    }
    free(file.bytes);
    return ok;
}

/* What programs leave beside their code: logs, curves, weights, the folders of trackers. Names that data or code of a person may have are
 * not among them. A pattern begins at the name of a file or of a directory above it. */
static const char outputs[] =
    "*.log *log.txt nohup.out *results.csv *metrics.csv *history.csv progress.csv *results.json *metrics.json *history.json "
    "trainer_state.json *.png *.pt *.pth *.ckpt *.safetensors *.keras *.onnx *.pyc *.wandb *tfevents* mlflow.db wandb/* mlruns/* "
    "lightning_logs/* catboost_info/* checkpoint-*/* .hydra/*";

/* Whether an untracked file is one of these. It is kept, but not in the commit: a log that grows is the same code, and would make each run
 * a setting of its own. */
static bool is_output(const char *name)
{
    char pattern[32];
    bool is = false;
    for (const char *one = outputs; *one && !is; one += strcspn(one, " "), one += *one == ' ') {
        snprintf(pattern, sizeof pattern, "%.*s", (int)strcspn(one, " "), one);
        for (const char *at = name; at && !is; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL)
            is = fnmatch(pattern, at, 0) == 0;
    }
    return is;
}

static bool take(const struct recording *r, const char *name, size_t *copied, size_t *room)
{
    bool taken = *copied < GIT_UNTRACKED_FILES && *name != '/' && !strstr(name, "..") && copy_untracked(r, name, room);
    *copied += taken;
    return taken;
}

static void note_left(char *text, size_t size, size_t n, const char *name)
{
    if (n < LEFT_NAMED)
        snprintf(text + strlen(text), size - strlen(text), "%s%.60s", n ? ", " : "", name);
}

static void write_untracked(struct recording *r)
{
    static const char *const words[] = {"ls-files", "-z", "--others", "--exclude-standard", NULL};
    size_t length, room = GIT_UNTRACKED_MAX, copied = 0, left = 0;
    char text[LEFT_NAMED * 64] = "", *names = repository_git(r->repository, NULL, words, GIT_NAMES_MAX, &length);
    json_t *beside = json_array(), *kept = json_array(), *one;
    size_t i;
    for (size_t at = 0; names && at < length; at += strlen(names + at) + 1) {
        const char *name = names + at;
        if (is_of_store(r, name) || is_of_other_store(r, name))
            continue;
        if (secret_file(name, r->secrets))
            note_secret(r, name);
        else if (is_output(name))
            json_array_append_new(beside, cli_json_text(name));
        else if (take(r, name, &copied, &room))
            fwrite(name, 1, strlen(name) + 1, r->copied);
        else
            note_left(text, sizeof text, left++, name);
    }
    json_array_foreach(beside, i, one) /* the code has the room first */
        if (take(r, json_string_value(one), &copied, &room))
            json_array_append(kept, one);
        else
            note_left(text, sizeof text, left++, json_string_value(one));
    json_object_set_new(r->result, "untracked", json_integer((json_int_t)copied));
    if (json_array_size(kept))
        json_object_set(r->result, "outputs", kept);
    json_decref(beside);
    json_decref(kept);
    if (!names)
        leave_out(r, "untracked files: git could not list them, or too many");
    else if (left)
        leave_out(r, "%zu untracked file%s (%s%s): too many, too large, or no files", left, left == 1 ? "" : "s", text,
                  left > LEFT_NAMED ? ", .." : "");
    free(names);
}

/* ---- one commit of everything ---- */

/* Writes the first line that git prints. */
static bool line_of(char *out, size_t size, const struct repository *r, const char *const *more, const char *const *words)
{
    size_t length;
    char *text = repository_git(r, more, words, 1 << 16, &length);
    return read_first_line(out, size, text);
}

/*
 * Adds the tracked files that differ from the index to the list of names. `git add -u` would do the same, but it asks every
 * submodule for its state, by a git that reads the submodule's configuration. A file that became a directory is refused,
 * because its name would stand for everything in the directory.
 */
static bool list_changed(const struct recording *r)
{
    char texts[TEXTS][PATH_MAX + 32], path[2 * PATH_MAX];
    const char *words[WORDS_MAX] = {"diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=all"};
    struct stat st;
    size_t length;
    leave_out_store(r, words, 6, texts);
    char *names = repository_git(r->repository, NULL, words, GIT_NAMES_MAX, &length);
    bool plain = names != NULL;
    for (size_t at = 0; plain && at < length; at += strlen(names + at) + 1) {
        snprintf(path, sizeof path, "%s/%s", r->repository->top, names + at);
        plain = lstat(path, &st) != 0 || !S_ISDIR(st.st_mode);
    }
    plain = plain && fwrite(names, 1, length, r->copied) == length && fflush(r->copied) == 0;
    free(names);
    return plain;
}

/*
 * ---- submodules ----
 *
 * A submodule has a repository of its own, whose commits nobody keeps and which a checkout elsewhere cannot reach. So the commit of a
 * trial has the files of a submodule themselves, in place of the link to its commit.
 */

/* Lists the files that belong to the code in the submodule, for `git add`. They must exist, because git refuses other names. */
static bool list_files(const struct recording *r, const struct repository *sub, const char *name)
{
    static const char *const words[] = {"ls-files", "-z", "--cached", "--others", "--exclude-standard", NULL};
    char path[2 * PATH_MAX];
    struct stat st;
    size_t length;
    snprintf(path, sizeof path, "%s/names", sub->scratch);
    FILE *out = fopen(path, "we");
    char *names = out ? repository_git(sub, NULL, words, GIT_NAMES_MAX, &length) : NULL;
    for (size_t at = 0; names && at < length; at += strlen(names + at) + 1) {
        snprintf(path, sizeof path, "%s/%s", sub->top, names + at);
        if (lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            leave_out(r, "the submodule %.80s/%.80s", name, names + at);
        else if (secret_file(names + at, r->secrets))
            leave_out(r, "the file %.80s/%.80s, which looks secret", name, names + at);
        else
            fwrite(names + at, 1, strlen(names + at) + 1, out);
    }
    free(names);
    return out && fclose(out) == 0 && names;
}

/* Makes a tree of the files of the submodule, with all objects in the main repository. */
static bool make_tree(const struct recording *r, struct repository *sub, const char *name, char tree[REPOSITORY_COMMIT_MAX])
{
    char list[PATH_MAX + 32], index[PATH_MAX + 16];
    const char *const add[] = {"--literal-pathspecs", "add", "-A", "-f", list, "--pathspec-file-nul", NULL};
    static const char *const write_tree[] = {"write-tree", NULL};
    bool made = repository_scratch_make(sub, r->repository->scratch) && list_files(r, sub, name);
    snprintf(list, sizeof list, "--pathspec-from-file=%s/names", sub->scratch);
    snprintf(index, sizeof index, "%s/index", sub->scratch);
    unlink(index); /* its objects are only in the submodule */
    memcpy(sub->objects, r->repository->objects, sizeof sub->objects);
    sub->shares_objects = true;
    made = made && repository_run(sub, add) && line_of(tree, REPOSITORY_COMMIT_MAX, sub, NULL, write_tree);
    repository_scratch_remove(sub);
    return made;
}

/* Puts the files of a submodule into the index of the scratch repository. One that is not checked out had no files when the trial
 * ran. */
static bool put_submodule(const struct recording *r, const char *name)
{
    char path[2 * PATH_MAX], prefix[PATH_MAX + 16], tree[REPOSITORY_COMMIT_MAX], top[PATH_MAX];
    const char *const forget[] = {"update-index", "--force-remove", "--", name, NULL};
    const char *const read_tree[] = {"read-tree", prefix, tree, NULL};
    struct repository *sub = calloc(1, sizeof *sub);
    snprintf(path, sizeof path, "%s/%s", r->repository->top, name);
    snprintf(prefix, sizeof prefix, "--prefix=%s/", name);
    bool here = sub && realpath(path, top) && repository_find(sub, top) && strcmp(sub->top, top) == 0;
    bool put = here && make_tree(r, sub, name, tree) && repository_run(r->repository, forget) &&
               repository_run(r->repository, read_tree);
    strcat(path, "/.git");
    if (!put && (here || access(path, F_OK) == 0))
        leave_out(r, "the submodule %.80s", name);
    free(sub);
    return put;
}

/* Returns false if git cannot list the submodules; *n counts those whose files are in the index now. */
static bool put_submodules(const struct recording *r, size_t *n)
{
    size_t length;
    char *entries = list_index(r, &length);
    for (size_t at = 0; entries && at < length; at += strlen(entries + at) + 1)
        *n += is_link(entries + at) && put_submodule(r, name_in(entries + at));
    free(entries);
    return entries != NULL;
}

/* Makes a commit by the words of `git commit-tree`. Author and time are not those of now, so that equal code gives an equal commit. */
static bool commit_at(char commit[REPOSITORY_COMMIT_MAX], const struct repository *git, const char *time,
                      const char *const *words)
{
    char dates[2][64];
    const char *const identity[] = {"GIT_AUTHOR_NAME=lineage",
                                    "GIT_AUTHOR_EMAIL=lineage@localhost",
                                    "GIT_COMMITTER_NAME=lineage",
                                    "GIT_COMMITTER_EMAIL=lineage@localhost",
                                    dates[0],
                                    dates[1],
                                    NULL};
    snprintf(dates[0], sizeof dates[0], "GIT_AUTHOR_DATE=@%s +0000", time);
    snprintf(dates[1], sizeof dates[1], "GIT_COMMITTER_DATE=@%s +0000", time);
    return line_of(commit, REPOSITORY_COMMIT_MAX, git, identity, words);
}

/*
 * Makes a commit whose tree is the work tree with its untracked files and whose parent is HEAD, without touching HEAD or the
 * index. Its date is that of its parent.
 */
static bool make_commit(struct recording *r, char commit[REPOSITORY_COMMIT_MAX], char tree[REPOSITORY_COMMIT_MAX])
{
    struct repository *git = r->repository;
    char list[PATH_MAX + 32], time[32] = "0";
    const char *const add[] = {"--literal-pathspecs", "add", "-A", "-f", list, "--pathspec-file-nul", NULL};
    const char *const write_tree[] = {"write-tree", "--missing-ok", NULL}; /* a partial clone lacks blobs */
    const char *const show[] = {"show", "-s", "--format=%ct", git->commit, NULL};
    const char *const commit_tree[] = {
        "commit-tree", tree, "-p", git->commit, "-m", "Uncommitted changes of a trial, recorded by lineage", NULL};
    snprintf(list, sizeof list, "--pathspec-from-file=%s/names", git->scratch);
    git->shares_objects = true;
    size_t n = 0;
    bool made =
        list_changed(r) && (ftell(r->copied) == 0 || repository_run(git, add)) && (!r->has_links || put_submodules(r, &n));
    if (n)
        json_object_set_new(r->result, "submodules", json_integer((json_int_t)n));
    made = made && line_of(tree, REPOSITORY_COMMIT_MAX, git, NULL, write_tree) && line_of(time, sizeof time, git, NULL, show) &&
           commit_at(commit, git, time, commit_tree);
    git->shares_objects = false;
    return made;
}

/* Replaces the tree by one without the store, which has rows instead of code. */
static bool take_store_out(struct recording *r, char tree[REPOSITORY_COMMIT_MAX])
{
    const char *const take[] = {"--literal-pathspecs", "rm", "-r", "-q", "--cached", "--ignore-unmatch", "--",
                                store_below_top(r),    NULL};
    const char *const write_tree[] = {"write-tree", "--missing-ok", NULL};
    return repository_run(r->repository, take) && line_of(tree, REPOSITORY_COMMIT_MAX, r->repository, NULL, write_tree);
}

/* The commit that holds the code of the trial: HEAD itself if nothing was changed. No commit is made of a part of the
 * changes. */
static void write_code(struct recording *r, bool complete)
{
    char commit[REPOSITORY_COMMIT_MAX], tree[REPOSITORY_COMMIT_MAX];
    static const char *const counts[] = {"staged", "unstaged"};
    bool changed = ftell(r->copied) > 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        changed = changed || json_integer_value(json_object_get(r->result, counts[i])) > 0;
    if (!complete || fflush(r->copied) != 0)
        return;
    bool made = (changed || r->has_links) && make_commit(r, commit, tree);
    const bool of_head = !changed && !json_object_get(r->result, "submodules"); /* or all of them are not checked out */
    if (!of_head && !made)
        return;
    json_object_set_new(r->result, "code", json_string(of_head ? r->repository->commit : commit));
    if (of_head)
        snprintf(tree, sizeof tree, "%s", r->repository->tree);
    if (!r->has_store || take_store_out(r, tree))
        json_object_set_new(r->result, "tree", json_string(tree));
}

/* The index of a user may be split into two files, of which the copy has one. With the index of HEAD instead, staged changes
 * count as unstaged ones. */
static bool use_index_of_head(const struct recording *r)
{
    const char *const read_tree[] = {"read-tree", r->repository->commit, NULL};
    char index[PATH_MAX + 16];
    snprintf(index, sizeof index, "%s/index", r->repository->scratch);
    unlink(index);
    return repository_run(r->repository, read_tree);
}

static void record(struct recording *r)
{
    char names[PATH_MAX + 16];
    snprintf(names, sizeof names, "%s/names", r->repository->scratch);
    r->copied = fopen(names, "we");
    if (!r->copied)
        return;
    look_at_index(r);
    bool hidden = hide_changed(r) || (use_index_of_head(r) && hide_changed(r));
    if (!hidden)
        leave_out(r, "the changes: git could not list them, or too many are in secret files");
    bool staged = hidden && write_diff(r, "staged", "staged", "--cached");
    if (!staged && hidden && use_index_of_head(r) && (staged = write_diff(r, "staged", "staged", "--cached")))
        json_object_del(r->result, "left_out");
    bool unstaged = hidden && write_diff(r, "unstaged", "unstaged", NULL);
    write_untracked(r);
    write_code(r, staged && unstaged);
    fclose(r->copied);
}

/* Before the first commit of a repository, everything is a change of an empty commit, which is made here, in the user's repository. */
static bool begin_history(struct repository *git)
{
    static const char *const empty_tree[] = {"hash-object", "-t", "tree", "-w", "/dev/null", NULL};
    char tree[REPOSITORY_COMMIT_MAX];
    const char *const commit_tree[] = {"commit-tree", tree, "-m", "No commit yet, recorded by lineage", NULL};
    git->shares_objects = true;
    bool made = line_of(tree, sizeof tree, git, NULL, empty_tree) && commit_at(git->commit, git, "0", commit_tree);
    git->shares_objects = false;
    return made && repository_scratch_head(git);
}

json_t *work_tree_diff_write(const char *dir, const char *work, const char *store, const char *pool, const char *const *secrets)
{
    char absolute[PATH_MAX], store_path[PATH_MAX]; /* git runs in another directory */
    struct repository *repository = calloc(1, sizeof *repository);
    struct recording *r = calloc(1, sizeof *r);
    json_t *result = NULL;
    if (r && repository && realpath(dir, absolute) && realpath(store, store_path) && repository_find(repository, work) &&
        repository->has_files && repository_scratch_make(repository, absolute) &&
        (repository->commit[0] || begin_history(repository))) {
        result =
            json_pack("{s:s, s:s, s:o, s:s}", "commit", repository->commit, "top", repository->top, "common",
                      json_stringn(repository->objects, strlen(repository->objects) - strlen("/objects")), "store", store_path);
        if (repository->branch[0])
            json_object_set_new(result, "branch", json_string(repository->branch));
        *r = (struct recording){
            .repository = repository, .dir = absolute, .pool = pool, .store = store_path, .secrets = secrets, .result = result};
        record(r);
    }
    if (repository)
        repository_scratch_remove(repository);
    if (r)
        free(r->changed);
    free(r);
    free(repository);
    return result;
}

/* ---- restoring ---- */

/* If the diff file is missing, there were no changes to record. */
static bool apply(const struct repository *r, const char *provenance, const char *name)
{
    char path[PATH_MAX];
    const char *const words[] = {"apply", "--whitespace=nowarn", path, NULL};
    return cli_path_in(path, provenance, name) && (access(path, F_OK) != 0 || repository_run(r, words));
}

static bool copy_back(const char *provenance, const char *to)
{
    char from[PATH_MAX], target[PATH_MAX];
    const char *const argv[] = {"cp", "-R", "-P", "--preserve=mode", from, target, NULL};
    size_t length;
    int n = snprintf(from, sizeof from, "%s/untracked/.", provenance), m = snprintf(target, sizeof target, "%s/", to);
    if (n < 0 || n >= PATH_MAX || m < 0 || m >= PATH_MAX || access(from, F_OK) != 0)
        return true;
    char *text = read_command(argv, NULL, 60, 1 << 16, &length);
    free(text);
    return text != NULL;
}

/* r->commit is checked out; provenance NULL: it is the whole code. */
static bool restore(struct repository *r, const char *provenance, const char *to)
{
    char prefix[PATH_MAX + 16];
    const char *const read_tree[] = {"read-tree", r->commit, NULL};
    const char *const checkout[] = {"checkout-index", "--all", "--force", prefix, NULL};
    char absolute[PATH_MAX];
    if (provenance && !realpath(provenance, absolute))
        return false;
    snprintf(prefix, sizeof prefix, "--prefix=%s/", to);
    r->index[0] = '\0'; /* read-tree creates the commit's index */
    if (!repository_scratch_make(r, to) || !repository_run(r, read_tree) || !repository_run(r, checkout))
        return false;
    snprintf(r->top, sizeof r->top, "%s", to);
    snprintf(r->work_tree, sizeof r->work_tree, "GIT_WORK_TREE=%s", to);
    return !provenance || (apply(r, absolute, "staged.diff") && apply(r, absolute, "unstaged.diff") && copy_back(absolute, to));
}

/* The commit of the whole code is preferred: it needs no diff to be applied, and a ref keeps it. */
bool work_tree_diff_restore(const char *provenance, const json_t *git, const char *to)
{
    char lack[TRIAL_PLACE_LACK_MAX];
    const char *top = trial_place_of(git);
    const char *commit = cli_json_string(git, "commit");
    const char *code = cli_json_string(git, "code");
    struct repository *r = calloc(1, sizeof *r);
    bool ok = false;
    if (!r || !top || !commit || !repository_find(r, top)) {
        cli_error(CLI_USAGE, "%s", trial_place_lack(lack, git));
    } else if (code && repository_commit(r->commit, r, code)) {
        ok = restore(r, NULL, to) && copy_back(provenance, to); /* what was beside the code, too */
    } else if (repository_commit(r->commit, r, commit)) {
        ok = restore(r, provenance, to);
    } else {
        cli_error(CLI_USAGE, "commit %.40s is no longer in the repository %s", commit, top);
        free(r);
        return false;
    }
    if (!ok && r && r->scratch[0])
        cli_error(CLI_SYSTEM, "cannot bring back commit %.40s of %s with its changes", commit, top);
    if (r)
        repository_scratch_remove(r);
    free(r);
    return ok;
}
