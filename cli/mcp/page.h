/*
 * page.h: one page of a list of trials: as many rows as fit into a budget of bytes.
 *
 * A page is {shown: "20 of 431", next: CURSOR, same: "seed=1 lr=0.0003", columns: [...], rows: [[...], ...]}. Rows are
 * lists, because names repeated in every row would cost more tokens than the values. Parameters that all rows of the
 * page share are in `same`, and the words that most texts of a column share in `same_text` (page.c). `margin` is half
 * of the 95 % interval of the scores; if it is not the same for all of them, it is a column. The cursor is the exp_id of the last row shown. Rows are never removed from a lineage, so a
 * cursor never expires.
 */
#pragma once

#include <lineage/settings.h>

#include "mcp/field.h"

#define MCP_DEFAULT_BYTES 8000 /* size of an answer: about 3,500 tokens of names and numbers */
#define MCP_DEFAULT_ROWS 20
#define MCP_MAX_ROWS 500
#define MCP_COUNT_MAX 1000 /* trials are counted up to this number; beyond it the exact number does not matter */

#define MCP_DEFAULT_FIELDS "exp_id,status,score,delta_vs_best,params,hypothesis"

struct mcp_page {
    struct mcp_fields fields;
    size_t max_bytes, limit;
    const struct lineage_settings *settings; /* settings in words that the question named, shown with params; or NULL */
    bool usual_fields; /* the client named none */
    size_t text_max;   /* code points of a text */
    json_t *margins;   /* of the scores, one for each row */
    json_t *rows;  /* params are objects until the page is finished */
    uint64_t last; /* seq of the last row */
    char last_id[128];
    size_t bytes;
    bool full;
};

/* Reads the arguments fields, max_bytes and limit. Returns false after mcp_trouble. */
bool mcp_page_open(struct mcp_page *page, struct mcp_call *call, const char *fallback_fields);

/* Adds a trial. Returns false if the page is full; the trial is then not on it. */
bool mcp_page_add(struct mcp_page *page, const struct lineage_trial *trial);

/* Returns the page as a result; more says that further rows follow. total is at most MCP_COUNT_MAX + 1. */
json_t *mcp_page_finish(struct mcp_page *page, struct mcp_call *call, size_t total, bool more);
void mcp_page_release(struct mcp_page *page);

/* Sets *after to the seq of the trial that the argument `cursor` names, or 0 without one. Returns false after
 * mcp_trouble. */
bool mcp_cursor(uint64_t *after, struct mcp_call *call);

/* Returns a page of a query's results and sets the query's limit and after. Returns NULL after mcp_trouble. */
json_t *mcp_page_of_query(struct mcp_call *call, struct lineage_query *query, const char *fallback_fields);

/* Adds `source` to a result, {NAME: {SOURCE: TRIALS}}, if the question found settings in words. */
void mcp_set_source(json_t *result, const struct lineage_settings *settings);

/* Formats "20 of 431". */
json_t *mcp_shown(size_t shown, size_t total);

/* The arguments of every list and the members of its result, for the tool table. */
#define MCP_LIST_ARGUMENTS(fields)                                                                                               \
    {"fields", MCP_TEXTS, false, fields, 0, 200, NULL}, {"limit", MCP_COUNT, false, "rows, default 20", 1, MCP_MAX_ROWS, NULL},  \
        {"max_bytes", MCP_COUNT, false, MCP_BYTES_DEFAULT, 500, 200000, NULL},                                                   \
    {                                                                                                                            \
        "cursor", MCP_TEXT, false, "`next` of the last page", 0, 400, NULL                                                       \
    }
#define MCP_BYTES_DEFAULT "default 8000"

/* What the members mean is in the server's instructions, once for all lists. */
#define MCP_LIST_OUTPUT "\"shown\":{\"type\":\"string\"},\"columns\":{\"type\":\"array\"},\"rows\":{\"type\":\"array\"}"

/* ---- conditions ---- */

/* The argument `where` of the tools query and compare. */

#define MCP_MAX_CONDITIONS 32 /* schema.c accepts no more names */

struct mcp_conditions {
    struct lineage_condition list[MCP_MAX_CONDITIONS];
    size_t n;
    struct cli_texts texts;
};

/* Reads the checked argument of type MCP_RANGES. The conditions borrow its texts. Returns false after mcp_trouble. */
bool mcp_conditions_read(struct mcp_conditions *conditions, struct mcp_call *call, const char *argument);

/* Whether the name can be in a condition; else calls mcp_trouble with the nearest name. */
bool mcp_condition_name(struct mcp_call *call, const char *name);
