/*
 * page.c: one page of a list of trials. The budget is in bytes because clients cut answers at a number of tokens, which
 * would cut off rows and the cursor. Here the answer ends after a complete row, and the cursor continues it.
 */
#include "mcp/page.h"

#include <lineage/notes.h>
#include <lineage/text.h>

#include "mcp/schema.h"
#include "mcp/untrusted.h"
#include "output/ideas_out.h"

/* What the texts of one column share is sent once. Hypotheses of one night often differ in a number only, and
 * twenty of them would cost an agent more tokens than everything else on a page. */

#define GAP "…"
enum { GAP_BYTES = sizeof GAP - 1, SAVED_LEAST = 120 };

struct shape {
    const char *begin, *end; /* texts of which the shape takes the first and the last bytes */
    size_t n_begin, n_end;
    long saved;
};

static const char *cell(const json_t *rows, size_t i, size_t column)
{
    const char *text = json_string_value(json_array_get(json_array_get(rows, i), column));
    return text ? text : "";
}

/* The words that two texts begin and end with. Only whole words, so that no number is cut into two halves. */
static struct shape shape_of(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), least = n < m ? n : m;
    struct shape shape = {.begin = a, .end = a + n};
    while (shape.n_begin < least && a[shape.n_begin] == b[shape.n_begin])
        shape.n_begin++;
    while (shape.n_begin && strcmp(a, b) != 0 && a[shape.n_begin - 1] != ' ')
        shape.n_begin--;
    while (shape.n_end < least - shape.n_begin && a[n - shape.n_end - 1] == b[m - shape.n_end - 1])
        shape.n_end++;
    while (shape.n_end && a[n - shape.n_end] != ' ')
        shape.n_end--;
    shape.end -= shape.n_end;
    return shape;
}

static bool has_shape(const char *text, const struct shape *shape)
{
    size_t n = strlen(text);
    return n >= shape->n_begin + shape->n_end && memcmp(text, shape->begin, shape->n_begin) == 0 &&
           memcmp(text + n - shape->n_end, shape->end, shape->n_end) == 0;
}

/* Each cell of the shape gets shorter by it, except for the mark; the shape itself is sent once. */
static long saved_by(const json_t *rows, size_t column, const struct shape *shape, size_t max)
{
    size_t bytes = shape->n_begin + shape->n_end;
    long saved = -(long)bytes - GAP_BYTES;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *text = cell(rows, i, column);
        size_t n = strlen(text), rest = n - bytes + GAP_BYTES;
        if (has_shape(text, shape))
            saved += (long)(n < max ? n : max) - (long)(rest < max ? rest : max);
    }
    return saved;
}

/* Neighbours on a page are the likeliest to be alike, so only their shapes are tried. */
static struct shape best_shape(const json_t *rows, size_t column, size_t max)
{
    struct shape best = {.begin = "", .end = ""}, last = best;
    for (size_t i = 0; i + 1 < json_array_size(rows); i++) {
        struct shape shape = shape_of(cell(rows, i, column), cell(rows, i + 1, column));
        if (shape.n_begin == last.n_begin && shape.n_end == last.n_end && memcmp(shape.begin, last.begin, shape.n_begin) == 0 &&
            memcmp(shape.end, last.end, shape.n_end) == 0)
            continue;
        shape.saved = saved_by(rows, column, &shape, max);
        last = shape;
        if (shape.saved > best.saved)
            best = shape;
    }
    return best;
}

/* If most texts in a column of rows begin and end with the same words, replaces each of these cells by "…" and the words in
 * between, and returns the shared words with … in the place of the others: "raise lr to … after warmup". Other cells stay.
 * Returns NULL if that saves little, when cells are then cut to max bytes, or if a cell itself begins with …. */
static json_t *mcp_fold_texts(json_t *rows, size_t column, size_t max)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (strncmp(cell(rows, i, column), GAP, GAP_BYTES) == 0)
            return NULL;
    struct shape shape = best_shape(rows, column, max);
    if (shape.saved < SAVED_LEAST)
        return NULL;
    json_t *shared = json_sprintf("%.*s" GAP "%.*s", (int)shape.n_begin, shape.begin, (int)shape.n_end, shape.end);
    if (!shared)
        return NULL;
    /* The shape's own cells are about to be replaced. */
    shape.begin = json_string_value(shared);
    shape.end = shape.begin + shape.n_begin + GAP_BYTES;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *text = cell(rows, i, column);
        if (!has_shape(text, &shape))
            continue;
        size_t n = strlen(text) - shape.n_begin - shape.n_end;
        json_array_set_new(json_array_get(rows, i), column, json_sprintf(GAP "%.*s", (int)n, text + shape.n_begin));
    }
    return shared;
}

/* ---- one page of a list of trials ---- */

/* FRAME_BYTES: approximate size of an answer without its rows, so that max_bytes covers the whole answer. */
/* A client that named no fields wants an overview, so its texts are shorter (USUAL_TEXT). What texts share is looked for in
 * more of them than is shown (FOLD_TEXT). */
enum { TEXT_MAX = 160, USUAL_TEXT = 80, FOLD_TEXT = 400, SHORT_TEXT = 12, FRAME_BYTES = 300 };

bool mcp_page_open(struct mcp_page *page, struct mcp_call *call, const char *fallback_fields)
{
    *page = (struct mcp_page){.max_bytes = mcp_count_argument(call, "max_bytes", MCP_DEFAULT_BYTES),
                              .limit = mcp_count_argument(call, "limit", MCP_DEFAULT_ROWS),
                              .usual_fields = !json_array_size(json_object_get(call->arguments, "fields")),
                              .margins = json_array(),
                              .rows = json_array()};
    return mcp_fields_choose(&page->fields, call, fallback_fields);
}

void mcp_page_release(struct mcp_page *page)
{
    json_decref(page->margins);
    json_decref(page->rows);
}

/* Adds the settings in words to a trial's parameters: "0.115 (stated)", "0.05 (stated by 157)". */
static void add_settings(json_t *params, const struct mcp_page *page, uint64_t seq)
{
    for (size_t i = 0; page->settings && i < page->settings->n; i++) {
        const struct lineage_setting *setting = lineage_settings_get(page->settings, seq, i, 0);
        if (!setting || json_object_get(params, page->settings->names[i].name))
            continue;
        json_t *value = mcp_cell(setting->text, 60), *by = mcp_cell(setting->set_by, 60);
        json_object_set_new(params, page->settings->names[i].name,
                            json_sprintf("%s (%s%s%s)", json_string_value(value), lineage_change_source_name(setting->source),
                                         setting->own       ? ""
                                         : *setting->set_by ? " by "
                                                            : " as the first value",
                                         setting->own ? "" : json_string_value(by)));
        json_decref(value);
        json_decref(by);
    }
}

static bool is_prose(const char *field)
{
    return strcmp(field, "hypothesis") == 0 || strcmp(field, "notes") == 0;
}

static json_t *row_json(const struct mcp_page *page, const struct lineage_trial *trial, size_t max, size_t prose_max)
{
    json_t *row = json_array();
    for (size_t i = 0; i < page->fields.n; i++) {
        json_t *field = mcp_fields_value(&page->fields, trial, i, is_prose(page->fields.names[i]) ? prose_max : max);
        if (strcmp(page->fields.names[i], "params") == 0)
            add_settings(field, page, trial->seq);
        json_array_append_new(row, field);
    }
    return row;
}

/* Counts the bytes that will be sent, because JSON's escapes and punctuation use part of the budget too. */
static size_t bytes_of(const json_t *value)
{
    size_t length = 0;
    free(cli_json_compact(value, &length));
    return length;
}

/* The first row must always fit, because otherwise no client could get past it. Its texts are shortened further if
 * necessary. The page gets hypothesis and notes in full for now, see fold_texts. */
static json_t *fitting_row(struct mcp_page *page, const struct lineage_trial *trial, size_t *bytes)
{
    size_t room = page->max_bytes - FRAME_BYTES;
    for (size_t max = page->usual_fields ? USUAL_TEXT : TEXT_MAX;; max /= 2) {
        json_t *row = row_json(page, trial, max, max);
        *bytes = bytes_of(row) + 1;
        json_decref(row);
        if (page->bytes + *bytes <= room || (!json_array_size(page->rows) && max <= SHORT_TEXT)) {
            page->text_max = max;
            return row_json(page, trial, max, FOLD_TEXT);
        }
        if (json_array_size(page->rows))
            return NULL;
    }
}

bool mcp_page_add(struct mcp_page *page, const struct lineage_trial *trial)
{
    size_t bytes;
    page->full = page->full || json_array_size(page->rows) == page->limit;
    json_t *row = page->full ? NULL : fitting_row(page, trial, &bytes);
    page->full = !row;
    if (!row)
        return false;
    json_array_append_new(page->rows, row);
    json_array_append_new(page->margins, mcp_margin(&page->fields, trial));
    page->bytes += bytes;
    page->last = trial->seq;
    snprintf(page->last_id, sizeof page->last_id, "%s", strlen(trial->exp_id) < sizeof page->last_id ? trial->exp_id : "");
    return true;
}

/* ---- parameters that all rows of the page share ---- */

static bool all_have(const json_t *rows, size_t column, const char *key, const json_t *value)
{
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!json_equal(json_object_get(json_array_get(json_array_get(rows, i), column), key), value))
            return false;
    return true;
}

/* A single row shares nothing with other rows; otherwise all its parameters would move to `same`. */
static json_t *shared_params(const json_t *rows, size_t column)
{
    json_t *first = json_array_get(json_array_get(rows, 0), column), *shared = json_object(), *value;
    const char *key;
    json_object_foreach(first, key, value)
        if (json_array_size(rows) > 1 && all_have(rows, column, key, value))
            json_object_set(shared, key, value);
    return shared;
}

/* Formats parameters without the shared ones: "alpha=0.3 gamma=1.0". */
static json_t *params_text(const json_t *params, const json_t *shared)
{
    char number[LINEAGE_NUMBER_MAX];
    const char *key, *blank = "";
    json_t *value;
    struct cli_writer text = {0};
    if (!cli_writer_open(&text))
        return NULL;
    json_object_foreach((json_t *)(uintptr_t)params, key, value) {
        if (json_object_get(shared, key))
            continue;
        const char *shown =
            json_is_string(value) ? json_string_value(value) : lineage_setting_format(number, json_number_value(value));
        fprintf(text.out, "%s%s=%s", blank, key, shown);
        blank = " ";
    }
    return mcp_text_json(&text);
}

/* Called when all rows of the page are known. Until then params are objects, so the size of rows is estimated too
 * large, never too small. */
static json_t *fold_params(const struct mcp_page *page)
{
    json_t *same = NULL;
    for (size_t column = 0; column < page->fields.n; column++) {
        if (strcmp(page->fields.names[column], "params") != 0)
            continue;
        json_t *shared = shared_params(page->rows, column), *none = json_object();
        for (size_t i = 0; i < json_array_size(page->rows); i++) {
            json_t *row = json_array_get(page->rows, i);
            json_array_set_new(row, column, params_text(json_array_get(row, column), shared));
        }
        json_decref(same);
        same = json_object_size(shared) ? params_text(shared, none) : NULL;
        json_decref(shared);
        json_decref(none);
    }
    return same;
}

/* ---- texts that all rows of the page share ---- */

/* A text that was escaped is cut without being escaped once more. */
static void shorten(json_t *rows, size_t column, size_t max)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *text = json_string_value(json_array_get(json_array_get(rows, i), column));
        size_t n = text ? lineage_text_prefix(text, strlen(text), max) : 0;
        if (text && text[n])
            json_array_set_new(json_array_get(rows, i), column,
                               json_sprintf("%.*s…", (int)lineage_text_prefix(text, n, max - 1), text));
    }
}

static json_t *fold_texts(const struct mcp_page *page)
{
    json_t *same = json_object();
    for (size_t column = 0; column < page->fields.n; column++) {
        if (!is_prose(page->fields.names[column]))
            continue;
        json_t *shared = mcp_fold_texts(page->rows, column, page->text_max);
        if (shared)
            json_object_set_new(same, page->fields.names[column], shared);
        shorten(page->rows, column, page->text_max);
    }
    return same;
}

/* ---- margins of the scores ---- */

/* Adds the margin once if all scores have the same, else as a column. */
static void add_margins(const struct mcp_page *page, json_t *result, json_t *columns)
{
    json_t *usual = NULL, *margin;
    bool differ = false, chosen = false;
    size_t i;
    json_array_foreach(page->margins, i, margin) {
        differ = differ || (usual && json_is_number(margin) && !json_equal(usual, margin));
        usual = json_is_number(margin) ? margin : usual;
    }
    for (i = 0; i < page->fields.n; i++)
        chosen = chosen || strcmp(page->fields.names[i], "margin") == 0;
    if (usual && !differ && !chosen)
        json_object_set(result, "margin", usual);
    if (!differ || chosen)
        return;
    json_array_append_new(columns, json_string("margin"));
    json_array_foreach(page->margins, i, margin)
        json_array_append(json_array_get(page->rows, i), margin);
}

/* ---- the page ---- */

/* Counting stops at MCP_COUNT_MAX: the exact number of 812,345 matches is not worth waiting for. */
json_t *mcp_shown(size_t shown, size_t total)
{
    return json_sprintf(total > MCP_COUNT_MAX ? "%zu of more than %zu" : "%zu of %zu", shown,
                        total > MCP_COUNT_MAX ? (size_t)MCP_COUNT_MAX : total);
}

/* The cursor is the id of the last row. If a later row has the same id, the cursor is the row number instead. */
static json_t *cursor_of(const struct mcp_page *page, struct mcp_call *call)
{
    struct lineage_trial trial = {0};
    struct lineage_error err;
    bool by_id = page->last_id[0] && page->last_id[0] != '@' && mcp_is_plain(page->last_id) &&
                 lineage_find(call->server->store, page->last_id, &trial, &err) == LINEAGE_OK && trial.seq == page->last;
    lineage_trial_release(&trial);
    return by_id ? json_string(page->last_id) : json_sprintf("@%" PRIu64, page->last);
}

/* To the client the cursor is opaque; here it is a trial's name. So no table of open cursors is needed, and a cursor
 * outlives the process. */
bool mcp_cursor(uint64_t *after, struct mcp_call *call)
{
    const char *cursor = mcp_text_argument(call, "cursor");
    struct mcp_found found;
    *after = 0;
    if (!cursor || !*cursor) /* an empty cursor means the beginning */
        return true;
    if (!mcp_find(&found, call, cursor))
        return false;
    *after = found.trial.seq;
    mcp_found_release(&found);
    return true;
}

json_t *mcp_page_finish(struct mcp_page *page, struct mcp_call *call, size_t total, bool more)
{
    json_t *result = json_object(), *columns = json_array();
    json_t *same = fold_params(page), *same_text = fold_texts(page);
    for (size_t i = 0; i < page->fields.n; i++)
        json_array_append_new(columns, json_string(page->fields.names[i]));
    cli_json_set(result, "shown", mcp_shown(json_array_size(page->rows), total), "next", more ? cursor_of(page, call) : NULL,
                 "same", same, NULL);
    if (json_object_size(same_text))
        json_object_set(result, "same_text", same_text);
    json_decref(same_text);
    add_margins(page, result, columns);
    json_object_set_new(result, "columns", columns);
    json_object_set(result, "rows", page->rows);
    return result;
}

/* A row that was read but did not fit is read again as the first of the next page, which is cheaper than keeping it. */
static enum lineage_status fill(struct mcp_page *page, struct lineage_cursor *cursor, bool *more, struct lineage_error *err)
{
    struct lineage_trial trial;
    enum lineage_status status;
    *more = false;
    while (!*more && (status = lineage_cursor_next(cursor, &trial, err)) == LINEAGE_OK)
        *more = !mcp_page_add(page, &trial);
    return *more || status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

void mcp_set_source(json_t *result, const struct lineage_settings *settings)
{
    json_t *source = cli_settings_sources_json(settings);
    if (result && source)
        json_object_set(result, "source", source);
    json_decref(source);
}

json_t *mcp_page_of_query(struct mcp_call *call, struct lineage_query *query, const char *fallback_fields)
{
    struct mcp_page page;
    struct lineage_cursor *cursor = NULL;
    struct lineage_error err;
    size_t total = 0;
    bool more = false;
    json_t *result = NULL;
    enum lineage_status status = LINEAGE_OK;
    if (mcp_page_open(&page, call, fallback_fields) && mcp_cursor(&query->after, call)) {
        query->limit = MCP_COUNT_MAX + 1;
        status = lineage_query_count(&total, call->server->store, query, &err);
        query->limit = page.limit + 1; /* one more row shows whether there is a next page */
        if (status == LINEAGE_OK)
            status = lineage_query_open(&cursor, call->server->store, query, &err);
        page.settings = lineage_store_settings(call->server->store);
        if (status == LINEAGE_OK)
            status = fill(&page, cursor, &more, &err);
        result = status == LINEAGE_OK ? mcp_page_finish(&page, call, total, more) : mcp_store_trouble(call, &err);
        mcp_set_source(result, page.settings);
    }
    lineage_cursor_close(cursor);
    mcp_page_release(&page);
    return result;
}

/* ---- conditions ---- */

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
        return mcp_trouble(
                   call, "where.%.60s: '%.60s' is neither a range nor texts; put a text with commas or quotes into single quotes",
                   name, text),
               false;
    }
    if (lineage_range_parse(&condition->range, text, &err) == LINEAGE_OK || is_whole_text(conditions, condition, call, text))
        return true;
    return mcp_trouble(call, "where.%.60s: %s", name, err.text), false;
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
