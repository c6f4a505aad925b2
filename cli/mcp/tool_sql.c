/*
 * tool_sql.c: the tool `sql`: a read-only SELECT on the mirror. The store decides what may run (one statement, SQLite's
 * own read-only test, an authorizer). Other servers checked only the first word, which let WITH ... DELETE pass.
 */

#include "mcp/page.h"
#include "mcp/tools.h"

enum { FRAME = 300, CELL_MAX = 400, CELL_MIN = 16 };

/* The argument describes the tables, so that a model can write the statement without another call. */
static const struct mcp_argument arguments[] = {
    {"statement", MCP_TEXT, true,
     "one SELECT. trials(seq, exp_id, timestamp, specialist, parent_exp, hypothesis, status, score, "
     "delta_vs_best, train_s, total_s, notes, ...); params(seq, exp_id, key, value), text_params (the same "
     "for texts); turn_stats(seq, turn, mean, std, n); step_metrics(seq, exp_id, step, key, value)",
     0, 20000, NULL},
    {"limit", MCP_COUNT, false, "rows, default 50", 1, 2000, NULL},
    {"max_bytes", MCP_COUNT, false, "default 8000; page with LIMIT and OFFSET", 500, 200000, NULL},
    {.name = NULL}};

struct rows {
    json_t *columns, *list;
    size_t bytes, max_bytes, limit;
    bool more;
};

static json_t *row_json(size_t n, const char *const *texts, const bool *numbers, size_t max)
{
    json_t *row = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(row, !texts[i] ? json_null() : numbers[i] ? cli_json_digits(texts[i]) : mcp_cell(texts[i], max));
    return row;
}

/* As in every list, the first row is always shown, with shortened texts if necessary. */
static bool add_row(void *context, size_t n, const char *const *names, const char *const *texts, const bool *numbers)
{
    struct rows *rows = context;
    bool first = !json_array_size(rows->list);
    for (size_t i = 0; first && i < n; i++)
        json_array_append_new(rows->columns, mcp_cell(names[i], 80));
    if (!texts)
        return true;
    rows->more = json_array_size(rows->list) == rows->limit;
    for (size_t max = CELL_MAX; !rows->more; max /= 2) {
        size_t length = 0;
        json_t *row = row_json(n, texts, numbers, max);
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

/* There is no cursor, because an arbitrary statement cannot be continued in a later call; the caller can use LIMIT and
 * OFFSET. */
static json_t *call_sql(struct mcp_call *call)
{
    struct rows rows = {.columns = json_array(),
                        .list = json_array(),
                        .bytes = FRAME,
                        .max_bytes = mcp_count_argument(call, "max_bytes", MCP_DEFAULT_BYTES),
                        .limit = mcp_count_argument(call, "limit", 50)};
    struct lineage_error err;
    json_t *result = NULL;
    if (lineage_sql_typed(call->server->store, mcp_text_argument(call, "statement"), add_row, &rows, &err) == LINEAGE_OK) {
        size_t n = json_array_size(rows.list);
        result = json_pack("{s:o, s:O, s:O}", "shown",
                           rows.more ? json_sprintf("%zu, and there are more", n) : json_sprintf("%zu of %zu", n, n), "columns",
                           rows.columns, "rows", rows.list);
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
    .description = "A read-only SQLite SELECT, for what the other tools cannot answer.",
    .arguments = arguments,
    .output = MCP_LIST_OUTPUT,
    .needed = "\"shown\",\"columns\",\"rows\"",
    /* 20 seconds allow a slow join over all trials, which may be intended; a join without a condition would never
     * end. */
    .patience_s = 20,
    .call = call_sql,
};
