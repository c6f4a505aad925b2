/* append_request.h: what `lineage append` collects from options and JSON before it appends. */
#pragma once

#include "cli.h"

#define APPEND_MAX_PARAMS 64
#define APPEND_MAX_TURNS 64
#define APPEND_MAX_METRICS 64

struct append_request {
    struct lineage_trial trial; /* borrows from the command line, the JSON and the members below */
    struct lineage_append_options options;
    struct lineage_param params[APPEND_MAX_PARAMS];
    char names[APPEND_MAX_PARAMS][LINEAGE_NAME_MAX];
    struct lineage_turn_stat turns[APPEND_MAX_TURNS];
    struct lineage_param metrics[APPEND_MAX_METRICS];
    char metric_names[APPEND_MAX_METRICS][LINEAGE_NAME_MAX];
    json_t *json;    /* --json: the current object, kept because the trial borrows its strings */
    json_t *spelled; /* texts of parameters that JSON has as lists or booleans, of all objects */
    const char *path; /* --json: the file's path, its text, and where the next object begins */
    char *text;
    size_t length, at, line; /* line: lines that end before at */
    char *telemetry; /* --telemetry, or the telemetry object of the JSON as text */
    bool has_status;
    bool in_list; /* the text is one list of objects */
};

void append_request_release(struct append_request *request);

/* Sets a parameter and replaces an earlier one of the same name. Prints a message and returns false on failure. */
bool append_set_param(struct append_request *request, const char *name, double value);

/* Sets a parameter to a text, which must outlive the request. */
bool append_set_text(struct append_request *request, const char *name, const char *text);

/* Sets a metric and replaces an earlier one of the same name. Prints a message and returns false on failure. */
bool append_set_metric(struct append_request *request, const char *name, double value);

/* Sets a column by name. Prints a message and returns false if the text is not a value of that column. */
bool append_set_column(struct append_request *request, const char *name, const char *text);

/*
 * Compares the trial with requirements (lineage/require.h; texts is ended by NULL, NULL is none). A trial that does not meet
 * one and would be kept (status auto, keep or baseline) becomes disqualified: its score moves to the notes, behind the
 * reason. Prints a message and returns false if a text is not a requirement.
 */
bool append_require(struct append_request *request, char *const *texts);

/* Takes the members of the first JSON object in a file. Prints a message and returns false on an unknown key or a wrong
 * type. */
bool append_take_json(struct append_request *request, const char *path);

/* append_has_next: whether another object follows. append_take_next: clears the trial and takes that object. */
bool append_has_next(const struct append_request *request);
bool append_take_next(struct append_request *request);
