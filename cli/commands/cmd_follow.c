/* cmd_follow.c: `lineage follow`: new rows as they come. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lineage/move.h>

#include "cli.h"

struct follow {
    char *from, *limit;
    size_t left;         /* rows to print; 0: no end */
    uint64_t after;      /* rows that were passed */
    struct cli_list *list; /* TSV */
    bool away;           /* the server, and it was said */
};

/* Where to begin: the rows that are there now are passed, none of them, or those up to a trial. */
static int find_start(struct follow *o, struct lineage_store *store)
{
    struct lineage_trial trial = {0};
    struct lineage_cursor *cursor;
    struct lineage_error err;
    if (o->from && strcmp(o->from, "start") == 0)
        return CLI_GO_ON;
    if (!o->from || strcmp(o->from, "now") == 0) {
        if (lineage_new_trials(&cursor, store, UINT32_MAX, &o->after, &err) != LINEAGE_OK)
            return cli_fail(&err);
        lineage_cursor_close(cursor);
        return CLI_GO_ON;
    }
    if (lineage_find(store, o->from, &trial, &err) != LINEAGE_OK)
        return cli_fail(&err);
    o->after = trial.seq;
    lineage_trial_release(&trial);
    return CLI_GO_ON;
}

static bool print_json(const struct lineage_trial *trial)
{
    json_t *object = cli_trial_json(trial);
    char *text = cli_json_compact(object, &(size_t){0});
    bool printed = text && puts(text) >= 0;
    free(text);
    json_decref(object);
    return printed;
}

/* Whether to go on: the last one may have been printed, and the reader may have gone. */
static bool print_row(struct follow *o, const struct lineage_trial *trial)
{
    bool printed = o->list ? cli_trial_list_add(o->list, trial) : print_json(trial);
    return printed && (!o->left || --o->left);
}

/* CLI_GO_ON while more is wanted. Rows are taken out only by a person; those that come then are new. */
static int print_new(struct follow *o, struct lineage_store *store)
{
    struct lineage_trial trial = {0};
    struct lineage_cursor *cursor;
    struct lineage_error err;
    uint64_t rows;
    bool more = true;
    if (lineage_new_trials(&cursor, store, o->after, &rows, &err) != LINEAGE_OK)
        return err.status == LINEAGE_EAWAY ? CLI_GO_ON : cli_fail(&err);
    if (rows < o->after)
        cli_say("rows were taken out of the store; going on behind those that are left");
    o->after = rows;
    enum lineage_status status = LINEAGE_OK;
    while (more && (status = lineage_cursor_next(cursor, &trial, &err)) == LINEAGE_OK)
        more = print_row(o, &trial);
    lineage_cursor_close(cursor);
    if (fflush(stdout) != 0)
        return cli_error(CLI_SYSTEM, "cannot write the result");
    if (status != LINEAGE_OK && status != LINEAGE_ENOTFOUND)
        return cli_fail(&err);
    return more ? CLI_GO_ON : CLI_OK;
}

/* A server comes back: until then it is asked each second. */
static int wait_for_server(struct follow *o, const struct lineage_error *err)
{
    if (!o->away)
        cli_say(err->text);
    o->away = true;
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    return CLI_GO_ON;
}

/* The head line says to whoever waits for rows that they are waited for. */
static int begin(struct follow *o, struct lineage_store *store, enum cli_format format)
{
    int result = find_start(o, store);
    if (result != CLI_GO_ON || format == CLI_JSON)
        return result;
    o->list = cli_trial_list_new(CLI_TSV, stdout);
    return o->list && fflush(stdout) == 0 ? CLI_GO_ON : cli_error(CLI_SYSTEM, "cannot write the result");
}

/* It listens before it looks where to begin, so that no row comes in between unseen. */
static int follow(struct follow *o, struct lineage_store *store, enum cli_format format)
{
    struct lineage_error err;
    bool news, begun = false;
    int result = CLI_GO_ON;
    while (result == CLI_GO_ON) {
        enum lineage_status status = lineage_store_wait(store, -1, &news, &err);
        if (status == LINEAGE_EAWAY) {
            result = wait_for_server(o, &err);
            continue;
        }
        if (status != LINEAGE_OK)
            return cli_fail(&err);
        if (!begun)
            result = begin(o, store, format);
        o->away = false;
        begun = true;
        if (result == CLI_GO_ON && news)
            result = print_new(o, store);
    }
    return result;
}

static int work(struct cli_session *session, void *context)
{
    struct follow *o = context;
    if (o->limit && !cli_count_parse(&o->left, "limit", o->limit))
        return CLI_USAGE;
    if (o->limit && !o->left)
        return cli_error(CLI_USAGE, "--limit 0 asks for nothing");
    if (session->format_text && strcmp(session->format_text, "table") == 0)
        return cli_error(CLI_USAGE, "--format table: rows are printed as they come, known are tsv, json");
    int result = follow(o, session->store, session->format);
    int listed = o->list ? cli_list_finish(o->list) : CLI_OK;
    return result == CLI_OK ? listed : result;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct follow o = {0};
    struct poptOption options[] = {
        {"from", 0, POPT_ARG_STRING, &o.from, 0, "begin behind this trial (default: now, behind all that are there)",
         "ID|now|start"},
        {"limit", 0, POPT_ARG_STRING, &o.limit, 0, "end after N rows", "N"},
        {"format", 0, POPT_ARG_STRING, &session.format_text, 0, "how to print a row (default: tsv)", "tsv|json"},
        CLI_STORE_OPTIONS(&session.where),
        POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, &o);
}

const struct cli_command cmd_follow = {
    .name = "follow",
    .arguments = "",
    .description = "Prints new rows as they come, whoever writes them: a TSV line each, with the columns of\n"
                   "`query`, or a JSON object a line. A row is printed once it is whole. Does not end by\n"
                   "itself; goes on when the file was replaced, or the server was away.",
    .examples = "  lineage follow\n"
                "  lineage follow --from 014 --format json | jq -r .hypothesis",
    .run = run,
};
