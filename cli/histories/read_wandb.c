/*
 * read_wandb.c: Weights & Biases and SwanLab: the run logs that their libraries write; and JSON of W&B: answers of its GraphQL API, and what programs write
 * from its Python API, which is a list of runs, an object with such a list, or one run a line.
 *
 * A config is an object or, in answers of the API, the text of one, with {"value": .., "desc": ..} for each setting. Names that
 * begin with an underscore are those of W&B itself; of them only _runtime is read. A `history` of a run is a list of objects, or
 * of their texts, with _step.
 */
#define _GNU_SOURCE /* asprintf */
#include <unistd.h>

#include "histories/readers.h"

enum { FILE_BYTES = 1 << 30, DEPTH = 12 };

/* Returns the first of the members that the run has; the API and the Python library name them differently. */
static const json_t *member_of(const json_t *run, const char *const *names)
{
    const json_t *value = NULL;
    for (; *names && !value; names++)
        value = json_object_get(run, *names);
    return json_is_null(value) ? NULL : value;
}

static const char *text_of(const json_t *run, const char *const *names)
{
    return json_string_value(member_of(run, names));
}

/* Returns the object or list, a new reference, that is a member of the run or the text of one. */
static json_t *structure_of(const json_t *run, const char *const *names)
{
    const json_t *value = member_of(run, names);
    return json_is_string(value) ? history_json(json_string_value(value)) : json_incref((json_t *)(uintptr_t)value);
}

static void add_config(json_t *run, json_t *config)
{
    const char *name;
    json_t *value;
    json_object_foreach(config, name, value) {
        json_t *wrapped = json_is_object(value) && json_object_get(value, "value") && json_object_size(value) <= 2
                              ? json_object_get(value, "value")
                              : value;
        if (name[0] != '_')
            history_add_param(run, name, json_incref(wrapped));
    }
}

static void add_summary(json_t *run, const char *name, json_t *value, int depth)
{
    const char *member;
    json_t *inner;
    double number;
    if (history_number(&number, value))
        history_set_metric(run, name, number);
    else if (!json_object_get(value, "_type") && depth < DEPTH) /* pictures and tables have one */
        json_object_foreach(value, member, inner) {
            char *path = NULL;
            if (member[0] != '_' && asprintf(&path, "%s%s%s", name, *name ? "." : "", member) > 0)
                add_summary(run, path, inner, depth + 1);
            free(path);
        }
}

static void add_step(json_t *run, json_t *step, size_t i)
{
    const json_t *number = json_object_get(step, "_step");
    const char *name;
    json_t *value;
    double point;
    json_object_foreach(step, name, value)
        if (name[0] != '_' && history_number(&point, value))
            history_add_point_at(run, name, json_is_number(number) ? json_number_value(number) : (double)i, point);
}

static void add_history(json_t *run, json_t *history)
{
    size_t i;
    json_t *step;
    json_array_foreach(history, i, step) {
        json_t *read = json_is_string(step) ? history_json(json_string_value(step)) : json_incref(step);
        add_step(run, read, i);
        json_decref(read);
    }
}

static const char *const ids[] = {"id", "_id", "run_id", "name", NULL},
                         *const names[] = {"displayName", "display_name", "name", NULL},
                         *const notes[] = {"notes", "description", NULL}, *const begins[] = {"createdAt", "created_at", NULL},
                         *const ends[] = {"heartbeatAt", "heartbeat_at", "updatedAt", NULL}, *const configs[] = {"config", NULL},
                         *const summaries[] = {"summaryMetrics", "summary_metrics", "summary", NULL},
                         *const histories[] = {"history", "sampledHistory", NULL};

/* In answers of the API `id` is a long text in base 64, and `name` the short text in addresses. */
static const char *key_of(const json_t *run)
{
    const char *name = json_string_value(json_object_get(run, "name")),
               *display = json_string_value(json_object_get(run, "displayName"));
    const char *key = name && display ? name : text_of(run, ids);
    return key ? key : "";
}

static void add_run(json_t *history, const json_t *from)
{
    json_t *run = history_add_run(history, key_of(from));
    json_t *config = structure_of(from, configs), *summary = structure_of(from, summaries),
           *steps = structure_of(from, histories);
    const json_t *runtime = json_object_get(summary, "_runtime");
    const double started = history_time(text_of(from, begins), false);
    history_set_text(run, "name", text_of(from, names));
    history_set_text(run, "notes", text_of(from, notes));
    history_set_state(run, cli_json_member(from, "state"), "running");
    history_set_time(run, "started", started);
    history_set_time(run, "ended",
                     json_is_number(runtime) ? started + json_number_value(runtime) : history_time(text_of(from, ends), false));
    add_config(run, config);
    add_history(run, steps);
    add_summary(run, "", summary, 0);
    json_decref(config);
    json_decref(summary);
    json_decref(steps);
}

static bool is_run(const json_t *value)
{
    return json_is_object(value) && (member_of(value, configs) || member_of(value, summaries)) && *key_of(value);
}

/* Adds every run in the value, however deep an answer of the API has it. */
static void add_runs(json_t *history, const json_t *value, int depth)
{
    const char *name;
    json_t *inner;
    size_t i;
    if (is_run(value)) {
        add_run(history, value);
    } else if (json_is_array(value) && depth < DEPTH) {
        json_array_foreach(value, i, inner)
            add_runs(history, inner, depth + 1);
    } else if (json_is_object(value) && depth < DEPTH) {
        json_object_foreach((json_t *)(uintptr_t)value, name, inner)
            add_runs(history, inner, depth + 1);
    }
}

static bool take_value(void *context, json_t *value)
{
    add_runs(context, value, 0);
    return true;
}

json_t *read_wandb(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    json_t *history = history_new("wandb");
    const bool good = history_each_value(path, take_value, history, why);
    if (!good || (json_array_size(json_object_get(history, "runs")) && !(options->map && options->map[0])))
        return history_done(history, NULL, NULL, good);
    json_decref(history);
    return read_json_table(path, options, why);
}

/*
 * ---- run logs ----
 *
 * run-ID.wandb and run-ID.swanlab have a header of 7 bytes and blocks of 32,768 bytes. A record is CRC-32 (4 bytes, of the type and the data), length (2
 * bytes), type (1 byte: whole, first, middle or last part) and data; fewer than 7 bytes at the end of a block are not used. The data
 * is a protocol buffer (wandb_internal.proto or swanlab/record/v1, Record). SwanLab has the settings in files/config.yaml beside it.
 */

enum {
    HEADER = 7,
    BLOCK = 32768,
    WHOLE = 1,
    FIRST,
    MIDDLE,
    LAST,
    RECORD_HISTORY = 2,
    RECORD_SUMMARY = 3,
    RECORD_CONFIG = 5,
    RECORD_METRIC = 12,
    RECORD_RUN = 17,
    RECORD_EXIT = 18,
    RECORD_HEADER = 21,
    JSON_TEXT = 16,
    SWANLAB_START = 10,
    SWANLAB_FINISH = 11,
    SWANLAB_SCALAR = 13
};

#define PROJECT "the project" /* in the index, where no id has a blank */

struct run_log;

/* What the two tools write differently, and the fields of the record that begins a run. */
struct form {
    const char *tool, *title, *suffix, *header;
    uint64_t id, project, name, about, started;
    bool (*take)(struct run_log *log, struct bytes record, char why[HISTORY_WHY_MAX]);
};

struct run_log {
    const struct form *form;
    json_t *history, *index, *run; /* run: NULL until its record was read */
    const char *path, *study;
    bool skipped; /* the run is of another project */
};

/* Calls take with the name and the value of an item: a key, or the parts of a nested one, and JSON. */
static void take_item(json_t *run, struct bytes item, void (*take)(json_t *run, const char *name, json_t *value, int64_t step),
                      int64_t step)
{
    struct field field;
    char name[512] = "";
    json_t *text = NULL;
    while (next_field(&field, &item))
        if ((field.id == 1 || field.id == 2) && field.wire == PART) {
            const size_t n = strlen(name);
            snprintf(name + n, sizeof name - n, "%s%.*s", n ? "." : "", (int)(field.part.end - field.part.at),
                     (const char *)field.part.at);
        } else if (field.id == JSON_TEXT && field.wire == PART && !text) {
            text = text_of_bytes(field.part);
        }
    json_t *value = text && *name && name[0] != '_' ? history_json(json_string_value(text)) : NULL;
    if (value)
        take(run, name, value, step);
    json_decref(value);
    json_decref(text);
}

static void take_config(json_t *run, const char *name, json_t *value, int64_t step)
{
    (void)step;
    history_add_param(run, name, json_incref(value));
}

static void take_summary(json_t *run, const char *name, json_t *value, int64_t step)
{
    (void)step;
    add_summary(run, name, value, 0);
}

static void take_point(json_t *run, const char *name, json_t *value, int64_t step)
{
    double number;
    const char *member;
    json_t *inner;
    if (history_number(&number, value))
        history_add_point(run, name, step, number);
    else if (!json_object_get(value, "_type"))
        json_object_foreach(value, member, inner) { /* log({"val": {"loss": 1}}) */
            char path[512];
            snprintf(path, sizeof path, "%s.%s", name, member);
            take_point(run, path, inner, step);
        }
}

static void take_items(json_t *run, struct bytes record, void (*take)(json_t *run, const char *name, json_t *value, int64_t step))
{
    struct field field;
    uint64_t step = 0;
    if (take == take_point)
        varint_of(&step, part_of(record, 2), 1);
    while (next_field(&field, &record))
        if (field.id == 1 && field.wire == PART)
            take_item(run, field.part, take, (int64_t)step);
}

/* Returns the seconds of a Timestamp, or nan if there is none. */
static double seconds_of(struct bytes time)
{
    uint64_t seconds = 0, nanoseconds = 0;
    const bool has = varint_of(&seconds, time, 1);
    varint_of(&nanoseconds, time, 2);
    return has ? (double)seconds + (double)nanoseconds / 1e9 : (double)NAN;
}

/* A run that was resumed has several logs; the last one says how it ended. */
static bool take_run(struct run_log *log, struct bytes record, char why[HISTORY_WHY_MAX])
{
    const struct form *form = log->form;
    const struct bytes about = part_of(record, form->about);
    char id[128], project[128], name[256];
    copy_text(id, sizeof id, part_of(record, form->id));
    copy_text(project, sizeof project, part_of(record, form->project));
    copy_text(name, sizeof name, part_of(record, form->name));
    const double started = seconds_of(part_of(record, form->started));
    const char *other = json_string_value(json_object_get(log->index, PROJECT));
    log->skipped = log->study && strcmp(log->study, project) != 0;
    if (!log->skipped && other && strcmp(other, project) != 0)
        return history_fail(why, "%.150s has several; choose one by --study: %.100s, %.100s", log->path, other, project);
    if (!log->skipped && !log->run) {
        json_object_set_new(log->index, PROJECT, json_string(project));
        log->run = history_run_of(log->history, log->index, id);
        history_set_text(log->run, "name", name[0] ? name : id);
        history_set_text(log->run, "state", "running");
        if (!json_object_get(log->run, "started"))
            history_set_time(log->run, "started", started);
        json_object_set_new(log->run, "began", json_real(isfinite(started) ? started : 0));
    }
    json_t *text = log->run && about.at ? text_of_bytes(about) : NULL;
    history_set_text(log->run, "notes", json_string_value(text));
    json_decref(text);
    return true;
}

static void take_exit(json_t *run, struct bytes record)
{
    uint64_t code = 0, seconds;
    varint_of(&code, record, 1);
    if (varint_of(&seconds, record, 2))
        history_set_time(run, "ended", json_number_value(json_object_get(run, "began")) + (double)(int64_t)seconds);
    history_set_text(run, "state", code ? "failed" : "finished");
}

/* define_metric(NAME, goal="maximize") */
static void take_metric(json_t *history, struct bytes record)
{
    char name[256];
    uint64_t goal = 0;
    copy_text(name, sizeof name, part_of(record, 1));
    varint_of(&goal, record, 8);
    if (name[0] && (goal == 1 || goal == 2))
        history_set_direction(history, name, goal == 2);
}

static void take_version(json_t *history, struct bytes record)
{
    char version[64];
    copy_text(version, sizeof version, part_of(part_of(record, 1), 1));
    version[strcspn(version, "+")] = '\0';
    history_set_text(history, "version", version);
}

static bool take_record(struct run_log *log, struct bytes record, char why[HISTORY_WHY_MAX])
{
    struct field field;
    bool good = true;
    while (good && next_field(&field, &record)) {
        if (field.wire != PART)
            continue;
        if (field.id == RECORD_HEADER)
            take_version(log->history, field.part);
        else if (field.id == RECORD_RUN)
            good = take_run(log, field.part, why) &&
                   (!log->run || (take_items(log->run, part_of(field.part, 4), take_config), true));
        else if (!log->run || log->skipped)
            continue;
        else if (field.id == RECORD_HISTORY)
            take_items(log->run, field.part, take_point);
        else if (field.id == RECORD_SUMMARY)
            take_items(log->run, field.part, take_summary);
        else if (field.id == RECORD_CONFIG)
            take_items(log->run, field.part, take_config);
        else if (field.id == RECORD_METRIC)
            take_metric(log->history, field.part);
        else if (field.id == RECORD_EXIT)
            take_exit(log->run, field.part);
    }
    return good;
}

static void take_scalar(json_t *run, struct bytes record)
{
    const struct bytes value = part_of(record, 5);
    struct field field;
    struct bytes rest = value;
    uint64_t step = 0;
    double number = 0; /* which is not written */
    char name[512];
    copy_text(name, sizeof name, part_of(record, 1));
    varint_of(&step, record, 2);
    while (next_field(&field, &rest))
        if (field.id == 1)
            number = as_double(&field);
    if (value.at && strncmp(name, "__swanlab__", 11) != 0) /* the machine */
        history_add_point(run, name, (int64_t)step, number);
}

static void take_finish(json_t *run, struct bytes record)
{
    static const char *const states[] = {"running", "finished", "failed", "killed"};
    uint64_t state = 0;
    varint_of(&state, record, 1);
    history_set_text(run, "state", states[state < 4 ? state : 2]);
    history_set_time(run, "ended", seconds_of(part_of(record, 3)));
    json_t *error = part_of(record, 2).at ? text_of_bytes(part_of(record, 2)) : NULL;
    history_set_notes(run, json_string_value(error));
    json_decref(error);
}

/* Each setting is written as NAME: {desc: .., sort: .., value: ..}. */
static bool take_settings(struct run_log *log, char why[HISTORY_WHY_MAX])
{
    char path[PATH_MAX];
    const char *slash = strrchr(log->path, '/'), *name;
    json_t *run = json_pack("{s:{}}", "params"), *value;
    snprintf(path, sizeof path, "%.*sfiles/config.yaml", slash ? (int)(slash + 1 - log->path) : 0, log->path);
    const bool good = access(path, F_OK) != 0 || history_yaml_settings(log->history, run, path, why);
    json_object_foreach(json_object_get(run, "params"), name, value) {
        const char *at = strstr(name, ".value");
        char *own = NULL;
        if (at && asprintf(&own, "%.*s%s", (int)(at - name), name, at + strlen(".value")) > 0)
            history_add_param(log->run, own, json_incref(value));
        free(own);
    }
    json_decref(run);
    return good;
}

static bool take_swanlab(struct run_log *log, struct bytes record, char why[HISTORY_WHY_MAX])
{
    struct field field;
    bool good = true;
    while (good && next_field(&field, &record)) {
        if (field.wire != PART)
            continue;
        if (field.id == SWANLAB_START)
            good = take_run(log, field.part, why) && (!log->run || take_settings(log, why));
        else if (log->run && field.id == SWANLAB_SCALAR)
            take_scalar(log->run, field.part);
        else if (log->run && field.id == SWANLAB_FINISH)
            take_finish(log->run, field.part);
    }
    return good;
}

/* Puts the parts of records together in place. A log that ends within a record is of a run that was killed or goes on. */
static bool read_blocks(struct run_log *log, uint8_t *data, size_t length, char why[HISTORY_WHY_MAX])
{
    size_t at = HEADER, start = 0, whole = 0;
    bool good = true;
    while (good && at + HEADER <= length) {
        const size_t left = BLOCK - at % BLOCK, n = (size_t)little_endian(data + at + 4, 2);
        const uint8_t type = data[at + 6];
        if (left < HEADER || (type == 0 && n == 0)) {
            at += left;
            continue;
        }
        if (at + HEADER + n > length)
            break;
        if (n + HEADER > left || type < WHOLE || type > LAST ||
            crc32_of(0, 0xedb88320u, data + at + 6, n + 1) != (uint32_t)little_endian(data + at, 4))
            return history_fail(why, "%.300s: the record at byte %zu is damaged", log->path, at);
        if (type == WHOLE || type == FIRST)
            start = at + HEADER, whole = 0;
        memmove(data + start + whole, data + at + HEADER, n);
        whole += n;
        if (type == WHOLE || type == LAST)
            good = log->form->take(log, (struct bytes){data + start, data + start + whole}, why);
        at += HEADER + n;
    }
    return good;
}

/* A log that has nothing of its run is of one that has just begun, or whose process was killed before it wrote. */
static void add_unknown(const struct run_log *log)
{
    const char *slash = strrchr(log->path, '/'), *name = slash ? slash + 1 : log->path, *suffix = log->form->suffix;
    char id[128];
    name += strncmp(name, "run-", 4) == 0 ? 4 : 0;
    snprintf(id, sizeof id, "%.*s", (int)(strlen(name) - (cli_ends_with(name, suffix) ? strlen(suffix) : 0)), name);
    if (!json_object_get(log->index, id))
        history_set_text(history_run_of(log->history, log->index, id), "state", "running");
}

static bool read_log(struct run_log log, char why[HISTORY_WHY_MAX])
{
    size_t length;
    uint8_t *data = (uint8_t *)history_file_text(log.path, FILE_BYTES, &length, why);
    bool good = data && (length >= HEADER && memcmp(data, log.form->header, strlen(log.form->header)) == 0
                             ? read_blocks(&log, data, length, why)
                         : length && memcmp(data, ":SWL", length < 4 ? length : 4) == 0
                             ? history_fail(why,
                                            "%.300s is a run log of a SwanLab before 0.8, whose form is not read; export the "
                                            "table of runs as CSV there, and import that with --metric",
                                            log.path) != NULL
                         : length ? history_fail(why, "%.300s is not a run log of %s", log.path, log.form->title) != NULL
                                  : true);
    if (good && !log.run && !log.skipped)
        add_unknown(&log);
    free(data);
    return good;
}

static json_t *read_logs(const struct form *form, const char *path, const struct history_options *options,
                         char why[HISTORY_WHY_MAX])
{
    FTS *tree = history_tree(path, why);
    json_t *history = history_new(form->tool), *index = json_object();
    bool good = tree != NULL;
    for (FTSENT *entry; good && (entry = history_entry(tree, INT_MAX));) {
        const char *dot = strrchr(entry->fts_name, '.');
        if (dot && strcmp(dot, form->suffix) == 0 && history_in_time(entry->fts_statp, options))
            good = read_log((struct run_log){form, history, index, NULL, entry->fts_path, options->study, false}, why);
    }
    history_leave(tree);
    if (good && !json_array_size(json_object_get(history, "runs")))
        good = history_fail(why, "%.300s has no run log of %s%s%.60s", path, form->title,
                            options->study ? " of the project " : "", options->study ? options->study : "");
    return history_done(history, index, NULL, good);
}

json_t *read_wandb_logs(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    return read_logs(&(struct form){"wandb", "W&B", ".wandb", ":W&B\xe1\xbe", 1, 3, 8, 9, 17, take_record}, path, options, why);
}

/* The last byte of the header is the version of the form: 2 from release 0.8 on. */
json_t *read_swanlab(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX])
{
    return read_logs(&(struct form){"swanlab", "SwanLab", ".swanlab", ":SWL\xd6\xe1\x02", 10, 1, 4, 5, 12, take_swanlab}, path,
                     options, why);
}
