/* cmd_agent.c: `lineage agent`: a planner of nights that asks a language model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/agent_prompt.h"
#include "cli.h"

enum { SECONDS = 600, TOKENS = 200000, ROUNDS = 24 };

struct agent_options {
    struct cli_session session;
    char *endpoint, *model, *key_env, *prompt, *seconds, *tokens, *rounds, *backoff;
    int print_prompt;
    char *prompt_text;
    struct agent_settings settings;
};

static int read_settings(struct agent_options *o)
{
    struct agent_settings *s = &o->settings;
    size_t length;
    *s = (struct agent_settings){.endpoint = o->endpoint,
                                 .model = o->model,
                                 .key_env = o->key_env,
                                 .seconds = SECONDS,
                                 .backoff = 1,
                                 .tokens = TOKENS,
                                 .rounds = ROUNDS};
    if (!o->endpoint || !o->model)
        return cli_error(CLI_USAGE, "agent: --endpoint URL and --model NAME are required");
    if (strncmp(o->endpoint, "http://", 7) != 0 && strncmp(o->endpoint, "https://", 8) != 0)
        return cli_error(CLI_USAGE, "--endpoint '%s' does not begin with http:// or https://", o->endpoint);
    if (strlen(o->endpoint) > 1000)
        return cli_error(CLI_USAGE, "--endpoint: more than 1000 bytes");
    if ((o->seconds && !cli_measure_parse(&s->seconds, CLI_SECONDS, "seconds", o->seconds)) ||
        (o->backoff && !cli_amount_parse(&s->backoff, "backoff", o->backoff)) ||
        (o->tokens && !cli_count_parse(&s->tokens, "tokens", o->tokens)) ||
        (o->rounds && !cli_count_parse(&s->rounds, "rounds", o->rounds)))
        return CLI_USAGE;
    if (s->rounds < 1 || s->rounds > 200)
        return cli_error(CLI_USAGE, "--rounds %zu: use 1 to 200", s->rounds);
    if (o->prompt && !(s->prompt = o->prompt_text = cli_read_all(o->prompt, &length)))
        return CLI_USAGE;
    return CLI_GO_ON;
}

/* A night tells how many tokens it has left. The model is not told: the number differs at every turn, and equal states must make
 * equal requests. */
static json_t *read_request(struct agent_options *o)
{
    json_error_t error;
    size_t length;
    char *text = cli_read_all("-", &length);
    json_t *request = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, &error) : NULL;
    free(text);
    if (json_is_object(request)) {
        json_t *budget = json_object_get(request, "budget"), *left = json_object_get(budget, "tokens_left");
        if (json_is_integer(left) && json_integer_value(left) < (json_int_t)o->settings.tokens)
            o->settings.tokens = json_integer_value(left) > 0 ? (size_t)json_integer_value(left) : 0;
        json_object_del(budget, "tokens_left");
        return request;
    }
    if (text)
        cli_error(CLI_USAGE, "agent: standard input is not a planner's request (schema/planner.schema.json)");
    json_decref(request);
    return NULL;
}

static json_t *cost_json(const struct agent_options *o, const struct agent_cost *cost)
{
    return json_pack("{s:{s:s, s:i, s:i, s:I, s:I, s:f, s:s}}", "cost", "model", o->settings.model, "requests",
                     (int)cost->requests, "replayed", (int)cost->replayed, "prompt_tokens", (json_int_t)cost->prompt_tokens,
                     "completion_tokens", (json_int_t)cost->completion_tokens, "seconds", cost->seconds, "exchange",
                     cost->exchange);
}

/* The cost comes first, also if there is no proposal. */
static int work(struct cli_session *session, void *context)
{
    struct agent_options *o = context;
    struct agent_cost cost;
    char why[AGENT_WHY_MAX];
    size_t i;
    json_t *proposal, *request = read_request(o);
    if (!request)
        return CLI_USAGE;
    json_t *proposals = agent_plan(&o->settings, session->store, request, &cost, why);
    json_t *line = cost_json(o, &cost);
    cli_json_print(stdout, line, false);
    json_decref(line);
    json_array_foreach(proposals, i, proposal)
        cli_json_print(stdout, proposal, false);
    int status = proposals ? CLI_OK : cli_error(CLI_SYSTEM, "agent: %s", why);
    json_decref(proposals);
    json_decref(request);
    return status;
}

static int before_open(struct cli_session *session, void *context)
{
    struct agent_options *o = context;
    (void)session;
    if (o->print_prompt)
        return fputs(agent_prompt_text, stdout) >= 0 ? CLI_OK : CLI_SYSTEM;
    return read_settings(o);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct agent_options o = {.session = {.before_open = before_open}};
    struct poptOption options[] = {
        CLI_STORE_OPTIONS(&o.session.where),
        {"endpoint", 0, POPT_ARG_STRING, &o.endpoint, 0,
         "base address of an OpenAI-compatible API, e.g. http://localhost:8000/v1", "URL"},
        {"model", 0, POPT_ARG_STRING, &o.model, 0, "name of the model", "NAME"},
        {"key-env", 0, POPT_ARG_STRING, &o.key_env, 0, "environment variable with the key (default: LINEAGE_JUDGE_KEY, if set)",
         "NAME"},
        {"prompt", 0, POPT_ARG_STRING, &o.prompt, 0, "replace the prompt by the text of FILE", "FILE"},
        {"print-prompt", 0, POPT_ARG_NONE, &o.print_prompt, 0, "print the prompt and exit", NULL},
        {"tokens", 0, POPT_ARG_STRING, &o.tokens, 0, "end a turn that has used N tokens (default: 200000)", "N"},
        {"seconds", 0, POPT_ARG_STRING, &o.seconds, 0, "end a turn after N seconds (default: 600)", "N"},
        {"rounds", 0, POPT_ARG_STRING, &o.rounds, 0, "requests of one turn, 1 to 200 (default: 24)", "N"},
        {"backoff", 0, POPT_ARG_STRING, &o.backoff, 0,
         "wait N seconds before the second attempt of a request, then twice that (default: 1)", "N"},
        CLI_INPUT_OPTION,
        POPT_TABLEEND};
    int status = cli_on_store(&o.session, command, options, 0, 0, argc, argv, work, &o);
    free(o.prompt_text);
    return status;
}

const struct cli_command cmd_agent = {
    .name = "agent",
    .arguments = "",
    .description = "Reads what `lineage night` writes to a planner (schema/planner.schema.json), lets a\n"
                   "language model ask the store by the tools of `lineage mcp`, and prints its proposal.\n"
                   "`lineage night --agent-endpoint URL --agent-model NAME` runs it before each trial.\n"
                   "\n"
                   "Each request and response is kept in telemetry/exchanges/DIGEST.json of the store;\n"
                   "an equal request is answered from there. The first line printed is what the turn has\n"
                   "cost. A request that fails is repeated as by `lineage judge`. The model's functions only\n"
                   "read, and what they return is labelled as data.",
    .examples = "  lineage night sweep.json --agent-model qwen3 \\\n      --agent-endpoint http://localhost:8000/v1\n"
                "  lineage agent --print-prompt >prompt.txt",
    .run = run,
};
