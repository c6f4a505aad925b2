/*
 * error.c: texts of errors. The status tells programs what kind of error it was. The text tells people what failed,
 * and ends up in the trial's row, so the text names the setting, file or step.
 */
#include "support/error.h"

#include <stdarg.h>

/*
 * A message may quote bytes of a file (a key, or the place of a JSON error). The text is printed on a terminal and
 * becomes a part of one row, so control characters are replaced.
 */
static void make_one_line(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            *text = '?';
}

enum trainer_status trainer_fail(struct trainer_error *err, enum trainer_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        err->status = status;
        vsnprintf(err->text, sizeof err->text, format, args);
        va_end(args);
        make_one_line(err->text);
    }
    return status;
}

enum trainer_status trainer_blame(struct trainer_error *err, enum trainer_status status, const char *what, int32_t number)
{
    char text[TRAINER_ERROR_TEXT_MAX];
    if (!err)
        return status;
    memcpy(text, err->text, sizeof text);
    return trainer_fail(err, status, "%s %d: %.400s", what, number, text);
}

enum trainer_status trainer_no_memory(struct trainer_error *err, size_t bytes)
{
    return trainer_fail(err, TRAINER_ENOMEM, "out of memory: %zu more bytes are needed", bytes);
}

/*
 * A value that the core refuses (a NaN, an infinite reward) came from training, so the run failed numerically. An
 * argument that the core refuses is a mistake in the recipe.
 */
enum trainer_status trainer_core_failed(struct trainer_error *err, const char *what, enum rl_status status,
                                        const struct rl_error *core)
{
    enum trainer_status ours = TRAINER_EINVAL;
    if (status == RL_EVALUE)
        ours = TRAINER_ENUMERIC;
    else if (status == RL_EWORKSPACE)
        ours = TRAINER_ENOMEM;
    return trainer_fail(err, ours, "%s: %s", what, core->text);
}
