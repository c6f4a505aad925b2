/* history_tools.c: which tool wrote a file, and its runs in order; see history.h. */

#include <dirent.h>
#include <fts.h>
#include <sys/stat.h>
#include <unistd.h>

#include "histories/readers.h"

/* ---- which tool ---- */

/* A directory of MLflow has directories with a meta.yaml, those of the experiments. */
static bool is_mlflow(const char *path)
{
    char name[PATH_MAX];
    struct stat st;
    bool any = false;
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && !any && (entry = readdir(dir));) {
        int n = snprintf(name, sizeof name, "%s/%s/meta.yaml", path, entry->d_name);
        any = entry->d_name[0] != '.' && n > 0 && n < PATH_MAX && stat(name, &st) == 0;
    }
    if (dir)
        closedir(dir);
    return any;
}

static bool has_beside(const FTSENT *file, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s%s", (int)(file->fts_pathlen - file->fts_namelen), file->fts_path, name);
    return access(path, F_OK) == 0;
}

static bool is_event_file(const FTSENT *file)
{
    return strstr(file->fts_name, ".tfevents.") != NULL;
}

static bool is_run_log(const FTSENT *file)
{
    return cli_ends_with(file->fts_name, ".wandb");
}

static bool is_swanlab_file(const FTSENT *file)
{
    return cli_ends_with(file->fts_name, ".swanlab");
}

static bool has_ray_results_beside(const FTSENT *file)
{
    return has_beside(file, "result.json") || has_beside(file, "error.txt");
}

static bool is_program_file(const FTSENT *file)
{
    return strcmp(file->fts_parent->fts_name, "programs") == 0 && cli_ends_with(file->fts_name, ".json");
}

static bool is_in_trial_folder(const FTSENT *file)
{
    return strncmp(file->fts_parent->fts_name, "trial_", 6) == 0;
}

enum { HEAD = 65536 };

#define JOURNAL "{\"op_code\":" /* the first bytes of a journal of Optuna */

/* Whether all of the words are in the first bytes of the file, which begin with the first one of them, blanks aside. */
static bool head_has(const char *path, const char *first, const char *second, const char *third)
{
    FILE *in = fopen(path, "re");
    char *head = calloc(1, HEAD + 1), *at = head;
    bool has = in && head && fread(head, 1, HEAD, in) > 0;
    for (; has && *first; first++) {
        at += strspn(at, " \t\r\n");
        has = *at++ == *first;
    }
    has = has && strstr(head, second) && strstr(head, third);
    free(head);
    if (in)
        fclose(in);
    return has;
}

/* Whether the file has that name, and the other one is in its folder. */
static bool is_beside(const char *path, const char *name, const char *other)
{
    char file[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (strcmp(slash ? slash + 1 : path, name) != 0)
        return false;
    const int n = snprintf(file, sizeof file, "%.*s%s", slash ? (int)(slash + 1 - path) : 0, path, other);
    return n > 0 && n < PATH_MAX && access(file, F_OK) == 0;
}

static bool is_lightning_file(const char *path)
{
    return is_beside(path, "metrics.csv", "hparams.yaml");
}

static bool is_ray_result(const char *path)
{
    /* A progress.csv beside params.json alone is of rllab or garage, or of a Ray that wrote tables only: it is read as a table. */
    return (is_beside(path, "progress.csv", "params.json") && is_beside(path, "progress.csv", "result.json")) ||
           head_has(path, "{", "\"training_iteration\":", "\"trial_id\":");
}

static bool is_hpbandster_results(const char *path)
{
    return cli_ends_with(path, "results.json") && head_has(path, "[[", "\"submitted\":", "\"finished\":");
}

static bool is_wandb(const char *path)
{
    return head_has(path, "{", "", "") || head_has(path, "[", "", "") || head_has(path, "\xef\xbb\xbf{", "", "") ||
           head_has(path, "\xef\xbb\xbf[", "", "");
}

/* Copies the first line. Returns false if there is none, and of a pipe, which can be read only once. */
static bool head_line(char line[4096], const char *path)
{
    struct stat st;
    FILE *in = stat(path, &st) == 0 && S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    const bool any = in && fgets(line, 4096, in);
    if (in)
        fclose(in);
    line[any ? strcspn(line, "\r\n") : 0] = '\0';
    return any;
}

static bool is_table(const char *path)
{
    char line[4096];
    return cli_ends_with(path, ".csv") || (head_line(line, path) && strlen(line) > 0 && strpbrk(line, "\t,"));
}

static bool has_word(const char *line, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = line; (at = strstr(at, word)); at += n)
        if ((at == line || strchr("\t\"", at[-1])) && (!at[n] || strchr("\t\"", at[n])))
            return true;
    return false;
}

const char *history_log_score(const char *path, const char *metric)
{
    char line[4096];
    if (cli_ends_with(path, ".csv") || !head_line(line, path) || !(has_word(line, "exp_id") || has_word(line, "commit")))
        return NULL;
    const char *name = metric ? metric : has_word(line, "core_metric") ? "core_metric" : "val_bpb";
    return has_word(line, name) ? name : NULL;
}

static bool is_any(const char *path)
{
    return path != NULL;
}

/* What shows the tool. All members that are given must hold. */
struct sign {
    int depth; /* above 0: a file at most so deep below the folder .. */
    const char *file, *beside; /* .. has this name, and this one is in its folder */
    bool (*is_file)(const FTSENT *file);
    const char *table, *column; /* of a database */
    const char *head[3]; /* of a text: see head_has */
    bool (*is)(const char *path);
};

static bool is_signed_file(const struct sign *sign, const FTSENT *file)
{
    return file->fts_info == FTS_F && (!sign->file || strcmp(file->fts_name, sign->file) == 0) &&
           (!sign->beside || has_beside(file, sign->beside)) && (!sign->is_file || sign->is_file(file));
}

static bool tree_has(const char *path, const struct sign *sign)
{
    char why[HISTORY_WHY_MAX];
    FTS *tree = history_tree(path, why);
    bool any = false;
    for (FTSENT *entry; !any && (entry = history_entry(tree, sign->depth));)
        any = is_signed_file(sign, entry);
    history_leave(tree);
    return any;
}

static bool has_table(const char *path, const struct sign *sign)
{
    char why[HISTORY_WHY_MAX];
    sqlite3 *db = history_database(path, why);
    const bool has = db && history_has_column(db, sign->table, sign->column);
    sqlite3_close(db);
    return has;
}

static bool shows(const char *path, const struct sign *sign)
{
    return (!sign->depth || tree_has(path, sign)) && (!sign->table || has_table(path, sign)) &&
           (!sign->head[0] || head_has(path, sign->head[0], sign->head[1], sign->head[2])) && (!sign->is || sign->is(path));
}

enum kind { DIRECTORY, DATABASE, TEXT };

#define IN_FILES(levels, ...) {.depth = levels, __VA_ARGS__}
#define IN_TABLE(name, with) {.table = name, .column = with}
#define IN_HEAD(first, second, third)                                                                                            \
    {                                                                                                                            \
        .head = { first, second, third }                                                                                         \
    }

/* The order of the rows is that of the questions. */
static const struct tool {
    const char *name;
    enum kind kind;
    struct sign sign;
    history_reader *read; /* NULL: `take` is called with each file that has the sign's name; of a TEXT, with the given file */
    run_file_reader *take;
    bool ends_unknown;
} tools[] = {
    {"mlflow", DIRECTORY, {.is = is_mlflow}, .read = read_mlflow},
    {"ray", DIRECTORY, IN_FILES(2, .file = "params.json", .is_file = has_ray_results_beside), .read = read_ray},
    {"openevolve", DIRECTORY, IN_FILES(4, .is_file = is_program_file), .read = read_openevolve},
    {"wandb", DIRECTORY, IN_FILES(INT_MAX, .is_file = is_run_log), .read = read_wandb_logs},
    {"sacred", DIRECTORY, IN_FILES(3, .file = "run.json", .beside = "config.json"), .take = take_sacred},
    {"keras-tuner", DIRECTORY, IN_FILES(3, .file = "trial.json", .is_file = is_in_trial_folder), .take = take_keras},
    {"smac", DIRECTORY, IN_FILES(3, .file = "runhistory.json"), .take = take_smac},
    {"hpbandster", DIRECTORY, IN_FILES(1, .file = "results.json", .beside = "configs.json"), .take = take_hpbandster},
    {"clearml", DIRECTORY, IN_FILES(2, .file = "task.json", .beside = "metrics.jsonl"), .take = take_clearml,
     .ends_unknown = true},
    {"comet", DIRECTORY, IN_FILES(2, .file = "experiment.json", .beside = "messages.json"), .take = take_comet,
     .ends_unknown = true},
    {"neptune", DIRECTORY, IN_FILES(4, .file = "metadata.json", .beside = "data-1.log"), .take = take_neptune,
     .ends_unknown = true},
    {"tensorboard", DIRECTORY, IN_FILES(INT_MAX, .is_file = is_event_file), .read = read_tensorboard},
    {"lightning", DIRECTORY, IN_FILES(3, .file = "metrics.csv", .beside = "hparams.yaml"), .read = read_lightning},
    {"swanlab", DIRECTORY, IN_FILES(INT_MAX, .is_file = is_swanlab_file), .read = read_swanlab},
    {"transformers", DIRECTORY, IN_FILES(5, .file = "trainer_state.json"), .take = take_trainer},
    {"optuna", DATABASE, IN_TABLE("trial_params", "distribution_json"), .read = read_optuna},
    {"mlflow", DATABASE, IN_TABLE("runs", "run_uuid"), .read = read_mlflow_database},
    {"trackio", DATABASE, IN_TABLE("metrics", "run_name"), .read = read_trackio},
    {"tensorboard", TEXT, IN_FILES(INT_MAX, .is_file = is_event_file), .read = read_tensorboard}, /* one event file */
    {"shinka", DATABASE, IN_TABLE("programs", "combined_score"), .read = read_shinka},
    {"mlparty", DATABASE, IN_TABLE("nodes", "params_hash"), .read = read_mlparty},
    {"sqlite", DATABASE, {.is = is_any}, .read = read_stranger},
    {"wandb", TEXT, IN_HEAD(":W&B", "", ""), .read = read_wandb_logs},
    {"swanlab", TEXT, IN_HEAD(":SWL", "", ""), .read = read_swanlab},
    {"optuna", TEXT, IN_HEAD(JOURNAL, "", ""), .read = read_optuna_journal},
    {"ray", TEXT, {.is = is_ray_result}, .read = read_ray_result},
    {"lightning", TEXT, {.is = is_lightning_file}, .read = read_lightning},
    {"aide", TEXT, IN_HEAD("{\"nodes\":[", "\"code\":", "\"plan\":"), .read = read_aide},
    {"smac", TEXT, IN_HEAD("{", "\"config_id\":", "\"starttime\":"), .take = take_smac},
    {"transformers", TEXT, IN_HEAD("{", "\"global_step\":", "\"log_history\":"), .take = take_trainer},
    {"hpbandster", TEXT, {.is = is_hpbandster_results}, .take = take_hpbandster},
    {"dvc", TEXT, IN_HEAD("[{", "\"rev\": \"workspace\"", "\"experiments\":"), .read = read_dvc},
    {"wandb", TEXT, {.is = is_wandb}, .read = read_wandb},
    {"csv", TEXT, {.is = is_table}, .read = read_table}, /* history_read expects it in the last row */
};
enum { N_TOOLS = sizeof tools / sizeof *tools };

const char *history_tool_at(size_t i)
{
    static const char *const names[] = {"wandb",     "mlflow",       "optuna",  "tensorboard", "trackio", "ray",
                                        "aide",      "openevolve",   "shinka",  "mlparty",     "sacred",  "keras-tuner",
                                        "smac",      "hpbandster",   "clearml", "comet",       "neptune", "dvc",
                                        "lightning", "transformers", "swanlab", "csv"};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

/* Returns false with errno if the path cannot be looked at. A pipe can be read only `once`, so nothing is asked about it. */
static bool kind_of(enum kind *kind, bool *once, const char *path)
{
    static const char magic[] = "SQLite format 3";
    struct stat st;
    char head[sizeof magic] = "";
    if (stat(path, &st) != 0)
        return false;
    *kind = S_ISDIR(st.st_mode) ? DIRECTORY : TEXT;
    *once = *kind == TEXT && !S_ISREG(st.st_mode);
    FILE *in = S_ISREG(st.st_mode) ? fopen(path, "re") : NULL;
    if (S_ISREG(st.st_mode) && !in)
        return false;
    if (in && fread(head, 1, sizeof head, in) == sizeof head && memcmp(head, magic, sizeof magic) == 0)
        *kind = DATABASE;
    if (in)
        fclose(in);
    return true;
}

/* Returns the tool that wrote the file, or the one that the user names; NULL, with errno 0 if it is none. */
static const struct tool *find(const char *path, const char *tool)
{
    enum kind kind;
    bool once;
    if (!kind_of(&kind, &once, path))
        return NULL;
    if (once && !tool)
        tool = "csv";
    const struct tool *found = NULL;
    for (size_t i = 0; i < N_TOOLS; i++) {
        const bool named = tools[i].kind == kind && (!tool || strcmp(tool, tools[i].name) == 0);
        const bool is = named && !once && shows(path, &tools[i].sign);
        if (is || (named && tool && kind != DATABASE)) /* the user may know better, and the reader says what is missing */
            found = &tools[i];
        if (is)
            break;
    }
    errno = 0;
    return found;
}

const char *history_tool_of(const char *path)
{
    const struct tool *tool = find(path, NULL);
    return tool ? tool->name : NULL;
}

/* ---- the order ---- */

struct place {
    double started;
    size_t i;
};

static int by_start(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->started < y->started ? -1 : x->started > y->started ? 1 : x->i < y->i ? -1 : x->i > y->i;
}

/* Runs without a time stay behind those with one, in the order of the file. */
static bool sort_runs(json_t *history)
{
    json_t *runs = json_object_get(history, "runs"), *sorted = json_array();
    const size_t n = json_array_size(runs);
    struct place *places = calloc(n + 1, sizeof *places);
    for (size_t i = 0; places && i < n; i++) {
        const json_t *started = json_object_get(json_array_get(runs, i), "started");
        places[i] = (struct place){started ? json_number_value(started) : (double)INFINITY, i};
    }
    if (places)
        qsort(places, n, sizeof *places, by_start);
    for (size_t i = 0; places && i < n; i++)
        json_array_append(sorted, json_array_get(runs, places[i].i));
    const bool good = places && json_array_size(sorted) == n;
    free(places);
    return json_object_set_new(history, "runs", sorted) == 0 && good;
}

/* Two runs with one key would be taken for one that ended differently. Copies of one are one, but for lines of a table. */
static void tell_keys_apart(json_t *history, bool has_copies)
{
    json_t *seen = json_object(), *firsts = json_object(), *run;
    size_t i;
    for (i = 0; has_copies && i < json_array_size(json_object_get(history, "runs")); i++) {
        run = json_array_get(json_object_get(history, "runs"), i);
        const char *key = json_string_value(json_object_get(run, "key"));
        const json_t *first = json_object_get(firsts, key);
        if (!first)
            json_object_set(firsts, key, run);
        else if (json_equal(first, run) && json_array_remove(json_object_get(history, "runs"), i--) == 0)
            history_leave_out(history, "copies of a run");
    }
    json_decref(firsts);
    json_array_foreach(json_object_get(history, "runs"), i, run) {
        const char *key = json_string_value(json_object_get(run, "key"));
        const json_int_t n = json_integer_value(json_object_get(seen, key)) + 1;
        json_object_set_new(seen, key, json_integer(n));
        if (n > 1)
            json_object_set_new(run, "key", json_sprintf("%s#%" JSON_INTEGER_FORMAT, key, n));
    }
    json_decref(seen);
}

/* ---- what cannot be read ---- */

static bool is_hydra_file(const FTSENT *file)
{
    return strcmp(file->fts_name, "multirun.yaml") == 0 || strcmp(file->fts_name, "optimization_results.yaml") == 0 ||
           strcmp(file->fts_parent->fts_name, ".hydra") == 0;
}

/* The folder of a run of MLflow has its id as its name, 32 hexadecimal digits. */
static bool is_artifact(const FTSENT *file)
{
    static const char folder[] = "/artifacts/";
    const size_t n = file->fts_pathlen - file->fts_namelen, tail = strlen(folder);
    const char *end = file->fts_path + n;
    return (n >= tail && strncmp(end - tail, folder, tail) == 0) &&
           ((n >= tail + 32 && strspn(end - tail - 32, "0123456789abcdef") == 32) || has_beside(file, "../meta.yaml"));
}

/* Whether all members are numbers, or objects of numbers. */
static bool has_numbers_only(const json_t *object)
{
    const char *name;
    json_t *value;
    double number;
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
        if (!history_number(&number, value) && !has_numbers_only(value))
            return false;
    return json_object_size(object) > 0;
}

/* The metrics of one training; a list of runs, and a run with a name, may have that name of a file, too. */
static bool has_dvclive_beside(const FTSENT *file)
{
    char why[HISTORY_WHY_MAX];
    size_t length;
    if (!has_beside(file, "plots") && !has_beside(file, "params.yaml"))
        return false;
    char *text = history_file_text(file->fts_accpath, HEAD, &length, why);
    json_t *metrics = text ? history_json(text) : NULL;
    const bool is = has_numbers_only(metrics);
    json_decref(metrics);
    free(text);
    return is;
}

#define PICKLE                                                                                                                   \
    "is a pickle of Python, which runs code when it is read; write a CSV or JSON with one line a run in Python, and import that"

/* Returns what to do with a file that holds runs in a form that is not read; NULL: nothing is known. */
static const char *remedy_of(const char *path)
{
    static const struct {
        struct sign sign;
        const char *remedy;
    } known[] = {
        {IN_FILES(2, .file = "results.csv.zip", .beside = "metadata.json"),
         "is of Syne Tune; unzip its results.csv.zip and import results.csv with --metric"},
        {IN_FILES(3, .file = "metrics.json", .is_file = has_dvclive_beside),
         "is of DVC or DVCLive, whose metrics.json is of one training; write all experiments: dvc exp show --json >FILE, and "
         "import that"},
        {IN_HEAD("PK", "", ""), "is an archive; unzip it into a folder and import that"},
        {IN_HEAD("\x80", "", ""), PICKLE},
        {IN_HEAD("ccopy_reg", "", ""), PICKLE}, /* of protocol 0, which is text */
        {IN_FILES(4, .is_file = is_hydra_file),
         "is of Hydra, which keeps no score of a job; let its Optuna sweeper write a study "
         "(hydra.sweeper.storage=sqlite:///study.db) and import that, or print a score and run the jobs by `lineage night`"},
        {IN_FILES(2, .file = "run_metadata.sqlite"),
         "is of Aim, whose values only its own library reads; write a CSV with one line a run from Repo.query_runs, and "
         "import that"},
        {IN_FILES(5, .is_file = is_artifact),
         "has only artifacts of MLflow; its runs are in the database of its tracking server, such as mlflow.db beside it: import "
         "that"},
        {IN_HEAD("{", "\"_type\": \"Client\"", "\"search_space\":"),
         "is of Ax, whose form changes with each release; write a CSV by Client.summarize().to_csv(..) and import that with "
         "--map"},
        {IN_HEAD("Experiment", "rev", "typ"),
         "is a table of DVC, in which metrics and settings look alike; write JSON: dvc exp show --json >FILE, and import "
         "that"},
        {IN_HEAD("{", "\"pbounds\":", "\"target\":"),
         "is of bayesian-optimization; make a table of its points: jq '. as $s | [range(.target | length) | . as $i | "
         "([$s.keys, $s.params[$i]] | transpose | map({(.[0]): .[1]}) | add) + {target: $s.target[$i]}]' FILE >points.json, and "
         "import that with --map target=metric (a higher one is better)"},
        {IN_HEAD("+--", "--+", "|"),
         "is a table drawn with lines; write JSON or CSV (optuna trials .. -f json >FILE), and import that"},
        {IN_HEAD("-datetime_complete:", "number:", "state:"),
         "is YAML of Optuna; write JSON (optuna trials .. -f json >FILE), and import that"},
        {IN_HEAD("apiVersion:", "kind:", ""),
         "is YAML of Kubernetes; write JSON (kubectl get .. -o json >FILE), and import that"},
        {IN_HEAD("[{", "\"misc\":", "\"idxs\":"),
         "is of hyperopt; make a table of its trials: jq '[.[] | {space: (.misc.vals | map_values(.[0])), name: "
         "\"\\(.tid)\", loss: .result.loss, state: (if .result.status == \"fail\" then \"failed\" else [\"running\", "
         "\"running\", \"finished\", "
         "\"failed\", \"killed\"][.state] end)}]' FILE >trials.json, and import that with --metric loss"},
        {IN_HEAD("{", "kubeflow.org/", "\"parameterAssignments\""),
         "is of Katib; make a table of its trials: jq '[(.items // [.])[] | select(.kind == \"Trial\") | "
         "([.spec.parameterAssignments[]? | {(.name): .value}] | add) + ([.status.observation.metrics[]? | {(.name): .latest}] | "
         "add) + {name: .metadata.name, state: ([.status.conditions[]? | select(.status == \"True\").type][-1] // \"Created\" | "
         "{EarlyStopped: \"pruned\", Created: \"running\"}[.] // .)}]' FILE >trials.json, and import that with --metric"},
        {IN_HEAD("{", "\"ongoing_trials\":", "\"hyperparameters\":"),
         "is Keras Tuner's oracle.json, which has no scores; name the folder in which it is"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (shows(path, &known[i].sign))
            return known[i].remedy;
    return NULL;
}

bool history_is_no_log(const char *path)
{
    char head[512];
    FILE *in = fopen(path, "re");
    const size_t n = in ? fread(head, 1, sizeof head, in) : 0;
    if (in)
        fclose(in);
    return memchr(head, '\0', n) != NULL || remedy_of(path);
}

/* Sets the reason if a folder that is of no tool has files of one, such as mlflow.db, and returns whether it has. */
static bool has_histories(const char *path, char why[HISTORY_WHY_MAX])
{
    char names[HISTORY_WHY_MAX / 2] = "", unused[HISTORY_WHY_MAX];
    enum kind kind;
    bool once;
    size_t n = 0;
    FTS *tree = kind_of(&kind, &once, path) && kind == DIRECTORY ? history_tree(path, unused) : NULL;
    for (FTSENT *entry; (entry = history_entry(tree, 2));) {
        if (entry->fts_info != FTS_F || n > sizeof names / 2 || !kind_of(&kind, &once, entry->fts_path))
            continue;
        const bool may_be = kind == DATABASE || head_has(entry->fts_path, JOURNAL, "", "");
        const struct tool *tool = may_be ? find(entry->fts_path, NULL) : NULL;
        if (tool && tool->read != read_stranger)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%.80s (%s)", n ? ", " : "", entry->fts_path + strlen(path) + 1,
                                  tool->name);
    }
    history_leave(tree);
    if (n)
        history_fail(why, "%.200s is a folder; name one of the files in it: %s", path, names);
    return n > 0;
}

/* Reads the file of each run in the folder, or the file that was given. */
static json_t *read_run_files(const char *path, const struct tool *tool, char why[HISTORY_WHY_MAX])
{
    struct run_file file = {.history = history_new(tool->name), .starts = json_object(), .why = why};
    FTS *tree = history_tree(path, why);
    bool good = tree != NULL;
    if (tool->ends_unknown)
        json_object_set_new(file.history, "ends_unknown", json_true());
    for (FTSENT *entry; good && (entry = history_entry(tree, INT_MAX));) {
        const bool starts = tool->take == take_keras && strcmp(entry->fts_name, "oracle.json") == 0;
        const bool given = entry->fts_level == 0;
        json_t *value = NULL;
        if (entry->fts_info != FTS_F || !(given || starts || strcmp(entry->fts_name, tool->sign.file) == 0))
            continue;
        file.folder = entry->fts_parent->fts_name;
        file.path = entry->fts_path;
        file.length = (int)(entry->fts_pathlen - entry->fts_namelen);
        good = history_first_value(entry->fts_path, &value, why);
        if (good && starts)
            json_object_update(file.starts, json_object_get(json_object_get(value, "display"), "trial_start"));
        else if (good)
            good = tool->take(&file, value);
        json_decref(value);
    }
    history_leave(tree);
    json_decref(file.starts);
    if (good && !json_array_size(json_object_get(file.history, "runs")))
        good = history_fail(why, "%.300s has no run of %s", path, tool->name);
    return history_done(file.history, NULL, NULL, good);
}

json_t *history_read(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    const struct tool *tool = find(path, options->tool);
    if (!tool && errno)
        return history_fail(why, "cannot open %.300s: %s", path, strerror(errno));
    history_reader *read = tool ? tool->read : NULL;
    const bool is_placed_table = read == read_lightning || read == read_ray_result;
    if (is_placed_table && !options->tool && options->map && options->map[0] && cli_ends_with(path, ".csv"))
        tool = &tools[N_TOOLS - 1], read = read_table; /* the user says what its columns are */
    const bool guessed = !options->tool && (!tool || read == read_wandb || read == read_table);
    if (!tool && has_histories(path, why))
        return NULL;
    const char *remedy = guessed ? remedy_of(path) : NULL;
    const bool mapped = remedy && options->map && options->map[0] && strncmp(remedy, "is of hyperopt;", 15) == 0;
    if (remedy && !mapped) /* with a map it is a table, though not a good one */
        return history_fail(why, "%.200s %s", path, remedy);
    if (!tool && options->tool)
        return history_fail(why, "%.300s is not what %s writes", path, options->tool);
    if (!tool)
        return history_fail(
            why,
            "%.300s is neither a results.tsv nor a table, nor a history of W&B, SwanLab, MLflow, Optuna, TensorBoard, "
            "trackio, Ray Tune, AIDE, OpenEvolve, ShinkaEvolve, mlparty, Sacred, Keras Tuner, SMAC3, HpBandSter, ClearML, Comet, "
            "Neptune, DVC, Lightning's CSVLogger or Hugging Face's Trainer",
            path);
    if (options->map && options->map[0] && read != read_table && read != read_wandb)
        return history_fail(why, "--map is for tables; %.300s is of %s", path, tool->name);
    json_t *history = read ? read(path, options, why) : read_run_files(path, tool, why);
    if (history && options->study && !json_object_get(history, "study") && read != read_wandb_logs && read != read_swanlab) {
        json_decref(history);
        return history_fail(why, "--study is for histories with several studies; %.300s of %s has none", path, tool->name);
    }
    if (history && !sort_runs(history)) {
        json_decref(history);
        return history_fail(why, "out of memory");
    }
    if (history)
        tell_keys_apart(history, read != read_table);
    return history;
}
