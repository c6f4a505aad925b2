/*
 * prompt.c: the prompt plan_night, and the completion of its arguments and of ids in resource templates. Both are in
 * one file, because most completions are arguments of this prompt. The advice comes first; the digest, which quotes
 * trials, follows in its labelled block.
 */

#include <lineage/text.h>

#include "mcp/field.h"
#include "mcp/tools.h"
#include "texts.h"
#include "output/ideas_out.h"

/* The protocol allows at most 100 values in one answer. */
enum { COMPLETIONS = 100, ARGUMENT_MAX = 200, MAX_TRIALS = 1000 };

static const struct {
    const char *name, *description;
} arguments[] = {
    {"trials", "number of trials in the night, 1 to 1000, default 6"},
    {"specialist", "name of the agent or person that plans and runs them"},
    {"parameter", "what to explore first, e.g. alpha"},
};
enum { N_ARGUMENTS = sizeof arguments / sizeof *arguments };

json_t *mcp_prompts_list(struct mcp_call *call)
{
    if (!mcp_one_page(call))
        return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < N_ARGUMENTS; i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:b}", "name", arguments[i].name, "description",
                                              arguments[i].description, "required", 0));
    return json_pack("{s:[{s:s, s:s, s:s, s:o}]}", "prompts", "name", "plan_night", "title", "Plan the next night", "description",
                     "What is known, and text_plan_night to turn it into a list of trials worth their time", "arguments", list);
}

/* The protocol defines prompt arguments as text, so a number is the client's mistake. Lengths are limited because these
 * texts become part of a prompt. */
static bool check_arguments(struct mcp_call *call, const json_t *given)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)given, name, value) {
        size_t i = 0;
        while (i < N_ARGUMENTS && strcmp(arguments[i].name, name) != 0)
            i++;
        if (i == N_ARGUMENTS || !json_is_string(value) || json_string_length(value) > ARGUMENT_MAX ||
            strlen(json_string_value(value)) != json_string_length(value))
            return mcp_refuse(call, MCP_INVALID_PARAMS,
                              "Invalid params: argument '%.60s'; plan_night takes trials, specialist and parameter, as text",
                              name),
                   false;
    }
    return true;
}

/* An empty text counts as absent, because clients send every field of a form. */
static bool read_trials(long *trials, struct mcp_call *call, const char *text)
{
    double value;
    *trials = 6;
    if (!text || !*text)
        return true;
    if (lineage_number_parse(&value, text, strlen(text)) && value >= 1 && value <= MAX_TRIALS && value == (double)(long)value) {
        *trials = (long)value;
        return true;
    }
    return mcp_refuse(call, MCP_INVALID_PARAMS, "Invalid params: trials must be a whole number from 1 to %d", MAX_TRIALS), false;
}

/* Arguments become one line without control characters, like any cell, because they may have been copied from a
 * trial. */
static void write_task(FILE *out, long trials, const char *specialist, const char *parameter)
{
    fprintf(out, "Plan the next night of training: %ld trial%s", trials, trials == 1 ? "" : "s");
    char *who = specialist && *specialist ? cli_text_line(specialist, 80) : NULL;
    char *what = parameter && *parameter ? cli_text_line(parameter, 80) : NULL;
    if (who)
        fprintf(out, ", run by %s", who);
    if (what)
        fprintf(out, ", %s first", what);
    fprintf(out, ".\n\n%s\n", text_plan_night);
    free(who);
    free(what);
}

static json_t *plan_night(struct mcp_call *call, const json_t *given)
{
    const char *specialist = cli_json_string(given, "specialist");
    const char *parameter = cli_json_string(given, "parameter");
    struct cli_writer text = {0};
    long trials;
    if (!mcp_has_store(call)) {
        call->code = MCP_INVALID_PARAMS;
        return NULL;
    }
    if (!read_trials(&trials, call, cli_json_string(given, "trials")))
        return NULL;
    /* An unknown parameter is refused rather than dropped; otherwise the plan would explore something else. */
    if (parameter && *parameter && !mcp_check_param(call, parameter)) {
        call->code = MCP_INVALID_PARAMS;
        return NULL;
    }
    char *block = mcp_knowledge(call, specialist, NULL, MCP_KNOWLEDGE_BYTES);
    if (!block || !cli_writer_open(&text)) {
        call->code = MCP_INTERNAL_ERROR;
        return free(block), NULL;
    }
    write_task(text.out, trials, specialist, parameter);
    fputs(block, text.out);
    free(block);
    return json_pack("{s:s, s:[{s:s, s:{s:s, s:o}}]}", "description", "Plan the next night", "messages", "role", "user",
                     "content", "type", "text", "text", mcp_text_json(&text));
}

json_t *mcp_prompts_get(struct mcp_call *call)
{
    const char *name = mcp_text_param(call, "name");
    const json_t *given = json_object_get(call->message->params, "arguments");
    if (!name)
        return NULL;
    if (strcmp(name, "plan_night") != 0)
        return mcp_refuse(call, MCP_INVALID_PARAMS, "Unknown prompt: %.80s; use plan_night", name);
    if (given && !json_is_object(given))
        return mcp_refuse(call, MCP_INVALID_PARAMS, "Invalid params: arguments must be an object");
    return check_arguments(call, given) ? plan_night(call, given) : NULL;
}

/* Returns the names that begin with the text. Ids that are not plain words are left out, because they cannot be
 * typed. */
static json_t *completion(char **names, const char *prefix)
{
    json_t *values = json_array();
    size_t n = 0;
    for (size_t i = 0; names && names[i]; i++) {
        if (strncmp(names[i], prefix, strlen(prefix)) != 0 || !names[i][0] || !mcp_is_plain(names[i]))
            continue;
        if (n++ < COMPLETIONS)
            json_array_append_new(values, json_string(names[i]));
    }
    mcp_names_free(names);
    return json_pack("{s:{s:o, s:b}}", "completion", "values", values, "hasMore", n > COMPLETIONS);
}

/* Lists the newest ids first if nothing was typed yet. Otherwise lists them in descending order, which for numbered ids
 * also means newest first. */
static char **ids_with_prefix(struct mcp_server *server, const char *prefix)
{
    char *quoted = cli_sql_quote(prefix), *sql = NULL, **ids = NULL;
    size_t length;
    FILE *out = quoted ? open_memstream(&sql, &length) : NULL;
    if (out) {
        if (*prefix)
            fprintf(out,
                    "SELECT exp_id FROM trials WHERE exp_id >= %s AND exp_id < %s || char(1114111) ORDER BY exp_id DESC LIMIT %d",
                    quoted, quoted, COMPLETIONS + 1);
        else
            fprintf(out, "SELECT exp_id FROM trials ORDER BY seq DESC LIMIT %d", COMPLETIONS + 1);
        fclose(out);
        ids = mcp_sql_texts(server, sql, COMPLETIONS + 1);
    }
    free(quoted);
    free(sql);
    return ids;
}

/* An argument without completions (trials) gets an empty list; an unknown argument is an error. */
static json_t *complete_prompt(struct mcp_call *call, const json_t *ref, const char *name, const char *value)
{
    const char *prompt = cli_json_string(ref, "name");
    size_t i = 0;
    if (!prompt || strcmp(prompt, "plan_night") != 0)
        return mcp_refuse(call, MCP_INVALID_PARAMS, "Unknown prompt: %.80s; use plan_night", prompt ? prompt : "");
    while (i < N_ARGUMENTS && strcmp(arguments[i].name, name) != 0)
        i++;
    if (i == N_ARGUMENTS)
        return mcp_refuse(call, MCP_INVALID_PARAMS, "Invalid params: plan_night has no argument '%.60s'", name);
    if (strcmp(name, "parameter") == 0)
        return completion(mcp_param_names(call->server, 2 * COMPLETIONS), value);
    if (strcmp(name, "specialist") == 0)
        return completion(
            mcp_sql_texts(call->server, "SELECT DISTINCT specialist FROM label_counts ORDER BY specialist", 10 * COMPLETIONS),
            value);
    return completion(NULL, value);
}

json_t *mcp_complete(struct mcp_call *call)
{
    const json_t *ref = json_object_get(call->message->params, "ref");
    const json_t *argument = json_object_get(call->message->params, "argument");
    const char *type = cli_json_string(ref, "type");
    const char *name = cli_json_string(argument, "name");
    const char *value = cli_json_string(argument, "value");
    if (!type || !name || !value || strlen(value) > ARGUMENT_MAX)
        return mcp_refuse(call, MCP_INVALID_PARAMS,
                          "Invalid params: ref.type, argument.name and argument.value (at most 200 bytes) must be text");
    if (strcmp(type, "ref/prompt") == 0)
        return complete_prompt(call, ref, name, value);
    const char *uri = cli_json_string(ref, "uri");
    if (strcmp(type, "ref/resource") != 0 || !uri || !mcp_is_template(uri) || strcmp(name, "id") != 0)
        return mcp_refuse(call, MCP_INVALID_PARAMS,
                          "Invalid params: only the id of lineage://trial/{id}, /diff, /steps and the arguments of the prompt "
                          "plan_night can be completed");
    return completion(ids_with_prefix(call->server, value), value);
}
