/* error.h: how every function of the trainer fails, and what it says. */
#ifndef TRAINER_ERROR_H
#define TRAINER_ERROR_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rlcore/status.h>
#include <trainer/status.h>

/* Fill err (may be NULL) and return status. */
enum trainer_status trainer_fail(struct trainer_error *err, enum trainer_status status,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Put "what number: " in front of the text. */
enum trainer_status trainer_blame(struct trainer_error *err, enum trainer_status status,
                                  const char *what, int32_t number);
enum trainer_status trainer_no_memory(struct trainer_error *err, size_t bytes);

/*
 * An error of the training core: bad values are TRAINER_ENUMERIC, no scratch memory is
 * TRAINER_ENOMEM.
 */
enum trainer_status trainer_core_failed(struct trainer_error *err, const char *what,
                                        enum rl_status status, const struct rl_error *core);

/* Unbiased standard deviation of n numbers from their sum and that of squares; 0 for n < 2. */
static inline double trainer_std(double n, double sum, double square)
{
    return n > 1 ? sqrt(fmax(0, square - sum * sum / n) / (n - 1)) : 0;
}

#endif
