/*
 * A trial that was killed together with its watcher has used time and measured something, and a night must know that it
 * was tried. The process that gets the lock on the trial's work directory appends its row.
 */
#include "run/run_parts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "git/git.h"
#include "support/running_files.h"
#include "trial/one_trial.h"

/* At most this much is read of what a trial may have written in its directory. */
enum { LINE_BYTES = 1 << 20, TRIAL_BYTES = 16 << 20, EVENTS_BYTES = 256 << 20 };

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text && *text)
        json_object_set_new(object, key, cli_json_text(text));
}

bool abandoned_trial_prepare(const char *dir, const struct trial_plan *plan)
{
    const struct trial_identity *identity = &plan->identity;
    char path[PATH_MAX];
    json_t *object = json_pack("{s:I, s:f, s:o}", "started", (json_int_t)time(NULL), "train_seconds",
                               plan->settings.train_seconds, "params", cli_json_params(plan->params, plan->n_params));
    set_text(object, "name", identity->name);
    set_text(object, "specialist", identity->specialist);
    set_text(object, "domain", identity->domain);
    set_text(object, "hypothesis", identity->hypothesis);
    set_text(object, "expected_delta", identity->expected_delta);
    set_text(object, "parent", identity->parent);
    set_text(object, "night", identity->night);
    set_text(object, "code", identity->code);
    set_text(object, "score", plan->score_key);
    FILE *out = cli_path_in(path, dir, RUNNING_TRIAL) ? fopen(path, "we") : NULL;
    if (out)
        cli_json_print(out, object, true);
    json_decref(object);
    if (out && fclose(out) == 0)
        return true;
    return cli_refuse("cannot write " RUNNING_TRIAL " in %s: %s", dir, strerror(errno));
}

struct abandoned {
    struct lineage_store *store;
    char dir[PATH_MAX]; /* of the trial */
    int fd;             /* the same, open */
    json_t *trial;
    struct trial_plan plan;
    struct lineage_param params[TRIAL_PARAMS_MAX];
    struct trial_results results;
    int status;
};

static const char *text_of(const struct abandoned *l, const char *key)
{
    const char *text = cli_json_string(l->trial, key);
    return text ? text : "";
}

/* The job_name of the trial's row: that of its plan, which a trial in Python may have, else the name of its directory. */
static const char *job_name(const struct abandoned *l)
{
    const char *planned = text_of(l, "job_name");
    if (*planned)
        return planned;
    const char *slash = strrchr(l->dir, '/'), *name = slash ? slash + 1 : l->dir;
    return strncmp(name, RUNNING_PREFIX, strlen(RUNNING_PREFIX)) == 0 ? name + 1 : name;
}

static void read_params(struct abandoned *l)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(l->trial, "params"), name, value)
        if (l->plan.n_params < TRIAL_PARAMS_MAX && (json_is_number(value) || json_is_string(value)))
            l->params[l->plan.n_params++] = (struct lineage_param){
                name, json_is_number(value) ? json_number_value(value) : (double)NAN, json_string_value(value)};
    l->plan.params = l->params;
}

static void read_plan(struct abandoned *l)
{
    const char *score = cli_json_string(l->trial, "score");
    l->plan = (struct trial_plan){.identity = {.specialist = text_of(l, "specialist"),
                                               .domain = text_of(l, "domain"),
                                               .hypothesis = text_of(l, "hypothesis"),
                                               .expected_delta = text_of(l, "expected_delta"),
                                               .parent = text_of(l, "parent"),
                                               .night = text_of(l, "night"),
                                               .code = text_of(l, "code")},
                                  .score_key = score,
                                  .score_label = score,
                                  .record_metrics = true};
    read_params(l);
}

/* Longer lines are skipped: no trial that lineage ran has written them. */
static void read_events(struct abandoned *l)
{
    char *line = malloc(LINE_BYTES);
    bool begins = true;
    FILE *in = line ? running_open(l->fd, RUNNING_EVENTS, EVENTS_BYTES) : NULL;
    for (long long left = EVENTS_BYTES; in && left > 0 && fgets(line, LINE_BYTES, in);) {
        struct trial_event event;
        size_t n = strlen(line);
        bool ends = n > 0 && line[n - 1] == '\n';
        json_t *read = begins ? event_line_read(&event, line, n, l->plan.score_key) : NULL;
        if (read && !json_object_get(read, "name"))
            trial_results_event(&l->results, &event);
        json_decref(read);
        begins = ends;
        left -= n > 0 ? (long long)n : LINE_BYTES;
    }
    free(line);
    if (in)
        fclose(in);
}

/* Whether the trial's row was already appended. Its ref may then be missing, and its directory has not been removed
 * yet. */
static bool has_row(const struct abandoned *l, char id[LINEAGE_NAME_MAX])
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    bool there = files_beside_row_id(id, l->fd) && lineage_find(l->store, id, &row, &err) == LINEAGE_OK && row.job_name &&
                 strcmp(row.job_name, job_name(l)) == 0;
    lineage_trial_release(&row);
    return there;
}

static void beside(void *context, const char *exp_id)
{
    const struct abandoned *l = context;
    files_beside_row_put(l->store, l->fd, exp_id);
}

/* Whether the kill came between the files beside the row and the row: they have the id that the row was about to get, and no other row
 * gets it. */
static bool has_files_only(const struct abandoned *l, char id[LINEAGE_NAME_MAX])
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    char dir[PATH_MAX];
    bool only = files_beside_row_id(id, l->fd) && lineage_find(l->store, id, &row, &err) == LINEAGE_ENOTFOUND &&
                provenance_path(dir, l->store, id);
    lineage_trial_release(&row);
    return only;
}

static int append_row(struct abandoned *l)
{
    struct trial_outcome outcome = {.end = TRIAL_ABANDONED};
    struct lineage_append_options options;
    struct lineage_trial trial, row = {0};
    struct lineage_error err;
    char said[256], id[LINEAGE_NAME_MAX];
    if (!trial_row_make(&l->results, &outcome, NULL, &trial, &options))
        return cli_no_memory();
    trial.job_name = job_name(l);
    trial.total_s = (struct lineage_number){0};
    options.beside = beside;
    options.beside_context = l;
    if (has_files_only(l, id))
        trial.exp_id = id;
    trial_ref_pass(l->store, NULL, 0);
    enum lineage_status status = lineage_store_append(l->store, &trial, &options, &row, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    snprintf(said, sizeof said, "recorded %.40s as harness_abort: %.150s", row.exp_id, outcome.reason);
    cli_say(said);
    code_ref_keep(l->store, row.exp_id);
    lineage_trial_release(&row);
    return CLI_GO_ON;
}

static int record(struct abandoned *l)
{
    char id[LINEAGE_NAME_MAX] = "";
    FILE *in = running_open(l->fd, RUNNING_TRIAL, TRIAL_BYTES);
    l->trial = in ? json_loadf(in, 0, NULL) : NULL;
    if (in)
        fclose(in);
    if (has_row(l, id)) {
        code_ref_keep(l->store, id);
        return CLI_GO_ON;
    }
    if (!json_is_object(l->trial))
        return CLI_GO_ON; /* the file is incomplete: the kill came before the command started */
    read_plan(l);
    trial_results_init(&l->results, &l->plan);
    read_events(l);
    int status = append_row(l);
    trial_results_release(&l->results);
    return status;
}

/*
 * Takes the lock of the directory again and keeps it, because another process may have taken it since running_each_dir
 * checked.
 */
static void visit(void *context, const char *name, int dir, bool held)
{
    struct abandoned *all = context;
    if (held || all->status != CLI_GO_ON || faccessat(dir, RUNNING_TRIAL, F_OK, 0) != 0 || flock(dir, LOCK_EX | LOCK_NB) != 0)
        return;
    struct abandoned *l = calloc(1, sizeof *l);
    if (!l || !cli_path_in(l->dir, lineage_store_dir(all->store), name)) {
        all->status = cli_no_memory();
    } else {
        l->store = all->store;
        l->fd = dir;
        all->status = record(l);
        if (all->status == CLI_GO_ON)
            workdir_remove_tree(AT_FDCWD, l->dir);
        json_decref(l->trial);
    }
    free(l);
}

int abandoned_trials_record(struct lineage_store *store)
{
    struct abandoned *all = calloc(1, sizeof *all);
    if (!all)
        return cli_no_memory();
    all->store = store;
    all->status = CLI_GO_ON;
    running_each_dir(lineage_store_dir(store), visit, all);
    int status = all->status;
    free(all);
    return status;
}
