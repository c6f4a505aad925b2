/*
 * left_trial.c: rows for trials that nobody could write a row for.
 *
 * A trial that was killed with its watcher has cost its hours and measured something; a night must also know that it
 * was tried. Whoever holds the lock of its directory is the one that records it.
 */
#include "run/left_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lineage/render.h>

#include "run/run_log.h"
#include "support/running_files.h"
#include "trial/workdir.h"

/* The id of the row, once it is settled; the row itself may still fail to be written. */
#define ROW_FILE "row"

static bool path_in(char out[PATH_MAX], const char *dir, const char *name)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);
    return n > 0 && n < PATH_MAX;
}

const char *left_trial_job(const char *dir)
{
    const char *slash = strrchr(dir, '/'), *name = slash ? slash + 1 : dir;
    return strncmp(name, RUNNING_PREFIX, strlen(RUNNING_PREFIX)) == 0 ? name + 1 : name;
}

/* ---- what the row would be ---- */

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text && *text)
        json_object_set_new(object, key, cli_json_text(text));
}

bool left_trial_write(const char *dir, const struct trial_plan *plan, const char *name)
{
    char path[PATH_MAX];
    json_t *object = json_pack("{s:I, s:f, s:o}", "started", (json_int_t)time(NULL), "train_seconds", plan->train_seconds,
                               "params", cli_json_params(plan->params, plan->n_params));
    set_text(object, "name", name);
    set_text(object, "specialist", plan->specialist);
    set_text(object, "domain", plan->domain);
    set_text(object, "hypothesis", plan->hypothesis);
    set_text(object, "expected_delta", plan->expected_delta);
    set_text(object, "parent", plan->parent);
    set_text(object, "night", plan->night);
    set_text(object, "score", plan->score_key);
    FILE *out = path_in(path, dir, RUNNING_TRIAL) ? fopen(path, "we") : NULL;
    if (out)
        cli_json_print(out, object, true);
    json_decref(object);
    if (out && fclose(out) == 0)
        return true;
    return cli_error(CLI_SYSTEM, "cannot write " RUNNING_TRIAL " in %s: %s", dir, strerror(errno)), false;
}

/* ---- beside the row ---- */

static void write_row_id(const char *dir, const char *exp_id)
{
    char path[PATH_MAX];
    FILE *out = path_in(path, dir, ROW_FILE) ? fopen(path, "we") : NULL;
    if (!out)
        return;
    fputs(exp_id, out);
    fclose(out);
}

/* In the same file system: a rename. What has the name is of a row that never came to be. */
static void move_to(const struct lineage_store *store, enum lineage_place place, const char *from, const char *name)
{
    char to[PATH_MAX];
    struct lineage_error err;
    char *dir = NULL;
    if (lineage_store_path(&dir, store, place, &err) == LINEAGE_OK && (mkdir(dir, 0777) == 0 || errno == EEXIST) &&
        path_in(to, dir, name)) {
        workdir_remove_tree(AT_FDCWD, to);
        if (rename(from, to) != 0)
            cli_error(CLI_SYSTEM, "cannot keep %s: %s", to, strerror(errno));
    }
    lineage_free(dir);
}

void left_trial_put_beside(const struct lineage_store *store, const char *dir, const char *exp_id)
{
    char from[PATH_MAX], name[LINEAGE_NAME_MAX + 8];
    write_row_id(dir, exp_id);
    snprintf(name, sizeof name, "%.64s.log", exp_id);
    if (path_in(from, dir, RUNNING_OUTPUT "0") && access(from, F_OK) == 0 && run_log_join(dir))
        move_to(store, LINEAGE_PLACE_LOGS, from, name);
    if (path_in(from, dir, RUNNING_PROVENANCE) && access(from, F_OK) == 0)
        move_to(store, LINEAGE_PLACE_PROVENANCE, from, exp_id);
}

/* ---- a row for what was left ---- */

struct leaving {
    struct lineage_store *store;
    char dir[PATH_MAX]; /* of the trial */
    json_t *trial;
    struct trial_plan plan;
    struct lineage_param params[TRIAL_PARAMS_MAX];
    struct trial_record record;
    int status;
};

static const char *text_of(const struct leaving *l, const char *key)
{
    const char *text = json_string_value(json_object_get(l->trial, key));
    return text ? text : "";
}

static void read_params(struct leaving *l)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(l->trial, "params"), name, value)
        if (l->plan.n_params < TRIAL_PARAMS_MAX && (json_is_number(value) || json_is_string(value)))
            l->params[l->plan.n_params++] =
                (struct lineage_param){name, json_is_number(value) ? json_number_value(value) : (double)NAN,
                                       json_string_value(value)};
    l->plan.params = l->params;
}

static void read_plan(struct leaving *l)
{
    const char *score = json_string_value(json_object_get(l->trial, "score"));
    l->plan = (struct trial_plan){.specialist = text_of(l, "specialist"),
                                  .domain = text_of(l, "domain"),
                                  .hypothesis = text_of(l, "hypothesis"),
                                  .expected_delta = text_of(l, "expected_delta"),
                                  .parent = text_of(l, "parent"),
                                  .night = text_of(l, "night"),
                                  .score_key = score,
                                  .score_label = score};
    read_params(l);
}

static void read_events(struct leaving *l)
{
    char path[PATH_MAX], *line = NULL;
    size_t room = 0;
    ssize_t n;
    FILE *in = path_in(path, l->dir, RUNNING_EVENTS) ? fopen(path, "re") : NULL;
    while (in && (n = getline(&line, &room, in)) > 0) {
        struct trial_event event;
        json_t *read = trial_wire_read(&event, line, (size_t)n, l->plan.score_key);
        if (read && !json_object_get(read, "name"))
            trial_record_event(&l->record, &event);
        json_decref(read);
    }
    free(line);
    if (in)
        fclose(in);
}

/* Whether the row that was settled for it is there: the kill came behind it. */
static bool has_row(const struct leaving *l)
{
    char path[PATH_MAX], id[LINEAGE_NAME_MAX] = "";
    struct lineage_trial row = {0};
    struct lineage_error err;
    FILE *in = path_in(path, l->dir, ROW_FILE) ? fopen(path, "re") : NULL;
    if (!in)
        return false;
    bool read = fgets(id, sizeof id, in) != NULL;
    fclose(in);
    bool there = read && lineage_find(l->store, id, &row, &err) == LINEAGE_OK && row.job_name &&
                 strcmp(row.job_name, left_trial_job(l->dir)) == 0;
    lineage_trial_release(&row);
    return there;
}

static void beside(void *context, const char *exp_id)
{
    const struct leaving *l = context;
    left_trial_put_beside(l->store, l->dir, exp_id);
}

static int append_row(struct leaving *l)
{
    struct trial_outcome outcome = {.end = TRIAL_ABANDONED};
    struct lineage_append_options options;
    struct lineage_trial trial, row = {0};
    struct lineage_error err;
    char said[256];
    if (!trial_record_finish(&l->record, &outcome, NULL, &trial, &options))
        return cli_no_memory();
    trial.job_name = left_trial_job(l->dir);
    trial.total_s = (struct lineage_number){0};
    options.beside = beside;
    options.beside_context = l;
    enum lineage_status status = lineage_store_append(l->store, &trial, &options, &row, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    snprintf(said, sizeof said, "recorded %.40s as harness_abort: %.150s", row.exp_id, outcome.reason);
    cli_say(said);
    lineage_trial_release(&row);
    return CLI_GO_ON;
}

static int record(struct leaving *l)
{
    char path[PATH_MAX];
    if (has_row(l))
        return CLI_GO_ON;
    l->trial = path_in(path, l->dir, RUNNING_TRIAL) ? json_load_file(path, 0, NULL) : NULL;
    if (!json_is_object(l->trial))
        return CLI_GO_ON; /* killed while it was written: nothing had begun */
    read_plan(l);
    trial_record_init(&l->record, &l->plan);
    read_events(l);
    int status = append_row(l);
    trial_record_release(&l->record);
    return status;
}

/* The lock is taken again, for good: between the look of running_each_dir and this another process may have come. */
static void visit(void *context, const char *name, int dir, bool held)
{
    struct leaving *all = context;
    if (held || all->status != CLI_GO_ON || faccessat(dir, RUNNING_TRIAL, F_OK, 0) != 0 ||
        flock(dir, LOCK_EX | LOCK_NB) != 0)
        return;
    struct leaving *l = calloc(1, sizeof *l);
    if (!l || !path_in(l->dir, lineage_store_dir(all->store), name)) {
        all->status = cli_no_memory();
    } else {
        l->store = all->store;
        all->status = record(l);
        if (all->status == CLI_GO_ON)
            workdir_remove_tree(AT_FDCWD, l->dir);
        json_decref(l->trial);
    }
    free(l);
}

int left_trial_record_all(struct lineage_store *store)
{
    struct leaving *all = calloc(1, sizeof *all);
    if (!all)
        return cli_no_memory();
    all->store = store;
    all->status = CLI_GO_ON;
    running_each_dir(lineage_store_dir(store), visit, all);
    int status = all->status;
    free(all);
    return status;
}
