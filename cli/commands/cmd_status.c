/*
 * cmd_status.c: `lineage status`: lists the running trials of a store.
 */

#include "support/running_trials.h"

enum { METRICS_SHOWN = 6 };

struct status {
    struct cli_session session;
    struct cli_list *list;
    struct running_trials trials;
};

/* Prints a duration such as 7:05 in a table, and seconds in TSV and JSON. */
static void put_seconds(const struct status *o, double seconds)
{
    char text[32];
    cli_duration_format(text, isfinite(seconds) ? seconds : 0);
    if (o->session.format == CLI_TABLE)
        cli_list_text(o->list, isfinite(seconds) ? text : "");
    else
        cli_list_number(o->list, floor(seconds), isfinite(seconds));
}

static void put_metrics(const struct status *o, const struct running_trial *t)
{
    struct cli_writer text = {0};
    size_t n = 0;
    const char *name;
    json_t *value;
    FILE *out = cli_writer_open(&text);
    json_object_foreach(t->metrics, name, value)
        if (out && n++ < METRICS_SHOWN)
            fprintf(out, "%s%.60s %.4g", n > 1 ? ", " : "", name, json_number_value(value));
    cli_list_text(o->list, cli_writer_close(&text));
    free(text.text);
}

static void put_step(const struct status *o, const struct running_trial *t)
{
    char text[64] = "";
    if (t->steps > 0)
        snprintf(text, sizeof text, "%.0f/%.0f", t->step, t->steps);
    else if (t->step > 0)
        snprintf(text, sizeof text, "%.0f", t->step);
    cli_list_text(o->list, text);
}

/* The list has these columns only if there are claims. */
static void put_claim(const struct status *o, const struct lineage_claim *claim)
{
    char key[17] = "";
    if (!o->trials.n_claims)
        return;
    if (claim)
        snprintf(key, sizeof key, "%016" PRIx64, claim->key);
    cli_list_add(o->list, CLI_TEXT(claim ? claim->worker : ""), CLI_TEXT(claim ? claim->night : ""), CLI_TEXT(key),
                 CLI_NUMBER(claim ? (double)claim->attempt : 0, claim != NULL));
    put_seconds(o, claim ? claim->left : NAN);
}

static bool put_trial(struct status *o, const struct running_trial *t)
{
    cli_list_add(o->list, CLI_TEXT(t->job), CLI_TEXT(t->name), CLI_TEXT(t->phase));
    put_step(o, t);
    put_metrics(o, t);
    put_seconds(o, t->elapsed);
    put_seconds(o, t->left);
    put_claim(o, t->claim);
    return cli_list_end_row(o->list);
}

static int work(struct cli_session *session, void *context)
{
    struct status *o = context;
    struct lineage_error err;
    bool complete = true;
    if (running_trials_load(&o->trials, session->store, &err) != LINEAGE_OK)
        return cli_fail(&err);
    o->list = cli_list_of(session->format, NULL,
                          o->trials.n_claims ? "trial,name,phase,step,metrics,running,left,worker,night,key,attempt,lease"
                                             : "trial,name,phase,step,metrics,running,left");
    for (size_t i = 0; i < o->trials.n; i++)
        complete = put_trial(o, &o->trials.list[i]) && complete;
    int status = cli_list_finish(o->list);
    if (!complete)
        return cli_no_memory();
    /* Returns 1 if no trial is running, so that a script can wait with `while lineage status`. */
    return status == CLI_OK && !o->trials.n ? CLI_NO : status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct status o = {0};
    struct poptOption options[] = {CLI_SESSION_OPTIONS(&o.session), POPT_TABLEEND};
    int status = cli_on_store(&o.session, command, options, 0, 0, argc, argv, work, &o);
    running_trials_release(&o.trials);
    return status;
}

const struct cli_command cmd_status = {
    .name = "status",
    .arguments = "",
    .description = "Lists the running trials of the store: step, latest metrics, elapsed time, and the time\n"
                   "left according to its steps or its time limit. `killed` means that the process which\n"
                   "watched the trial is gone; the next `lineage run` records it. For trials of nights, on all\n"
                   "machines, it also prints worker, key, attempt and the rest of the lease. Exit status 1 if\n"
                   "no trial is running.",
    .examples = "  lineage status -C runs/mine\n  lineage status --format json",
    .run = run,
};
