/* readers.h: one reader for each tool, and what they share. Each returns NULL with the reason, which names the file. */
#pragma once

#include <fts.h>
#include <sqlite3.h>

#include "cli.h"
#include "histories/history.h"

typedef json_t *history_reader(const char *path, const struct history_options *options, char why[HISTORY_WHY_MAX]);

history_reader read_wandb, read_wandb_logs, read_swanlab, read_mlflow, read_mlflow_database, read_optuna, read_optuna_journal,
    read_tensorboard, read_trackio, read_table, read_json_table, read_mlparty, read_stranger, read_ray, read_ray_result,
    read_aide, read_openevolve, read_shinka, read_dvc, read_lightning;

/* The file of a run, or of a whole search, in the folder that is read. */
struct run_file {
    json_t *history, *starts; /* starts: of Keras Tuner's trials, by their ids; of the Trainer, runs by their folders */
    const char *folder;       /* the name of the file's folder .. */
    int length;               /* .. and the bytes of the file's path up to its name */
    const char *path;
    char *why;
};
typedef bool run_file_reader(struct run_file *file, json_t *value); /* false with the reason */

run_file_reader take_sacred, take_keras, take_trainer, take_smac, take_hpbandster, take_clearml, take_comet, take_neptune;

/* ---- history_run.c: the form ---- */

/* Text of a file is cut to UTF-8: bytes that are none become U+FFFD. NULL becomes null. */
json_t *history_text(const char *text);

json_t *history_new(const char *tool);
json_t *history_without_ends(const char *tool); /* of a tool that does not record how a run ended */

/* Adds a run and returns it, borrowed. key identifies it for its tool, so that a second import finds it again. */
json_t *history_add_run(json_t *history, const char *key);

/* Finds the run with the key, or adds it. index maps keys to runs and belongs to the caller. */
json_t *history_run_of(json_t *history, json_t *index, const char *key);

void history_set_text(json_t *run, const char *member, const char *text); /* NULL and "" set nothing */
void history_set_time(json_t *run, const char *member, double seconds);   /* nan sets nothing */
void history_set_notes(json_t *run, const char *text); /* of a traceback, only its last line: it says what failed */

/* Adds a setting. Takes the value: members of objects become settings `a.b`, lists their JSON text; null sets nothing. */
void history_add_param(json_t *run, const char *name, json_t *value);

/* Adds a setting that a tool stores as text: a number if it reads as one; an integer from 2^53 on stays a text. */
void history_add_param_text(json_t *run, const char *name, const char *text);

/* Sets the last value of a metric: a number, or the text "nan", "inf" or "-inf". */
void history_set_metric(json_t *run, const char *name, double value);

/* Sets the numbers of an object as metrics, and those of objects in it as a.b; with `booleans` true is 1 and false 0. */
void history_add_metrics(json_t *run, const char *prefix, json_t *object, bool booleans);

/* Adds a value to the curve of a metric, and makes it the last value if no higher step was added. What is not finite is left out of
 * the curve and counted. */
void history_add_point(json_t *run, const char *name, int64_t step, double value);

/* The same with the step of a file, any number: without one, or out of range, it leaves the value out and counts it. */
void history_add_point_at(json_t *run, const char *name, double step, double value);

/* Removes the points from that step on: a run that restarts from a checkpoint writes them again. */
void history_drop_points(json_t *run, int64_t from);

/* Marks the runs that others name as their parent (`nested`), as searches of scikit-learn and loops over settings make them in MLflow. */
void history_mark_groups(json_t *history);

/* Names the folder with the first bytes of a path, or the one `above` it, by its last two parts, so that a second import of another
 * folder around it finds its runs again. Returns a part of place, or NULL if the folder cannot be resolved. */
const char *history_place(char place[PATH_MAX], const char *path, size_t length, bool above);

/* Adds one to the count of what was left out of the history for that reason. */
void history_leave_out(json_t *history, const char *reason);

/* Sets which value of a metric is better ("maximize" or "minimize"), as the tool recorded it. */
void history_set_direction(json_t *history, const char *metric, bool maximize);

json_t *history_json(const char *text); /* any value; NULL if the text is not JSON */

/* Reads a number, or one of those words and integers as a text. Returns false for anything else. */
bool history_number(double *number, const json_t *value);

/* Seconds since 1970 of "2026-11-23T15:38:17.858", with a blank for the T, with Z or an offset, or without (then as `local` says,
 * local time or UTC); nan if it is none. */
double history_time(const char *text, bool local);

json_t *history_fail(char why[HISTORY_WHY_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether the word is one of the words, each of which is between two commas, in any case of letters. */
bool history_is_one_of(const char *words, const char *word);

/* The state that a tool's word for it means, in any case of letters, or NULL if the word is unknown. */
const char *history_state(const char *word);
void history_set_state(json_t *run, const char *word, const char *otherwise); /* otherwise: of an unknown word, and of NULL */

/* Seconds of "3.5", "00:01:02.5" or "0 days 00:01:02.5"; nan if it is none. */
double history_seconds(const char *text);

/* Ends the text at `end`, without the blanks before it. */
void history_yaml_cut(const char *text, char *end);

/* Reads a value that ends with its line, in place. Returns false for lists, objects, references, and texts of several lines. */
bool history_yaml_scalar(char *value);

/* Reads `lr: 0.1` and, indented below `net:`, `w: 3` as net.w. What does not end with its line is left out, with all deeper lines. */
bool history_yaml_settings(json_t *history, json_t *run, const char *path, char why[HISTORY_WHY_MAX]);

/* Opens the tree in the order of its names, so that the same files give the same rows on every file system; NULL with the reason. */
FTS *history_tree(const char *path, char why[HISTORY_WHY_MAX]);
FTSENT *history_entry(FTS *tree, int levels); /* the next one at most `levels` below; NULL: none, or no tree */
void history_leave(FTS *tree); /* closes it; NULL does nothing */

/* Reads a file of JSON values, one after another, and calls take with each until it returns false, having set the reason. */
bool history_each_value(const char *path, bool (*take)(void *context, json_t *value), void *context, char why[HISTORY_WHY_MAX]);

/* Sets *value to the first value of the file, a new reference. Returns false with the reason. */
bool history_first_value(const char *path, json_t **value, char why[HISTORY_WHY_MAX]);

/* ---- protobuf.c ---- */

struct bytes {
    const uint8_t *at, *end;
};

/* One field of a message. number holds a varint or the bits of a fixed width, part the bytes of a length-delimited field. */
struct field {
    uint64_t id, number;
    enum { VARINT = 0, FIXED64 = 1, PART = 2, FIXED32 = 5 } wire;
    struct bytes part;
};

bool next_field(struct field *field, struct bytes *from); /* false at the end, or where the bytes are not a field */
struct bytes part_of(struct bytes message, uint64_t id); /* the last field of that id; at is NULL if there is none */
bool varint_of(uint64_t *number, struct bytes message, uint64_t id); /* the same of a varint; false leaves it unchanged */
double as_double(const struct field *field); /* of a fixed width; else nan */
void copy_text(char *out, size_t size, struct bytes from);
json_t *text_of_bytes(struct bytes from);
uint64_t little_endian(const uint8_t *bytes, int n);

/* A CRC of 32 bits, bits reversed; crc is 0 or that of the bytes before. */
uint32_t crc32_of(uint32_t crc, uint32_t polynomial, const uint8_t *bytes, size_t n);

/* ---- history_database.c: SQLite files of strangers ---- */

/* Opens the file for reading only, without triggers, views and functions of the schema. Returns NULL with the reason. */
sqlite3 *history_database(const char *path, char why[HISTORY_WHY_MAX]);

/* The rows that a query gives. Without a database there are none, and the query has failed. */
struct query {
    sqlite3_stmt *stmt;
    const char *path;
    char *why;
    bool failed; /* with the reason in why */
};

struct query history_ask(sqlite3 *db, const char *path, char why[HISTORY_WHY_MAX], const char *sql,
                         const char *text); /* text: ?1 */
bool history_next(struct query *query); /* false behind the last row, and if the file is damaged */
bool history_end(struct query *query); /* releases it, and returns whether all rows were read */

bool history_has_column(sqlite3 *db, const char *table, const char *column);

/*
 * Finds the one study, experiment or project to read: the id of the row in which `name` is options->study, or the only row that
 * sql returns (id, name). The name becomes the history's member `study`. Returns false with the reason, which lists the names.
 */
bool history_choose(char id[64], json_t *history, sqlite3 *db, const char *path, const char *what, const char *sql,
                    const struct history_options *options, char why[HISTORY_WHY_MAX]);

/* Closes the file and releases the index. Returns the history, or NULL after releasing it if it is not good. */
json_t *history_done(json_t *history, json_t *index, sqlite3 *db, bool good);

const char *history_column(const struct query *query, int column); /* its text; "" for NULL */
