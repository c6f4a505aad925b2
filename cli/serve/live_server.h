/* live_server.h: a store on localhost: the report of `lineage report`, and news of it. Reads only. */
#ifndef SERVE_LIVE_SERVER_H
#define SERVE_LIVE_SERVER_H

#include <stdbool.h>

#include <lineage/store.h>

struct server_options {
    unsigned port; /* 0: any free one */
    bool no_token;
    const char *dir;                     /* of the store */
    struct lineage_open_options store; /* its settings in force */
};

/* Serve until SIGINT, SIGTERM or SIGHUP. Prints the address on stdout when it answers. An exit status. */
int server_run(const struct server_options *options);

#endif
