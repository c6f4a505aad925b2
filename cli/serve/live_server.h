/* live_server.h: serves stores on localhost: the page of `lineage report` and its updates. It only reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <lineage/store.h>

enum { SERVER_STORES = 16 };

struct server_options {
    unsigned port; /* 0: any free port */
    unsigned ports; /* number of ports to try from `port` on, where others are busy; at least 1 */
    bool no_token;
    bool new_token; /* forget the token of earlier servers */
    const char *dirs[SERVER_STORES]; /* [n_dirs] directories of the stores */
    size_t n_dirs;
    struct lineage_open_options store; /* options for opening the stores */
};

/* Serves until SIGINT, SIGTERM or SIGHUP. Prints the address on stdout when it is ready. Returns an exit status. */
int server_run(const struct server_options *options);
