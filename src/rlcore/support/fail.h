/* fail.h: how a function of the core says what went wrong. */
#ifndef RLCORE_FAIL_H
#define RLCORE_FAIL_H

#include <stddef.h>

#include <rlcore/status.h>

/* Fill *err unless NULL, return status: `return rl_fail(err, RL_EVALUE, "gamma is %g", gamma);` */
enum rl_status rl_fail(struct rl_error *err, enum rl_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A pointer that a function cannot do without, by the name that its caller knows. */
struct rl_needed {
    const char *name;
    const void *pointer;
};

/* RL_EINVAL, naming the first that is missing: RL_NEED(err, {"options", options}, {"out", out}) */
enum rl_status rl_need(struct rl_error *err, size_t n, const struct rl_needed *needed);
#define RL_NEED(err, ...)                                                                          \
    rl_need(err, sizeof((const struct rl_needed[]){__VA_ARGS__}) / sizeof(struct rl_needed),       \
            (const struct rl_needed[]){__VA_ARGS__})

#endif
