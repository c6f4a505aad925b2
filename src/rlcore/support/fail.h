/* fail.h: how functions of the core report errors. */
#pragma once

/* The headers of C that nearly every file of the core needs, once for all of them. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/status.h>

/*
 * Fill *err unless it is NULL, and return status: `return rl_fail(err, RL_EVALUE, "gamma is %g",
 * gamma);`
 */
enum rl_status rl_fail(struct rl_error *err, enum rl_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Return the status of a call that fails. The core allocates nothing, so there is never anything to release. */
#define RL_TRY(call)                                                                                                             \
    do {                                                                                                                         \
        const enum rl_status tried_ = (call);                                                                                    \
        if (tried_ != RL_OK)                                                                                                     \
            return tried_;                                                                                                       \
    } while (0)

/* A required pointer and the name under which the caller knows it. */
struct rl_needed {
    const char *name;
    const void *pointer;
};

/*
 * RL_EINVAL, with the name of the first pointer that is NULL: RL_NEED(err, {"options", options},
 * {"out", out})
 */
enum rl_status rl_need(struct rl_error *err, size_t n, const struct rl_needed *needed);
#define RL_NEED(err, ...)                                                                                                        \
    rl_need(err, sizeof((const struct rl_needed[]){__VA_ARGS__}) / sizeof(struct rl_needed),                                     \
            (const struct rl_needed[]){__VA_ARGS__})
