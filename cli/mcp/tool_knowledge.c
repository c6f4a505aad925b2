/*
 * tool_knowledge.c: the tool `knowledge`: the block that an agent reads at the start of a session. The store renders it
 * and drops the least useful rows until it fits the budget. This file adds remarks, which are in a file that the
 * renderer does not read, and the label around the whole.
 */

#include <lineage/remarks.h>
#include <lineage/render.h>

#include "mcp/tools.h"

enum { REMARK_BYTES = 2000, SMALLEST_BLOCK = 400 };

struct remarks {
    char *lines[10]; /* ring buffer of the newest remarks */
    size_t n;
};

/* Keeps the newest remarks in a ring buffer, because the file is read from its beginning but only its end is used. */
static bool keep_remark(void *context, const struct lineage_remark *remark)
{
    struct remarks *remarks = context;
    struct cli_writer line = {0};
    char **place = &remarks->lines[remarks->n++ % 10];
    free(*place);
    *place = NULL;
    if (!cli_writer_open(&line))
        return false;
    cli_print(line.out, "- %.80s%s%.60s: %.160s", remark->exp_id, *remark->author ? ", " : "", remark->author, remark->text);
    cli_writer_close(&line);
    *place = line.text;
    return true;
}

static void add_remarks(FILE *out, struct lineage_store *store)
{
    struct remarks remarks = {.n = 0};
    struct lineage_error err;
    size_t used = 0, shown = 0;
    if (lineage_remarks_read(store, NULL, keep_remark, &remarks, &err) != LINEAGE_OK)
        remarks.n = 0;
    if (remarks.n)
        fprintf(out, "\n## Remarks (newest first)\n");
    for (size_t i = remarks.n; i > 0 && shown < 10; i--, shown++) {
        const char *line = remarks.lines[(i - 1) % 10];
        used += line ? strlen(line) : 0;
        if (line && used < REMARK_BYTES)
            fprintf(out, "%s\n", line);
    }
    for (size_t i = 0; i < 10; i++)
        free(remarks.lines[i]);
}

/* Keeps the text that was written by hand into KNOWLEDGE.md, as `lineage night` does. */
static char *insights_of(struct lineage_store *store)
{
    struct lineage_error err;
    struct cli_writer path = {0};
    char *insights = NULL;
    if (!cli_writer_open(&path))
        return NULL;
    fprintf(path.out, "%s/KNOWLEDGE.md", lineage_store_dir(store));
    cli_writer_close(&path);
    if (path.text && lineage_render_insights(&insights, path.text, &err) != LINEAGE_OK)
        insights = NULL;
    free(path.text);
    return insights;
}

char *mcp_knowledge(struct mcp_call *call, const char *specialist, const char *sections, size_t max_bytes)
{
    struct lineage_render_options options;
    struct lineage_error err;
    struct cli_writer all = {0};
    char *text = NULL, *insights = insights_of(call->server->store), *block = NULL;
    size_t length = 0;
    lineage_render_options_init(&options);
    options.specialist = specialist;
    options.sections = sections;
    options.insights = insights;
    /* Reserves room for the remarks, which follow the digest and would be cut first. */
    options.max_bytes = max_bytes - SMALLEST_BLOCK / 2;
    if (!cli_writer_open(&all))
        return free(insights), NULL;
    enum lineage_status status = lineage_render(&text, &length, call->server->store, &options, &err);
    if (status == LINEAGE_OK) {
        fwrite(text, 1, length, all.out);
        /* A caller that names sections gets only those. */
        if (!sections)
            add_remarks(all.out, call->server->store);
    }
    cli_writer_close(&all);
    if (status != LINEAGE_OK)
        mcp_store_trouble(call, &err);
    else if (all.text)
        block = mcp_untrusted_block("lineage://knowledge", all.text, all.length, max_bytes);
    free(all.text);
    lineage_free(text);
    lineage_free(insights);
    return block;
}

static const char *const sections[] = {LINEAGE_RENDER_SECTIONS, NULL};

static const struct mcp_argument arguments[] = {{"specialist", MCP_TEXT, false, "name of the reader", 0, 400, NULL},
                                                {"sections", MCP_TEXTS, false, "only these", 0, 40, sections},
                                                {"max_bytes", MCP_COUNT, false, "default 10000", 1000, 200000, NULL},
                                                {.name = NULL}};

/* A name that does not fit is dropped; the names of all sections together do fit. */
static void join(char out[400], const json_t *names)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < json_array_size(names) && used < 380; i++)
        used += (size_t)snprintf(out + used, 400 - used, "%s%s", used ? "," : "", json_string_value(json_array_get(names, i)));
}

static json_t *call_knowledge(struct mcp_call *call)
{
    char wanted[400];
    join(wanted, json_object_get(call->arguments, "sections"));
    return cli_json_own(mcp_knowledge(call, mcp_text_argument(call, "specialist"), wanted[0] ? wanted : NULL,
                                      mcp_count_argument(call, "max_bytes", MCP_KNOWLEDGE_BYTES)));
}

const struct mcp_tool mcp_tool_knowledge = {
    .name = "knowledge",
    .title = "What is known",
    .description = "The digest to begin a session with: best trial and its chain, leaderboard, recent trials, coverage, "
                   "failures, insights. Markdown.",
    .arguments = arguments,
    .call = call_knowledge,
};
