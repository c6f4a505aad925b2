/* common_words.c: finds the words that several texts share, starting from the first text. */
#include "output/common_words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Returns the length of the word at text in bytes; name='a b' is one word. */
static size_t word_length(const char *text)
{
    bool quoted = false;
    size_t n = 0;
    for (; text[n] && (quoted || text[n] != ' '); n++)
        quoted ^= text[n] == '\'';
    return n;
}

/* Returns where text contains the word, or NULL. */
static char *find_word(char *text, const char *word, size_t length)
{
    for (size_t n; *text; text += n + (text[n] == ' ')) {
        n = word_length(text);
        if (n == length && memcmp(text, word, n) == 0)
            return text;
    }
    return NULL;
}

static bool is_common(char *const *texts, size_t n, const char *word, size_t length)
{
    for (size_t i = 0; i < n; i++)
        if (!find_word(texts[i], word, length))
            return false;
    return true;
}

/* Removes the word and the blank that separates it from its neighbour. */
static void remove_word(char *text, const char *word, size_t length)
{
    char *at = find_word(text, word, length);
    if (!at)
        return;
    char *rest = at + length;
    if (*rest == ' ')
        rest++;
    else if (at > text)
        at--;
    memmove(at, rest, strlen(rest) + 1);
}

/* out has room for the first text. Returns the number of bytes used. */
static size_t collect(char *out, char *const *texts, size_t n)
{
    size_t used = 0;
    for (const char *word = texts[0]; *word;) {
        size_t length = word_length(word);
        if (is_common(texts, n, word, length)) {
            memcpy(out + used, word, length);
            used += length;
            out[used++] = ' ';
        }
        word += length + (word[length] == ' ');
    }
    return used;
}

char *common_words(char *const *texts, size_t n)
{
    char *common = malloc(strlen(texts[0]) + 2);
    size_t used = common ? collect(common, texts, n) : 0;
    if (!used) {
        free(common);
        return NULL;
    }
    common[used - 1] = '\0';
    for (size_t at = 0; at < used; at += word_length(common + at) + 1)
        for (size_t i = 0; i < n; i++)
            remove_word(texts[i], common + at, word_length(common + at));
    return common;
}
