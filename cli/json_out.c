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

static void print_key(FILE *out, const char *key)
{
    json_t *string = cli_json_text(key);
    json_dumpf(string, out, JSON_ENCODE_ANY);
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
        print_key(out, key);
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
    case JSON_STRING: json_dumpf(value, out, JSON_ENCODE_ANY); break;
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

/* One code point from *in to *out: NUL where text holds it as C0 80, U+FFFD for a byte that is not UTF-8. */
static void copy_point(char **out, const char **in, size_t left)
{
    bool nul = strncmp(*in, "\xc0\x80", 2) == 0;
    size_t n = nul ? 2 : lineage_text_prefix(*in, left, 1);
    bool valid = lineage_text_is_utf8(*in, n);
    if (nul)
        *(*out)++ = '\0';
    else
        *out = (char *)memcpy(*out, valid ? *in : "\xef\xbf\xbd", valid ? n : 3) + (valid ? n : 3);
    *in += n;
}

json_t *cli_json_text(const char *text)
{
    size_t length = text ? strlen(text) : 0;
    json_t *string = json_string(text ? text : "");
    if (string)
        return string;
    char *mended = malloc(length * 3 + 1), *out = mended;
    for (const char *in = text, *end = text + length; mended && in < end;)
        copy_point(&out, &in, (size_t)(end - in));
    string = mended ? json_stringn(mended, (size_t)(out - mended)) : NULL;
    free(mended);
    return string;
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
