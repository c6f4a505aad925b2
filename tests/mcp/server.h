/* server.h: `lineage mcp` as a child process, for the hostile test and the benchmark. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Members of params that make a request belong to the newer era. */
#define MODERN                                                                                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

struct server {
    pid_t child;
    int in, out; /* its standard input and output; `in` is non-blocking */
    char *data;  /* bytes read but not yet returned */
    size_t length, capacity, start;
};

/* Makes a store of n trials in a new directory: scores, alpha, gamma, parents. Free the path, and remove_dir it. */
char *make_store(size_t n);

/* Starts the program $LINEAGE; its standard error goes to the file errors, or is dropped if that is NULL. */
bool server_start(struct server *server, const char *dir, const char *errors);

/* Sends bytes, and buffers the answers that arrive meanwhile, so that neither side blocks the other. */
void server_put(struct server *server, const char *bytes, size_t length);

/* Returns the next line as JSON; NULL at the end, after 60 seconds of silence, or if the line is not JSON. */
json_t *server_next(struct server *server);

/* Closes its input and waits. Returns its exit status, or 128 plus the signal. */
int server_end(struct server *server);
