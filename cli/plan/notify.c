/* notify.c: see planning.h. The command is run as a planner is, so that its time has an end and no descendant of it is left. */
#include "plan/planning.h"
#include "support/program.h"

#include <ctype.h>

#include <lineage/render.h>
#include <lineage/text.h>

static void add_number(json_t *facts, const char *name, struct lineage_number value)
{
    if (value.present)
        json_object_set_new(facts, name, cli_json_number(value.value));
}

static void add_trial(json_t *facts, struct lineage_store *store, const char *exp_id)
{
    struct lineage_trial row = {0};
    struct lineage_error err;
    if (lineage_find(store, exp_id, &row, &err) != LINEAGE_OK)
        return;
    json_object_set_new(facts, "status", json_string(lineage_label_name(row.status)));
    add_number(facts, "score", row.score.present ? row.score : row.core_metric);
    cli_json_set(facts, "name", cli_json_text(row.specialist ? row.specialist : ""), "hypothesis",
                 cli_json_text(row.hypothesis ? row.hypothesis : ""), NULL);
    lineage_trial_release(&row);
}

static json_t *facts_of(struct lineage_store *store, const char *event, const char *exp_id, const char *text)
{
    struct lineage_trial best = {0};
    struct lineage_error err;
    json_t *facts = json_pack("{s:s, s:o, s:o}", "event", event, "store", cli_json_text(lineage_store_dir(store)), "text",
                              cli_json_text(text));
    if (facts && exp_id) {
        json_object_set_new(facts, "exp_id", cli_json_text(exp_id));
        add_trial(facts, store, exp_id);
    }
    if (facts && lineage_best(store, &best, &err) == LINEAGE_OK) {
        json_object_set_new(facts, "best", cli_json_text(best.exp_id));
        add_number(facts, "best_score", best.score.present ? best.score : best.core_metric);
    }
    lineage_trial_release(&best);
    return facts;
}

/* The facts are exported by the shell that runs the command, so that no trial inherits them. */
static void export_fact(FILE *out, const char *name, const json_t *value)
{
    char number[LINEAGE_NUMBER_MAX] = "";
    const char *text = json_string_value(value);
    if (json_is_number(value))
        text = lineage_number_format(number, json_number_value(value));
    fputs("export LINEAGE_NOTIFY_", out);
    for (; *name; name++)
        fputc(toupper((unsigned char)*name), out);
    char *quoted = lineage_text_word(text ? text : "");
    fprintf(out, "=%s\n", quoted ? quoted : "");
    lineage_free(quoted);
}

static void call(struct notify *notify, const json_t *facts, const char *command)
{
    const struct interrupts none = {.fd = -1}; /* the end of an interrupted night is sent, too */
    char trouble[PLANNER_TROUBLE_MAX] = "";
    size_t length;
    char *line = cli_json_compact(facts, &length);
    if (line)
        line[length] = '\n'; /* in place of the NUL */
    const double began = cli_now();
    char *printed = line ? planner_call(command, line, length + 1, NOTIFY_SECONDS, &none, trouble) : NULL;
    const char *why = strncmp(trouble, "the planner ", 12) == 0 ? trouble + 12 : trouble;
    notify->late = cli_now() - began >= NOTIFY_SECONDS ? notify->late + 1 : 0;
    if (line && trouble[0] && !notify->told) {
        fprintf(stderr, "lineage: --notify: the command %s; this is not reported again\n", why);
        notify->told = true;
    }
    free(printed);
    free(line);
}

void notify_send(struct notify *notify, struct lineage_store *store, const char *event, const char *exp_id, const char *text)
{
    if (!notify->command || (notify->late >= NOTIFY_LATE && strcmp(event, "stop") != 0))
        return;
    const char *name;
    json_t *value, *facts = facts_of(store, event, exp_id, text);
    char *command = NULL;
    size_t length;
    FILE *out = facts ? open_memstream(&command, &length) : NULL;
    if (out) {
        json_object_foreach(facts, name, value)
            export_fact(out, name, value);
        fputs(notify->command, out);
        if (fclose(out) == 0)
            call(notify, facts, command);
    }
    free(command);
    json_decref(facts);
}

bool notify_trial(struct notify *notify, struct lineage_store *store, const char *exp_id, enum lineage_label label)
{
    char text[512];
    const bool best = lineage_label_is_kept(label), failure = lineage_label_is_failure(label);
    if (!best && !failure)
        return false;
    snprintf(text, sizeof text, best ? "%.80s is the new best trial (%s)" : "%.80s has failed: %s", exp_id,
             lineage_label_name(label));
    notify_send(notify, store, best ? "best" : "failure", exp_id, text);
    return true;
}
