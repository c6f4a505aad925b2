/* cmd_report.c: `lineage report`: writes the store as one HTML page or one picture. */
#include <sys/stat.h>

#include "cli.h"
#include "report/html_page.h"

enum { STORES_MAX = 16 };

struct report_options {
    struct cli_store_options where;
    struct cli_args args;
    char *output, *svg, *since;
    int no_diffs, held_out;
    size_t n;
    struct lineage_store *stores[STORES_MAX];
    struct model models[STORES_MAX];
};

/* Counts the store even if loading fails, so that close_all releases the part that was loaded. */
static int open_store(struct report_options *o, const char *dir)
{
    struct lineage_open_options options = {.metric = o->where.metric, .notice = cli_say_notice};
    struct lineage_error err;
    if (!cli_direction_parse(&options.direction, o->where.direction))
        return CLI_USAGE;
    if (!cli_has_store(dir, false))
        return CLI_USAGE;
    if (lineage_store_open(&o->stores[o->n], dir, &options, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (model_load(&o->models[o->n], o->stores[o->n], &err) != LINEAGE_OK) {
        o->n++;
        return cli_fail(&err);
    }
    o->n++;
    if (o->since && model_set_since(&o->models[o->n - 1], o->since, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

/* All stores stay open together, because the cards of trials read step curves and snapshots while they are printed. */
static int open_all(struct report_options *o)
{
    char above[PATH_MAX];
    cli_store_above(above);
    const char *here = o->where.dir ? o->where.dir : *above ? above : ".";
    if (o->args.n_positional && o->where.dir)
        return cli_error(CLI_USAGE, "report: name the stores as arguments or one store with -C, not both");
    if (!o->args.n_positional)
        return open_store(o, here);
    int status = CLI_GO_ON;
    for (size_t i = 0; i < o->args.n_positional && status == CLI_GO_ON; i++)
        status = open_store(o, o->args.positional[i]);
    return status;
}

static void print_picture(FILE *out, const void *context)
{
    const struct report_options *o = context;
    page_picture(out, &o->models[0], o->svg);
}

static int check_picture(const struct report_options *o)
{
    char names[256];
    if (o->n > 1)
        return cli_error(CLI_USAGE, "report: --svg shows one store, but several are named");
    if (page_picture(NULL, NULL, o->svg))
        return CLI_GO_ON;
    return cli_error(CLI_USAGE, "--svg '%s' is not a picture; use one of %s", o->svg, page_picture_names(names, sizeof names));
}

static void print_page(FILE *out, const void *context)
{
    const struct report_options *o = context;
    page_print(out, o->models, o->n, &(struct page_options){.no_diffs = o->no_diffs, .held_out = o->held_out});
}

/* Writes the path that a page gets without --output. */
static int default_name(const struct report_options *o, char path[PATH_MAX])
{
    /* A page of several stores belongs to none of them, so it goes into the current directory. */
    const char *dir = o->n == 1 ? lineage_store_dir(o->stores[0]) : ".";
    bool here = strcmp(dir, ".") == 0;
    if (snprintf(path, PATH_MAX, "%s%sreport.html", here ? "" : dir, here ? "" : "/") >= PATH_MAX)
        return cli_error(CLI_USAGE, "report: the path of the store is too long");
    return CLI_GO_ON;
}

static int write_out(const struct report_options *o)
{
    page_printer *print = o->svg ? print_picture : print_page;
    const char *name = o->output ? o->output : o->svg ? "-" : NULL;
    char path[PATH_MAX];
    int status = o->svg ? check_picture(o) : CLI_GO_ON;
    if (o->held_out && (!o->output || o->svg))
        status = cli_error(CLI_USAGE, o->svg ? "--held-out and --svg exclude each other"
                                             : "--held-out needs --output FILE: agents read the report.html of a store");
    if (status == CLI_GO_ON && !name)
        status = default_name(o, path);
    if (status != CLI_GO_ON)
        return status;
    if (name && strcmp(name, "-") == 0) {
        print(stdout, o);
        return CLI_OK;
    }
    /* A file that --output names is replaced whatever it contains, because the user typed its path. */
    const mode_t mask = o->held_out ? umask(0077) : 0;
    if (o->held_out && name)
        chmod(name, 0600); /* a page gets the mode of the file that it replaces */
    status = page_file_write(name ? name : path, print, o, !o->output);
    if (o->held_out)
        umask(mask);
    if (status == CLI_GO_ON)
        printf("%s\n", name ? name : path);
    return status == CLI_GO_ON ? CLI_OK : status;
}

static void close_all(struct report_options *o)
{
    for (size_t i = 0; i < o->n; i++) {
        model_release(&o->models[i]);
        lineage_store_close(o->stores[i]);
    }
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    static struct report_options chosen, *const o = &chosen;
    struct poptOption options[] = {
        CLI_STORE_OPTIONS(&o->where),
        {"output", 'o', POPT_ARG_STRING, &o->output, 0,
         "file to write, - for standard output (default: report.html in the store; for --svg standard output)", "FILE"},
        CLI_OPTION("svg", &o->svg, "NAME", "print this picture as SVG instead of the page"),
        CLI_OPTION(
            "since", &o->since, "ID|DATE",
            "begin with what is new after this trial or this time, instead of the last night: 041, yesterday, 2026-05-07T18:00"),
        CLI_FLAG(
            "held-out", &o->held_out,
            "also show the held-out scores and their gap to the score; the file is readable for you alone and needs --output"),
        CLI_FLAG("no-diffs", &o->no_diffs, "leave out what snapshots changed"),
        POPT_TABLEEND};
    int status;
    if ((status = cli_parse(&o->args, command, options, 0, STORES_MAX, argc, argv)) == CLI_GO_ON &&
        (status = open_all(o)) == CLI_GO_ON)
        status = write_out(o);
    close_all(o);
    cli_args_release(&o->args);
    return status;
}

static const char *choices(const char *name, char *out, size_t size)
{
    return strcmp(name, "svg") == 0 ? page_picture_names(out, size) : NULL;
}

const struct cli_command cmd_report = {
    .name = "report",
    .arguments = "[STORE...]",
    .description = "Writes one HTML file that needs no other file: what the last night changed, every score\n"
                   "with the best so far, the lineage as a tree, which values of parameters were tried,\n"
                   "calibration, failures, which parameters matter, variants over seeds, and each trial in\n"
                   "full. The page can be read without JavaScript; with it, marks can be pointed at, clicked\n"
                   "and filtered, columns sorted, and trials compared, and the address keeps what you see.\n"
                   "Several stores are shown side by side, and the file is then report.html in the current\n"
                   "directory. An existing report.html that is not a report is not replaced.\n"
                   "--svg NAME is one of morning, history, front, tree, coverage, parallel, knobs,\n"
                   "calibration, failures, importance, seeds.",
    .examples = "  lineage report -C runs/atpo\n  lineage report runs/atpo runs/hop -o both.html\n"
                "  lineage report -C runs/atpo --since yesterday\n  lineage report --svg history > history.svg",
    .choices = choices,
    .run = run,
};
