/*
 * cmd_preflight.c: `lineage preflight`: what a recipe would do, before anything runs: the plan, its memory, missing
 * corrections, settings that nothing reads, and each setting beside the recommendation of its paper.
 */

#include <rlcore/algorithm.h>
#include <rlcore/envelope.h>

#include "recipe/recipe_request.h"
#include "recipe/recipe_source.h"

enum { UNREAD_MAX = 128 };

struct preflight {
    char **sets;
    char *format_text, *capacity_text, *envelope_text;
    enum cli_format format;
    double capacity; /* bytes; 0: none given */
    struct recipe_source source;
    struct trainer_recipe recipe;
    struct trainer_unread unread[UNREAD_MAX];
    size_t n_unread;
    struct trainer_lack lacks[TRAINER_LACKS_MAX];
    size_t n_lacks;
    struct trainer_caution cautions[TRAINER_CAUTIONS_MAX];
    size_t n_cautions;
    struct trainer_advice advice[TRAINER_ADVICE_MAX];
    size_t n_advice;
    double parts[RL_ENVELOPE_PARTS]; /* bytes */
    struct rl_envelope envelope;
    bool unplanned; /* a change was refused, so that there is no plan of what was asked for */
    char refused[TRAINER_ERROR_TEXT_MAX]; /* why the recipe would be refused; "": it would run */
};

static void refuse(struct preflight *p, const char *why)
{
    if (!p->refused[0])
        snprintf(p->refused, sizeof p->refused, "%s", why);
}

/*
 * The recipe is parsed twice: strictly, which tells whether it would be refused, and as the recipe of an earlier trial, so
 * that the rest can be printed even if something in it is not read. A recipe that cannot be parsed at all is a usage
 * error. Without a change that is refused there is no plan: the plan of the rest is not the one that was asked for.
 */
static int read_recipe(struct preflight *p, const char *path)
{
    struct trainer_error err;
    if (!recipe_source_open(&p->source, path))
        return CLI_USAGE;
    for (char **set = p->sets; set && *set; set++)
        if (!recipe_source_assign(&p->source, *set))
            return CLI_USAGE;
    if (recipe_source_parse(&p->source, &p->recipe, &err) == TRAINER_OK)
        return CLI_GO_ON;
    refuse(p, err.text);
    p->source.recorded = true;
    if (recipe_source_parse(&p->source, &p->recipe, &err) == TRAINER_OK)
        return CLI_GO_ON;
    p->unplanned = p->source.n > 0;
    p->source.n = 0;
    return recipe_source_parse(&p->source, &p->recipe, &err) == TRAINER_OK ? CLI_GO_ON : cli_error(CLI_USAGE, "%s", p->refused);
}

/* "paper" is the budget of the article on A2TGPO for Qwen3-4B: 8 + 12 + 9 + 0 + 5 of 128 GB. */
static int read_envelope(struct preflight *p, const char *text)
{
    const char *paper = "weights=8,lora=12,kv_cache=9,gain_forward=0,retriever=5,capacity=128";
    double capacity = 0;
    struct rl_error err;
    if (rl_envelope_read(strcmp(text, "paper") == 0 ? paper : text, p->parts, &capacity, &err) != RL_OK)
        return cli_error(CLI_USAGE, "%s %s", p->envelope_text ? "--envelope:" : "envelope.parts:", err.text);
    if (p->capacity <= 0)
        p->capacity = capacity;
    return CLI_GO_ON;
}

/* The parts of the built-in trainer's run; what is neither weights nor moments is counted as activations. */
static int measure_recipe(struct preflight *p)
{
    double parameters = (double)trainer_model_parameters(&p->recipe.model);
    double bound = trainer_memory_bound(&p->recipe), known = 4 * 4 * parameters;
    struct rl_envelope_run run;
    struct rl_error err;
    rl_envelope_small(&run, parameters, fmax(0, bound - known));
    if (rl_envelope_measure(&run, p->parts, &err) != RL_OK)
        return cli_error(CLI_SYSTEM, "%s", err.text);
    return CLI_GO_ON;
}

/* As the preflight of a trial (`run --preflight`), it says why the trial ends, which is size_blocked then. */
static void report_size(const char *text)
{
    const char *path = getenv("LINEAGE_EVENTS");
    FILE *events = path && *path ? fopen(path, "a") : NULL;
    struct trainer_error error = {.status = TRAINER_ESIZE};
    snprintf(error.text, sizeof error.text, "%s", text);
    json_t *line = recipe_events_failure(&error);
    if (events && line && json_dumpf(line, events, JSON_COMPACT) == 0)
        putc('\n', events);
    json_decref(line);
    if (events)
        fclose(events);
}

/* A capacity of 0 means that nothing limits the memory; the sum is then compared with itself. */
static int judge_memory(struct preflight *p)
{
    struct rl_error err;
    double total = 0;
    const char *text = p->envelope_text ? p->envelope_text : p->recipe.envelope;
    CLI_TRY(p->envelope_text || *text ? read_envelope(p, text) : measure_recipe(p));
    const double capacity = p->capacity > 0 ? p->capacity : p->recipe.budget.memory_bytes;
    for (int part = 0; part < RL_ENVELOPE_PARTS; part++)
        total += p->parts[part];
    if (rl_envelope_judge(p->parts, capacity > 0 ? capacity : fmax(1, total), &p->envelope, &err) != RL_OK)
        return cli_error(CLI_USAGE, "%s", err.text);
    p->capacity = capacity;
    if (!p->envelope.fits) {
        refuse(p, p->envelope.text);
        report_size(p->envelope.text);
    }
    return CLI_GO_ON;
}

static double rows_of(const struct trainer_recipe *recipe)
{
    double rows = 0;
    for (int32_t i = 0; i < recipe->n_tasks; i++)
        rows += (double)recipe->tasks[i].questions * recipe->training.group_size;
    return rows;
}

static double updates_of(const struct trainer_recipe *recipe)
{
    return ceil(rows_of(recipe) / recipe->training.minibatch) * recipe->training.epochs;
}

struct wanted_words {
    const char *path;
    char words[64];
};

static void take_words(void *context, const struct trainer_setting *setting)
{
    struct wanted_words *wanted = context;
    if (strcmp(setting->path, wanted->path) == 0 && setting->text)
        snprintf(wanted->words, sizeof wanted->words, "%s", setting->text);
}

/* The words of a choice are the trainer's, so they are asked for instead of repeated here. */
static struct wanted_words words_of(const struct trainer_recipe *recipe, const char *path)
{
    struct wanted_words wanted = {path, ""};
    trainer_recipe_settings(recipe, take_words, &wanted);
    return wanted;
}

static void print_plan(const struct preflight *p)
{
    const struct trainer_recipe *r = &p->recipe;
    printf("Plan of %s\n", r->name);
    if (r->checkpoint[0])
        printf("  starts from %s\n", r->checkpoint);
    else
        printf("  warm start: %d steps of %d demonstrations\n", (int)r->warm_start.steps, (int)r->warm_start.batch);
    for (int32_t i = 0; i < r->n_tasks; i++)
        printf("  environment %d: %s on %s, %d questions in an iteration\n", (int)i,
               rl_algorithm_at(r->tasks[i].algorithm.name)->name, trainer_env_name(r->tasks[i].env.kind),
               (int)r->tasks[i].questions);
    printf("  %d iterations of %.0f rollouts and %.0f updates; loss %s, correction %s, sampler %s\n", (int)r->training.iterations,
           rows_of(r), updates_of(r), words_of(r, "loss.name").words, words_of(r, "correction.name").words,
           words_of(r, "sampler.precision").words);
    printf("  final score: %d questions, %d seeds\n", (int)r->evaluation.questions, (int)r->evaluation.seeds);
}

static void print_memory(const struct preflight *p)
{
    const char *plus = "";
    printf("\nMemory in GB\n  ");
    for (int part = 0; part < RL_ENVELOPE_PARTS; part++)
        if (p->parts[part] > 0 || (p->envelope_text && part == RL_ENVELOPE_GAIN_FORWARD)) {
            printf("%s%s %.4g", plus, rl_envelope_part_name((enum rl_envelope_part)part), p->parts[part] / 1e9);
            plus = " + ";
        }
    printf(" = %.4g", p->envelope.total / 1e9);
    if (p->capacity > 0)
        printf(" of %.4g: %s", p->capacity / 1e9, p->envelope.fits ? "fits" : "does not fit");
    putchar('\n');
}

static void print_lists(const struct preflight *p)
{
    printf("\nMissing corrections%s\n", p->n_lacks ? "" : ": none");
    for (size_t i = 0; i < p->n_lacks; i++)
        printf("  %s: %s\n", p->lacks[i].correction, p->lacks[i].reason);
    printf("\nSettings without effect%s\n", p->n_unread ? "" : ": none");
    for (size_t i = 0; i < p->n_unread && i < UNREAD_MAX; i++)
        printf("  %s %s: needs %s%s\n", p->unread[i].setting, p->unread[i].value, p->unread[i].needs,
               p->unread[i].refused ? "" : " (accepted; the row leaves it out)");
}

static void print_cautions(const struct preflight *p)
{
    for (size_t i = 0; i < p->n_cautions; i++)
        printf("%s  %s\n", i ? "" : "\nPerhaps meant otherwise\n", p->cautions[i].text);
}

static int print_advice(const struct preflight *p)
{
    printf("\nSettings beside their papers\n");
    fflush(stdout);
    struct cli_list *list = cli_list_of(CLI_TABLE, NULL, "setting,value,paper,source");
    for (size_t i = 0; i < p->n_advice; i++)
        cli_list_row(list, CLI_TEXT(p->advice[i].setting), CLI_TEXT(p->advice[i].value),
                     CLI_TEXT(p->advice[i].follows ? "same" : p->advice[i].recommended), CLI_TEXT(p->advice[i].source));
    return cli_list_finish(list);
}

static int print_text(const struct preflight *p)
{
    if (p->unplanned) {
        printf("Refused: %s\n", p->refused);
        return CLI_OK;
    }
    print_plan(p);
    print_memory(p);
    print_lists(p);
    print_cautions(p);
    int status = print_advice(p);
    if (p->refused[0])
        printf("\nRefused: %s\n", p->refused);
    else
        printf("\nThe recipe would run. Whether a setting has an effect on its data, the run's gradient trace finds out.\n");
    return status;
}

static json_t *plan_json(const struct preflight *p)
{
    const struct trainer_recipe *r = &p->recipe;
    json_t *tasks = json_array();
    for (int32_t i = 0; i < r->n_tasks; i++)
        json_array_append_new(tasks, json_pack("{s:s, s:s, s:i}", "environment", trainer_env_name(r->tasks[i].env.kind),
                                               "algorithm", rl_algorithm_at(r->tasks[i].algorithm.name)->name, "questions",
                                               (int)r->tasks[i].questions));
    return json_pack("{s:o, s:o, s:i, s:f, s:f, s:s, s:s}", "name", cli_json_text(r->name), "environments", tasks, "iterations",
                     (int)r->training.iterations, "rollouts", rows_of(r), "updates", updates_of(r), "loss",
                     words_of(r, "loss.name").words, "correction", words_of(r, "correction.name").words);
}

static json_t *memory_json(const struct preflight *p)
{
    json_t *parts = json_object();
    for (int part = 0; part < RL_ENVELOPE_PARTS; part++)
        json_object_set_new(parts, rl_envelope_part_name((enum rl_envelope_part)part), json_real(p->parts[part]));
    return json_pack("{s:o, s:f, s:o, s:b}", "bytes", parts, "total", p->envelope.total, "capacity",
                     p->capacity > 0 ? json_real(p->capacity) : json_null(), "fits", (int)p->envelope.fits);
}

static json_t *lists_json(const struct preflight *p)
{
    json_t *root = json_object(), *lacks = json_array(), *unread = json_array(), *advice = json_array(), *cautions = json_array();
    for (size_t i = 0; i < p->n_lacks; i++)
        json_array_append_new(lacks, json_pack("{s:s, s:s}", "correction", p->lacks[i].correction, "reason", p->lacks[i].reason));
    for (size_t i = 0; i < p->n_unread && i < UNREAD_MAX; i++)
        json_array_append_new(unread, json_pack("{s:s, s:o, s:s, s:b}", "setting", p->unread[i].setting, "value",
                                                cli_json_text(p->unread[i].value), "needs", p->unread[i].needs, "refused",
                                                (int)p->unread[i].refused));
    for (size_t i = 0; i < p->n_advice; i++)
        json_array_append_new(advice, json_pack("{s:s, s:o, s:s, s:s, s:b}", "setting", p->advice[i].setting, "value",
                                                cli_json_text(p->advice[i].value), "paper", p->advice[i].recommended, "source",
                                                p->advice[i].source, "same", (int)p->advice[i].follows));
    for (size_t i = 0; i < p->n_cautions; i++)
        json_array_append_new(cautions, cli_json_text(p->cautions[i].text));
    cli_json_set(root, "missing_corrections", lacks, "without_effect", unread, "cautions", cautions, "recommendations", advice,
                 NULL);
    return root;
}

static int print_json(const struct preflight *p)
{
    json_t *root = p->unplanned ? json_object() : lists_json(p);
    if (!root)
        return cli_no_memory();
    cli_json_set(root, "plan", p->unplanned ? json_null() : plan_json(p), "memory", !p->unplanned ? memory_json(p) : NULL,
                 "refused", p->refused[0] ? cli_json_text(p->refused) : json_null(), NULL);
    return cli_json_answer(root);
}

static int look(struct preflight *p, const char *path)
{
    char *end = NULL;
    if (!cli_format_parse(&p->format, p->format_text))
        return CLI_USAGE;
    if (cli_format_is_rows(p->format))
        return cli_error(CLI_USAGE, "preflight: --format must be table or json");
    p->capacity = p->capacity_text ? strtod(p->capacity_text, &end) * 1e9 : 0;
    if (p->capacity_text && (*end || !(p->capacity > 0) || isinf(p->capacity)))
        return cli_error(CLI_USAGE, "--capacity '%s' is not a number of gigabytes above 0", p->capacity_text);
    int status = read_recipe(p, path);
    if (status == CLI_GO_ON)
        status = judge_memory(p);
    if (status != CLI_GO_ON)
        return status;
    p->n_unread = trainer_recipe_unread(&p->recipe, p->unread, UNREAD_MAX);
    p->n_lacks = trainer_recipe_lacks(&p->recipe, p->lacks);
    p->n_cautions = trainer_recipe_cautions(&p->recipe, p->cautions);
    p->n_advice = trainer_recipe_advice(&p->recipe, p->advice);
    status = p->format == CLI_JSON ? print_json(p) : print_text(p);
    return status == CLI_OK && p->refused[0] ? CLI_NO : status;
}

static int work(const struct cli_args *args, void *context)
{
    struct preflight *p = context;
    int status = look(p, args->positional[0]);
    recipe_source_release(&p->source);
    return status;
}

static struct preflight chosen;
static struct poptOption table[] = {
    CLI_REPEATED("set", &chosen.sets, "NAME=VALUE", "set any setting of the recipe; may be repeated"),
    CLI_OPTION("capacity", &chosen.capacity_text, "GB",
               "memory that the run may use, in GB of 1e9 bytes (default: the recipe's budget.memory_bytes)"),
    CLI_OPTION("envelope", &chosen.envelope_text, "PART=GB,...|paper",
               "judge these parts instead of the recipe's own; paper: 8 + 12 + 9 + 0 + 5 of 128 GB, for Qwen3-4B"),
    CLI_FORMAT_OPTION(&chosen.format_text),
    CLI_INPUT_OPTION,
    POPT_TABLEEND};

const struct cli_command cmd_preflight = {
    .name = "preflight",
    .arguments = "RECIPE",
    .description = "Prints what training by a recipe would do, and runs nothing: the plan; the memory, by part;\n"
                   "corrections of the core's plan that the recipe lacks; settings that nothing reads, with what\n"
                   "they need; and each setting beside the value that its paper recommends.\n\n"
                   "The memory is the trainer's upper bound. --envelope judges the parts of another run, such as\n"
                   "that of a language model: weights, lora, gradients, optimizer, activations, kv_cache,\n"
                   "gain_forward and retriever. --capacity is the budget that they must fit into.\n\n"
                   "Exit status: 0 the recipe would run, 1 it would be refused (the reason is printed), 2 it\n"
                   "cannot be read.",
    .examples = "  lineage preflight recipe.json --set algorithm.name=turn-group-v1d --capacity 2\n"
                "  lineage preflight recipe.json --capacity 128 \\\n      --envelope weights=8,lora=12,kv_cache=9,retriever=5",
    CLI_ON_ARGS(table, 1, 1, work, &chosen),
};
