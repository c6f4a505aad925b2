/* field.h: what a list of trials can show of each: columns, parameters, extra columns. */
#ifndef MCP_FIELD_H
#define MCP_FIELD_H

#include "mcp/mcp.h"

#define MCP_MAX_FIELDS 40

struct mcp_fields {
    const char *names[MCP_MAX_FIELDS];
    size_t n;
};

/*
 * The fields that the argument `fields` names, else those of the fallback (comma-separated). False after
 * mcp_trouble: an unknown one is answered with the nearest.
 */
bool mcp_fields_choose(struct mcp_fields *fields, struct mcp_call *call, const char *fallback);

/* Known parameter names of the store, NULL-terminated, in alphabetical order; free with mcp_names_free. */
char **mcp_param_names(struct mcp_server *server, size_t max);
void mcp_names_free(char **names);

/* Whether some trial has the parameter (any spelling); false after mcp_trouble with the nearest. */
bool mcp_check_param(struct mcp_call *call, const char *name);

/* One field of a trial; texts are cut to max code points. `params` is an object, see page.h. */
json_t *mcp_field(const struct lineage_trial *trial, const char *name, size_t max);

/* How the trial is named to clients: its id, or @ROW where that is no plain word. */
json_t *mcp_id(const struct lineage_trial *trial);

/* The trial of that id, exp_ prefix or not, or of that @ROW. release afterwards. False after mcp_trouble. */
struct mcp_found {
    struct lineage_trial trial;
    struct lineage_cursor *cursor;
};
bool mcp_find(struct mcp_found *found, struct mcp_call *call, const char *id);
void mcp_found_release(struct mcp_found *found);

/* First texts of an SQL statement's rows, NULL-terminated (mcp_names_free); NULL when it fails. */
char **mcp_sql_texts(struct mcp_server *server, const char *statement, size_t max);

/* text between single quotes for SQL, quotes doubled; free. */
char *mcp_sql_quote(const char *text);

#endif
