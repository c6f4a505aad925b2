#include "plan/planner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <lineage/evidence.h>
#include <lineage/notes.h>
#include <lineage/time.h>

#include "cli.h"
#include "plan/planner_answer.h"
#include "plan/planner_cost.h"
#include "plan/planner_request.h"
#include "plan/proposal_gate.h"
#include "plan/telemetry_line.h"
#include "sweep/replicate_trial.h"
#include "trial/interrupts.h"
#include "trial/run_and_append.h"

/* ---- runs a shell command that reads one text and prints another ---- */

/* A planner may be an agent that thinks for minutes, uses the network and starts processes of its own. This process
 * enforces the time limit, so the night gets an answer or a reason whatever the planner does. */

enum { PLANNER_ANSWER_MAX = 1 << 20, PLANNER_TROUBLE_MAX = 160 };

struct call {
    pid_t pid;
    int to, from;     /* the planner's standard input and output; -1: closed */
    const char *text; /* [left] the part not yet written */
    size_t left;
    char *answer; /* [n] */
    size_t n;
    bool overflows; /* it printed more than PLANNER_ANSWER_MAX bytes */
};

/* ---- start and end ---- */

static _Noreturn void run(const char *command, int in, int out, pid_t parent)
{
    setsid();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || dup2(in, 0) < 0 || dup2(out, 1) < 0)
        _exit(127);
    signal(SIGPIPE, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(127);
}

static bool start(struct call *call, const char *command)
{
    int in[2], out[2];
    if (pipe(in) != 0)
        return false;
    if (pipe(out) != 0) {
        close(in[0]);
        close(in[1]);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        fcntl(in[i], F_SETFD, FD_CLOEXEC);
        fcntl(out[i], F_SETFD, FD_CLOEXEC);
    }
    pid_t parent = getpid();
    call->pid = fork();
    if (call->pid == 0)
        run(command, in[0], out[1], parent);
    close(in[0]);
    close(out[1]);
    call->to = in[1];
    call->from = out[0];
    fcntl(call->to, F_SETFL, O_NONBLOCK);
    return call->pid > 0;
}

static void shut(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- while it runs ---- */

/* A planner that does not read its input may still print an answer. */
static void write_text(struct call *call)
{
    ssize_t n = write(call->to, call->text, call->left);
    if (n > 0) {
        call->text += n;
        call->left -= (size_t)n;
    }
    if (call->left == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        shut(&call->to);
}

static void read_answer(struct call *call)
{
    char beyond[4096];
    bool full = call->n == PLANNER_ANSWER_MAX;
    ssize_t n =
        full ? read(call->from, beyond, sizeof beyond) : read(call->from, call->answer + call->n, PLANNER_ANSWER_MAX - call->n);
    if (n > 0 && full)
        call->overflows = true;
    else if (n > 0)
        call->n += (size_t)n;
    else if (n == 0 || errno != EINTR)
        shut(&call->from);
}

/* Writes the request and reads the answer. Returns false after the deadline or if the night was interrupted. */
static bool exchange(struct call *call, double end, const struct interrupts *interrupts)
{
    while (call->from >= 0) {
        struct pollfd fds[3] = {
            {.fd = call->from, .events = POLLIN}, {.fd = call->to, .events = POLLOUT}, {.fd = interrupts->fd, .events = POLLIN}};
        double left = end - cli_now();
        if (left <= 0)
            return false;
        if (poll(fds, 3, (int)fmin(ceil(left * 1000), 60000)) < 0 && errno != EINTR)
            return false;
        if (fds[2].revents)
            return false;
        if (fds[1].revents)
            write_text(call);
        if (fds[0].revents)
            read_answer(call);
    }
    return true;
}

/* Called once the planner has closed its output: it gets two seconds to exit by itself. */
static bool reap(const struct call *call, int *state)
{
    for (int i = 0; i < 200; i++) {
        if (waitpid(call->pid, state, WNOHANG) == call->pid)
            return true;
        poll(NULL, 0, 10);
    }
    return false;
}

static void describe_trouble(char *trouble, bool in_time, bool left, int state, const struct call *call, double seconds)
{
    if (!in_time)
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner did not answer within %.0f s", seconds);
    else if (left && WIFSIGNALED(state))
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner was killed by signal %d", WTERMSIG(state));
    else if (left && WIFEXITED(state) && WEXITSTATUS(state) != 0)
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner left with exit status %d", WEXITSTATUS(state));
    else if (call->overflows)
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner said more than %d bytes", PLANNER_ANSWER_MAX);
}

/* Runs `sh -c command` with text [length] on its standard input, and reads its standard output to the end; it shares
 * the standard error of this process. After the given seconds the command is killed with its process group.
 *
 * Returns the output (free), cut at PLANNER_ANSWER_MAX bytes. trouble is "" if the command exited with status 0 in
 * time, else it says what went wrong. Returns NULL, with trouble set, if the command could not be started.
 * SIGPIPE is ignored during the call, because a planner that does not read its input must not end the night. */
static char *planner_call(const char *command, const char *text, size_t length, double seconds,
                          const struct interrupts *interrupts, char trouble[PLANNER_TROUBLE_MAX])
{
    struct call call = {.to = -1, .from = -1, .text = text, .left = length, .answer = malloc(PLANNER_ANSWER_MAX + 1)};
    struct sigaction before, ignore = {.sa_handler = SIG_IGN};
    int state = 0;
    trouble[0] = '\0';
    if (!call.answer || !start(&call, command)) {
        snprintf(trouble, PLANNER_TROUBLE_MAX, "the planner cannot be started: %s", strerror(errno));
        shut(&call.to);
        shut(&call.from);
        free(call.answer);
        return NULL;
    }
    sigaction(SIGPIPE, &ignore, &before);
    bool in_time = exchange(&call, cli_now() + seconds, interrupts);
    shut(&call.to);
    shut(&call.from);
    bool left = in_time && reap(&call, &state);
    kill(-call.pid, SIGKILL);
    if (!left)
        waitpid(call.pid, NULL, 0);
    sigaction(SIGPIPE, &before, NULL);
    describe_trouble(trouble, in_time, left, state, &call, seconds);
    call.answer[call.n] = '\0';
    return call.answer;
}

/* ---- proposals of a planner ---- */

/* Limits of one turn: how often the planner is asked, and how many of its proposals may be refused. A planner that prints
 * thousands of proposals would otherwise keep the night busy with checking them. */
enum { ASKED_AT_MOST = 2, REFUSED_AT_MOST = 100 };

/* ---- refused proposals ---- */

/* Records a refused proposal. Takes over the reference to the reasons. */
static void refuse(const struct planning *planning, json_t *refused, const json_t *proposal, json_t *reasons)
{
    char now[LINEAGE_TIME_MAX];
    size_t i;
    json_t *reason;
    json_t *refusal = json_pack("{s:O?, s:O}", "proposal", proposal, "reasons", reasons);
    json_array_append(refused, refusal);
    json_object_set_new(refusal, "time", json_string(lineage_time_format(now, (int64_t)time(NULL))));
    json_object_set_new(refusal, "sweep", json_string(planning->list->sweep.name));
    (void)telemetry_line_append(planning->list->store, "proposals.jsonl", refusal); /* the night continues without it */
    json_array_foreach(reasons, i, reason)
        cli_say(json_string_value(reason));
    json_decref(refusal);
    json_decref(reasons);
}

static void refuse_answer(const struct planning *planning, json_t *refused, const char *reason)
{
    refuse(planning, refused, NULL, json_pack("[s]", reason));
}

/* ---- its answers ---- */

/* The schema requires a string, but agents often write the expected change as a number. */
static void expected_delta_to_text(json_t *proposal)
{
    char text[64];
    json_t *expected = json_object_get(proposal, "expected_delta");
    if (!json_is_number(expected))
        return;
    snprintf(text, sizeof text, "%+g", json_number_value(expected));
    json_object_set_new(proposal, "expected_delta", json_string(text));
}

/* Runs the planner and replaces planning->answers by its answers. Returns CLI_GO_ON or an exit status. */
static int ask(struct planning *planning, json_t *refused)
{
    char trouble[PLANNER_TROUBLE_MAX], nothing[1] = "";
    double seconds = fmin(planning->planner_seconds, fmax(1, night_hours_left(planning->hours)));
    json_t *request = planner_request(planning, refused);
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (!text)
        return CLI_SYSTEM;
    char *answer = planner_call(planning->planner, text, strlen(text), seconds, planning->interrupts, trouble);
    free(text);
    json_decref(planning->answers);
    json_t *problems = json_array();
    planning->declined = answer && !trouble[0] && strspn(answer, "[] \t\r\n") == strlen(answer) && strchr(answer, '[');
    planning->answers = planner_answer_read(answer ? answer : nothing, problems);
    free(answer);
    planner_cost_take(planning);
    if (interrupts_came(planning->interrupts)) {
        json_decref(problems);
        return CLI_INTERRUPTED;
    }
    bool explained = json_array_size(problems) > 0;
    if (explained)
        refuse(planning, refused, NULL, problems);
    else
        json_decref(problems);
    if (planning->declined)
        cli_say("the planner has no further proposals");
    else if (trouble[0])
        refuse_answer(planning, refused, trouble);
    else if (json_array_size(planning->answers) == 0 && !explained)
        refuse_answer(planning, refused, "the planner's answer has no line that is a JSON object");
    return CLI_GO_ON;
}

/* ---- a turn ---- */

static const char *proposer_of(const json_t *proposal)
{
    const char *name = json_string_value(json_object_get(proposal, "proposer"));
    return name && lineage_param_text_ok(name) ? name : "planner";
}

/* Adds another run of the trial that the proposal names. Returns CLI_NO, with the reason in why, if that is impossible. */
static int add_replicate(struct planning *planning, const json_t *proposal, size_t *i, char why[NIGHT_WHY_MAX])
{
    struct trial_list *list = planning->list;
    struct lineage_evidence evidence;
    struct lineage_error err;
    const char *id = json_string_value(json_object_get(proposal, "replicate"));
    snprintf(why, NIGHT_WHY_MAX, "replicate must be the exp_id of a measured trial, with nothing beside it but proposer");
    if (!id || json_object_size(proposal) != 1 + (size_t)(json_object_get(proposal, "proposer") != NULL))
        return CLI_NO;
    if (lineage_evidence_load_for(&evidence, list->store, id, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    size_t which = lineage_evidence_find(&evidence, id);
    int status = CLI_NO;
    if (which == evidence.n)
        snprintf(why, NIGHT_WHY_MAX, "replicate: '%.80s' is not a trial with a score", id);
    else
        status = replicate_trial_add(list, evidence.trials[which].exp_id, evidence.trials[which].again, i, why);
    lineage_evidence_release(&evidence);
    if (status == CLI_GO_ON && list->trials[*i].at_work) {
        snprintf(why, NIGHT_WHY_MAX, "replicate: '%.80s' runs again already", id);
        return CLI_NO;
    }
    if (status == CLI_GO_ON)
        planning_give_cost(planning, &list->trials[*i]);
    if (status == CLI_GO_ON && !list->trials[*i].proposer && !(list->trials[*i].proposer = strdup(proposer_of(proposal))))
        return cli_no_memory();
    return status;
}

static int take_replicate(struct planning *planning, json_t *refused, const json_t *proposal, size_t *i)
{
    char why[NIGHT_WHY_MAX];
    int status = add_replicate(planning, proposal, i, why);
    if (status == CLI_NO)
        refuse(planning, refused, proposal, json_pack("[s]", why));
    return status;
}

/* Adds the first answer that passes the gate to the list of trials. Returns CLI_NO if no answer is left, or if too many
 * were refused in this turn; then the remaining answers are dropped. */
static int take_answer(struct planning *planning, struct planner_ideas *ideas, json_t *refused, size_t *i)
{
    int status = CLI_NO;
    while (status == CLI_NO && json_array_size(planning->answers) > 0) {
        if (json_array_size(refused) >= REFUSED_AT_MOST) {
            fprintf(stderr, "lineage: %d proposals were refused in this turn; the other %zu are dropped\n", REFUSED_AT_MOST,
                    json_array_size(planning->answers));
            json_array_clear(planning->answers);
            break;
        }
        double x[PROPOSE_RANGES_MAX];
        struct night_trial trial;
        json_t *reasons, *proposal = json_incref(json_array_get(planning->answers, 0));
        json_array_remove(planning->answers, 0);
        if (json_object_get(proposal, "replicate")) {
            status = take_replicate(planning, refused, proposal, i);
            json_decref(proposal);
            continue;
        }
        expected_delta_to_text(proposal);
        status = proposal_gate(&trial, x, &reasons, ideas, proposal);
        if (status == CLI_NO)
            refuse(planning, refused, proposal, reasons);
        else if (status == CLI_GO_ON)
            status = planning_add(planning, &trial, x, proposer_of(proposal), i);
        json_decref(proposal);
    }
    return status;
}

int planner_propose(struct planning *planning, size_t *i)
{
    json_t *refused = json_array();
    struct planner_ideas ideas = {.planning = planning};
    int status = take_answer(planning, &ideas, refused, i);
    planning->declined = false;
    for (int asked = 0; status == CLI_NO && !planner_cost_is_too_high(planning) && !planning->declined && asked < ASKED_AT_MOST &&
                        json_array_size(refused) < REFUSED_AT_MOST;
         asked++) {
        status = ask(planning, refused);
        if (status == CLI_GO_ON)
            status = take_answer(planning, &ideas, refused, i);
    }
    planner_ideas_release(&ideas);
    json_decref(refused);
    return status;
}
