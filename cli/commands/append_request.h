/* append_request.h: what `lineage append` gathers from options, JSON and a training batch before it appends. */
#ifndef CLI_APPEND_REQUEST_H
#define CLI_APPEND_REQUEST_H

#include "cli.h"

#define APPEND_MAX_PARAMS 64
#define APPEND_MAX_TURNS 64

struct append_request {
    struct lineage_trial trial; /* borrows from the command line, the JSON and the members below */
    struct lineage_append_options options;
    struct lineage_param params[APPEND_MAX_PARAMS];
    char names[APPEND_MAX_PARAMS][LINEAGE_NAME_MAX];
    struct lineage_turn_stat turns[APPEND_MAX_TURNS];
    json_t *json;    /* --json, kept for its strings: the object at hand */
    const char *path; /* --json: where it comes from, its text, and where the next object begins */
    char *text;
    size_t length, at;
    char *telemetry; /* --telemetry, or the JSON's telemetry object as text */
    bool has_status;
};

void append_request_release(struct append_request *request);

/* Set a parameter, replacing one of the same name; prints and returns false if it cannot be. */
bool append_set_param(struct append_request *request, const char *name, double value);

/* The same for one that is text, which is borrowed. */
bool append_set_text(struct append_request *request, const char *name, const char *text);

/* Set a column by name from text; prints and returns false if the text is no such value. */
bool append_set_column(struct append_request *request, const char *name, const char *text);

/* Keep a JSON object as the trial's telemetry, replacing what was there. */
bool append_set_telemetry(struct append_request *request, const json_t *telemetry);

/* Take the members of the first JSON object in a file; prints and returns false for an unknown key or a wrong type. */
bool append_take_json(struct append_request *request, const char *path);

/* Whether another object follows; and forget the trial and take that one. */
bool append_has_next(const struct append_request *request);
bool append_take_next(struct append_request *request);

/*
 * Run the training core on a dump of one batch and take its statistics; prints and returns false on failure.
 * NULL in `lineage`, which does not have the core: there an append with --batch goes on in lineage-train.
 */
typedef bool append_batch_fn(struct append_request *request, const char *path);
extern append_batch_fn *const append_take_batch;

#endif
