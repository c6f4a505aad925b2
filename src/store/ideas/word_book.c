/* word_book.c: numbers the words of a set of ideas and remembers how each is split. */
#include "word_book.h"

#include <stdlib.h>
#include <string.h>

static bool make_room(struct word_book *book)
{
    if (book->n < book->capacity)
        return true;
    uint32_t capacity = book->capacity ? 2 * book->capacity : 1024;
    struct word *words = capacity > book->capacity ? realloc(book->words, capacity * sizeof *words) : NULL;
    if (!words)
        return false;
    if (!book->n)
        words[book->n++] = (struct word){0};
    book->words = words;
    book->capacity = capacity;
    return true;
}

uint32_t word_book_number(struct word_book *book, const char *text, size_t length)
{
    uint32_t number = text_table_find(&book->texts, text, length);
    if (number != TEXT_NONE)
        return number + 1;
    number = make_room(book) ? text_table_add(&book->texts, text, length) : TEXT_NONE;
    if (number == TEXT_NONE)
        return 0;
    book->words[book->n] = (struct word){0};
    return book->n++;
}

const struct text_entry *word_book_text(const struct word_book *book, uint32_t number)
{
    return &book->texts.entries[number - 1];
}

struct word *word_book_split(struct word_book *book, uint32_t number)
{
    struct word *word = &book->words[number];
    static char no_parts[1][KNOB_WORD_MAX];
    struct knob_words words;
    const struct text_entry *text = word_book_text(book, number);
    if (text->text[0] == '#' || text->text[0] == '^')
        word->parts = no_parts;
    if (word->parts)
        return word;
    knob_words_split(&words, text->text, text->length);
    char(*parts)[KNOB_WORD_MAX] = arena_alloc(&book->arena, words.n + 1, sizeof *parts);
    if (!parts)
        return NULL;
    memcpy(parts, words.words, words.n * sizeof *parts);
    word->n_parts = (uint16_t)words.n;
    word->parts = parts;
    return word;
}

void word_book_release(struct word_book *book)
{
    text_table_release(&book->texts);
    free(book->words);
    arena_release(&book->arena);
    *book = (struct word_book){0};
}
