/* cmd_tried.c: `lineage tried`: asks whether a setting was tried. */

#include <lineage/text.h>

#include "output/ideas_out.h"

#define MAX_WANTED 16

struct tried_options {
    char *alpha, *beta, *gamma, *tolerance;
    char **params;
    struct lineage_param wanted[MAX_WANTED];
    char names[MAX_WANTED][LINEAGE_NAME_MAX];
    size_t n;
    struct cli_texts texts;
};

/* Copies the name, because in the option text of --param (NAME=VALUE) it is not NUL-terminated. */
static bool want(struct tried_options *o, const char *name, const char *text, bool text_too)
{
    if (!text)
        return true;
    if (o->n == MAX_WANTED)
        return cli_refuse("tried: more than %d parameters", MAX_WANTED);
    snprintf(o->names[o->n], LINEAGE_NAME_MAX, "%s", name);
    o->wanted[o->n].name = o->names[o->n];
    if (!(text_too ? cli_value_parse(&o->wanted[o->n], &o->texts, name, text)
                   : cli_number_parse(&o->wanted[o->n].value, name, text)))
        return false;
    o->n++;
    return true;
}

static bool want_all(struct tried_options *o)
{
    char name[LINEAGE_NAME_MAX];
    const char *value;
    if (!want(o, "alpha", o->alpha, false) || !want(o, "beta", o->beta, false) || !want(o, "gamma", o->gamma, false))
        return false;
    for (char **param = o->params; param && *param; param++)
        if (!cli_assignment_parse(name, &value, "param", *param) || !want(o, name, value, true))
            return false;
    return true;
}

/* The tolerance is that of lineage_tried; otherwise the remarks would be about other trials. */
static void make_conditions(struct lineage_condition conditions[MAX_WANTED], const struct tried_options *o, double tolerance)
{
    for (size_t i = 0; i < o->n; i++) {
        double slack = lineage_slack(tolerance, o->wanted[i].value);
        conditions[i] =
            (struct lineage_condition){.name = o->names[i],
                                       .range = {{true, o->wanted[i].value - slack}, {true, o->wanted[i].value + slack}},
                                       .texts = &o->wanted[i].text,
                                       .n_texts = o->wanted[i].text != NULL};
    }
}

static bool note_row(void *context, size_t n, const char *const *names, const char *const *texts)
{
    (void)n, (void)names, (void)texts;
    *(bool *)context = true;
    return false;
}

/* Trials with harness_abort taught nothing about the setting and do not count, but the user should know that somebody
 * tried it. A name that nothing has is an error, because a misspelt parameter is one that nobody tried; before the first trial with
 * parameters nothing can be misspelt. */
static int report_aborted(struct lineage_store *store, const struct tried_options *o, double tolerance)
{
    struct lineage_condition conditions[MAX_WANTED];
    struct lineage_query query = {.labels = 1u << LINEAGE_HARNESS_ABORT, .conditions = conditions, .n_conditions = o->n};
    struct lineage_error err, ignored;
    size_t n = 0;
    bool some = false;
    make_conditions(conditions, o, tolerance);
    if (lineage_query_count(&n, store, &query, &err) != LINEAGE_OK) {
        if (lineage_sql(store, "SELECT 1 FROM param_values LIMIT 1", note_row, &some, &ignored) != LINEAGE_OK || some ||
            strstr(err.text, "did you mean"))
            return cli_fail(&err);
        return cli_error(CLI_NO, "%s", err.text);
    }
    if (n)
        fprintf(stderr,
                "lineage: %zu trial%s with this setting %s void or ended in harness_abort, which does not count as tried\n", n,
                n > 1 ? "s" : "", n > 1 ? "are" : "is");
    return n ? CLI_NO : CLI_GO_ON;
}

enum { NEAREST_SHOWN = 3 };

/* Writes "alpha=0.9, opt=adam" for the names of the list. */
static void write_settings(char *out, size_t size, const struct tried_options *o, const json_t *names)
{
    size_t k;
    json_t *name;
    *out = '\0';
    json_array_foreach((json_t *)(uintptr_t)names, k, name)
        for (size_t i = 0; i < o->n; i++) {
            char number[LINEAGE_NUMBER_MAX];
            const struct lineage_param *wanted = &o->wanted[i];
            size_t n = strlen(out);
            if (strcmp(wanted->name, json_string_value(name)) == 0)
                snprintf(out + n, size - n, "%s%s=%s", n ? ", " : "", wanted->name,
                         wanted->text ? wanted->text : lineage_setting_format(number, wanted->value));
        }
}

/* Names the tried values next to those that were wanted. */
static void report_values(struct lineage_store *store, const struct tried_options *o)
{
    for (size_t i = 0; i < o->n; i++) {
        size_t k;
        json_t *value, *values = cli_nearest_values(store, o->names[i], o->wanted[i].text ? NULL : &o->wanted[i].value);
        json_array_foreach(values, k, value) {
            char number[LINEAGE_NUMBER_MAX];
            fprintf(stderr, "%s%s%s", k ? ", " : "lineage: tried: ", k ? "" : o->names[i], k ? "" : " ");
            cli_print(stderr, "%.60s",
                      json_is_string(value) ? json_string_value(value)
                                            : lineage_setting_format(number, json_number_value(value)));
        }
        if (k)
            fputc('\n', stderr);
        json_decref(values);
    }
}

/* A part of the setting may have failed by itself, which says more about the whole than that nobody tried the whole. */
static void report_nearest(struct lineage_store *store, const struct tried_options *o, double tolerance)
{
    struct lineage_condition conditions[MAX_WANTED];
    size_t i;
    json_t *near, *nearest;
    if (o->n < 2)
        return;
    make_conditions(conditions, o, tolerance);
    nearest = cli_nearest_tried(store, conditions, o->n, NEAREST_SHOWN);
    json_array_foreach(nearest, i, near) {
        char has[400], lacks[400];
        write_settings(has, sizeof has, o, json_object_get(near, "has"));
        write_settings(lacks, sizeof lacks, o, json_object_get(near, "lacks"));
        cli_print(stderr, "lineage: nearest: %s has %s, not %s; %.0s\n", cli_json_string(near, "exp_id"), has, lacks,
                  cli_json_string(near, "outcome"));
    }
    json_decref(nearest);
}

static int work(struct cli_session *session, void *context)
{
    struct tried_options *o = context;
    struct lineage_cursor *cursor;
    struct lineage_error err;
    double tolerance = LINEAGE_TOLERANCE;
    size_t n;
    if (!want_all(o) || (o->tolerance && !cli_amount_parse(&tolerance, "tolerance", o->tolerance)))
        return CLI_USAGE;
    if (lineage_tried(&cursor, session->store, o->wanted, o->n, tolerance, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = cli_print_cursor(cursor, lineage_store_settings(session->store), session->format, &session->screen, &n);
    if (status != CLI_OK || n > 0)
        return status;
    if ((status = report_aborted(session->store, o, tolerance)) != CLI_GO_ON)
        return status;
    report_values(session->store, o);
    report_nearest(session->store, o, tolerance);
    return CLI_NO;
}

static struct cli_session asked;
static struct tried_options chosen;
static struct poptOption table[] = {
    CLI_SESSION_OPTIONS(&asked),
    CLI_OPTION("alpha", &chosen.alpha, "NUMBER", "value of alpha to look for"),
    CLI_OPTION("beta", &chosen.beta, "NUMBER", "value of beta to look for"),
    CLI_OPTION("gamma", &chosen.gamma, "NUMBER", "value of gamma to look for"),
    {"param", 'p', POPT_ARG_ARGV, &chosen.params, 0, "value of any parameter or setting to look for", "NAME=NUMBER|TEXT"},
    CLI_OPTION("tolerance", &chosen.tolerance, "SHARE",
               "largest difference that counts as equal, as a share of the value: 0.05 means 5 % (default: 1e-9)"),
    CLI_SCREEN_OPTIONS(&asked.screen),
    POPT_TABLEEND};

const struct cli_command cmd_tried = {
    .name = "tried",
    .arguments = "[NAME=VALUE...]",
    .description = "Lists the trials in which every given parameter has the given value: numbers within the\n"
                   "tolerance, texts exactly. Exit status 0 if there is one, 1 if the setting was not tried. A\n"
                   "trial that ended in harness_abort does not count. If no trial has all of them, standard\n"
                   "error names the nearest values that were tried, and the trials that have most of them,\n"
                   "failures first, with their outcomes. A name that nothing has is an error (status 2).\n\n"
                   "A name that no trial declares as a parameter is looked up among the settings that trials\n"
                   "changed in words (`lineage knobs`).",
    .examples = "  lineage tried --alpha 0.9 --gamma 1.0 || echo 'new ground'\n"
                "  lineage tried --alpha 0.3 --param lr=3e-4 --tolerance 0.05\n"
                "  lineage tried optimizer=adam alpha=0.3\n  lineage tried grad_clip_norm=0.5",
    CLI_ON_STORE(asked, table, 0, 0, work, &chosen),
};
