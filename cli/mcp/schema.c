/*
 * schema.c: lists the arguments of tools as JSON Schema and checks them. The checks are written by hand and use the
 * table that is listed: a general validator would be another library, and its messages would describe schemas instead
 * of saying what to write.
 */
#include "mcp/schema.h"

#include <lineage/notes.h>
#include <lineage/text.h>

#include "mcp/message.h"
#include "output/ideas_out.h"

static json_t *choices_json(const char *const *choices)
{
    json_t *list = json_array();
    for (; *choices; choices++)
        json_array_append_new(list, json_string(*choices));
    return list;
}

/* The length of a text is checked but not listed: JSON Schema counts characters, and these limits count bytes. */
static json_t *text_schema(const struct mcp_argument *argument)
{
    json_t *schema = json_pack("{s:s}", "type", "string");
    if (argument->choices)
        json_object_set_new(schema, "enum", choices_json(argument->choices));
    return schema;
}

static json_t *bound_json(const struct mcp_argument *argument, double bound)
{
    return argument->type == MCP_COUNT ? json_integer((json_int_t)bound) : json_real(bound);
}

static json_t *number_schema(const struct mcp_argument *argument)
{
    json_t *schema = json_pack("{s:s}", "type", argument->type == MCP_COUNT ? "integer" : "number");
    if (argument->max > argument->min)
        cli_json_set(schema, "minimum", bound_json(argument, argument->min), "maximum", bound_json(argument, argument->max),
                     NULL);
    return schema;
}

static json_t *type_schema(const struct mcp_argument *argument)
{
    switch (argument->type) {
    case MCP_TEXT: return text_schema(argument);
    case MCP_TEXTS: return json_pack("{s:s, s:o}", "type", "array", "items", text_schema(argument));
    case MCP_NUMBER:
    case MCP_COUNT: return number_schema(argument);
    /* Parameter names are not listed: they come from the store, and the list of tools must not change with it. */
    case MCP_PARAMS:
    case MCP_RANGES: return json_pack("{s:s, s:{s:[s,s]}}", "type", "object", "additionalProperties", "type", "number", "string");
    }
    return NULL;
}

json_t *mcp_schema_of(const struct mcp_argument *arguments)
{
    json_t *properties = json_object(), *required = json_array();
    for (; arguments->name; arguments++) {
        json_t *schema = type_schema(arguments);
        if (*arguments->description) /* some names say everything */
            json_object_set_new(schema, "description", json_string(arguments->description));
        json_object_set_new(properties, arguments->name, schema);
        if (arguments->required)
            json_array_append_new(required, json_string(arguments->name));
    }
    json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (json_array_size(required))
        json_object_set(schema, "required", required);
    json_decref(required);
    /* This is set for every tool, even one without arguments, because a misspelt argument that is ignored would be a
     * filter that is not applied. */
    json_object_set_new(schema, "additionalProperties", json_false());
    return schema;
}

static const struct mcp_argument *find(const struct mcp_argument *arguments, const char *name)
{
    for (; arguments->name; arguments++)
        if (strcmp(arguments->name, name) == 0)
            return arguments;
    return NULL;
}

/* Stops when the buffer is full, because an answer must not grow with a table. The nearest name was printed before the
 * list. */
static void list_words(char out[400], const char *const *words)
{
    size_t used = 0;
    out[0] = '\0';
    for (; *words && used < 360; words++)
        used += (size_t)snprintf(out + used, 400 - used, "%s%s", used ? ", " : "", *words);
}

static bool unknown(struct mcp_call *call, const char *what, const char *word, const char *const *known)
{
    char all[400];
    const char *near = cli_nearest(word, known);
    list_words(all, known);
    return mcp_trouble(call, "no %s '%.60s'%s%s%s; use one of %s", what, word, near ? " (did you mean '" : "", near ? near : "",
                       near ? "'?)" : "", all),
           false;
}

static bool unknown_argument(struct mcp_call *call, const struct mcp_argument *arguments, const char *name)
{
    const char *known[32] = {0};
    for (size_t i = 0; arguments[i].name && i < 31; i++)
        known[i] = arguments[i].name;
    if (known[0])
        return unknown(call, "argument", name, known);
    return mcp_trouble(call, "no argument '%.60s'; this tool has no arguments", name), false;
}

static bool wrong(struct mcp_call *call, const struct mcp_argument *argument, const char *wanted)
{
    const char *about = argument->description;
    return mcp_trouble(call, "%s must be %s%s%s%s", argument->name, wanted, *about ? " (" : "", about, *about ? ")" : ""), false;
}

/* NUL is refused, because the text after it would be lost silently. */
static bool check_text(struct mcp_call *call, const struct mcp_argument *argument, const json_t *value)
{
    const char *text = json_string_value(value);
    if (!text)
        return wrong(call, argument, argument->type == MCP_TEXTS ? "a list of texts" : "text");
    if (strlen(text) != json_string_length(value))
        return wrong(call, argument, "text without NUL");
    if (argument->max > 0 && (double)json_string_length(value) > argument->max)
        return wrong(call, argument, "shorter");
    for (size_t i = 0; argument->choices; i++) {
        if (!argument->choices[i])
            return unknown(call, argument->name, text, argument->choices);
        if (strcmp(argument->choices[i], text) == 0)
            break;
    }
    return true;
}

static bool check_texts(struct mcp_call *call, const struct mcp_argument *argument, const json_t *value)
{
    if (!json_is_array(value) || json_array_size(value) > 64)
        return wrong(call, argument, "a list of at most 64 texts");
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!check_text(call, argument, json_array_get(value, i)))
            return false;
    return true;
}

static bool check_number(struct mcp_call *call, const struct mcp_argument *argument, const json_t *value)
{
    char text[120];
    bool whole = argument->type == MCP_COUNT, bounded = argument->max > argument->min;
    double number = json_number_value(value);
    bool ok = whole ? mcp_is_whole(value) : json_is_number(value);
    if (ok && (!bounded || (number >= argument->min && number <= argument->max)))
        return true;
    if (!bounded)
        return wrong(call, argument, whole ? "a whole number" : "a number");
    snprintf(text, sizeof text, "a %snumber from %.15g to %.15g", whole ? "whole " : "", argument->min, argument->max);
    return wrong(call, argument, text);
}

/* At most 32 names, because the arrays of the tools have that size (MAX_CONDITIONS, MAX_PARAMS). */
static bool check_object(struct mcp_call *call, const struct mcp_argument *argument, const json_t *value)
{
    const char *key;
    json_t *member;
    if (!json_is_object(value) || json_object_size(value) > 32)
        return wrong(call, argument, "an object with at most 32 names");
    json_object_foreach((json_t *)(uintptr_t)value, key, member) {
        bool text = json_is_string(member) && strlen(json_string_value(member)) == json_string_length(member);
        if (!json_is_number(member) && !text)
            return mcp_trouble(call, "%s.%.60s must be a number%s", argument->name, key,
                               argument->type == MCP_RANGES ? ", a range \"LOW:HIGH\" or text" : " or text"),
                   false;
    }
    return true;
}

/* The default case is omitted, so that the compiler reports this place when a type is added. */
static bool check_value(struct mcp_call *call, const struct mcp_argument *argument, const json_t *value)
{
    switch (argument->type) {
    case MCP_TEXT: return check_text(call, argument, value);
    case MCP_TEXTS: return check_texts(call, argument, value);
    case MCP_NUMBER:
    case MCP_COUNT: return check_number(call, argument, value);
    case MCP_PARAMS:
    case MCP_RANGES: return check_object(call, argument, value);
    }
    return false;
}

/* The number that a text is as a whole; NULL: it is none. */
static json_t *number_of(const json_t *value)
{
    const char *text = json_string_value(value);
    double number;
    if (!text || strlen(text) != json_string_length(value) || !lineage_number_parse(&number, text, strlen(text)) ||
        !isfinite(number))
        return NULL;
    return floor(number) == number && fabs(number) < 1e15 ? json_integer((json_int_t)number) : json_real(number);
}

/* Whether a text is the one way to write its number, apart from an exponent: 1.10, 007 and 12e5 may be a version, an id and a hash. */
static bool is_canonical(const char *text)
{
    char number[LINEAGE_NUMBER_MAX];
    double value;
    const char *e = strstr(text, "e-");
    const size_t length = e ? (size_t)(e - text) : strlen(text);
    if (!lineage_number_parse(&value, text, strlen(text)) || !isfinite(value) || (value == 0 && strcmp(text, "0") != 0))
        return false;
    if (strcmp(text, lineage_setting_format(number, value)) == 0)
        return true;
    return e && e[2] != '0' && lineage_number_parse(&value, text, length) &&
           strlen(lineage_setting_format(number, value)) == length && memcmp(number, text, length) == 0;
}

static bool take_truth(void *context, size_t n, const char *const *names, const char *const *texts, const bool *numbers)
{
    (void)n, (void)names, (void)numbers;
    if (texts)
        *(bool *)context = texts[0] && strcmp(texts[0], "1") == 0;
    return true;
}

/* Whether the values that the store has of a parameter meet a condition of SQL. */
static bool values_meet(struct lineage_store *store, const char *name, const char *condition)
{
    char sql[320 + 2 * LINEAGE_NAME_MAX];
    struct lineage_error err;
    bool meet = false;
    char *key = cli_sql_quote(lineage_param_canonical(name));
    if (!key)
        return false;
    snprintf(sql, sizeof sql, "SELECT %s FROM param_values WHERE key = %s", condition, key);
    free(key);
    return lineage_sql_typed(store, sql, take_truth, &meet, &err) == LINEAGE_OK && meet;
}

/* Whether the store has only texts of the parameter, or this one; numbers come before texts. */
static bool holds_text(struct lineage_store *store, const char *name, const char *canonical)
{
    char condition[96 + LINEAGE_NUMBER_MAX];
    snprintf(condition, sizeof condition, "min(value) >= '' OR max(value = '%.*s')", LINEAGE_NUMBER_MAX, canonical);
    return values_meet(store, name, condition);
}

/* The number of a parameter's text: lr "0.2" beside lr 0.2 would look the same and be another setting. A metric has no texts. */
static json_t *param_number(struct mcp_call *call, const struct mcp_argument *argument, const char *name, const json_t *value)
{
    const char *text = json_string_value(value);
    const bool metric = strcmp(argument->name, "metrics") == 0;
    if (argument->type != MCP_PARAMS || !text || lineage_param_is_text(text) || (!metric && !is_canonical(text)) ||
        (!metric && holds_text(call->server->store, name, text)))
        return NULL;
    return number_of(value);
}

/* Whether the object at path is a range in another form, as {"low": 0.1, "high": 1}, and the store has no such parameters. */
static bool is_range_form(struct lineage_store *store, const char *path, const json_t *object)
{
    char whole[2 * LINEAGE_NAME_MAX];
    static const char *const forms[] = {"low", "high", "min", "max", "log", "step", "values", NULL};
    const char *name;
    json_t *value;
    bool is = json_object_size(object) > 0;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        const char *text = json_string_value(value);
        size_t i = 0;
        while (forms[i] && strcmp(forms[i], name) != 0)
            i++;
        snprintf(whole, sizeof whole, "%.63s.%.63s", path, name);
        is = is && forms[i] && !json_is_object(value) && !(text && strpbrk(text, ":,")) &&
             !values_meet(store, whole, "count(*) > 0");
    }
    return is;
}

/* Adds the parameters as a row has them: optimizer.lr for a member of an object, texts for lists, true, false and null. */
static bool add_spelled(struct mcp_call *call, const struct mcp_argument *argument, json_t *params, const char *inside,
                        const json_t *object)
{
    char path[LINEAGE_NAME_MAX];
    const char *name;
    json_t *value, *number;
    bool good = true;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        good = good && snprintf(path, sizeof path, "%s%s%s", inside, *inside ? "." : "", name) < (int)sizeof path;
        if (good && json_is_object(value))
            good = !(argument->type == MCP_RANGES && is_range_form(call->server->store, path, value)) &&
                   add_spelled(call, argument, params, path, value);
        else if (good && (number = param_number(call, argument, path, value)))
            good = json_object_set_new(params, path, number) == 0;
        else if (good && ((json_is_number(value) && !cli_json_is_wide(value)) || json_is_string(value)))
            good = json_object_set(params, path, value) == 0;
        else if (good)
            good = json_object_set_new(params, path, cli_json_spelled(value)) == 0;
    }
    return good;
}

static json_t *spelled_params(struct mcp_call *call, const struct mcp_argument *argument, const json_t *value)
{
    json_t *params = json_object();
    if (add_spelled(call, argument, params, "", value))
        return params;
    json_decref(params);
    return NULL; /* a name that is too long is refused as given */
}

static json_t *text_of_id(const json_t *value)
{
    const double id = json_number_value(value);
    return mcp_is_whole(value) && id >= 0 && id < 1e15
               ? json_sprintf("%03lld", (long long)id) /* ids have three digits at least */
               : NULL;
}

static json_t *texts_of(const json_t *value)
{
    json_t *texts = json_array(), *item, *id;
    size_t i;
    json_array_foreach(value, i, item)
        json_array_append_new(texts, (id = text_of_id(item)) ? id : json_incref(item));
    return texts;
}

/* "exp_id, score" as two names. */
static json_t *names_of(const char *text)
{
    json_t *names = json_array();
    for (size_t n; *(text += strspn(text, ", ")); text += n) {
        n = strcspn(text, ", ");
        json_array_append_new(names, json_stringn(text, n));
    }
    return names;
}

/* Models write 20 as "20", the id 14 as a number, and one text where a list is wanted. What is meant is clear, so the argument is
 * replaced by what the tool reads. Everything else stays, and is refused. */
static json_t *as_meant(struct mcp_call *call, const struct mcp_argument *argument, const json_t *value)
{
    const char *text = json_string_value(value);
    if (argument->type == MCP_COUNT || argument->type == MCP_NUMBER)
        return number_of(value);
    if ((argument->type == MCP_PARAMS || argument->type == MCP_RANGES) && json_is_object(value))
        return spelled_params(call, argument, value);
    if (argument->type == MCP_TEXTS && text)
        return strcmp(argument->name, "fields") == 0 ? names_of(text) : json_pack("[O]", value);
    if (argument->type == MCP_TEXTS && json_is_array(value))
        return texts_of(value);
    return argument->type == MCP_TEXT ? text_of_id(value) : NULL;
}

/* null counts as absent, because clients with a form send it for every empty field. */
bool mcp_check_arguments(struct mcp_call *call, const struct mcp_argument *arguments, const json_t *given)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)given, name, value) {
        const struct mcp_argument *argument = find(arguments, name);
        if (!argument)
            return unknown_argument(call, arguments, name);
        json_t *meant = as_meant(call, argument, value);
        if (meant) {
            json_object_set_new((json_t *)(uintptr_t)given, name, meant); /* an existing name may be set within the loop */
            value = meant;
        }
        if (!json_is_null(value) && !check_value(call, argument, value))
            return false;
    }
    for (; arguments->name; arguments++) {
        value = json_object_get(given, arguments->name);
        if (arguments->required && (!value || json_is_null(value)))
            return mcp_trouble(call, "%s is missing: %s", arguments->name, arguments->description), false;
    }
    return true;
}

const char *mcp_text_argument(const struct mcp_call *call, const char *name)
{
    return json_string_value(json_object_get(call->arguments, name));
}

/* The cast is safe, because the number was checked against the argument's limits before the tool was called. */
size_t mcp_count_argument(const struct mcp_call *call, const char *name, size_t fallback)
{
    const json_t *value = json_object_get(call->arguments, name);
    return json_is_number(value) ? (size_t)json_number_value(value) : fallback;
}

bool mcp_number_argument(double *value, const struct mcp_call *call, const char *name)
{
    const json_t *number = json_object_get(call->arguments, name);
    if (json_is_number(number))
        *value = json_number_value(number);
    return json_is_number(number);
}
