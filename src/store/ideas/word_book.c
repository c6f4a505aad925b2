/* word_book.c: numbers the words of a set of ideas and remembers how each is split. */
#include "word_book.h"

#include <stdlib.h>
#include <string.h>

/* Without this macro uthash calls exit when memory runs out, which a library must not do. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct word_place {
    UT_hash_handle hh;
    uint32_t number;
    char text[];
};

static bool make_room(struct word_book *book)
{
    if (book->n < book->capacity)
        return true;
    uint32_t capacity = book->capacity ? 2 * book->capacity : 1024;
    struct word *words = capacity > book->capacity ? realloc(book->words, capacity * sizeof *words) : NULL;
    if (!words)
        return false;
    if (!book->n)
        words[book->n++] = (struct word){.text = ""};
    book->words = words;
    book->capacity = capacity;
    return true;
}

uint32_t word_book_number(struct word_book *book, const char *text, size_t length)
{
    struct word_place *place = NULL;
    if (book->places)
        HASH_FIND(hh, book->places, text, length, place);
    if (place)
        return place->number;
    place = make_room(book) ? arena_alloc(&book->arena, 1, sizeof *place + length + 1) : NULL;
    if (!place)
        return 0;
    memcpy(place->text, text, length);
    HASH_ADD_KEYPTR(hh, book->places, place->text, length, place);
    if (!place->hh.tbl) /* uthash's own tables are allocated apart */
        return 0;
    place->number = book->n;
    book->words[book->n] = (struct word){.text = place->text, .length = (uint32_t)length};
    return book->n++;
}

struct word *word_book_split(struct word_book *book, uint32_t number)
{
    struct word *word = &book->words[number];
    struct knob_words words;
    if (word->parts)
        return word;
    words.n = 0;
    if (word->text[0] != '#' && word->text[0] != '^')
        knob_words_split(&words, word->text, word->length);
    char(*parts)[KNOB_WORD_MAX] = arena_alloc(&book->arena, words.n + 1, sizeof *parts);
    if (!parts)
        return NULL;
    memcpy(parts, words.words, words.n * sizeof *parts);
    word->n_parts = (uint32_t)words.n;
    word->parts = parts;
    return word;
}

void word_book_release(struct word_book *book)
{
    HASH_CLEAR(hh, book->places);
    free(book->words);
    arena_release(&book->arena);
    *book = (struct word_book){0};
}
