/*
 * resources.c: the resources lineage://knowledge and lineage://trial/ID, /diff, /steps, for clients whose user picks
 * what the model reads. The list has one entry; trials are templates, because a list of 10,000 trials helps nobody.
 */

#include <lineage/text.h>

#include "mcp/snapshot_diff.h"
#include "mcp/tools.h"

#define TRIAL_URI "lineage://trial/"

enum { DIFF_BYTES = 20000, STEP_BYTES = 10000, MAX_KEYS = 64, ID_MAX = 400 };

static const struct {
    const char *part, *name, *title, *description, *type;
} parts[] = {
    {"", "trial", "Trial", "All of one trial: columns, parameters, information gain, remarks", "application/json"},
    {"/diff", "diff", "Diff", "What the trial changed, compared with its parent", "text/plain"},
    {"/steps", "steps", "Step curves", "Metrics of each step, thinned out to fit", "text/tab-separated-values"},
};
enum { N_PARTS = sizeof parts / sizeof *parts };

json_t *mcp_resources_list(struct mcp_call *call)
{
    if (!mcp_one_page(call))
        return NULL;
    return json_pack("{s:[{s:s, s:s, s:s, s:s, s:s}]}", "resources", "uri", "lineage://knowledge", "name", "knowledge", "title",
                     "What is known", "description", "The digest to read at the beginning of a session", "mimeType",
                     "text/markdown");
}

json_t *mcp_resource_templates_list(struct mcp_call *call)
{
    if (!mcp_one_page(call))
        return NULL;
    json_t *list = json_array();
    for (size_t i = 0; i < N_PARTS; i++)
        json_array_append_new(list, json_pack("{s:o, s:s, s:s, s:s, s:s}", "uriTemplate",
                                              json_sprintf(TRIAL_URI "{id}%s", parts[i].part), "name", parts[i].name, "title",
                                              parts[i].title, "description", parts[i].description, "mimeType", parts[i].type));
    return json_pack("{s:o}", "resourceTemplates", list);
}

bool mcp_is_template(const char *uri)
{
    for (size_t i = 0; i < N_PARTS; i++)
        if (strncmp(uri, TRIAL_URI "{id}", sizeof TRIAL_URI + 3) == 0 && strcmp(uri + sizeof TRIAL_URI + 3, parts[i].part) == 0)
            return true;
    return false;
}

struct steps {
    FILE *out;
    char **keys;
    size_t n_keys, every, seen;
    char step[32]; /* the current step */
    char values[MAX_KEYS][24];
    bool pending;
};

/* The last step is always shown, because the end of a curve matters most. */
static void put_step(struct steps *steps, bool last)
{
    bool shown = steps->pending && (last || (steps->seen - 1) % steps->every == 0);
    if (shown)
        fputs(steps->step, steps->out);
    for (size_t i = 0; shown && i < steps->n_keys; i++)
        fprintf(steps->out, "\t%s", steps->values[i]);
    if (shown)
        fputc('\n', steps->out);
    memset(steps->values, 0, sizeof steps->values);
    steps->pending = false;
}

/* Rows are sorted by step, then by key. */
static bool take_value(void *context, size_t n, const char *const *names, const char *const *texts)
{
    struct steps *steps = context;
    double value = 0;
    (void)n, (void)names;
    if (!texts[0] || !texts[1] || !texts[2])
        return true;
    if (strcmp(steps->step, texts[0]) != 0) {
        put_step(steps, false);
        snprintf(steps->step, sizeof steps->step, "%s", texts[0]);
        steps->pending = true;
        steps->seen++;
    }
    lineage_number_parse(&value, texts[2], strlen(texts[2]));
    for (size_t i = 0; i < steps->n_keys; i++)
        if (strcmp(steps->keys[i], texts[1]) == 0)
            snprintf(steps->values[i], sizeof steps->values[i], "%.5g", value);
    return true;
}

/* The table is tab-separated, because keys repeated at every step would cost more tokens than the numbers. */
static void put_head(struct steps *steps)
{
    fputs("step", steps->out);
    for (steps->n_keys = 0; steps->keys[steps->n_keys]; steps->n_keys++) {
        char *key = cli_text_line(steps->keys[steps->n_keys], 40);
        fprintf(steps->out, "\t%s", key ? key : "");
        free(key);
    }
    fputc('\n', steps->out);
}

/* Returns the spacing with which evenly spaced steps, including the last, fit. */
static size_t spacing(struct mcp_call *call, uint64_t seq, size_t n_keys)
{
    /* The row number comes from the store, so it needs no quoting in the statement. */
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT count(*) FROM (SELECT DISTINCT step FROM step_metrics WHERE seq = %llu)",
             (unsigned long long)seq);
    char **n_text = mcp_sql_texts(call->server, sql, 1);
    size_t n = n_text && n_text[0] ? strtoull(n_text[0], NULL, 10) : 0, room = STEP_BYTES / (10 * (n_keys + 1));
    mcp_names_free(n_text);
    return n / (room ? room : 1) + 1;
}

static json_t *write_steps(struct mcp_call *call, uint64_t seq, char **keys)
{
    struct steps steps = {.keys = keys};
    struct lineage_error err;
    struct cli_writer text = {0};
    char sql[160];
    if (!cli_writer_open(&text))
        return NULL;
    steps.out = text.out;
    put_head(&steps);
    steps.every = spacing(call, seq, steps.n_keys);
    snprintf(sql, sizeof sql, "SELECT step, key, value FROM step_metrics WHERE seq = %llu ORDER BY step, key",
             (unsigned long long)seq);
    enum lineage_status status = lineage_sql(call->server->store, sql, take_value, &steps, &err);
    put_step(&steps, true);
    json_t *json = mcp_text_json(&text);
    if (status == LINEAGE_OK)
        return json;
    json_decref(json);
    return mcp_store_trouble(call, &err);
}

static json_t *read_steps(struct mcp_call *call, const char *id)
{
    struct mcp_found found;
    char sql[200];
    if (!mcp_find_named(&found, call, id))
        return NULL;
    uint64_t seq = found.trial.seq;
    mcp_found_release(&found);
    snprintf(sql, sizeof sql, "SELECT DISTINCT key FROM step_metrics WHERE seq = %llu AND key <> 'step' ORDER BY key",
             (unsigned long long)seq);
    char **keys = mcp_sql_texts(call->server, sql, MAX_KEYS);
    json_t *text =
        keys && keys[0] ? write_steps(call, seq, keys) : mcp_trouble(call, "trial '%.80s' has no metrics of single steps", id);
    mcp_names_free(keys);
    return text;
}

static json_t *read_diff(struct mcp_call *call, const char *id)
{
    struct mcp_snapshot_diff changes;
    char *block = NULL;
    if (mcp_snapshot_diff_load(&changes, call, id, NULL, NULL))
        block = mcp_untrusted_block("diff", changes.text, changes.length, DIFF_BYTES);
    mcp_snapshot_diff_release(&changes);
    return cli_json_own(block);
}

static json_t *read_trial(struct mcp_call *call, const char *id)
{
    size_t length = 0;
    json_t *trial = mcp_noted(mcp_trial_by_id(call, id));
    json_t *json = cli_json_own(trial ? cli_json_compact(trial, &length) : NULL);
    json_decref(trial);
    return json;
}

/* The block is that of no specialist, because a resource's address cannot name one; the tool `knowledge` has an
 * argument for it. */
static json_t *read_knowledge(struct mcp_call *call)
{
    return cli_json_own(mcp_knowledge(call, NULL, NULL, MCP_KNOWLEDGE_BYTES));
}

/* Does not use strtol, which would accept blanks and signs. */
static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %XX. Returns false if the result cannot be an id: too long, truncated, NUL, invalid UTF-8. */
static bool decode(char id[ID_MAX], const char *text, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++, n++) {
        bool escaped = text[i] == '%';
        if (n + 1 >= ID_MAX || (escaped && (i + 2 >= length || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0)))
            return false;
        id[n] = escaped ? (char)(hex(text[i + 1]) * 16 + hex(text[i + 2])) : text[i];
        i += escaped ? 2 : 0;
    }
    id[n] = '\0';
    return n && strlen(id) == n && lineage_text_is_utf8(id, n);
}

/* Returns which part of which trial the URI names, or -1 if the URI is unknown. */
static int parse(char id[ID_MAX], const char *uri)
{
    size_t prefix = strlen(TRIAL_URI);
    const char *rest = strncmp(uri, TRIAL_URI, prefix) == 0 ? uri + prefix : "";
    size_t n = strcspn(rest, "/");
    for (int i = 0; i < N_PARTS; i++)
        if (n && strcmp(rest + n, parts[i].part) == 0 && decode(id, rest, n))
            return i;
    return -1;
}

/* A missing trial and a trial without a diff are the same to a client: nothing is found at this address. Each era has
 * its error code, and the newer one adds the address as data. */
static json_t *not_found(struct mcp_call *call, const char *uri)
{
    json_decref(call->data);
    call->data = json_pack("{s:s}", "uri", uri);
    call->code = call->modern ? MCP_INVALID_PARAMS : MCP_RESOURCE_NOT_FOUND;
    return NULL;
}

/* The contents repeat the client's own spelling of the URI, which the client uses to match the answer. */
json_t *mcp_resources_read(struct mcp_call *call)
{
    static json_t *(*const readers[N_PARTS])(struct mcp_call *, const char *) = {read_trial, read_diff, read_steps};
    const char *uri = mcp_text_param(call, "uri");
    char id[ID_MAX];
    if (!uri)
        return NULL;
    bool knowledge = strcmp(uri, "lineage://knowledge") == 0;
    int part = parse(id, uri);
    if (!knowledge && part < 0)
        mcp_trouble(call, "Resource not found: %.200s; use lineage://knowledge or lineage://trial/ID, /diff, /steps", uri);
    const bool known = (knowledge || part >= 0) && mcp_has_store(call);
    json_t *text = !known ? NULL : knowledge ? read_knowledge(call) : readers[part](call, id);
    if (!text)
        return not_found(call, uri);
    return json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri, "mimeType", knowledge ? "text/markdown" : parts[part].type,
                     "text", text);
}
