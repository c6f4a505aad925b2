/* dispatch.c: global options, choice of the command, and the check that all output was written. */
#include "dispatch.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/complete.h"
#include "support/manual.h"
#include "usage.h"

enum { COMMANDS_MAX = 64 };

struct dispatch {
    const struct cli_entry *entries;
    int (*elsewhere)(int argc, const char **argv);
};

/* run-trial is run_trial in commands.def, where a name must be one of C. */
static bool is_named(const struct cli_entry *entry, const char *name)
{
    size_t i = 0;
    while (name[i] && (entry->name[i] == name[i] || (entry->name[i] == '_' && name[i] == '-')))
        i++;
    return !name[i] && !entry->name[i];
}

/* Hidden commands are found but never suggested: nobody should type them. */
static const struct cli_entry *find_command(const struct cli_entry *entries, const char *name)
{
    const char *names[COMMANDS_MAX] = {0};
    size_t n = 0;
    for (const struct cli_entry *entry = entries; entry->name; entry++) {
        if (is_named(entry, name))
            return entry;
        if (!entry->hidden && n + 1 < COMMANDS_MAX)
            names[n++] = entry->name;
    }
    const char *near = cli_nearest(name, names);
    cli_error(CLI_USAGE, "no command '%s'%s%s%s; `lineage --help` lists them", name,
              near ? "; did you mean '" : "", near ? near : "", near ? "'" : "");
    return NULL;
}

/* `lineage -C DIR command ...` is `lineage command -C DIR ...`: global options move behind the name. */
static int run_command(const struct dispatch *dispatch, int n_global, const char **global, int argc,
                       const char **argv)
{
    const struct cli_entry *entry = find_command(dispatch->entries, argv[0]);
    if (!entry)
        return CLI_USAGE;
    const char **moved = calloc((size_t)(n_global + argc) + 1, sizeof *moved);
    if (!moved)
        return cli_no_memory();
    moved[0] = argv[0];
    if (n_global)
        memcpy(moved + 1, global, (size_t)n_global * sizeof *moved);
    memcpy(moved + 1 + n_global, argv + 1, (size_t)(argc - 1) * sizeof *moved);
    int status = entry->command ? entry->command->run(entry->command, n_global + argc, moved)
                                : dispatch->elsewhere(n_global + argc, moved);
    free(moved);
    return status;
}

static bool takes_value(const char *option)
{
    static const char *const options[] = {"-C", "--directory", "--direction", "--metric", NULL};
    for (size_t i = 0; options[i]; i++)
        if (strcmp(options[i], option) == 0)
            return true;
    return false;
}

/* ---- what shells and manual pages ask ---- */

/* Put MARK in front of the words of a command, which then describes its table (options.c). */
static int ask_command(const struct dispatch *dispatch, const char *mark, const struct cli_entry *entry, int n_global,
                       const char **global, int n, const char **words)
{
    const char **argv = calloc((size_t)(n_global + n) + 3, sizeof *argv);
    if (!argv)
        return CLI_SYSTEM;
    argv[0] = entry->name;
    argv[1] = mark;
    if (n_global)
        memcpy(argv + 2, global, (size_t)n_global * sizeof *argv);
    if (n)
        memcpy(argv + 2 + n_global, words, (size_t)n * sizeof *argv);
    int argc = n_global + n + 2;
    int status = entry->command ? entry->command->run(entry->command, argc, argv) : dispatch->elsewhere(argc, argv);
    free((void *)argv);
    return status;
}

/* `lineage complete WORD...`: the words of a line behind `lineage`, of which the last is completed. It says nothing
 * on standard error, whatever is wrong: the shell is in the middle of a line. */
static int complete(const struct dispatch *dispatch, int n, const char **words)
{
    int i = 0;
    if (!freopen("/dev/null", "w", stderr))
        return CLI_SYSTEM;
    while (i < n - 1 && words[i][0] == '-')
        i += takes_value(words[i]) ? 2 : 1;
    bool help = i < n - 1 && strcmp(words[i], "help") == 0;
    if (i >= n - 1 || help) {
        usage_complete(dispatch->entries, (size_t)n, words, !help);
        return CLI_OK;
    }
    const struct cli_entry *entry = find_command(dispatch->entries, words[i]);
    if (!entry)
        return CLI_USAGE;
    return ask_command(dispatch, CLI_COMPLETE, entry, i, words, n - i - 1, words + i + 1);
}

/* `lineage manual [COMMAND]`: a manual page; for the build (cli/man). */
static int manual(const struct dispatch *dispatch, const char *name)
{
    if (!name)
        return usage_manual(stdout, dispatch->entries), CLI_OK;
    const struct cli_entry *entry = find_command(dispatch->entries, name);
    return entry ? ask_command(dispatch, CLI_MANUAL, entry, 0, NULL, 1, (const char *[]){entry->summary}) : CLI_USAGE;
}

static int choose(const struct dispatch *dispatch, int argc, const char **argv)
{
    int i = 1;
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return usage_print(stdout, dispatch->entries), CLI_OK;
        if (strcmp(argv[i], "--version") == 0)
            return puts("lineage " LINEAGE_VERSION), CLI_OK;
        if (takes_value(argv[i]) && i + 1 == argc)
            return cli_error(CLI_USAGE, "%s wants a value; see `lineage --help`", argv[i]);
        if (takes_value(argv[i]))
            i++;
        else if (!strchr(argv[i], '=') && strncmp(argv[i], "-C", 2) != 0)
            return cli_error(CLI_USAGE, "unknown option '%s' before the command", argv[i]);
    }
    if (i < argc && strcmp(argv[i], "help") == 0 && i + 1 < argc) {
        const char *help[] = {argv[i + 1], "--help", NULL};
        return run_command(dispatch, 0, NULL, 2, help);
    }
    if (i < argc && strcmp(argv[i], "complete") == 0)
        return complete(dispatch, argc - i - 1, argv + i + 1);
    if (i < argc && strcmp(argv[i], "manual") == 0)
        return manual(dispatch, argv[i + 1]);
    if (i >= argc || strcmp(argv[i], "help") == 0)
        return usage_print(i < argc ? stdout : stderr, dispatch->entries), i < argc ? CLI_OK : CLI_USAGE;
    return run_command(dispatch, i - 1, argv + 1, argc - i, argv + i);
}

/* A result is not done until it is out: a full disk behind a redirection shows at the flush, not at printf. */
int cli_dispatch(const struct cli_entry *entries, int (*elsewhere)(int argc, const char **argv), int argc,
                 char **argv)
{
    const struct dispatch dispatch = {entries, elsewhere};
    int status = choose(&dispatch, argc, (const char **)(uintptr_t)argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        return cli_error(CLI_SYSTEM, "cannot write the result to standard output");
    return status;
}
