/*
 * cmd_program.c: `lineage program`: instructions by which an agent that edits code uses the store on its own.
 *
 * The text is for a reader that has never seen this program and acts at once: short sentences, exact commands. The test
 * cli_program runs its commands.
 */
#include <unistd.h>

#include <lineage/move.h>
#include <lineage/render.h>
#include <lineage/text.h>

#include "run/run_parts.h"
#include "support/program.h"
#include "texts.h"

struct program {
    const char *dir; /* the store */
    char *text_dir;
    char *directory, *direction, **metrics;
    char *agents;
    size_t n_agents; /* that work at once; 0 is 1 */
    int skill;
    const char *const *command; /* the words after -- */
    char *text_command, *text_metrics, *text_metric; /* as a shell reads them */
    const char *text_direction, *text_better;
    char *text_ignore;   /* the line that keeps the store out of commits; "": the store is elsewhere */
    char *text_agents;   /* how several agents work beside each other; "": there is one */
    const char *text_lease, *text_follow; /* what one of several agents does in steps 1 and 2; "": there is one */
};

/* For a store in the work tree that an earlier version made. A new one is ignored by a .gitignore of its own. */
static const char ignore_line[] =
    "git check-ignore -q %s/lineage.json ||\n"
    "    echo \"/$(git rev-parse --show-prefix)%s/\" >>\"$(git rev-parse --git-path info/exclude)\"\n";

/* Whether a shell takes the word literally, though it may have braces: lr={lr}, and not x{1,2} or x{1..2}. */
static bool is_bare(const char *word)
{
    char *rest = strdup(word), *to = rest;
    for (const char *c = word; rest && (*to = *c); c++)
        to += *c != '{' && *c != '}';
    char *quoted = rest ? lineage_text_word(rest) : NULL;
    const bool bare = quoted && strcmp(quoted, rest) == 0 && !(strchr(word, '{') && strstr(word, ".."));
    lineage_free(quoted);
    free(rest);
    return bare;
}

static char *quote_words(const char *const *words, const char *before_each)
{
    struct cli_writer writer = {0};
    FILE *out = cli_writer_open(&writer);
    for (size_t i = 0; out && words && words[i]; i++) {
        char *quoted = is_bare(words[i]) ? NULL : lineage_text_word(words[i]);
        fprintf(out, "%s%s%s", i ? " " : "", before_each, quoted ? quoted : words[i]);
        lineage_free(quoted);
    }
    return cli_writer_close(&writer);
}

/* The texts of a JSON array, NULL-terminated; the caller frees the list, not the texts. */
static const char **words_of(const json_t *array)
{
    const char **words = calloc(json_array_size(array) + 1, sizeof *words);
    size_t n = 0;
    for (size_t i = 0; words && i < json_array_size(array); i++)
        if (json_is_string(json_array_get(array, i)))
            words[n++] = json_string_value(json_array_get(array, i));
    return words;
}

static void replace(char **place, char *by)
{
    free(*place);
    *place = by;
}

/* Called for each trial in the order of the log, so that the newest one with a command counts. */
static void take_from_trial(struct program *p, const struct lineage_store *store, const char *exp_id)
{
    json_t *run = provenance_load(store, exp_id);
    const char **command = words_of(json_object_get(run, "command")), **metrics = words_of(json_object_get(run, "metrics"));
    if (!p->command && command && command[0])
        replace(&p->text_command, quote_words(command, ""));
    if (!p->metrics && metrics && metrics[0]) {
        replace(&p->text_metrics, quote_words(metrics, "-m "));
        replace(&p->text_metric, strdup(metrics[0]));
    }
    free(command);
    free(metrics);
    json_decref(run);
}

enum { TRIALS_ASKED = 50, AGENTS_MAX = 64 };

/* A store that cannot be opened or that has no trial of `run` leaves the placeholders, which is not an error: the
 * instructions may be written before the store exists. */
static void ask_store(struct program *p)
{
    struct lineage_store *store;
    struct lineage_cursor *cursor;
    struct lineage_error err;
    uint64_t rows, after;
    if (!cli_is_store(p->dir) || lineage_store_open(&store, p->dir, NULL, &err) != LINEAGE_OK)
        return;
    if (!p->text_direction)
        p->text_direction = lineage_store_config(store)->direction == LINEAGE_HIGHER ? "higher" : "lower";
    if (lineage_new_trials(&cursor, store, UINT64_MAX, &rows, &err) == LINEAGE_OK) {
        lineage_cursor_close(cursor);
        after = rows > TRIALS_ASKED ? rows - TRIALS_ASKED : 0;
        if (lineage_new_trials(&cursor, store, after, &rows, &err) == LINEAGE_OK) {
            struct lineage_trial trial = {0};
            for (; lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK; lineage_trial_release(&trial))
                take_from_trial(p, store, trial.exp_id);
            lineage_cursor_close(cursor);
        }
    }
    lineage_store_close(store);
}

static const char *value_of(const struct program *p, const char *name, size_t length)
{
    const struct {
        const char *name, *value;
    } values[] = {{"store", p->text_dir},
                  {"ignore", p->text_ignore},
                  {"metric", p->text_metric},
                  {"metrics", p->text_metrics},
                  {"command", p->text_command},
                  {"direction", p->text_direction},
                  {"agents", p->text_agents},
                  {"follow", p->text_follow},
                  {"lease", p->text_lease},
                  {"better", p->text_better},
                  {"delta", strcmp(p->text_direction, "higher") == 0 ? "+0.005" : "-0.005"}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (strlen(values[i].name) == length && strncmp(values[i].name, name, length) == 0)
            return values[i].value;
    return NULL;
}

static void print_filled(const struct program *p, const char *from)
{
    while (*from) {
        size_t n = strcspn(from, "{");
        fwrite(from, 1, n, stdout);
        from += n;
        const char *end = strchr(from, '}');
        const char *value = end ? value_of(p, from + 1, (size_t)(end - from) - 1) : NULL;
        if (value) {
            strchr(value, '{') ? print_filled(p, value) : (void)fputs(value, stdout);
            from = end + 1;
        } else if (*from) {
            putchar(*from++);
        }
    }
}

/* The text about several agents: a work tree for each, and their names. */
static char *make_agents(const struct program *p)
{
    struct cli_writer text = {0};
    FILE *out = p->n_agents > 1 ? cli_writer_open(&text) : NULL;
    if (!out)
        return strdup("");
    fprintf(
        out,
        "## %zu agents at once\n\nEach has a work tree of its own beside this one, on a branch of its own, and all use the one\n"
        "store. A person makes the work trees once, and starts each agent in its own with these instructions. Leave out\n"
        "`--gpu` where there is none.\n\n```sh\n",
        p->n_agents);
    for (size_t i = 0; i < p->n_agents; i++)
        fprintf(out, "lineage worktree -C {store} agent%zu --gpu %zu\n", i, i);
    fputs("```\n\n`lineage run` and `lineage lease` know the agent by its work tree. Elsewhere, say `export "
          "LINEAGE_AGENT=NAME`.\n\n",
          out);
    return cli_writer_close(&text);
}

/* Each unknown value is a placeholder in capitals, and the first lines list the placeholders. */
static int print_program(struct program *p)
{
    bool metric = p->text_metric != NULL, command = p->text_command != NULL, direction = p->text_direction != NULL;
    const char *word[] = {p->dir, NULL};
    size_t n = strlen(p->dir);
    p->text_dir = quote_words(word, "");
    bool below = p->dir[0] != '/' && strncmp(p->dir, "..", 2) != 0 && strcmp(p->dir, ".") != 0 && n && p->text_dir &&
                 strcmp(p->text_dir, p->dir) == 0 && !lineage_is_server(p->dir);
    char ignore[2 * PATH_MAX + sizeof ignore_line];
    if (!metric) {
        replace(&p->text_metric, strdup("METRIC"));
        replace(&p->text_metrics, strdup("-m METRIC"));
    }
    if (!command)
        replace(&p->text_command, strdup("COMMAND"));
    if (!direction)
        p->text_direction = "lower";
    p->text_better = strcmp(p->text_direction, "higher") == 0 ? "higher" : "lower";
    snprintf(ignore, sizeof ignore, ignore_line, p->dir, p->dir);
    p->text_ignore = strdup(below ? ignore : "");
    p->text_agents = make_agents(p);
    p->text_lease = p->n_agents > 1 ? text_program_lease : "";
    p->text_follow = p->n_agents > 1 ? text_program_follow : "";
    if (!p->text_dir || !p->text_agents || !p->text_metric || !p->text_metrics || !p->text_command || !p->text_ignore)
        return cli_no_memory();
    if (p->skill)
        fputs(text_program_skill, stdout);
    if (!metric || !command || !direction)
        printf("> Replace before use:%s%s%s\n\n", metric ? "" : "\n> METRIC: the name of the score, as the command prints it",
               command ? "" : "\n> COMMAND: the command of a trial",
               direction ? "" : "\n> lower: write `higher` if a larger score is better");
    print_filled(p, text_program); /* {NAME} is replaced (value_of) */
    return ferror(stdout) ? CLI_SYSTEM : CLI_OK;
}

static int read_program(struct program *p)
{
    const char *const *metrics = (const char *const *)p->metrics;
    p->dir = p->directory ? p->directory : cli_is_store(".") ? "." : "runs";
    enum lineage_direction direction;
    char above[PATH_MAX], whole[2 * PATH_MAX];
    if (p->agents && !cli_count_parse(&p->n_agents, "agents", p->agents))
        return CLI_USAGE;
    if (p->agents && (p->n_agents < 1 || p->n_agents > AGENTS_MAX))
        return cli_error(CLI_USAGE, "program: --agents %s: use 1 to %d", p->agents, AGENTS_MAX);
    /* The agents work in other directories. */
    if (p->n_agents > 1 && p->dir[0] != '/' && !lineage_is_server(p->dir)) {
        if (!getcwd(above, sizeof above))
            return cli_error(CLI_SYSTEM, "the current directory has no name");
        snprintf(whole, sizeof whole, "%s%s%s", above, strcmp(p->dir, ".") ? "/" : "", strcmp(p->dir, ".") ? p->dir : "");
        replace(&p->directory, strdup(whole));
        p->dir = p->directory;
    }
    if (!p->dir)
        return cli_no_memory();
    if (!cli_direction_parse(&direction, p->direction))
        return CLI_USAGE;
    p->text_direction = p->direction;
    if (p->metrics && !(p->text_metrics = quote_words(metrics, "-m ")))
        return cli_no_memory();
    if (p->metrics && !(p->text_metric = strdup(metrics[0])))
        return cli_no_memory();
    if (p->command && p->command[0] && !(p->text_command = quote_words(p->command, "")))
        return cli_no_memory();
    ask_store(p);
    return print_program(p);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct program p = {0};
    struct poptOption options[] = {
        {"directory", 'C', POPT_ARG_STRING, &p.directory, 0,
         "the store that the agent will use (default: the current directory if it is one, else runs)", "DIR"},
        CLI_OPTION("direction", &p.direction, "lower|higher", "which score is better (default: the store's setting)"),
        {"metric", 'm', POPT_ARG_ARGV, &p.metrics, 0,
         "the score, as the command prints it; may be repeated (default: that of the newest trial)", "NAME"},
        CLI_OPTION("agents", &p.agents, "N",
                   "how many agents work at once, each in a work tree of its own (lineage worktree), with leases (default: 1)"),
        CLI_FLAG("skill", &p.skill, "print a SKILL.md, with its front matter"),
        POPT_TABLEEND};
    struct cli_args args;
    int status = cli_parse(&args, command, options, 0, 0, cli_words_before(&p.command, argc, argv), argv);
    if (status == CLI_GO_ON)
        status = read_program(&p);
    cli_args_release(&args);
    free(p.text_dir);
    free(p.text_command);
    free(p.text_metrics);
    free(p.text_metric);
    free(p.text_ignore);
    free(p.text_agents);
    return status;
}

const struct cli_command cmd_program = {
    .name = "program",
    .arguments = "[-- COMMAND [ARG...]]",
    .description = "Prints instructions by which Claude Code, Codex or another agent uses a store on its own:\n"
                   "what to read first, how to search before proposing, how to run a trial, when to keep and\n"
                   "when to reset a commit, how to record an insight. Append them to program.md, CLAUDE.md or\n"
                   "AGENTS.md, or save them as a skill. Command and metric are those of the newest trial of\n"
                   "`lineage run` in the store, unless they are given. The store need not exist yet. With\n"
                   "--agents, each of several agents leases an idea before it trains.",
    .examples = "  lineage program -C runs -m val_bpb --direction lower \\\n      -- uv run train.py >>program.md\n"
                "  mkdir -p .claude/skills/lineage\n  lineage program --skill >.claude/skills/lineage/SKILL.md",
    .run = run,
};
