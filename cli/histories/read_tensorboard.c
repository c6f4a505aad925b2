/*
 * read_tensorboard.c: event files of TensorBoard. Each directory with event files below the path is a run.
 *
 * A file is a sequence of records: length (8 bytes), its checksum, the data, its checksum. The checksum is CRC-32C, rotated and
 * with a constant added (TFRecord). The data is a protocol buffer (tensorflow/core/util/event.proto): scalars are in
 * summary.value, as simple_value or as a tensor of one number, and settings in the plug-in data of hparams.
 */
#include <errno.h>
#include <fts.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "histories/readers.h"

enum { FILE_BYTES = 1 << 30, PREFIX = 12, SUFFIX = 4 };

#define EVENTS ".tfevents."

/* ---- bytes ---- */

static uint32_t crc32c(const uint8_t *bytes, size_t n)
{
    uint32_t crc = ~0u;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static uint64_t little_endian(const uint8_t *bytes, int n)
{
    uint64_t value = 0;
    while (n-- > 0)
        value = value << 8 | bytes[n];
    return value;
}

static bool is_intact(const uint8_t *bytes, size_t n)
{
    const uint32_t crc = crc32c(bytes, n), masked = (crc >> 15 | crc << 17) + 0xa282ead8u;
    return masked == (uint32_t)little_endian(bytes + n, 4);
}

struct bytes {
    const uint8_t *at, *end;
};

static bool varint(uint64_t *value, struct bytes *from)
{
    *value = 0;
    for (int shift = 0; shift < 64 && from->at < from->end; shift += 7) {
        uint8_t byte = *from->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* One field of a message. number holds a varint or the bits of a fixed width, part the bytes of a length-delimited field. */
struct field {
    uint64_t id, number;
    enum { VARINT = 0, FIXED64 = 1, PART = 2, FIXED32 = 5 } wire;
    struct bytes part;
};

static bool next_field(struct field *field, struct bytes *from)
{
    uint64_t tag, length;
    if (!varint(&tag, from))
        return false;
    field->id = tag >> 3;
    field->part = (struct bytes){from->at, from->at};
    const size_t left = (size_t)(from->end - from->at);
    switch (tag & 7) {
    case VARINT: field->wire = VARINT; return varint(&field->number, from);
    case FIXED64:
    case FIXED32: {
        const int n = (tag & 7) == FIXED64 ? 8 : 4;
        if (left < (size_t)n)
            return false;
        field->wire = n == 8 ? FIXED64 : FIXED32;
        field->number = little_endian(from->at, n);
        from->at += n;
        return true;
    }
    case PART:
        if (!varint(&length, from) || length > (uint64_t)(from->end - from->at))
            return false;
        field->wire = PART;
        field->part = (struct bytes){from->at, from->at + length};
        from->at += length;
        return true;
    default: return false;
    }
}

static double as_double(const struct field *field)
{
    double value;
    float single;
    const uint32_t bits = (uint32_t)field->number;
    if (field->wire == FIXED64) {
        memcpy(&value, &field->number, sizeof value);
        return value;
    }
    memcpy(&single, &bits, sizeof single);
    return field->wire == FIXED32 ? (double)single : (double)NAN;
}

static void copy_text(char *out, size_t size, struct bytes from)
{
    size_t n = (size_t)(from.end - from.at);
    n = n < size ? n : size - 1;
    memcpy(out, from.at, n);
    out[n] = '\0';
}

/* ---- hparams ---- */

/* google.protobuf.Value */
static json_t *setting_of(struct bytes value)
{
    struct field field;
    char text[512];
    while (next_field(&field, &value)) {
        if (field.id == 2 && field.wire == FIXED64)
            return json_real(isfinite(as_double(&field)) ? as_double(&field) : 0);
        if (field.id == 3 && field.wire == PART)
            return copy_text(text, sizeof text, field.part), history_text(text);
        if (field.id == 4 && field.wire == VARINT)
            return json_boolean(field.number != 0);
    }
    return NULL;
}

/* One entry of the map from names to values. */
static void add_setting(json_t *run, struct bytes entry)
{
    struct field field;
    char name[256] = "";
    json_t *value = NULL;
    while (next_field(&field, &entry)) {
        if (field.id == 1 && field.wire == PART)
            copy_text(name, sizeof name, field.part);
        if (field.id == 2 && field.wire == PART && !value)
            value = setting_of(field.part);
    }
    if (name[0] && value)
        history_add_param(run, name, json_incref(value));
    json_decref(value);
}

static void add_hparams(json_t *run, struct bytes content)
{
    enum { START_INFO = 3, END_INFO = 4, FAILURE = 2 };
    struct field outer, field;
    while (next_field(&outer, &content)) {
        const bool start = outer.id == START_INFO && outer.wire == PART, end = outer.id == END_INFO && outer.wire == PART;
        while ((start || end) && next_field(&field, &outer.part)) {
            if (start && field.id == 1 && field.wire == PART)
                add_setting(run, field.part);
            if (end && field.id == 1 && field.wire == VARINT && field.number == FAILURE)
                history_set_text(run, "state", "failed");
        }
    }
}

/* ---- events ---- */

/* A tensor with one number. */
static double scalar_of(struct bytes tensor)
{
    enum { FLOAT = 1, DOUBLE = 2 };
    struct field field;
    uint64_t type = 0;
    double value = (double)NAN;
    while (next_field(&field, &tensor)) {
        const size_t n = (size_t)(field.part.end - field.part.at);
        struct field inner = {.wire = FIXED32};
        if (field.id == 1 && field.wire == VARINT)
            type = field.number;
        else if ((field.id == 4 || field.id == 5 || field.id == 6) && field.wire == PART && (n == 4 || n == 8)) {
            const bool is_double = n == 8 && (field.id == 6 || type == DOUBLE);
            if (n == 8 && !is_double)
                return (double)NAN;
            inner.wire = is_double ? FIXED64 : FIXED32;
            inner.number = little_endian(field.part.at, (int)n);
            value = as_double(&inner);
        } else if ((field.id == 5 && field.wire == FIXED32) || (field.id == 6 && field.wire == FIXED64)) {
            value = as_double(&field);
        }
    }
    return type == FLOAT || type == DOUBLE ? value : (double)NAN;
}

static void add_value(json_t *run, int64_t step, struct bytes value)
{
    struct field field, inner, plugin;
    char tag[256] = "", name[32] = "";
    double number = (double)NAN;
    struct bytes content = {NULL, NULL};
    bool any = false;
    while (next_field(&field, &value)) {
        if (field.id == 1 && field.wire == PART)
            copy_text(tag, sizeof tag, field.part);
        else if (field.id == 2 && field.wire == FIXED32)
            number = as_double(&field), any = true;
        else if (field.id == 8 && field.wire == PART)
            number = scalar_of(field.part), any = !isnan(number); /* pictures and texts are tensors, too */
        else if (field.id == 9 && field.wire == PART)
            while (next_field(&inner, &field.part))
                while (inner.id == 1 && inner.wire == PART && next_field(&plugin, &inner.part)) {
                    if (plugin.id == 1 && plugin.wire == PART)
                        copy_text(name, sizeof name, plugin.part);
                    if (plugin.id == 2 && plugin.wire == PART)
                        content = plugin.part;
                }
    }
    if (strcmp(name, "hparams") == 0 && content.at)
        add_hparams(run, content);
    else if (any && tag[0])
        history_add_point(run, tag, step, number);
}

static void add_event(json_t *run, struct bytes event)
{
    struct field field, value;
    double time = (double)NAN;
    int64_t step = 0;
    struct bytes summary = {NULL, NULL};
    while (next_field(&field, &event)) {
        if (field.id == 1 && field.wire == FIXED64)
            time = as_double(&field);
        else if (field.id == 2 && field.wire == VARINT)
            step = (int64_t)field.number;
        else if (field.id == 5 && field.wire == PART)
            summary = field.part;
    }
    if (!json_object_get(run, "started"))
        history_set_time(run, "started", time);
    history_set_time(run, "ended", time);
    while (summary.at && next_field(&value, &summary))
        if (value.id == 1 && value.wire == PART)
            add_value(run, step, value.part);
}

/* A record that is not complete ends the file: its writer was killed, or is still writing. */
static bool read_events(json_t *run, const char *path, char why[HISTORY_WHY_MAX])
{
    size_t length, at = 0;
    uint8_t *data = (uint8_t *)history_file_text(path, FILE_BYTES, &length, why);
    bool good = data != NULL;
    while (good && length - at >= PREFIX) {
        const uint64_t n = little_endian(data + at, 8);
        if (!is_intact(data + at, 8)) {
            good = history_fail(why, "%.300s: the record at byte %zu is damaged", path, at);
        } else if (n > length - at - PREFIX || length - at - PREFIX - n < SUFFIX) {
            break;
        } else if (!is_intact(data + at + PREFIX, (size_t)n)) {
            good = history_fail(why, "%.300s: the record at byte %zu is damaged", path, at);
        } else {
            add_event(run, (struct bytes){data + at + PREFIX, data + at + PREFIX + n});
            at += PREFIX + (size_t)n + SUFFIX;
        }
    }
    free(data);
    return good;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* The files of a directory are read in the order of their names, which begin with the time. */
json_t *read_tensorboard(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    char *const paths[] = {(char *)(uintptr_t)path, NULL};
    FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_COMFOLLOW, by_name);
    json_t *history = history_new("tensorboard"), *index = json_object();
    const size_t root = strlen(path);
    bool good = tree != NULL || history_fail(why, "cannot read %.300s: %s", path, strerror(errno));
    (void)options;
    for (FTSENT *entry; good && (entry = fts_read(tree));) {
        if (entry->fts_info != FTS_F || !strstr(entry->fts_name, EVENTS))
            continue;
        char key[PATH_MAX];
        const size_t end = strlen(entry->fts_path) - entry->fts_namelen;
        const size_t skip = root < end ? root + strspn(entry->fts_path + root, "/") : end;
        snprintf(key, sizeof key, "%.*s", end > skip + 1 ? (int)(end - skip - 1) : 1, end > skip + 1 ? entry->fts_path + skip : ".");
        json_t *run = history_run_of(history, index, key);
        history_set_text(run, "name", key);
        good = run && read_events(run, entry->fts_path, why);
    }
    if (tree)
        fts_close(tree);
    json_decref(index);
    if (good && json_array_size(json_object_get(history, "runs")))
        return history;
    if (good)
        history_fail(why, "%.300s has no event files of TensorBoard", path);
    json_decref(history);
    return NULL;
}
