#include "plan/planning.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>
#include <lineage/time.h>

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

void spent_tokens_read(struct spent_tokens *spent, struct lineage_store *store, const char *sweep)
{
    char path[PATH_MAX], *text = NULL;
    size_t capacity = 0;
    int fd = telemetry_path(path, store, FILE_NAME) ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    FILE *in = fd >= 0 && lseek(fd, spent->read, SEEK_SET) >= 0 ? fdopen(fd, "r") : NULL;
    for (ssize_t n; in && (n = getline(&text, &capacity, in)) > 0 && text[n - 1] == '\n'; spent->read += n) {
        json_t *line = json_loadb(text, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
        const char *name = json_string_value(json_object_get(line, "sweep"));
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
