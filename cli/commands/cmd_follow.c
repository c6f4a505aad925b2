/* cmd_follow.c: `lineage follow`: prints new rows when they are appended. */
#include <time.h>

#include <lineage/move.h>

#include "cli.h"

struct follow {
    char *from, *limit;
    size_t left;         /* rows still to print; 0: no limit */
    uint64_t after;      /* number of rows already read */
    struct cli_list *list; /* TSV only */
    bool away;           /* the server cannot be reached, and the user was notified */
};

/* Finds where to begin: after all present rows (now), after none (start), or after a trial. */
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
    if (lineage_find_named(store, o->from, false, &trial, &err) != LINEAGE_OK)
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

/* Returns false if no further row should be printed: the limit is reached, or the reader of stdout is gone. */
static bool print_row(struct follow *o, const struct lineage_trial *trial)
{
    bool printed = o->list ? cli_trial_list_add(o->list, trial, NULL) : print_json(trial);
    return printed && (!o->left || --o->left);
}

/* Returns CLI_GO_ON until the limit is reached. If rows were removed, which happens only by hand, all rows that are
 * appended afterwards count as new. */
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
        cli_say("rows were removed from the store; continuing after the rows that are left");
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

/* Asks the server once per second until it can be reached again. */
static int wait_for_server(struct follow *o, const struct lineage_error *err)
{
    if (!o->away)
        cli_say(err->text);
    o->away = true;
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    return CLI_GO_ON;
}

/* Prints the head line at once, so that whoever started the command knows that it is listening. */
static int begin(struct follow *o, struct lineage_store *store, enum cli_format format)
{
    int result = find_start(o, store);
    if (result != CLI_GO_ON || format == CLI_JSON)
        return result;
    o->list = cli_trial_list_new(CLI_TSV, NULL);
    return o->list && fflush(stdout) == 0 ? CLI_GO_ON : cli_error(CLI_SYSTEM, "cannot write the result");
}

/* Starts listening before it determines which rows are new, so that a row that is appended in between is not missed. */
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
        return cli_error(CLI_USAGE, "--limit 0 would print nothing; give at least 1");
    if (session->format_text && strcmp(session->format_text, "table") == 0)
        return cli_error(CLI_USAGE, "--format table: rows are printed one at a time; use tsv or json");
    int result = follow(o, session->store, session->format);
    int listed = o->list ? cli_list_finish(o->list) : CLI_OK;
    return result == CLI_OK ? listed : result;
}

static struct cli_session asked = {.before_store = true};
static struct follow chosen;
static struct poptOption table[] = {
    CLI_OPTION("from", &chosen.from, "ID|now|start", "begin after this trial (default: now, after all present rows)"),
    CLI_OPTION("limit", &chosen.limit, "N", "exit after N rows (default: never)"),
    CLI_OPTION("format", &asked.format_text, "tsv|json", "how to print a row (default: tsv)"), CLI_STORE_OPTIONS(&asked.where),
    POPT_TABLEEND};

const struct cli_command cmd_follow = {
    .name = "follow",
    .arguments = "",
    .description = "Prints new rows when they are appended, no matter which process writes them: one TSV line\n"
                   "each with the columns of `query`, or one JSON object per line. A row is printed when it is\n"
                   "complete. The command runs until it is interrupted. It continues when results.tsv has been\n"
                   "replaced and when a server that could not be reached comes back.",
    .examples = "  lineage follow\n  lineage follow --from 014 --format json | jq -r .hypothesis",
    CLI_ON_STORE(asked, table, 0, 0, work, &chosen),
};
