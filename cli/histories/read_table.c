/*
 * read_table.c: a table with one run a line and the names of the columns in its first line, separated by commas or tabs, such as
 * exports of Weights & Biases, Optuna (trials_dataframe), Ray (get_dataframe) and NNI, and logs that agents keep; or JSON objects,
 * one a run, whose members are the columns.
 *
 * What a column is, its name says, or COLUMN=ROLE: key, name, notes, state, started, ended, seconds, param, metric, or skip. The
 * column that is named as the score is a metric. A column that none of these describes is a setting. Several keys are joined.
 * The only metric is the score, but for what is measured beside one, such as memory.
 *
 * Lines with one key, whose columns `epoch`, `step` or `_step` rise, are steps of one run: their metrics are its curve. Lines without any key,
 * name or state whose step rises are those of one training, which is refused: each would be a trial of its own.
 */
#define _GNU_SOURCE /* strcasestr */
#include <csv.h>
#include <strings.h>

#include <lineage/text.h>

#include "histories/readers.h"
#include "support/program.h"

enum { FILE_BYTES = 1 << 30, DEPTH = 16, REMEDY = 300, COUNTERS = 16 };

enum role {
    KEY,
    NAME,
    NOTES,
    STATE,
    STARTED,
    ENDED,
    SECONDS,
    PARAM,
    METRIC,
    SKIP,
    N_ROLES,
    METRIC_NAME = N_ROLES,
    METRIC_VALUE,
    MEASURE
};
static const char *const role_names[N_ROLES] = {"key",   "name",    "notes", "state",  "started",
                                                "ended", "seconds", "param", "metric", "skip"};

/* Usual names of columns. */
static const struct {
    const char *names; /* each between two commas */
    enum role role;
} usual[] = {{",id,run_id,key,trial_id,trial_index,record_id,exp_id,experiment_id,episode_id,iter,iteration,", KEY},
             {",name,run_name,hypothesis,description,title,arm_name,trialName,idea,intent,", NAME},
             {",notes,note,comment,", NOTES},
             {",state,status,trial_status,", STATE},
             {",created,created_at,started,started_at,start_time,timestamp,ts,datetime_start,", STARTED},
             {",ended,end_time,end time,ended_at,finished_at,datetime_complete,", ENDED},
             {",runtime,duration,seconds,time_total_s,", SECONDS},
             {",metric_name,", METRIC_NAME},
             {",metric_value,", METRIC_VALUE},
             {",core_metric,val_bpb,", METRIC},
             {",memory_gb,peak_vram_mb,max_staleness_steps,mean_staleness_steps,elapsed_min,tokens_used,", MEASURE},
             {",_runtime,_timestamp,_wandb,user,tags,sweep,group,job type,updated,updated_at,hostname,artifact_uri,"
              "github,commit,parent_commit,branch,parent_branch,log_path,job_id,generation_node,unit,baseline,"
              "baseline_value,delta,delta_vs_best,delta_vs_baseline,delta_vs_parent,checkpoint_dir_name,done,"
              "training_iteration,date,time_this_iter_s,pid,node_ip,time_since_restore,iterations_since_restore,"
              "logdir,budget_mode,budget_s,hardware_fingerprint,comparable,non_comparable_reason,",
              SKIP}};

struct table {
    json_t *history;
    const char *path, *const *map;
    char *why;
    char **columns;
    enum role *roles;
    size_t n_columns, column, line, n_levels; /* n_levels: the columns without a name that the file begins with */
    const char *metric;             /* the column that is the score; NULL: not named */
    const char *counters[COUNTERS]; /* the columns that count steps */
    size_t n_counters;
    json_t *run;
    char run_id[128], parent[128]; /* of MLflow */
    bool failed, checked, unscored, has_key, run_has_key, has_value; /* has_value: there is a column metric_value */
    char metric_name[128], metric_value[64];
};

static bool fail(struct table *t, const char *message, const char *what)
{
    if (!t->failed)
        history_fail(t->why, "%.200s:%zu: %s%.150s", t->path, t->line, message, what);
    t->failed = true;
    return false;
}

/* ---- the first line ---- */

static bool has_column(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i], name) == 0)
            return true;
    return false;
}

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* cv_results_ of scikit-learn's searches: a line for each setting, with the score of each fold and the mean of all. */
static bool is_search(const struct table *t)
{
    return has_column(t, "params") && has_column(t, "mean_fit_time");
}

/* JSON of pytest-benchmark and of hyperfine: what was measured, what it was measured with, and single times. */
static bool is_benchmark(const struct table *t)
{
    return (has_column(t, "stats.mean") && has_column(t, "options.timer")) ||
           (has_column(t, "command") && has_column(t, "times") && has_column(t, "mean"));
}

/* The settings of Optuna are params_NAME, those of Ray config/NAME, those of mlparty parameters.NAME, those of MLflow
 * params.NAME, those of NNI parameter.NAME, and what Nevergrad adds #NAME. */
static const char *bare_name(const struct table *t, const char *column)
{
    static const char *const prefixes[] = {"params_",         "config/", "parameters.", "parameter.",
                                           "result.metrics.", "params.", "metrics.",    "#"};
    const char *own = is_search(t) ? "param_" : is_benchmark(t) ? "stats." : has_column(t, "trialJobId") ? "value." : "";
    if (*own && begins_with(column, own))
        return column + strlen(own);
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins_with(column, prefixes[i]) && column[strlen(prefixes[i])])
            return column + strlen(prefixes[i]);
    return column;
}

/* A run of mlparty has much else: what was captured of the machine, and what agents wrote. */
static enum role role_in_mlparty(const char *column)
{
    static const struct {
        const char *name;
        enum role role;
    } roles[] = {{"id", KEY}, {"title", NAME}, {"status", STATE}, {"started_at", STARTED}, {"ended_at", ENDED}, {"seed", PARAM}};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strcmp(column, roles[i].name) == 0)
            return roles[i].role;
    return begins_with(column, "parameters.") ? PARAM : begins_with(column, "result.metrics.") ? METRIC : SKIP;
}

static enum role role_in_search(const char *column)
{
    const bool of_halving = strcmp(column, "iter") == 0 || strcmp(column, "n_resources") == 0;
    return begins_with(column, "mean_test_") ? METRIC : begins_with(column, "param_") || of_halving ? PARAM : SKIP;
}

static enum role role_in_benchmark(const char *column)
{
    static const char *const metrics[] = {"stats.mean", "stats.median", "stats.min", "stats.max", "stats.stddev",
                                          "stats.ops",  "mean",         "median",    "min",       "max",
                                          "stddev",     "user",         "system"};
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
        if (strcmp(column, metrics[i]) == 0)
            return METRIC;
    return strcmp(column, "fullname") == 0 || strcmp(column, "command") == 0      ? NAME
           : begins_with(column, "params.") || begins_with(column, "parameters.") ? PARAM
                                                                                  : SKIP;
}

/* A trial of NNI may report several scores, which its JSON has as members of `value`. */
static bool is_score_of_nni(const char *column)
{
    return strcmp(column, "reward") == 0 || strcmp(column, "value") == 0 || begins_with(column, "value.");
}

/* Columns that count the steps of a training. One may start anew where one before it rises, as a step does in each epoch. */
static const char *const counter_names[] = {"epoch", "trainer/global_step", "time/total_timesteps", "global_step", "step",
                                            "_step"};

static bool counter_named(const char *column)
{
    for (size_t i = 0; i < sizeof counter_names / sizeof *counter_names; i++)
        if (strcasecmp(column, counter_names[i]) == 0)
            return true;
    return false;
}

static enum role usual_role(const struct table *t, const char *column)
{
    static const struct {
        const char *name;
        enum role role;
    } in_guild[] = {{"run", KEY}, {"label", NAME}, {"time", SECONDS}, {"operation", SKIP}, {"step", SKIP}};
    if (is_search(t))
        return role_in_search(column);
    if (is_benchmark(t))
        return role_in_benchmark(column);
    if (has_column(t, "params_hash"))
        return role_in_mlparty(column);
    const bool is_optuna = has_column(t, "number") && has_column(t, "state");
    if (is_optuna && strcmp(column, "number") == 0)
        return KEY;
    if (is_optuna && (strcmp(column, "value") == 0 || begins_with(column, "values_")))
        return METRIC;
    if (begins_with(column, "_wandb.") || begins_with(column, "system_attrs_") || begins_with(column, "user_attrs_"))
        return SKIP;
    if (has_column(t, "run") && has_column(t, "operation") && has_column(t, "label") && has_column(t, "started") &&
        has_column(t, "status")) /* `guild compare --csv` */
        for (size_t i = 0; i < sizeof in_guild / sizeof *in_guild; i++)
            if (strcmp(column, in_guild[i].name) == 0)
                return in_guild[i].role;
    if (has_column(t, "st_status") && has_column(t, "trial_id")) /* of Syne Tune */
        return strcmp(column, "trial_id") == 0                           ? KEY
               : strcmp(column, "st_status") == 0                        ? STATE
               : begins_with(column, "st_")                              ? SKIP
               : begins_with(column, "config_") || counter_named(column) ? PARAM
                                                                         : METRIC;
    if (has_column(t, "trialJobId")) /* of NNI: `nnictl experiment export`, as CSV with `reward` and as JSON with `value` */
        return strcmp(column, "trialJobId") == 0     ? KEY
               : is_score_of_nni(column)             ? METRIC
               : strcmp(column, "intermediate") == 0 ? SKIP
                                                     : PARAM;
    if (has_column(t, "#uid") && (strchr(column, '#') || strstr(column, ".indices"))) /* of Nevergrad */
        return strcmp(column, "#loss") == 0 ? METRIC : strcmp(column, "#uid") == 0 ? KEY : SKIP;
    if (has_column(t, "artifact_uri") && strchr(column, '.')) /* search_runs of MLflow */
        return begins_with(column, "metrics.")              ? METRIC
               : strcmp(column, "tags.mlflow.runName") == 0 ? NAME
               : begins_with(column, "tags.")               ? SKIP
                                                            : PARAM;
    if (has_column(t, "metric_value") && strcmp(column, "score") == 0)
        return SKIP; /* of autoresearch-rl: the negative value */
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (history_is_one_of(usual[i].names, column))
            return usual[i].role;
    if (has_column(t, "training_iteration") && has_column(t, "trial_id") && !begins_with(column, "config/"))
        return METRIC; /* of Ray */
    return column[0] ? PARAM : SKIP; /* a table of pandas begins with a column without a name */
}

/* The role with that name; N_ROLES: none. */
static enum role role_named(const char *name)
{
    size_t role = 0;
    while (role < N_ROLES && strcmp(name, role_names[role]) != 0)
        role++;
    return (enum role)role;
}

/* Whether the text is COLUMN=ROLE of the column. */
static bool is_map_of(const char *map, const char *column)
{
    const char *equals = strrchr(map, '=');
    return equals && (size_t)(equals - map) == strlen(column) && strncmp(map, column, strlen(column)) == 0;
}

/* Whether the user says what the column is. */
static bool is_mapped(const struct table *t, const char *column)
{
    bool is = false;
    for (const char *const *map = t->map; !is && map && *map; map++)
        is = is_map_of(*map, column);
    return is;
}

/* Called when all columns are known. */
static enum role role_of(const struct table *t, const char *column)
{
    enum role role = t->metric && (strcmp(column, t->metric) == 0 || strcmp(bare_name(t, column), t->metric) == 0)
                         ? METRIC
                         : usual_role(t, column);
    for (const char *const *map = t->map; map && *map; map++)
        if (is_map_of(*map, column) && role_named(strrchr(*map, '=') + 1) < N_ROLES)
            role = role_named(strrchr(*map, '=') + 1);
    return role;
}

/* A column that is there twice, and two that would be the same of a run, are not chosen from. */
static void check_roles(struct table *t)
{
    for (size_t i = 0; i < t->n_columns && !t->failed; i++)
        for (size_t k = 0; k < i && !t->failed; k++) {
            const enum role role = t->roles[i];
            char text[240];
            snprintf(text, sizeof text, "%.60s and %.60s are both the %s; leave one out by --map %.30s=skip", t->columns[k],
                     t->columns[i], role < N_ROLES ? role_names[role] : "metric", t->columns[i]);
            if (role != SKIP && t->roles[k] != SKIP && t->columns[i][0] && strcmp(t->columns[i], t->columns[k]) == 0)
                fail(t, "the column is there twice; rename one of them: ", t->columns[i]);
            else if (role == t->roles[k] && role != KEY && role != PARAM && role != METRIC && role != MEASURE && role != SKIP &&
                     role != NOTES)
                fail(t, text, "");
        }
}

static void add_column(struct table *t, const char *name)
{
    char **columns = realloc(t->columns, (t->n_columns + 1) * sizeof *columns);
    t->columns = columns ? columns : t->columns;
    enum role *roles = realloc(t->roles, (t->n_columns + 1) * sizeof *roles);
    t->roles = roles ? roles : t->roles;
    char *copy = columns && roles ? strdup(name) : NULL;
    if (!copy) {
        fail(t, "out of memory", "");
        return;
    }
    t->columns[t->n_columns++] = copy;
}

/* The CSV of NNI has scores with names beside the settings, and nothing that tells them apart. */
static void check_scores_of_nni(struct table *t)
{
    bool named = false, all = true;
    for (size_t i = 0; i < t->n_columns; i++) {
        named = named || is_score_of_nni(t->columns[i]);
        all = all && (t->roles[i] == KEY || is_mapped(t, t->columns[i]));
    }
    if (has_column(t, "trialJobId") && !named && !all)
        fail(t, "no column is `reward`, so scores may be among the settings of NNI; export JSON, or say for each column ",
             "--map COLUMN=param or metric");
}

/* Every COLUMN=ROLE must name a column and a role, because a misspelt one would be ignored silently. */
static bool check_map(struct table *t)
{
    for (const char *const *map = t->map; map && *map && !t->failed; map++) {
        const char *equals = strrchr(*map, '=');
        bool column = false;
        for (size_t i = 0; i < t->n_columns; i++)
            column = column || is_map_of(*map, t->columns[i]);
        if (!equals || role_named(equals + 1) == N_ROLES)
            fail(t, "--map COLUMN=ROLE: ROLE is key, name, notes, state, started, ended, seconds, param, metric or skip, not ",
                 equals ? equals + 1 : *map);
        else if (!column)
            fail(t, "there is no column for --map ", *map);
    }
    return !t->failed;
}

static bool has_role(const struct table *t, enum role role)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (t->roles[i] == role)
            return true;
    return false;
}

static const char *last_part(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* The setting of the first run that looks most like a score: a number with such a name, or else the last number. */
static const char *likely_score(const struct table *t)
{
    static const char *const words[] = {"metric", "score", "loss", "acc",  "bpb", "reward",    "value",
                                        "auc",    "f1",    "err",  "rmse", "mse", "perplexity"};
    const char *name, *last = "";
    json_t *value;
    for (size_t i = 0; i < 2 * sizeof words / sizeof *words; i++)
        json_object_foreach(json_object_get(t->run, "params"), name, value) {
            const bool whole = i >= sizeof words / sizeof *words;
            last = json_is_number(value) ? name : last;
            if (json_is_number(value) && !strcasestr(last_part(name), "time") &&
                strcasestr(whole ? name : last_part(name), words[i % (sizeof words / sizeof *words)]))
                return name;
        }
    return last;
}

/* Whether a part of the name is a number, as in configs.12.lr: the object holds several runs. */
static bool has_index(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '.') ? strchr(part, '.') + 1 : NULL)
        if (strcspn(part, ".") == strspn(part, "0123456789"))
            return true;
    return false;
}

/* Writes the command that takes the score from its column, or from a member of the objects in a column. */
static void write_remedy(char out[REMEDY], const struct table *t, const char *score)
{
    const char *member = score + strcspn(score, "."), *column = score;
    char map[200];
    FILE *line = fmemopen(out, REMEDY, "w");
    bool is_column = !*member;
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(bare_name(t, t->columns[i]), score) == 0)
            column = t->columns[i], is_column = true;
    if (!line)
        return;
    snprintf(map, sizeof map, "%.*s=metric", is_column ? 150 : (int)(member - score), column);
    fputs("lineage import", line);
    shell_word_write(line, t->path);
    for (const char *const *given = t->map; given && *given; given++) {
        fputs(" --map", line);
        shell_word_write(line, *given);
    }
    fputs(" --map", line);
    shell_word_write(line, map);
    if (!is_column) {
        fputs(" --metric", line);
        shell_word_write(line, member + 1);
    }
    fclose(line);
}

/* Called with the first run. A table without a known score is refused with its columns, and with the line that would import it. */
static void check_score(struct table *t)
{
    char names[230] = "", remedy[REMEDY] = "";
    size_t length = 0;
    t->checked = true;
    if (t->failed || has_role(t, METRIC) || has_role(t, METRIC_VALUE))
        return;
    const char *score = likely_score(t);
    t->unscored = true; /* told when all lines are known, because they may be no runs */
    if (!*score) {
        history_fail(t->why, "%.200s: no column has a number in its first line", t->path);
        return;
    }
    if (has_index(score)) {
        history_fail(t->why,
                     "%.200s holds several runs in one object, of a tool that is not known; write a table, or one object a run",
                     t->path);
        return;
    }
    write_remedy(remedy, t, score);
    const size_t room = sizeof names - (strlen(remedy) > 120 ? strlen(remedy) - 120 : 0);
    for (size_t i = 0; i < t->n_columns; i++)
        if (length < room && t->columns[i][0])
            length += (size_t)snprintf(names + length, room - length, "%s%.40s", length ? ", " : "", t->columns[i]);
    history_fail(t->why, "%.80s: %s%.40s%s columns are: %s; to take one as the score: %s", t->path,
                 t->metric ? "there is no column " : "which column is the score? Its", t->metric ? t->metric : "",
                 t->metric ? "; its" : "", names, remedy);
}

/* The only column that the user calls a metric is the score, or else the only metric. */
static void set_score(struct table *t)
{
    size_t n = 0, n_metrics = 0;
    const char *found = NULL, *only = NULL;
    for (const char *const *map = t->map; map && *map && !t->failed; map++)
        if (strcmp(strrchr(*map, '='), "=metric") == 0)
            found = *map, n++;
    for (size_t i = 0; i < t->n_columns; i++)
        if (t->roles[i] == METRIC || t->roles[i] == METRIC_VALUE)
            only = t->columns[i], n_metrics += t->roles[i] == METRIC ? 1 : 2;
    if (n == 1)
        json_object_set_new(t->history, "score",
                            json_stringn(bare_name(t, found), (size_t)(strrchr(found, '=') - bare_name(t, found))));
    else if (n_metrics == 1)
        json_object_set_new(t->history, "score", json_string(bare_name(t, only)));
}

/* Several levels of pandas' index without names get those that its reset_index gives them, but for names that the file has. */
static void name_levels(struct table *t)
{
    while (t->n_levels < t->n_columns && !t->columns[t->n_levels][0])
        t->n_levels++;
    for (size_t i = 0; t->n_levels > 1 && i < t->n_levels; i++) {
        char name[32], *copy;
        snprintf(name, sizeof name, "level_%zu", i);
        if (has_column(t, name))
            continue;
        if (!(copy = strdup(name))) {
            fail(t, "out of memory", "");
            return;
        }
        free(t->columns[i]);
        t->columns[i] = copy;
    }
}

static void take_header(struct table *t)
{
    name_levels(t);
    for (size_t i = 0; i < t->n_columns; i++) {
        t->roles[i] = role_of(t, t->columns[i]);
        t->has_key = t->has_key || t->roles[i] == KEY;
        t->has_value = t->has_value || t->roles[i] == METRIC_VALUE;
    }
    /* A commit that several lines have is not a key, but better than none. */
    for (size_t i = 0; i < t->n_columns && !t->has_key; i++)
        if (strcmp(t->columns[i], "commit") == 0 && t->roles[i] == SKIP)
            t->roles[i] = KEY, t->has_key = true;
    for (size_t i = 0; i < t->n_columns && is_search(t); i++) /* of every scorer there, more is better */
        if (t->roles[i] == METRIC)
            history_set_direction(t->history, bare_name(t, t->columns[i]), true);
    if (has_column(t, "#uid")) /* Nevergrad minimises */
        history_set_direction(t->history, "loss", false);
    if (check_map(t))
        check_roles(t);
    check_scores_of_nni(t);
    set_score(t);
    json_t *skipped = json_object();
    for (size_t i = 0; i < t->n_columns; i++)
        if (t->roles[i] == SKIP && t->columns[i][0])
            json_object_set_new(skipped, t->columns[i], json_true());
    json_object_set_new(t->history, "columns_left_out", skipped);
}

/* ---- the runs ---- */

/* A cell may hold the object of all metrics, or of all settings. Returns NULL for anything else. */
static json_t *object_of(const char *text)
{
    json_t *object = text[0] == '{' ? history_json(text) : NULL;
    if (object && json_is_object(object))
        return object;
    json_decref(object);
    return NULL;
}

#define CLIPPED 5e20 /* what Nevergrad records of a loss that is nan, infinite or higher */

static void take_number(struct table *t, const char *column, const char *text)
{
    double value;
    const char *name;
    json_t *object = object_of(text), *member;
    if (object) {
        json_object_foreach(object, name, member)
            if (history_number(&value, member))
                history_set_metric(t->run, name, value);
        json_decref(object);
        return;
    }
    const bool none = !*text || strcasecmp(text, "none") == 0 || strcasecmp(text, "null") == 0 || strcmp(text, "-") == 0;
    if (none && is_search(t)) /* pandas writes nan so: the fit of a fold failed */
        history_set_text(t->run, "state", "failed");
    if (none && has_column(t, "st_status")) /* and of a report to Syne Tune, which has all metrics */
        history_set_metric(t->run, column, (double)NAN);
    if (none)
        return;
    char more[200];
    snprintf(more, sizeof more, "%.60s; leave the column out by --map %.60s=skip", text, column);
    if (!lineage_number_parse(&value, text, strlen(text)))
        fail(t, "a metric is not a number: ", more);
    else
        history_set_metric(t->run, column, value >= CLIPPED && has_column(t, "#uid") ? (double)INFINITY : value);
}

/* As text, or as seconds or milliseconds since 1970. */
static void take_time(struct table *t, const char *member, const char *column, const char *text)
{
    double time = history_time(text, false), number;
    char more[200];
    if (lineage_number_parse(&number, text, strlen(text)) && number >= 1e8)
        time = number >= 1e11 ? number / 1000 : number;
    if (*text && isnan(time)) {
        snprintf(more, sizeof more, "%.60s; leave the column out by --map %.60s=skip", text, column);
        fail(t, "a time is not written as 2026-11-23T15:38:17Z or seconds since 1970: ", more);
    }
    history_set_time(t->run, member, time);
}

static void take_state(struct table *t, const char *column, const char *text)
{
    char more[200];
    const bool broken =
        history_is_one_of(",constraint_violation,constraint_fail,constraint_failed,infeasible,disqualified,", text);
    if (broken || history_state(text)) {
        history_set_text(t->run, broken ? "broken" : "state", broken ? text : history_state(text));
        return;
    }
    snprintf(more, sizeof more, "%.60s; write one of these for it, or --map %.60s=skip, which takes each run as finished", text,
             column);
    fail(t, "the state is none of finished, failed, killed, pruned and running: ", more);
}

static void take_key(struct table *t, const char *text)
{
    const char *before = t->run_has_key ? json_string_value(json_object_get(t->run, "key")) : NULL;
    char key[256];
    snprintf(key, sizeof key, "%.120s%s%.120s", before ? before : "", before ? "/" : "", text);
    history_set_text(t->run, "key", key);
    t->run_has_key = t->run_has_key || *text;
}

/* Names the run that groups this one by its key: that of this run, with another run_id. */
static void set_parent(struct table *t)
{
    const char *key = json_string_value(json_object_get(t->run, "key")),
               *at = key && t->run_id[0] && t->parent[0] ? strstr(key, t->run_id) : NULL;
    char parent[512];
    if (at) {
        snprintf(parent, sizeof parent, "%.*s%s%.200s", (int)(at - key), key, t->parent, at + strlen(t->run_id));
        history_set_text(t->run, "nested", parent);
    }
    t->run_id[0] = t->parent[0] = '\0';
}

static void take_setting(json_t *run, const char *name, const char *text)
{
    json_t *object = object_of(text);
    if (object)
        history_add_param(run, name, object);
    else
        history_add_param_text(run, name, text);
}

static void take_cell(struct table *t, enum role role, const char *column, const char *text)
{
    switch (role) {
    case KEY:
        take_key(t, text);
        if (strcmp(column, "run_id") == 0)
            snprintf(t->run_id, sizeof t->run_id, "%.120s", text);
        break;
    case NAME: history_set_text(t->run, "name", text); break;
    case NOTES: history_set_text(t->run, "notes", strcmp(text, "-") == 0 ? "" : text); break; /* W&B's empty cell */
    case STATE: take_state(t, column, text); break;
    case STARTED: take_time(t, "started", column, text); break;
    case ENDED: take_time(t, "ended", column, text); break;
    case SECONDS:
        if (*text && isnan(history_seconds(text)))
            fail(t, "a duration is neither seconds nor 00:01:02: ", text);
        history_set_time(t->run, "seconds", history_seconds(text));
        break;
    case PARAM: take_setting(t->run, bare_name(t, column), text); break;
    case METRIC:
    case MEASURE: take_number(t, bare_name(t, column), text); break;
    case METRIC_NAME: snprintf(t->metric_name, sizeof t->metric_name, "%s", text); break;
    case METRIC_VALUE: snprintf(t->metric_value, sizeof t->metric_value, "%s", text); break;
    case SKIP:
        if (strcmp(column, "tags.mlflow.parentRunId") == 0)
            snprintf(t->parent, sizeof t->parent, "%.120s", text);
        break;
    }
}

static void on_cell(void *cell, size_t length, void *context)
{
    struct table *t = context;
    char *text = t->failed ? NULL : malloc(length + 1);
    if (!text) {
        if (!t->failed)
            fail(t, "out of memory", "");
        return;
    }
    memcpy(text, cell ? cell : "", length);
    text[length] = '\0';
    char key[32];
    if (t->line == 1) {
        add_column(t, text + (t->n_columns == 0 && strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0));
    } else if (t->column < t->n_columns) {
        snprintf(key, sizeof key, "line %zu", t->line);
        if (!t->run)
            t->run = history_add_run(t->history, key);
        take_cell(t, t->roles[t->column], t->columns[t->column], text);
    } else {
        fail(t, "the line has more cells than the first one: ", text);
    }
    t->column++;
    free(text);
}

/* Keys of a column tell runs apart, but for numbers that each study of Optuna counts anew. Those, or else names, do with the start,
 * also after lines were added to the table. Without a start, a name may be that of another run, and a line is one of this file. */
static void make_key(struct table *t)
{
    const char *name = json_string_value(json_object_get(t->run, "name")),
               *key = json_string_value(json_object_get(t->run, "key"));
    const char *slash = strrchr(t->path, '/');
    const json_t *started = json_object_get(t->run, "started");
    const bool is_number = has_column(t, "number");
    char text[400];
    if (t->has_key && !is_number)
        return;
    if (started && (t->has_key || name))
        snprintf(text, sizeof text, "%.200s@%.0f", t->has_key ? key : name, json_number_value(started));
    else if (!t->has_key && name)
        snprintf(text, sizeof text, "%.200s", name);
    else
        snprintf(text, sizeof text, "%.200s/%.150s", slash ? slash + 1 : t->path, key);
    if (!started)
        json_object_set_new(t->run, "weak", json_true());
    history_set_text(t->run, "key", text);
}

static void end_run(struct table *t)
{
    const char *name = t->metric_name[0] ? t->metric_name : "metric_value",
               *score = json_string_value(json_object_get(t->history, "score"));
    if (t->has_value) {
        take_number(t, name, t->metric_value);
        if (!score && !json_object_get(t->history, "several"))
            history_set_text(t->history, "score", name);
        else if (score && strcmp(score, name) != 0) /* the user says which one */
            json_object_del(t->history, "score"), json_object_set_new(t->history, "several", json_true());
    }
    if (!t->checked)
        check_score(t);
    make_key(t);
    set_parent(t);
    t->metric_name[0] = t->metric_value[0] = '\0';
    t->run_has_key = false;
}

/* ---- steps of one run ---- */

/* Whether the column has that name and counts steps; not if the user says what it is. */
static bool counts_steps(const struct table *t, size_t column, const char *name)
{
    return strcasecmp(t->columns[column], name) == 0 && t->roles[column] == PARAM && !is_mapped(t, t->columns[column]);
}

/* Whether a line says of its run what another one says, but for settings and metrics. */
static bool is_said_alike(const json_t *line, const json_t *later)
{
    static const char *const members[] = {"name", "notes", "state", "broken", "started", "ended", "seconds"};
    bool alike = true;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const json_t *one = json_object_get(line, members[i]), *other = json_object_get(later, members[i]);
        alike = alike && (json_equal(one, other) || (!one && !other));
    }
    return alike;
}

/* Whether each of two lines has cells that the other one lacks, and none is different, as where training and validation are logged by
 * lines of their own. Equal lines are two runs, and so are lines of which one only lacks a score. */
static bool complete_each_other(const json_t *line, const json_t *later)
{
    static const char *const members[] = {"params", "metrics"};
    const char *name;
    json_t *value;
    size_t n = 0, n_later = 0, n_both = 0;
    for (size_t k = 0; k < 2; k++) {
        json_t *cells = json_object_get(line, members[k]), *others = json_object_get(later, members[k]);
        n += json_object_size(cells);
        n_later += json_object_size(others);
        json_object_foreach(cells, name, value) {
            const json_t *other = json_object_get(others, name);
            if (other && !json_equal(value, other))
                return false;
            n_both += other != NULL;
        }
    }
    return n > n_both && n_later > n_both;
}

static double step_of(const json_t *run, const char *column)
{
    const json_t *number = json_object_get(json_object_get(run, "params"), column);
    return json_is_number(number) ? json_number_value(number) : (double)NAN;
}

/* Leaves out the last of several levels where it only counts the lines, of the table or of each group. */
static void leave_out_counting_level(struct table *t)
{
    json_t *run, *runs = json_object_get(t->history, "runs"), *seen = json_object();
    const char *level = t->n_levels > 1 ? t->columns[t->n_levels - 1] : "";
    bool of_table = *level && !is_mapped(t, level), of_groups = of_table;
    double before = -1;
    size_t i;
    json_array_foreach(runs, i, run) {
        const double at = step_of(run, level);
        char text[32];
        snprintf(text, sizeof text, "%.0f", at);
        of_table = of_table && at >= 0 && at < (double)json_array_size(runs) && at == floor(at) && !json_object_get(seen, text);
        of_groups = of_groups && (at == 0 || at == before + 1);
        json_object_set_new(seen, text, json_true());
        before = at;
    }
    json_decref(seen);
    if (!of_table && !of_groups)
        return;
    json_array_foreach(runs, i, run)
        json_object_del(json_object_get(run, "params"), level);
    json_object_set_new(json_object_get(t->history, "columns_left_out"), level, json_true());
}

/* Returns the column that counts steps and is lower in the later line where none before it is higher; NULL: none. Columns that are
 * not after `from` do not count; NULL: all do. */
static const char *falling(const struct table *t, const json_t *line, const json_t *later, const char *from)
{
    for (size_t i = 0; i < t->n_counters; i++) {
        const double step = step_of(line, t->counters[i]), next = step_of(later, t->counters[i]);
        if (!from && next < step)
            return t->counters[i];
        if (!from && next > step)
            return NULL;
        from = from == t->counters[i] ? NULL : from;
    }
    return NULL;
}

/* Whether a line goes on with the training of an earlier one: with a later step of the column, or in the same one with a later one of
 * a column after it, or with other cells. A column that counts steps falls in a training only where one before it rises. */
static bool goes_on(const struct table *t, const json_t *line, const json_t *later, const char *column)
{
    const double step = step_of(line, column), next = step_of(later, column);
    if (falling(t, line, later, NULL))
        return false;
    if (next == step && falling(t, later, line, NULL))
        return true;
    /* Lines without a key are not joined, but refused, whatever times they have. */
    return next > step || (next == step && (!t->has_key || is_said_alike(line, later)) && complete_each_other(line, later));
}

/* Keeps what is known of the last step of a key: all its lines, and what the columns counted before. */
static void keep_last(const struct table *t, json_t *lasts, const char *key, const json_t *run, bool joins)
{
    json_t *last = json_object_get(lasts, key), *copy = json_deep_copy(run), *params = json_object_get(copy, "params");
    if (joins && !falling(t, run, last, NULL)) { /* the same step */
        json_object_update_missing(params, json_object_get(last, "params"));
        json_object_update_missing(json_object_get(copy, "metrics"), json_object_get(last, "metrics"));
    }
    for (size_t i = 0; joins && i < t->n_counters; i++)
        if (!json_object_get(params, t->counters[i]))
            json_object_set(params, t->counters[i], json_object_get(json_object_get(last, "params"), t->counters[i]));
    json_object_set_new(lasts, key, copy);
}

/* How many lines do not go on with the line before them that has the same key, or without keys the same name. Sets how many go on in
 * the same step. */
static size_t n_restarts(const struct table *t, const char *column, size_t *n_same)
{
    json_t *lasts = json_object(), *run;
    size_t i, n = 0;
    *n_same = 0;
    json_array_foreach(json_object_get(t->history, "runs"), i, run) {
        const char *text = json_string_value(json_object_get(run, t->has_key ? "key" : "name")), *key = text ? text : "";
        const json_t *before = json_object_get(lasts, key);
        const bool joins = before && goes_on(t, before, run, column);
        n += before ? !joins : !isfinite(step_of(run, column));
        *n_same += joins && step_of(before, column) == step_of(run, column);
        keep_last(t, lasts, key, run, joins);
    }
    json_decref(lasts);
    return n;
}

/* Finds the columns that count steps. Returns the one by which most lines go on, and most of them with a later step; NULL: none. */
static const char *step_column(struct table *t, size_t *least)
{
    const char *best = NULL;
    size_t least_same = SIZE_MAX;
    *least = SIZE_MAX;
    for (size_t k = 0; k < sizeof counter_names / sizeof *counter_names; k++)
        for (size_t i = 0; i < t->n_columns && t->n_counters < COUNTERS; i++)
            if (counts_steps(t, i, counter_names[k]))
                t->counters[t->n_counters++] = t->columns[i];
    for (size_t i = 0; i < t->n_counters; i++) {
        size_t n_same;
        const size_t n = n_restarts(t, t->counters[i], &n_same);
        if (n < *least || (n == *least && n_same < least_same))
            best = t->counters[i], *least = n, least_same = n_same;
    }
    return best;
}

/* Writes all columns that count steps, each after `before` and with `after` at its end. */
static void list_counters(char list[REMEDY], const struct table *t, const char *before, const char *after)
{
    size_t n = 0;
    list[0] = '\0';
    for (size_t i = 0; i < t->n_counters && n < REMEDY; i++)
        n += (size_t)snprintf(list + n, REMEDY - n, "%s%.60s%s", i > 0 ? before : before + strspn(before, ", "), t->counters[i],
                              after);
}

/* Adds a step: its metrics are points of the curves. What changes from step to step was measured, too, and is left out of the settings:
 * `cells` has true for it, and false for a setting that later lines leave blank. A setting is known at the first line: what that one lacks
 * was measured later, as a score of each second epoch. */
static void add_step(json_t *run, const json_t *later, double step)
{
    static const char *const ends[] = {"state", "broken"};
    json_t *params = json_object_get(run, "params"), *others = json_object_get(later, "params"),
           *cells = json_object_get(run, "cells"), *value;
    const char *name;
    void *next;
    double number;
    json_object_foreach(json_object_get(later, "metrics"), name, value)
        if (history_number(&number, value))
            history_add_point_at(run, name, step, number);
    json_object_foreach_safe(params, next, name, value) {
        const json_t *other = json_object_get(others, name);
        if (other && json_equal(value, other))
            continue;
        json_object_set_new(cells, name, json_boolean(other != NULL));
        if (other)
            json_object_del(params, name);
    }
    json_object_foreach(others, name, value)
        if (!json_object_get(params, name))
            json_object_set_new(cells, name, json_true());
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (json_object_get(later, ends[i]))
            json_object_set(run, ends[i], json_object_get(later, ends[i]));
}

/* Leaves out of the settings the steps, and what was measured: what changes in another run and is counted, or lacks in lines of its own. */
static void drop_measured(const struct table *t, json_t *runs, const char *column)
{
    json_t *measured = json_object(), *run, *value;
    const char *name;
    size_t i;
    json_array_foreach(runs, i, run)
        json_object_foreach(json_object_get(run, "cells"), name, value)
            if (json_is_true(value))
                json_object_set(measured, name, value);
    json_array_foreach(runs, i, run) {
        json_object_foreach(json_object_get(run, "cells"), name, value)
            if (json_object_get(measured, name))
                json_object_del(json_object_get(run, "params"), name);
        for (size_t k = 0; k < t->n_counters; k++)
            if (t->counters[k] == column || json_object_get(measured, t->counters[k]))
                json_object_del(json_object_get(run, "params"), t->counters[k]);
    }
    json_decref(measured);
}

static void leave_out_counter(const struct table *t, json_t *runs, const char *column)
{
    json_t *run;
    size_t i;
    json_array_foreach(runs, i, run)
        json_object_del(json_object_get(run, "params"), column);
    json_object_set_new(json_object_get(t->history, "columns_left_out"), column, json_true());
}

/* Says which lines became one run, and which did not although another column rises, each with the way back: of all columns, because
 * one that is left would join lines, too. */
static void say_joined(struct table *t, size_t n_lines, size_t n_runs, const char *column, const char *fallen)
{
    char joined[300 + REMEDY] = "", apart[300 + REMEDY] = "", list[REMEDY];
    const char *states =
        has_column(t, "st_status") && has_role(t, STATE)
            ? "\nst_status is what Syne Tune knew when it read a report: InProgress may have ended, also badly; to take "
              "each trial as finished, say --map st_status=skip"
            : "";
    list_counters(list, t, " --map ", "=param");
    if (n_runs < n_lines)
        snprintf(
            joined, sizeof joined,
            "lines with one key are steps of one run, because %.60s rises: %zu lines are %zu runs; if each line is a run, say %s",
            column, n_lines, n_runs, list);
    list_counters(list, t, ", ", "");
    if (fallen)
        snprintf(apart, sizeof apart,
                 "%slines with one key are different runs where %.60s falls; if they are steps of one run, sort the lines by %s",
                 *joined ? "\n" : "", fallen, list);
    if (*joined || fallen)
        json_object_set_new(t->history, "caution", json_sprintf("%s%s%s", joined, apart, states));
}

/* Makes one run of the lines of each key. Returns false if all lines are steps of one training, whose runs nobody knows. */
static bool join_steps(struct table *t)
{
    size_t n_apart, i;
    const char *column = step_column(t, &n_apart);
    if (!column)
        return true;
    json_t *runs = json_object_get(t->history, "runs"), *kept = json_array(), *firsts = json_object(), *lasts = json_object(),
           *run;
    json_t *names = json_object(); /* in a table with one metric a line, the names of the metrics */
    const bool nameless = !has_role(t, KEY) && !has_role(t, NOTES) && !has_role(t, STATE);
    const bool rises = nameless && n_apart == 0;
    const char *fallen = NULL;
    char remedy[REMEDY];
    json_array_foreach(runs, i, run) {
        const char *key = json_string_value(json_object_get(run, "key")), *name = json_string_value(json_object_get(run, "name"));
        json_t *first = t->has_key ? json_object_get(firsts, key) : NULL;
        const json_t *last = json_object_get(lasts, key);
        const bool joins = first && goes_on(t, last, run, column);
        const char *falls = first ? falling(t, last, run, NULL) : NULL;
        if (falls && falling(t, run, last, falls))
            fallen = falls;
        json_object_set_new(names, name ? name : "", json_true());
        keep_last(t, lasts, key, run, joins);
        if (joins && !json_object_get(first, "cells")) {
            json_object_set_new(first, "cells", json_object());
            add_step(first, first, step_of(first, column));
        }
        if (joins) {
            add_step(first, run, step_of(run, column));
        } else {
            json_array_append(kept, run);
            json_object_set(firsts, key, run);
        }
    }
    if (json_array_size(kept) < json_array_size(runs))
        drop_measured(t, kept, column);
    for (size_t k = 0; k < t->n_counters; k++) /* of W&B: no setting, where each line is a run, either */
        if (strcasecmp(t->counters[k], "_step") == 0)
            leave_out_counter(t, kept, t->counters[k]);
    say_joined(t, json_array_size(runs), json_array_size(kept), column, fallen);
    const bool is_training = rises && json_object_size(names) < json_array_size(runs);
    json_object_set_new(t->history, "runs", kept);
    json_decref(names);
    json_decref(firsts);
    json_decref(lasts);
    list_counters(remedy, t, " --map ", "=param");
    if (is_training)
        history_fail(t->why,
                     "%.200s: its lines are steps of one training, because only %.40s tells them apart, and it rises; record the "
                     "training by `lineage run --metric-file NAME=PATH`, or, if each line is a run, say %s",
                     t->path, column, remedy);
    return !is_training;
}

static void on_line(int end, void *context)
{
    struct table *t = context;
    (void)end;
    if (t->run && !t->failed)
        end_run(t);
    if (t->line == 1 && !t->failed)
        take_header(t);
    t->column = 0;
    t->run = NULL;
    t->line++;
}

static unsigned char separator_of(const char *text)
{
    const size_t n = strcspn(text, "\r\n");
    return memchr(text, '\t', n) && !memchr(text, ',', n) ? '\t' : ',';
}

/* ---- JSON ---- */

static void flatten(json_t *flat, const char *name, json_t *value, int depth)
{
    const char *member;
    json_t *inner;
    char path[512];
    if (json_is_object(value) && depth < DEPTH) {
        json_object_foreach(value, member, inner) {
            snprintf(path, sizeof path, "%.250s%s%.250s", name, *name ? "." : "", member);
            flatten(flat, path, inner, depth + 1);
        }
    } else if (!json_is_null(value)) {
        char *text = json_is_string(value) ? strdup(json_string_value(value)) : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
        json_object_set_new(flat, name, json_string(text ? text : ""));
        free(text);
    }
}

/* The list of an object that lists its runs: `benchmarks` of pytest-benchmark, `results` of hyperfine, known by the members that all
 * their objects have, because a run may have a list of that name, too; NULL: none. */
static json_t *list_of_runs(json_t *object)
{
    static const struct {
        const char *name, *members[3];
    } lists[] = {{"benchmarks", {"stats", "stats", "stats"}}, {"results", {"command", "mean", "times"}}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        json_t *list = json_object_get(object, lists[i].name), *run;
        size_t at, n = 0;
        json_array_foreach(list, at, run)
            n += json_object_get(run, lists[i].members[0]) && json_object_get(run, lists[i].members[1]) &&
                 json_object_get(run, lists[i].members[2]);
        if (n > 0 && n == json_array_size(list) && !json_object_get(object, "id"))
            return list;
    }
    return NULL;
}

/* Writes the command of jq that takes out the first list of objects inside of an object, and what names the others. */
static void write_lists(FILE *out, const char *path, const char *filter, json_t *object, int depth)
{
    const char *name;
    char *quoted, *inner;
    json_t *member, *item;
    size_t i;
    json_object_foreach(object, name, member) {
        json_t *text = json_string(name);
        size_t n = 0;
        inner = NULL;
        quoted = json_dumps(text, JSON_ENCODE_ANY);
        if (!quoted || asprintf(&inner, "%s[%s]", filter, quoted) < 0)
            inner = NULL;
        json_array_foreach(member, i, item)
            n += json_is_object(item);
        if (inner && n > 0 && n == json_array_size(member)) {
            const bool first = ftell(out) == 0;
            fputs(first ? "; if its runs are in a list inside, import what this writes: jq" : ", or the same with", out);
            shell_word_write(out, inner);
            if (first) {
                shell_word_write(out, path);
                fputs(cli_ends_with(path, "runs.json") ? " >list.json" : " >runs.json", out);
            }
        } else if (inner && depth < DEPTH) {
            write_lists(out, path, inner, member, depth + 1);
        }
        json_decref(text);
        free(quoted);
        free(inner);
    }
}

/* Called with each value of a file; returns false if it is not a single object. */
static bool take_single(void *context, json_t *value)
{
    json_array_append(context, value);
    return json_array_size(context) == 1 && json_is_object(value);
}

/* A single object without a known score may list its runs: says how to take them out. */
static void say_lists(struct table *t, const char *path)
{
    char unused[HISTORY_WHY_MAX], *text = NULL;
    size_t n = 0, length = strlen(t->why);
    json_t *values = json_array();
    FILE *out = open_memstream(&text, &n);
    if (out && history_each_value(path, take_single, values, unused) && json_array_size(values) == 1)
        write_lists(out, path, ".", json_array_get(values, 0), 0);
    if (out)
        fclose(out);
    if (text)
        snprintf(t->why + length, HISTORY_WHY_MAX - length, "%s",
                 n < HISTORY_WHY_MAX - length ? text : "; its runs may be in one of its lists of objects");
    json_decref(values);
    free(text);
}

/* Adds the objects that a value is or lists. */
static bool take_objects(void *context, json_t *value)
{
    size_t i;
    json_t *inner, *flat;
    value = list_of_runs(value) ? list_of_runs(value) : value;
    json_array_foreach(value, i, inner)
        take_objects(context, inner);
    if (json_is_object(value)) {
        json_array_append_new(context, flat = json_object());
        flatten(flat, "", value, 0);
    }
    return true;
}

/* The runs of mlparty are documents in its index. */
static bool read_documents(json_t *lines, const char *path, char why[HISTORY_WHY_MAX])
{
    sqlite3 *db = history_database(path, why);
    struct query query = history_ask(db, path, why, "SELECT doc FROM nodes WHERE type = 'run' ORDER BY created_at, id", NULL);
    while (history_next(&query)) {
        json_t *document = history_json(history_column(&query, 0));
        take_objects(lines, document);
        json_decref(document);
    }
    const bool read = history_end(&query);
    sqlite3_close(db);
    return read;
}

static void read_objects(struct table *t, const char *path)
{
    json_t *lines = json_array(), *columns = json_object(), *line, *cell;
    const char *name;
    size_t i;
    char head[16] = "";
    FILE *in = fopen(path, "re");
    const bool is_database = in && fread(head, 1, sizeof head - 1, in) > 0 && begins_with(head, "SQLite format");
    if (in)
        fclose(in);
    t->failed = !(is_database ? read_documents(lines, path, t->why) : history_each_value(path, take_objects, lines, t->why));
    if (!t->failed && !json_array_size(lines))
        t->failed = !history_fail(t->why, "%.300s has no run: an object with an id or a name, and a config or a summary", path);
    /* The last line of FLAML's log names the best of the others. */
    for (i = json_array_size(lines); i-- > 0;)
        if (json_object_get(json_array_get(lines, i), "curr_best_record_id"))
            json_array_remove(lines, i);
    json_array_foreach(lines, i, line)
        json_object_update_missing(columns, line);
    json_object_foreach(columns, name, cell)
        on_cell((void *)(uintptr_t)name, strlen(name), t);
    on_line(0, t);
    json_array_foreach(lines, i, line) {
        json_object_foreach(columns, name, cell) {
            const char *text = json_string_value(json_object_get(line, name));
            on_cell((void *)(uintptr_t)text, text ? strlen(text) : 0, t);
        }
        on_line(0, t);
    }
    if (t->unscored && !t->failed && !is_database && json_array_size(lines) == 1)
        say_lists(t, path);
    json_decref(lines);
    json_decref(columns);
}

static void read_lines(struct table *t, const char *path)
{
    size_t length;
    struct csv_parser parser;
    char *text = history_file_text(path, FILE_BYTES, &length, t->why);
    t->failed = !text;
    if (text && csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) == 0) {
        csv_set_delim(&parser, separator_of(text));
        if (csv_parse(&parser, text, length, on_cell, on_line, t) != length || csv_fini(&parser, on_cell, on_line, t) != 0)
            fail(t, "not a table: ", csv_strerror(csv_error(&parser)));
        csv_free(&parser);
    } else if (text) {
        fail(t, "out of memory", "");
    }
    free(text);
}

static json_t *read_any(const char *path, const struct history_options *options, const char *tool,
                        void (*read)(struct table *t, const char *path), char why[HISTORY_WHY_MAX])
{
    struct table t = {
        .path = path, .map = options->map, .metric = options->metric, .why = why, .line = 1, .history = history_new(tool)};
    read(&t, path);
    if (!t.failed && !json_array_size(json_object_get(t.history, "runs")))
        fail(&t, "the table has no line of a run", "");
    if (!t.failed)
        leave_out_counting_level(&t);
    t.failed = t.failed || !join_steps(&t) || t.unscored;
    history_mark_groups(t.history);
    for (size_t i = 0; i < t.n_columns; i++)
        free(t.columns[i]);
    free(t.columns);
    free(t.roles);
    return history_done(t.history, NULL, NULL, !t.failed);
}

json_t *read_table(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    return read_any(path, options, "csv", read_lines, why);
}

json_t *read_mlparty(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    return read_any(path, options, "mlparty", read_objects, why);
}

json_t *read_json_table(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    return read_any(path, options, "json", read_objects, why);
}
