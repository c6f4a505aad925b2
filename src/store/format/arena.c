/*
 * arena.c: block arena and growing byte buffer. A trial has a dozen texts with the same lifetime, and a sync reads a
 * million trials: reusing one block replaces a dozen allocations per trial.
 *
 * The buffer remembers that an addition failed instead of reporting each one: a record is built by dozens of calls and
 * is then written or refused as a whole, so one check at the end is enough.
 */
#include "arena.h"

#include <stdarg.h>

#include "../fail.h"

/* Large enough for the texts of a typical row, so a sync usually needs one block. Each further block is twice as large,
 * so the block that arena_reset keeps soon holds a thousand rows. */
#define BLOCK_BYTES 4096u
#define LARGEST_DOUBLED ((size_t)512 << 10)

struct arena_block {
    struct arena_block *next;
    size_t size, used;
    max_align_t data[];
};

static struct arena_block *grow(struct arena *arena, size_t bytes)
{
    size_t size = BLOCK_BYTES;
    if (arena->blocks)
        size = arena->blocks->size < LARGEST_DOUBLED ? arena->blocks->size * 2 : LARGEST_DOUBLED;
    if (size < bytes)
        size = bytes;
    struct arena_block *block = malloc(sizeof *block + size);
    if (!block)
        return NULL;
    *block = (struct arena_block){.next = arena->blocks, .size = size};
    arena->blocks = block;
    return block;
}

/* Texts need no alignment and lie side by side: rounding each one up would cost as much memory as a short text itself. */
static void *take(struct arena *arena, size_t bytes, size_t align)
{
    if (bytes > SIZE_MAX / 2)
        return NULL;
    struct arena_block *block = arena->blocks;
    size_t at = block ? (block->used + align - 1) / align * align : 0;
    if (!block || at > block->size || block->size - at < bytes) {
        block = grow(arena, bytes);
        at = 0;
    }
    if (!block)
        return NULL;
    block->used = at + bytes;
    return (char *)block->data + at;
}

/* The memory is zeroed, so a struct member that is added later starts out empty. The product is checked, because counts
 * come from files. */
void *arena_alloc(struct arena *arena, size_t count, size_t size)
{
    size_t bytes;
    void *out = __builtin_mul_overflow(count, size, &bytes) ? NULL : take(arena, bytes, sizeof(max_align_t));
    return out ? memset(out, 0, bytes) : NULL;
}

/* Writes through memcpy, because C forbids writing through a pointer to another pointer type. */
enum lineage_status arena_items(struct arena *arena, size_t n, size_t size, void *out, struct lineage_error *err)
{
    void *items = arena_alloc(arena, n, size);
    memcpy(out, &items, sizeof items);
    return items ? LINEAGE_OK : store_no_memory(err);
}

char *arena_text(struct arena *arena, const char *text, size_t length)
{
    char *out = take(arena, length + 1, 1);
    if (!out)
        return NULL;
    if (length)
        memcpy(out, text, length);
    out[length] = '\0';
    return out;
}

/* The newest block is kept, because it is the largest. */
void arena_reset(struct arena *arena)
{
    struct arena_block *kept = arena->blocks;
    if (!kept)
        return;
    arena->blocks = kept->next;
    arena_release(arena);
    kept->next = NULL;
    kept->used = 0;
    arena->blocks = kept;
}

void arena_release(struct arena *arena)
{
    while (arena->blocks) {
        struct arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}

bool list_room(void *items, size_t n, size_t *capacity, size_t size)
{
    enum { FIRST = 32 };
    size_t wanted = *capacity ? 2 * *capacity : FIRST;
    void *old, *larger;
    if (n < *capacity)
        return true;
    memcpy(&old, items, sizeof old);
    if (wanted <= *capacity || wanted > SIZE_MAX / size || !(larger = realloc(old, wanted * size)))
        return false;
    memcpy(items, &larger, sizeof larger);
    *capacity = wanted;
    return true;
}

bool buf_grow(struct buf *buf, size_t length)
{
    if (buf->failed || length > SIZE_MAX / 4 - buf->length) { /* doubling below must not wrap around */
        buf->failed = true;
        return false;
    }
    size_t needed = buf->length + length + 1;
    if (needed <= buf->capacity)
        return true;
    /* Doubling the capacity keeps the copying linear: each byte of a record that is built cell by cell is copied a
     * constant number of times on average. */
    size_t capacity = buf->capacity ? buf->capacity : 256;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(buf->data, capacity);
    if (!data) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

void buf_add(struct buf *buf, const void *data, size_t length)
{
    if (!buf_reserve(buf, length))
        return;
    if (length)
        memcpy(buf->data + buf->length, data, length);
    buf->length += length;
    buf->data[buf->length] = '\0';
}

void buf_add_hex(struct buf *buf, const void *data, size_t length)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *bytes = data;
    if (!buf_reserve(buf, 2 * length))
        return;
    for (size_t i = 0; i < length; i++) {
        buf->data[buf->length++] = digits[bytes[i] >> 4];
        buf->data[buf->length++] = digits[bytes[i] & 15];
    }
    buf->data[buf->length] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool hex_read(void *out, const char *text, size_t n)
{
    unsigned char *bytes = out;
    for (size_t i = 0; i < n; i++) {
        const int high = hex_digit(text[2 * i]), low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

void buf_puts(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

/* Measures the text before printing it, because notes have any length and a fixed buffer would cut them silently. */
void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) {
        buf->failed = true; /* for a text of 2 GiB; otherwise the buffer would look complete */
    } else if (buf_reserve(buf, (size_t)length)) {
        vsnprintf(buf->data + buf->length, (size_t)length + 1, format, again);
        buf->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

/* Used to remove the last separator when one too many was added. */
void buf_truncate(struct buf *buf, size_t length)
{
    if (length < buf->length) {
        buf->length = length;
        buf->data[length] = '\0';
    }
}

void buf_release(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}
