/* append_rows.c: the trials of an `append` that records several rows. A request has room for the largest trial, so only
 * the part that each trial uses is kept here. */
#include <stdlib.h>
#include <string.h>

#include "commands/append_rows.h"

struct append_row_memory {
    struct lineage_param *params;
    char (*names)[LINEAGE_NAME_MAX];
    struct lineage_turn_stat *turns;
    struct lineage_param *metrics;
    char (*metric_names)[LINEAGE_NAME_MAX];
    json_t *json;
};

/* If one array fails to grow, the arrays that have grown already are kept. That is safe because rows are released by n,
 * which is unchanged. */
static bool grow(struct append_rows *rows)
{
    size_t capacity = rows->capacity ? rows->capacity * 2 : 16;
    struct lineage_trial *trials = realloc(rows->trials, capacity * sizeof *trials);
    rows->trials = trials ? trials : rows->trials;
    bool *auto_status = realloc(rows->auto_status, capacity * sizeof *auto_status);
    rows->auto_status = auto_status ? auto_status : rows->auto_status;
    struct append_row_memory *memory = realloc(rows->memory, capacity * sizeof *memory);
    rows->memory = memory ? memory : rows->memory;
    if (!trials || !auto_status || !memory)
        return false;
    rows->capacity = capacity;
    return true;
}

static bool copy_settings(struct lineage_trial *trial, struct append_row_memory *memory, const struct append_request *request)
{
    size_t n = trial->n_params;
    memory->params = calloc(n + 1, sizeof *memory->params);
    memory->names = calloc(n + 1, sizeof *memory->names);
    memory->turns = calloc(trial->n_turns + 1, sizeof *memory->turns);
    memory->metrics = calloc(trial->n_metrics + 1, sizeof *memory->metrics);
    memory->metric_names = calloc(trial->n_metrics + 1, sizeof *memory->metric_names);
    if (!memory->params || !memory->names || !memory->turns || !memory->metrics || !memory->metric_names)
        return false;
    for (size_t i = 0; i < trial->n_metrics; i++) {
        memcpy(memory->metric_names[i], request->metric_names[i], sizeof *memory->metric_names);
        memory->metrics[i] = request->metrics[i];
        memory->metrics[i].name = memory->metric_names[i];
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(memory->names[i], request->names[i], sizeof *memory->names);
        memory->params[i] = request->params[i];
        memory->params[i].name = memory->names[i];
    }
    if (trial->n_turns)
        memcpy(memory->turns, request->turns, trial->n_turns * sizeof *memory->turns);
    trial->params = memory->params;
    trial->turns = memory->turns;
    trial->metrics = memory->metrics;
    return true;
}

bool append_rows_add(struct append_rows *rows, struct append_request *request)
{
    if (rows->n == rows->capacity && !grow(rows)) {
        cli_no_memory();
        return false;
    }
    struct append_row_memory *memory = &rows->memory[rows->n];
    struct lineage_trial *trial = &rows->trials[rows->n];
    *trial = request->trial;
    /* Keeps the JSON object with its row, because the row borrows texts from the object. */
    *memory = (struct append_row_memory){.json = request->json};
    request->json = NULL;
    rows->auto_status[rows->n++] = request->options.auto_status;
    if (copy_settings(trial, memory, request))
        return true;
    cli_no_memory();
    return false;
}

void append_rows_release(struct append_rows *rows)
{
    for (size_t i = 0; i < rows->n; i++) {
        free(rows->memory[i].params);
        free(rows->memory[i].names);
        free(rows->memory[i].turns);
        free(rows->memory[i].metrics);
        free(rows->memory[i].metric_names);
        json_decref(rows->memory[i].json);
    }
    free(rows->trials);
    free(rows->auto_status);
    free(rows->memory);
}
