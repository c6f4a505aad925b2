/*
 * config.c: lineage.json (schema/lineage.schema.json). The parser is strict: if a mistyped "direction" were ignored,
 * every keep would become a discard, and nobody would look in this file for the reason.
 */
#include "config.h"

#include <jansson.h>
#include <math.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "../fail.h"
#include "json_text.h"

static const char *const keys[] = {"direction",    "metric",       "metric_label",     "min_delta",
                                   "noise_std",    "noise_seeds",  "noise_freedom",    "noise_runs",
                                   "night_trials", "second",       "second_direction", "second_noise_std",
                                   "knobs",        "secret_files", "harmless_names",   "seeds",
                                   "score",        "log",          "newest_night",     NULL};

static bool is_known(const char *key)
{
    for (size_t i = 0; keys[i]; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

static enum lineage_status wrong(const char *key, const char *what, struct lineage_error *err)
{
    return store_fail(err, LINEAGE_ECORRUPT, "lineage.json: %s must be %s", key, what);
}

/* Any other value is refused, because a wrong direction reverses every later comparison. */
static enum lineage_status read_direction(enum lineage_direction *out, const char *key, const json_t *value,
                                          struct lineage_error *err)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (strcmp(text, "lower") == 0)
        *out = LINEAGE_LOWER;
    else if (strcmp(text, "higher") == 0)
        *out = LINEAGE_HIGHER;
    else
        return wrong(key, "\"lower\" or \"higher\"", err);
    return LINEAGE_OK;
}

/* A name that is too long is refused instead of cut: a column name cut at 63 bytes would name another column, or
 * none. */
static enum lineage_status read_name(char out[LINEAGE_NAME_MAX], const char *key, const json_t *value, struct lineage_error *err)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) >= LINEAGE_NAME_MAX)
        return wrong(key, "a string of at most 63 bytes", err);
    strcpy(out, text);
    return LINEAGE_OK;
}

/* A negative number is always a mistake, because neither a standard deviation nor a minimum gain can be below 0. */
static enum lineage_status read_positive(double *out, const char *key, const json_t *value, struct lineage_error *err)
{
    *out = json_number_value(value);
    return json_is_number(value) && *out >= 0 ? LINEAGE_OK : wrong(key, "a number from 0 on", err);
}

/* Jansson's integers have 64 bits, the member 32: without a bound 4294967296 seeds would become 0. */
static enum lineage_status read_count(unsigned *out, const char *key, const json_t *value, struct lineage_error *err)
{
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 0 || n > 1000000)
        return wrong(key, "a whole number from 0 to 1000000", err);
    *out = (unsigned)n;
    return LINEAGE_OK;
}

/* The members of "knobs", in the order in which they are written. */
static const struct {
    const char *key;
    enum lineage_knob_relation relation;
} relations[] = {{"same", LINEAGE_KNOBS_SAME}, {"different", LINEAGE_KNOBS_DIFFERENT}};
enum { N_RELATIONS = sizeof relations / sizeof *relations };

/* One list of names: ["muon_wd", "weight_decay"]. */
static enum lineage_status read_rule(struct lineage_knob_rule *rule, const json_t *list, struct arena *arena,
                                     struct lineage_error *err)
{
    size_t n = json_array_size(list);
    const char **names = n >= 2 && n <= LINEAGE_KNOB_RULE_NAMES ? arena_alloc(arena, n, sizeof *names) : NULL;
    if (n < 2 || n > LINEAGE_KNOB_RULE_NAMES)
        return wrong("knobs", "lists of 2 to 64 names each", err);
    for (size_t i = 0; names && i < n; i++) {
        const char *name = json_string_value(json_array_get(list, i));
        if (!name || !*name || strlen(name) >= LINEAGE_NAME_MAX)
            return wrong("knobs", "lists of names, each a string of 1 to 63 bytes", err);
        names[i] = arena_text(arena, name, strlen(name));
        if (!names[i])
            return store_no_memory(err);
    }
    rule->names = names;
    rule->n = n;
    return names ? LINEAGE_OK : store_no_memory(err);
}

/* {"same": [["muon_wd", "weight_decay"]], "different": [["wd", "embed_wd"]]}. Without `more` it is only checked. */
static enum lineage_status read_knobs(struct config_more *more, json_t *value, struct lineage_error *err)
{
    RELEASED_BY(config_more_release) struct config_more spare = {0};
    struct config_more *into = more ? more : &spare;
    enum lineage_status status = LINEAGE_OK;
    const char *key;
    json_t *lists;
    size_t n = 0, most = 0;
    json_object_foreach(value, key, lists) {
        size_t i = 0;
        while (i < N_RELATIONS && strcmp(relations[i].key, key) != 0)
            i++;
        if (i == N_RELATIONS || !json_is_array(lists))
            return wrong("knobs", "an object with lists of lists of names in \"same\" and \"different\"", err);
        most += json_array_size(lists);
    }
    if (!json_is_object(value) || most > LINEAGE_KNOB_RULES)
        return wrong("knobs", "an object with at most 64 lists of names", err);
    struct lineage_knob_rule *rules = arena_alloc(&into->arena, most + 1, sizeof *rules);
    if (!rules)
        return store_no_memory(err);
    for (size_t i = 0; i < N_RELATIONS && status == LINEAGE_OK; i++) {
        lists = json_object_get(value, relations[i].key);
        for (size_t k = 0; k < json_array_size(lists) && status == LINEAGE_OK; k++) {
            rules[n].relation = relations[i].relation;
            status = read_rule(&rules[n++], json_array_get(lists, k), &into->arena, err);
        }
    }
    into->rules = rules;
    into->n_rules = n;
    return status;
}

/* The settings that are whole numbers. */
static const struct {
    const char *key;
    size_t offset;
} counts[] = {{"noise_seeds", offsetof(struct lineage_config, noise_seeds)},
              {"noise_freedom", offsetof(struct lineage_config, noise_freedom)},
              {"noise_runs", offsetof(struct lineage_config, noise_runs)},
              {"night_trials", offsetof(struct lineage_config, night_trials)},
              {"newest_night", offsetof(struct lineage_config, newest_night)}};
enum { N_COUNTS = sizeof counts / sizeof *counts };

static unsigned *count_of(struct lineage_config *config, size_t i)
{
    return (unsigned *)(void *)((char *)config + counts[i].offset);
}

static enum lineage_status read_key(struct lineage_config *config, const char *key, const json_t *value,
                                    struct lineage_error *err)
{
    if (strcmp(key, "direction") == 0)
        return read_direction(&config->direction, key, value, err);
    if (strcmp(key, "second") == 0)
        return read_name(config->second, key, value, err);
    if (strcmp(key, "second_direction") == 0)
        return read_direction(&config->second_direction, key, value, err);
    if (strcmp(key, "second_noise_std") == 0)
        return read_positive(&config->second_noise_std, key, value, err);
    if (strcmp(key, "metric") == 0)
        return read_name(config->metric, key, value, err);
    if (strcmp(key, "metric_label") == 0)
        return read_name(config->metric_label, key, value, err);
    if (strcmp(key, "min_delta") == 0)
        return read_positive(&config->min_delta, key, value, err);
    if (strcmp(key, "noise_std") == 0)
        return read_positive(&config->noise_std, key, value, err);
    for (size_t i = 0; i < N_COUNTS; i++)
        if (strcmp(key, counts[i].key) == 0)
            return read_count(count_of(config, i), key, value, err);
    return LINEAGE_OK;
}

/* ["*.kdbx", "!.env.example"], ended by NULL in memory. Without `more` it is only checked. */
static enum lineage_status read_texts(const char *const **out, struct config_more *more, const char *key, const json_t *list,
                                      struct lineage_error *err)
{
    size_t n = json_array_size(list);
    if (!json_is_array(list) || n > CONFIG_TEXTS_MAX)
        return wrong(key, "a list of at most 256 texts", err);
    const char **texts = more ? arena_alloc(&more->arena, n + 1, sizeof *texts) : NULL;
    if (more && !texts)
        return store_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text || !*text)
            return wrong(key, "a list of texts that are not empty", err);
        if (more && !(texts[i] = arena_text(&more->arena, text, strlen(text))))
            return store_no_memory(err);
    }
    if (more) {
        texts[n] = NULL;
        *out = texts;
    }
    return LINEAGE_OK;
}

static bool is_more(const char *key)
{
    return strcmp(key, "knobs") == 0 || strcmp(key, "secret_files") == 0 || strcmp(key, "harmless_names") == 0 ||
           strcmp(key, "seeds") == 0 || strcmp(key, "score") == 0 || strcmp(key, "log") == 0;
}

/* The keys whose values are not in struct lineage_config. */
static enum lineage_status read_more(struct config_more *more, const char *key, json_t *value, struct lineage_error *err)
{
    if (strcmp(key, "knobs") == 0)
        return read_knobs(more, value, err);
    if (strcmp(key, "secret_files") == 0)
        return read_texts(more ? &more->secret_files : NULL, more, key, value, err);
    if (strcmp(key, "harmless_names") == 0)
        return read_texts(more ? &more->harmless_names : NULL, more, key, value, err);
    if (strcmp(key, "seeds") == 0)
        return read_texts(more ? &more->seeds : NULL, more, key, value, err);
    const bool is_score = strcmp(key, "score") == 0;
    char *text = NULL;
    if (!json_is_string(value))
        return wrong(key, "a string", err);
    if (is_score && (json_string_length(value) == 0 || json_string_length(value) >= LINEAGE_NAME_MAX))
        return wrong(key, "a name of 1 to 63 bytes", err);
    if (more && !(text = arena_text(&more->arena, json_string_value(value), json_string_length(value))))
        return store_no_memory(err);
    if (more && is_score)
        more->score = text;
    else if (more)
        more->log = text;
    return LINEAGE_OK;
}

void config_more_release(struct config_more *more)
{
    arena_release(&more->arena);
    *more = (struct config_more){0};
}

enum lineage_status config_parse(struct lineage_config *config, struct config_more *more, const char *text, size_t length,
                                 struct lineage_error *err)
{
    const char *key;
    json_t *value;
    *config = (struct lineage_config){.direction = LINEAGE_LOWER};
    if (more)
        *more = (struct config_more){0};
    /* Jansson would silently let the last of two equal keys win, but only the file's author knows which value was
     * meant. */
    json_t *root;
    enum lineage_status status =
        json_text_parse(&root, "lineage.json", LINEAGE_ECORRUPT, text, length, JSON_REJECT_DUPLICATES, err);
    if (status == LINEAGE_OK && !json_is_object(root))
        status = store_fail(err, LINEAGE_ECORRUPT, "lineage.json: not an object");
    json_object_foreach(root, key, value) {
        if (status != LINEAGE_OK)
            break;
        if (!is_known(key))
            status =
                store_fail(err, LINEAGE_ECORRUPT,
                           "lineage.json: unknown key '%.40s'; known are direction, metric, metric_label, "
                           "min_delta, noise_std, noise_seeds, noise_freedom, noise_runs, night_trials, newest_night, second, "
                           "second_direction, second_noise_std, knobs, secret_files, harmless_names, seeds, score, log",
                           key);
        else
            status = is_more(key) ? read_more(more, key, value, err) : read_key(config, key, value, err);
    }
    /* Machines that share a log must agree on which scores are better, so such a file has no settings of its own. */
    if (status == LINEAGE_OK && json_object_get(root, "log") && json_object_size(root) > 1)
        status = store_fail(err, LINEAGE_ECORRUPT,
                            "lineage.json: beside \"log\" there is nothing else, for the settings of a "
                            "log on a server are kept there");
    if (status == LINEAGE_OK && config->second[0] && !config->second_direction)
        config->second_direction = LINEAGE_LOWER;
    if (status == LINEAGE_OK && !config->second[0] && (config->second_direction || config->second_noise_std > 0))
        status = store_fail(err, LINEAGE_ECORRUPT, "lineage.json: second_direction and second_noise_std belong to \"second\"");
    json_decref(root);
    return status;
}

/* Uses Jansson, because it knows which characters JSON must escape. */
static void put_quoted(struct buf *out, const char *text)
{
    json_auto_t *string = json_string(text);
    SCOPED_FREE char *quoted = json_dumps(string, JSON_ENCODE_ANY);
    if (quoted)
        buf_puts(out, quoted);
    else
        out->failed = true;
}

static void put_string(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, ",\n  \"%s\": ", key);
    put_quoted(out, text);
}

static void put_rules(struct buf *out, const struct config_more *more)
{
    size_t n_lists = 0;
    for (size_t i = 0; i < N_RELATIONS; i++) {
        size_t n = 0;
        for (size_t k = 0; k < more->n_rules; k++) {
            if (more->rules[k].relation != relations[i].relation)
                continue;
            if (n++)
                buf_puts(out, ", [");
            else
                buf_printf(out, "%s    \"%s\": [[", n_lists++ ? ",\n" : ",\n  \"knobs\": {\n", relations[i].key);
            for (size_t j = 0; j < more->rules[k].n; j++) {
                buf_puts(out, j ? ", " : "");
                put_quoted(out, more->rules[k].names[j]);
            }
            buf_put(out, ']');
        }
        if (n)
            buf_put(out, ']');
    }
    if (n_lists)
        buf_puts(out, "\n  }");
}

static void put_texts(struct buf *out, const char *key, const char *const *texts)
{
    if (!texts || !texts[0])
        return;
    buf_printf(out, ",\n  \"%s\": [", key);
    for (size_t i = 0; texts[i]; i++) {
        buf_puts(out, i ? ", " : "");
        put_quoted(out, texts[i]);
    }
    buf_put(out, ']');
}

/* Does not use Jansson, because its %.17g would write 0.1 as 0.10000000000000001 into a file that people edit. A zero
 * is left out, because it is the default. */
static void put_number(struct buf *out, const char *key, double value)
{
    char number[LINEAGE_NUMBER_MAX];
    if (value != 0)
        buf_printf(out, ",\n  \"%s\": %s", key, lineage_number_format(number, value));
}

void config_write(struct buf *out, const struct lineage_config *config, const struct config_more *more)
{
    buf_printf(out, "{\n  \"direction\": \"%s\"", config->direction == LINEAGE_HIGHER ? "higher" : "lower");
    if (config->metric[0])
        put_string(out, "metric", config->metric);
    if (config->metric_label[0])
        put_string(out, "metric_label", config->metric_label);
    put_number(out, "min_delta", config->min_delta);
    put_number(out, "noise_std", config->noise_std);
    for (size_t i = 0; i < N_COUNTS; i++) {
        struct lineage_config copy = *config;
        if (*count_of(&copy, i))
            buf_printf(out, ",\n  \"%s\": %u", counts[i].key, *count_of(&copy, i));
    }
    if (config->second[0]) {
        put_string(out, "second", config->second);
        put_string(out, "second_direction", config->second_direction == LINEAGE_HIGHER ? "higher" : "lower");
        put_number(out, "second_noise_std", config->second_noise_std);
    }
    if (more) {
        if (more->score)
            put_string(out, "score", more->score);
        put_rules(out, more);
        put_texts(out, "secret_files", more->secret_files);
        put_texts(out, "harmless_names", more->harmless_names);
        put_texts(out, "seeds", more->seeds);
    }
    buf_puts(out, "\n}\n");
}

/* Checks a struct that a caller filled in: config_parse must be able to read what init writes, otherwise the store
 * could never be opened again. memchr is used because the caller's array may lack a NUL. */
enum lineage_status config_check(const struct lineage_config *config, struct lineage_error *err)
{
    const struct {
        const char *number_key, *text_key, *text;
        double number;
    } members[] = {{"min_delta", "metric", config->metric, config->min_delta},
                   {"noise_std", "metric_label", config->metric_label, config->noise_std},
                   {"second_noise_std", "second", config->second, config->second_noise_std}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (!isfinite(members[i].number) || members[i].number < 0)
            return store_fail(err, LINEAGE_EINVAL, "%s must be a finite number from 0 on", members[i].number_key);
        if (!memchr(members[i].text, 0, LINEAGE_NAME_MAX) || !lineage_text_is_utf8(members[i].text, strlen(members[i].text)))
            return store_fail(err, LINEAGE_EINVAL, "%s must be UTF-8 of at most 63 bytes", members[i].text_key);
    }
    if (!config->second[0] && (config->second_direction || config->second_noise_std > 0))
        return store_fail(err, LINEAGE_EINVAL, "second_direction and second_noise_std belong to a second score");
    return LINEAGE_OK;
}
