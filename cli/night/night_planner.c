/* night_planner.c: asking, judging, asking once more. */
#include "night/night_planner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <lineage/notes.h>
#include <lineage/render.h>
#include <lineage/time.h>

#include "night/night_gate.h"
#include "night/planner_call.h"
#include "trial/trial_run.h"

enum { ASKED_AT_MOST = 2 };

/* ---- what is refused ---- */

/* One write for a line: a night that is killed leaves whole ones. What cannot be written is no reason to stop. */
static void record(const struct night *night, const json_t *refusal)
{
    char *dir = NULL, path[PATH_MAX];
    struct lineage_error err;
    if (lineage_store_path(&dir, night->store, LINEAGE_PLACE_TELEMETRY, &err) != LINEAGE_OK)
        return;
    mkdir(dir, 0777);
    int n = snprintf(path, sizeof path, "%s/proposals.jsonl", dir);
    lineage_free(dir);
    char *line = json_dumps(refusal, JSON_COMPACT);
    size_t length = line ? strlen(line) : 0;
    int fd = line && n < PATH_MAX ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (line)
        line[length] = '\n';
    if (fd < 0 || write(fd, line, length + 1) != (ssize_t)length + 1)
        cli_error(CLI_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    free(line);
}

/* Takes reasons. */
static void refuse(const struct night *night, json_t *refused, const json_t *proposal, json_t *reasons)
{
    char now[LINEAGE_TIME_MAX];
    size_t i;
    json_t *reason;
    json_t *refusal = json_pack("{s:O?, s:O}", "proposal", proposal, "reasons", reasons);
    json_array_append(refused, refusal);
    json_object_set_new(refusal, "time", json_string(lineage_time_format(now, (int64_t)time(NULL))));
    json_object_set_new(refusal, "sweep", json_string(night->sweep.name));
    record(night, refusal);
    json_array_foreach(reasons, i, reason)
        cli_say(json_string_value(reason));
    json_decref(refusal);
    json_decref(reasons);
}

static void refuse_all(const struct night *night, json_t *refused, const char *reason)
{
    refuse(night, refused, NULL, json_pack("[s]", reason));
}

/* ---- what it says ---- */

/* A text that is one document, an object or a list, or lines of which those that begin with a brace count. */
static json_t *read_answer(char *answer)
{
    json_t *list = json_array(), *whole = json_loads(answer, JSON_REJECT_DUPLICATES, NULL);
    char *rest = answer, *line;
    if (json_is_array(whole) || json_is_object(whole)) {
        json_decref(list);
        return json_is_array(whole) ? whole : json_pack("[o]", whole);
    }
    json_decref(whole);
    while ((line = strtok_r(rest, "\n", &rest))) {
        json_t *proposal = line[strspn(line, " \t")] == '{' ? json_loads(line, JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (proposal)
            json_array_append_new(list, proposal);
    }
    return list;
}

/* Agents write the change that they expect as a number as often as as a text. */
static void mend(json_t *proposal)
{
    char text[64];
    json_t *expected = json_object_get(proposal, "expected_delta");
    if (!json_is_number(expected))
        return;
    snprintf(text, sizeof text, "%+g", json_number_value(expected));
    json_object_set_new(proposal, "expected_delta", json_string(text));
}

/* Into night->queue. */
static int ask(struct night *night, json_t *refused)
{
    char trouble[PLANNER_TROUBLE_MAX];
    double seconds = fmin(night->planner_seconds, fmax(1, night_seconds_left(night)));
    json_t *request = planner_request(night, refused);
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (!text)
        return CLI_SYSTEM;
    char nothing[1] = "";
    char *answer = planner_call(night->planner, text, strlen(text), seconds, &night->interrupts, trouble);
    free(text);
    json_decref(night->queue);
    night->queue = read_answer(answer ? answer : nothing);
    free(answer);
    if (interrupts_came(&night->interrupts))
        return CLI_INTERRUPTED;
    if (trouble[0])
        refuse_all(night, refused, trouble);
    else if (json_array_size(night->queue) == 0)
        refuse_all(night, refused, "the planner's answer holds no line that is a JSON object");
    return CLI_GO_ON;
}

/* ---- a turn ---- */

static const char *proposer_of(const json_t *proposal)
{
    const char *name = json_string_value(json_object_get(proposal, "proposer"));
    return name && lineage_param_text_ok(name) ? name : "planner";
}

/* The first of the queue that passes the gate. CLI_NO once it is empty. */
static int take(struct night *night, json_t *refused, size_t *i)
{
    int status = CLI_NO;
    while (status == CLI_NO && json_array_size(night->queue) > 0) {
        double x[PROPOSE_RANGES_MAX];
        struct night_trial trial;
        json_t *reasons, *proposal = json_incref(json_array_get(night->queue, 0));
        json_array_remove(night->queue, 0);
        mend(proposal);
        status = night_gate(&trial, x, &reasons, night, proposal);
        if (status == CLI_NO)
            refuse(night, refused, proposal, reasons);
        else if (status == CLI_GO_ON)
            status = night_add_proposed(night, &trial, x, proposer_of(proposal), i);
        json_decref(proposal);
    }
    return status;
}

int night_plan(struct night *night, size_t *i)
{
    json_t *refused = json_array();
    int status = take(night, refused, i);
    for (int asked = 0; status == CLI_NO && asked < ASKED_AT_MOST; asked++) {
        status = ask(night, refused);
        if (status == CLI_GO_ON)
            status = take(night, refused, i);
    }
    json_decref(refused);
    return status;
}
