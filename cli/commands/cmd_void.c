/* cmd_void.c: `lineage void`: takes trials out of the count, or back. */

#include <lineage/evidence.h>
#include <lineage/text.h>
#include <lineage/voids.h>

#include "output/show.h"

struct void_options {
    char *reason;
    int undo;
};

enum { IDS_MAX = 1000, SAID_MAX = 6 };

/* ---- list ---- */

struct listing {
    struct cli_list *list;
    bool good;
};

static bool list_one(void *context, const struct lineage_void *entry)
{
    struct listing *l = context;
    char score[LINEAGE_NUMBER_MAX];
    cli_list_add(l->list, CLI_TEXT(entry->exp_id), CLI_TEXT(lineage_label_name(entry->label)),
                 CLI_TEXT(entry->score.present ? lineage_number_format(score, entry->score.value) : NULL), CLI_TEXT(entry->by),
                 CLI_TEXT(entry->timestamp), CLI_TEXT(entry->reason));
    l->good = cli_list_end_row(l->list);
    return l->good;
}

static int list_voids(struct cli_session *session)
{
    struct listing l = {
        .list = cli_list_of(session->format, &session->screen, "exp_id:1,status:2,score:3,void_by:5,timestamp:6,reason:4/30")};
    struct lineage_error err;
    enum lineage_status read = lineage_voids_read(session->store, NULL, list_one, &l, &err);
    int status = cli_list_finish(l.list);
    return read == LINEAGE_OK ? status : cli_fail(&err);
}

/* ---- append ---- */

/* Returns the id of the best trial (free); NULL if there is none. */
static char *best_id(struct lineage_store *store)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    char *id = lineage_best(store, &best, &err) == LINEAGE_OK ? strdup(best.exp_id) : NULL;
    lineage_trial_release(&best);
    return id;
}

static void say_best(struct lineage_store *store, const char *before)
{
    char *now = best_id(store);
    if (now ? !before || strcmp(now, before) != 0 : before != NULL)
        cli_tell("the best trial is now %.80s; it was %.80s", now ? now : "none", before ? before : "none");
    free(now);
}

/* ---- what changed ---- */

/* The trials whose label is not that of their row, as {id: label}. Returns an object of its own. */
static bool take_judged(void *context, size_t n, const char *const *names, const char *const *texts)
{
    (void)n, (void)names;
    return json_object_set_new(context, texts[0] ? texts[0] : "", cli_json_text(texts[1] ? texts[1] : "")) == 0;
}

static json_t *judged(struct lineage_store *store)
{
    struct lineage_error err;
    json_t *labels = json_object();
    if (labels && lineage_sql(store,
                              "SELECT j.exp_id, t.status FROM judged j JOIN trials t ON t.seq = j.seq WHERE t.status <> j.status"
                              " ORDER BY j.seq",
                              take_judged, labels, &err) != LINEAGE_OK)
        json_object_clear(labels);
    return labels;
}

/* Names the trials of `of` that have another label, or none, in `other`. */
static void say_judged(json_t *of, const json_t *other, bool back)
{
    const char *id;
    json_t *label;
    size_t n = 0, used = 0;
    char said[400] = "";
    json_object_foreach(of, id, label)
        if ((back ? !json_object_get(other, id) : !json_equal(label, json_object_get(other, id))) && ++n <= SAID_MAX &&
            used < sizeof said)
            used += (size_t)snprintf(said + used, sizeof said - used, "%s%.40s%s%.20s", n > 1 ? ", " : "judged again: ", id,
                                     back ? " as in its row" : " is now ", back ? "" : json_string_value(label));
    if (n > SAID_MAX && used < sizeof said)
        snprintf(said + used, sizeof said - used, " and %zu more (`lineage sql 'SELECT * FROM judged'`)", n - SAID_MAX);
    if (n)
        cli_say(said);
}

/* A floor that came from this trial among others is measured again. */
static int measure_noise(struct lineage_store *store, const char *id)
{
    struct lineage_error err;
    char text[LINEAGE_FLOOR_TEXT_MAX];
    const double before = lineage_store_config(store)->noise_std;
    if (lineage_noise_after_void(store, id, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (lineage_store_config(store)->noise_std != before) /* both are written with the same digits */
        cli_say(lineage_floor_text(text, lineage_store_config(store), before));
    return CLI_OK;
}

/* Trials that started from the void trial keep it as their parent, because they did start from its files. */
static void say_children(struct lineage_store *store, const char *id)
{
    struct lineage_query all = {0};
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    struct lineage_error err;
    size_t n = 0;
    if (lineage_query_open(&cursor, store, &all, &err) != LINEAGE_OK)
        return;
    while (lineage_cursor_next(cursor, &row, &err) == LINEAGE_OK)
        n += strcmp(row.parent_exp, id) == 0 && !lineage_is_void_row(&row, NULL);
    lineage_cursor_close(cursor);
    if (n)
        cli_tell("%zu trial%s from %.80s; it stays their parent", n, n > 1 ? "s continue" : " continues", id);
}

/* All ids are looked up before the first row is written, so that a typo leaves nothing half done. */
static int check_ids(struct cli_session *session)
{
    for (size_t i = 0; i < session->args.n_positional; i++) {
        struct lineage_trial trial = {0};
        struct lineage_error err;
        enum lineage_status status = lineage_find(session->store, session->args.positional[i], &trial, &err);
        lineage_trial_release(&trial);
        if (status == LINEAGE_ENOTFOUND)
            return cli_error(CLI_USAGE, "void: %s; a running trial has a row when it ends", err.text);
        if (status != LINEAGE_OK)
            return cli_fail(&err);
    }
    return CLI_GO_ON;
}

static int append_one(struct cli_session *session, const struct void_options *o, const char *id)
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    char *before = best_id(session->store);
    json_t *labels = judged(session->store), *now = NULL;
    int status = CLI_OK;
    enum lineage_status done = o->undo ? lineage_void_take_back(session->store, id, o->reason, &row, &err)
                                       : lineage_void_append(session->store, id, o->reason, &row, &err);
    if (done == LINEAGE_OK) {
        if (session->format == CLI_JSON) {
            json_t *object = json_pack("{s:o, s:o, s:b}", "exp_id", cli_json_text(row.exp_id), "voids",
                                       cli_json_text(row.parent_exp), "undo", o->undo);
            cli_json_answer(object);
        } else {
            puts(row.exp_id);
        }
        status = measure_noise(session->store, row.parent_exp);
        say_best(session->store, before);
        now = judged(session->store);
        say_judged(now, labels, false);
        say_judged(labels, now, true);
        if (!o->undo)
            say_children(session->store, row.parent_exp);
    }
    json_decref(labels);
    json_decref(now);
    free(before);
    lineage_trial_release(&row);
    return done == LINEAGE_OK ? status : done == LINEAGE_EINVAL ? cli_error(CLI_USAGE, "void: %s", err.text) : cli_fail(&err);
}

static int work(struct cli_session *session, void *context)
{
    const struct void_options *o = context;
    if (!session->args.n_positional && (o->reason || o->undo))
        return cli_error(CLI_USAGE, "void: the ID of the trial is missing");
    if (!session->args.n_positional)
        return list_voids(session);
    if (!o->reason && !o->undo)
        return cli_error(CLI_USAGE, "void: --reason is missing: say why the trial does not count");
    cli_deliver_waiting(session->store);
    int status = check_ids(session);
    for (size_t i = 0; (status == CLI_GO_ON || status == CLI_OK) && i < session->args.n_positional; i++)
        status = append_one(session, o, session->args.positional[i]);
    return status;
}

static struct cli_session asked;
static struct void_options chosen;
static struct poptOption table[] = {CLI_SESSION_OPTIONS(&asked),
                                    CLI_OPTION("reason", &chosen.reason, "TEXT", "why the trial does not count"),
                                    CLI_FLAG("undo", &chosen.undo, "take the void back: the trial counts again"),
                                    CLI_SCREEN_OPTIONS(&asked.screen), POPT_TABLEEND};

const struct cli_command cmd_void = {
    .name = "void",
    .arguments = "[ID]..",
    .description = "Takes a trial out of the count, because it says nothing about its settings: a module was\n"
                   "missing, the evaluator was broken, another job took the processor. It is then not ranked,\n"
                   "tried, proposed from, the best or part of a chain, and a night runs it again.\n\n"
                   "Rows are never changed: this appends a row that names the trial as its parent, and prints\n"
                   "its id. The git ref of the trial's code stays, so that the void can be taken back\n"
                   "(`lineage refs --remove ID` removes it). --undo appends a row that takes the void back.\n"
                   "Without ID, lists the void trials with the label and score of their own rows.",
    .examples = "  lineage void 012 --reason 'NumPy was missing'\n  lineage void 012 --undo\n  lineage void --format json",
    CLI_ON_STORE(asked, table, 0, IDS_MAX, work, &chosen),
};
