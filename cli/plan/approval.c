/* approval.c: see planning.h. */
#include "plan/planning.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <lineage/time.h>

#define APPROVALS "approvals.jsonl"

json_t *approval_find(const json_t *questions, const char *id)
{
    size_t i;
    json_t *question;
    json_array_foreach((json_t *)(uintptr_t)questions, i, question)
        if (strcmp(cli_json_member(question, "id"), id) == 0)
            return question;
    return NULL;
}

/* A later decision replaces an earlier one, so that a person can change their mind until the trial runs. */
static void take_line(json_t *questions, const json_t *line)
{
    json_t *question = approval_find(questions, cli_json_member(line, "id"));
    const char *decision = cli_json_member(line, "decision");
    if (!*decision) {
        if (!question && *cli_json_member(line, "id") && json_is_object(json_object_get(line, "proposal")))
            json_array_append_new(questions, json_deep_copy(line));
        return;
    }
    if (!question)
        return;
    json_object_set(question, "decision", json_object_get(line, "decision"));
    cli_json_set(question, "by", json_string(cli_json_member(line, "by")), "reason", json_string(cli_json_member(line, "reason")),
                 NULL);
    json_object_del(question, "edited");
    if (json_is_object(json_object_get(line, "proposal")))
        json_object_set(question, "edited", json_object_get(line, "proposal"));
}

json_t *approval_read(struct lineage_store *store)
{
    char path[PATH_MAX], *line = NULL;
    size_t capacity = 0;
    json_t *questions = json_array();
    /* The file may be anybody's: a pipe is not waited for. */
    int fd = questions && telemetry_path(path, store, APPROVALS) ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    while (file && getline(&line, &capacity, file) > 0) {
        json_t *object = json_loads(line, 0, NULL);
        if (json_is_object(object))
            take_line(questions, object);
        json_decref(object);
    }
    free(line);
    if (file)
        fclose(file);
    else if (fd >= 0)
        close(fd);
    if (!questions)
        cli_no_memory();
    return questions;
}

/* The part of a proposal that decides what runs. A new reference. */
static json_t *essence(const json_t *proposal)
{
    static const char *const words[] = {"hypothesis", "expected_delta", "proposer", "again", "novel"};
    json_t *copy = json_copy((json_t *)(uintptr_t)proposal);
    for (size_t i = 0; copy && i < sizeof words / sizeof *words; i++)
        json_object_del(copy, words[i]);
    return copy;
}

static bool is_same(const json_t *question, const char *sweep, const json_t *wanted)
{
    json_t *own = essence(json_object_get(question, "proposal"));
    bool same = own && strcmp(cli_json_member(question, "sweep"), sweep) == 0 && json_equal(own, wanted);
    json_decref(own);
    return same;
}

static enum approval_state state_of(const json_t *question)
{
    const char *decision = cli_json_member(question, "decision");
    return strcmp(decision, "accepted") == 0  ? APPROVAL_ACCEPTED
           : strcmp(decision, "edited") == 0  ? APPROVAL_EDITED
           : strcmp(decision, "refused") == 0 ? APPROVAL_REFUSED
                                              : APPROVAL_WAITING;
}

enum approval_state approval_of(struct lineage_store *store, const char *sweep, const json_t *proposal,
                                char id[APPROVAL_ID_BYTES], json_t **edited, char reason[APPROVAL_REASON_MAX])
{
    enum approval_state state = APPROVAL_NEW;
    json_t *questions = approval_read(store), *wanted = essence(proposal), *question;
    size_t i;
    *edited = NULL;
    reason[0] = '\0';
    json_array_foreach(questions, i, question) {
        if (!is_same(question, sweep, wanted))
            continue;
        state = state_of(question);
        snprintf(id, APPROVAL_ID_BYTES, "%s", cli_json_member(question, "id"));
        snprintf(reason, APPROVAL_REASON_MAX, "%s", cli_json_member(question, "reason"));
        json_decref(*edited);
        *edited = state == APPROVAL_EDITED ? json_incref(json_object_get(question, "edited")) : NULL;
    }
    json_decref(wanted);
    json_decref(questions);
    return state;
}

bool approval_ask(struct lineage_store *store, const char *sweep, const json_t *proposal, char id[APPROVAL_ID_BYTES])
{
    char now[LINEAGE_TIME_MAX];
    struct timespec clock;
    clock_gettime(CLOCK_REALTIME, &clock);
    const uint64_t drawn = propose_mix((uint64_t)clock.tv_nsec ^ (uint64_t)clock.tv_sec << 30 ^ (uint64_t)getpid() << 50);
    snprintf(id, APPROVAL_ID_BYTES, "%06x", (unsigned)(drawn & 0xffffff));
    json_t *line = json_pack("{s:s, s:s, s:s, s:O}", "id", id, "time", lineage_time_format(now, (int64_t)time(NULL)), "sweep",
                             sweep, "proposal", proposal);
    const bool good = telemetry_line_append(store, APPROVALS, line);
    json_decref(line);
    return good;
}

bool approval_decide(struct lineage_store *store, const char *id, const json_t *edited, const char *reason)
{
    char now[LINEAGE_TIME_MAX];
    const char *user = getenv("USER");
    json_t *line = json_pack("{s:s, s:s, s:s, s:s, s:s, s:O*}", "id", id, "time", lineage_time_format(now, (int64_t)time(NULL)),
                             "by", user ? user : "", "decision",
                             reason   ? "refused"
                             : edited ? "edited"
                                      : "accepted",
                             "reason", reason ? reason : "", "proposal", edited);
    const bool good = telemetry_line_append(store, APPROVALS, line);
    json_decref(line);
    return good;
}
