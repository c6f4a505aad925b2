/* append.h: what `lineage append` gathers from options, JSON and a training batch before it appends. */
#ifndef CLI_APPEND_H
#define CLI_APPEND_H

#include "cli.h"

#define APPEND_MAX_PARAMS 64
#define APPEND_MAX_TURNS 64

struct append_request {
    struct lineage_trial trial; /* borrows from the command line, the JSON and the members below */
    struct lineage_append_options options;
    struct lineage_param params[APPEND_MAX_PARAMS];
    char names[APPEND_MAX_PARAMS][LINEAGE_NAME_MAX];
    struct lineage_turn_stat turns[APPEND_MAX_TURNS];
    json_t *json;    /* --json, kept for its strings */
    char *telemetry; /* --telemetry, or the JSON's telemetry object as text */
    bool has_status;
};

void append_request_release(struct append_request *request);

/* Set a parameter, replacing one of the same name; prints and returns false if it cannot be. */
bool append_set_param(struct append_request *request, const char *name, double value);

/* Set a column by name from text; prints and returns false if the text is no such value. */
bool append_set_column(struct append_request *request, const char *name, const char *text);

/* Keep a JSON object as the trial's telemetry, replacing what was there. */
bool append_set_telemetry(struct append_request *request, const json_t *telemetry);

/* Take the members of a JSON object; prints and returns false for an unknown key or a wrong type. */
bool append_take_json(struct append_request *request, const char *path);

/* Run the training core on a dump of one batch and take its statistics; prints and returns false on failure. */
bool append_take_batch(struct append_request *request, const char *path);

#endif
