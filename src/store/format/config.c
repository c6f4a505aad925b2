/*
 * config.c: lineage.json (schema/lineage.schema.json). The parser is strict: if a mistyped "direction" were ignored,
 * every keep would become a discard, and nobody would look in this file for the reason.
 */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "../fail.h"
#include "json_text.h"

static const char *const keys[] = {"direction",   "metric",    "metric_label", "min_delta",
                                   "noise_std", "noise_seeds",  "log", NULL};

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
static enum lineage_status read_direction(struct lineage_config *config, const json_t *value,
                                          struct lineage_error *err)
{
    const char *text = json_is_string(value) ? json_string_value(value) : "";
    if (strcmp(text, "lower") == 0)
        config->direction = LINEAGE_LOWER;
    else if (strcmp(text, "higher") == 0)
        config->direction = LINEAGE_HIGHER;
    else
        return wrong("direction", "\"lower\" or \"higher\"", err);
    return LINEAGE_OK;
}

/* A name that is too long is refused instead of cut: a column name cut at 63 bytes would name another column, or
 * none. */
static enum lineage_status read_name(char out[LINEAGE_NAME_MAX], const char *key, const json_t *value,
                                     struct lineage_error *err)
{
    const char *text = json_string_value(value);
    if (!text || strlen(text) >= LINEAGE_NAME_MAX)
        return wrong(key, "a string of at most 63 bytes", err);
    strcpy(out, text);
    return LINEAGE_OK;
}

/* A negative number is always a mistake, because neither a standard deviation nor a minimum gain can be below 0. */
static enum lineage_status read_positive(double *out, const char *key, const json_t *value,
                                         struct lineage_error *err)
{
    *out = json_number_value(value);
    return json_is_number(value) && *out >= 0 ? LINEAGE_OK : wrong(key, "a number from 0 on", err);
}

/* Jansson's integers have 64 bits, the member 32: without a bound 4294967296 seeds would become 0. */
static enum lineage_status read_seeds(unsigned *out, const json_t *value, struct lineage_error *err)
{
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 0 || n > 1000000)
        return wrong("noise_seeds", "a whole number from 0 on", err);
    *out = (unsigned)n;
    return LINEAGE_OK;
}

static enum lineage_status read_key(struct lineage_config *config, const char *key, const json_t *value,
                                    struct lineage_error *err)
{
    if (strcmp(key, "direction") == 0)
        return read_direction(config, value, err);
    if (strcmp(key, "metric") == 0)
        return read_name(config->metric, key, value, err);
    if (strcmp(key, "metric_label") == 0)
        return read_name(config->metric_label, key, value, err);
    if (strcmp(key, "min_delta") == 0)
        return read_positive(&config->min_delta, key, value, err);
    if (strcmp(key, "noise_std") == 0)
        return read_positive(&config->noise_std, key, value, err);
    if (strcmp(key, "log") == 0)
        return json_is_string(value) ? LINEAGE_OK : wrong(key, "a string", err);
    return read_seeds(&config->noise_seeds, value, err);
}

enum lineage_status config_parse(struct lineage_config *config, char **log, const char *text, size_t length,
                                 struct lineage_error *err)
{
    const char *key;
    json_t *value;
    *config = (struct lineage_config){.direction = LINEAGE_LOWER};
    if (log)
        *log = NULL;
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
            status = store_fail(err, LINEAGE_ECORRUPT,
                                "lineage.json: unknown key '%.40s'; known are direction, metric, metric_label, "
                                "min_delta, noise_std, noise_seeds, log",
                                key);
        else
            status = read_key(config, key, value, err);
    }
    /* Machines that share a log must agree on which scores are better, so such a file has no settings of its own. */
    if (status == LINEAGE_OK && json_object_get(root, "log") && json_object_size(root) > 1)
        status = store_fail(err, LINEAGE_ECORRUPT, "lineage.json: beside \"log\" there is nothing else, for the settings of a "
                                                   "log on a server are kept there");
    if (status == LINEAGE_OK && log && json_object_get(root, "log") &&
        !(*log = strdup(json_string_value(json_object_get(root, "log")))))
        status = store_no_memory(err);
    json_decref(root);
    return status;
}

/* Uses Jansson, because it knows which characters JSON must escape. */
static void put_string(struct buf *out, const char *key, const char *text)
{
    json_t *string = json_string(text);
    char *quoted = json_dumps(string, JSON_ENCODE_ANY);
    if (quoted)
        buf_printf(out, ",\n  \"%s\": %s", key, quoted);
    else
        out->failed = true;
    lineage_free(quoted);
    json_decref(string);
}

/* Does not use Jansson, because its %.17g would write 0.1 as 0.10000000000000001 into a file that people edit. A zero
 * is left out, because it is the default. */
static void put_number(struct buf *out, const char *key, double value)
{
    char number[LINEAGE_NUMBER_MAX];
    if (value != 0)
        buf_printf(out, ",\n  \"%s\": %s", key, lineage_number_format(number, value));
}

void config_write(struct buf *out, const struct lineage_config *config)
{
    buf_printf(out, "{\n  \"direction\": \"%s\"", config->direction == LINEAGE_HIGHER ? "higher" : "lower");
    if (config->metric[0])
        put_string(out, "metric", config->metric);
    if (config->metric_label[0])
        put_string(out, "metric_label", config->metric_label);
    put_number(out, "min_delta", config->min_delta);
    put_number(out, "noise_std", config->noise_std);
    if (config->noise_seeds)
        buf_printf(out, ",\n  \"noise_seeds\": %u", config->noise_seeds);
    buf_puts(out, "\n}\n");
}

/* Checks a struct that a caller filled in: config_parse must be able to read what init writes, otherwise the store
 * could never be opened again. memchr is used because the caller's array may lack a NUL. */
enum lineage_status config_check(const struct lineage_config *config, struct lineage_error *err)
{
    const double numbers[] = {config->min_delta, config->noise_std};
    const char *const texts[] = {config->metric, config->metric_label};
    for (size_t i = 0; i < 2; i++) {
        if (!isfinite(numbers[i]) || numbers[i] < 0)
            return store_fail(err, LINEAGE_EINVAL, "%s must be a finite number from 0 on",
                              i ? "noise_std" : "min_delta");
        if (!memchr(texts[i], 0, LINEAGE_NAME_MAX) || !lineage_text_is_utf8(texts[i], strlen(texts[i])))
            return store_fail(err, LINEAGE_EINVAL, "%s must be UTF-8 of at most 63 bytes",
                              i ? "metric_label" : "metric");
    }
    return LINEAGE_OK;
}
