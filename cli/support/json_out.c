/*
 * json_out.c: reads and writes JSON.
 *
 * Jansson prints 17 digits of every number. Here a number is printed as the store writes it, in the shortest form that
 * reads back exactly, so that 0.3 in results.tsv is 0.3 in every output.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include <lineage/notes.h>
#include <lineage/render.h>
#include <lineage/text.h>

#include "cli.h"

void cli_json_set(json_t *object, ...)
{
    va_list args;
    const char *name;
    va_start(args, object);
    while ((name = va_arg(args, const char *)))
        json_object_set_new(object, name, va_arg(args, json_t *));
    va_end(args);
}

/* One line with blanks, several indented lines, or one line as short as possible. */
enum style { SPACED, INDENTED, COMPACT };

static void print_value(FILE *out, const json_t *value, enum style style, int depth);

static void new_line(FILE *out, enum style style, int depth)
{
    if (style == INDENTED)
        fprintf(out, "\n%*s", depth * 2, "");
}

/* Whether text has a character above ASCII that hides or reorders text; JSON itself escapes ASCII controls. Uses the
 * same function as text for terminals, so that both agree on what is dangerous. */
static bool is_hiding(const char *text, size_t length)
{
    char *copy = strndup(text, length);
    for (char *c = copy; c && *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    char *visible = copy ? lineage_text_visible(copy, strlen(copy), 0) : NULL;
    bool hiding = !visible || strcmp(visible, copy) != 0;
    lineage_free(visible);
    free(copy);
    return hiding;
}

/* JSON readers get the same string; characters that would control a terminal are written as escapes. */
static void print_string(FILE *out, const json_t *string)
{
    bool hiding = is_hiding(json_string_value(string), json_string_length(string));
    json_dumpf(string, out, JSON_ENCODE_ANY | (hiding ? JSON_ENSURE_ASCII : 0));
}

static void print_key(FILE *out, const char *key)
{
    json_t *string = cli_json_text(key);
    print_string(out, string);
    json_decref(string);
}

static void print_object(FILE *out, const json_t *object, enum style style, int depth)
{
    const char *key;
    json_t *value;
    bool first = true;
    fputc('{', out);
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (!first)
            fputs(style == SPACED ? ", " : ",", out);
        first = false;
        new_line(out, style, depth + 1);
        print_key(out, key);
        fputs(style == COMPACT ? ":" : ": ", out);
        print_value(out, value, style, depth + 1);
    }
    if (!first)
        new_line(out, style, depth);
    fputc('}', out);
}

/* Arrays of scalars are printed on one line. */
static bool is_flat(const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (json_is_object(json_array_get(array, i)) || json_is_array(json_array_get(array, i)))
            return false;
    return true;
}

static void print_array(FILE *out, const json_t *array, enum style style, int depth)
{
    bool lines = style == INDENTED && !is_flat(array);
    fputc('[', out);
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (i)
            fputs(lines || style == COMPACT ? "," : ", ", out);
        new_line(out, lines ? INDENTED : SPACED, depth + 1);
        print_value(out, json_array_get(array, i), style, depth + 1);
    }
    if (json_array_size(array))
        new_line(out, lines ? INDENTED : SPACED, depth);
    fputc(']', out);
}

static void print_value(FILE *out, const json_t *value, enum style style, int depth)
{
    char number[LINEAGE_NUMBER_MAX];
    switch (json_typeof(value)) {
    case JSON_OBJECT: print_object(out, value, style, depth); break;
    case JSON_ARRAY: print_array(out, value, style, depth); break;
    case JSON_STRING: print_string(out, value); break;
    case JSON_INTEGER: fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
    case JSON_REAL: fputs(lineage_number_format(number, json_real_value(value)), out); break;
    case JSON_TRUE: fputs("true", out); break;
    case JSON_FALSE: fputs("false", out); break;
    case JSON_NULL: fputs("null", out); break;
    }
}

void cli_json_print(FILE *out, const json_t *value, bool indent)
{
    print_value(out, value, indent ? INDENTED : SPACED, 0);
    fputc('\n', out);
}

int cli_json_answer(json_t *value)
{
    if (!value)
        return cli_no_memory();
    cli_json_print(stdout, value, true);
    json_decref(value);
    return CLI_OK;
}

void cli_json_element(json_t *value, bool first)
{
    fputs(first ? "\n " : ",\n ", stdout);
    print_value(stdout, value, SPACED, 0);
    json_decref(value);
}

char *cli_json_compact(const json_t *value, size_t *length)
{
    struct cli_writer text = {0};
    if (!cli_writer_open(&text))
        return NULL;
    print_value(text.out, value, COMPACT, 0);
    cli_writer_close(&text);
    *length = text.length;
    return text.text;
}

const char *cli_json_string(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

uint64_t cli_json_count(const json_t *object, const char *name)
{
    json_int_t n = json_integer_value(json_object_get(object, name));
    return n > 0 ? (uint64_t)n : 0;
}

const char *cli_json_member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* JSON has neither nan nor infinities, but rows of other tools contain them. A string preserves more than null. */
json_t *cli_json_number(double value)
{
    char text[LINEAGE_NUMBER_MAX];
    return isfinite(value) ? json_real(value) : json_string(lineage_number_format(text, value));
}

/* Counts stay integers, because some readers treat 3 and "3.0" as different. */
json_t *cli_json_digits(const char *number)
{
    double value = 0;
    if (!strpbrk(number, ".einfa") && strcmp(number, "-0") != 0) /* integers have no negative zero */
        return json_integer(strtoll(number, NULL, 10));
    lineage_number_parse(&value, number, strlen(number));
    return cli_json_number(value);
}

/* Copies one code point from *in to *out: a NUL that text holds as C0 80 becomes NUL, a byte that is not UTF-8 becomes
 * U+FFFD. */
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

/* Cells may contain invalid UTF-8, JSON may not. Valid text, which is nearly all text, is not copied. */
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

json_t *cli_json_own(char *text)
{
    json_t *string = text ? cli_json_text(text) : NULL;
    free(text);
    return string;
}

bool cli_json_is_wide(const json_t *value)
{
    char text[LINEAGE_NUMBER_MAX];
    snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return json_is_integer(value) && lineage_param_is_text(text);
}

/* A semicolon would end the parameter in the row. */
json_t *cli_json_spelled(const json_t *value)
{
    size_t length = 0;
    char *text = json_is_null(value) ? strdup("none") : cli_json_compact(value, &length);
    for (char *at = text; at && (at = strchr(at, ';'));)
        *at = ',';
    return cli_json_own(text);
}

/* A whole number of a parameter stays whole: a program that reads it may want an integer. */
json_t *cli_json_setting(double value)
{
    char text[LINEAGE_NUMBER_MAX];
    return cli_json_digits(lineage_setting_format(text, value));
}

json_t *cli_json_params(const struct lineage_param *params, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(object, params[i].name,
                            params[i].text ? cli_json_text(params[i].text) : cli_json_setting(params[i].value));
    return object;
}

json_t *cli_json_metrics(const struct lineage_param *metrics, size_t n)
{
    json_t *object = json_object();
    for (size_t i = 0; i < n; i++)
        json_object_set_new(object, metrics[i].name, cli_json_number(metrics[i].value));
    return object;
}

long cli_max_input = CLI_MAX_INPUT;

static size_t limit_of_input(void)
{
    return cli_max_input > 0 && (unsigned long)cli_max_input < SIZE_MAX >> 20 ? (size_t)cli_max_input << 20 : SIZE_MAX;
}

/* Reads to the end of the stream and does not ask for its size, because a pipe has none. One byte is reserved for the
 * final NUL. */
static char *read_stream(FILE *in, size_t *length)
{
    size_t capacity = 1u << 16, n;
    char *data = malloc(capacity);
    *length = 0;
    while (data && *length <= limit_of_input() && (n = fread(data + *length, 1, capacity - *length - 1, in)) > 0) {
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

/* Standard input may be anything, because the user connected it. A path must be a regular file, because a pipe might
 * never end. */
static FILE *open_input(const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return stdin;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool known = fd >= 0 && fstat(fd, &st) == 0;
    if (known && S_ISREG(st.st_mode))
        return fdopen(fd, "rb");
    if (known)
        cli_error(CLI_USAGE, "cannot read %s: it is not a regular file; use - to read standard input", path);
    else
        cli_error(CLI_USAGE, "cannot read %s: %s", path, strerror(errno));
    cli_close(fd);
    return NULL;
}

char *cli_read_all(const char *path, size_t *length)
{
    FILE *in = open_input(path);
    const char *name = in == stdin ? "standard input" : path;
    char *data = in ? read_stream(in, length) : NULL;
    if (in && !data)
        cli_error(CLI_USAGE, "cannot read %s", name);
    if (data && *length > limit_of_input()) {
        cli_error(CLI_USAGE, "%s is larger than %ld MiB; raise the limit with --max-input", name, cli_max_input);
        free(data);
        data = NULL;
    }
    if (in && in != stdin)
        fclose(in);
    return data;
}

/* Whether the n bytes are an integer of JSON that jansson refuses, such as a seed of 64 bits. One in place of a name is an error. */
static bool is_long_integer(const char *at, size_t n)
{
    const size_t sign = *at == '-';
    const char *behind = at + n;
    if (behind[strspn(behind, " \t\r\n")] == ':')
        return false;
    if (n < sign + 19 || at[sign] == '0' || sign + strspn(at + sign, "0123456789") != n)
        return false;
    errno = 0;
    strtoll(at, NULL, 10);
    return errno == ERANGE;
}

/* Python's json writes NaN and infinities as bare words, which are not JSON: they become texts, as W&B itself writes them. So do
 * integers of more than 64 bits, which a parameter holds as a text. */
char *cli_json_quoted(const char *text, size_t *length, unsigned what)
{
    static const char *const bare[] = {"NaN", "Infinity", "-Infinity"};
    char *out = malloc(2 * *length + 3);
    size_t n = 0, word;
    bool in_text = false;
    for (const char *at = text, *end = text + *length; out && at < end; at++) {
        for (word = what & CLI_QUOTE_WORDS ? 0 : 3; !in_text && word < 3; word++)
            if ((size_t)(end - at) >= strlen(bare[word]) && strncmp(at, bare[word], strlen(bare[word])) == 0)
                break;
        if (!in_text && word < 3) {
            n += (size_t)sprintf(out + n, "\"%s\"", bare[word]);
            at += strlen(bare[word]) - 1;
            continue;
        }
        /* A number is looked at as a whole, because the digits behind its point are not an integer. */
        const size_t digits = in_text || !(what & CLI_QUOTE_INTEGERS) ? 0 : strspn(at, "+-.0123456789eE");
        if (digits > 0) {
            const char *quote = is_long_integer(at, digits) ? "\"" : "";
            n += (size_t)sprintf(out + n, "%s%.*s%s", quote, (int)digits, at, quote);
            at += digits - 1;
            continue;
        }
        if (in_text && *at == '\\' && at + 1 < end)
            out[n++] = *at++;
        else if (*at == '"')
            in_text = !in_text;
        out[n++] = *at;
    }
    if (out)
        out[ *length = n] = '\0';
    return out;
}

/* Rejects duplicate keys, because nobody can know which of the two values was meant. */
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
