/*
 * field.c: fields of trials, and trials by id. Every name that a client may give (columns, parameters, metrics, extra columns,
 * ids) is looked up here, so that all tools suggest the same nearest name for a misspelt one.
 */
#include "mcp/field.h"

#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/settings.h>
#include <lineage/text.h>

#include "mcp/untrusted.h"

struct texts {
    char **list;
    size_t n, max;
};

/* A NULL ends the list early: the statements used here return NULL when there are no more names. */
static bool add_text(void *context, size_t n, const char *const *names, const char *const *texts)
{
    struct texts *all = context;
    (void)n, (void)names;
    if (all->n == all->max || !texts[0] || !(all->list[all->n] = strdup(texts[0])))
        return false;
    all->n++;
    return true;
}

char **mcp_sql_texts(struct mcp_server *server, const char *statement, size_t max)
{
    struct texts all = {.list = calloc(max + 1, sizeof(char *)), .max = max};
    struct lineage_error err;
    if (all.list && lineage_sql(server->store, statement, add_text, &all, &err) == LINEAGE_OK)
        return all.list;
    mcp_names_free(all.list);
    return NULL;
}

void mcp_names_free(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}

/* Steps through the index from one name to the next, because DISTINCT would read every value of every trial. */
char **mcp_param_names(struct mcp_server *server, size_t max)
{
    return mcp_sql_texts(server,
                         "WITH RECURSIVE k(x) AS (SELECT min(key) FROM param_values UNION ALL SELECT (SELECT min(key)"
                         " FROM param_values WHERE key > x) FROM k WHERE x IS NOT NULL) SELECT x FROM k WHERE x IS NOT NULL",
                         max);
}

static const char *const more_fields[] = {
    "score", "margin", "params", "metrics", "turns", "ig_clip_scale_mean", "ig_clip_scale_std", "row", "verdict", "cause"};
enum { N_MORE_FIELDS = sizeof more_fields / sizeof *more_fields, MAX_NAMES = 200 };

/* Returns the name in the table, because the caller choose_fallback passes a name in a temporary buffer. */
static const char *known_field(const char *name)
{
    int column = lineage_column_find(name);
    for (size_t i = 0; i < N_MORE_FIELDS; i++)
        if (strcmp(more_fields[i], name) == 0)
            return more_fields[i];
    return column >= 0 ? lineage_column((size_t)column)->name : NULL;
}

static bool contains(char **names, const char *name)
{
    for (; names && *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Whether a trial changed a setting of that name in words. If not, *near is a similar setting or NULL, valid until the next
 * question. */
static bool is_name(struct mcp_call *call, const char *name, bool *setting, const char **near)
{
    const struct lineage_condition any = {.name = name};
    const struct lineage_query query = {.conditions = &any, .n_conditions = 1, .limit = 1};
    struct lineage_error err;
    size_t n;
    *near = NULL;
    bool found = lineage_query_count(&n, call->server->store, &query, &err) == LINEAGE_OK;
    const struct lineage_settings *settings = lineage_store_settings(call->server->store);
    if (!found && settings && settings->n)
        *near = settings->names[0].nearest;
    *setting = found && settings;
    return found;
}

static bool is_setting(struct mcp_call *call, const char *name, const char **near)
{
    bool setting;
    return is_name(call, name, &setting, near) && setting;
}

/* Lists as many names as fit, because a model that guessed a name needs the list of names. */
static void unknown_param(struct mcp_call *call, const char *name, char **params, const char *setting)
{
    char known[500];
    size_t used = 0;
    const char *near = cli_nearest(name, (const char *const *)params);
    near = near ? near : setting;
    known[0] = '\0';
    for (; *params && used < 400; params++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%.60s", used ? ", " : "", *params);
    mcp_trouble(call, "no parameter '%.60s'%s%s%s; the store has %s%s", name, near ? " (did you mean '" : "", near ? near : "",
                near ? "'?)" : "", used ? known : "none yet", *params ? ", ..." : "");
}

bool mcp_check_param(struct mcp_call *call, const char *name)
{
    char **params = mcp_param_names(call->server, MAX_NAMES);
    bool known = params && contains(params, lineage_param_canonical(name));
    const char *near = NULL;
    if (!params)
        mcp_trouble(call, "cannot list the parameters");
    else if (!known && !(known = is_setting(call, name, &near)))
        unknown_param(call, name, params, near);
    mcp_names_free(params);
    return known;
}

bool mcp_knows_param(json_t **near, struct mcp_call *call, const char *name)
{
    const char *found, *setting;
    bool is_setting;
    *near = NULL;
    if (lineage_column_find(name) >= 0 || is_name(call, name, &is_setting, &setting)) /* a column may hold texts */
        return true;
    const char *score = lineage_store_score_name(call->server->store);
    char **params = mcp_param_names(call->server, MAX_NAMES);
    found = score && strcmp(score, name) == 0 ? "score" : params ? cli_nearest(name, (const char *const *)params) : NULL;
    found = found ? found : setting;
    *near = found ? mcp_cell(found, 80) : json_null();
    mcp_names_free(params);
    return false;
}

/* A field that is not a column may be a parameter or an extra column. The two lists of names are loaded at most once
 * per call. */
struct known_names {
    char **params, **metrics, **extras;
};

static void known_release(struct known_names *known)
{
    mcp_names_free(known->params);
    mcp_names_free(known->metrics);
    mcp_names_free(known->extras);
}

static bool is_known(struct known_names *known, struct mcp_call *call, const char *name)
{
    if (!known->params) {
        known->params = mcp_param_names(call->server, MAX_NAMES);
        known->metrics = mcp_sql_texts(call->server, "SELECT DISTINCT name FROM metric_rows LIMIT 100", 100);
        known->extras = mcp_sql_texts(call->server, "SELECT DISTINCT name FROM extras LIMIT 100", 100);
    }
    return contains(known->params, lineage_param_canonical(name)) || contains(known->metrics, name) ||
           (strncmp(name, "metrics.", 8) == 0 && contains(known->metrics, name + 8)) || contains(known->extras, name);
}

static bool unknown_field(struct known_names *known, struct mcp_call *call, const char *name, const char *setting)
{
    const char *words[LINEAGE_N_COLUMNS + N_MORE_FIELDS + MAX_NAMES + 1] = {0};
    size_t n = 0;
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        words[n++] = lineage_column(i)->name;
    for (size_t i = 0; i < N_MORE_FIELDS; i++)
        words[n++] = more_fields[i];
    for (size_t i = 0; known->params && known->params[i]; i++)
        words[n++] = known->params[i];
    const char *score = lineage_store_score_name(call->server->store);
    const char *near = score && strcmp(score, name) == 0 ? "score" : cli_nearest(name, words);
    near = near ? near : setting;
    return mcp_trouble(call,
                       "no field '%.60s'%s%s%s; use a column (exp_id, status, score, delta_vs_best, params, hypothesis, notes, "
                       "timestamp, ...) or any parameter",
                       name, near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : ""),
           false;
}

/* Unknown names are refused instead of shown as null, because a model believes a column of nulls. */
static bool choose(struct mcp_fields *fields, struct mcp_call *call, struct known_names *known, const char *name)
{
    const char *field = known_field(name);
    if (fields->n == MCP_MAX_FIELDS)
        return mcp_trouble(call, "fields: at most %d", MCP_MAX_FIELDS), false;
    if (!field && !is_known(known, call, name))
        return unknown_field(known, call, name, NULL);
    fields->names[fields->n++] = field ? field : name;
    return true;
}

bool mcp_check_name(struct mcp_call *call, const char *name)
{
    struct known_names known = {0};
    const char *near = NULL;
    bool ok = known_field(name) || is_known(&known, call, name) || is_setting(call, name, &near) ||
              unknown_field(&known, call, name, near);
    known_release(&known);
    return ok;
}

/* The fallback is a constant list of known fields. */
static void choose_fallback(struct mcp_fields *fields, const char *fallback)
{
    char name[64];
    for (size_t n; *fallback; fallback += n + (fallback[n] == ',')) {
        n = strcspn(fallback, ",");
        snprintf(name, sizeof name, "%.*s", (int)n, fallback);
        fields->names[fields->n++] = known_field(name);
    }
}

bool mcp_fields_choose(struct mcp_fields *fields, struct mcp_call *call, const char *fallback)
{
    const json_t *wanted = json_object_get(call->arguments, "fields");
    struct known_names known = {0};
    bool ok = true;
    fields->n = 0;
    fields->config = lineage_store_config(call->server->store);
    fields->margin = lineage_hypothesis_margin(fields->config);
    for (size_t i = 0; ok && i < json_array_size(wanted); i++)
        ok = choose(fields, call, &known, json_string_value(json_array_get(wanted, i)));
    if (ok && !fields->n)
        choose_fallback(fields, fallback);
    known_release(&known);
    return ok;
}

static json_t *param_json(const struct lineage_param *param)
{
    return param->text ? mcp_cell(param->text, 0) : cli_json_setting(param->value);
}

static json_t *params_json(const struct lineage_trial *trial)
{
    json_t *params = json_object();
    for (size_t i = 0; i < trial->n_params; i++)
        mcp_set_named(params, trial->params[i].name, param_json(&trial->params[i]));
    return params;
}

/* Information gain by turn in short form: "0: 0.001 ± 0.06; 1: 0.238 ± 0.3". */
static json_t *turns_json(const struct lineage_trial *trial)
{
    char mean[LINEAGE_NUMBER_MAX], std[LINEAGE_NUMBER_MAX];
    struct cli_writer text = {0};
    if (!cli_writer_open(&text))
        return NULL;
    for (size_t i = 0; i < trial->n_turns; i++)
        fprintf(text.out, "%s%u: %s ± %s", i ? "; " : "", trial->turns[i].turn, lineage_number_format(mean, trial->turns[i].mean),
                lineage_number_format(std, trial->turns[i].std));
    return mcp_text_json(&text);
}

static json_t *other_json(const struct lineage_trial *trial, const char *name, size_t max)
{
    const struct lineage_param *param = lineage_trial_find_param(trial, lineage_param_canonical(name));
    if (param)
        return param_json(param);
    double metric;
    if (lineage_trial_metric(&metric, trial, strncmp(name, "metrics.", 8) == 0 ? name + 8 : name))
        return cli_json_number(metric);
    for (size_t i = 0; i < trial->n_extras; i++)
        if (strcmp(trial->extras[i].column, name) == 0)
            return mcp_cell(trial->extras[i].text, max);
    return json_null();
}

/* Two digits say how far a score may be off. */
json_t *mcp_margin(const struct mcp_fields *fields, const struct lineage_trial *trial)
{
    char text[LINEAGE_NUMBER_MAX];
    const struct lineage_number margin = lineage_score_margin(fields->config, trial);
    if (!margin.present)
        return json_null();
    snprintf(text, sizeof text, "%.2g", margin.value);
    return cli_json_number(strtod(text, NULL));
}

json_t *mcp_fields_value(const struct mcp_fields *fields, const struct lineage_trial *trial, size_t i, size_t max)
{
    char text[LINEAGE_HYPOTHESIS_TEXT_MAX];
    if (strcmp(fields->names[i], "margin") == 0)
        return mcp_margin(fields, trial);
    if (strcmp(fields->names[i], "verdict") != 0)
        return mcp_field(trial, fields->names[i], max);
    const struct lineage_hypothesis h = lineage_hypothesis_of(trial, fields->margin);
    return h.verdict ? json_string(lineage_hypothesis_text(text, &h)) : json_null();
}

/* Handles an id separately and first: an unusual id must not be shortened or escaped, but replaced by a form that the
 * client can send back. */
json_t *mcp_field(const struct lineage_trial *trial, const char *name, size_t max)
{
    int column = lineage_column_find(name);
    if (strcmp(name, "exp_id") == 0)
        return mcp_id(trial);
    if (column >= 0 && lineage_column((size_t)column)->kind == LINEAGE_COLUMN_TEXT)
        return mcp_cell(lineage_trial_text(trial, (size_t)column), max);
    if (column >= 0)
        return cli_json_column(trial, (size_t)column);
    if (strcmp(name, "score") == 0)
        return cli_json_figure(trial->score);
    if (strcmp(name, "cause") == 0)
        return lineage_notes_cause(trial->notes) ? json_string(lineage_cause_name(lineage_notes_cause(trial->notes)))
                                                 : json_null();
    if (strcmp(name, "params") == 0)
        return params_json(trial);
    if (strcmp(name, "metrics") == 0)
        return cli_json_metrics(trial->metrics, trial->n_metrics);
    if (strcmp(name, "turns") == 0)
        return turns_json(trial);
    if (strcmp(name, "ig_clip_scale_mean") == 0)
        return cli_json_figure(trial->ig_clip_scale_mean);
    if (strcmp(name, "ig_clip_scale_std") == 0)
        return cli_json_figure(trial->ig_clip_scale_std);
    if (strcmp(name, "row") == 0)
        return json_integer((json_int_t)trial->seq);
    return other_json(trial, name, max);
}

enum { LONG_ID = 80 };

/* An id may be anything that a row contains: empty, 10,000 bytes long, or control characters. Such an id cannot be
 * typed, but its row number can. An id that begins with @ would be mistaken for a row number, so it is replaced by its
 * row number too. */
json_t *mcp_id(const struct lineage_trial *trial)
{
    const char *id = trial->exp_id;
    if (id[0] && id[0] != '@' && strlen(id) <= LONG_ID && mcp_is_plain(id))
        return json_string(id);
    return json_sprintf("@%" PRIu64, trial->seq);
}

/* Accepts at most 15 digits: no store has that many rows, and the number cannot overflow. */
static bool row_number(uint64_t *row, const char *id)
{
    if (id[0] != '@' || !id[1] || strlen(id) > 16 || id[1 + strspn(id + 1, "0123456789")])
        return false;
    *row = strtoull(id + 1, NULL, 10);
    return *row > 0;
}

/* Queries for the first row after number - 1, because the store has no look-up by row number. The query costs one step
 * of an index. */
static enum lineage_status find_row(struct mcp_found *found, struct mcp_call *call, uint64_t row, struct lineage_error *err)
{
    const struct lineage_query query = {.after = row - 1, .limit = 1};
    enum lineage_status status = lineage_query_open(&found->cursor, call->server->store, &query, err);
    if (status == LINEAGE_OK)
        status = lineage_cursor_next(found->cursor, &found->trial, err);
    return status == LINEAGE_OK && found->trial.seq != row ? LINEAGE_ENOTFOUND : status;
}

static bool find(struct mcp_found *found, struct mcp_call *call, const char *id, bool named)
{
    struct lineage_error err;
    uint64_t row;
    *found = (struct mcp_found){.cursor = NULL};
    enum lineage_status status = named ? lineage_find_named(call->server->store, id, false, &found->trial, &err)
                                       : lineage_find(call->server->store, id, &found->trial, &err);
    /* Ids are tried first, so that a trial whose id really is @17 can be found. */
    if (status == LINEAGE_ENOTFOUND && row_number(&row, id))
        status = find_row(found, call, row, &err);
    if (status == LINEAGE_OK)
        return true;
    mcp_found_release(found);
    return mcp_store_trouble(call, &err), false;
}

bool mcp_find(struct mcp_found *found, struct mcp_call *call, const char *id)
{
    return find(found, call, id, false);
}

bool mcp_find_named(struct mcp_found *found, struct mcp_call *call, const char *id)
{
    return find(found, call, id, true);
}

void mcp_found_release(struct mcp_found *found)
{
    if (found->cursor)
        lineage_cursor_close(found->cursor); /* the cursor owns the trial */
    else
        lineage_trial_release(&found->trial);
    *found = (struct mcp_found){.cursor = NULL};
}
