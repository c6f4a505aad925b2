/* tool_server.h: a child process of `lineage mcp`, whose reading tools a model may call. It does not get the key. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <jansson.h>

/* Zeroed before it is started. */
struct tool_server {
    pid_t pid;
    FILE *to, *from;
    char *line; /* of getline */
    size_t capacity;
    json_int_t id;
    json_t *tools; /* as `tools/list` gives them */
};

/* Starts the server on a store. key_env: a variable that it must not see. Returns false if it does not answer. */
bool tool_server_start(struct tool_server *server, const char *dir, const char *key_env);
void tool_server_stop(struct tool_server *server);

/* Whether there is such a tool. */
bool tool_server_has(const struct tool_server *server, const char *name);

/* Calls a tool and returns the text of its answer, free it. An answer that reports a mistake is an answer. Returns NULL if the
 * server is gone. */
char *tool_server_call(struct tool_server *server, const char *name, json_t *arguments);
