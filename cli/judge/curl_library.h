/*
 * curl_library.h: the functions of libcurl that are called, looked up when an endpoint is opened. If the library were
 * linked, every trial would load it and a dozen others, although few trials use a judge.
 */
#pragma once

#include <stdbool.h>

#include <curl/curl.h>

/* clang-format off */
#define CURL_FUNCTIONS(X)                                                                                        \
    X(global_init) X(easy_init) X(easy_perform) X(easy_setopt) X(easy_getinfo) X(easy_strerror) X(easy_cleanup)                  \
    X(multi_init) X(multi_add_handle) X(multi_remove_handle) X(multi_perform) X(multi_poll) X(multi_info_read)   \
    X(multi_cleanup) X(slist_append) X(slist_free_all)
/* clang-format on */

/* The functions of libcurl, without the prefix curl_: curl.easy_init is curl_easy_init. */
struct curl_library {
#define CURL_MEMBER(name) __typeof__(&curl_##name) name;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

enum { CURL_LIBRARY_WHY_MAX = 256 };

/* Returns false with the reason, which names the package, in why. The library stays loaded, because its TLS library
 * runs code when threads end. */
bool curl_library_load(struct curl_library *curl, char why[CURL_LIBRARY_WHY_MAX]);
