/*
 * read_tensorboard.c: event files of TensorBoard. Each directory with event files below the path is a run, but for those that libraries
 * make below the directory of a run: torch's add_hparams one with the settings, named after the time, and Keras train/ and validation/.
 *
 * A file is a sequence of records: length (8 bytes), its checksum, the data, its checksum. The checksum is CRC-32C, rotated and
 * with a constant added (TFRecord). The data is a protocol buffer (tensorflow/core/util/event.proto): scalars are in
 * summary.value, as simple_value or as a tensor of one number, and settings in the plug-in data of hparams.
 */
#include <dirent.h>

#include "histories/readers.h"

enum { FILE_BYTES = 1 << 30, PREFIX = 12, SUFFIX = 4 };

#define EVENTS ".tfevents."

static bool is_intact(const uint8_t *bytes, size_t n)
{
    const uint32_t crc = crc32_of(0, 0x82f63b78u, bytes, n), masked = (crc >> 15 | crc << 17) + 0xa282ead8u;
    return masked == (uint32_t)little_endian(bytes + n, 4);
}

/* google.protobuf.Value */
static json_t *setting_of(struct bytes value)
{
    struct field field;
    while (next_field(&field, &value)) {
        if (field.id == 2 && field.wire == FIXED64)
            return cli_json_number(as_double(&field));
        if (field.id == 3 && field.wire == PART)
            return text_of_bytes(field.part);
        if (field.id == 4 && field.wire == VARINT)
            return json_boolean(field.number != 0);
    }
    return NULL;
}

/* One entry of the map from names to values. */
static void add_setting(json_t *run, struct bytes entry)
{
    char name[256];
    copy_text(name, sizeof name, part_of(entry, 1));
    json_t *value = setting_of(part_of(entry, 2));
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

/* Whether the tensor is one number; pictures and texts are tensors, too. */
static bool scalar_of(double *value, struct bytes tensor)
{
    enum { FLOAT = 1, DOUBLE = 2 };
    struct field field;
    uint64_t type = 0;
    bool found = false;
    while (next_field(&field, &tensor)) {
        const size_t n = (size_t)(field.part.end - field.part.at);
        struct field inner = {.wire = FIXED32};
        if (field.id == 1 && field.wire == VARINT)
            type = field.number;
        else if ((field.id == 4 || field.id == 5 || field.id == 6) && field.wire == PART && (n == 4 || n == 8)) {
            const bool is_double = n == 8 && (field.id == 6 || type == DOUBLE);
            if (n == 8 && !is_double)
                return false;
            inner.wire = is_double ? FIXED64 : FIXED32;
            inner.number = little_endian(field.part.at, (int)n);
            *value = as_double(&inner);
            found = true;
        } else if ((field.id == 5 && field.wire == FIXED32) || (field.id == 6 && field.wire == FIXED64)) {
            *value = as_double(&field);
            found = true;
        }
    }
    return found && (type == FLOAT || type == DOUBLE);
}

static void add_value(json_t *run, const char *prefix, int64_t step, struct bytes value)
{
    const struct bytes plugin = part_of(part_of(value, 9), 1), content = part_of(plugin, 2);
    struct field field;
    char tag[256], name[32], path[300];
    double number = (double)NAN;
    bool any = false;
    copy_text(tag, sizeof tag, part_of(value, 1));
    copy_text(name, sizeof name, part_of(plugin, 1));
    while (next_field(&field, &value))
        if (field.id == 2 && field.wire == FIXED32)
            number = as_double(&field), any = true;
        else if (field.id == 8 && field.wire == PART)
            any = scalar_of(&number, field.part);
    snprintf(path, sizeof path, "%s%s", prefix, tag);
    if (strcmp(name, "hparams") == 0 && content.at)
        add_hparams(run, content);
    else if (any && tag[0])
        history_add_point(run, path, step, number);
}

static void add_event(json_t *run, const char *prefix, struct bytes event)
{
    struct field field;
    struct bytes summary = part_of(event, 5), again = event;
    double time = (double)NAN;
    uint64_t step = 0, status = 0;
    varint_of(&step, event, 2);
    while (next_field(&field, &again))
        time = field.id == 1 && field.wire == FIXED64 ? as_double(&field) : time;
    const json_t *started = json_object_get(run, "started"), *ended = json_object_get(run, "ended");
    if (!started || time < json_number_value(started))
        history_set_time(run, "started", time);
    if (!ended || time > json_number_value(ended))
        history_set_time(run, "ended", time);
    /* A writer that goes on from a checkpoint begins a session, as torch's purge_step and TensorFlow say it. */
    if (!*prefix && varint_of(&status, part_of(event, 7), 1) && status == 1)
        history_drop_points(run, (int64_t)step);
    while (next_field(&field, &summary))
        if (field.id == 1 && field.wire == PART)
            add_value(run, prefix, (int64_t)step, field.part);
}

/* A record that is not complete ends the file: its writer was killed, or is still writing. */
static bool read_events(json_t *run, const char *prefix, const char *path, char why[HISTORY_WHY_MAX])
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
            add_event(run, prefix, (struct bytes){data + at + PREFIX, data + at + PREFIX + n});
            at += PREFIX + (size_t)n + SUFFIX;
        }
    }
    free(data);
    return good;
}

static bool has_events(const char *dir, size_t length)
{
    char path[PATH_MAX];
    bool any = false;
    snprintf(path, sizeof path, "%.*s", (int)length, dir);
    DIR *in = opendir(path);
    for (struct dirent *entry; in && !any && (entry = readdir(in));)
        any = strstr(entry->d_name, EVENTS) != NULL;
    if (in)
        closedir(in);
    return any;
}

/* Whether a directory is named after the time, as add_hparams does it below a run's own events. */
static bool is_hparams(const char *dir, const char *name)
{
    const size_t digits = strspn(name, "0123456789");
    return digits >= 9 && name[digits] == '.' && !name[digits + 1 + strspn(name + digits + 1, "0123456789")] &&
           has_events(dir, strlen(dir) - strlen(name));
}

/* Cuts the last directory from the key of a run, if it is one that a library made. Returns the prefix that its metrics get. */
static const char *cut_key(char *key, const char *dir)
{
    static const char *const parts[] = {"train/", "validation/", "valid/", "val/", "eval/", "test/"};
    char *slash = strrchr(key, '/'), *last = slash ? slash + 1 : key;
    const char *prefix = is_hparams(dir, last) ? "" : NULL;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(last, parts[i], strlen(last)) == 0 && strlen(last) + 1 == strlen(parts[i]))
            prefix = parts[i];
    if (prefix)
        strcpy(slash ? slash : key, slash ? "" : ".");
    return prefix ? prefix : "";
}

/* Whether the directory is named after the tag, in which torch replaces each '/'. Returns the bytes of the name that are the tag's. */
static size_t flat_length(const char *name, const char *tag)
{
    size_t n = 0;
    while (tag[n] && (name[n] == tag[n] || (tag[n] == '/' && name[n] == '_')))
        n++;
    return tag[n] ? 0 : n;
}

/*
 * Writes the name TAG/CURVE that a metric of the run has in the run above, whose directory is `above`; false if it is none of its curves.
 * torch writes above/TAG_CURVE with the tag TAG, and tensorboardX above/TAG/CURVE, where cut_key has taken CURVE if it is train, val ..
 */
static bool name_in_above(char out[256], const char *above, const char *key, const char *metric)
{
    const size_t up = strcmp(above, ".") == 0 ? 0 : strlen(above) + 1;
    const char *rest = key + up, *slash = strchr(metric, '/');
    const size_t n = flat_length(rest, metric), tag = slash ? flat_length(rest, slash + 1) : 0;
    if (n && (rest[n] == '_' || rest[n] == '/') && rest[n + 1] && !strchr(rest + n + 1, '/'))
        snprintf(out, 256, "%.120s/%.120s", metric, rest + n + 1);
    else if (tag && !rest[tag])
        snprintf(out, 256, "%.120s/%.*s", slash + 1, (int)(slash - metric > 120 ? 120 : slash - metric), metric);
    else
        return false;
    return true;
}

static bool are_curves_of(const char *above, json_t *run)
{
    const char *key = json_string_value(json_object_get(run, "key")), *metric;
    json_t *metrics = json_object_get(run, "metrics"), *value;
    char name[256];
    json_object_foreach(metrics, metric, value)
        if (!name_in_above(name, above, key, metric))
            return false;
    return json_object_size(metrics) > 0 && !json_object_size(json_object_get(run, "params"));
}

/* The run whose directory the longest part of the key names; NULL: none. */
static json_t *run_above(const json_t *index, const char *key, char above[PATH_MAX])
{
    json_t *run = NULL;
    snprintf(above, PATH_MAX, "%s", key);
    for (char *slash; !run && (slash = strrchr(above, '/'));) {
        *slash = '\0';
        run = json_object_get(index, above);
    }
    if (!run && strcmp(key, ".") != 0)
        run = json_object_get(index, strcpy(above, "."));
    return run;
}

/* Curves that add_scalars put into directories of their own belong to the run that has them. */
static void join_scalars(json_t *history, json_t *index)
{
    static const char *const members[] = {"metrics", "curves", "steps"};
    json_t *runs = json_object_get(history, "runs"), *value;
    for (size_t i = json_array_size(runs); i-- > 0;) {
        json_t *run = json_array_get(runs, i);
        const char *key = json_string_value(json_object_get(run, "key")), *metric;
        char name[256], above[PATH_MAX];
        json_t *to = run_above(index, key, above);
        if (!to || !are_curves_of(above, run))
            continue;
        for (size_t k = 0; k < sizeof members / sizeof *members; k++)
            json_object_foreach(json_object_get(run, members[k]), metric, value)
                if (name_in_above(name, above, key, metric))
                    json_object_set(json_object_get(to, members[k]), name, value);
        json_object_set_new(to, "left_out",
                            json_integer(json_integer_value(json_object_get(to, "left_out")) +
                                         json_integer_value(json_object_get(run, "left_out"))));
        json_object_del(index, key);
        json_array_remove(runs, i);
    }
}

/* Whether the directory is what add_hparams makes below that of a run: settings, and one value of each metric. */
static bool are_settings_of(const json_t *above, const json_t *run)
{
    const char *name;
    json_t *curve;
    json_object_foreach(json_object_get(run, "curves"), name, curve)
        if (json_array_size(curve) > 1)
            return false;
    return above && json_object_size(json_object_get(run, "params")) && !json_object_size(json_object_get(above, "params")) &&
           json_object_size(json_object_get(above, "metrics"));
}

/* Settings in one directory below that of a run are its own; those in several ones are of as many trainings. */
static void join_settings(json_t *history, json_t *index)
{
    static const char *const members[] = {"params", "metrics", "curves"};
    json_t *runs = json_object_get(history, "runs"), *counts = json_object(), *run;
    char above[PATH_MAX];
    size_t i;
    json_array_foreach(runs, i, run)
        if (are_settings_of(run_above(index, json_string_value(json_object_get(run, "key")), above), run))
            json_object_set_new(counts, above, json_integer(json_integer_value(json_object_get(counts, above)) + 1));
    for (i = json_array_size(runs); i-- > 0;) {
        run = json_array_get(runs, i);
        const char *key = json_string_value(json_object_get(run, "key"));
        json_t *to = run_above(index, key, above);
        if (!are_settings_of(to, run) || json_integer_value(json_object_get(counts, above)) != 1)
            continue;
        for (size_t k = 0; k < sizeof members / sizeof *members; k++)
            json_object_update_missing(json_object_get(to, members[k]), json_object_get(run, members[k]));
        json_object_del(index, key);
        json_array_remove(runs, i);
    }
    json_decref(counts);
}

/* A directory in which nothing was logged, such as that of TensorFlow's hparams_config, is not a run beside others. */
static void leave_out_empty(json_t *history)
{
    json_t *runs = json_object_get(history, "runs");
    for (size_t i = json_array_size(runs); i-- > 0 && json_array_size(runs) > 1;) {
        const json_t *run = json_array_get(runs, i);
        if (json_object_size(json_object_get(run, "metrics")) || json_object_size(json_object_get(run, "params")) ||
            strcmp(json_string_value(json_object_get(run, "state")), "finished") != 0)
            continue;
        json_array_remove(runs, i);
        history_leave_out(history, "directories without scalars and settings");
    }
}

/* Guild AI keeps its runs as event files, and what it knows about them in ID/.guild/attrs. */
static char *attribute(const char *dir, const char *name)
{
    char path[PATH_MAX + 32], why[HISTORY_WHY_MAX];
    size_t length;
    snprintf(path, sizeof path, "%s/attrs/%s", dir, name);
    return history_file_text(path, 1 << 20, &length, why);
}

/* The settings are lines of YAML, NAME: VALUE; lists and objects, which have several lines, are left out. */
static void add_flags(json_t *run, char *text)
{
    for (char *line; (line = strsep(&text, "\n"));) {
        char *value = strstr(line, ": ");
        const size_t n = value ? strlen(value) : 0;
        if (!value || strchr(" -#", line[0]))
            continue;
        *value = '\0';
        value += 2;
        if (n > 3 && strchr("'\"", *value) && value[n - 3] == *value)
            value[n - 3] = '\0', value++;
        history_add_param_text(run, line, value);
    }
}

/* Without an exit status the run goes on, or was lost. */
static void add_attributes(json_t *run, const char *dir)
{
    char *status = attribute(dir, "exit_status"), *flags = attribute(dir, "flags"), *label = attribute(dir, "label");
    const long code = status ? strtol(status, NULL, 10) : 0;
    history_set_text(run, "state", !status ? "running" : code == 0 ? "finished" : code < 0 ? "killed" : "failed");
    if (label)
        label[strcspn(label, "\n")] = '\0';
    history_set_text(run, "name", label);
    if (flags)
        add_flags(run, flags);
    free(status);
    free(flags);
    free(label);
}

static bool is_guild(const FTSENT *entry)
{
    return entry->fts_info == FTS_D && strcmp(entry->fts_name, "attrs") == 0 &&
           strcmp(entry->fts_parent->fts_name, ".guild") == 0;
}

/* Event files that the command of a run of Guild AI wrote itself are of that run, whose folder is above: it becomes theirs. */
static void take_guild(json_t *history, json_t *index, json_t *run, const char *key)
{
    char above[PATH_MAX], own[PATH_MAX + 8];
    json_t *runs = json_object_get(history, "runs"), *guild = NULL;
    snprintf(above, sizeof above, "%s", key);
    for (char *slash; !guild && (slash = strrchr(above, '/'));) {
        *slash = '\0';
        snprintf(own, sizeof own, "%s/.guild", above);
        guild = json_object_get(index, own);
    }
    if (!guild) /* the folder of one run was given */
        guild = json_object_get(index, ".guild");
    if (!guild || guild == run)
        return;
    json_object_update_missing(json_object_get(run, "params"), json_object_get(guild, "params"));
    json_object_set(run, "state", json_object_get(guild, "state"));
    for (size_t i = json_array_size(runs); i-- > 0 && !json_object_size(json_object_get(guild, "metrics"));)
        if (json_array_get(runs, i) == guild) {
            json_array_remove(runs, i);
            break;
        }
}

/* The files of a directory are read in the order of their names, which begin with the time. */
json_t *read_tensorboard(const char *given, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    const char *slash = strrchr(given, '/');
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s", options->beside && slash ? (int)(slash - given) + (slash == given) : PATH_MAX - 1,
             options->beside && !slash ? "." : given);
    FTS *tree = history_tree(path, why);
    json_t *history = history_without_ends("tensorboard"), *index = json_object();
    const size_t root = strlen(path);
    bool good = tree != NULL;
    for (FTSENT *entry; good && (entry = history_entry(tree, options->beside ? 1 : INT_MAX));) {
        if (is_guild(entry) ? options->since > 0
                            : !strstr(entry->fts_name, EVENTS) || !history_in_time(entry->fts_statp, options))
            continue;
        char key[PATH_MAX], dir[PATH_MAX];
        const size_t end = strlen(entry->fts_path) - entry->fts_namelen;
        const size_t skip = root < end ? root + strspn(entry->fts_path + root, "/") : end;
        snprintf(key, sizeof key, "%.*s", end > skip + 1 ? (int)(end - skip - 1) : 1,
                 end > skip + 1 ? entry->fts_path + skip : ".");
        snprintf(dir, sizeof dir, "%.*s", end > 1 ? (int)end - 1 : (int)end, entry->fts_path);
        const char *prefix = cut_key(key, dir);
        json_t *run = history_run_of(history, index, key);
        if (!json_object_get(run, "name"))
            history_set_text(run, "name", key);
        if (is_guild(entry)) { /* before its event files, if there are any */
            add_attributes(run, dir);
            continue;
        }
        good = run && read_events(run, prefix, entry->fts_path, why);
        take_guild(history, index, run, key);
    }
    history_leave(tree);
    join_scalars(history, index);
    join_settings(history, index);
    leave_out_empty(history);
    if (good && !json_array_size(json_object_get(history, "runs")))
        good = history_fail(why, "%.300s has no event files of TensorBoard", path);
    return history_done(history, index, NULL, good);
}
