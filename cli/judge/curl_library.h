/*
 * curl_library.h: the functions of libcurl that the judge calls, found when it is opened. Linked, the library and a
 * dozen behind it would be loaded by every trial, of which few ask anybody.
 */
#ifndef JUDGE_CURL_LIBRARY_H
#define JUDGE_CURL_LIBRARY_H

#include <stdbool.h>

#include <curl/curl.h>

#define CURL_FUNCTIONS(X)                                                                                        \
    X(global_init) X(easy_init) X(easy_setopt) X(easy_getinfo) X(easy_strerror) X(easy_cleanup)                  \
    X(multi_init) X(multi_add_handle) X(multi_remove_handle) X(multi_perform) X(multi_poll) X(multi_info_read)   \
    X(multi_cleanup) X(slist_append) X(slist_free_all)

/* curl.easy_init is curl_easy_init. */
struct curl_library {
#define CURL_MEMBER(name) __typeof__(&curl_##name) name;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

enum { CURL_LIBRARY_WHY_MAX = 256 };

/* False with the reason in why, which names the package. It stays loaded: its TLS library has threads' ends to tidy. */
bool curl_library_load(struct curl_library *curl, char why[CURL_LIBRARY_WHY_MAX]);

#endif
