/* arena.h: memory that is freed all at once, and a growing byte buffer. */
#pragma once

#include <stddef.h>

#include <lineage/store.h>

#include "../fail.h"

/* A zeroed struct arena is empty and ready. Allocations are aligned for any type and live until release. */
struct arena {
    struct arena_block *blocks;
};
void *arena_alloc(struct arena *arena, size_t count, size_t size); /* zeroed; NULL when out of memory */
/* Sets *out, a pointer to items of that size, to n zeroed ones. */
enum lineage_status arena_items(struct arena *arena, size_t n, size_t size, void *out, struct lineage_error *err);
char *arena_text(struct arena *arena, const char *text, size_t length); /* NUL-terminated copy */
void arena_reset(struct arena *arena);   /* empties it, and keeps one block for reuse */
void arena_release(struct arena *arena);
#define SCOPED_ARENA RELEASED_BY(arena_release) struct arena

/* Whether the text contains a sign that lineage_text_safe or lineage_text_visible puts in the place of another (text.c). */
bool text_has_stand_in(const char *text);

/* Whether both texts are shown alike, so that one may be a copy of what was shown of the other. */
bool text_is_shown_as(const char *text, const char *shown);

/* Makes room for an item behind the n of an array that has room for `capacity`. Returns false when out of memory, which leaves the
 * array unchanged. The function takes the address of the pointer to the array. */
#define LIST_ROOM(items, n, capacity) list_room(&(items), n, &(capacity), sizeof *(items))
bool list_room(void *items, size_t n, size_t *capacity, size_t size);

/* A growing byte string, always NUL-terminated once anything was added. After an allocation failure `failed` is set and
 * further additions do nothing, so one check at the end is enough. */
struct buf {
    char *data;
    size_t length, capacity;
    bool failed;
};
/* Makes room for `length` more bytes and a NUL; false when out of memory. */
bool buf_grow(struct buf *buf, size_t length);
static inline bool buf_reserve(struct buf *buf, size_t length)
{
    return (!buf->failed && length < buf->capacity - buf->length) || buf_grow(buf, length);
}
void buf_add(struct buf *buf, const void *data, size_t length);
void buf_puts(struct buf *buf, const char *text);
void buf_add_hex(struct buf *buf, const void *data, size_t length); /* two digits per byte, in lower case */
bool hex_read(void *out, const char *text, size_t n); /* n bytes written so; false at any other text */
static inline void buf_put(struct buf *buf, char c) /* one byte */
{
    if (!buf_reserve(buf, 1))
        return;
    buf->data[buf->length++] = c;
    buf->data[buf->length] = '\0';
}
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_truncate(struct buf *buf, size_t length);
static inline void buf_reset(struct buf *buf) /* empties it but keeps its memory */
{
    buf->length = 0;
    buf->failed = false;
}
void buf_release(struct buf *buf);
#define SCOPED_BUF RELEASED_BY(buf_release) struct buf
