/* field.h: the fields that a list can show of each trial: columns, parameters, extra columns; and trials by id. */
#pragma once

#include "mcp/mcp.h"

#define MCP_MAX_FIELDS 40

struct mcp_fields {
    const char *names[MCP_MAX_FIELDS];
    size_t n;
    double margin; /* of lineage/hypothesis.h, for the field verdict */
    const struct lineage_config *config; /* for the field margin: half of the 95 % interval of the score */
};

/*
 * Chooses the fields in the argument `fields`, or else those of the fallback (separated by commas). Returns false after
 * mcp_trouble, which suggests the nearest name for an unknown field.
 */
bool mcp_fields_choose(struct mcp_fields *fields, struct mcp_call *call, const char *fallback);

/* Returns the names of the store's parameters in alphabetical order, NULL-terminated; free with mcp_names_free. */
char **mcp_param_names(struct mcp_server *server, size_t max);
void mcp_names_free(char **names);

/* Whether some trial has the parameter, in any spelling, or changed a setting of that name in words (lineage/settings.h).
 * If not, calls mcp_trouble with the nearest name. */
bool mcp_check_param(struct mcp_call *call, const char *name);

/* Like mcp_check_param, but does not call mcp_trouble: if the name is unknown, *near is the nearest name as JSON, or
 * null. If the names cannot be listed, the name counts as known, and the question about it reports the reason. */
bool mcp_knows_param(json_t **near, struct mcp_call *call, const char *name);

/* Like mcp_check_param, but columns, extra columns and fields are known too. */
bool mcp_check_name(struct mcp_call *call, const char *name);

/* Returns one field of a trial; texts are shortened to max code points. `params` is an object, see page.h. */
json_t *mcp_field(const struct lineage_trial *trial, const char *name, size_t max);

/* Returns field i of a trial: mcp_field, or the verdict on its prediction (lineage/hypothesis.h). */
json_t *mcp_fields_value(const struct mcp_fields *fields, const struct lineage_trial *trial, size_t i, size_t max);

/* Returns half of the 95 % interval of a trial's score, or null if the noise is unknown. */
json_t *mcp_margin(const struct mcp_fields *fields, const struct lineage_trial *trial);

/* The trial's name for clients: its id, or @ROW if the id is not a plain word. */
json_t *mcp_id(const struct lineage_trial *trial);

/* The trial with an id (with or without exp_) or row number (@ROW). Release it afterwards. Returns false after
 * mcp_trouble. */
struct mcp_found {
    struct lineage_trial trial;
    struct lineage_cursor *cursor;
};
bool mcp_find(struct mcp_found *found, struct mcp_call *call, const char *id);

/* Likewise, or the best trial by the word `best`, as lineage_find_named. */
bool mcp_find_named(struct mcp_found *found, struct mcp_call *call, const char *id);
void mcp_found_release(struct mcp_found *found);

/* Returns the first column of an SQL statement's rows, NULL-terminated (free with mcp_names_free), or NULL on
 * failure. */
char **mcp_sql_texts(struct mcp_server *server, const char *statement, size_t max);
