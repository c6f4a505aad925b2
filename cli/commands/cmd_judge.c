/* cmd_judge.c: `lineage judge`: asks a language model which steps of trajectories were good. */
#include <signal.h>

#include <rlcore/adca.h>

#include "cli.h"
#include "judge/judge.h"
#include "judge/trajectory.h"
#include "judge/wording.h"
#include "recipe/recipe_source.h"

struct judge_options {
    char *store, *endpoint, *model, *key_env, *prompt, *cache, *concurrency, *deadline, *timeout, *backoff, *max_tokens, *skip,
        *unjudged, *failed_share, *seed;
    int no_cache, print_prompt, check;

    struct recipe_source source; /* a recipe that holds the settings */
    struct trainer_recipe recipe;
    double most_failed;

    size_t n, printed;
    json_t **trajectories; /* [n] */
    size_t *lines;         /* [n]; line numbers in the file */
    struct judge_case *cases;
    uint8_t *by_outcome; /* [n] */
    bool *settled;       /* [n] */
};

/* ---- settings ---- */

static bool set(struct judge_options *o, const char *setting, const char *value, bool is_text)
{
    return !value || recipe_source_set(&o->source, setting, value, is_text);
}

/* Parses the settings as those of a recipe, so that names, ranges, defaults and combinations are checked in one
 * place. */
static int read_settings(struct judge_options *o)
{
    static const char recipe[] = "{\"environments\": [{\"algorithm\": {\"name\": \"adca\"}}]}";
    struct trainer_error err;
    if (!o->endpoint || !o->model)
        return cli_error(CLI_USAGE, "judge: --endpoint URL and --model NAME are required");
    if (o->failed_share && !cli_amount_parse(&o->most_failed, "max-failed-share", o->failed_share))
        return CLI_USAGE;
    o->source = (struct recipe_source){.name = "judge", .text = strdup(recipe), .length = sizeof recipe - 1};
    bool known = o->source.text && set(o, "judge.endpoint", o->endpoint, true) && set(o, "judge.model", o->model, true) &&
                 set(o, "judge.key_env", o->key_env, true) && set(o, "judge.prompt", o->prompt, true) &&
                 set(o, "judge.concurrency", o->concurrency, false) && set(o, "judge.deadline", o->deadline, false) &&
                 set(o, "judge.timeout", o->timeout, false) && set(o, "judge.backoff", o->backoff, false) &&
                 set(o, "judge.max_tokens", o->max_tokens, false) && set(o, "judge.skip", o->skip ? o->skip : "none", true) &&
                 set(o, "judge.unjudged", o->unjudged, true) && set(o, "seed", o->seed, false);
    if (!known)
        return CLI_SYSTEM;
    if (recipe_source_parse(&o->source, &o->recipe, &err) == TRAINER_OK)
        return CLI_GO_ON;
    return cli_error(err.status == TRAINER_ENOMEM ? CLI_SYSTEM : CLI_USAGE, "%s", err.text);
}

/* ---- trajectories ---- */

static size_t count_lines(const char *text)
{
    size_t n = 0;
    for (const char *at = text; *at; at = *at ? at + 1 : at) {
        at += strcspn(at, "\n");
        n++;
    }
    return n;
}

static bool is_blank(const char *text, size_t length)
{
    return strspn(text, " \t\r\n") >= length;
}

static int take_line(struct judge_options *o, const char *path, const char *text, size_t length, size_t line)
{
    char why[TRAJECTORY_WHY_MAX];
    json_error_t error;
    json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!value)
        return cli_error(CLI_USAGE, "%s:%zu:%d: %s", path, line, error.column, error.text);
    o->lines[o->n] = line;
    o->trajectories[o->n++] = value;
    if (!trajectory_check(value, why))
        return cli_error(CLI_USAGE, "%s:%zu: %s", path, line, why);
    return CLI_GO_ON;
}

static int take_lines(struct judge_options *o, const char *path, const char *text)
{
    int status = CLI_GO_ON;
    size_t line = 0;
    while (*text && status == CLI_GO_ON) {
        size_t length = strcspn(text, "\n");
        line++;
        if (!is_blank(text, length))
            status = take_line(o, path, text, length, line);
        text += length + (text[length] == '\n');
    }
    return status;
}

/* Reads and checks the whole file before the first request, so that an invalid last line costs no requests. */
static int read_trajectories(struct judge_options *o, const char *path)
{
    size_t length;
    char *text = cli_read_all(path, &length);
    if (!text)
        return CLI_USAGE;
    size_t most = count_lines(text) + 1;
    o->trajectories = calloc(most, sizeof(json_t *));
    o->lines = calloc(most, sizeof *o->lines);
    int status;
    if (strlen(text) != length)
        status = cli_error(CLI_USAGE, "%s: contains a NUL byte, which JSON does not allow", path);
    else
        status = o->trajectories && o->lines ? take_lines(o, path, text) : cli_no_memory();
    free(text);
    return status;
}

/* ---- which trajectories are skipped ---- */

/* Returns the reward minus the mean reward of its group, which is 0 exactly if the advantage is 0. */
static double distance(const struct judge_options *o, size_t i)
{
    const json_t *group = json_object_get(o->trajectories[i], "group");
    double sum = 0, n = 0;
    for (size_t j = 0; j < o->n; j++)
        if (json_equal(group, json_object_get(o->trajectories[j], "group"))) {
            sum += trajectory_reward(o->trajectories[j]);
            n++;
        }
    return trajectory_reward(o->trajectories[i]) - sum / n;
}

static int measure(const struct judge_options *o, const char *path, double *overall, double *outcomes)
{
    bool by_group = o->recipe.judge.skip == TRAINER_JUDGE_SMALL_ADV;
    for (size_t i = 0; i < o->n; i++) {
        outcomes[i] = trajectory_reward(o->trajectories[i]);
        if (by_group && !json_object_get(o->trajectories[i], "group"))
            return cli_error(CLI_USAGE, "%s:%zu: --skip small_adv needs \"group\" in every trajectory", path, o->lines[i]);
        overall[i] = by_group ? distance(o, i) : 1;
    }
    return CLI_GO_ON;
}

static int mark_skipped(struct judge_options *o, const char *path, double *overall, bool *skipped)
{
    static const enum rl_adca_skip kinds[] = {[TRAINER_JUDGE_ALL] = RL_ADCA_SKIP_NONE,
                                              [TRAINER_JUDGE_SMALL_ADV] = RL_ADCA_SKIP_SMALL_ADV,
                                              [TRAINER_JUDGE_ALL_NEG] = RL_ADCA_SKIP_ALL_NEG};
    struct rl_error err;
    int status = measure(o, path, overall, overall + o->n);
    if (status == CLI_GO_ON &&
        rl_adca_skip_rows(kinds[o->recipe.judge.skip], o->n, overall, overall + o->n, skipped, o->by_outcome, &err) != RL_OK)
        status = cli_error(CLI_SYSTEM, "%s", err.text);
    for (size_t i = 0; i < o->n && status == CLI_GO_ON; i++)
        o->cases[i].mark = skipped[i] ? TRAINER_JUDGE_SKIPPED : TRAINER_JUDGE_FAILED;
    return status;
}

static int make_cases(struct judge_options *o, const char *path)
{
    double *overall = calloc(2 * o->n + 1, sizeof *overall);
    bool *skipped = calloc(o->n + 1, sizeof *skipped);
    o->cases = calloc(o->n + 1, sizeof *o->cases);
    o->by_outcome = calloc(o->n + 1, 1);
    o->settled = calloc(o->n + 1, sizeof *o->settled);
    bool whole = overall && skipped && o->cases && o->by_outcome && o->settled;
    for (size_t i = 0; i < o->n && whole; i++) {
        o->cases[i].trajectory = o->trajectories[i];
        whole = (o->cases[i].flags = calloc(trajectory_steps(o->trajectories[i]), 1)) != NULL;
    }
    int status = whole ? mark_skipped(o, path, overall, skipped) : cli_no_memory();
    free(overall);
    free(skipped);
    return status;
}

/* ---- results ---- */

static bool has_flags(const struct judge_case *about)
{
    return about->mark == TRAINER_JUDGED || about->mark == TRAINER_JUDGE_CACHED;
}

/* Prints the flags as 1 and 0, the form that the core expects (`lineage core prm_advantage`). */
static json_t *flags_json(const struct judge_options *o, size_t i)
{
    const struct judge_case *about = &o->cases[i];
    bool known = has_flags(about);
    if (!known && o->recipe.judge.unjudged == TRAINER_UNJUDGED_NEUTRAL)
        return json_null();
    json_t *list = json_array();
    for (size_t k = 0; k < trajectory_steps(about->trajectory); k++)
        json_array_append_new(list, json_integer(known ? about->flags[k] : o->by_outcome[i]));
    return list;
}

static void print_case(const struct judge_options *o, size_t i)
{
    const struct judge_case *about = &o->cases[i];
    json_t *id = json_object_get(about->trajectory, "id");
    json_t *line = json_pack(
        "{s:O, s:s, s:o, s:o, s:i, s:I, s:I}", "id", id ? id : json_null(), "mark", trainer_judge_mark_name(about->mark), "flags",
        flags_json(o, i), "reward", cli_json_number(trajectory_reward(about->trajectory)), "attempts", (int)about->attempts,
        "prompt_tokens", (json_int_t)about->prompt_tokens, "completion_tokens", (json_int_t)about->completion_tokens);
    size_t length;
    if (!id)
        json_object_set_new(line, "id", json_integer((json_int_t)o->lines[i]));
    if (about->analysis)
        json_object_set(line, "analysis", about->analysis);
    if (about->why[0])
        json_object_set_new(line, "why", cli_json_text(about->why));
    char *text = cli_json_compact(line, &length);
    puts(text ? text : "null");
    free(text);
    json_decref(line);
}

/* Prints in the order of the file, each line as soon as all lines before it are printed, so that an interruption loses
 * little. */
static void on_settled(void *context, const struct judge_case *about)
{
    struct judge_options *o = context;
    o->settled[about - o->cases] = true;
    for (; o->printed < o->n && o->settled[o->printed]; o->printed++)
        print_case(o, o->printed);
    fflush(stdout);
}

static double share(const size_t count[2])
{
    size_t all = count[0] + count[1];
    return all ? 100 * (double)count[1] / (double)all : 0;
}

/* Prints the summary on standard error, because standard output holds the results. */
static int print_summary(const struct judge_options *o)
{
    size_t marks[TRAINER_N_JUDGE_MARKS] = {0}, flags[2][2] = {{0}};
    uint64_t asked = 0, answered = 0;
    for (size_t i = 0; i < o->n; i++) {
        const struct judge_case *about = &o->cases[i];
        marks[about->mark]++;
        asked += about->prompt_tokens;
        answered += about->completion_tokens;
        for (size_t k = 0; has_flags(about) && k < trajectory_steps(about->trajectory); k++)
            flags[trajectory_reward(about->trajectory) > 0][about->flags[k]]++;
    }
    size_t failed = marks[TRAINER_JUDGE_REFUSED] + marks[TRAINER_JUDGE_TRUNCATED] + marks[TRAINER_JUDGE_FAILED];
    cli_tell("%zu judged, %zu cached, %zu skipped, %zu refused, %zu truncated, %zu failed; GOOD %.0f %% in successes, %.0f %% in "
             "failures; %llu + %llu tokens",
             marks[TRAINER_JUDGED], marks[TRAINER_JUDGE_CACHED], marks[TRAINER_JUDGE_SKIPPED], marks[TRAINER_JUDGE_REFUSED],
             marks[TRAINER_JUDGE_TRUNCATED], marks[TRAINER_JUDGE_FAILED], share(flags[1]), share(flags[0]),
             (unsigned long long)asked, (unsigned long long)answered);
    size_t wanted = o->n - marks[TRAINER_JUDGE_SKIPPED];
    return (double)failed > o->most_failed * (double)wanted ? CLI_NO : CLI_OK;
}

/* ---- the command ---- */

/* Returns the file in which the answers are cached: the file that the user named, or else a file in the store. Returns
 * NULL if there is neither a file nor a store. */
static const char *cache_file(const struct judge_options *o, char path[PATH_MAX])
{
    const char *dir = o->store ? o->store : ".";
    if (o->no_cache)
        return NULL;
    if (o->cache)
        return o->cache;
    if (!cli_is_store(dir))
        return NULL;
    snprintf(path, PATH_MAX, "%s/" JUDGE_CACHE, dir);
    return path;
}

static int ask(struct judge_options *o)
{
    char why[JUDGE_WHY_MAX], path[PATH_MAX];
    struct judge *judge = judge_open(&o->recipe.judge, cache_file(o, path), o->recipe.seed, why);
    if (!judge)
        return cli_error(CLI_USAGE, "%s", why);
    signal(SIGPIPE, SIG_IGN); /* a server that closes the connection fails one request, not the process */
    bool asked = judge_ask(judge, o->cases, o->n, on_settled, o);
    judge_close(judge);
    return asked ? print_summary(o) : cli_error(CLI_SYSTEM, "out of memory, or libcurl failed");
}

static int check_endpoint(const struct judge_options *o)
{
    char why[JUDGE_WHY_MAX], path[PATH_MAX];
    struct judge_check check;
    struct judge *judge = judge_open(&o->recipe.judge, cache_file(o, path), o->recipe.seed, why);
    if (!judge)
        return cli_error(CLI_USAGE, "%s", why);
    signal(SIGPIPE, SIG_IGN);
    bool asked = judge_check(judge, &check);
    judge_close(judge);
    if (!asked)
        return cli_error(CLI_SYSTEM, "out of memory, or libcurl failed");
    if (!check.answers)
        return cli_error(CLI_NO, "the endpoint does not answer as a judge, after %u attempts: %s", check.attempts, check.why);
    printf("answer       complete, after %u %s in %.1f s, %llu + %llu tokens\n"
           "schema       %s\ntoken limit  %s\ntemperature  %s\n",
           check.attempts, check.attempts == 1 ? "attempt" : "attempts", check.seconds, (unsigned long long)check.prompt_tokens,
           (unsigned long long)check.completion_tokens,
           check.takes_schema ? "accepted" : "refused; the prompt alone says how to answer",
           check.takes_max_tokens ? "max_tokens" : "max_completion_tokens",
           check.takes_temperature ? "0" : "that of the server, which refuses 0");
    return CLI_OK;
}

static int print_wording(const char *file)
{
    char why[WORDING_WHY_MAX];
    json_t *wording = wording_open(file, why);
    if (!wording)
        return cli_error(CLI_USAGE, "%s", why);
    return cli_json_answer(wording);
}

static int answer(struct judge_options *o, const struct cli_args *args)
{
    if (o->print_prompt)
        return print_wording(o->prompt);
    const char *path = args->n_positional ? args->positional[0] : "-";
    int status;
    if (o->check)
        return args->n_positional                         ? cli_error(CLI_USAGE, "judge: --check takes no file")
               : (status = read_settings(o)) == CLI_GO_ON ? check_endpoint(o)
                                                          : status;
    if ((status = read_settings(o)) != CLI_GO_ON || (status = read_trajectories(o, path)) != CLI_GO_ON ||
        (status = make_cases(o, path)) != CLI_GO_ON)
        return status;
    return ask(o);
}

static void release(struct judge_options *o)
{
    recipe_source_release(&o->source);
    for (size_t i = 0; i < o->n; i++) {
        json_decref(o->trajectories[i]);
        if (o->cases) {
            free(o->cases[i].flags);
            json_decref(o->cases[i].analysis);
        }
    }
    free(o->trajectories);
    free(o->lines);
    free(o->cases);
    free(o->by_outcome);
    free(o->settled);
}

static int work(const struct cli_args *args, void *context)
{
    struct judge_options *o = context;
    int status = answer(o, args);
    release(o);
    return status;
}

static struct judge_options chosen;
static struct poptOption table[] = {
    CLI_OPTION("endpoint", &chosen.endpoint, "URL", "URL of the chat API, e.g. http://127.0.0.1:8000/v1"),
    CLI_OPTION("model", &chosen.model, "NAME", "name of the model at that endpoint"),
    CLI_OPTION("key-env", &chosen.key_env, "NAME",
               "environment variable that holds the key (default: LINEAGE_JUDGE_KEY, if set)"),
    {"directory", 'C', POPT_ARG_STRING, &chosen.store, 0, "the store that caches the answers (default: the current directory)",
     "DIR"},
    CLI_OPTION("cache", &chosen.cache, "FILE", "cache the answers in this file instead"),
    CLI_FLAG("no-cache", &chosen.no_cache, "do not read or write the cache"),
    CLI_OPTION("prompt", &chosen.prompt, "FILE", "template of the prompt (see --print-prompt)"),
    CLI_FLAG("print-prompt", &chosen.print_prompt, "print the template of the prompt and exit"),
    CLI_FLAG("check", &chosen.check, "ask about a built-in trajectory, and print what the endpoint accepts"),
    CLI_OPTION("skip", &chosen.skip, "none|small_adv|all_neg", "do not send these trajectories (default: none)"),
    CLI_OPTION("unjudged", &chosen.unjudged, "neutral|outcome",
               "flags of steps without an answer: null, or the outcome's (default: neutral)"),
    CLI_OPTION("max-failed-share", &chosen.failed_share, "X",
               "exit with 1 if more than this share has no answer, 0 to 1 (default: 0)"),
    CLI_OPTION("concurrency", &chosen.concurrency, "N", "number of parallel requests (default: 8)"),
    CLI_OPTION("deadline", &chosen.deadline, "S", "limit for one trajectory, all attempts together, in seconds (default: 300)"),
    CLI_OPTION("timeout", &chosen.timeout, "S", "limit for one attempt, in seconds (default: 120)"),
    CLI_OPTION("backoff", &chosen.backoff, "S", "wait before the second attempt, in seconds; doubles each time (default: 0.5)"),
    CLI_OPTION("max-tokens", &chosen.max_tokens, "N", "longest answer, in tokens; 0: the server's limit (default: 8192)"),
    CLI_OPTION("seed", &chosen.seed, "N", "seed of the jitter between retries (default: 1)"),
    CLI_INPUT_OPTION,
    POPT_TABLEEND};

const struct cli_command cmd_judge = {
    .name = "judge",
    .arguments = "[TRAJECTORIES.jsonl]",
    .description = "Asks a language model behind an OpenAI-compatible chat endpoint which steps of finished\n"
                   "trajectories were GOOD and which were BAD, as ADCA-GRPO needs them. One request covers all\n"
                   "steps of a trajectory. The input (a file or standard input) holds one trajectory per line\n"
                   "(schema/trajectory.schema.json): task, reward, steps with action and observation.\n"
                   "`lineage rollout --format jsonl` prints such lines. For each trajectory one line of JSON is\n"
                   "printed (schema/judgement.schema.json), in the same order, with the flag of every step\n"
                   "(1 GOOD, 0 BAD) and its source: judged, cached, skipped, refused, truncated or failed.\n\n"
                   "Only complete answers count. After HTTP status 408, 409, 429 or 5xx or a broken connection\n"
                   "the request is retried until the deadline. A trajectory that is too long for the model is\n"
                   "refused alone. A wrong key, another 4xx, an exhausted quota or an untrusted certificate\n"
                   "ends the command. If the endpoint refuses the schema of the answer,\n"
                   "max_tokens or temperature 0, the request is repeated without it; the cache remembers that,\n"
                   "and --check finds it out before a night. Answers are cached in the store's\n"
                   "judge-cache.jsonl under the digest of the request. The key is read only from the\n"
                   "environment and is never written. An adca recipe has the same settings in its object\n"
                   "`judge`. --skip small_adv leaves out trajectories whose reward equals the mean of their\n"
                   "group, all_neg those without a positive reward. Exit status: 0 all trajectories were\n"
                   "judged, 1 some were not.",
    .examples = "  lineage rollout 004 -C runs/hop --n 20 --group --format jsonl > attempts.jsonl\n"
                "  LINEAGE_JUDGE_KEY=.. lineage judge attempts.jsonl -C runs/hop \\\n"
                "      --endpoint https://api.example.com/v1 --model some-model",
    CLI_ON_ARGS(table, 0, 1, work, &chosen),
};
