/* usage.c: `lineage --help`, lineage(1) and the completion of commands, all from the same lists. */
#include "usage.h"

#include <string.h>

#include "guides.h"
#include "support/complete.h"
#include "support/manual.h"

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

void usage_print(FILE *out, const struct cli_entry *entries)
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

void usage_manual(FILE *out, const struct cli_entry *entries)
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

void usage_complete(const struct cli_entry *entry, size_t n, const char **words, bool after_help)
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
