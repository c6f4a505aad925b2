/* step_file.c: see step_file.h. Nothing in such a file is trusted: a trial has written it. */
#include "metrics/step_file.h"

#include <csv.h>
#include <strings.h>

#include <lineage/text.h>

#include "cli.h"
#include "metrics/event_lines.h"

enum { NAME_BYTES = 256, DEPTH = 16, COLUMNS_MAX = 4096 };

struct reading {
    step_file_take *take;
    void *context;
    char *why;
    size_t size;
    bool failed;
};

static bool fail(struct reading *r, const char *what)
{
    if (!r->failed)
        snprintf(r->why, r->size, "%s", what);
    r->failed = true;
    return false;
}

static void take_member(struct reading *r, const char *name, const json_t *value, int depth);

static void take_object(struct reading *r, const char *prefix, const json_t *object, int depth)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        char path[NAME_BYTES];
        int n = snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "/" : "", name);
        if (n > 0 && (size_t)n < sizeof path)
            take_member(r, path, value, depth);
    }
}

/* The objects of a list are steps of what the list is in, so the name of the list is not a part of their names. */
static void take_list(struct reading *r, const char *name, const json_t *list, int depth)
{
    const char *slash = strrchr(name, '/');
    char parent[NAME_BYTES];
    size_t i;
    json_t *value;
    snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - name) : 0, name);
    json_array_foreach((json_t *)(uintptr_t)list, i, value) {
        if (json_is_object(value))
            take_object(r, parent, value, depth + 1);
        else if (*name && !json_is_array(value))
            take_member(r, name, value, depth + 1);
    }
}

static void take_member(struct reading *r, const char *name, const json_t *value, int depth)
{
    if (json_is_number(value))
        r->take(r->context, name, json_number_value(value));
    else if (event_says_not_finite(value))
        r->take(r->context, name, (double)NAN);
    else if (json_is_array(json_object_get(value, "steps")) && json_is_array(json_object_get(value, "values")))
        take_list(r, name, json_object_get(value, "values"),
                  depth); /* of Sacred: {"loss": {"steps": [0, 1], "values": [2.5, 2.1]}} */
    else if (json_is_object(value) && depth < DEPTH)
        take_object(r, name, value, depth + 1);
    else if (json_is_array(value) && depth < DEPTH)
        take_list(r, name, value, depth);
}

static bool is_last_line(const char *text, size_t at, size_t length)
{
    return !memchr(text + at, '\n', length - at) ||
           (size_t)((const char *)memchr(text + at, '\n', length - at) - text) + 1 == length;
}

static bool read_json(struct reading *r, const char *bytes, size_t length)
{
    size_t n = length, at = 0, objects = 0;
    char *quoted = cli_json_quoted(bytes, &n, CLI_QUOTE_WORDS);
    json_error_t error;
    if (!quoted)
        return fail(r, "out of memory");
    while (!r->failed) {
        while (at < n && strchr(" \t\r\n", quoted[at]))
            at++;
        json_t *value = at < n ? json_loadb(quoted + at, n - at, JSON_DISABLE_EOF_CHECK, &error) : NULL;
        if (!value && at < n && !(objects && is_last_line(quoted, at, n)))
            fail(r, error.text);
        if (!value)
            break;
        take_member(r, "", value, 0);
        json_decref(value);
        at += (size_t)error.position;
        objects++;
    }
    free(quoted);
    return !r->failed && (objects > 0 || fail(r, "it is empty"));
}

struct table {
    struct reading *reading;
    char (*names)[NAME_BYTES];
    size_t n_names, column, line;
    bool comment;
    size_t name_column, value_column; /* 1 + those of a table with one metric a line (Name,Value,Timestamp,Step); 0: none */
    char name[NAME_BYTES];            /* of this line's metric .. */
    double value;                     /* .. and its value, if it is a number */
    bool has_value;
    const char *metric; /* that the file is named for; "": none */
    bool unnamed;       /* each line is a step and a value of it */
};

/*
 * A table of two columns whose first line has a step and a number has no names: TorchRL's CSVLogger writes one for each metric, and the
 * path from scalars/ on is its name. The first line is a value then.
 */
static void find_unnamed(struct table *t)
{
    double step;
    t->unnamed = *t->metric && t->n_names == 2 && lineage_number_parse(&step, t->names[0], strlen(t->names[0])) &&
                 step == floor(step) && lineage_number_parse(&t->value, t->names[1], strlen(t->names[1]));
    if (t->unnamed)
        t->reading->take(t->reading->context, t->metric, t->value);
}

/* Whether the names in the first line are those of a table with one metric a line. */
static void find_name_and_value(struct table *t)
{
    static const char *const words[] = {"name", "metric", "key", "tag"};
    for (size_t i = 0; i < t->n_names; i++) {
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (strcasecmp(t->names[i], words[k]) == 0)
                t->name_column = i + 1;
        if (strcasecmp(t->names[i], "value") == 0)
            t->value_column = i + 1;
    }
    if (!t->value_column)
        t->name_column = 0;
}

static void on_cell(void *cell, size_t length, void *context)
{
    struct table *t = context;
    const char *text = cell ? cell : "";
    double value;
    while (length > 0 && (*text == ' ' || *text == '\t'))
        text++, length--;
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        length--;
    t->comment = t->comment || (t->column == 0 && length > 0 && *text == '#');
    if (!t->comment && t->line == 0 && t->column < COLUMNS_MAX) {
        snprintf(t->names[t->n_names++], NAME_BYTES, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES - 1), text);
    } else if (!t->comment && t->line > 0 && t->column + 1 == t->name_column) {
        snprintf(t->name, NAME_BYTES, "%.*s", (int)(length < NAME_BYTES ? length : NAME_BYTES - 1), text);
    } else if (!t->comment && t->line > 0 && t->column < t->n_names && length > 0 && lineage_number_parse(&value, text, length)) {
        if (t->unnamed && t->column == 1)
            t->reading->take(t->reading->context, t->metric, value);
        else if (!t->unnamed && !t->name_column)
            t->reading->take(t->reading->context, t->names[t->column], value);
        else if (t->column + 1 == t->value_column)
            t->value = value, t->has_value = true;
    }
    t->column++;
}

static void on_line(int end, void *context)
{
    struct table *t = context;
    (void)end;
    if (t->line == 0 && !t->comment && t->column > 0) {
        find_unnamed(t);
        find_name_and_value(t);
    }
    if (t->has_value && t->name[0])
        t->reading->take(t->reading->context, t->name, t->value);
    t->name[0] = '\0';
    t->has_value = false;
    t->line += !t->comment && t->column > 0;
    t->column = 0;
    t->comment = false;
}

/* What separates the names in the first line: a tab, a semicolon or a comma. */
static char delimiter(const char *bytes, size_t length)
{
    const char *end = memchr(bytes, '\n', length);
    const size_t n = end ? (size_t)(end - bytes) : length;
    return memchr(bytes, '\t', n) ? '\t' : memchr(bytes, ';', n) && !memchr(bytes, ',', n) ? ';' : ',';
}

const char *step_file_scalars(const char *path)
{
    const char *metric = "";
    for (const char *at = path; cli_ends_with(path, ".csv") && (at = strstr(at, "scalars/")); at++)
        metric = at == path || at[-1] == '/' ? at : metric;
    return metric;
}

static bool read_table(struct reading *r, const char *path, const char *bytes, size_t length)
{
    struct csv_parser parser;
    char metric[NAME_BYTES] = "";
    const char *name = step_file_scalars(path);
    if (*name)
        snprintf(metric, sizeof metric, "%.*s", (int)strlen(name) - 4, name);
    struct table table = {.reading = r, .names = calloc(COLUMNS_MAX, sizeof *table.names), .metric = metric};
    if (!table.names || csv_init(&parser, 0) != 0) {
        free(table.names);
        return fail(r, "out of memory");
    }
    csv_set_delim(&parser, (unsigned char)delimiter(bytes, length));
    if (csv_parse(&parser, bytes, length, on_cell, on_line, &table) != length || csv_fini(&parser, on_cell, on_line, &table) != 0)
        fail(r, csv_strerror(csv_error(&parser)));
    csv_free(&parser);
    free(table.names);
    return !r->failed && (table.n_names > 1 || fail(r, "it is not a table with names in its first line"));
}

/* One .npy. Arrays of other types hold no metric. */
static void take_array(struct reading *r, const char *name, const uint8_t *data, size_t length)
{
    struct npy npy;
    char why[120];
    if (!npy_read(&npy, (const char *)data, length, why, sizeof why) || !npy.rows || !strchr("fi", npy.kind) || npy.size < 4)
        return;
    const size_t width = npy.length / npy.size / npy.rows;
    for (size_t i = 0; width > 0 && i < npy.rows; i++) {
        double sum = 0;
        for (size_t k = 0; k < width; k++)
            sum += npy_value(&npy, i * width + k);
        r->take(r->context, name, sum / (double)width);
    }
}

static void take_entry(struct reading *r, const char *name, const uint8_t *data, size_t length)
{
    static const char *const also[][2] = {{"results", "eval/mean_reward"}, {"ep_lengths", "eval/mean_ep_length"}};
    take_array(r, name, data, length);
    for (size_t i = 0; i < sizeof also / sizeof *also; i++)
        if (strcmp(name, also[i][0]) == 0)
            take_array(r, also[i][1], data, length);
}

/* A zip file, read from the directory at its end, because the sizes in front of the entries may be left out. */
static bool read_arrays(struct reading *r, const uint8_t *bytes, size_t length)
{
    enum { END = 22, ENTRY = 46, LOCAL = 30, STORED = 0 };
    size_t end = length >= END ? length - END : 0;
    while (end > 0 && memcmp(bytes + end, "PK\5\6", 4) != 0)
        end--;
    if (length < END || memcmp(bytes + end, "PK\5\6", 4) != 0)
        return fail(r, "it is not a complete zip file");
    uint64_t at = npy_little_endian(bytes + end + 16, 4);
    for (uint64_t n = npy_little_endian(bytes + end + 10, 2); n > 0; n--) {
        if (at > end || end - at < ENTRY || memcmp(bytes + at, "PK\1\2", 4) != 0)
            return fail(r, "its directory is damaged");
        const uint64_t name = npy_little_endian(bytes + at + 28, 2),
                       rest = npy_little_endian(bytes + at + 30, 2) + npy_little_endian(bytes + at + 32, 2);
        const uint64_t size = npy_little_endian(bytes + at + 20, 4), local = npy_little_endian(bytes + at + 42, 4);
        if (end - at - ENTRY < name + rest || local > end || end - local < LOCAL)
            return fail(r, "its directory is damaged");
        const uint64_t from = local + LOCAL + npy_little_endian(bytes + local + 26, 2) + npy_little_endian(bytes + local + 28, 2);
        char text[NAME_BYTES];
        snprintf(text, sizeof text, "%.*s", (int)(name < NAME_BYTES ? name : NAME_BYTES - 1), (const char *)bytes + at + ENTRY);
        if (npy_little_endian(bytes + at + 10, 2) != STORED)
            return fail(r, "its arrays are compressed; write them with numpy.savez");
        if (from > end || size > end - from)
            return fail(r, "its directory is damaged");
        if (cli_ends_with(text, ".npy")) {
            text[strlen(text) - 4] = '\0';
            take_entry(r, text, bytes + from, (size_t)size);
        }
        at += ENTRY + name + rest;
    }
    return true;
}

bool step_file_read(const char *path, const char *bytes, size_t length, step_file_take *take, void *context, char *why,
                    size_t size)
{
    struct reading r = {.take = take, .context = context, .why = why, .size = size};
    if (cli_ends_with(path, ".npz"))
        return read_arrays(&r, (const uint8_t *)bytes, length);
    const bool json = cli_ends_with(path, ".json") || cli_ends_with(path, ".jsonl") || (length && strchr("{[", bytes[0]));
    return json && !cli_ends_with(path, ".csv") ? read_json(&r, bytes, length) : read_table(&r, path, bytes, length);
}

/* ---- arrays of NumPy ---- */

uint64_t npy_little_endian(const uint8_t *bytes, size_t n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 8 | bytes[n];
    return value;
}

/* The header is the text of a Python dictionary: {'descr': '<f8', 'fortran_order': False, 'shape': (500,), } */
bool npy_read(struct npy *npy, const char *bytes, size_t length, char *why, size_t size)
{
    enum { MAGIC = 6, HEADER_MAX = 4096 };
    const uint8_t *data = (const uint8_t *)bytes;
    const size_t wide = length > MAGIC && data[MAGIC] > 1 ? 4 : 2, start = 8 + wide;
    const uint64_t n = length >= start ? npy_little_endian(data + 8, wide) : 0;
    char header[HEADER_MAX + 1], order = 0, kind = 0, quote = 0, end = 0;
    unsigned value = 0;
    unsigned long long rows = 0;
    if (length < start || memcmp(data, "\x93NUMPY", MAGIC) != 0 || n > HEADER_MAX || n > length - start)
        return snprintf(why, size, "it is not a complete file of NumPy"), false;
    memcpy(header, data + start, n);
    header[n] = '\0';
    const char *type = strstr(header, "'descr': '"), *shape = strstr(header, "'shape': (");
    if (!type || sscanf(type + 10, "%c%c%1u%c", &order, &kind, &value, &quote) != 4 || quote != '\'' || !strchr("<|", order) ||
        !strchr("fiub", kind) || (value != 1 && value != 2 && value != 4 && value != 8) || (kind == 'f' && value < 4))
        return snprintf(why, size, "its type is none of float32, float64, integers and bool, with the low byte first"), false;
    if (!shape || strstr(header, "'fortran_order': True") || sscanf(shape + 10, "%llu,%c", &rows, &end) < 1 ||
        rows > SIZE_MAX / 8)
        return snprintf(why, size, "its shape is missing, or it is stored column by column"), false;
    *npy = (struct npy){data + start + n, length - start - n, (size_t)rows, value, end == ')', kind};
    return true;
}

double npy_value(const struct npy *npy, size_t i)
{
    const uint64_t bits = npy_little_endian(npy->at + i * npy->size, npy->size);
    const uint32_t low = (uint32_t)bits;
    const unsigned unused = (unsigned)(64 - 8 * npy->size);
    double wide;
    float narrow;
    if (npy->kind == 'f' && npy->size == 8)
        return memcpy(&wide, &bits, sizeof wide), wide;
    if (npy->kind == 'f')
        return memcpy(&narrow, &low, sizeof narrow), (double)narrow;
    return npy->kind == 'i' ? (double)((int64_t)(bits << unused) >> unused) : (double)bits;
}
