/* metric_files.c: see metric_files.h. */
#include "run/metric_files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <lineage/text.h>

#include "histories/history.h"
#include "metrics/step_file.h"
#include "support/running_files.h"

enum { FILE_BYTES = 256 << 20, NAME_BYTES = 256, DEPTH_MAX = 6, ENTRIES_MAX = 8000, CANDIDATES_MAX = 64, SHOWN_MAX = PATH_MAX + 16 };

/* A clock of the kernel that may be a few milliseconds behind sets the times of files. */
#define CLOCK_LAG 0.02

double metric_files_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - CLOCK_LAG;
}

static double time_of(const struct stat *st)
{
    return (double)st->st_mtim.tv_sec + 1e-9 * (double)st->st_mtim.tv_nsec;
}

bool metric_files_check(const char *given, char *why, size_t size)
{
    const char *equals = strchr(given, '=');
    if (equals && equals > given && equals[1] && (size_t)(equals - given) < METRIC_NAME_BYTES)
        return true;
    snprintf(why, size, "metric-file: '%.200s' is not NAME=PATH", given);
    return false;
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
    char name[NAME_BYTES];
    bool several; /* longer names end with it, and none is better */
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
    size_t n = strlen(asked), m = strlen(name);
    if (strcmp(asked, name) == 0)
        return SAME;
    if (is_same_folded(asked, name))
        return OTHER_FORM;
    return m > n && folded(name[m - n - 1]) == '/' && is_same_folded(asked, name + m - n) ? LAST_PART : NO_MATCH;
}

static void take_value(void *context, const char *name, double value)
{
    struct found *found = context;
    enum rank rank = rank_of(found->asked, name);
    if (rank == NO_MATCH || rank < found->rank)
        return;
    if (rank > found->rank) {
        found->rank = rank;
        found->several = false;
        snprintf(found->name, sizeof found->name, "%s", name);
        metric_value_reset(&found->value);
    } else if (strncmp(name, found->name, sizeof found->name - 1) != 0) {
        found->several = true;
        return;
    }
    metric_value_add(&found->value, (struct metric_place){0, 0}, value);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_step_file(const char *path)
{
    static const char *const ends[] = {".csv", ".npz", ".json", ".jsonl"};
    bool is = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        is = is || ends_with(path, ends[i]);
    return is;
}

/* The curve of a run, or its last value. The last value of a metric that is not finite is a text. */
static void take_metric(struct found *found, const json_t *run, const char *prefix, const char *metric, const json_t *last)
{
    const json_t *curve = json_object_get(json_object_get(run, "curves"), metric);
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "/" : "", metric);
    for (size_t i = 0; i < json_array_size(curve); i++)
        take_value(found, name, json_number_value(json_array_get(json_array_get(curve, i), 1)));
    if (!json_is_number(last) || json_array_size(curve) == 0)
        take_value(found, name, json_is_number(last) ? json_number_value(last) : (double)NAN);
}

/* Only runs that ended since then count. Event files in directories below are told apart by them. */
static void take_runs(struct found *found, const json_t *history, double since)
{
    const json_t *runs = json_object_get(history, "runs");
    const char *tool = json_string_value(json_object_get(history, "tool"));
    const bool events = tool && strcmp(tool, "tensorboard") == 0;
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(runs); i++) {
        const json_t *run = json_array_get(runs, i), *ended = json_object_get(run, "ended");
        const char *key = json_string_value(json_object_get(run, "key")), *metric;
        json_t *last;
        if (json_is_number(ended) && json_number_value(ended) < since - 1)
            continue;
        const uint64_t before = found->value.count;
        json_object_foreach(json_object_get(run, "metrics"), metric, last)
            take_metric(found, run, events && key && strcmp(key, ".") != 0 ? key : "", metric, last);
        n += found->value.count != before;
        found->several = found->several || (!events && n > 1);
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

/* Reads the values of found->asked. Returns false with the reason, which names the file. Call metric_value_release in either case. */
static bool read_file(struct found *found, const char *path, double since, char why[HISTORY_WHY_MAX])
{
    if (is_step_file(path)) {
        if (!read_steps(found, path, why))
            return false;
    } else {
        json_t *history = history_read(path, &(struct history_options){0}, why);
        if (!history)
            return false;
        take_runs(found, history, since);
        json_decref(history);
    }
    if (found->rank != NO_MATCH && !found->several)
        return true;
    snprintf(why, HISTORY_WHY_MAX, found->several ? "%.300s has several runs or names with %.100s; write NAME=PATH#KEY" : "%.300s has no %.100s",
             path, found->asked);
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
    const struct trial_event event = {.line = line, .channel = TRIAL_CHANNEL_FILE, .file = path, .has_score = score && finite,
                                      .score = finite ? value : 0, .lost_score = score && !finite, .not_finite = finite ? NULL : name,
                                      .train_s = -1, .eval_s = -1};
    if (line)
        files->event(files->context, &event);
    json_decref(line);
}

/* ---- files that the caller named ---- */

/* The newest file that the pattern matches; "" if the trial has written none. The times of directories say nothing. */
static void newest_match(char path[PATH_MAX], const char *pattern, const struct metric_files *files)
{
    glob_t found = {0};
    double newest = -INFINITY;
    struct stat st;
    path[0] = '\0';
    if (glob(pattern, GLOB_NOCHECK, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            if (stat(found.gl_pathv[i], &st) == 0 && (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && time_of(&st) >= files->since && (files->until == 0 || time_of(&st) <= files->until))) &&
                time_of(&st) > newest) {
                newest = time_of(&st);
                snprintf(path, PATH_MAX, "%s", found.gl_pathv[i]);
            }
    globfree(&found);
}

static bool read_given(const struct metric_files *files, const struct command_values *values, const char *given, char why[HISTORY_WHY_MAX])
{
    char name[METRIC_NAME_BYTES], path[PATH_MAX], pattern[PATH_MAX], shown[SHOWN_MAX];
    metric_files_name(name, given);
    char *place = placeholders_replace(strchr(given, '=') + 1, values);
    char *key = place ? strrchr(place, '#') : NULL;
    if (key)
        *key++ = '\0';
    struct found found = begin(files, name, key && *key ? key : name);
    snprintf(pattern, sizeof pattern, "%s%s%s", place && *place != '/' && files->dir ? files->dir : "",
             place && *place != '/' && files->dir ? "/" : "", place ? place : "");
    newest_match(path, pattern, files);
    snprintf(why, HISTORY_WHY_MAX, "the trial did not write %.400s", pattern);
    bool good = place && path[0] && read_file(&found, path, files->since, why);
    if (good)
        give(files, name, shown_path(shown, path, values), found.value.value);
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

/* ---- files of usual names ---- */

struct candidate {
    char path[SHOWN_MAX];
    size_t kind;
    double time, value;
};

struct search {
    double since;
    struct candidate *list; /* [n] */
    size_t n;
};

/* In order of trust: event files of TensorBoard have numbers of single precision. */
static const char *const kinds[] = {"trainer_state.json", "metrics.csv", "results.csv", "progress.csv", "evaluations.npz", "result.json",
                                    "metrics.jsonl", "mlflow.db", "mlruns", ".wandb", ".tfevents."};
enum { N_KINDS = sizeof kinds / sizeof *kinds, WANDB = N_KINDS - 2, TENSORBOARD = N_KINDS - 1 };

static size_t kind_of(const char *name)
{
    size_t i = 0;
    while (i < WANDB && strcmp(name, kinds[i]) != 0)
        i++;
    if (i == WANDB && !ends_with(name, ".wandb"))
        i = strstr(name, kinds[TENSORBOARD]) ? TENSORBOARD : N_KINDS;
    return i;
}

/* Length of the name of the directory two levels above the file: of `out` in out/checkpoint-8/trainer_state.json. */
static size_t length_above(const char *path)
{
    size_t n = strlen(path);
    for (int level = 0; level < 2; level++)
        while (n > 0 && path[--n] != '/')
            continue;
    return n;
}

/* The newest of several checkpoints of one training has the longest history. Other files of one kind may be of other trainings. */
static void add_candidate(struct search *search, const char *path, size_t kind, double time)
{
    const size_t above = length_above(path);
    size_t i = 0;
    while (i < search->n && (kind != 0 || search->list[i].kind != kind || length_above(search->list[i].path) != above ||
                             strncmp(search->list[i].path, path, above) != 0))
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
           (entry->fts_level > 0 && store && entry->fts_statp->st_ino == store->st_ino && entry->fts_statp->st_dev == store->st_dev);
}

static void search_below(struct search *search, const char *root, const struct stat *store)
{
    char *const paths[] = {(char *)(uintptr_t)root, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
    FTSENT *entry;
    for (size_t n = 0; tree && n < ENTRIES_MAX && (entry = fts_read(tree)); n++) {
        size_t kind = kind_of(entry->fts_name);
        bool is_runs = entry->fts_info == FTS_D && kind < N_KINDS && strcmp(kinds[kind], "mlruns") == 0;
        if (is_runs || (entry->fts_info == FTS_D && is_skipped(entry, store)))
            fts_set(tree, entry, FTS_SKIP);
        if (is_runs || (entry->fts_info == FTS_F && kind < N_KINDS && time_of(entry->fts_statp) >= search->since))
            add_candidate(search, strncmp(entry->fts_path, "./", 2) == 0 ? entry->fts_path + 2 : entry->fts_path, kind, time_of(entry->fts_statp));
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

/* Significant digits of the shortest text of the number, which is at most what the program printed. */
static int digits_of(double value)
{
    char text[LINEAGE_NUMBER_MAX];
    int n = 0;
    for (const char *c = lineage_number_format(text, value); *c && *c != 'e'; c++)
        n += isdigit((unsigned char)*c) && (n > 0 || *c != '0');
    return n > 0 ? n : 1;
}

/* Whether the value is the printed one with more digits. */
static bool agrees(const struct candidate *candidate, double printed)
{
    char text[64];
    int digits = digits_of(printed);
    snprintf(text, sizeof text, "%.*g", digits < 17 ? digits : 17, candidate->value);
    return fabs(candidate->value - printed) <= 1e-3 * fabs(printed) && strtod(text, NULL) == printed &&
           (candidate->kind != TENSORBOARD || digits < 6);
}

/* Keeps the candidates that have the score, with their values, and writes their paths for people. */
static void read_candidates(struct search *search, const struct metric_files *files, const char *score, const struct command_values *values)
{
    char path[SHOWN_MAX];
    size_t n = 0;
    for (size_t i = 0; i < search->n; i++) {
        char why[HISTORY_WHY_MAX];
        struct found found = begin(files, score, score);
        bool has = read_file(&found, search->list[i].path, search->since, why) && isfinite(found.value.value);
        if (has) {
            search->list[n] = search->list[i];
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

static void report(const struct search *search, const char *score, const struct lineage_number *printed, const struct candidate *chosen)
{
    char text[1200], number[LINEAGE_NUMBER_MAX], before[LINEAGE_NUMBER_MAX];
    const struct candidate *c = chosen ? chosen : &search->list[0];
    lineage_number_format(number, c->value);
    lineage_number_format(before, printed->value);
    if (chosen)
        snprintf(text, sizeof text, "%s %s is read from %.300s, which the trial has written (printed: %s)", score, number, c->path,
                 printed->present ? before : "nothing");
    else if (printed->present)
        snprintf(text, sizeof text, "%s %s counts as printed, although %.300s has %s (--metric-file %s=%.300s)", score, before, c->path, number, score, c->path);
    else
        snprintf(text, sizeof text, "%zu files have a %s, and they differ; say which counts, for example --metric-file %s=%.300s", search->n, score,
                 score, c->path);
    cli_say(text);
}

/* Files beside those of other trials are not taken, but named. */
static void report_foreign(struct search *search, const struct metric_files *files, const char *score, const struct command_values *values)
{
    char text[1200];
    read_candidates(search, files, score, values);
    if (search->n == 0)
        return;
    snprintf(text, sizeof text, "%s is in %.300s, but other trials run and may have written it; say which file is the trial's own, for example "
             "--metric-file %s=%.300s", score, search->list[0].path, score, search->list[0].path);
    cli_say(text);
}

void metric_files_discover(const struct metric_files *files, const struct command_values *values, const struct lineage_number *printed)
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
        report(&search, score, printed, chosen);
    if (chosen && !same)
        give(files, score, chosen->path, chosen->value);
    if (!search.n && !alone) {
        search_below(&search, dir, has_store ? &store : NULL);
        report_foreign(&search, files, score, values);
    }
    free(search.list);
}
