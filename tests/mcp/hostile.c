/*
 * hostile.c: sends ten thousand hostile or truncated messages to `lineage mcp`. It must answer the ping that follows
 * every hundred of them, write only JSON-RPC answers, leave the store unchanged, and exit cleanly in the middle of a
 * message.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcp/server.h"
#include "support/files.h"

enum { MESSAGES = 10000, PING_EVERY = 100 };

static const char *const seeds[] = {
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" MODERN "}}",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{" MODERN ",\"name\":\"tried\",\"arguments\":"
    "{\"params\":{\"alpha\":0.9},\"tolerance\":0.1,\"fields\":[\"exp_id\",\"notes\"]}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{" MODERN ",\"name\":\"query\",\"arguments\":"
    "{\"where\":{\"alpha\":\"0.1:0.5\",\"score\":1},\"sort\":\"-score\",\"cursor\":\"001\",\"limit\":3}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{" MODERN ",\"name\":\"sql\",\"arguments\":"
    "{\"statement\":\"SELECT exp_id, score FROM trials ORDER BY score LIMIT 3\"}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{" MODERN ",\"name\":\"sweep\",\"arguments\":"
    "{\"x\":\"alpha\",\"y\":\"gamma\",\"cursor\":\"0.3,1.0\"}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\",\"params\":{" MODERN ",\"name\":\"chain\",\"arguments\":"
    "{\"id\":\"exp_002\",\"max_bytes\":500}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{" MODERN
    ",\"uri\":\"lineage://trial/%30%30%31/steps\"}}",
    "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"prompts/get\",\"params\":{" MODERN ",\"name\":\"plan_night\","
    "\"arguments\":{\"trials\":\"4\",\"parameter\":\"alpha\"}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"completion/complete\",\"params\":{" MODERN ",\"ref\":{\"type\":"
    "\"ref/resource\",\"uri\":\"lineage://trial/{id}\"},\"argument\":{\"name\":\"id\",\"value\":\"0\"}}}",
    "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\","
    "\"capabilities\":{},\"clientInfo\":{\"name\":\"x\",\"version\":\"1\"}}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}",
    "{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"tools/call\",\"params\":{" MODERN ",\"name\":\"append\",\"arguments\":"
    "{\"status\":\"keep\",\"hypothesis\":\"forged\"}}}",
};
enum { N_SEEDS = sizeof seeds / sizeof *seeds };

static const char *const pieces[] = {"\"",
                                     "{",
                                     "}",
                                     "[",
                                     "]",
                                     ",",
                                     ":",
                                     "null",
                                     "-1e999",
                                     "1e308",
                                     "99999999999999999999",
                                     "\\u0000",
                                     "\\ud800",
                                     "\xff",
                                     "\xc0\x80",
                                     "'; DROP TABLE trials; --",
                                     "@18446744073709551615",
                                     "../../..",
                                     "%00",
                                     "%",
                                     "nan",
                                     "\\\"",
                                     "true",
                                     "\"_meta\":{}",
                                     "\"cursor\":\"@1\"",
                                     "\xe2\x80\xae",
                                     "\x1b[2J",
                                     "\r",
                                     "SELECT",
                                     "params",
                                     "\\n",
                                     "alpha"};
enum { N_PIECES = sizeof pieces / sizeof *pieces, ROOM = 4096 };

/* Makes one to four changes: replaces a byte, inserts or removes a part, or cuts off the end. */
static size_t mutate(char *text, unsigned *seed)
{
    size_t length = strlen(text);
    for (int n = 1 + rand_r(seed) % 4; n > 0 && length > 0; n--) {
        size_t at = (size_t)rand_r(seed) % length;
        const char *piece = pieces[rand_r(seed) % N_PIECES];
        size_t size = strlen(piece), part = (size_t)rand_r(seed) % (length - at);
        switch (rand_r(seed) % 8) {
        case 0: length = at; break;
        case 1: text[at] = (char)rand_r(seed); break;
        case 2:
            memmove(text + at, text + at + part, length - at - part);
            length -= part;
            break;
        default:
            memmove(text + at + size, text + at, length - at);
            memcpy(text + at, piece, size);
            length += size;
        }
    }
    for (size_t i = 0; i < length; i++) /* a message stays one line, except for one in a hundred */
        if (text[i] == '\n' && rand_r(seed) % 100)
            text[i] = ' ';
    return length;
}

static void put_hostile(struct server *server, unsigned *seed)
{
    char text[ROOM];
    snprintf(text, sizeof text, "%s", seeds[rand_r(seed) % N_SEEDS]);
    size_t length = mutate(text, seed);
    text[length] = '\n';
    server_put(server, text, length + 1);
}

/* Whether the message is an answer: an object with the protocol's version and a result or an error. */
static bool is_message(const json_t *message)
{
    const char *version = json_string_value(json_object_get(message, "jsonrpc"));
    bool answer = json_object_get(message, "result") || json_is_object(json_object_get(message, "error"));
    const char *method = json_string_value(json_object_get(message, "method"));
    return version && strcmp(version, "2.0") == 0 && (answer || (method && strncmp(method, "notifications/", 14) == 0));
}

/* Reads until the ping with that number is answered. */
static bool await_ping(struct server *server, int number)
{
    char wanted[32];
    snprintf(wanted, sizeof wanted, "ping-%d", number);
    for (;;) {
        json_t *message = server_next(server);
        const char *id = json_string_value(json_object_get(message, "id"));
        bool found = id && strcmp(id, wanted) == 0, ok = is_message(message);
        if (!ok) {
            fprintf(stderr, "instead of an answer to %s: ", wanted);
            json_dumpf(message, stderr, JSON_ENCODE_ANY);
            fputc('\n', stderr);
        }
        json_decref(message);
        if (!ok)
            return false;
        if (found)
            return true;
    }
}

static bool ask(struct server *server, unsigned *seed)
{
    char ping[400];
    for (int i = 1; i <= MESSAGES; i++) {
        put_hostile(server, seed);
        if (i % PING_EVERY)
            continue;
        int n = snprintf(ping, sizeof ping,
                         "\n{\"jsonrpc\":\"2.0\",\"id\":\"ping-%d\",\"method\":\"tools/call\",\"params\":{" MODERN
                         ",\"name\":\"best\"}}\n",
                         i);
        server_put(server, ping, (size_t)n);
        if (!await_ping(server, i))
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
    char *dir = make_store(100);
    char *path = join(dir, "results.tsv");
    size_t before, after;
    char *rows = read_file(path, &before);
    struct server server;
    bool ok = server_start(&server, dir, NULL) && ask(&server, &seed);
    static const char cut[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"meth";
    server_put(&server, cut, sizeof cut - 1);
    int status = server_end(&server);
    char *now = read_file(path, &after);
    if (status != 0)
        fprintf(stderr, "it ended with status %d\n", status);
    if (before != after || memcmp(rows, now, before) != 0)
        ok = false, fprintf(stderr, "results.tsv was written to\n");
    printf("%d messages\n", MESSAGES);
    free(rows);
    free(now);
    free(path);
    remove_dir(dir);
    return !ok || status != 0;
}
