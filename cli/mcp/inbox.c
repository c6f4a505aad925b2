/*
 * inbox.c: the thread that reads input, the queue, cancellation, progress notices, output. All in one file, because one
 * lock protects them: what may be sent depends on what was read meanwhile (a cancellation), and what a message does
 * depends on the request in progress.
 */
#include "mcp/mcp.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "mcp/lines.h"

enum {
    /* The interval is short enough that a client which restarts its timeout at each notice never gives up, and long
     * enough not to flood the client, as the protocol asks. */
    PROGRESS_MS = 1000,
    /* seconds for which an answer goes on after the input was closed, because the client may still read it */
    GRACE_S = 5
};

struct waiting {
    struct waiting *next;
    struct mcp_message message;
    size_t bytes;
};

struct mcp_inbox {
    int in, out;
    int wake[2]; /* a byte in this pipe makes the reader look at the request in progress */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t arrived, taken;
    struct waiting *first, **last;
    size_t bytes;
    bool ended, closing, broken;
    double ended_at;

    json_t *id;    /* id of the request in progress, borrowed from its message; NULL: no request can be cancelled */
    json_t *token; /* its progressToken, borrowed */
    bool cancelled;
    double started;
};

/* Compact JSON contains no line end, which is all that the framing needs. A message that cannot be formatted or written
 * ends the stream, because otherwise the client would wait forever for an answer that was skipped. */
static bool deliver(struct mcp_inbox *inbox, json_t *message)
{
    size_t length = 0;
    char *text = message ? cli_json_compact(message, &length) : NULL;
    if (text)
        text[length++] = '\n'; /* overwrites the NUL */
    if (!inbox->broken && (!text || !cli_write_all(inbox->out, text, length))) {
        fprintf(stderr, "lineage mcp: %s\n", text ? "nobody reads the answers" : "out of memory");
        inbox->broken = true;
    }
    free(text);
    json_decref(message);
    return !inbox->broken;
}

/* Takes a message out of the queue without answering it. */
static void drop(struct mcp_inbox *inbox, struct waiting **at)
{
    struct waiting *waiting = *at;
    *at = waiting->next;
    if (!*at)
        inbox->last = at;
    inbox->bytes -= waiting->bytes;
    mcp_message_release(&waiting->message);
    free(waiting);
}

/* Answers the pings that wait behind a long request, because a client takes a server without answers for a dead one. The
 * answer needs nothing of the session: only the older era has ping, and it may come before the handshake. The newer era
 * names its version in _meta, so its request keeps its place and is refused there. */
static void answer_pings(struct mcp_inbox *inbox)
{
    for (struct waiting **at = &inbox->first; *at;) {
        const struct mcp_message *message = &(*at)->message;
        if (message->kind != MCP_REQUEST || strcmp(message->method, "ping") != 0 || json_object_get(message->params, "_meta")) {
            at = &(*at)->next;
            continue;
        }
        deliver(inbox, json_pack("{s:s, s:O, s:{}}", "jsonrpc", "2.0", "id", message->id, "result"));
        drop(inbox, at);
        pthread_cond_signal(&inbox->taken);
    }
}

/* Cancels a request: a waiting one is dropped, and the one in progress ends at its next check. */
static void cancel(struct mcp_inbox *inbox, const json_t *id)
{
    if (inbox->id && json_equal(inbox->id, id)) {
        inbox->cancelled = true;
        return;
    }
    for (struct waiting **at = &inbox->first; *at; at = &(*at)->next) {
        struct waiting *waiting = *at;
        if (waiting->message.kind != MCP_REQUEST || !json_equal(waiting->message.id, id))
            continue;
        drop(inbox, at);
        return;
    }
}

/*
 * Blocks instead of refusing, so that a client which sends faster than trials can be read is slowed down by its own
 * full pipe. `closing` ends the wait, because no more messages are taken from the queue. A message that is larger than
 * the limit is accepted while the queue is below the limit, so no single message blocks forever.
 */
static void enqueue(struct mcp_inbox *inbox, struct waiting *waiting)
{
    while (inbox->bytes > MCP_WAITING_MAX && !inbox->closing)
        pthread_cond_wait(&inbox->taken, &inbox->lock);
    waiting->next = NULL;
    *inbox->last = waiting;
    inbox->last = &waiting->next;
    inbox->bytes += waiting->bytes;
    pthread_cond_signal(&inbox->arrived);
}

static bool is_cancellation(const struct mcp_message *message)
{
    return message->kind == MCP_NOTIFICATION && strcmp(message->method, "notifications/cancelled") == 0;
}

/* Puts a message into the queue. If memory runs out, it is dropped without an answer. bytes: of its text. */
static void take(struct mcp_inbox *inbox, struct mcp_message message, size_t bytes)
{
    struct waiting *waiting = calloc(1, sizeof *waiting);
    if (!waiting) {
        fputs("lineage mcp: out of memory: a message was dropped\n", stderr);
        mcp_message_release(&message);
        return;
    }
    waiting->bytes = sizeof *waiting + 2 * bytes; /* parsed JSON needs more memory than its text */
    waiting->message = message;
    pthread_mutex_lock(&inbox->lock);
    /* A cancellation skips the queue, because at the end of the queue it would come after the answer that it should
     * prevent. Unknown ids are ignored, as the protocol requires, because answer and cancellation may cross. */
    if (is_cancellation(&waiting->message)) {
        cancel(inbox, json_object_get(waiting->message.params, "requestId"));
        mcp_message_release(&waiting->message);
        free(waiting);
    } else {
        enqueue(inbox, waiting);
    }
    pthread_mutex_unlock(&inbox->lock);
}

/* The requests of a batch are answered one by one, each with its id, so that a long one does not delay the others. */
static void take_line(void *context, enum mcp_line_kind kind, const char *text, size_t length)
{
    struct mcp_message message, part;
    json_t *root;
    size_t i;
    if (kind == MCP_LINE_WHOLE)
        mcp_message_read(&message, text, length);
    else
        mcp_message_dropped(&message, text,
                            kind == MCP_LINE_TOO_LONG ? "a message has 1048576 bytes at most" : "no memory for the message");
    if (message.kind != MCP_BATCH) {
        take(context, message, length);
        return;
    }
    json_array_foreach(message.root, i, root) {
        /* A batch within a batch is refused as null would be. */
        mcp_message_take(&part, json_is_array(root) ? json_null() : json_incref(root));
        part.batched = true;
        take(context, part, length / json_array_size(message.root));
    }
    mcp_message_release(&message);
}

/* What a long request must not delay: answers to pings, and notices of its progress. The progress value is the number of
 * seconds since the request began. It strictly increases; the total is unknown. Returns how long to wait. */
static int attend(struct mcp_inbox *inbox)
{
    int wait = -1;
    pthread_mutex_lock(&inbox->lock);
    if (inbox->id) {
        double seconds = cli_now() - inbox->started;
        wait = PROGRESS_MS;
        if (seconds * 1000 >= PROGRESS_MS * 0.9) {
            answer_pings(inbox);
            if (inbox->token && !inbox->cancelled)
                deliver(inbox,
                        json_pack("{s:s, s:s, s:{s:O, s:f, s:s}}", "jsonrpc", "2.0", "method", "notifications/progress", "params",
                                  "progressToken", inbox->token, "progress", seconds, "message", "seconds at work"));
        }
    }
    pthread_mutex_unlock(&inbox->lock);
    return wait;
}

/* Uses poll instead of a blocking read, because this thread also answers pings and sends progress notices while the answering thread is
 * inside SQLite or a diff. */
static void *read_input(void *context)
{
    struct mcp_inbox *inbox = context;
    struct mcp_lines lines = {0};
    char bytes[65536], woken[16];
    struct pollfd fds[] = {{inbox->in, POLLIN, 0}, {inbox->wake[0], POLLIN, 0}};
    for (;;) {
        int ready = poll(fds, 2, attend(inbox));
        if (ready < 0 && errno != EINTR)
            break;
        if (ready <= 0)
            continue;
        if (fds[1].revents && read(inbox->wake[0], woken, sizeof woken) == 0)
            break; /* the server is closing */
        if (!fds[0].revents)
            continue;
        ssize_t n = read(inbox->in, bytes, sizeof bytes);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            break;
        mcp_lines_feed(&lines, bytes, (size_t)n, take_line, inbox);
    }
    /* A last line without a line end is a message too, because shells and tests send such lines. */
    mcp_lines_end(&lines, take_line, inbox);
    mcp_lines_release(&lines);
    pthread_mutex_lock(&inbox->lock);
    inbox->ended = true;
    inbox->ended_at = cli_now();
    pthread_cond_broadcast(&inbox->arrived);
    pthread_mutex_unlock(&inbox->lock);
    return NULL;
}

/* The pipe wakes the reader when a request begins, because the reader may be in poll without a
 * timeout. */
struct mcp_inbox *mcp_inbox_open(int in, int out)
{
    struct mcp_inbox *inbox = calloc(1, sizeof *inbox);
    if (!inbox)
        return NULL;
    inbox->in = in;
    inbox->out = out;
    inbox->last = &inbox->first;
    pthread_mutex_init(&inbox->lock, NULL);
    pthread_cond_init(&inbox->arrived, NULL);
    pthread_cond_init(&inbox->taken, NULL);
    if (pipe(inbox->wake) != 0) {
        free(inbox);
        return NULL;
    }
    for (int i = 0; i < 2; i++)
        if (fcntl(inbox->wake[i], F_SETFD, FD_CLOEXEC) != 0 || fcntl(inbox->wake[i], F_SETFL, O_NONBLOCK) != 0)
            fputs("lineage mcp: cannot set up a pipe\n", stderr); /* progress notices may be late without it */
    if (pthread_create(&inbox->thread, NULL, read_input, inbox) != 0) {
        close(inbox->wake[0]);
        close(inbox->wake[1]);
        free(inbox);
        return NULL;
    }
    return inbox;
}

/* A client that wants progress notices sends a token, which is a string or an integer. */
static json_t *progress_token(const struct mcp_message *message)
{
    json_t *token = json_object_get(json_object_get(message->params, "_meta"), "progressToken");
    return json_is_string(token) || json_is_integer(token) ? token : NULL;
}

/* Runs under the same lock in which the message left the queue, so that a cancellation always finds the message either
 * in the queue or as the request in progress. */
static void begin(struct mcp_inbox *inbox, const struct mcp_message *message)
{
    inbox->cancelled = false;
    inbox->id = message->kind == MCP_REQUEST ? message->id : NULL;
    inbox->token = inbox->id ? progress_token(message) : NULL;
    inbox->started = cli_now();
    if (inbox->id && write(inbox->wake[1], "", 1) < 0)
        return; /* a full pipe wakes the reader too */
}

bool mcp_inbox_next(struct mcp_inbox *inbox, struct mcp_message *message)
{
    pthread_mutex_lock(&inbox->lock);
    while (!inbox->first && !inbox->ended)
        pthread_cond_wait(&inbox->arrived, &inbox->lock);
    struct waiting *waiting = inbox->first;
    if (waiting) {
        inbox->first = waiting->next;
        if (!inbox->first)
            inbox->last = &inbox->first;
        inbox->bytes -= waiting->bytes;
        *message = waiting->message;
        begin(inbox, message);
        pthread_cond_signal(&inbox->taken);
    }
    pthread_mutex_unlock(&inbox->lock);
    free(waiting);
    return waiting != NULL;
}

/* A closed input does not cancel the request at once: in `printf ... | lineage mcp` the input is closed long before the
 * answer, which is still read. */
bool mcp_inbox_cancelled(struct mcp_inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    bool cancelled = inbox->cancelled || inbox->broken || (inbox->ended && cli_now() - inbox->ended_at > GRACE_S);
    pthread_mutex_unlock(&inbox->lock);
    return cancelled;
}

bool mcp_inbox_answer(struct mcp_inbox *inbox, json_t *answer)
{
    pthread_mutex_lock(&inbox->lock);
    /* The check and the sending share one lock. Otherwise a cancellation could be read in between, and the answer of a
     * cancelled request would be sent. */
    bool wanted = answer && !inbox->cancelled;
    inbox->id = inbox->token = NULL;
    bool ok = wanted ? deliver(inbox, answer) : !inbox->broken;
    pthread_mutex_unlock(&inbox->lock);
    if (!wanted)
        json_decref(answer);
    return ok;
}

bool mcp_inbox_notify(struct mcp_inbox *inbox, json_t *notification)
{
    pthread_mutex_lock(&inbox->lock);
    bool ok = true;
    if (inbox->cancelled)
        json_decref(notification);
    else
        ok = deliver(inbox, notification);
    pthread_mutex_unlock(&inbox->lock);
    return ok;
}

/* Joins the thread before anything is freed, because the thread may be processing a line. The thread's read cannot
 * block, because poll precedes it and reports the closed pipe. */
void mcp_inbox_close(struct mcp_inbox *inbox)
{
    if (!inbox)
        return;
    pthread_mutex_lock(&inbox->lock);
    inbox->closing = true;
    pthread_cond_broadcast(&inbox->taken);
    pthread_mutex_unlock(&inbox->lock);
    close(inbox->wake[1]); /* the reader sees the end of this pipe */
    pthread_join(inbox->thread, NULL);
    close(inbox->wake[0]);
    while (inbox->first) {
        struct waiting *waiting = inbox->first;
        inbox->first = waiting->next;
        mcp_message_release(&waiting->message);
        free(waiting);
    }
    pthread_cond_destroy(&inbox->arrived);
    pthread_cond_destroy(&inbox->taken);
    pthread_mutex_destroy(&inbox->lock);
    free(inbox);
}
