/* cmd_render.c: `lineage render`: prints the block that the next agent reads. */
#include <sys/stat.h>

#include <lineage/render.h>

#include "cli.h"

struct render_options {
    char *style, *specialist, *top_k, *recent, *full, *timestamp, *sections, *max_bytes, *output, *output_dir;
    char *tree_path, *metric_label, *best_json;
    int record;
    struct lineage_render_options render;
};

static bool fill_options(struct render_options *o)
{
    lineage_render_options_init(&o->render);
    o->render.specialist = o->specialist;
    o->render.timestamp = o->timestamp;
    o->render.sections = o->sections;
    return (!o->top_k || cli_count_parse(&o->render.top_k, "top-k", o->top_k)) &&
           (!o->recent || cli_count_parse(&o->render.recent, "recent", o->recent)) &&
           (!o->full || cli_count_parse(&o->render.full, "full", o->full)) &&
           (!o->max_bytes || cli_count_parse(&o->render.max_bytes, "max-bytes", o->max_bytes));
}

static int render_blackboard(struct cli_session *session, const struct render_options *o)
{
    struct lineage_blackboard_options options = {
        .tree_path = o->tree_path, .metric_label = o->metric_label, .best_json = o->best_json};
    struct lineage_error err;
    if (!o->output_dir)
        return cli_error(CLI_USAGE, "render: --style blackboard writes three files; name their directory with --output-dir DIR");
    if (lineage_render_blackboard(session->store, o->output_dir, &options, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return CLI_OK;
}

/* Prints the message to standard error, because standard output carries the block, which goes into an agent's
 * prompt. */
static int save_record(struct cli_session *session, const struct render_options *o, const char *text, size_t length)
{
    struct lineage_error err;
    char *path;
    if (lineage_render_record(&path, session->store, text, length, o->timestamp, o->specialist, &err) != LINEAGE_OK)
        return cli_fail(&err);
    fprintf(stderr, "lineage: recorded as %s\n", path);
    lineage_free(path);
    return CLI_OK;
}

static int print_block(struct cli_session *session, const struct render_options *o)
{
    struct lineage_error err;
    char *text;
    size_t length;
    if (lineage_render(&text, &length, session->store, &o->render, &err) != LINEAGE_OK)
        return cli_fail(&err);
    fwrite(text, 1, length, stdout);
    int status = o->record ? save_record(session, o, text, length) : CLI_OK;
    lineage_free(text);
    return status;
}

/* Records what the agent will find in the file. A device or pipe cannot be read back, so for those the block is
 * rendered again. */
static int record_file(struct cli_session *session, const struct render_options *o)
{
    struct stat st;
    struct lineage_error err;
    char *text;
    size_t length;
    if (stat(o->output, &st) != 0 || S_ISREG(st.st_mode)) {
        text = cli_read_all(o->output, &length);
        int status = text ? save_record(session, o, text, length) : CLI_SYSTEM;
        free(text);
        return status;
    }
    if (lineage_render(&text, &length, session->store, &o->render, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = save_record(session, o, text, length);
    lineage_free(text);
    return status;
}

/* The store replaces the file, because it knows which text below the block was written by hand. */
static int write_block(struct cli_session *session, const struct render_options *o)
{
    struct lineage_error err;
    if (lineage_render_file(session->store, o->output, &o->render, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return o->record ? record_file(session, o) : CLI_OK;
}

/* The blackboard style writes a directory of three files, so it cannot print to standard output. */
static int work(struct cli_session *session, void *context)
{
    struct render_options *o = context;
    const char *style = o->style ? o->style : "native";
    if (!fill_options(o))
        return CLI_USAGE;
    if (strcmp(style, "blackboard") == 0)
        return render_blackboard(session, o);
    if (strcmp(style, "fieldkit") == 0)
        o->render.style = LINEAGE_STYLE_FIELDKIT;
    else if (strcmp(style, "native") != 0)
        return cli_error(CLI_USAGE, "--style '%s': use native, fieldkit or blackboard", style);
    return o->output ? write_block(session, o) : print_block(session, o);
}

/* fieldkit's block of a folder without results.tsv is a part of that format; the other styles would hide a wrong path. */
static int before_open(struct cli_session *session, void *context)
{
    const char *style = ((struct render_options *)context)->style;
    session->before_store = style && strcmp(style, "fieldkit") == 0;
    return CLI_GO_ON;
}

static struct cli_session asked = {.before_open = before_open};
static struct render_options chosen;
static struct poptOption table[] = {
    CLI_STORE_OPTIONS(&asked.where),
    CLI_OPTION("for", &chosen.specialist, "NAME", "name of the specialist that will read the block"),
    CLI_OPTION("style", &chosen.style, "native|fieldkit|blackboard", "format of the block (default: native)"),
    CLI_OPTION("top-k", &chosen.top_k, "N", "number of kept trials in the leaderboard (default: 20)"),
    CLI_OPTION("recent", &chosen.recent, "N", "number of rows of recent activity (default: 30)"),
    CLI_OPTION("full", &chosen.full, "N", "number of trials shown in full, newest first (default: 10)"),
    CLI_OPTION("timestamp", &chosen.timestamp, "TEXT", "time in the title (default: now, UTC)"),
    CLI_OPTION("sections", &chosen.sections, "NAME,...", "only these sections (native style)"),
    CLI_OPTION("max-bytes", &chosen.max_bytes, "N",
               "fit the block into N bytes by leaving out the least useful rows (native style; default: 12000; 0: print all)"),
    {"output", 'o', POPT_ARG_STRING, &chosen.output, 0,
     "replace the block in FILE; text below it that was written by hand is kept", "FILE"},
    CLI_OPTION("output-dir", &chosen.output_dir, "DIR", "directory of the blackboard's three files"),
    CLI_OPTION("tree-path", &chosen.tree_path, "PATH", "path of tree.tsv as KNOWLEDGE.md names it (blackboard)"),
    CLI_OPTION("metric-label", &chosen.metric_label, "TEXT", "short name of the score (blackboard)"),
    CLI_OPTION("best-json", &chosen.best_json, "FILE", "use this best.json (blackboard)"),
    CLI_FLAG("record", &chosen.record, "also save the block in lineage_snapshots/ of the store"),
    CLI_INPUT_OPTION,
    POPT_TABLEEND};

#define SECTIONS                                                                                                                 \
    "best standing claims leaderboard chain made_of recent full near_misses sweep knobs\n"                                       \
    "elsewhere walls again failures calibration info_gain other_ideas insights"

static const char *choices(const char *name, char *out, size_t size)
{
    if (strcmp(name, "sections") != 0)
        return NULL;
    snprintf(out, size, SECTIONS);
    return out;
}

const struct cli_command cmd_render = {
    .name = "render",
    .arguments = "",
    .description = "Prints what was kept and why: the best trial, the leaderboard, the chain of kept ancestors,\n"
                   "recent activity with failure labels, the last trials in full, sweep coverage, classes of\n"
                   "failures, calibration, information gain by turn. The same store and options give the\n"
                   "same bytes. Sections of the native style:\n" SECTIONS ".",
    .examples = "  lineage render --for optimizer --timestamp 2026-05-12T20:30:00Z\n"
                "  lineage render --for optimizer --max-bytes 8000 --output KNOWLEDGE.md\n"
                "  lineage render --style fieldkit --for optimizer --direction higher\n"
                "  lineage render --style blackboard --output-dir blackboard",
    .choices = choices,
    CLI_ON_STORE(asked, table, 0, 0, work, &chosen),
};
