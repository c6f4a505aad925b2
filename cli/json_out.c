/* json_out.c: JSON in and out. Numbers are printed as the store writes them: the shortest exact form. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/text.h>

#include "cli.h"

static void print_value(FILE *out, const json_t *value, bool indent, int depth);

static void new_line(FILE *out, bool indent, int depth)
{
    if (indent)
        fprintf(out, "\n%*s", depth * 2, "");
}

static void print_string(FILE *out, const char *text)
{
    json_t *string = json_string_nocheck(text);
    if (json_dumpf(string, out, JSON_ENCODE_ANY) != 0)
        fputs("\"\\ufffd\"", out); /* not UTF-8: a damaged cell shown for diagnosis */
    json_decref(string);
}

static void print_object(FILE *out, const json_t *object, bool indent, int depth)
{
    const char *key;
    json_t *value;
    bool first = true;
    fputc('{', out);
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (!first)
            fputs(indent ? "," : ", ", out);
        first = false;
        new_line(out, indent, depth + 1);
        print_string(out, key);
        fputs(": ", out);
        print_value(out, value, indent, depth + 1);
    }
    if (!first)
        new_line(out, indent, depth);
    fputc('}', out);
}

/* Lists of scalars stay on one line. */
static bool is_flat(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (json_is_object(json_array_get(array, i)) || json_is_array(json_array_get(array, i)))
            return false;
    return true;
}

static void print_array(FILE *out, const json_t *array, bool indent, int depth)
{
    bool lines = indent && !is_flat(array);
    fputc('[', out);
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (i)
            fputs(lines ? "," : ", ", out);
        new_line(out, lines, depth + 1);
        print_value(out, json_array_get(array, i), indent, depth + 1);
    }
    if (json_array_size(array))
        new_line(out, lines, depth);
    fputc(']', out);
}

static void print_value(FILE *out, const json_t *value, bool indent, int depth)
{
    char number[LINEAGE_NUMBER_MAX];
    switch (json_typeof(value)) {
    case JSON_OBJECT: print_object(out, value, indent, depth); break;
    case JSON_ARRAY: print_array(out, value, indent, depth); break;
    case JSON_STRING: print_string(out, json_string_value(value)); break;
    case JSON_INTEGER: fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL: fputs(lineage_number_format(number, json_real_value(value)), out); break;
    case JSON_TRUE: fputs("true", out); break;
    case JSON_FALSE: fputs("false", out); break;
    case JSON_NULL: fputs("null", out); break;
    }
}

void cli_json_print(FILE *out, const json_t *value, bool indent)
{
    print_value(out, value, indent, 0);
    fputc('\n', out);
}

json_t *cli_json_number(double value)
{
    char text[LINEAGE_NUMBER_MAX];
    return isfinite(value) ? json_real(value) : json_string(lineage_number_format(text, value));
}

json_t *cli_json_text(const char *text)
{
    json_t *string = json_string(text ? text : "");
    return string ? string : json_string("\xef\xbf\xbd");
}

static char *read_stream(FILE *in, size_t *length)
{
    size_t capacity = 1u << 16, n;
    char *data = malloc(capacity);
    *length = 0;
    while (data && (n = fread(data + *length, 1, capacity - *length - 1, in)) > 0) {
        *length += n;
        if (*length + 1 == capacity) {
            char *grown = realloc(data, capacity *= 2);
            if (!grown)
                free(data);
            data = grown;
        }
    }
    if (data && ferror(in)) {
        free(data);
        return NULL;
    }
    if (data)
        data[*length] = '\0';
    return data;
}

char *cli_read_all(const char *path, size_t *length)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "rb");
    char *data = in ? read_stream(in, length) : NULL;
    if (!data)
        cli_error(CLI_USAGE, "cannot read %s", standard ? "standard input" : path);
    if (in && !standard)
        fclose(in);
    return data;
}

json_t *cli_json_load(const char *path)
{
    json_error_t error;
    size_t length;
    char *text = cli_read_all(path, &length);
    json_t *value = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, &error) : NULL;
    if (text && !value)
        cli_error(CLI_USAGE, "%s:%d:%d: %s", path, error.line, error.column, error.text);
    free(text);
    return value;
}
