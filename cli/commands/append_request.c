/*
 * append_request.c: fills the columns and parameters of a trial to append from text and from JSON. A JSON object and the options
 * fill the same request one after another, and later values replace earlier ones.
 */

#include <lineage/notes.h>
#include <lineage/require.h>
#include <lineage/text.h>

#include "commands/append_request.h"

void append_request_release(struct append_request *request)
{
    json_decref(request->json);
    json_decref(request->spelled);
    free(request->text);
    free(request->telemetry);
}

/* Stores a parameter under its canonical name, so that two spellings are one parameter and the later value wins. The
 * name is copied, because the name of --param is in a buffer that the caller reuses. */
static bool set_param(struct append_request *request, const char *name, double value, const char *text)
{
    size_t i = 0;
    const char *canonical = lineage_param_canonical(name);
    while (i < request->trial.n_params && strcmp(request->params[i].name, canonical) != 0)
        i++;
    if (i == APPEND_MAX_PARAMS || strlen(canonical) >= LINEAGE_NAME_MAX)
        return cli_refuse("append: parameter '%.40s': %s", name,
                          i == APPEND_MAX_PARAMS ? "more than 64 parameters" : "the name is too long");
    strcpy(request->names[i], canonical);
    request->params[i] = (struct lineage_param){request->names[i], value, text};
    request->trial.n_params += i == request->trial.n_params;
    request->trial.params = request->params;
    return true;
}

bool append_set_metric(struct append_request *request, const char *name, double value)
{
    size_t i = 0;
    while (i < request->trial.n_metrics && strcmp(request->metrics[i].name, name) != 0)
        i++;
    if (i == APPEND_MAX_METRICS || strlen(name) >= LINEAGE_NAME_MAX)
        return cli_refuse("append: metric '%.40s': %s", name,
                          i == APPEND_MAX_METRICS ? "more than 64 metrics" : "the name is too long");
    strcpy(request->metric_names[i], name);
    request->metrics[i] = (struct lineage_param){request->metric_names[i], value, NULL};
    request->trial.n_metrics += i == request->trial.n_metrics;
    request->trial.metrics = request->metrics;
    return true;
}

bool append_set_param(struct append_request *request, const char *name, double value)
{
    return set_param(request, name, value, NULL);
}

bool append_set_text(struct append_request *request, const char *name, const char *text)
{
    return set_param(request, name, (double)NAN, text);
}

static bool set_status(struct append_request *request, const char *text)
{
    request->has_status = true;
    request->options.auto_status = strcmp(text, "auto") == 0;
    if (request->options.auto_status || lineage_label_parse(&request->trial.status, text))
        return true;
    return cli_refuse("append: status '%.40s' is not a label; use auto keep discard crash eval_budget_overrun "
                      "train_budget_overrun size_blocked preflight_crash harness_abort disqualified baseline",
                      text);
}

/* Looks the name up in the store's table of columns, so that a new column needs no change here. The two clip-scale
 * statistics are written into notes and have no column. */
static struct lineage_number *number_member(struct append_request *request, const char *name)
{
    int i = lineage_column_find(name);
    if (strcmp(name, "ig_clip_scale_mean") == 0)
        return &request->trial.ig_clip_scale_mean;
    if (strcmp(name, "ig_clip_scale_std") == 0)
        return &request->trial.ig_clip_scale_std;
    if (i < 0 || lineage_column((size_t)i)->kind != LINEAGE_COLUMN_NUMBER)
        return NULL;
    return (struct lineage_number *)(void *)((char *)&request->trial + lineage_column((size_t)i)->offset);
}

static bool set_number(struct append_request *request, const char *name, const char *text)
{
    struct lineage_number *number = number_member(request, name);
    /* An empty text means absent, because scripts pass variables that may be empty. */
    number->present = *text != '\0';
    return !number->present || cli_number_parse(&number->value, name, text);
}

bool append_set_column(struct append_request *request, const char *name, const char *text)
{
    int i = lineage_column_find(name);
    if (strcmp(name, "status") == 0)
        return set_status(request, text);
    if (number_member(request, name))
        return set_number(request, name, text);
    *(const char **)(void *)((char *)&request->trial + lineage_column((size_t)i)->offset) = text;
    return true;
}

static bool wrong_type(const char *key, const char *wanted)
{
    return cli_refuse("append: %s in the JSON is not %s", key, wanted);
}

/* Refuses a text that spells a number, such as "0.3", because a query by range would not find it. An integer that is a text is taken as
 * rows have it. */
static bool is_text(const json_t *value)
{
    char own[LINEAGE_PARAM_TEXT_MAX + 1];
    const char *text = json_string_value(value), *rest = text;
    double number;
    return text && strlen(text) == json_string_length(value) &&
           (!lineage_number_parse(&number, text, strlen(text)) ||
            (lineage_param_is_text(text) && lineage_param_text_next(own, &rest) && strcmp(own, text) == 0));
}

/* The request keeps the text. */
static bool take_spelled(struct append_request *request, const char *name, const json_t *value)
{
    json_t *kept = cli_json_spelled(value);
    if (!request->spelled)
        request->spelled = json_array();
    if (json_array_append_new(request->spelled, kept) != 0)
        return cli_no_memory(), false;
    return set_param(request, name, (double)NAN, json_string_value(kept));
}

/* The members of an object become optimizer.lr and the like, as in Python (lineage.store) and in imports. */
static bool take_param(struct append_request *request, const char *name, const json_t *value)
{
    char path[LINEAGE_NAME_MAX];
    const char *member;
    json_t *inner;
    if (json_is_string(value) && !is_text(value))
        return wrong_type(name, "a number: it is a text that spells one, or contains a NUL byte");
    if ((json_is_number(value) && !cli_json_is_wide(value)) || json_is_string(value))
        return set_param(request, name, json_number_value(value), json_string_value(value));
    if (!json_is_object(value))
        return take_spelled(request, name, value);
    json_object_foreach((json_t *)(uintptr_t)value, member, inner) {
        if (snprintf(path, sizeof path, "%s.%s", name, member) >= (int)sizeof path)
            return cli_refuse("append: parameter '%.40s..': the name is too long", path);
        if (!take_param(request, path, inner))
            return false;
    }
    return true;
}

static bool take_params(struct append_request *request, const json_t *params)
{
    const char *name;
    json_t *value;
    if (!json_is_object(params))
        return wrong_type("params", "an object");
    json_object_foreach((json_t *)(uintptr_t)params, name, value)
        if (!take_param(request, name, value))
            return false;
    return true;
}

static bool take_metrics(struct append_request *request, const json_t *metrics)
{
    const char *name;
    json_t *value;
    if (!json_is_object(metrics))
        return wrong_type("metrics", "an object");
    json_object_foreach((json_t *)(uintptr_t)metrics, name, value) {
        if (!json_is_number(value))
            return wrong_type(name, "a number");
        if (!append_set_metric(request, name, json_number_value(value)))
            return false;
    }
    return true;
}

/* Whether the value is a whole number from 0 to the limit. Writers such as jq 1.7 write 2.0 for 2. */
static bool whole_number(uint64_t *n, const json_t *value, double limit)
{
    const double number = json_number_value(value);
    if (!json_is_number(value) || !(number >= 0 && number <= limit) || number != floor(number))
        return false;
    *n = (uint64_t)number;
    return true;
}

/* A missing `n` is recorded as 0, which means unknown. */
static bool take_turns(struct append_request *request, const json_t *turns)
{
    size_t n = json_array_size(turns);
    if (!json_is_array(turns) || n > APPEND_MAX_TURNS)
        return wrong_type("turns", "a list of at most 64 objects");
    for (size_t i = 0; i < n; i++) {
        const json_t *turn = json_array_get(turns, i), *mean = json_object_get(turn, "mean"), *std = json_object_get(turn, "std");
        const json_t *counted = json_object_get(turn, "n");
        uint64_t index, count = 0;
        if (!whole_number(&index, json_object_get(turn, "turn"), UINT32_MAX) || !json_is_number(mean) || !json_is_number(std) ||
            (counted && !whole_number(&count, counted, 0x1p53)))
            return wrong_type("turns", "a list of {turn, mean, std, n} with whole numbers as turn and n");
        request->turns[i] = (struct lineage_turn_stat){(uint32_t)index, json_number_value(mean), json_number_value(std), count};
    }
    request->trial.turns = request->turns;
    request->trial.n_turns = n;
    return true;
}

/* The notes are kept in the request's JSON, because the trial borrows its texts from there. Notes that are not UTF-8 are
 * left alone: the store refuses such a trial with a message. */
static bool disqualify(struct append_request *request, const char *why)
{
    struct lineage_trial *trial = &request->trial;
    struct lineage_number *const scores[] = {&trial->core_metric, &trial->val_bpb};
    const char *notes = trial->notes ? trial->notes : "";
    char lost[2 * (LINEAGE_NUMBER_MAX + 32)] = "", number[LINEAGE_NUMBER_MAX];
    if (!lineage_text_is_utf8(notes, strlen(notes)))
        return true;
    for (int i = 0; i < 2; i++) {
        size_t n = strlen(lost);
        if (scores[i]->present)
            snprintf(lost + n, sizeof lost - n, "%s%s", n ? " and " : "; its score ",
                     lineage_number_format(number, scores[i]->value));
        *scores[i] = (struct lineage_number){0};
    }
    json_t *text = json_sprintf("%s%s%s%s%s", notes, *notes ? "; " : "", why, lost, lost[0] ? " does not count" : "");
    if (!request->json)
        request->json = json_object();
    if (!text || json_object_set_new(request->json, "notes", text) != 0)
        return cli_no_memory(), false;
    trial->notes = json_string_value(text);
    trial->status = LINEAGE_DISQUALIFIED;
    request->options.auto_status = false;
    return true;
}

bool append_require(struct append_request *request, char *const *texts)
{
    struct lineage_requirement requirement;
    struct lineage_error err;
    char why[LINEAGE_REQUIREMENT_WHY_MAX];
    for (; texts && *texts; texts++) {
        bool is_kept = request->options.auto_status || lineage_label_is_kept(request->trial.status);
        if (lineage_requirement_parse(&requirement, *texts, &err) != LINEAGE_OK)
            return cli_refuse("--require: %s", err.text);
        if (is_kept &&
            !lineage_requirement_is_met(why, &requirement, lineage_requirement_value(&request->trial, requirement.name)) &&
            !disqualify(request, why))
            return false;
    }
    return true;
}

/* Makes a JSON object the trial's telemetry and replaces any earlier one. */
static bool append_set_telemetry(struct append_request *request, const json_t *telemetry)
{
    free(request->telemetry);
    request->telemetry = json_dumps(telemetry, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    request->options.telemetry = request->telemetry;
    request->options.telemetry_length = request->telemetry ? strlen(request->telemetry) : 0;
    return request->telemetry || wrong_type("telemetry", "an object");
}

/* JSON cannot express nan and infinities, so a number may also be given as a string. */
static bool take_number(struct append_request *request, const char *key, const json_t *value)
{
    struct lineage_number *number = number_member(request, key);
    if (json_is_string(value))
        return append_set_column(request, key, json_string_value(value));
    if (!json_is_number(value))
        return wrong_type(key, "a number");
    *number = (struct lineage_number){true, json_number_value(value)};
    return true;
}

/* Unknown keys are refused instead of becoming extra columns: a misspelt core_metric would record a trial without a
 * score. */
static bool unknown_key(const char *key)
{
    const char *known[LINEAGE_N_COLUMNS + 7] = {"params",           "metrics", "turns", "telemetry", "ig_clip_scale_mean",
                                                "ig_clip_scale_std"};
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        known[6 + i] = lineage_column(i)->name;
    const char *near = cli_nearest(key, known);
    return cli_refuse("append: unknown key '%.60s' in the JSON%s%s%s", key, near ? "; did you mean '" : "", near ? near : "",
                      near ? "'?" : "");
}

static bool take_key(struct append_request *request, const char *key, const json_t *value)
{
    if (json_is_null(value))
        return true;
    if (strcmp(key, "params") == 0)
        return take_params(request, value);
    if (strcmp(key, "metrics") == 0)
        return take_metrics(request, value);
    if (strcmp(key, "turns") == 0)
        return take_turns(request, value);
    if (strcmp(key, "telemetry") == 0)
        return append_set_telemetry(request, value);
    if (number_member(request, key))
        return take_number(request, key, value);
    if (lineage_column_find(key) < 0)
        return unknown_key(key);
    if (!json_is_string(value))
        return wrong_type(key, "a string");
    if (strlen(json_string_value(value)) != json_string_length(value))
        return cli_refuse("append: %s in the JSON contains a NUL byte", key);
    return append_set_column(request, key, json_string_value(value));
}

static bool take_object(struct append_request *request)
{
    const char *key;
    json_t *value;
    json_object_foreach(request->json, key, value)
        if (!take_key(request, key, value))
            return false;
    return true;
}

/* Parses the next object of the text. */
static bool parse_next(struct append_request *request)
{
    json_error_t error;
    const char *text = request->text + request->at, *end;
    request->json =
        json_loadb(text, request->length - request->at, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, &error);
    if (!request->json)
        cli_error(CLI_USAGE, "%s:%zu:%d: %s", request->path, request->line + (size_t)error.line, error.column, error.text);
    else if (!json_is_object(request->json))
        cli_error(CLI_USAGE, "%s: not a JSON object", request->path);
    if (!json_is_object(request->json))
        return false;
    end = text + error.position;
    end +=
        strspn(end, request->in_list ? ",] \t\r\n" : " \t\r\n"); /* the text ends in a NUL byte, and a list was checked whole */
    request->at = (size_t)(end - request->text);
    for (; text < end; text++)
        request->line += *text == '\n';
    return true;
}

/* A text that is one list of objects is read as these objects, one after the other. */
static bool begin_list(struct append_request *request)
{
    json_error_t error;
    const size_t blanks = strspn(request->text, " \t\r\n");
    if (request->text[blanks] != '[')
        return true;
    json_t *list = json_loadb(request->text, request->length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!list)
        return cli_refuse("%s:%d:%d: %s", request->path, error.line, error.column, error.text);
    const size_t n = json_array_size(list);
    size_t i = 0;
    while (i < n && json_is_object(json_array_get(list, i)))
        i++;
    json_decref(list);
    if (i < n)
        return cli_refuse("%s: item %zu of the list is not a JSON object", request->path, i + 1);
    request->in_list = n > 0;
    request->at = blanks + 1;
    return n || cli_refuse("%s: not a JSON object: the list has no trial", request->path);
}

bool append_take_json(struct append_request *request, const char *path)
{
    request->path = path;
    char *raw = cli_read_all(path, &request->length);
    request->text = raw ? cli_json_quoted(raw, &request->length, CLI_QUOTE_INTEGERS) : NULL;
    if (raw && !request->text)
        cli_no_memory();
    free(raw);
    return request->text && begin_list(request) && parse_next(request) && take_object(request);
}

bool append_has_next(const struct append_request *request)
{
    return request->at < request->length;
}

bool append_take_next(struct append_request *request)
{
    json_decref(request->json);
    request->json = NULL;
    request->trial = (struct lineage_trial){0};
    request->has_status = false;
    return parse_next(request) && take_object(request);
}
