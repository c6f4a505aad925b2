#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/time.h>

#include "plan/planning.h"

/* ---- telemetry line ---- */

bool telemetry_path(char path[PATH_MAX], struct lineage_store *store, const char *name)
{
    struct lineage_error err;
    char *dir = NULL;
    if (lineage_store_path(&dir, store, LINEAGE_PLACE_TELEMETRY, &err) != LINEAGE_OK)
        return false;
    mkdir(dir, 0777);
    const bool fits = cli_path_in(path, dir, name);
    lineage_free(dir);
    return fits;
}

bool telemetry_line_append(struct lineage_store *store, const char *name, const json_t *object)
{
    size_t length = 0;
    char path[PATH_MAX] = "", *line = object ? cli_json_compact(object, &length) : NULL;
    int fd =
        line && telemetry_path(path, store, name) ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666) : -1;
    if (line)
        line[length] = '\n';
    bool good = fd >= 0 && write(fd, line, length + 1) == (ssize_t)length + 1;
    if (!good)
        cli_error(CLI_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    cli_close(fd);
    free(line);
    return good;
}

/* ---- spent tokens ---- */

#define FILE_NAME "planner-tokens.jsonl"

bool spent_tokens_add(struct lineage_store *store, const char *sweep, const char *model, uint64_t prompt, uint64_t completion)
{
    char now[LINEAGE_TIME_MAX];
    json_t *line = json_pack("{s:s, s:s, s:s, s:I, s:I}", "time", lineage_time_format(now, (int64_t)time(NULL)), "sweep", sweep,
                             "model", model, "prompt_tokens", (json_int_t)prompt, "completion_tokens", (json_int_t)completion);
    bool good = telemetry_line_append(store, FILE_NAME, line);
    json_decref(line);
    return good;
}

/* Adds the lines about a sweep that were written since the last call. A missing file and damaged lines add nothing. */
static void spent_tokens_read(struct spent_tokens *spent, struct lineage_store *store, const char *sweep)
{
    char path[PATH_MAX], *text = NULL;
    size_t capacity = 0;
    int fd = telemetry_path(path, store, FILE_NAME) ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    FILE *in = fd >= 0 && lseek(fd, spent->read, SEEK_SET) >= 0 ? fdopen(fd, "r") : NULL;
    for (ssize_t n; in && (n = getline(&text, &capacity, in)) > 0 && text[n - 1] == '\n'; spent->read += n) {
        json_t *line = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
        const char *name = cli_json_string(line, "sweep");
        if (name && strcmp(name, sweep) == 0)
            spent->sum += cli_json_count(line, "prompt_tokens") + cli_json_count(line, "completion_tokens");
        json_decref(line);
    }
    free(text);
    if (in)
        fclose(in);
    else if (fd >= 0)
        close(fd);
}

/* ---- planner cost ---- */

static const char *const sums[] = {"requests", "replayed", "prompt_tokens", "completion_tokens", "seconds", NULL};

static double amount(const json_t *cost, const char *name)
{
    double value = json_number_value(json_object_get(cost, name));
    return value >= 0 && value < 1e15 ? value : 0; /* also not for nan */
}

static void add(struct planning *planning, const json_t *cost)
{
    static const char *const texts[] = {"model", "exchange", NULL};
    if (!planning->cost)
        planning->cost = json_object();
    for (size_t i = 0; sums[i]; i++) {
        double sum = amount(planning->cost, sums[i]) + amount(cost, sums[i]);
        json_object_set_new(planning->cost, sums[i], json_real(sum));
    }
    for (size_t i = 0; texts[i]; i++)
        if (json_is_string(json_object_get(cost, texts[i])))
            json_object_set(planning->cost, texts[i], json_object_get(cost, texts[i]));
    planning->tokens_reported += (uint64_t)(amount(cost, "prompt_tokens") + amount(cost, "completion_tokens"));
}

void planner_cost_take(struct planning *planning)
{
    for (size_t i = 0; i < json_array_size(planning->answers);) {
        const json_t *answer = json_array_get(planning->answers, i);
        const json_t *cost = json_object_size(answer) == 1 ? json_object_get(answer, "cost") : NULL;
        if (!json_is_object(cost)) {
            i++;
            continue;
        }
        add(planning, cost);
        json_array_remove(planning->answers, i);
    }
}

/* If the lines could not be written, what this execution used is counted all the same. */
static uint64_t tokens_used(struct planning *planning)
{
    spent_tokens_read(&planning->spent, planning->list->store, planning->list->sweep.name);
    return planning->spent.sum > planning->tokens_reported ? planning->spent.sum : planning->tokens_reported;
}

uint64_t planner_cost_tokens_left(struct planning *planning)
{
    uint64_t used = tokens_used(planning);
    return used < planning->tokens ? planning->tokens - used : 0;
}

bool planner_cost_is_too_high(struct planning *planning)
{
    if (!planning->tokens || planner_cost_tokens_left(planning) > 0)
        return false;
    if (planning->planner)
        fprintf(stderr,
                "lineage: the planner has used %llu tokens, and the sweep has %zu (--agent-tokens); the proposer takes over\n",
                (unsigned long long)tokens_used(planning), planning->tokens);
    planning->planner = NULL;
    return true;
}
