/*
 * failure_evidence.c: see failure_evidence.h.
 *
 * The output is split into lines, and each form of report is searched for in turn. What a form needs is fixed text at
 * the beginning of a line, so the cost is proportional to the output's length.
 */
#include "run/failure_evidence.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/environment.h"

enum { LINES_MAX = 512, WHAT_MAX = 200, WHERE_MAX = 100 };

struct lines {
    char *at[LINES_MAX]; /* the latest lines of the output */
    size_t n;
};

struct found {
    char what[WHAT_MAX], where[WHERE_MAX];
};

/* ---- lines ---- */

/* Removes colours and other control characters in place. */
static void plain(char *line)
{
    char *to = line;
    for (const char *from = line; *from; from++) {
        if (*from == '\033' && from[1] == '[') {
            from += 2;
            while (*from && !(*from >= '@' && *from <= '~'))
                from++;
            if (!*from)
                break;
        } else if ((unsigned char)*from >= ' ' || *from == '\t') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* A progress bar ends its line with a carriage return, so that counts as a line end too. */
static void split(struct lines *lines, char *text)
{
    char *rest = text, *line;
    while ((line = strtok_r(rest, "\n\r", &rest))) {
        if (lines->n == LINES_MAX)
            memmove(lines->at, lines->at + 1, --lines->n * sizeof *lines->at);
        plain(line);
        lines->at[lines->n++] = line;
    }
}

static bool begins(const char *line, const char *prefix)
{
    return strncmp(line, prefix, strlen(prefix)) == 0;
}

static const char *unindented(const char *line)
{
    return line + strspn(line, " \t");
}

/* ---- where ---- */

/* Code of the language or of an installed package, in which a user's mistake shows up but was not made. */
static bool is_of_library(const char *path, size_t n)
{
    static const char *const libraries[] = {"site-packages/", "dist-packages/", "/lib/python", "<frozen", "node:internal",
                                            "node_modules/", "/rustc/", "/usr/local/go/", "/usr/lib/go"};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (memmem(path, n, libraries[i], strlen(libraries[i])))
            return true;
    return false;
}

/*
 * Writes NAME:LINE for the path [n]. A directory is written only where the name alone says nothing, so that the same
 * failure has the same evidence in every work directory.
 */
static void put_where(struct found *found, const char *path, size_t n, unsigned long line)
{
    size_t begin = n;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    if (begin > 1 && n - begin > 2 && strncmp(path + begin, "__", 2) == 0)
        for (begin--; begin > 0 && path[begin - 1] != '/'; begin--)
            ;
    snprintf(found->where, sizeof found->where, "%.*s:%lu", (int)(n - begin > 80 ? 80 : n - begin), path + begin, line);
}

/*
 * Finds NAME.EXT:LINE in the text. The path ends before the colon and begins after a blank, a parenthesis or a quote.
 * Returns the first character after the line number and its column, or NULL.
 */
static const char *find_place(struct found *found, const char *text)
{
    for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':')) {
        const char *begin = colon;
        if (!isdigit((unsigned char)colon[1]))
            continue;
        while (begin > text && !strchr(" \t('\"`=", begin[-1]))
            begin--;
        const char *name = begin;
        for (const char *c = begin; c < colon; c++)
            name = *c == '/' ? c + 1 : name;
        const char *dot = memchr(name, '.', (size_t)(colon - name));
        if (!dot || dot == name || !isalpha((unsigned char)dot[1]) || colon - begin > 300)
            continue;
        char *end;
        unsigned long line = strtoul(colon + 1, &end, 10);
        put_where(found, begin, (size_t)(colon - begin), line);
        if (*end == ':' && isdigit((unsigned char)end[1]))
            strtoul(end + 1, &end, 10);
        return end;
    }
    return NULL;
}

static void put_what(struct found *found, const char *what)
{
    snprintf(found->what, sizeof found->what, "%s", unindented(what));
    for (size_t n = strlen(found->what); n > 0 && strchr(" \t:,", found->what[n - 1]); n--)
        found->what[n - 1] = '\0';
}

/* ---- Python ---- */

/* Reads `  File "PATH", line N, in F`. */
static bool is_frame(const char *line, const char **path, size_t *n, unsigned long *number)
{
    const char *at = unindented(line), *end = begins(at, "File \"") ? strstr(at + 6, "\", line ") : NULL;
    if (!end || at == line)
        return false;
    *path = at + 6;
    *n = (size_t)(end - *path);
    *number = strtoul(end + 8, NULL, 10);
    return true;
}

/* A launcher whose child failed reports the child's end as an exception of its own. */
static bool is_of_launcher(const char *line)
{
    return strstr(line, "ChildFailedError") || strstr(line, "ProcessRaisedException") || strstr(line, "CalledProcessError");
}

/*
 * The exception is the first line behind the frames that is not indented. The place is the innermost frame in code of
 * the user, or the innermost frame if there is none. Of several tracebacks the last one counts, which is the one that
 * ended the program.
 */
static bool find_python(struct found *found, const struct lines *lines)
{
    const char *path;
    size_t n;
    unsigned long number;
    bool own = false, any = false;
    for (size_t i = 0; i < lines->n; i++) {
        const char *line = lines->at[i];
        if (begins(line, "Traceback (most recent call last)"))
            own = false;
        if (!is_frame(line, &path, &n, &number))
            continue;
        struct found next = {.what = ""};
        for (; i < lines->n && (isblank((unsigned char)*lines->at[i]) || !*lines->at[i]); i++)
            if (is_frame(lines->at[i], &path, &n, &number) && (!own || !is_of_library(path, n))) {
                own = !is_of_library(path, n);
                put_where(&next, path, n, number);
            }
        own = false;
        if (i == lines->n || begins(lines->at[i], "Traceback") || !isalpha((unsigned char)*lines->at[i]) ||
            (any && is_of_launcher(lines->at[i])))
            continue;
        put_what(&next, lines->at[i]);
        *found = next;
        any = true;
    }
    return any;
}

/* ---- other languages ---- */

/* `thread 'main' panicked at src/main.rs:12:5:` and the message in the next line; before Rust 1.73 the message came
 * first. */
static bool find_rust(struct found *found, const struct lines *lines)
{
    for (size_t i = lines->n; i-- > 0;) {
        const char *at = strstr(lines->at[i], "panicked at ");
        if (!at || !begins(lines->at[i], "thread '"))
            continue;
        find_place(found, at);
        bool before = at[12] == '\'';
        put_what(found, before ? at + 12 : i + 1 < lines->n ? lines->at[i + 1] : "panicked");
        return true;
    }
    return false;
}

/* The place of a report whose frames follow it: the first one in code of the user. */
static void place_below(struct found *found, const struct lines *lines, size_t i)
{
    for (size_t end = i + 30; i < lines->n && i < end; i++)
        if (!is_of_library(lines->at[i], strlen(lines->at[i])) && find_place(found, lines->at[i]))
            return;
}

static bool find_headline(struct found *found, const struct lines *lines)
{
    /* `keep`: the reported text includes the prefix. */
    static const struct {
        const char *prefix;
        bool keep;
    } heads[] = {{"SUMMARY: ", false},       {"panic: ", true},         {"Exception in thread ", true},
                 {"terminate called after throwing an instance of ", false}, {"ERROR: LoadError: ", false},
                 {"Error in ", true},        {"fatal error: ", true}};
    for (size_t i = lines->n; i-- > 0;)
        for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
            if (begins(lines->at[i], heads[k].prefix)) {
                put_what(found, lines->at[i] + (heads[k].keep ? 0 : strlen(heads[k].prefix)));
                place_below(found, lines, i);
                return true;
            }
    return false;
}

/* `TypeError: message` with `    at f (/path/train.js:3:5)` below it. */
static bool find_node(struct found *found, const struct lines *lines)
{
    for (size_t i = lines->n; i-- > 1;) {
        size_t name = strcspn(lines->at[i - 1], ": ");
        if (!begins(unindented(lines->at[i]), "at ") || lines->at[i] == unindented(lines->at[i]) || name < 5 ||
            (strncmp(lines->at[i - 1] + name - 5, "Error", 5) != 0 && (name < 9 || strncmp(lines->at[i - 1] + name - 9, "Exception", 9) != 0)))
            continue;
        put_what(found, lines->at[i - 1]);
        place_below(found, lines, i);
        return true;
    }
    return false;
}

/*
 * `train: train.c:12: main: Assertion `n > 0' failed.` and `train.c:12:5: error: ..`. Only lines that say that
 * something failed count, because a log may contain FILE:LINE in every line. A compiler's first error is the cause of the
 * others; of failures at run time the last one ended the program.
 */
static bool find_place_line(struct found *found, const struct lines *lines)
{
    static const char *const failures[] = {"Assertion", "assert", "error:", "Error", "failed", "FAILED", "fatal", "FATAL", "undefined"};
    bool any = false;
    for (size_t i = 0; i < lines->n; i++) {
        struct found next = {.what = ""};
        const char *after = find_place(&next, lines->at[i]);
        bool failed = false;
        for (size_t k = 0; after && k < sizeof failures / sizeof *failures; k++)
            failed = failed || strstr(after, failures[k]);
        if (!failed || (any && strstr(after, " error: ")))
            continue;
        put_what(&next, after + strspn(after, ": "));
        *found = next;
        any = true;
    }
    return any;
}

/* `sh: 1: foo: not found`, `bash: line 1: foo: command not found`, `prog: error while loading shared libraries: ..`, and
 * lines that begin with the name of an error. */
static bool find_line(struct found *found, const struct lines *lines)
{
    static const char *const parts[] = {": not found", ": command not found", "error while loading shared libraries",
                                        "No such file or directory", "Permission denied", "No space left on device",
                                        "out of memory", "Out of memory"};
    for (size_t i = lines->n; i-- > 0;) {
        const char *line = unindented(lines->at[i]);
        size_t name = strcspn(line, ":");
        bool named = line[name] == ':' && name >= 5 && name < 60 && !memchr(line, ' ', name) &&
                     (strncasecmp(line + name - 5, "error", 5) == 0 || strncasecmp(line, "fatal", 5) == 0);
        for (size_t k = 0; !named && k < sizeof parts / sizeof *parts; k++)
            named = strstr(line, parts[k]) != NULL;
        if (!named)
            continue;
        put_what(found, line);
        return true;
    }
    return false;
}

/* ---- the cause ---- */

static bool has_any(const char *text, const char *const *parts)
{
    for (; *parts; parts++)
        if (strstr(text, *parts))
            return true;
    return false;
}

/* Exit status 127 is a shell's for a command that was not found. */
static enum trial_cause cause_of(const char *what, int exit_status)
{
    static const char *const memory[] = {"MemoryError", "OutOfMemory", "out of memory", "Out of memory", "bad_alloc",
                                         "Cannot allocate memory", NULL};
    if (cli_blames_environment(what) || (exit_status == 127 && strstr(what, "not found")))
        return TRIAL_CAUSE_ENVIRONMENT;
    return has_any(what, memory) ? TRIAL_CAUSE_MEMORY : TRIAL_CAUSE_UNKNOWN;
}

void failure_evidence_read(struct trial_outcome *outcome, const char *text, size_t n)
{
    static bool (*const forms[])(struct found *, const struct lines *) = {find_python,   find_rust, find_headline,
                                                                          find_node,     find_place_line, find_line};
    struct found found = {.what = ""};
    struct lines *lines = calloc(1, sizeof *lines);
    char *copy = malloc(n + 1);
    bool any = false;
    outcome->evidence[0] = '\0';
    outcome->cause = TRIAL_CAUSE_UNKNOWN;
    if (!lines || !copy)
        goto done; /* the trial is labelled without it */
    for (size_t i = 0; i < n; i++)
        copy[i] = text[i] ? text[i] : ' ';
    copy[n] = '\0';
    split(lines, copy);
    for (size_t i = 0; !any && i < sizeof forms / sizeof *forms; i++)
        any = forms[i](&found, lines);
    if (any && found.what[0]) {
        snprintf(outcome->evidence, sizeof outcome->evidence, "%s%s%s%s", found.what, found.where[0] ? " (" : "", found.where,
                 found.where[0] ? ")" : "");
        outcome->cause = cause_of(found.what, outcome->exit_status);
    }

done:
    free(copy);
    free(lines);
}
