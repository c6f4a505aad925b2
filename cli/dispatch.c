/* dispatch.c: reads the options before the command, runs the command, and checks that all output was written. */
#include "dispatch.h"

#include <signal.h>
#include <unistd.h>

#include "guide_texts.h" /* made from the guides by cli/man/EmbedGuides.cmake */
#include "support/complete.h"
#include "support/manual.h"

/* A guide that `lineage help GUIDE` opens. The texts are in cli/man, which also makes manual pages of them. */
struct guide {
    const char *name, *page, *section; /* e.g. tutorial, lineage-tutorial and 7 */
    const char *summary;
    const char *text; /* Markdown */
};

/* All guides in the order of cli/man/guides.def; the last entry has a NULL name. */
static const struct guide guides[] = {
#define CLI_GUIDE(name, page, section, path, summary) {#name, page, #section, summary, guide_##name},
#include "man/guides.def"
#undef CLI_GUIDE
    {NULL, NULL, NULL, NULL, NULL}};

/* Returns the guide of that name, or NULL. A page's name (lineage-tutorial) works as well. */
static const struct guide *guide_find(const char *name)
{
    for (const struct guide *guide = guides; guide->name; guide++)
        if (strcmp(guide->name, name) == 0 || strcmp(guide->page, name) == 0)
            return guide;
    return NULL;
}

/* Replaces this process by `man`. Returns only if `man` is missing or does not find the page. */
static void become_man(const struct guide *guide)
{
    char find[256];
    int n = snprintf(find, sizeof find, "man -w %s %s >/dev/null 2>&1", guide->section, guide->page);
    if (n > 0 && (size_t)n < sizeof find && system(find) == 0)
        execlp("man", "man", guide->section, guide->page, (char *)NULL);
}

/*
 * On a terminal, opens the guide's manual page if `man` finds it installed. Otherwise prints the guide's text, through the
 * pager if it is longer than the screen. Returns an exit status.
 */
static int guide_open(const struct guide *guide)
{
    struct cli_screen screen = {0};
    size_t lines = 0;
    if (!cli_screen_open(&screen))
        return CLI_USAGE;
    if (screen.terminal)
        become_man(guide);
    for (const char *c = guide->text; *c; c++)
        lines += *c == '\n';
    cli_screen_expect(&screen, lines);
    fputs(guide->text, stdout);
    cli_screen_close(&screen);
    return CLI_OK;
}

/* ---- texts about `lineage` as a whole: `lineage --help`, lineage(1), and the completion of a command's name ---- */

#define SYNOPSIS "[-C DIR] COMMAND [OPTION...] [ARGUMENT...]"

static const char what_it_does[] = "Keeps an append-only log of training trials, and renders the block that the next\n"
                                   "agent reads. results.tsv in the store's directory is the source of truth.";

static const char exit_statuses[] = "0 done, 1 the answer is no, 2 bad usage or input, 3 system failure.";

static const char *const group_titles[N_CLI_GROUPS] = {
    [CLI_GROUP_record] = "Record trials",
    [CLI_GROUP_ask] = "Ask what was tried",
    [CLI_GROUP_plan] = "Plan and run nights",
    [CLI_GROUP_people] = "Tell people and agents",
    [CLI_GROUP_repair] = "Check, repair and move a store",
    [CLI_GROUP_train] = "Train with the built-in trainer, in the package lineage-train",
};

static const char examples[] = "  lineage -C runs/atpo append --status auto --core-metric 34.5\n"
                               "  lineage -C runs/atpo render --for optimizer\n"
                               "  lineage -C runs/atpo query --alpha 0.1:0.5 --gamma :1.0";

static const struct {
    const char *name, *value, *text;
} options[] = {{"-C", "DIR", "the store (default: current directory)"},
               {"--help", "", "print this text; `lineage COMMAND --help` explains a command"},
               {"--version", "", "print the version"}};
enum { N_OPTIONS = sizeof options / sizeof *options };

/* Print `lineage --help`: commands by group, guides, options. */
static void usage_print(FILE *out, const struct cli_entry *entries)
{
    fprintf(out, "Usage: lineage " SYNOPSIS "\n\n%s\n", what_it_does);
    for (size_t group = 0; group < N_CLI_GROUPS; group++) {
        fprintf(out, "\n%s:\n", group_titles[group]);
        for (const struct cli_entry *entry = entries; entry->name; entry++)
            if (entry->group == group && !entry->hidden)
                fprintf(out, "  %-10s  %s\n", entry->name, entry->summary);
    }
    fputs("\nGuides, opened by `lineage help GUIDE`:\n", out);
    for (size_t i = 0; guides[i].name; i++)
        fprintf(out, "  %-10s  %s\n", guides[i].name, guides[i].summary);
    fputs("\nOptions before the command:\n", out);
    for (size_t i = 0; i < N_OPTIONS; i++)
        fprintf(out, "  %s%s%-*s  %s\n", options[i].name, options[i].value[0] ? " " : "",
                (int)(9 - strlen(options[i].name) - (options[i].value[0] != 0)), options[i].value, options[i].text);
    fprintf(out, "\nExamples:\n%s\n\nExit status: %s\n", examples, exit_statuses);
}

/* Print the manual page lineage(1); see support/manual.h. */
static void usage_manual(FILE *out, const struct cli_entry *entries)
{
    char term[LINEAGE_NAME_MAX], text[512];
    manual_begin(out, "lineage", "keep a log of training trials, and tell the next agent what was tried");
    manual_section(out, "SYNOPSIS");
    manual_literal(out, "lineage " SYNOPSIS);
    manual_section(out, "DESCRIPTION");
    manual_text(out, what_it_does);
    fputs(".PP\n", out);
    manual_text(out, "Each command has a page of its own, lineage-COMMAND(1). Results go to standard output,\n"
                     "everything else to standard error.");
    manual_section(out, "COMMANDS");
    for (size_t group = 0; group < N_CLI_GROUPS; group++) {
        manual_subsection(out, group_titles[group]);
        for (const struct cli_entry *entry = entries; entry->name; entry++)
            if (entry->group == group && !entry->hidden)
                manual_item(out, entry->name, entry->summary);
    }
    manual_section(out, "GUIDES");
    manual_text(out, "`lineage help GUIDE` opens one of these. Each is also a manual page, named in brackets.");
    for (size_t i = 0; guides[i].name; i++) {
        snprintf(text, sizeof text, "%s (%s(%s))", guides[i].summary, guides[i].page, guides[i].section);
        manual_item(out, guides[i].name, text);
    }
    manual_section(out, "OPTIONS");
    for (size_t i = 0; i < N_OPTIONS; i++) {
        snprintf(term, sizeof term, "%s %s", options[i].name, options[i].value);
        manual_item(out, term, options[i].text);
    }
    manual_section(out, "EXIT STATUS");
    manual_text(out, exit_statuses);
    manual_section(out, "EXAMPLES");
    manual_literal(out, examples);
    manual_section(out, "SEE ALSO");
    for (const struct cli_entry *entry = entries; entry->name; entry++)
        if (!entry->hidden)
            fprintf(out, "\\fBlineage\\-%s\\fR(1),\n", entry->name);
    fputs("\\fBlineage\\fR(7),\n\\fBresults.tsv\\fR(5)\n", out);
}

/* Complete the last of n words, which is where a command's name belongs (support/complete.h). The words before it are
 * options of `lineage` itself. after_help: the words follow `lineage help`, so guides are offered and options are not. */
static void usage_complete(const struct cli_entry *entry, size_t n, const char **words, bool after_help)
{
    const char *word = n ? words[n - 1] : "";
    struct completion c = {.word = word, .kept = word};
    if (n > 1 && strcmp(words[n - 2], "-C") == 0) {
        puts(":directory");
        return;
    }
    for (; entry->name; entry++)
        if (!entry->hidden)
            complete_offer(&c, entry->name, "", entry->summary);
    if (after_help) {
        for (size_t i = 0; guides[i].name; i++)
            complete_offer(&c, guides[i].name, "", guides[i].summary);
        return;
    }
    complete_offer(&c, "help", "", "explain a command or open a guide");
    for (size_t i = 0; word[0] == '-' && i < N_OPTIONS; i++)
        complete_offer(&c, options[i].name, "", options[i].text);
}

/* ---- reads the options before the command, runs the command, and checks that all output was written ---- */

enum { NAMES_MAX = 96 }; /* commands and guides */

struct dispatch {
    const struct cli_entry *entries;
    int (*elsewhere)(int argc, const char **argv);
};

/* commands.def spells run-trial as run_trial, because its names are C identifiers too. */
static bool is_named(const struct cli_entry *entry, const char *name)
{
    size_t i = 0;
    while (name[i] && (entry->name[i] == name[i] || (entry->name[i] == '_' && name[i] == '-')))
        i++;
    return !name[i] && !entry->name[i];
}

static const struct cli_entry *find_command(const struct cli_entry *entries, const char *name)
{
    for (const struct cli_entry *entry = entries; entry->name; entry++)
        if (is_named(entry, name))
            return entry;
    return NULL;
}

/* What other tools call a command. */
static const char *const other_words[][2] = {
    {"add", "append"},    {"record", "append"},
    {"create", "init"},   {"new", "init"},
    {"delete", "void"},   {"remove", "void"},
    {"rm", "void"},       {"undo", "void"},
    {"list", "query"},    {"ls", "query"},
    {"history", "query"}, {"trials", "query"},
    {"top", "settings"},  {"leaderboard", "settings"},
    {"ui", "serve"},      {"dashboard", "serve"},
    {"plot", "report"},   {"check", "verify"},
    {"fsck", "verify"},   {"grep", "search"},
};

/* Print that there is no such command, with the nearest name. Hidden commands are not suggested. with_guides: the name was
 * an argument of `lineage help`, so it may have been meant as a guide. */
static int no_command(const struct cli_entry *entries, const char *name, bool with_guides)
{
    const char *names[NAMES_MAX] = {0};
    size_t n = 0;
    for (const struct cli_entry *entry = entries; entry->name && n + 1 < NAMES_MAX; entry++)
        if (!entry->hidden)
            names[n++] = entry->name;
    for (size_t i = 0; with_guides && guides[i].name && n + 1 < NAMES_MAX; i++)
        names[n++] = guides[i].name;
    const char *near = cli_nearest(name, names), *instead = cli_instead(name, NULL);
    if (instead)
        return cli_error(CLI_USAGE, "the command '%s' was removed; %s", name, instead);
    for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++)
        if (strcmp(other_words[i][0], name) == 0)
            near = other_words[i][1];
    return cli_error(CLI_USAGE, "no command '%s'%s%s%s%s; `lineage --help` lists them", name,
                     with_guides ? " and no guide of that name" : "", near ? "; did you mean '" : "", near ? near : "",
                     near ? "'" : "");
}

/* `lineage -C DIR command ...` becomes `lineage command -C DIR ...`: options before the command's name are moved after it. With a mark as
 * its first argument a command describes its option table and does nothing else (options.c). */
static int call(const struct dispatch *dispatch, const struct cli_entry *entry, const char *name, const char *mark, int n_global,
                const char **global, int n, const char **words)
{
    const char **argv = calloc((size_t)(n_global + n) + 3, sizeof *argv);
    int argc = 0;
    if (!argv)
        return cli_no_memory();
    argv[argc++] = name;
    if (mark)
        argv[argc++] = mark;
    for (int i = 0; i < n_global; i++)
        argv[argc++] = global[i];
    for (int i = 0; i < n; i++)
        argv[argc++] = words[i];
    int status = entry->command ? entry->command->run(entry->command, argc, argv) : dispatch->elsewhere(argc, argv);
    free((void *)argv);
    return status;
}

static int run_command(const struct dispatch *dispatch, int n_global, const char **global, int argc, const char **argv)
{
    const struct cli_entry *entry = find_command(dispatch->entries, argv[0]);
    return entry ? call(dispatch, entry, argv[0], NULL, n_global, global, argc - 1, argv + 1)
                 : no_command(dispatch->entries, argv[0], false);
}

static bool takes_value(const char *option)
{
    static const char *const global[] = {"-C", "--directory", "--direction", "--metric", NULL};
    for (size_t i = 0; global[i]; i++)
        if (strcmp(global[i], option) == 0)
            return true;
    return false;
}

/* `lineage complete WORD...`: completes the last WORD of the command line `lineage WORD...`. Errors are not printed,
 * because the shell is in the middle of a line. */
static int complete(const struct dispatch *dispatch, int n, const char **words)
{
    int i = 0;
    if (!freopen("/dev/null", "w", stderr))
        return CLI_SYSTEM;
    while (i < n - 1 && words[i][0] == '-')
        i += takes_value(words[i]) ? 2 : 1;
    bool after_help = i < n - 1 && strcmp(words[i], "help") == 0;
    if (i >= n - 1 || after_help) {
        usage_complete(dispatch->entries, (size_t)n, words, after_help);
        return CLI_OK;
    }
    const struct cli_entry *entry = find_command(dispatch->entries, words[i]);
    return entry ? call(dispatch, entry, entry->name, CLI_COMPLETE, i, words, n - i - 1, words + i + 1) : CLI_USAGE;
}

/* `lineage manual [COMMAND]`: prints the command's manual page in troff; the build calls it (cli/man). */
static int manual(const struct dispatch *dispatch, const char *name)
{
    if (!name)
        return usage_manual(stdout, dispatch->entries), CLI_OK;
    const struct cli_entry *entry = find_command(dispatch->entries, name);
    return entry ? call(dispatch, entry, entry->name, CLI_MANUAL, 0, NULL, 1, (const char *[]){entry->summary})
                 : no_command(dispatch->entries, name, false);
}

/* `lineage help NAME`: the help of that command, or the guide of that name. */
static int help(const struct dispatch *dispatch, const char *name)
{
    const char *command_help[] = {name, "--help", NULL};
    if (find_command(dispatch->entries, name))
        return run_command(dispatch, 0, NULL, 2, command_help);
    const struct guide *guide = guide_find(name);
    return guide ? guide_open(guide) : no_command(dispatch->entries, name, true);
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
    if (i + 1 < argc && strcmp(argv[i], "help") == 0)
        return help(dispatch, argv[i + 1]);
    if (i < argc && strcmp(argv[i], "complete") == 0)
        return complete(dispatch, argc - i - 1, argv + i + 1);
    if (i < argc && strcmp(argv[i], "manual") == 0)
        return manual(dispatch, argv[i + 1]);
    if (i >= argc || strcmp(argv[i], "help") == 0)
        return usage_print(i < argc ? stdout : stderr, dispatch->entries), i < argc ? CLI_OK : CLI_USAGE;
    return run_command(dispatch, i - 1, argv + 1, argc - i, argv + i);
}

static void ignore_signal(int number)
{
    (void)number;
}

/* A write that reaches the limit on file sizes (`ulimit -f`) fails with EFBIG instead of ending the process, so that
 * `append` reports the failure and `run` keeps the row of a measured trial elsewhere. A handler is used instead of SIG_IGN,
 * because exec resets it: commands that this program starts keep the default. */
static void outlive_size_limit(void)
{
    struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART}, before;
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &action, NULL);
}

/* Standard output is flushed before the exit status is decided, because a full disk shows there and not in printf. */
int cli_dispatch(const struct cli_entry *entries, int (*elsewhere)(int argc, const char **argv), int argc, char **argv)
{
    const struct dispatch dispatch = {entries, elsewhere};
    outlive_size_limit();
    int status = choose(&dispatch, argc, (const char **)(uintptr_t)argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        return cli_error(CLI_SYSTEM, "cannot write the result to standard output");
    return status;
}
