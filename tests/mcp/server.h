/* server.h: `lineage mcp` as a child process, for the hostile test and the benchmark. */
#ifndef TESTS_MCP_SERVER_H
#define TESTS_MCP_SERVER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Members of params that make a request one of the newer era. */
#define MODERN                                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

struct server {
    pid_t child;
    int in, out; /* its standard input and output; in does not block */
    char *data;  /* read and not yet handed out */
    size_t length, capacity, start;
};

/* A store of n trials in a new directory: scores, alpha, gamma, parents. free and remove_dir. */
char *make_store(size_t n);

/* The program is $LINEAGE; its standard error goes to errors, NULL drops it. */
bool server_start(struct server *server, const char *dir, const char *errors);

/* Send bytes; what comes meanwhile is kept, so that neither side waits for the other. */
void server_put(struct server *server, const char *bytes, size_t length);

/* The next line as JSON; NULL at its end, after 60 seconds of silence, or for what is no JSON. */
json_t *server_next(struct server *server);

/* Close its input and wait: its exit status, or 128 and the signal. */
int server_end(struct server *server);

#endif
