/*
 * tool_sql.c: a read-only SELECT on the mirror.
 *
 * What may be run is decided in the store (one statement, SQLite's own read-only test, an authorizer); a check of the
 * first word was the hole in others' servers, which let WITH ... DELETE pass.
 */
#include <stdlib.h>
#include <string.h>

#include "mcp/page.h"
#include "mcp/tools.h"
#include "mcp/untrusted.h"

enum { FRAME = 300, CELL_MAX = 400, CELL_MIN = 16 };

/* The tables are described in the argument, and not in a tool of its own: the statement can be written without
 * another call. */
static const struct mcp_argument arguments[] = {
    {"statement", MCP_TEXT, true,
     "one SELECT. trials(seq, exp_id, timestamp, specialist, parent_exp, hypothesis, status, score, delta_vs_best, train_s, "
     "total_s, notes, ...); params(seq, exp_id, key, value), text_params (the same of texts); turn_stats(seq, turn, mean, std, n); "
     "step_metrics(seq, exp_id, step, key, value)", 0, 20000, NULL},
    {"limit", MCP_COUNT, false, "rows at most, default 50", 1, 2000, NULL},
    {"max_bytes", MCP_COUNT, false, "bytes of the answer at most, default 8000; page with LIMIT and OFFSET", 500, 200000,
     NULL},
    {.name = NULL}};

struct rows {
    json_t *columns, *list;
    size_t bytes, max_bytes, limit;
    bool more;
};

/* Text, also of numbers: a result column of SQLite has no type of its own, and rows of one column may differ. */
static json_t *row_json(size_t n, const char *const *texts, size_t max)
{
    json_t *row = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(row, texts[i] ? mcp_cell(texts[i], max) : json_null());
    return row;
}

/* As in every list: the first row is shown, if need be with its texts cut short. */
static bool add_row(void *context, size_t n, const char *const *names, const char *const *texts)
{
    struct rows *rows = context;
    bool first = !json_array_size(rows->list);
    for (size_t i = 0; first && i < n; i++)
        json_array_append_new(rows->columns, mcp_cell(names[i], 80));
    rows->more = json_array_size(rows->list) == rows->limit;
    for (size_t max = CELL_MAX; !rows->more; max /= 2) {
        size_t length = 0;
        json_t *row = row_json(n, texts, max);
        free(cli_json_compact(row, &length));
        if (rows->bytes + length < rows->max_bytes || (first && max <= CELL_MIN)) {
            json_array_append_new(rows->list, row);
            rows->bytes += length + 1;
            return true;
        }
        json_decref(row);
        rows->more = !first;
    }
    return false;
}

/* No cursor: between two calls an arbitrary statement cannot be taken up where it was left. LIMIT and OFFSET can. */
static json_t *call_sql(struct mcp_call *call)
{
    struct rows rows = {.columns = json_array(), .list = json_array(), .bytes = FRAME,
                        .max_bytes = mcp_count_argument(call, "max_bytes", MCP_DEFAULT_BYTES),
                        .limit = mcp_count_argument(call, "limit", 50)};
    struct lineage_error err;
    json_t *result = NULL;
    if (lineage_sql(call->server->store, mcp_text_argument(call, "statement"), add_row, &rows, &err) == LINEAGE_OK) {
        size_t n = json_array_size(rows.list);
        result = json_pack("{s:o, s:O, s:O, s:s}", "shown",
                           rows.more ? json_sprintf("%zu, and there are more", n) : json_sprintf("%zu of %zu", n, n),
                           "columns", rows.columns, "rows", rows.list, "note", MCP_UNTRUSTED_NOTE);
    } else {
        mcp_store_trouble(call, &err);
    }
    json_decref(rows.columns);
    json_decref(rows.list);
    return result;
}

const struct mcp_tool mcp_tool_sql = {
    .name = "sql",
    .title = "SELECT",
    .description = "A read-only SQLite SELECT, for what the other tools do not answer. Values come as text, NULL as null.",
    .arguments = arguments,
    .output = "\"shown\":{\"type\":\"string\"},\"columns\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
              "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"null\"]}}},"
              "\"note\":{\"type\":\"string\"}",
    .needed = "\"shown\",\"columns\",\"rows\"",
    .idempotent = true,
    /* A join over all trials may be what was meant; one without its condition never ends. */
    .patience_s = 20,
    .call = call_sql,
};
