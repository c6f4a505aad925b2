/* cmd_night.c: `lineage night`: runs the trials of a sweep. */

#include <lineage/text.h>

#include "commands/night_trainer.h"
#include "night/night.h"
#include "run/run_parts.h"
#include "run/command_trial.h"
#include "support/launchers.h"
#include "support/program.h"

enum { NIGHT_REQUIREMENTS_MAX = 32, AGENT_TOKENS = 2000000 };

struct night_options {
    struct cli_session session;
    char *hours, *jobs, *lease, *stop_after, *retry, *method, *planner, *planner_seconds, *trials, *seed, *race, *runs,
        *confirm_runs, *until, *plateau, *notify;
    char **slots, **require;
    char *prune, *sandbox;
    char *agent_endpoint, *agent_model, *agent_key_env, *agent_prompt, *agent_tokens, *agent_command;
    int approve, list, quiet, report, worker, confirm, no_confirm;
    const char *const **environments; /* one environment per slot */
    unsigned retry_labels;
    const char *again[64 + 2 * NIGHT_REQUIREMENTS_MAX]; /* options to repeat when the night is continued, NULL-terminated */
    int argc; /* arguments of the command, which lineage-train gets for a sweep of recipes */
    const char **argv;
    struct night night;
};

static const char *parent_text(const struct night *night, const struct night_trial *trial)
{
    switch (trial->parent) {
    case NIGHT_PARENT_BASE: break;
    case NIGHT_PARENT_TRIAL: return night->list.trials[trial->parent_trial].name;
    case NIGHT_PARENT_OTHER: return trial->parent_name;
    }
    return "base";
}

/* Does not take the lock, so that the list can be printed while a night runs. */
static int list_trials(const struct night *night, enum cli_format format)
{
    struct cli_list *list = cli_list_of(format, NULL, "trial,parent,exp_id,status,key");
    char key[17];
    for (size_t i = 0; i < night->list.n; i++) {
        const struct night_trial *trial = &night->list.trials[i];
        snprintf(key, sizeof key, "%016" PRIx64, trial->key);
        cli_list_row(list, CLI_TEXT(trial->name), CLI_TEXT(parent_text(night, trial)),
                     CLI_TEXT(night->list.trials[i].exp_id ? night->list.trials[i].exp_id : ""),
                     CLI_TEXT(night->list.trials[i].exp_id ? lineage_label_name(night->list.trials[i].label) : ""),
                     CLI_TEXT(key));
    }
    return cli_list_finish(list);
}

/* Signals are held for the whole night: an interruption ends the running trial, which still gets its row, and then ends
 * the night. */
static int run_all(struct night *night)
{
    int status = interrupts_hold(&night->interrupts) ? night_run(night) : CLI_SYSTEM;
    interrupts_release(&night->interrupts);
    return status;
}

/* ---- the command line ---- */

/* Splits "A=1 B=2" in place into the environment of a slot. */
static const char *const *words_of(char *text)
{
    size_t n = 0;
    /* A word and its blank take at least two characters, so there is room for all words and the NULL. */
    const char **words = calloc(strlen(text) / 2 + 2, sizeof *words);
    char *rest = text, *word;
    while (words && (word = strtok_r(rest, " ", &rest)))
        words[n++] = word;
    return words;
}

static bool read_slots(struct night_options *o)
{
    size_t n = cli_texts_length((const char *const *)o->slots), jobs = 1;
    if (o->jobs && !cli_count_parse(&jobs, "jobs", o->jobs))
        return false;
    /* Without --jobs the slots decide: one job for each. */
    if (!o->jobs && n > 0)
        jobs = n;
    if (jobs < 1 || jobs > NIGHT_SLOTS_MAX || (n > 0 && n < jobs))
        return cli_refuse(
            n > 0 && n < jobs ? "--jobs %zu with only %zu --slot: give one --slot per job" : "--jobs %zu: use 1 to 64", jobs, n);
    o->night.slots.n = jobs;
    if (!n)
        return true;
    o->environments = calloc(jobs, sizeof *o->environments);
    for (size_t i = 0; o->environments && i < jobs; i++)
        for (const char *const *word = o->environments[i] = words_of(o->slots[i]); word && *word; word++)
            if (!strchr(*word, '=') || **word == '=')
                return cli_refuse("--slot: '%s' is not NAME=VALUE", *word);
    o->night.slots.environments = o->environments;
    return o->environments != NULL;
}

/* A lease that ends before it can be renewed would be useless. */
static bool read_lease(struct night_options *o)
{
    if (o->lease && !cli_measure_parse(&o->night.claims.lease, CLI_SECONDS, "lease", o->lease))
        return false;
    return o->night.claims.lease >= 1 || cli_refuse("--lease %s: use at least 1 second", o->lease);
}

/* Reads a list of labels and of groups of labels: crash is every crash, overrun both overruns, failed all failures. */
static bool read_retry(struct night_options *o)
{
    static const struct {
        const char *name;
        unsigned labels;
    } groups[] = {{"crash", 1u << LINEAGE_CRASH | 1u << LINEAGE_PREFLIGHT_CRASH},
                  {"overrun", 1u << LINEAGE_TRAIN_BUDGET_OVERRUN | 1u << LINEAGE_EVAL_BUDGET_OVERRUN}};
    char *list = o->retry ? strdup(o->retry) : NULL;
    bool good = !o->retry || list;
    for (char *rest = list, *name; good && list && (name = strtok_r(rest, ", ", &rest));) {
        unsigned labels = 0;
        enum lineage_label label;
        for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
            if (strcmp(groups[i].name, name) == 0)
                labels = groups[i].labels;
        if (!labels && lineage_label_parse(&label, name) && lineage_label_is_failure(label))
            labels = 1u << label;
        for (int i = 0; strcmp(name, "failed") == 0 && i < LINEAGE_N_LABELS; i++)
            labels |= lineage_label_is_failure((enum lineage_label)i) ? 1u << i : 0;
        good = labels != 0;
        o->retry_labels |= labels;
        if (!good)
            cli_error(CLI_USAGE,
                      "--retry: '%s' is not a label of a failure; use crash, overrun, failed, or a label such as size_blocked",
                      name);
    }
    if (good && o->retry && !o->retry_labels)
        good = cli_refuse("--retry needs labels: crash,overrun");
    free(list);
    return good;
}

/* The texts are checked before anything runs. */
static bool read_walls(struct night_options *o)
{
    char why[700];
    size_t n = 0;
    for (; o->require && o->require[n]; n++)
        if (!command_setting_check(command_setting_by_key("require"), o->require[n], why, sizeof why))
            return cli_refuse("%s", why);
    if (n > NIGHT_REQUIREMENTS_MAX)
        return cli_refuse("--require: more than %d requirements", NIGHT_REQUIREMENTS_MAX);
    if (o->prune && !command_setting_check(command_setting_by_key("prune"), o->prune, why, sizeof why))
        return cli_refuse("%s", why);
    o->night.require = (const char *const *)o->require;
    if (o->sandbox && !command_setting_check(command_setting_by_key("sandbox"), o->sandbox, why, sizeof why))
        return cli_refuse("--%s", why);
    o->night.prune = o->prune;
    o->night.sandbox = o->sandbox;
    return true;
}

/* A model as the planner: the planner's command is `lineage agent`, which this night tells what it may spend. The prompt is read
 * now, so that a night does not begin without it. */
static bool read_agent(struct night_options *o)
{
    struct planning *planning = &o->night.planning;
    char program[PATH_MAX], seconds[32], *prompt = NULL;
    size_t length;
    planning->tokens = AGENT_TOKENS;
    if (!o->agent_endpoint && !o->agent_model && !o->agent_key_env && !o->agent_prompt && !o->agent_tokens)
        return planning->tokens = 0, true;
    if (!o->agent_endpoint || !o->agent_model)
        return cli_refuse("--agent-endpoint URL and --agent-model NAME belong together");
    if (o->planner)
        return cli_refuse("--agent-endpoint and --planner exclude each other");
    if (strncmp(o->agent_endpoint, "http://", 7) != 0 && strncmp(o->agent_endpoint, "https://", 8) != 0)
        return cli_refuse("--agent-endpoint '%s' does not begin with http:// or https://", o->agent_endpoint);
    if (o->agent_tokens && (!cli_count_parse(&planning->tokens, "agent-tokens", o->agent_tokens) || planning->tokens < 1))
        return cli_refuse("--agent-tokens %s: use at least 1", o->agent_tokens);
    if (o->agent_prompt && !(prompt = cli_read_all(o->agent_prompt, &length)))
        return false;
    free(prompt);
    if (!program_command(program))
        return false;
    snprintf(seconds, sizeof seconds, "%.0f", ceil(planning->planner_seconds));
    const struct agent_command command = {
        program, o->session.where.dir, o->agent_endpoint, o->agent_model, o->agent_key_env, o->agent_prompt, seconds};
    planning->planner = o->agent_command = agent_command_make(&command);
    return planning->planner || (cli_no_memory(), false);
}

/* Options override the sweep file. */
static bool read_planning(struct night_options *o)
{
    struct night *night = &o->night;
    struct propose_plan *plan = &night->list.sweep.plan;
    size_t seed = (size_t)plan->seed;
    night->planning.method = plan->method;
    night->planning.planner = o->planner;
    night->planning.approve = o->approve;
    night->notify.command = o->notify;
    if (!read_agent(o))
        return false;
    if (o->method && !propose_method_parse(&night->planning.method, o->method))
        return cli_refuse("--propose '%s': use " PROPOSE_METHOD_NAMES, o->method);
    if ((o->trials && !cli_count_parse(&plan->trials, "trials", o->trials)) ||
        (o->seed && !cli_count_parse(&seed, "seed", o->seed)))
        return false;
    plan->seed = seed;
    const bool planner = night->planning.planner != NULL;
    night->planning.on = o->method || planner || plan->given;
    if (o->approve && !night->planning.on)
        return cli_refuse("--approve is for proposals: add --planner, --agent-endpoint or --propose");
    bool by_diffs = planner && json_object_get(night->list.sweep.root, "files");
    if (night->planning.on && night->list.sweep.space.n == 0 && !by_diffs)
        return cli_refuse("%s has no ranges to propose from; add for example \"ranges\": {\"lr\": \"1e-5:1e-2:log\"}",
                          night->list.sweep.file);
    if (!night->planning.on && night->list.sweep.space.n > 0 && night->list.sweep.n == 0)
        return cli_refuse("%s has ranges but no trials; give --propose METHOD or --planner COMMAND", night->list.sweep.file);
    if (night->planning.on && !o->list && night->planning.method != PROPOSE_GRID && !plan->trials && !o->hours && !o->runs)
        return cli_refuse("--propose and --planner need --trials, --runs or --hours, which end the night");
    return true;
}

/* A proposer gets the runs that the list leaves, but for those of trials that run again. */
static void share_runs(struct night *night)
{
    struct propose_plan *plan = &night->list.sweep.plan;
    const size_t runs = night->reruns.runs, listed = night->list.sweep.n;
    if (!night->planning.on || !runs)
        return;
    const size_t left = runs > listed ? runs - listed : 0, most = left - rerun_reserve(night, left);
    if (!plan->trials || plan->trials > most)
        plan->trials = most;
}

/* Options override the sweep file, which overrides the default. */
static bool read_reruns(struct night_options *o)
{
    struct night_reruns *reruns = &o->night.reruns;
    if (o->confirm && o->no_confirm)
        return cli_refuse("--confirm and --no-confirm exclude each other");
    if ((o->race && !cli_count_parse(&reruns->race, "race", o->race)) ||
        (o->runs && !cli_count_parse(&reruns->runs, "runs", o->runs)) ||
        (o->confirm_runs && !cli_count_parse(&reruns->runs_max, "confirm-runs", o->confirm_runs)))
        return false;
    if (o->confirm_runs && (reruns->runs_max < 2 || reruns->runs_max > 10000))
        return cli_refuse("--confirm-runs %s: use 2 to 10000", o->confirm_runs);
    if (o->runs && reruns->runs < 1)
        return cli_refuse("--runs %s: use at least 1", o->runs);
    if (o->runs && o->race)
        return cli_refuse("--runs and --race exclude each other");
    reruns->confirm = !o->no_confirm && (o->confirm || reruns->race || replicate_is_default(&o->night.list.sweep));
    if (reruns->confirm && json_object_get(o->night.list.sweep.root, "decide_by"))
        return cli_refuse(
            "decide_by keeps trials by one run each, and --confirm, --race and confirm only by several: leave one of them out");
    if (o->no_confirm && reruns->race)
        return cli_refuse("--race runs trials again, which --no-confirm excludes");
    share_runs(&o->night);
    return true;
}

/* --plateau without a price was given the word noise by plateau_price. */
static bool read_stop(struct night_options *o)
{
    struct night_stop *stop = &o->night.stop;
    struct lineage_error err;
    stop->plateau = o->plateau != NULL;
    stop->has_target = o->until != NULL;
    if (o->until && lineage_requirement_parse(&stop->target, o->until, &err) != LINEAGE_OK)
        return cli_refuse("--until: %s", err.text);
    if (!o->plateau || strcmp(o->plateau, "noise") == 0)
        return true;
    if (!lineage_number_parse(&stop->price, o->plateau, strlen(o->plateau)) || !isfinite(stop->price) || stop->price <= 0)
        return cli_refuse("--plateau '%s': the price is a gain of the score above 0, such as 0.002", o->plateau);
    return true;
}

/* Options whose argument may be left out would take the sweep's name for one, so the default is written behind the option. */
static void plateau_price(int argc, const char **argv)
{
    double price;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--plateau") == 0 &&
            (i + 1 >= argc ||
             (strcmp(argv[i + 1], "noise") != 0 && !lineage_number_parse(&price, argv[i + 1], strlen(argv[i + 1])))))
            argv[i] = "--plateau=noise";
}

/* Collects the options that the line `to go on` repeats after the sweep and the store. */
static void collect_options(struct night_options *o)
{
    /* clang-format off */
    const char *const given[] = {
        "--propose", o->method, "--planner", o->planner, "--trials", o->trials, "--seed", o->seed, "--jobs", o->jobs,
        "--lease", o->lease, "--prune", o->prune, "--race", o->race, "--runs", o->runs, "--notify", o->notify,
        "--until", o->until, "--plateau", o->plateau, "--confirm-runs", o->confirm_runs, "--sandbox", o->sandbox,
        "--agent-endpoint", o->agent_endpoint, "--agent-model", o->agent_model, "--agent-key-env", o->agent_key_env,
        "--agent-prompt", o->agent_prompt, "--agent-tokens", o->agent_tokens, "--stop-after", o->stop_after,
        "--planner-seconds", o->planner_seconds};
    /* clang-format on */
    size_t n = 0;
    for (size_t i = 0; i < sizeof given / sizeof *given; i += 2)
        if (given[i + 1]) {
            o->again[n++] = given[i];
            o->again[n++] = given[i + 1];
        }
    for (char **require = o->require; require && *require; require++) {
        o->again[n++] = "--require";
        o->again[n++] = *require;
    }
    const char *const flags[] = {o->approve ? "--approve" : NULL, o->worker ? "--worker" : NULL,
                                 o->confirm ? "--confirm" : NULL, o->no_confirm ? "--no-confirm" : NULL,
                                 o->report ? "--report" : NULL,   o->quiet ? "--quiet" : NULL};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i])
            o->again[n++] = flags[i];
    o->night.options = o->again;
}

static void warn_of_launcher(const struct night_sweep *sweep)
{
    const json_t *command = json_object_get(sweep->root, "command");
    const char *words[LAUNCHER_WORDS_MAX + 1] = {"sh", "-c", json_string_value(command)};
    for (size_t i = 0; i < json_array_size(command) && i < LAUNCHER_WORDS_MAX; i++)
        words[i] = json_string_value(json_array_get(command, i));
    if (sweep->of_commands)
        launchers_warn(words, sweep->directory ? sweep->directory : "");
}

static int make_store(const struct night_options *o)
{
    const char *dir = o->session.where.dir ? o->session.where.dir : ".";
    const char *direction = cli_json_string(o->night.list.sweep.root, "direction");
    const char *second = cli_json_string(o->night.list.sweep.root, "second");
    struct lineage_config config = {0};
    if (!o->night.list.sweep.of_commands)
        return night_trainer->make_store(o->session.where.dir);
    if (cli_is_store(dir))
        return CLI_GO_ON;
    if (o->session.where.direction)
        direction = o->session.where.direction;
    if (!direction)
        return cli_error(CLI_USAGE, "%s is not a store; say in the sweep which score is better: \"direction\": \"lower\"", dir);
    if (!cli_direction_parse(&config.direction, direction) || (second && !cli_second_parse(&config, "second", second)))
        return CLI_USAGE;
    int status = cli_store_create(dir, &config);
    return status == CLI_OK ? CLI_GO_ON : status;
}

/* Reads the sweep before a store is created, so that a refused sweep leaves nothing behind. */
static int read_sweep(struct cli_session *session, void *context)
{
    struct night_options *o = context;
    struct night *night = &o->night;
    night->quiet = o->quiet;
    night->report = o->report;
    night->claims.shared = o->worker;
    session->wait_for_server = o->worker && !o->list;
    if ((o->hours && !cli_measure_parse(&night->hours.limit, CLI_HOURS, "hours", o->hours)) || !read_lease(o) ||
        (o->planner_seconds &&
         !cli_measure_parse(&night->planning.planner_seconds, CLI_SECONDS, "planner-seconds", o->planner_seconds)) ||
        (o->stop_after && !cli_count_parse(&night->failures.stop_after, "stop-after", o->stop_after)) || !read_slots(o) ||
        !read_retry(o) || !read_walls(o) || !read_stop(o))
        return CLI_USAGE;
    night->list.sweep.trainer = night_trainer;
    const int status = night_sweep_read(&night->list.sweep, session->args.positional[0]);
    if (status == CLI_NO)
        return program_become_trainer(o->argc, o->argv);
    CLI_TRY(status);
    if (!o->worker && !o->list)
        CLI_TRY(launchers_check_copies());
    if (o->sandbox && !night->list.sweep.of_commands)
        return cli_error(CLI_USAGE, "--sandbox is for sweeps of commands; recipes run only the built-in trainer");
    CLI_TRY(trial_list_add_sweep(&night->list));
    CLI_TRY(sweep_words_check(&night->list.sweep));
    if (!o->list)
        CLI_TRY(protected_names_check(&night->list.sweep));
    if (!read_planning(o) || !read_reruns(o))
        return CLI_USAGE;
    collect_options(o);
    if (o->worker)
        warn_of_launcher(&night->list.sweep);
    return make_store(o);
}

/* Each trial is checked again before it runs; this check comes before a planner is asked for the first one. */
static int check_log(struct lineage_store *store)
{
    const struct lineage_trial any = {.status = LINEAGE_CRASH};
    struct lineage_error err;
    return lineage_store_append_check(store, &any, NULL, &err) == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

/* The sweep names the second score only for a new store; an existing one must agree. */
static int check_second(const struct night *night)
{
    const char *second = cli_json_string(night->list.sweep.root, "second");
    const struct lineage_config *config = lineage_store_config(night->list.store);
    struct lineage_config wanted = {0};
    if (!second)
        return CLI_GO_ON;
    if (!cli_second_parse(&wanted, "second", second))
        return CLI_USAGE;
    if (strcmp(wanted.second, config->second) == 0 && wanted.second_direction == config->second_direction)
        return CLI_GO_ON;
    CLI_TRY(cli_server_answers(night->list.store));
    return cli_error(CLI_USAGE, "%s: second is %s, but the second score of %s is %s%s%s; change one of them (lineage.json)",
                     night->list.sweep.file, second, lineage_store_dir(night->list.store),
                     config->second[0] ? config->second : "not set", config->second[0] ? ":" : "",
                     !config->second[0]                           ? ""
                     : config->second_direction == LINEAGE_HIGHER ? "higher"
                                                                  : "lower");
}

/* So must the direction, by which the night searches. */
static int check_direction(const struct night *night)
{
    const char *direction = cli_json_string(night->list.sweep.root, "direction");
    const bool higher = lineage_store_config(night->list.store)->direction == LINEAGE_HIGHER;
    if (!direction || strcmp(direction, higher ? "higher" : "lower") == 0)
        return CLI_GO_ON;
    CLI_TRY(cli_server_answers(night->list.store));
    return cli_error(CLI_USAGE, "%s: the sweep says that a %s score is better, but in %s a %s one is (lineage.json)",
                     night->list.sweep.file, direction, lineage_store_dir(night->list.store), higher ? "higher" : "lower");
}

/* Takes the lock before it reads rows; otherwise a row that another night appends in between would be run a second
 * time. Trials that an earlier night left unfinished get their rows first. */
static int open_and_run(struct night_options *o, const struct cli_session *session)
{
    struct night *night = &o->night;
    if (!night->list.sweep.of_commands)
        CLI_TRY(night_trainer->check_store(session->store));
    CLI_TRY(night_open(night, session->store));
    CLI_TRY(check_second(night));
    CLI_TRY(check_direction(night));
    CLI_TRY(night_stop_check(night));
    if (o->list) {
        CLI_TRY(trial_rows_read(&night->list));
        return list_trials(night, session->format);
    }
    cli_deliver_waiting(session->store);
    CLI_TRY(night_lock(night));
    CLI_TRY(check_log(session->store));
    CLI_TRY(abandoned_trials_record(session->store));
    CLI_TRY(trial_rows_retry(&night->list, o->retry_labels));
    CLI_TRY(trial_rows_read(&night->list));
    CLI_TRY(claims_open(&night->claims));
    return run_all(night);
}

/* A night with several jobs opens the store again, so the handle to close afterwards is the night's. */
static int work(struct cli_session *session, void *context)
{
    struct night_options *o = context;
    const int status = open_and_run(o, session);
    claims_close(&o->night.claims); /* must be closed before its store */
    session->store = o->night.list.store;
    return status;
}

static int run_night(struct night_options *o, const struct cli_command *command, int argc, const char **argv)
{
    struct poptOption options[] = {
        CLI_SESSION_OPTIONS(&o->session),
        CLI_OPTION("hours", &o->hours, "H", "start no trial that would end more than H hours from now; also 30m, 2d"),
        CLI_FLAG("list", &o->list, "only list the trials and their results"),
        {"jobs", 'j', POPT_ARG_STRING, &o->jobs, 0, "run N trials in parallel, 1 to 64 (default: 1)", "N"},
        CLI_REPEATED("slot", &o->slots, "NAME=VALUE..",
                     "environment of one parallel job, e.g. CUDA_VISIBLE_DEVICES=0; give one per job"),
        CLI_FLAG("worker", &o->worker, "share the trials with other workers that have the same sweep and store"),
        CLI_OPTION("lease", &o->lease, "SECONDS",
                   "how long a worker may be silent before another takes over its trial (default: 60)"),
        CLI_OPTION("stop-after", &o->stop_after, "K", "stop after K similar failures in a row (default: 5; 0: never)"),
        CLI_OPTION("retry", &o->retry, "LABELS",
                   "void failed trials of this sweep with these labels, and run them again: crash, overrun, failed, or labels, "
                   "separated by commas"),
        command_setting_option(command_setting_by_key("require"), &o->require),
        CLI_OPTION("prune", &o->prune, "RULE",
                   "end trials with a hopeless curve: median or halving, then warmup=STEPS, curves=N (default: 4), patience=N "
                   "(3) or factor=X (3) after commas; none overrides the sweep"),
        command_setting_option(command_setting_by_key("sandbox"), &o->sandbox),
        CLI_OPTION("propose", &o->method, "auto|gp|tpe|sobol|random|grid",
                   "after the list, run trials that this method proposes in the sweep's ranges"),
        CLI_OPTION("planner", &o->planner, "COMMAND", "after the list, run trials that this shell command proposes"),
        CLI_OPTION("planner-seconds", &o->planner_seconds, "N", "stop a planner that takes longer than N seconds (default: 600)"),
        CLI_OPTION("agent-endpoint", &o->agent_endpoint, "URL",
                   "after the list, run trials that a language model proposes: base address of an OpenAI-compatible API "
                   "(`lineage agent`)"),
        CLI_OPTION("agent-model", &o->agent_model, "NAME", "name of that model"),
        CLI_OPTION("agent-key-env", &o->agent_key_env, "NAME",
                   "environment variable with its key (default: LINEAGE_JUDGE_KEY, if set)"),
        CLI_OPTION("agent-prompt", &o->agent_prompt, "FILE", "replace its prompt, which `lineage agent --print-prompt` prints"),
        CLI_OPTION("agent-tokens", &o->agent_tokens, "N",
                   "tokens that it may use for this sweep, counting earlier nights and other workers; then the proposer takes "
                   "over (default: 2000000)"),
        CLI_OPTION("trials", &o->trials, "N",
                   "propose at most N trials, counting those of earlier nights; runs again are not counted"),
        CLI_FLAG("confirm", &o->confirm,
                 "run trials again on fresh seeds where that helps to find the best one, and keep none by a single run (default: "
                 "if the seed is a setting of the sweep)"),
        CLI_FLAG("no-confirm", &o->no_confirm, "keep and discard trials by their first run"),
        CLI_OPTION("confirm-runs", &o->confirm_runs, "N", "run no trial more than N times (default: 64)"),
        CLI_OPTION("runs", &o->runs, "N",
                   "run at most N times in all, counting earlier nights (default: two for each of up to 6 trials, else five for "
                   "every three, and up to a fifth more where runs diverge or fail)"),
        CLI_OPTION("race", &o->race, "N", "run trials again N times at most beyond one run of each; implies --confirm"),
        CLI_FLAG("approve", &o->approve,
                 "let each proposal wait until a person has accepted, edited or refused it (`lineage approve`)"),
        CLI_OPTION("notify", &o->notify, "COMMAND",
                   "run this shell command at a new best, a failure, a proposal that waits and the end; the facts are in "
                   "LINEAGE_NOTIFY_EVENT, _TEXT .. and as JSON on its standard input"),
        CLI_OPTION(
            "until", &o->until, "NAME<=NUMBER",
            "stop once the best trial has a score, or a trial another metric, of at most (<=, <) or at least (>=, >) NUMBER"),
        CLI_OPTION(
            "plateau", &o->plateau, "GAIN",
            "stop once the next five runs are expected to improve the score by less than GAIN (default: a quarter of the noise)"),
        CLI_OPTION("seed", &o->seed, "N", "seed of the proposer (default: the sweep's, else 0)"),
        CLI_FLAG("report", &o->report, "also rewrite report.html beside KNOWLEDGE.md (see `lineage report`)"),
        {"quiet", 'q', POPT_ARG_NONE, &o->quiet, 0, "show no progress", NULL},
        CLI_INPUT_OPTION,
        POPT_TABLEEND};
    o->session.before_open = read_sweep;
    return cli_on_store(&o->session, command, options, 1, 1, argc, argv, work, o);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct night_options *o = calloc(1, sizeof *o);
    if (!o)
        return cli_no_memory();
    night_init(&o->night);
    plateau_price(argc, argv);
    o->argc = argc;
    o->argv = argv;
    int status = run_night(o, command, argc, argv);
    night_close(&o->night);
    for (size_t i = 0; o->environments && i < o->night.slots.n; i++)
        free((void *)(uintptr_t)o->environments[i]);
    free((void *)o->environments);
    free(o->agent_command);
    free(o);
    return status;
}

const struct cli_command cmd_night = {
    .name = "night",
    .arguments = "SWEEP",
    .description = "Runs the trials of a sweep (schema/sweep.schema.json: a list, a grid, or both) one after\n"
                   "another: as `run` does if the sweep has a `command`, else as `train` does, for which the\n"
                   "package lineage-train is needed. A trial starts from the best trial, from a named one,\n"
                   "from one drawn at random (weighted by score and number of children), or from scratch, as\n"
                   "the sweep says. After each trial the night prints its exp_id, status, score and name and\n"
                   "rewrites KNOWLEDGE.md in the store. The first trial that is measured in a store is its\n"
                   "baseline. A warm start that several trials share is trained once.\n\n"
                   "Repeating the command continues the night, however it ended: it runs the trials that have\n"
                   "no row, or whose row says that they were interrupted. --hours starts no trial that would\n"
                   "end too late. The length of a trial is forecast from its recipe and from the measured trials\n"
                   "of the sweep; before the first one it is assumed to be 1 minute.\n\n"
                   "If the sweep has `ranges`, the night can plan itself: --propose applies settings of a\n"
                   "proposer (`lineage suggest`) to the base, --planner asks a command\n"
                   "(schema/planner.schema.json), and --agent-endpoint a language model; a proposal that\n"
                   "repeats a trial, by its parameters, by its words or by a false claim of novelty, is\n"
                   "refused unless it says why. --jobs runs several trials in parallel, each in its own\n"
                   "process.\n\n"
                   "With --worker, any number of processes on any number of machines (on one\n"
                   "machine if the store is a directory) share one list, and each exits when all trials have\n"
                   "their rows. If a worker is killed or silent for longer than --lease, another worker runs\n"
                   "its trial; the first row of a trial counts. In a store on a server with more than 10,000\n"
                   "trials, a worker of a list or grid of commands reads only the rows that it needs, and does\n"
                   "not write KNOWLEDGE.md. The night stops with exit status 3 if 5 trials in a row\n"
                   "fail with the same evidence.",
    .examples = "  lineage night ladder.json -C runs/hop --hours 8\n  lineage night ladder.json -C runs/hop --list\n"
                "  lineage night ladder.json -C runs/hop --worker\n"
                "  lineage night mine.json -C runs/mine --propose tpe --trials 40 \\\n"
                "      --slot CUDA_VISIBLE_DEVICES=0 --slot CUDA_VISIBLE_DEVICES=1",
    .run = run,
};
