/*
 * json_get.c: `json_get PATH < file` prints a member of a JSON text, for shell tests. PATH is keys
 * and list indices joined by `.` (`chain.0.exp_id`); `#` counts the elements; an empty path selects
 * the whole text. Text is printed raw, everything else as JSON. Exit status 1 if the member does
 * not exist, 2 if the input is not JSON.
 */
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static size_t count(const json_t *value)
{
    return json_is_array(value) ? json_array_size(value) : json_object_size(value);
}

static const json_t *step(const json_t *value, const char *key)
{
    return json_is_array(value) ? json_array_get(value, strtoul(key, NULL, 10)) : json_object_get(value, key);
}

static int reads_back(const char *text, const json_t *value)
{
    json_t *again = text ? json_loads(text, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
    int same = again && json_equal(again, value);
    json_decref(again);
    return same;
}

/* Prints a value. Numbers get the fewest digits from which the same number is read again. */
static int print(const json_t *value)
{
    if (json_is_string(value))
        return puts(json_string_value(value)) == EOF;
    char *text = NULL;
    for (size_t digits = 15; digits <= 17; digits++) {
        free(text);
        text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(digits));
        if (reads_back(text, value))
            break;
    }
    int failed = !text || puts(text) == EOF;
    free(text);
    return failed;
}

static int get(const json_t *value, char *path)
{
    for (char *key = strtok(path, "."); key && value; key = strtok(NULL, ".")) {
        if (strcmp(key, "#") == 0)
            return printf("%zu\n", count(value)) < 0;
        value = step(value, key);
    }
    return value ? print(value) : 1;
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *root = json_loadf(stdin, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!root || argc != 2) {
        fprintf(stderr, "json_get: line %d column %d: %s\n", error.line, error.column, error.text);
        return 2;
    }
    int status = get(root, argv[1]);
    json_decref(root);
    return status;
}
