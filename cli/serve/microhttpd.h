/*
 * microhttpd.h: the functions of libmicrohttpd that the server calls, looked up when it starts. If the library were
 * linked, every `lineage best` would load it and the TLS library behind it, which takes longer than the answer.
 */
#pragma once

#include <microhttpd.h>

/* clang-format off */
#define MICROHTTPD_FUNCTIONS(X)                                                                              \
    X(start_daemon) X(stop_daemon) X(queue_response) X(destroy_response)                  \
    X(create_response_from_buffer) X(create_response_from_callback) X(add_response_header)                   \
    X(lookup_connection_value) X(get_connection_values) X(suspend_connection) X(resume_connection)    \
    X(get_connection_info)
/* clang-format on */

/* http.start_daemon is MHD_start_daemon. */
struct microhttpd {
#define MICROHTTPD_MEMBER(name) __typeof__(&MHD_##name) name;
    MICROHTTPD_FUNCTIONS(MICROHTTPD_MEMBER)
#undef MICROHTTPD_MEMBER
    void *library;
};

/* Returns CLI_GO_ON, or an exit status after naming the missing package. */
int microhttpd_load(struct microhttpd *http);
void microhttpd_unload(struct microhttpd *http);
