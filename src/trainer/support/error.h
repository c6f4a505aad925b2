/* error.h: how the trainer's functions fail: a status, and a message for a person. */
#pragma once

/* The headers of C that nearly every file of the trainer needs, once for all of them. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rlcore/status.h>
#include <trainer/status.h>

/* Fills err (may be NULL) and returns status. */
enum trainer_status trainer_fail(struct trainer_error *err, enum trainer_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns the status of a call that fails. For functions that have nothing to release. */
#define TRY(call)                                                                                                                \
    do {                                                                                                                         \
        const enum trainer_status tried_ = (call);                                                                               \
        if (tried_ != TRAINER_OK)                                                                                                \
            return tried_;                                                                                                       \
    } while (0)

/* Puts "what number: " in front of the message of err (may be NULL) and returns status. */
enum trainer_status trainer_blame(struct trainer_error *err, enum trainer_status status, const char *what, int32_t number);

/* Returns TRAINER_ENOMEM, with a message that gives the number of bytes. */
enum trainer_status trainer_no_memory(struct trainer_error *err, size_t bytes);

/* Converts an error of the training core: bad values become TRAINER_ENUMERIC, missing scratch memory TRAINER_ENOMEM. */
enum trainer_status trainer_core_failed(struct trainer_error *err, const char *what, enum rl_status status,
                                        const struct rl_error *core);

/* Returns the unbiased standard deviation of n numbers, from their sum and their sum of squares; 0 for n < 2. */
static inline double trainer_std(double n, double sum, double square)
{
    return n > 1 ? sqrt(fmax(0, square - sum * sum / n) / (n - 1)) : 0;
}
