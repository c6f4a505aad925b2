/* appending.c: functions that every part of an append uses. */
#include "appending.h"

#include <math.h>
#include <stdarg.h>

enum lineage_status appending_format_text(struct appending *a, const char **out, struct lineage_error *err, const char *format,
                                          ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *out = arena_text(a->arena, text, (size_t)length);
    return *out ? LINEAGE_OK : store_no_memory(err);
}

void lineage_append_options_init(struct lineage_append_options *options)
{
    *options = (struct lineage_append_options){.min_delta = (double)NAN, .noise_std = (double)NAN};
}
