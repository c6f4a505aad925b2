/* knob_words.c: brings names of settings and words of prose into one spelling. */
#include "knob_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "idea_tokens.h"

static const struct {
    uint32_t letter;
    const char *name;
} greek[] = {{0x3B1, "alpha"}, {0x3B2, "beta"}, {0x3B3, "gamma"}, {0x3B4, "delta"}, {0x3B5, "eps"},    {0x3F5, "eps"},
             {0x3B6, "zeta"},  {0x3B7, "eta"},  {0x3B8, "theta"}, {0x3BA, "kappa"}, {0x3BB, "lambda"}, {0x3BC, "mu"},
             {0xB5, "mu"},     {0x3BD, "nu"},   {0x3BE, "xi"},    {0x3C0, "pi"},    {0x3C1, "rho"},    {0x3C3, "sigma"},
             {0x3C4, "tau"},   {0x3C6, "phi"},  {0x3D5, "phi"},   {0x3C8, "psi"},   {0x3C9, "omega"}};

/* Words that say nothing about which knob is meant. */
#define EMPTY_WORDS " the a an of for to in on at and or by with its per new old our this that from value values "

/* Removes a plural or possessive s, but leaves "loss", "bias" and "axis" unchanged. */
static size_t singular(const char *word, size_t length)
{
    if (length > 3 && word[length - 1] == 's' && !strchr("sui", word[length - 2]))
        length--;
    return length;
}

struct splitter {
    struct knob_words *words;
    char word[KNOB_WORD_MAX];
    size_t length;
};

static void append(struct splitter *s, const char *text, size_t length)
{
    if (s->length + length >= KNOB_WORD_MAX)
        return;
    memcpy(s->word + s->length, text, length);
    s->length += length;
}

static void finish_word(struct splitter *s)
{
    struct knob_words *words = s->words;
    size_t length = s->length;
    bool digits = length > 0;
    s->length = 0;
    for (size_t i = 0; i < length; i++)
        digits = digits && is_digit((unsigned char)s->word[i]);
    if (digits && words->n && strlen(words->words[words->n - 1]) + length < KNOB_WORD_MAX) {
        strncat(words->words[words->n - 1], s->word, length);
        return;
    }
    length = singular(s->word, length);
    if (length == 0 || words->n == KNOB_WORDS || text_in(s->word, length, EMPTY_WORDS))
        return;
    memcpy(words->words[words->n], s->word, length);
    words->words[words->n++][length] = '\0';
}

static void one(struct splitter *s, uint32_t c, const char *text, size_t size)
{
    char lower;
    for (size_t i = 0; c >= 0x80 && i < sizeof greek / sizeof *greek; i++)
        if (c == greek[i].letter || (c >= 0x391 && c <= 0x3A9 && c + 0x20 == greek[i].letter)) {
            append(s, greek[i].name, strlen(greek[i].name));
            return;
        }
    if (c >= 0x2080 && c <= 0x2089) {
        lower = (char)('0' + (c - 0x2080));
        append(s, &lower, 1);
    } else if (c < 0x80) {
        lower = is_upper(c) ? (char)(c | 0x20) : (char)c;
        append(s, &lower, 1);
    } else
        append(s, text, size);
}

void knob_words_split(struct knob_words *words, const char *name, size_t length)
{
    struct splitter s;
    s.words = words;
    s.length = 0;
    words->n = 0;
    uint32_t last = 0;
    /* "opt.lr" becomes lr; the dots of "v1.5" and of a sentence are not such separators. */
    for (size_t i = length; i-- > 1;)
        if (name[i - 1] == '.' && (is_lower((unsigned char)name[i] | 0x20) || name[i] == '_')) {
            name += i, length -= i;
            break;
        }
    for (size_t at = 0, size; at < length; at += size) {
        uint32_t c = code_point(name, at, length, &size);
        bool upper = is_upper(c),
             word = is_lower(c) || upper || is_digit(c) ||
                    (c >= 0x80 && c != 0xFFFD && !(c >= 0x2000 && c < 0x2C00 && !(c >= 0x2080 && c <= 0x2089)) && c != 0xD7);
        /* camelCase, and the last capital of HTTPServer; but AdamW is one word. */
        uint32_t next = at + size < length ? (unsigned char)name[at + size] : 0;
        if (!word || (upper && ((is_lower(last) && (is_lower(next) || is_upper(next))) ||
                                (is_upper(last) && is_lower(next) && s.length > 1))))
            finish_word(&s);
        if (word)
            one(&s, c, name + at, size);
        last = c;
    }
    finish_word(&s);
}

static int by_word(const void *a, const void *b)
{
    return strcmp(a, b);
}

size_t knob_words_sort(char out[KNOB_TEXT_MAX], struct knob_words *words, const char *name)
{
    size_t length = 0, n = 0;
    knob_words_split(words, name, strlen(name));
    qsort(words->words, words->n, sizeof *words->words, by_word);
    for (size_t i = 0; i < words->n; i++)
        if (!n || strcmp(words->words[n - 1], words->words[i]) != 0) {
            memmove(words->words[n++], words->words[i], KNOB_WORD_MAX);
            length += (size_t)sprintf(out + length, "%s%s", length ? " " : "", words->words[i]);
        }
    out[length] = '\0';
    words->n = n;
    return length;
}

static bool ends(const char *word, size_t length, const char *end)
{
    size_t n = strlen(end);
    return length >= n && memcmp(word + length - n, end, n) == 0;
}

void word_stem(char *out, const char *word, size_t length)
{
    if (length >= KNOB_WORD_MAX)
        length = KNOB_WORD_MAX - 1;
    for (size_t i = 0; i < length; i++)
        out[i] = is_upper((unsigned char)word[i]) ? (char)(word[i] | 0x20) : word[i];
    length = singular(out, length);
    size_t before = length;
    if (length > 5 && ends(out, length, "ing"))
        length -= 3;
    else if (length > 4 && ends(out, length, "ed"))
        length -= 2;
    else if (length > 6 && ends(out, length, "ation"))
        length -= 3; /* quantisation -> quantisat, quantise -> quantis: close enough */
    /* clipping: clipp: clip */
    if (length < before && length > 3 && out[length - 1] == out[length - 2] && !strchr("ls", out[length - 1]))
        length--;
    if (length > 4 && out[length - 1] == 'e')
        length--;
    out[length] = '\0';
}
