/* conditions.c: an object of names and ranges as conditions on trials. */
#include "mcp/conditions.h"

#include <string.h>

#include <lineage/notes.h>

#include "mcp/field.h"

/* Checked separately, so that the answer can name the condition: a numeric parameter has no texts. */
static bool check_texts(const struct lineage_condition *condition, struct mcp_call *call, const char *name)
{
    const struct lineage_query query = {.conditions = condition, .n_conditions = 1, .limit = 1};
    struct lineage_error err;
    size_t n;
    enum lineage_status status = lineage_query_count(&n, call->server->store, &query, &err);
    if (status == LINEAGE_EINVAL)
        mcp_trouble(call, "where.%.60s: %s", name, err.text);
    return status != LINEAGE_EINVAL;
}

/* A text that begins like a range, such as one with a blank in front, is one text if the parameter has texts. */
static bool is_whole_text(struct mcp_conditions *conditions, struct lineage_condition *condition, struct mcp_call *call,
                          const char *text)
{
    char quoted[LINEAGE_PARAM_QUOTED_MAX];
    struct lineage_condition whole = {.name = condition->name};
    const struct lineage_query query = {.conditions = &whole, .n_conditions = 1, .limit = 1};
    struct lineage_error err;
    size_t n;
    if (!lineage_param_text_ok(text) || !cli_texts_parse(&whole, &conditions->texts, lineage_param_text_format(quoted, text)) ||
        lineage_query_count(&n, call->server->store, &query, &err) != LINEAGE_OK)
        return false;
    *condition = whole;
    return true;
}

/* A number becomes a range of one value, so that the store handles all numeric conditions alike. */
static bool add_condition(struct mcp_conditions *conditions, struct mcp_call *call, const char *name, const json_t *value)
{
    struct lineage_condition *condition = &conditions->list[conditions->n++];
    struct lineage_error err;
    const char *text = json_string_value(value);
    *condition = (struct lineage_condition){.name = strcmp(name, "row") == 0 ? "seq" : name,
                                            .range = {{true, json_number_value(value)}, {true, json_number_value(value)}}};
    if (!text)
        return true;
    if (lineage_param_is_text(text)) {
        condition->range = (struct lineage_range){.low = {false, 0}};
        if (cli_texts_parse(condition, &conditions->texts, text))
            return check_texts(condition, call, name);
        mcp_trouble(call,
                    "where.%.60s: '%.60s' is neither a range nor texts; put a text with commas or quotes "
                    "into single quotes",
                    name, text);
        return false;
    }
    if (lineage_range_parse(&condition->range, text, &err) == LINEAGE_OK || is_whole_text(conditions, condition, call, text))
        return true;
    mcp_trouble(call, "where.%.60s: %s", name, err.text);
    return false;
}

/* The message about an unknown name suggests the nearest one, unlike the store's own message. */
bool mcp_condition_name(struct mcp_call *call, const char *name)
{
    return strcmp(name, "line") == 0 || mcp_check_name(call, name);
}

bool mcp_conditions_read(struct mcp_conditions *conditions, struct mcp_call *call, const char *argument)
{
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(call->arguments, argument), name, value)
        if (!mcp_condition_name(call, name) || !add_condition(conditions, call, name, value))
            return false;
    return true;
}
