#include "run/run_parts.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lineage/text.h>

#include "histories/history.h"
#include "metrics/line_reader.h"
#include "metrics/metric_lines.h"
#include "metrics/step_file.h"
#include "support/running_files.h"

enum {
    FILE_BYTES = 256 << 20,
    NAME_BYTES = 256,
    DEPTH_MAX = 6,
    ENTRIES_MAX = 8000,
    CANDIDATES_MAX = 64,
    SHOWN_MAX = PATH_MAX + 16
};

/* The clock that sets the times of files, which is a few milliseconds behind the other. */
double metric_files_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool metric_files_check(const char *given, char *why, size_t size)
{
    const char *equals = strchr(given, '=');
    if (equals && equals > given && equals[1] && (size_t)(equals - given) < METRIC_NAME_BYTES)
        return true;
    return snprintf(why, size, "metric-file: '%.200s' is not NAME=PATH", given), false;
}

void metric_files_name(char name[METRIC_NAME_BYTES], const char *given)
{
    snprintf(name, METRIC_NAME_BYTES, "%.*s", (int)(strchr(given, '=') - given), given);
}

/* ---- the values of one metric in one file ---- */

/* The name of a metric in a file may have another case and other separators, or be the last part of a longer name. */
enum rank { NO_MATCH, LAST_PART, OTHER_FORM, SAME };

struct found {
    const char *asked;
    enum rank rank;
    char name[NAME_BYTES], other[NAME_BYTES]; /* other: a second name that fits as well as the first; "": none */
    const json_t *run;                        /* which has the value; NULL: a file without runs */
    struct metric_value value;
};

static char folded(char c)
{
    return c == ' ' || c == '-' ? '_' : c == '.' ? '/' : (char)tolower((unsigned char)c);
}

static bool is_same_folded(const char *a, const char *b)
{
    while (*a && folded(*a) == folded(*b))
        a++, b++;
    return !*a && !*b;
}

static enum rank rank_of(const char *asked, const char *name)
{
    char plain[NAME_BYTES];
    if (strcmp(asked, name) == 0)
        return SAME;
    if (cli_ends_with(name, ",none") && !strchr(asked, ',')) { /* lm-eval: the metric without a filter */
        snprintf(plain, sizeof plain, "%.*s", (int)(strlen(name) - 5), name);
        name = plain;
    }
    size_t n = strlen(asked), m = strlen(name);
    if (is_same_folded(asked, name))
        return OTHER_FORM;
    return m > n && folded(name[m - n - 1]) == '/' && is_same_folded(asked, name + m - n) ? LAST_PART : NO_MATCH;
}

static void take_ranked(struct found *found, enum rank rank, const char *name, const json_t *run, double value)
{
    if (rank == NO_MATCH || rank < found->rank)
        return;
    if (rank > found->rank) {
        found->rank = rank;
        found->run = run;
        found->other[0] = '\0';
        snprintf(found->name, sizeof found->name, "%s", name);
        metric_value_reset(&found->value);
    } else if (run != found->run || strncmp(name, found->name, sizeof found->name - 1) != 0) {
        snprintf(found->other, sizeof found->other, "%s", name);
        return;
    }
    metric_value_add(&found->value, (struct metric_place){0, 0}, value);
}

static void take_value(void *context, const char *name, double value)
{
    struct found *found = context;
    take_ranked(found, rank_of(found->asked, name), name, NULL, value);
}

static bool is_step_file(const char *path)
{
    static const char *const ends[] = {".csv", ".npz", ".json", ".jsonl"};
    bool is = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is = is || cli_ends_with(path, ends[i]);
    return is;
}

/* The curve of a run, or its last value. The last value of a metric that is not finite is a text. */
static void take_metric(struct found *found, const json_t *run, const char *metric, const json_t *last)
{
    const json_t *curve = json_object_get(json_object_get(run, "curves"), metric);
    const char *of = json_string_value(json_object_get(run, "name"));
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s%s", of && strcmp(of, ".") != 0 ? of : "", of && strcmp(of, ".") != 0 ? "/" : "", metric);
    const enum rank alone = rank_of(found->asked, metric), whole = rank_of(found->asked, name),
                    rank = whole > alone ? whole : alone;
    for (size_t i = 0; i < json_array_size(curve); i++)
        take_ranked(found, rank, name, run, json_number_value(json_array_get(json_array_get(curve, i), 1)));
    if (!json_is_number(last) || json_array_size(curve) == 0)
        take_ranked(found, rank, name, run, json_is_number(last) ? json_number_value(last) : (double)NAN);
}

/* Only runs that ended since then count, where one file has many. Each metric may be named alone or behind the name of its run. */
static void take_runs(struct found *found, const json_t *history, double since)
{
    const json_t *runs = json_object_get(history, "runs");
    const char *tool = json_string_value(json_object_get(history, "tool"));
    const bool own_files = tool && (strcmp(tool, "tensorboard") == 0 || strcmp(tool, "wandb") == 0);
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i), *ended = json_object_get(run, "ended");
        const char *metric;
        json_t *last;
        if (!own_files && json_is_number(ended) && json_number_value(ended) < since - 1)
            continue;
        json_object_foreach(json_object_get(run, "metrics"), metric, last)
            take_metric(found, run, metric, last);
    }
}

static bool read_steps(struct found *found, const char *path, char why[HISTORY_WHY_MAX])
{
    char reason[256];
    size_t length;
    char *text = history_file_text(path, FILE_BYTES, &length, why);
    bool good = text && step_file_read(path, text, length, take_value, found, reason, sizeof reason);
    if (text && !good)
        snprintf(why, HISTORY_WHY_MAX, "%.300s: %.200s", path, reason);
    free(text);
    return good;
}

struct printed {
    struct found *found;
    struct metric_lines lines;
};

static void take_line(void *context, const char *text, size_t length)
{
    struct printed *printed = context;
    struct found *found = printed->found;
    struct trial_event event;
    if (!metric_lines_read(&printed->lines, &event, text, length))
        return;
    const json_t *value = json_object_get(event.line, found->asked);
    if (json_is_number(value))
        take_ranked(found, SAME, found->asked, NULL, json_number_value(value));
    if (event.not_finite && strcmp(event.not_finite, found->asked) == 0)
        take_ranked(found, SAME, found->asked, NULL, (double)NAN);
}

/* A file of no known form: a table, JSON, or lines as a program prints them. Returns whether it has the metric. */
static bool read_text(struct found *found, const char *path)
{
    char why[HISTORY_WHY_MAX];
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return false;
    read_steps(found, path, why);
    if (found->rank != NO_MATCH)
        return true;
    const struct metric_query query = {.names = &found->asked, .n_names = 1};
    struct line_reader reader = {0};
    struct printed printed = {.found = found};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    metric_lines_init(&printed.lines, &query, found->asked);
    while (fd >= 0 && (line_reader_read(&reader, &fd) || errno == EINTR))
        line_reader_each_printed(&reader, take_line, &printed);
    cli_close(fd);
    line_reader_last(&reader, take_line, &printed);
    line_reader_release(&reader);
    metric_lines_release(&printed.lines);
    return found->rank != NO_MATCH;
}

/*
 * Reads the values of found->asked. With `beside`, the other event files of the directory belong to an event file. Returns false with
 * the reason, which names the file. Call metric_value_release in either case.
 */
static bool read_file(struct found *found, const char *path, const struct metric_files *files, bool beside,
                      char why[HISTORY_WHY_MAX])
{
    if (is_step_file(path)) {
        if (!read_steps(found, path, why))
            return false;
    } else {
        const struct history_options options = {.since = files->since, .until = files->until, .beside = beside};
        json_t *history = history_read(path, &options, why);
        if (!history && !read_text(found, path))
            return false;
        if (history)
            take_runs(found, history, files->since);
        json_decref(history);
    }
    if (found->rank != NO_MATCH && !found->other[0])
        return true;
    if (found->rank == NO_MATCH)
        snprintf(why, HISTORY_WHY_MAX, "%.300s has no %.100s", path, found->asked);
    else if (strcmp(found->name, found->other) == 0)
        snprintf(why, HISTORY_WHY_MAX, "%.200s has several runs with %.100s; name the file of one", path, found->name);
    else
        snprintf(why, HISTORY_WHY_MAX, "%.150s has %.100s and %.100s; write NAME=PATH#%.100s for one of them", path, found->name,
                 found->other, found->name);
    return false;
}

static struct found begin(const struct metric_files *files, const char *name, const char *asked)
{
    const struct metric_values rules = {.rules = files->plan->settings.takes, .n_rules = files->plan->settings.n_takes};
    return (struct found){.asked = asked, .value.rule = metric_values_rule(&rules, name)};
}

static bool is_score(const struct metric_files *files, const char *name)
{
    return strcmp(name, files->plan->settings.score ? files->plan->settings.score : "score") == 0;
}

/* Writes the path as the user would: the work directory has another name in each trial. */
static const char *shown_path(char out[SHOWN_MAX], const char *path, const struct command_values *values)
{
    const size_t n = strlen(values->workdir);
    const bool below = n > 0 && strncmp(path, values->workdir, n) == 0 && path[n] == '/';
    snprintf(out, SHOWN_MAX, "%s%.*s", below ? "{workdir}" : "", PATH_MAX - 1, below ? path + n : path);
    return out;
}

static void give(const struct metric_files *files, const char *name, const char *path, double value)
{
    const bool finite = isfinite(value), score = is_score(files, name);
    json_t *line = finite ? json_pack("{s:f}", name, value) : json_object();
    const struct trial_event event = {.line = line,
                                      .channel = TRIAL_CHANNEL_FILE,
                                      .file = path,
                                      .has_score = score && finite,
                                      .score = finite ? value : 0,
                                      .lost_score = score && !finite,
                                      .not_finite = finite ? NULL : name,
                                      .train_s = -1,
                                      .eval_s = -1};
    if (line)
        files->event(files->context, &event);
    json_decref(line);
}

/* ---- names of files that programs write ---- */

/*
 * In order of trust: event files of TensorBoard have numbers of single precision. `scalars/` is a directory with a .csv file without names
 * for each metric, of TorchRL.
 */
static const char *const kinds[] = {
    "trainer_state.json", "metrics.csv",  "results.csv",  "progress.csv",     "evaluations.npz",   "result.json",
    "metrics.jsonl",      "metrics.json", "scalars.json", "all_results.json", "eval_results.json", "summary.csv",
    "history.csv",        "log.csv",      "loss.tsv",     "train_log.txt",    "trainer_log.jsonl", "progress.txt",
    "scores.txt",         "log.txt",      "mlflow.db",    "mlruns",           "scalars/",          ".wandb",
    ".tfevents."};
enum { N_KINDS = sizeof kinds / sizeof *kinds, SCALARS = N_KINDS - 3, WANDB = N_KINDS - 2, TENSORBOARD = N_KINDS - 1 };

static size_t kind_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t i = 0;
    while (i < SCALARS && strcmp(name, kinds[i]) != 0)
        i++;
    if (i == SCALARS && !*step_file_scalars(path))
        i = cli_ends_with(name, ".wandb") ? WANDB : strstr(name, kinds[TENSORBOARD]) ? TENSORBOARD : N_KINDS;
    return i;
}

/* Length of the name of the directory `levels` above the file: two above out/checkpoint-8/trainer_state.json is `out`. */
static size_t length_above(const char *path, size_t levels)
{
    size_t n = strlen(path);
    for (size_t level = 0; level < levels; level++)
        while (n > 0 && path[--n] != '/')
            continue;
    return n;
}

/* Whether the files are parts of one training: checkpoints in directories side by side, or event files in one directory. */
static bool is_same_training(size_t kind, const char *a, const char *b)
{
    const size_t levels = kind == 0 ? 2 : kind == TENSORBOARD ? 1 : 0, above = length_above(a, levels);
    return levels && above == length_above(b, levels) && strncmp(a, b, above) == 0;
}

/* ---- files that the caller named ---- */

/* What a pattern matches: the newest file, and how many more were written in the time that are not parts of the same training. */
struct match {
    char path[PATH_MAX]; /* "" if the trial has written none */
    size_t n, others;
};

/* The times of directories say nothing. Of links to one file the first counts. */
static void newest_match(struct match *match, const char *pattern, const struct metric_files *files)
{
    glob_t found = {0};
    const struct history_options in_time = {.since = files->since, .until = files->until};
    double newest = -INFINITY;
    struct stat st, best = {0};
    *match = (struct match){.n = 0};
    const bool good = glob(pattern, GLOB_NOCHECK, NULL, &found) == 0;
    for (size_t i = 0; good && i < found.gl_pathc; i++) {
        const bool exists = stat(found.gl_pathv[i], &st) == 0,
                   counts = exists && (S_ISDIR(st.st_mode) || history_in_time(&st, &in_time));
        if (!counts || (match->n && st.st_ino == best.st_ino && st.st_dev == best.st_dev))
            continue;
        match->n++;
        if (history_written(&st) > newest) {
            newest = history_written(&st);
            best = st;
            snprintf(match->path, PATH_MAX, "%s", found.gl_pathv[i]);
        }
    }
    const size_t kind = kind_of(match->path);
    for (size_t i = 0; good && match->n > 1 && i < found.gl_pathc; i++)
        match->others += stat(found.gl_pathv[i], &st) == 0 && history_in_time(&st, &in_time) &&
                         (st.st_ino != best.st_ino || st.st_dev != best.st_dev) &&
                         !is_same_training(kind, match->path, found.gl_pathv[i]);
    if (good)
        globfree(&found);
}

static bool read_given(const struct metric_files *files, const struct command_values *values, const char *given,
                       char why[HISTORY_WHY_MAX])
{
    char name[METRIC_NAME_BYTES], pattern[PATH_MAX], shown[SHOWN_MAX], text[SHOWN_MAX + 400];
    struct match match;
    metric_files_name(name, given);
    char *place = placeholders_replace(strchr(given, '=') + 1, values);
    char *key = place ? strrchr(place, '#') : NULL;
    if (key)
        *key++ = '\0';
    struct found found = begin(files, name, key && *key ? key : name);
    snprintf(pattern, sizeof pattern, "%s%s%s", place && *place != '/' && files->dir ? files->dir : "",
             place && *place != '/' && files->dir ? "/" : "", place ? place : "");
    struct metric_files own = *files;
    if (strncmp(strchr(given, '=') + 1, "{workdir}/", 10) == 0)
        own.until = INFINITY; /* no other trial writes there */
    newest_match(&match, pattern, &own);
    snprintf(why, HISTORY_WHY_MAX, "the trial did not write %.400s", pattern);
    bool good = place && match.path[0] && read_file(&found, match.path, &own, match.n > 1, why);
    shown_path(shown, match.path, values);
    snprintf(text, sizeof text,
             "--metric-file %.200s: %s counts, the newest of %zu files of the trial that match; a narrower pattern names another",
             name, shown, match.others + 1);
    if (good && match.others)
        cli_say(text);
    if (good)
        give(files, name, shown, found.value.value);
    metric_value_release(&found.value);
    free(place);
    return good;
}

bool metric_files_read(const struct metric_files *files, const struct command_values *values, char *why, size_t size)
{
    bool good = true;
    for (const char *const *given = files->given; given && *given; given++) {
        char reason[HISTORY_WHY_MAX], name[METRIC_NAME_BYTES], text[HISTORY_WHY_MAX + 100];
        if (read_given(files, values, *given, reason))
            continue;
        metric_files_name(name, *given);
        snprintf(text, sizeof text, "--metric-file %s: %s", name, reason);
        if (is_score(files, name))
            snprintf(why, size, "%s", text), good = false;
        else
            cli_say(text);
    }
    return good;
}

/* ---- files that the caller did not name ---- */

struct candidate {
    char path[SHOWN_MAX], name[NAME_BYTES]; /* name: of the score, with that of its run */
    size_t kind;
    double time, value;
};

struct search {
    double since;
    struct candidate *list; /* [n] */
    size_t n;
};

/* The newest of several checkpoints of one training has the longest history. Other files of one kind may be of other trainings. */
static void add_candidate(struct search *search, const char *path, size_t kind, double time)
{
    size_t i = 0;
    while (i < search->n && (search->list[i].kind != kind || !is_same_training(kind, search->list[i].path, path)))
        i++;
    if (i == CANDIDATES_MAX || (i < search->n && time < search->list[i].time))
        return;
    search->n += i == search->n;
    search->list[i].kind = kind;
    search->list[i].time = time;
    snprintf(search->list[i].path, PATH_MAX, "%s", path);
}

static bool is_skipped(const FTSENT *entry, const struct stat *store)
{
    static const char *const names[] = {"node_modules", "site-packages", "__pycache__"};
    bool skip = entry->fts_level > 0 && entry->fts_name[0] == '.';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        skip = skip || strcmp(entry->fts_name, names[i]) == 0;
    return skip || entry->fts_level > DEPTH_MAX ||
           (entry->fts_level > 0 && store && entry->fts_statp->st_ino == store->st_ino &&
            entry->fts_statp->st_dev == store->st_dev);
}

static void search_below(struct search *search, const char *root, const struct stat *store)
{
    char *const paths[] = {(char *)(uintptr_t)root, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    FTSENT *entry;
    for (size_t n = 0; tree && n < ENTRIES_MAX && (entry = fts_read(tree)); n++) {
        /* What the directories above are named says nothing about the file. */
        size_t kind = kind_of(entry->fts_path + (entry->fts_level > 0 ? strlen(root) : 0));
        bool is_runs = entry->fts_info == FTS_D && kind < N_KINDS && strcmp(kinds[kind], "mlruns") == 0;
        if (is_runs || (entry->fts_info == FTS_D && is_skipped(entry, store)))
            fts_set(tree, entry, FTS_SKIP);
        if (is_runs || (entry->fts_info == FTS_F && kind < N_KINDS && history_written(entry->fts_statp) >= search->since))
            add_candidate(search, strncmp(entry->fts_path, "./", 2) == 0 ? entry->fts_path + 2 : entry->fts_path, kind,
                          history_written(entry->fts_statp));
    }
    if (tree)
        fts_close(tree);
}

/* Whether other trials of the store run, which may have written the files. */
static bool others_run(const char *store)
{
    DIR *dir = store ? opendir(store) : NULL;
    size_t n = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        n += strncmp(entry->d_name, RUNNING_PREFIX, sizeof RUNNING_PREFIX - 1) == 0;
    if (dir)
        closedir(dir);
    return n > 1;
}

/* Whether the value is the printed one with more digits. */
static bool agrees(const struct candidate *candidate, double printed)
{
    return fabs(candidate->value - printed) <= 1e-3 * fabs(printed) && metric_values_rounds_to(candidate->value, printed) &&
           (candidate->kind != TENSORBOARD || metric_values_digits(printed) < 6);
}

/* Keeps the candidates that have the score, with their values, and writes their paths for people. */
static void read_candidates(struct search *search, const struct metric_files *files, const char *score,
                            const struct command_values *values)
{
    char path[SHOWN_MAX];
    size_t n = 0;
    for (size_t i = 0; i < search->n; i++) {
        char why[HISTORY_WHY_MAX];
        struct found found = begin(files, score, score);
        bool has = read_file(&found, search->list[i].path, files, true, why) && isfinite(found.value.value);
        /* A table with names in a directory `scalars` is of the program's own making: nobody knows what its columns are. */
        has = has && (search->list[i].kind != SCALARS || strncmp(found.name, kinds[SCALARS], strlen(kinds[SCALARS])) == 0);
        if (has) {
            search->list[n] = search->list[i];
            strcpy(search->list[n].name, found.name);
            strcpy(search->list[n].path, shown_path(path, search->list[i].path, values));
            search->list[n++].value = found.value.value;
        }
        metric_value_release(&found.value);
    }
    search->n = n;
}

/* The candidate that counts, or NULL: one that agrees with the printed score, or if there is none, one with which all others agree. */
static const struct candidate *choose(const struct search *search, const struct lineage_number *printed)
{
    const struct candidate *best = NULL;
    for (size_t i = 0; i < search->n; i++) {
        const struct candidate *c = &search->list[i];
        if (printed->present ? agrees(c, printed->value) && (!best || c->kind < best->kind) : !best || c->kind < best->kind)
            best = c;
    }
    for (size_t i = 0; best && !printed->present && i < search->n; i++)
        if (fabs(search->list[i].value - best->value) > 1e-5 * fabs(best->value))
            return NULL;
    return best;
}

/* The path as a pattern that fits in the next trial, too: names of event files and of W&B's directories have the time. */
static void write_pattern(char out[SHOWN_MAX], const struct candidate *c)
{
    const size_t one = length_above(c->path, 1), two = length_above(c->path, 2);
    if (c->kind == WANDB && two)
        snprintf(out, SHOWN_MAX, "%.*s#%s", (int)two, c->path, c->name);
    else
        snprintf(out, SHOWN_MAX, "%.*s%s", c->kind == TENSORBOARD ? (int)one : PATH_MAX - 1, c->path,
                 c->kind != TENSORBOARD ? ""
                 : one                  ? "/*.tfevents.*"
                                        : "*.tfevents.*");
}

/* Without a file that counts and without a printed score, the reason is that of a trial without a score. */
static void report(const struct search *search, const char *score, const struct lineage_number *printed,
                   const struct candidate *chosen, char *why, size_t size)
{
    char text[1200], number[LINEAGE_NUMBER_MAX], other[LINEAGE_NUMBER_MAX], pattern[SHOWN_MAX];
    const struct candidate *c = chosen ? chosen : &search->list[0], *last = &search->list[search->n - 1];
    lineage_number_format(number, c->value);
    lineage_number_format(other, printed->present ? printed->value : last->value);
    write_pattern(pattern, c);
    if (chosen)
        snprintf(text, sizeof text, "%s %s is read from %.300s, which the trial has written (printed: %s)", score, number,
                 c->path, printed->present ? other : "nothing");
    else if (printed->present)
        snprintf(text, sizeof text, "%s %s counts as printed, although %.300s has %s (--metric-file %s=%.300s)", score, other,
                 c->path, number, score, pattern);
    else
        snprintf(why, size,
                 "%zu files have `%.60s` and differ, for example %.150s %s and %.150s %s; say which counts: --metric-file "
                 "'%.60s=%.150s'",
                 search->n, score, c->path, number, last->path, other, score, pattern);
    if (chosen || printed->present)
        cli_say(text);
}

/* Files beside those of other trials are not taken, but named. */
static void report_foreign(struct search *search, const struct metric_files *files, const char *score,
                           const struct command_values *values, char *why, size_t size)
{
    char pattern[SHOWN_MAX];
    read_candidates(search, files, score, values);
    if (search->n == 0)
        return;
    write_pattern(pattern, &search->list[0]);
    snprintf(why, size,
             "`%.60s` is in %.200s, but other trials run and may have written it; say which file is the trial's own: "
             "--metric-file '%.60s=%.200s'",
             score, search->list[0].path, score, pattern);
}

void metric_files_discover(const struct metric_files *files, const struct command_values *values,
                           const struct lineage_number *printed, char *why, size_t size)
{
    const char *score = files->plan->settings.score, *dir = files->dir ? files->dir : ".";
    struct search search = {.since = files->since, .list = calloc(CANDIDATES_MAX, sizeof *search.list)};
    struct stat store;
    const bool has_store = files->store && stat(files->store, &store) == 0, alone = printed->present || !others_run(files->store);
    if (!score || !search.list) {
        free(search.list);
        return;
    }
    search_below(&search, values->workdir, NULL);
    if (alone)
        search_below(&search, dir, has_store ? &store : NULL);
    read_candidates(&search, files, score, values);
    const struct candidate *chosen = choose(&search, printed);
    const bool same = chosen && printed->present && chosen->value == printed->value;
    if (search.n && !same)
        report(&search, score, printed, chosen, why, size);
    if (chosen && !same)
        give(files, score, chosen->path, chosen->value);
    if (!search.n && !alone) {
        search_below(&search, dir, has_store ? &store : NULL);
        report_foreign(&search, files, score, values, why, size);
    }
    free(search.list);
}
