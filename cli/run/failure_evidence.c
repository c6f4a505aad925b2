/*
 * The output is split into lines without colours, boxes and the prefixes of launchers. Each process whose lines a launcher
 * prefixes is read alone, because the lines of several processes alternate. In the lines of a process each form of report is
 * searched for in turn. What a form needs is fixed text at the beginning of a line, so the cost is proportional to the
 * output's length.
 */
#include "run/run_parts.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "metrics/metric_scan.h"
#include "support/environment.h"
#include "trial/one_trial.h"

/* A report may be anywhere in the last NEAR_BYTES and NEAR_MAX lines, and above them if nothing but its own frames follows it. */
enum { LINES_MAX = 4096, NEAR_MAX = 512, NEAR_BYTES = 16384 };
enum {
    WHAT_MAX = 200,
    WHERE_MAX = 100,
    SOURCES_MAX = 64,
    PREFIX_MAX = 80,
    WORD_MAX = 64,
    BELOW_MAX = 12,
    FEW = 6,
    CLOSING_MAX = 24
};

struct lines {
    char *at[LINES_MAX]; /* the latest lines of the output */
    struct {
        const char *prefix; /* what a launcher wrote in front; NULL: nothing */
        unsigned char prefix_n, boxed;
        bool progress; /* the line holds a step or a metric */
    } of[LINES_MAX];
    size_t n;
    bool by_signal; /* a signal ended the program, so its last line need not say why */
};

/* How sure it is that a report is about the end of the program. */
enum strength { NOTHING, A_LINE, A_LAUNCHER, A_REPORT };

struct found {
    char what[WHAT_MAX], where[WHERE_MAX];
    enum strength strength;
    enum lineage_cause cause; /* if the form of the report shows it */
    bool importing; /* the program's own code imports a package, which failed then, or starts another program that is not there */
    bool dies; /* no program goes on after such a report, unless it handles the error */
    size_t line; /* of the error itself */
};

/* ---- lines ---- */

static bool begins(const char *line, const char *prefix)
{
    return strncmp(line, prefix, strlen(prefix)) == 0;
}

static bool holds(const char *line, const char *text)
{
    return strstr(line, text) != NULL;
}

static bool holds_in_any_case(const char *line, const char *text)
{
    return strcasestr(line, text) != NULL;
}

static bool begins_in_any_case(const char *line, const char *prefix)
{
    return strncasecmp(line, prefix, strlen(prefix)) == 0;
}

/* Whether the line matches one of the words, between which is a `|`. */
static bool any_of(const char *line, bool (*matches)(const char *line, const char *word), const char *words)
{
    char word[WORD_MAX];
    bool is = false;
    for (size_t n; !is && *words; words += n + (words[n] == '|')) {
        n = strcspn(words, "|");
        memcpy(word, words, n);
        word[n] = '\0';
        is = matches(line, word);
    }
    return is;
}

static const char *unindented(const char *line)
{
    return line + strspn(line, " \t");
}

static bool is_header(const char *line)
{
    return strstr(line, "Traceback (most recent call last)") != NULL;
}

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

/*
 * Returns the length of a launcher's prefix: `[rank0]: ` and `[default0]:` of torch, `[1,0]<stderr>:` of mpirun,
 * `(train pid=12) ` of Ray, `0: ` of srun, `trainer-1  | ` of docker compose; 0 if there is none.
 */
static size_t prefix_length(const char *line)
{
    size_t blanks = strspn(line, " "),
           word = blanks + strspn(line + blanks, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
    const char *end = NULL;
    if (*line == '[' && (end = strchr(line, ']'))) {
        bool ranks = strspn(line + 1, "0123456789,") == (size_t)(end - line - 1),
             numbered = isdigit((unsigned char)end[-1]) && !memchr(line, ' ', (size_t)(end - line));
        if (ranks && end[1] == '<')
            end = strchr(end, '>');
        end = !end || (!ranks && !numbered) || (end[1] != ':' && !ranks) ? NULL : end + 1 + (end[1] == ':');
    } else if (*line == '(' && (end = strchr(line, ')'))) {
        const char *pid = strstr(line, " pid=");
        end = pid && pid < end ? end + 1 : NULL;
    } else if (word > blanks && begins(line + word + strspn(line + word, " "), "| ")) {
        end = blanks ? NULL : line + word + strspn(line + word, " ") + 1;
    } else if (word > blanks && strspn(line + blanks, "0123456789") == word - blanks && begins(line + word, ": ")) {
        end = line + word + 1;
    }
    size_t n = end ? (size_t)(end - line) : 0;
    return n < PREFIX_MAX ? n : 0;
}

/* Removes the edges of a box that rich draws (`│ text │`), and those of a group of exceptions (`  | text`). */
static char *unframed(char *line, unsigned char *boxed)
{
    static const char edge[] = "\xe2\x94\x82";
    size_t blanks = strspn(line, " "), n = strlen(line);
    *boxed = begins(line + blanks, edge) ? 1 : 0;
    if (*boxed) {
        while (n > 0 && line[n - 1] == ' ')
            line[--n] = '\0';
        if (n >= blanks + 6 && strcmp(line + n - 3, edge) == 0)
            line[n - 3] = '\0';
        return line + blanks + 3 + (line[blanks + 3] == ' ');
    }
    if (blanks >= 1 && (begins(line + blanks, "| ") || begins(line + blanks, "+ Exception Group"))) {
        *boxed = 2;
        return line + blanks + 2;
    }
    return line;
}

/* A prefix that a traceback reveals, such as the time and the host that a log puts before each line. Digits of a time differ. */
static void learn_prefix(struct lines *lines, size_t i)
{
    const char *sample = lines->at[i], *mark = strstr(sample, "Traceback (most recent call last)");
    size_t n = mark ? (size_t)(mark - sample) : 0, digits = strcspn(sample, "0123456789\t:"), k = 0;
    if (!n || n >= PREFIX_MAX || digits >= n || lines->of[i].prefix || lines->of[i].boxed)
        return;
    bool timed = memchr(sample, ':', n);
    for (size_t j = i; j < lines->n; j++) {
        const char *line = lines->at[j];
        for (k = 0;
             k < n && (sample[k] == line[k] || (timed && isdigit((unsigned char)sample[k]) && isdigit((unsigned char)line[k])));)
            k++;
        lines->at[j] += k < n ? 0 : n;
    }
}

/* Whether line i is a frame as Java and Node print it, and one of the few lines above is the same: a recursion without an end. */
static bool is_repeated_frame(const struct lines *lines, size_t i)
{
    bool is = false;
    for (size_t k = i; begins(unindented(lines->at[i]), "at ") && !is && k > 0 && i - k < FEW;)
        is = strcmp(lines->at[--k], lines->at[i]) == 0;
    return is;
}

/* Whether line i is a part of the stacks that Java, Node, Go and Python's faulthandler list below a report, or says nothing. */
static bool is_of_stack(const struct lines *lines, size_t i)
{
    const char *line = unindented(lines->at[i]), *below = i + 1 < lines->n ? lines->at[i + 1] : "";
    const size_t n = strlen(line);
    return !n || (*lines->at[i] == '\t' && strstr(line, ".go:")) ||
           any_of(line, begins,
                  "...additional frames |Caused by: |goroutine |created by |Thread 0x|Current thread 0x|exit status ") ||
           (line > lines->at[i] && any_of(line, begins, "at |... |Suppressed: |File \"")) ||
           (n && line[n - 1] == ')' && *below == '\t' && strstr(below, ".go:")); /* main.f(..), and its place below */
}

/* Drops all but the lines from i on. */
static void keep_from(struct lines *lines, size_t i)
{
    const size_t keep = lines->n - i;
    lines->n = keep;
    memmove(lines->at, lines->at + i, keep * sizeof *lines->at);
    memmove(lines->of, lines->of + i, keep * sizeof *lines->of);
}

/* Drops the lines far above the end, except the stacks that reach down to it and what is right above those. */
static void keep_near(struct lines *lines, const char *near)
{
    size_t stack = lines->n, i = 0;
    while (stack > 0 && is_of_stack(lines, stack - 1))
        stack--;
    stack -= stack < FEW ? stack : FEW;
    while (i < lines->n && i < stack && (lines->n - i > NEAR_MAX || lines->at[i] < near))
        i++;
    keep_from(lines, i);
}

/* Whether anyhow or eyre of Rust begin a chain of errors with line i: `Caused by:` below an empty line, or `Error:`. */
static bool heads_chain(const struct lines *lines, size_t i)
{
    const char *line = lines->at[i];
    return (strcmp(line, "Caused by:") == 0 && i > 0 && !*unindented(lines->at[i - 1])) ||
           (begins(line, "Error: ") && !*unindented(line + 7));
}

/* Whether the line is the n-th error of a chain, `    0: reading the configuration`. Other numbers are those of lists or of ranks. */
static bool is_of_chain(const char *line, size_t n)
{
    char number[32];
    snprintf(number, sizeof number, "%zu: ", n);
    return begins(line, "   ") && begins(unindented(line), number);
}

/* A progress bar ends its line with a carriage return, so that counts as a line end too. Empty lines separate paragraphs. */
static void split(struct lines *lines, char *text, size_t length)
{
    const char *near = text + (length > NEAR_BYTES ? length - NEAR_BYTES : 0);
    size_t error = SIZE_MAX; /* the number of the next one in a chain; SIZE_MAX: outside of one */
    for (char *line; (line = strsep(&text, "\n\r"));) {
        plain(line);
        if (lines->n == LINES_MAX)
            keep_from(lines, LINES_MAX / 2);
        const bool chained = error != SIZE_MAX && is_of_chain(line, error);
        size_t n = chained ? 0 : prefix_length(line), i = lines->n++;
        lines->of[i].prefix = n ? line : NULL;
        lines->of[i].prefix_n = (unsigned char)n;
        lines->at[i] = unframed(line + n + (n && line[n] == ' '), &lines->of[i].boxed);
        error = chained ? error + 1 : !n && heads_chain(lines, i) ? 0 : SIZE_MAX;
        lines->n -= is_repeated_frame(lines, i);
    }
    keep_near(lines, near);
    for (size_t i = 0; i < lines->n; i++)
        learn_prefix(lines, i);
}

/* ---- lines of programs that run ---- */

static void note_found(void *context, const struct metric_found *found)
{
    (void)found;
    *(bool *)context = true;
}

/* `step 3 ..`, `Epoch [3/10]`, a progress bar of tqdm, or a metric that was asked for. */
static bool is_progress(const char *line, const struct metric_query *asked)
{
    static const char *const words[] = {"step", "epoch", "iteration", "iter"};
    const char *at = line + strspn(line, " \t[(");
    bool found = strstr(line, "%|") != NULL;
    for (size_t i = 0; !found && i < sizeof words / sizeof *words; i++) {
        const char *rest = strncasecmp(at, words[i], strlen(words[i])) == 0 ? at + strlen(words[i]) : "";
        found = isdigit((unsigned char)rest[strspn(rest, " \t[(:=#")]);
    }
    if (!found && asked)
        metric_scan_line(asked, line, strlen(line), note_found, &found);
    return found;
}

/* Whether the line holds the word, and not as a part of a name: 'retry', p-retry. */
static bool says_word(const char *line, const char *word)
{
    for (const char *at = line; (at = strcasestr(at, word)); at++)
        if (at == line || !strchr("'\"-_./", at[-1]))
            return true;
    return false;
}

/* Whether the line begins with the name of an error: `fatal: ..`, `Error ..`, `torch.OutOfMemoryError: ..`. */
static bool begins_with_error(const char *line)
{
    line = unindented(line);
    const size_t name = strcspn(line, ":( ");
    return strncasecmp(line, "fatal", 5) == 0 || (name >= 5 && strncasecmp(line + name - 5, "error", 5) == 0) ||
           (name >= 9 && line[name] == ':' && strncmp(line + name - 9, "Exception", 9) == 0);
}

/* Whether the line ends with what was done about it: `.., ignored`, `.. (skipped)`, `.. (using -E)`. */
static bool is_set_aside(const char *line)
{
    const char *comma = strrchr(line, ','), *bracket = strrchr(line, '(');
    const char *last = comma && (!bracket || bracket < comma) ? unindented(comma + 1) : bracket ? bracket + 1 : "";
    if (begins(last, "ignored") || begins(last, "skipped"))
        return strspn(last + strlen("ignored"), ").!") == strlen(last) - strlen("ignored");
    return begins(last, "using ") && strchr(last, ')') == last + strlen(last) - 1;
}

/*
 * Whether the line is a warning of what is at `what` in it: `Warning: ..`, the level of a log as in `10:00 [WARN] ..`, or Python's
 * `x.py:3: UserWarning: ..`, in front of it, or a remark at its end that nothing follows from it.
 */
static bool is_warning(const char *line, const char *what)
{
    static const char *const levels[] = {"warning", "warn"};
    line = unindented(line);
    if (is_set_aside(line))
        return !begins_with_error(line);
    bool is = begins(line, "W ") || (*line == 'W' && strspn(line + 1, "0123456789") == 4); /* of glog */
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        for (const char *at = line; !is && (at = strcasestr(at, levels[i])) && (!what || at < what); at++) {
            const char *end = at + strlen(levels[i]), *mark = end + strspn(end, " ");
            const bool whole = at == line || !isalnum((unsigned char)at[-1]), named = *at == 'W';
            is = (at == line && strchr(" :", *end)) || ((whole || named) && *mark && strchr(":]|-", *mark)) ||
                 (whole && named && at[1] == 'A' && *end == ' ');
        }
    return is && !begins_with_error(line);
}

/* Whether the line says that the program goes on in spite of it, and not that it cannot. */
static bool says_it_goes_on(const char *line)
{
    return any_of(line, says_word,
                  "retry|continu|running on CPU|using CPU|offline|falling back|fallback|skipping|trying batch") &&
           !any_of(line, holds_in_any_case,
                   "cannot|can't|unable to|not continue|please retry|retry later|see how to run|failed|disabled|"
                   "not possible|abort|giving up|exiting");
}

/*
 * Whether the program went on after line i, so that the cause which it names at `what` did not end it. Steps behind the line show that
 * only of what the machine lacks, such as a GPU or a service, or if the line says that it goes on: the output of another process, or what
 * was in a buffer, is printed behind the last words.
 */
static bool went_on(const struct lines *lines, size_t i, const char *what, enum lineage_cause cause)
{
    const char *line = lines->at[i];
    const bool goes_on = says_it_goes_on(line) && !begins_with_error(line),
               missing = cause == LINEAGE_CAUSE_MISSING || cause == LINEAGE_CAUSE_UNKNOWN;
    bool on = is_warning(line, what) || (missing && goes_on);
    while (!on && (missing || goes_on) && ++i < lines->n)
        on = lines->of[i].progress;
    return on;
}

/* Whether the line says what the machine lacks, and the program went on without it. */
static bool went_on_without(const struct lines *lines, size_t i)
{
    enum lineage_cause cause;
    bool lacks;
    const char *what = cli_cause_words(lines->at[i], &cause, &lacks);
    return what && lacks && went_on(lines, i, what, cause);
}

/* ---- where ---- */

/* Code of the language or of an installed package, in which a user's mistake shows up but was not made. */
static bool is_of_library(const char *path, size_t n)
{
    static const char *const libraries[] = {
        "site-packages/", "dist-packages/", "/lib/python", "<frozen",       "node:internal",    "node_modules/", "/rustc/",
        "/usr/local/go/", "/usr/lib/go",    ".pyx",        "/bin/torchrun", ".cargo/registry/", "at java.base/"};
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

static void trim(char *text)
{
    for (size_t n = strlen(text); n > 0 && strchr(" \t:,", text[n - 1]); n--)
        text[n - 1] = '\0';
}

/* The text of an error, without an open parenthesis at its end: it goes on in other lines, often with a time. */
static void put_what(struct found *found, const char *what)
{
    snprintf(found->what, sizeof found->what, "%s", unindented(what));
    char *open = strlen(what) < WHAT_MAX ? strrchr(found->what, '(') : NULL;
    if (open && open > found->what && !strchr(open, ')') && strstr(open, "time = "))
        *open = '\0';
    trim(found->what);
}

/* The error that line i reports. Returns true. */
static bool put_error(struct found *found, const char *what, size_t i)
{
    put_what(found, what);
    found->line = i;
    return true;
}

/* Adds a cause or the rest of a message, if there is room. */
static void add_what(struct found *found, const char *between, const char *text)
{
    size_t n = strlen(found->what);
    text = unindented(text);
    if (*text && !strstr(found->what, text))
        snprintf(found->what + n, sizeof found->what - n, "%s%s", between, text);
    trim(found->what);
}

/* ---- Python ---- */

/* Reads `  File "PATH", line N, in F`, and `PATH:N in F` in the box of rich. */
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
    return any_of(line, holds,
                  "ChildFailedError|ProcessRaisedException|ProcessExitedException|CalledProcessError|"
                  "PapermillExecutionError|CellExecutionError|WorkerGroupFailureError|UncompletedJobError");
}

/* NAME or NAME: message, where a name may have a module that begins with an underscore. */
static bool is_exception(const char *line)
{
    const char *at = unindented(line);
    size_t n = 0;
    while (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '.' || (n && strchr("<>", at[n]) && at[n]))
        n++;
    if (at[n] == '(' && strchr(at + n, ')'))
        return n > 0;
    return n > 0 && (isalpha((unsigned char)*at) || *at == '_') && (!at[n] || at[n] == ':');
}

/* Whether the name in front of the colon is one that exceptions have: `ValueError: ..`, and not `reward: ..`. Python prints warnings of
 * other things when it ends, so a warning is not one. */
static bool has_name_of_exception(const char *line)
{
    static const char *const ends[] = {"Error", "Exception", "Interrupt", "Exit"};
    const char *at = unindented(line);
    const size_t n = strcspn(at, ":(");
    bool has = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        has = has || (n >= strlen(ends[i]) && begins(at + n - strlen(ends[i]), ends[i]));
    return has;
}

static bool ends_with_colon(const char *line)
{
    size_t n = strlen(line);
    while (n && line[n - 1] == ' ')
        n--;
    return n && line[n - 1] == ':';
}

/* Whether the line is a rule of one character, such as `*****`. */
static bool is_ruled(const struct lines *lines, size_t i)
{
    const char *line = i < lines->n ? lines->at[i] : "";
    const size_t n = strlen(line);
    return n > 3 && strchr("*-=#", *line) && strspn(line, (char[2]){*line, 0}) == n;
}

/* The message of the exception in line i; one that is empty or ends with a colon goes on in the next line. */
static void put_exception(struct found *found, const struct lines *lines, size_t i)
{
    put_error(found, lines->at[i], i);
    found->strength = is_of_launcher(lines->at[i]) ? A_LAUNCHER : A_REPORT;
    const bool empty = ends_with_colon(lines->at[i]), ruled = empty && is_ruled(lines, i + 1);
    const size_t message = i + 1 + ruled;
    if (empty && message < lines->n && isalnum((unsigned char)*unindented(lines->at[message]))) {
        add_what(found, ": ", lines->at[message]);
        if (ruled && message + 1 < lines->n) /* of NLTK: what is not there, and how to get it */
            add_what(found, " ", lines->at[message + 1]);
    } else if ((strstr(lines->at[i], "validation error") || strstr(lines->at[i], "ConfigAddedError")) && i + 2 < lines->n) {
        /* of pydantic: the field, and what is wrong; of Sacred: the setting that is not known */
        add_what(found, ": ", lines->at[i + 1]);
        add_what(found, ": ", lines->at[i + 2]);
    }
}

/* Whether the source line names this program as what is to be started: quoted, behind `(` or `[`, not as `cwd=`. */
static bool starts_program(const char *source, const char *name, size_t n)
{
    for (const char *at = source; n && (at = memmem(at, strlen(at), name, n)); at++) {
        const char *argument = at;
        while (argument > source && argument[-1] != ',')
            argument--;
        const bool quoted = at - source > 1 && strchr("'\"", at[-1]) && strchr("([", at[-2]) && (at[n] == at[-1] || at[n] == ' ');
        if (quoted && strncmp(unindented(argument), "cwd", 3) != 0)
            return true;
    }
    return false;
}

static bool is_import(const char *line)
{
    const char *at = unindented(line);
    return begins(at, "import ") || (begins(at, "from ") && strstr(at, " import "));
}

/* Reads the frames from line *i on, which are indented, and the exception behind them, which is indented less. */
static bool read_frames(struct found *found, const struct lines *lines, size_t *i)
{
    const char *path;
    size_t n, indent = strspn(lines->at[*i], " \t");
    unsigned long number;
    bool own = false, imports = false, starts = false, joined = false;
    const char *source = "", *own_source = "";
    for (; *i < lines->n && (!*unindented(lines->at[*i]) || strspn(lines->at[*i], " \t") >= indent); ++*i) {
        if (!is_frame(lines->at[*i], &path, &n, &number))
            continue;
        const bool of_library = is_of_library(path, n);
        source = *i + 1 < lines->n ? unindented(lines->at[*i + 1]) : "";
        starts = n > 13 && memcmp(path + n - 13, "subprocess.py", 13) == 0;
        if (!own || !of_library)
            put_where(found, path, n, number);
        own = own || !of_library;
        own_source = of_library ? own_source : source;
        /* `import json; json.loads(text)`: only an import that failed goes on in the package's module */
        const bool enters = !joined || any_of(lines->at[*i], holds, "in <module>|<frozen importlib");
        imports = of_library ? imports && enters : *i + 1 < lines->n && is_import(lines->at[*i + 1]);
        joined = !of_library && strchr(source, ';');
        found->importing = of_library && imports;
    }
    if (*i == lines->n || is_header(lines->at[*i]) || !is_exception(lines->at[*i]) ||
        begins(lines->at[*i], "Message: ")) /* of logging */
        return false;
    put_exception(found, lines, *i);
    static const char no_file[] = "No such file or directory: '";
    const char *program = strstr(found->what, no_file);
    program = program ? program + sizeof no_file - 1 : "";
    if (starts && begins(found->what, "FileNotFoundError") && !strchr(program, '/') &&
        (!own || starts_program(own_source, program, strcspn(program, "'")))) /* not in PATH; else it may be a missing cwd= */
        found->importing = true;
    if (strcmp(found->what, "AssertionError") == 0 && begins(source, "assert ")) /* without a message, its line is all there is */
        add_what(found, ": ", source);
    return true;
}

/* `ValueError     Traceback (most recent call last)`, frames as `Cell In[2], line 3`, and the exception under the same name. */
static bool read_cell(struct found *found, const struct lines *lines, size_t *i)
{
    const char *line = lines->at[*i];
    size_t n = strcspn(line, " ");
    if (!n || !is_header(line) || unindented(line + n) != strstr(line, "Traceback (most") || !is_exception((char[2]){*line, 0}) ||
        begins(line, "Traceback"))
        return false;
    for (size_t k = *i + 1; k < lines->n; k++) {
        const char *at = unindented(lines->at[k]), *cell = strstr(at, "In[");
        cell = cell ? cell : strstr(at, "In [");
        if (cell && (begins(at, "Cell ") || begins(at, "Input ")) && strchr(cell, ']')) {
            const char *number = strstr(cell, ", line ");
            number = number ? number : strstr(cell, "line: ");
            snprintf(found->where, sizeof found->where, "In [%lu]%s%.0lu", strtoul(cell + strcspn(cell, "0123456789"), NULL, 10),
                     number ? ", line " : "", number ? strtoul(number + strcspn(number, "0123456789"), NULL, 10) : 0);
        }
        if (strncmp(lines->at[k], line, n) == 0 && (!lines->at[k][n] || lines->at[k][n] == ':')) {
            put_exception(found, lines, k);
            *i = k;
            return true;
        }
    }
    return false;
}

/* A traceback in the box of rich: `PATH:LINE in NAME` for each frame, and the exception below the box. */
static bool read_box(struct found *found, const struct lines *lines, size_t *i)
{
    static const char corner[] = "\xe2\x95\xad", end[] = "\xe2\x95\xb0";
    bool own = false, framed = false;
    const bool cut = *i == 0 && lines->of[0].boxed == 1; /* a box may be longer than what is read; other boxes hold results */
    if (!cut && (!begins(unindented(lines->at[*i]), corner) || !is_header(lines->at[*i])))
        return false;
    for (size_t k = *i + 1; k < lines->n; k++) {
        const char *line = lines->at[k], *in = strstr(line, " in ");
        if (begins(unindented(line), end)) {
            while (++k < lines->n && !*unindented(lines->at[k]))
                continue;
            if (k == lines->n || !is_exception(lines->at[k]) || (cut && !(framed && has_name_of_exception(lines->at[k]))))
                return false;
            put_exception(found, lines, k);
            *i = k;
            return true;
        }
        struct found place;
        if (!lines->of[k].boxed || !in || !isdigit((unsigned char)in[-1]) || find_place(&place, line) != in)
            continue;
        framed = true;
        if (!own || !is_of_library(line, (size_t)(in - line))) {
            own = !is_of_library(line, (size_t)(in - line));
            memcpy(found->where, place.where, sizeof place.where);
        }
    }
    return false;
}

/*
 * The exception is the first line behind the frames that is indented less. The place is the innermost frame in code of the
 * user, or the innermost frame if there is none. Of several tracebacks the last one counts, which is the one that ended the
 * program; it names the direct cause if it has one. Of the exceptions of a group, the first one counts.
 */
static bool find_python(struct found *found, const struct lines *lines)
{
    const char *path;
    size_t n;
    unsigned long number;
    bool direct = false, ignored = false, grouped = false;
    for (size_t i = 0; i < lines->n; i++) {
        const char *line = lines->at[i];
        struct found next = {.what = ""};
        direct = direct || begins(line, "The above exception was the direct cause");
        ignored = ignored || begins(line, "Exception ignored in") || begins(line, "Exception ignored while");
        bool first = grouped && lines->of[i].boxed == 2;
        if (!(is_frame(line, &path, &n, &number) ? read_frames(&next, lines, &i)
                                                 : (is_header(line) && read_cell(&next, lines, &i)) ||
                                                       ((is_header(line) || i == 0) && read_box(&next, lines, &i)))) {
            i -= is_frame(line, &path, &n, &number); /* what ended the frames is looked at again */
            continue;
        }
        if (direct && found->what[0] && !next.what[WHAT_MAX / 2])
            add_what(&next, ", caused by ", found->what);
        if (!ignored && !first && !(found->strength == A_REPORT && next.strength == A_LAUNCHER))
            *found = next;
        found->dies = found->what[0] != '\0'; /* an exception that Python ignores ends no program */
        grouped = lines->of[i].boxed == 2 && !strstr(next.what, "ExceptionGroup");
        direct = ignored = false;
    }
    return found->what[0];
}

/* ---- other languages ---- */

/*
 * `thread 'main' (7) panicked at src/main.rs:12:5:` and the message in the next line; before Rust 1.73 the message came first.
 * The first panic counts: the main thread often panics only because another one did.
 */
static bool find_rust(struct found *found, const struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        const char *at = strstr(lines->at[i], "panicked at ");
        if (!at || !begins(lines->at[i], "thread '"))
            continue;
        find_place(found, at);
        bool before = at[12] == '\'';
        put_error(found, before ? at + 12 : i + 1 < lines->n ? lines->at[i + 1] : "panicked", i);
        found->dies = true;
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

/* The text behind the number of an error in a chain, `1: No such file or directory`. */
static const char *unnumbered(const char *line)
{
    const size_t digits = strspn(line, "0123456789");
    return digits && begins(line + digits, ": ") ? line + digits + 2 : line;
}

/* The last error of the chain that begins at line i, below its head; a single one has no number. NULL: none. */
static const char *last_of_chain(const struct lines *lines, size_t i)
{
    const char *last = NULL;
    for (size_t n = 0; i < lines->n && (is_of_chain(lines->at[i], n) || (n == 0 && begins(lines->at[i], "   "))); i++, n++)
        last = unnumbered(unindented(lines->at[i]));
    return last;
}

/* The last cause below a report: `Caused by: ` of Java, `[cause]: ` of Node, a chain of Rust. */
static void add_cause(struct found *found, const struct lines *lines, size_t i)
{
    const char *last = heads_chain(lines, i) ? last_of_chain(lines, i + 1) : NULL;
    last = last && strstr(found->what, last) ? NULL : last;
    for (; i < lines->n; i++) {
        const char *line = unindented(lines->at[i]);
        last = begins(line, "Caused by: ") ? line + 11 : begins(line, "[cause]: ") ? line + 9 : last;
        last = *line == 'C' && heads_chain(lines, i) && last_of_chain(lines, i + 1) ? last_of_chain(lines, i + 1) : last;
    }
    if (last)
        add_what(found, ", caused by ", last);
}

static bool find_headline(struct found *found, const struct lines *lines)
{
    /* The reported text does not have these prefixes. */
    static const char *const cut[] = {"SUMMARY: ",
                                      "ERROR: LoadError: ",
                                      "PHP Fatal error:  ",
                                      "Terminating due to ",
                                      "Aborting due to ",
                                      "#  fatal error: ",
                                      "#  SIG",
                                      "error: Uncaught ",
                                      NULL};
    for (size_t i = lines->n; i-- > 0;) {
        static const char thrown[] = "terminate called after throwing an instance of ";
        const char *line = lines->at[i], *const *head = cut;
        while (*head && !begins(line, *head))
            head++;
        if ((!*head && !any_of(line, begins,
                               "panic: |Exception in thread |Exception in Application start method|terminate called |ERROR: |"
                               "Error in |Error: |fatal error: |fatal runtime error: |Fatal error: |FATAL ERROR: |"
                               "Fatal Python error: |Unhandled exception|Uncaught |** (|Fortran runtime error: |LLVM ERROR: |"
                               "*** stack smashing|double free or corruption|free(): |malloc(): |malloc_consolidate(): |"
                               "corrupted size vs|realloc(): |munmap_chunk(): |Segmentation fault|memory allocation of |lua: |"
                               "MATLAB:")) ||
            went_on_without(lines, i))
            continue;
        put_error(found, line + (begins(line, thrown) ? sizeof thrown - 1 : *head ? strlen(*head) : 0), i);
        const size_t n = strlen(line);
        const char *below = i + 1 < lines->n ? unindented(lines->at[i + 1]) : "";
        if (begins(below, "what():"))
            add_what(found, ": ", below + 7);
        else if ((line[n - 1] == ':' || line[n - 1] == ' ') &&
                 (lines->at[i + 1 < lines->n ? i + 1 : i][0] == ' ' || has_name_of_exception(below)))
            add_what(found, ": ", unnumbered(below));
        found->dies = begins(line, "panic: ") || begins(line, "Exception in thread ");
        if (!begins(line, "memory allocation of "))
            place_below(found, lines, i);
        add_cause(found, lines, i);
        return true;
    }
    return false;
}

/* `E   AssertionError: loss above the bar` and `../test_x.py:3: AssertionError` of pytest. */
static bool find_pytest(struct found *found, const struct lines *lines)
{
    bool any = false;
    for (size_t i = 0; i < lines->n; i++) {
        const char *line = lines->at[i];
        if (begins(line, "E   ") && !any && is_exception(line + 4)) {
            put_error(found, line + 4, i);
            any = true;
        } else if (any && !found->where[0] && !isblank((unsigned char)*line) && *line != 'E') {
            find_place(found, line);
        }
    }
    return any;
}

/* `TypeError: message` with `    at f (/path/train.js:3:5)` below it. */
static bool find_node(struct found *found, const struct lines *lines)
{
    static const char rejected[] = "UnhandledPromiseRejection: ";
    for (size_t i = lines->n; i-- > 1;) {
        size_t name = strcspn(lines->at[i - 1], ": ");
        if (!begins(unindented(lines->at[i]), "at ") || lines->at[i] == unindented(lines->at[i]) || name < 5 ||
            (strncmp(lines->at[i - 1] + name - 5, "Error", 5) != 0 &&
             (name < 9 || strncmp(lines->at[i - 1] + name - 9, "Exception", 9) != 0) && !begins(lines->at[i - 1], rejected)))
            continue;
        const char *reason = strstr(lines->at[i - 1], "The promise rejected with ");
        put_error(found, begins(lines->at[i - 1], rejected) && reason ? reason : lines->at[i - 1], i);
        add_cause(found, lines, i);
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
    bool any = false;
    for (size_t i = 0; i < lines->n; i++) {
        struct found next = {.what = ""};
        const char *after = find_place(&next, lines->at[i]);
        if (!after || !any_of(after, holds, "Assertion|assert|error:|Error|failed|FAILED|fatal|FATAL|undefined") ||
            (any && strstr(after, " error: ")) || went_on_without(lines, i))
            continue;
        put_what(&next, begins(lines->at[i], "{\"") ? lines->at[i] : after + strspn(after, ": ")); /* a log of JSON is not cut */
        *found = next;
        found->line = i;
        any = true;
    }
    return any;
}

/* ---- arguments ---- */

/* Joins the text of a box: lines up to a rule or the end of the box. */
static void put_box(struct found *found, const struct lines *lines, size_t i)
{
    static const char rule[] = "\xe2\x94\x80";
    put_what(found, lines->at[i]);
    while (++i < lines->n && lines->of[i].boxed == 1 && !begins(unindented(lines->at[i]), rule) && *unindented(lines->at[i]))
        add_what(found, " ", lines->at[i]);
}

/*
 * What parsers of command lines print: a line that says what is wrong with an option. Where a usage is printed, its line with
 * `error:` counts, too.
 */
static bool find_arguments(struct found *found, const struct lines *lines)
{
    size_t usage = SIZE_MAX;
    found->cause = LINEAGE_CAUSE_ARGUMENTS;
    for (size_t i = lines->n > 60 ? lines->n - 60 : 0; i < lines->n; i++) {
        const char *line = unindented(lines->at[i]);
        enum lineage_cause cause = LINEAGE_CAUSE_UNKNOWN;
        bool lacks;
        if (strncasecmp(line, "usage:", 6) == 0 || begins(line, "Usage of ") || (begins(line, "Try '") && strstr(line, "help")))
            usage = i;
        const char *words = cli_cause_words(line, &cause, &lacks);
        bool named = words && cause == LINEAGE_CAUSE_ARGUMENTS && !is_warning(line, words);
        bool error =
            usage != SIZE_MAX && usage < i && (strstr(line, ": error: ") || begins(line, "error: ") || begins(line, "Error: "));
        if (!named && !error)
            continue;
        if (begins(line, "\xe2\x95\xad") && i + 1 < lines->n) /* the title of a box */
            i++;
        if (lines->of[i].boxed == 1)
            put_box(found, lines, i);
        else
            put_exception(found, lines, i);
        found->line = i;
        return true;
    }
    found->cause = LINEAGE_CAUSE_UNKNOWN;
    return false;
}

/* Some programs print nothing but how they are used. */
static bool find_usage(struct found *found, const struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++)
        if (strncasecmp(lines->at[i], "usage:", 6) == 0) {
            put_exception(found, lines, i);
            found->cause = LINEAGE_CAUSE_ARGUMENTS;
            return true;
        }
    return false;
}

/* ---- launchers ---- */

/*
 * Returns the status after `exit code`, `exited with`, `returned` .. in a launcher's line about its command, or 0 if the line is not of that
 * form. A line that begins with the words does not count: `exit status 1` of go run only repeats the launcher's own status.
 */
static long status_of_child(const char *line)
{
    static const char *const words[] = {"exit code", "exit status", "exit value",  "exitcode", "exited with", ": exit ",
                                        "FAIL code", "' returned ", "return code", "(rc=",     "` returned "},
                             *const between[] = {"non-zero ", "an error", "code", "status", "value"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(line, words[i]), *number = at;
        if (!at || at == unindented(line))
            continue;
        number += strlen(words[i]);
        for (size_t k = 0, n = strlen(number); k < n && *number && !isdigit((unsigned char)*number) && *number != '-'; k++) {
            number += strspn(number, " :=(");
            for (size_t b = 0; b < sizeof between / sizeof *between; b++)
                number += begins(number, between[b]) ? strlen(between[b]) : 0;
        }
        char *end;
        const long status = strtol(number, &end, 10);
        const bool counts = *end == ' ' && isalpha((unsigned char)end[1]) && /* `returned 200 results`, `exited with 3 errors` */
                            (begins(number - strlen("ed "), "ed ") || begins(number - strlen("with "), "with "));
        if (end != number && status && status > -65 && status < 256 && !isalnum((unsigned char)*end) && !counts &&
            !(*end == '.' && isdigit((unsigned char)end[1])))
            return status;
    }
    return 0;
}

/* `make: *** [Makefile:2: train] Error 1`, `gmake[1]: *** [train] Killed` */
static bool is_of_make(const char *line)
{
    const char *stars = strstr(line, ": *** [");
    return stars && memmem(line, (size_t)(stars - line), "make", 4) && !memchr(line, ' ', (size_t)(stars - line));
}

/* The number of the signal that a launcher names: `signal 9`, `SIGKILL`, `Signals.SIGKILL: 9`, `exited with -9`, `exit code 137`. */
static int named_signal(const char *line)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"SIGKILL", 9},  {"SIGSEGV", 11}, {"SIGABRT", 6},  {"SIGBUS", 7},
                 {"SIGFPE", 8},   {"SIGILL", 4},   {" Killed ", 9}, {"Segmentation fault", 11},
                 {" Aborted ", 6}};
    const char *at = strstr(line, "signal ");
    if (at && atoi(at + 7) > 0 && atoi(at + 7) < 65)
        return atoi(at + 7);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(line, names[i].name))
            return names[i].number;
    const char *end = is_of_make(line) ? strstr(line, "] ") : NULL;
    if (end && (begins(end, "] Killed") || begins(end, "] Terminated") || begins(end, "] Aborted")))
        return end[2] == 'K' ? 9 : end[2] == 'T' ? 15 : 6;
    const long status = status_of_child(line);
    return status < 0 ? (int)-status : trial_label_signal((int)status);
}

/* What torch's launcher says about the process that failed first, in the lines behind `Root Cause (first observed failure):`. */
static bool find_root_cause(struct found *found, const struct lines *lines, long *rank)
{
    long code = 0;
    size_t at = lines->n;
    *rank = -1;
    for (size_t i = 0; i < lines->n; i++) {
        const char *line = unindented(lines->at[i]), *value = strchr(line, ':');
        if (begins(line, "Root Cause (first observed failure)"))
            at = i;
        else if (at < i && value && begins(line, "rank "))
            *rank = strtol(value + 1, NULL, 10);
        else if (at < i && value && begins(line, "exitcode "))
            code = strtol(value + 1, NULL, 10);
    }
    if (*rank < 0 || !code)
        return false;
    if (code < 0)
        snprintf(found->what, sizeof found->what, "rank %ld was killed by signal %ld (%s)", *rank, -code,
                 code == -9 ? "SIGKILL" : strsignal((int)-code));
    else
        snprintf(found->what, sizeof found->what, "rank %ld left with exit status %ld", *rank, code);
    found->line = at;
    found->strength = A_LAUNCHER;
    return true;
}

/* `Command terminated by signal 9`, `.. exited on signal 9 (Killed).`, `train.sh: line 3: 71 Killed  python train.py`. */
static bool find_launcher(struct found *found, const struct lines *lines)
{
    static const char *const words[] = {
        "terminated by signal", "exited on signal", "killed by signal",       "died with",        "terminated with signal",
        "was terminated",       "received signal",  "exits with return code", "died from signal", NULL};
    long rank;
    if (find_root_cause(found, lines, &rank))
        return true;
    for (size_t i = lines->n; i-- > 0;) {
        const char *line = lines->at[i], *shell = strstr(line, ": line ");
        bool killed = shell && (strstr(shell, " Killed ") || strstr(shell, "Segmentation fault") || strstr(shell, " Aborted "));
        for (const char *const *word = words; !killed && *word; word++)
            killed = strstr(line, *word) && (named_signal(line) || strstr(line, "return code"));
        if (!killed)
            continue;
        put_error(found, line, i);
        found->strength = A_LAUNCHER;
        return true;
    }
    return false;
}

/* `setsid: child 12 did not exit normally: No such file or directory`, whose last words say nothing about the child. */
static bool is_of_setsid(const char *line)
{
    return begins(line, "setsid: child ") && strstr(line, "did not exit normally");
}

/* Finds a line that a launcher prints of whatever ended its command: all others say more, in any of the processes. */
static bool find_killed(struct found *found, const struct lines *lines)
{
    for (size_t i = lines->n; i-- > 0;) {
        const char *line = lines->at[i];
        if (!is_of_setsid(line) && !(begins(line, "srun: error: ") && strstr(line, ": Killed")))
            continue;
        put_what(found, line);
        return true;
    }
    return false;
}

static bool is_child_end(const char *line)
{
    return is_of_make(line) || (status_of_child(line) && !is_warning(line, NULL));
}

/*
 * Whether all that the line says is that what a launcher ran has failed: `Step start (task-id 1) failed.`, `nox > Session train failed.`,
 * `evaluation failed :(` of tox. A check or an assertion of the program itself that failed says more.
 */
static bool only_says_failed(const char *line)
{
    static const char *const kinds[] = {"Step ", "Task ", "Workflow ", "Job ", "Session ", "Stage ", "Pipeline "};
    const char *at = unindented(line);
    at += begins(at, "nox > ") ? strlen("nox > ") : 0;
    bool says = begins(at, "evaluation failed :(");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !says; i++) {
        if (!begins(at, kinds[i]))
            continue;
        const char *rest = at + strlen(kinds[i]), *close;
        if (!begins(rest, "failed")) { /* its name, and its number in brackets */
            rest += strcspn(rest, " ");
            close = begins(rest, " (") ? strchr(rest, ')') : NULL;
            rest = unindented(close ? close + 1 : rest);
        }
        says = begins(rest, "failed") && !rest[strlen("failed") + strspn(rest + strlen("failed"), ". ")];
    }
    return says;
}

/*
 * The first line of those near the end in which launchers say how their command ended: `nox > Command .. failed with exit code -9`,
 * `py: exit 1 (0.23 seconds) ..`, `make: *** [Makefile:2: train] Error 7`. Steps below it show that the program went on, and lines in between
 * that it was another command.
 */
static bool find_child_end(struct found *found, const struct lines *lines)
{
    size_t at = lines->n;
    for (size_t i = lines->n;
         i-- > 0 && lines->n - i < CLOSING_MAX && (at == lines->n || at - i < FEW) && !lines->of[i].progress;)
        if (is_child_end(lines->at[i]))
            at = i;
    if (at == lines->n)
        return false;
    const char *line = lines->at[at], *time = line + strspn(line, "0123456789:.");
    put_what(found, *time == ' ' && memchr(line, ':', (size_t)(time - line)) ? time : line); /* as honcho prints it */
    char *seconds = strstr(found->what, " seconds)"), *open = seconds ? strrchr(found->what, '(') : NULL;
    if (open && open < seconds) /* it differs from trial to trial */
        *open = '\0';
    trim(found->what);
    found->line = at;
    found->strength = A_LAUNCHER;
    return true;
}

/* `error: expected ..` or `error[E0425]: ..` of rustc, with `  --> src/main.rs:1:17` below; the first one is the cause of the others. */
static bool find_rustc(struct found *found, const struct lines *lines)
{
    for (size_t i = 0; i + 1 < lines->n; i++) {
        const char *line = lines->at[i];
        if (!begins(line, "error: ") && !begins(line, "error[E"))
            continue;
        for (size_t k = i + 1; k < lines->n && k < i + 4; k++)
            if (begins(unindented(lines->at[k]), "--> ") && find_place(found, lines->at[k])) {
                return put_error(found, line, i);
            }
    }
    return false;
}

/* `[ERROR] /w/Train.java:[1,27] cannot find symbol` of Maven. */
static bool find_maven(struct found *found, const struct lines *lines)
{
    for (size_t i = 0; i < lines->n; i++) {
        const char *path = begins(lines->at[i], "[ERROR] ") ? lines->at[i] + 8 : NULL, *colon = path ? strstr(path, ":[") : NULL,
                   *end = colon ? strchr(colon, ']') : NULL;
        if (!end || !isdigit((unsigned char)colon[2]) || memchr(path, ' ', (size_t)(colon - path)))
            continue;
        put_where(found, path, (size_t)(colon - path), strtoul(colon + 2, NULL, 10));
        return put_error(found, end + 1, i);
    }
    return false;
}

/* Whether the line holds the word, and not as what was counted: `filled 3 missing values`, `0 failed`. */
static bool holds_word(const char *line, const char *word)
{
    for (const char *at = line; (at = strcasestr(at, word)); at++) {
        const size_t before = (size_t)(at - line) + (*word == ' ');
        const bool counted = before > 1 && line[before - 1] == ' ' && isdigit((unsigned char)line[before - 2]);
        if (!counted)
            return true;
    }
    return false;
}

/* Whether the line begins with a time of this form, in which 0 stands for a digit. */
static bool is_time(const char *line, const char *form)
{
    while (*form && (*form == '0' ? isdigit((unsigned char)*line) : *line == *form))
        form++, line++;
    return !*form;
}

/*
 * The last line of a program that says no more: `2026/11/29 06:18:16 open data.csv: ..` of Go's log.Fatal, or what it cannot do. `go run`
 * adds the exit status.
 */
static bool find_last_line(struct found *found, const struct lines *lines)
{
    size_t i = lines->n;
    while (i > 0 && (!*unindented(lines->at[i - 1]) || begins(lines->at[i - 1], "exit status ")))
        i--;
    if (i-- == 0)
        return false;
    const char *line = lines->at[i];
    static const char time[] = "0000/00/00 00:00:00 ";
    const bool says = is_time(line, time) && line[sizeof time - 1];
    line += says ? sizeof time - 1 : 0;
    if (lines->by_signal || lines->of[i].progress || is_progress(line, NULL) || is_warning(line, NULL) || says_it_goes_on(line))
        return false;
    if (!says && !any_of(line, begins_in_any_case, "can't |cannot |could not |couldn't |unable to |failed to ") &&
        !any_of(line, holds_word, " must |invalid | failed|missing |unsupported|not supported| is required"))
        return false;
    return put_error(found, line, i);
}

static bool is_level(const char *word, size_t n)
{
    return (n == 5 && (begins(word, "ERROR") || begins(word, "FATAL"))) || (n == 6 && begins(word, "SEVERE")) ||
           (n == 8 && begins(word, "CRITICAL"));
}

/*
 * The message of a line that a log marks as an error: `[ERROR] no rows`, `SEVERE: no rows`, or behind a time and the name of the
 * log, `10:00:00,123 - train - ERROR - no rows`. NULL: it is none, as `WORD ERROR RATE 5.3 %`, or the program goes on.
 */
static const char *message_of_error(const char *line)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.";
    const bool bracket = *line == '[', timed = is_time(line + bracket, "0000-00-00") || is_time(line + bracket, "00:00");
    const char *at = line + bracket + (timed ? strspn(line + bracket, "0123456789-:.,TZ+ \t[]|") : 0),
               *end = at + strspn(at, letters), *mark = unindented(end);
    if (timed && !is_level(at, (size_t)(end - at)) && (*mark == ']' || begins(mark, "- "))) { /* the name */
        at = mark + strspn(mark, " -[]");
        end = at + strspn(at, letters);
    }
    const char *message = end + strspn(end, " \t]:|-");
    const size_t n = strlen(message);
    if (!is_level(at, (size_t)(end - at)) || !(timed ? message > end : *end == (bracket ? ']' : ':')) ||
        !isalpha((unsigned char)*message) || !strchr(message, ' ') || strchr("%0123456789", message[n - 1]))
        return NULL; /* a number at the end is a measure */
    return any_of(message, holds_in_any_case, "retry|skip|will |continu|ignor|%") ? NULL : message;
}

/* The last lines, if a log marks them as errors: the last one, or what it marks as worse right above. */
static bool find_logged(struct found *found, const struct lines *lines)
{
    size_t i = lines->n;
    bool any = false;
    while (i > 0 && !*unindented(lines->at[i - 1]))
        i--;
    for (; i > 0 && !lines->by_signal && !lines->of[i - 1].progress; i--) {
        const char *line = lines->at[i - 1], *message = message_of_error(line);
        if (!message)
            break;
        if (!any || (strstr(lines->at[found->line], "ERROR") && !strstr(line, "ERROR")))
            any = put_error(found, message, i - 1);
    }
    return any;
}

/* `no rows at train.pl line 3.` of Perl. */
static bool find_perl(struct found *found, const struct lines *lines)
{
    for (size_t i = lines->n; i-- > 0;) {
        const char *line = lines->at[i], *at = strstr(line, " at "), *number = at ? strstr(at, " line ") : NULL;
        if (!number || !isdigit((unsigned char)number[6]) || strcspn(at + 4, " ") != (size_t)(number - at - 4) ||
            strncmp(line, "#", 1) == 0)
            continue;
        put_where(found, at + 4, (size_t)(number - at - 4), strtoul(number + 6, NULL, 10));
        put_what(found, line);
        if ((size_t)(at - line) < WHAT_MAX)
            found->what[at - line] = '\0';
        found->line = i;
        return true;
    }
    return false;
}

/* Whether at most a few lines follow line i, or it is in a box of rules at the end, in which mpirun says at length what to do. */
static bool is_near_end(const struct lines *lines, size_t i)
{
    size_t end = lines->n, rest = 0;
    while (end > i + 1 && !*unindented(lines->at[end - 1]))
        end--;
    const bool above = (i > 0 && is_ruled(lines, i - 1)) || (i > 1 && is_ruled(lines, i - 2)),
               box = above && end > i + 1 && is_ruled(lines, end - 1);
    for (size_t k = i + 1; k + box < end && rest < FEW; k++)
        rest += box ? (is_ruled(lines, k) ? FEW : 0) : *unindented(lines->at[k]) != '\0';
    return rest < FEW;
}

/* `sh: 1: Syntax error: "(" unexpected`, `awk: line 1: syntax error at or near }`, `^ syntax error` of gawk; not a count or a rate of them. */
static bool says_syntax_error(const char *line)
{
    const char *at = strcasestr(line, "syntax error"), *end = at ? at + strlen("syntax error") : "";
    const bool led = at && at > line + 1 && at[-1] == ' ' && strchr(":^", at[-2]);
    return led && (!*end || any_of(end, begins, " near | at |: |, "));
}

/*
 * A line whose words name a cause, or that begins with the name of an error. The last one counts. What the machine lacks ended the
 * program only if it did not go on after it said so.
 */
static bool find_line(struct found *found, const struct lines *lines)
{
    enum lineage_cause cause;
    bool lacks;
    for (size_t i = lines->n; i-- > 0;) {
        const char *line = unindented(lines->at[i]);
        size_t name = strcspn(line, ":");
        bool named = line[name] == ':' && name >= 5 && name < 60 && !memchr(line, ' ', name) &&
                     (strncasecmp(line + name - 5, "error", 5) == 0 || strncasecmp(line, "fatal", 5) == 0);
        named = (named && !begins(line, "error: called from")) || /* of Octave, behind the error */
                (says_syntax_error(line) && !is_warning(line, NULL)) ||
                any_of(line, holds,
                       ": not found|: command not found|No such file or directory|Permission denied|unbound variable|"
                       "exec format error");
        const char *words = cli_cause_words(line, &cause, &lacks);
        const bool on = words && went_on(lines, i, words, cause);
        if ((!named && !words) || on || is_of_setsid(line) || (words && lacks && !named && !is_near_end(lines, i)))
            continue;
        return put_error(found, line, i);
    }
    return false;
}

/* uv reports `error: ..` and in the next line `  cause: ..`; of two such lines the first says what failed. */
static bool find_two_lines(struct found *found, const struct lines *lines)
{
    for (size_t i = lines->n; i-- > 1;) {
        const char *line = unindented(lines->at[i]);
        if (!begins(lines->at[i - 1], "error: ") || (!begins(line, "cause: ") && !begins(line, "Caused by:")))
            continue;
        put_what(found, lines->at[i - 1]);
        add_what(found, ", ", line);
        found->line = i - 1;
        return true;
    }
    return false;
}

/* ---- the cause ---- */

/* Tries the forms in turn; *worded: the form is known by single words, which a launcher's lines may have as well. */
static void try_forms(struct found *found, const struct lines *lines, bool *worded)
{
    static bool (*const reports[])(struct found *, const struct lines *) = {
        find_python, find_rust, find_pytest, find_arguments, find_two_lines, find_node, find_headline, find_launcher};
    static bool (*const others[])(struct found *, const struct lines *) = {
        find_rustc, find_maven, find_place_line, find_line, find_perl, find_last_line, find_usage, find_logged};
    bool any = false;
    *worded = false;
    for (size_t i = 0; !any && i < sizeof reports / sizeof *reports; i++)
        if ((any = reports[i](found, lines))) {
            *worded = reports[i] == find_two_lines || reports[i] == find_headline;
            found->strength = found->strength == NOTHING ? A_REPORT : found->strength;
        }
    struct found child = {.what = ""};
    if (found->strength == A_LAUNCHER && find_arguments(&child, lines)) { /* the child's, in front of the launcher's traceback */
        child.strength = A_REPORT;
        *found = child;
    } else if (found->strength == A_LAUNCHER && find_launcher(&child, lines)) {
        *found = child;
    }
    for (size_t i = 0; !any && i < sizeof others / sizeof *others; i++)
        if ((any = others[i](found, lines))) {
            *worded = true;
            found->strength = A_LINE;
        }
}

/*
 * Reads the forms in the lines of one process. What its program said counts for more than what its launcher says about its end. What is
 * reported below a command that failed in passing, `git failed with exit code 128`, ended the program.
 */
static void read_forms(struct found *found, struct lines *lines)
{
    struct found end = {.what = ""}, above = {.what = ""};
    bool worded;
    const size_t n = lines->n;
    try_forms(found, lines, &worded);
    if ((found->strength != NOTHING && !worded) || !find_child_end(&end, lines) || (worded && found->line < end.line))
        return;
    const char *line = lines->at[found->line];
    const bool of_launcher = (is_child_end(line) && (found->line == end.line || !has_name_of_exception(line))) ||
                             only_says_failed(found->what) || begins(found->what, "Error in rule ");
    if (worded ? !of_launcher : !is_near_end(lines, end.line))
        return;
    for (size_t i = lines->n;
         worded && i-- > end.line + 1;) { /* `AssertionError: ..` below `ERROR: the tool exited with code 1` */
        const char *text = lines->at[i] + strcspn(lines->at[i], ":");
        if (is_child_end(lines->at[i]) || !is_exception(lines->at[i]) || !has_name_of_exception(lines->at[i]) || strlen(text) < 3)
            continue;
        *found = (struct found){.strength = A_LINE, .line = i};
        put_what(found, lines->at[i]);
        return;
    }
    lines->n = end.line;
    try_forms(&above, lines, &worded);
    lines->n = n;
    *found = above.strength == NOTHING ? end : above;
}

static bool is_same_source(const struct lines *lines, size_t i, size_t k)
{
    const char *one = lines->of[i].prefix, *other = lines->of[k].prefix;
    const size_t n = lines->of[i].prefix_n;
    return n == lines->of[k].prefix_n && (!n || strncmp(one, other, n) == 0);
}

/* The lines with the prefix of line i, or those without a prefix. */
static void of_source(struct lines *out, const struct lines *lines, size_t i)
{
    out->n = 0;
    out->by_signal = lines->by_signal;
    for (size_t k = 0; k < lines->n; k++)
        if (is_same_source(lines, i, k)) {
            out->at[out->n] = lines->at[k];
            out->of[out->n++] = lines->of[k];
        }
}

/* Whether the prefix of a process ends with its rank: `[rank1]: `. */
static bool is_rank(const struct lines *lines, size_t i, long rank)
{
    size_t end = lines->of[i].prefix_n, digits;
    while (end > 0 && !isdigit((unsigned char)lines->of[i].prefix[end - 1]))
        end--;
    for (digits = 0; digits < end && isdigit((unsigned char)lines->of[i].prefix[end - digits - 1]);)
        digits++;
    return digits && strtol(lines->of[i].prefix + end - digits, NULL, 10) == rank;
}

/*
 * The processes whose lines have a prefix explain more than their launcher. The process counts which the launcher names, and
 * else the first one that reports an error: when one process is gone, the others fail because of it.
 */
static void read_sources(struct found *found, const struct lines *lines, struct lines *part)
{
    size_t first = 0;
    struct found root;
    long rank = -1;
    part->n = 0;
    while (first < lines->n && lines->of[first].prefix)
        first++;
    if (first < lines->n) {
        of_source(part, lines, first);
        read_forms(found, part);
        find_root_cause(&root, part, &rank);
    }
    if (found->strength == A_REPORT)
        return;
    size_t of = first;
    struct found best = {.what = ""};
    size_t seen[SOURCES_MAX], n = 0, source = 0;
    bool named = false;
    for (size_t i = 0; i < lines->n && n < SOURCES_MAX && !named; i++) {
        struct found next = {.what = ""};
        bool known = !lines->of[i].prefix;
        for (size_t k = 0; k < n && !known; k++)
            known = is_same_source(lines, i, seen[k]);
        if (known)
            continue;
        seen[n++] = i;
        of_source(part, lines, i);
        read_forms(&next, part);
        named = rank >= 0 && next.strength && is_rank(lines, i, rank);
        if ((next.strength > best.strength && (next.strength != A_LAUNCHER || named)) ||
            (named && next.strength == best.strength))
            best = next, source = i;
    }
    const bool no_reason =
        found->strength == NOTHING || (found->strength == A_LAUNCHER && rank < 0 && !named_signal(found->what));
    if (best.strength == A_REPORT || (best.strength == A_LINE && no_reason)) {
        *found = best;
        of = source;
    }
    if (of < lines->n)
        of_source(part, lines, of);
}

/* A message may name its cause in a later line: its words are added, up to a quote or the end of the line. */
static void look_below(struct found *found, const struct lines *lines, struct trial_outcome *outcome)
{
    enum lineage_cause cause;
    bool lacks;
    for (size_t i = found->line + 1; i < lines->n && i < found->line + BELOW_MAX && !is_header(lines->at[i]); i++) {
        const char *at = cli_cause_words(lines->at[i], &cause, &lacks),
                   *quote = at ? strstr(lines->at[i], "error message = '") : NULL;
        if (!at || (cause != LINEAGE_CAUSE_MEMORY && cause != LINEAGE_CAUSE_DISK))
            continue;
        char words[WHAT_MAX];
        at = quote ? quote + 17 : at;
        snprintf(words, sizeof words, "%.*s", (int)strcspn(at, "',(|"), at);
        add_what(found, ", ", words);
        outcome->cause = cause;
        outcome->lacks = lacks;
        return;
    }
}

/*
 * Whether the program went on after its last traceback and then failed in its own words: it handled that exception.
 */
static bool is_overruled(struct found *later, const struct found *found, const struct lines *lines)
{
    enum lineage_cause cause = LINEAGE_CAUSE_UNKNOWN;
    bool lacks;
    for (size_t i = lines->n; i-- > found->line + 1;) {
        if (!cli_cause_words(lines->at[i], &cause, &lacks) || cause != LINEAGE_CAUSE_DIVERGENCE)
            continue;
        *later = (struct found){.strength = A_LINE, .line = i};
        put_what(later, lines->at[i]);
        return true;
    }
    return false;
}

/* Shows the words that name the cause where they were cut from the text. Returns false if there are none. */
static bool show_cut(struct found *found, const struct lines *lines, struct trial_outcome *outcome)
{
    size_t half = sizeof found->what / 2;
    const char *line = unindented(lines->at[found->line]),
               *words = strlen(line) >= sizeof found->what && begins(line, found->what)
                            ? cli_cause_words(line, &outcome->cause, &outcome->lacks)
                            : NULL;
    if (!words)
        return false;
    while ((found->what[half] & 0xc0) == 0x80) /* inside of a character */
        half--;
    found->what[half] = '\0';
    trim(found->what);
    const size_t n = strlen(found->what);
    snprintf(found->what + n, sizeof found->what - n, " .. %s", words);
    trim(found->what);
    return true;
}

static void judge(struct trial_outcome *outcome, struct found *found, const struct lines *lines)
{
    struct found later;
    outcome->cause = found->cause;
    bool named = cli_cause_words(found->what, &outcome->cause, &outcome->lacks) || found->cause;
    named = named || show_cut(found, lines, outcome);
    for (size_t i = found->line; !named && found->strength == A_REPORT && i < lines->n; i++) { /* what was cut from the text */
        named = cli_cause_words(lines->at[i], &outcome->cause, &outcome->lacks);
        if (!ends_with_colon(lines->at[i]))
            break;
    }
    if (found->strength == A_REPORT && (!named || outcome->lacks) && is_overruled(&later, found, lines)) {
        *found = later;
        outcome->lacks = false;
        cli_cause_words(found->what, &outcome->cause, &outcome->lacks);
    } else if (!named || outcome->cause == LINEAGE_CAUSE_DISK) {
        look_below(found, lines, outcome);
    }
    if ((outcome->exit_status == 127 && strstr(found->what, "not found")) ||
        (outcome->exit_status == 127 && strstr(found->what, "No such file")) ||
        (begins(found->what, "slurmstepd: error: execve(): ") && strstr(found->what, "No such file")) ||
        (outcome->exit_status == 126 && strstr(found->what, "ermission denied")) ||
        (!outcome->cause && !outcome->lacks && found->importing)) {
        outcome->cause = LINEAGE_CAUSE_MISSING;
        outcome->lacks = true;
    }
    int number = named_signal(found->what);
    /* A worker of torch, Python's pools, joblib, Dask or Ray was killed: nobody knows by whom, and most often it was the memory. */
    const bool by_kill = (found->strength == A_LINE && !found->where[0] && only_says_failed(found->what)) ||
                         any_of(found->what, holds,
                                "killed by signal: Killed|terminated abruptly|KilledWorker|TerminatedWorkerError|ActorDiedError|"
                                "WorkerCrashedError");
    if (!outcome->cause &&
        ((!outcome->lacks && found->strength != A_LAUNCHER && !by_kill) || (number && number != 9 && number != 15)))
        outcome->cause = LINEAGE_CAUSE_CODE;
    snprintf(outcome->evidence, sizeof outcome->evidence, "%s%s%s%s", found->what, found->where[0] ? " (" : "", found->where,
             found->where[0] ? ")" : "");
}

/*
 * Whether one of the last lines says that trials failed, which is how Ray Tune ends with status 0 after all its trials died:
 * `ERROR tune.py:1035 -- Trials did not complete: [train_1, train_2]`. A rollout that `did not complete in time` may be skipped.
 */
static bool gives_up(const struct found *found, const struct lines *lines)
{
    size_t rest = 0;
    bool gives = false;
    for (size_t i = lines->n; i-- > found->line + 1 && rest < FEW && !gives;) {
        rest += *unindented(lines->at[i]) != '\0';
        gives = strstr(lines->at[i], "Trials did not complete: [");
    }
    return gives;
}

/* Whether nothing but the rest of its message follows the report. */
static bool is_last(const struct found *found, const struct lines *lines)
{
    size_t rest = 0;
    for (size_t i = found->line + 1; i < lines->n; i++)
        rest += *unindented(lines->at[i]) != '\0';
    return rest < 4;
}

void failure_evidence_read(struct trial_outcome *outcome, const struct metric_query *asked, const char *text, size_t n)
{
    char status[96];
    struct found found = {.what = ""};
    struct lines *lines = calloc(2, sizeof *lines);
    char *copy = malloc(n + 1);
    outcome->evidence[0] = '\0';
    outcome->cause = LINEAGE_CAUSE_UNKNOWN;
    outcome->lacks = outcome->last_words = outcome->reports_error = false;
    if (!lines || !copy)
        goto done; /* the trial is labelled without it */
    for (size_t i = 0; i < n; i++)
        copy[i] = text[i] ? text[i] : ' ';
    copy[n] = '\0';
    split(&lines[0], copy, n);
    for (size_t i = 0; i < lines[0].n; i++)
        lines[0].of[i].progress = is_progress(lines[0].at[i], asked);
    trial_label_status(status, sizeof status, outcome->exit_status);
    lines[0].by_signal = outcome->end == TRIAL_SIGNALLED || status[0];
    read_sources(&found, &lines[0], &lines[1]);
    if (found.what[0]) {
        outcome->reports_error = found.dies;
        outcome->last_words = found.dies && (is_last(&found, &lines[1]) || gives_up(&found, &lines[1]));
        judge(outcome, &found, &lines[1]);
    } else if (find_killed(&found, &lines[0])) {
        snprintf(outcome->evidence, sizeof outcome->evidence, "%s", found.what);
    }

done:
    free(copy);
    free(lines);
}
