/* scarce_memory.c: see scarce_memory.h. */
#include "support/scarce_memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/arena.h"

/* ---- allocations of the C library ---- */

void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);

void *__wrap_malloc(size_t size)
{
    return memory_strikes() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return memory_strikes() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return memory_strikes() ? NULL : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return memory_strikes() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
    return memory_strikes() ? NULL : __real_strndup(text, n);
}

/* ---- allocations of arenas and buffers ---- */

void *__real_arena_alloc(struct arena *arena, size_t count, size_t size);
char *__real_arena_text(struct arena *arena, const char *text, size_t length);
void __real_buf_add(struct buf *buf, const void *data, size_t length);
void __real_buf_puts(struct buf *buf, const char *text);
void *__wrap_arena_alloc(struct arena *arena, size_t count, size_t size);
char *__wrap_arena_text(struct arena *arena, const char *text, size_t length);
void __wrap_buf_add(struct buf *buf, const void *data, size_t length);
void __wrap_buf_puts(struct buf *buf, const char *text);
void __wrap_buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

void *__wrap_arena_alloc(struct arena *arena, size_t count, size_t size)
{
    return piece_strikes() ? NULL : __real_arena_alloc(arena, count, size);
}

char *__wrap_arena_text(struct arena *arena, const char *text, size_t length)
{
    return piece_strikes() ? NULL : __real_arena_text(arena, text, length);
}

void __wrap_buf_add(struct buf *buf, const void *data, size_t length)
{
    if (piece_strikes())
        buf->failed = true;
    __real_buf_add(buf, data, length);
}

void __wrap_buf_puts(struct buf *buf, const char *text)
{
    if (piece_strikes())
        buf->failed = true;
    __real_buf_puts(buf, text);
}

/* Formats the text first and passes it to buf_puts, because no __real_ function takes a va_list. */
void __wrap_buf_printf(struct buf *buf, const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        abort();
    va_end(args);
    __wrap_buf_puts(buf, text);
    free(text);
}
