/*
 * trainer/status.h: what every function of the trainer returns.
 *
 * A function that can fail returns an enum trainer_status: TRAINER_OK (0) or a negative code. Its last parameter is
 * a `struct trainer_error *`, which may be NULL. On failure it receives the same code and one line of text that
 * names the file, the recipe key or the argument at fault; on TRAINER_OK it is unchanged. The library never exits,
 * never prints and keeps no global state.
 */
#ifndef TRAINER_STATUS_H
#define TRAINER_STATUS_H

#ifdef __cplusplus
#define TRAINER_C extern "C"
#else
#define TRAINER_C
#endif

#if defined(__GNUC__)
#define TRAINER_API TRAINER_C __attribute__((visibility("default")))
#define TRAINER_NODISCARD __attribute__((warn_unused_result))
#else
#define TRAINER_API TRAINER_C
#define TRAINER_NODISCARD
#endif

enum trainer_status {
    TRAINER_OK = 0,
    TRAINER_EINVAL = -1,    /* an argument or a recipe is not allowed */
    TRAINER_ENOMEM = -2,    /* out of memory */
    TRAINER_EIO = -3,       /* a file could not be read or written */
    TRAINER_ENOTFOUND = -4, /* a file does not exist */
    TRAINER_ECORRUPT = -5,  /* the bytes of a checkpoint or state are damaged */
    TRAINER_ESHAPE = -6,    /* the checkpoint is intact but belongs to another model */
    TRAINER_ENUMERIC = -7,  /* a loss, gradient or weight is not finite */
    TRAINER_ESIZE = -8,     /* the run does not fit into its budget; nothing was started */
    TRAINER_ESTOPPED = -9,  /* the caller's callback asked to stop */
    TRAINER_EJUDGE = -10,   /* the judge of steps failed too often */
};

#define TRAINER_ERROR_TEXT_MAX 512

struct trainer_error {
    enum trainer_status status;
    char text[TRAINER_ERROR_TEXT_MAX]; /* NUL-terminated, starts in lower case, no newline */
};

#endif
