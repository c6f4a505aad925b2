/*
 * short_words.c: finds the meanings of abbreviations in names, as the log itself shows them.
 *
 * "wd" is "weight decay" in a log that writes both. Two or three neighbouring words whose initials form an abbreviation
 * may be its meaning on two conditions: the log contains them as a name at least once ("weight_decay", or in the name
 * of a setting), and trials that write them out also use the abbreviation far more often than other trials do. No
 * vocabulary of any project is built in.
 */
#include "ideas_internal.h"

#include <stdlib.h>
#include <string.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum {
    SHORT_MAX = 4,
    LONGEST_RUN = 3,
    MEANING_MAX = LONGEST_RUN * KNOB_WORD_MAX,
    MEANINGS_KEPT = 8,
    INITIALS = 26 * 26 + 26 * 26 * 26 /* places of by_initials */
};

/* How much more often than by chance an abbreviation and its meaning must occur in the same trial. */
static const double TOGETHER = 1.8;

struct short_word {
    UT_hash_handle hh;
    struct {
        char text[MEANING_MAX];
        uint32_t trials, both; /* number of trials with the words, and number of these with the abbreviation */
        size_t last;           /* the trial that was counted last, from 1 */
        bool name;             /* the words were written as one name, or in the name of a setting */
    } meanings[MEANINGS_KEPT];
    size_t n;
    uint32_t trials;
    size_t last;
    const char *chosen;
    char word[SHORT_MAX + 1];
};

static struct short_word *find(const struct lineage_ideas *ideas, const char *word, size_t length)
{
    struct short_word *found = NULL;
    if (ideas->short_words)
        HASH_FIND(hh, ideas->short_words, word, length, found);
    return found;
}

bool short_words_need(struct lineage_ideas *ideas, const char *word)
{
    size_t length = strlen(word);
    if (length < 2 || length > SHORT_MAX || find(ideas, word, length))
        return true;
    for (size_t i = 0; i < length; i++)
        if (word[i] < 'a' || word[i] > 'z')
            return true;
    struct short_word *made = arena_alloc(&ideas->arena, 1, sizeof *made);
    if (!made)
        return false;
    memcpy(made->word, word, length);
    HASH_ADD_KEYPTR(hh, ideas->short_words, made->word, length, made);
    return made->hh.tbl != NULL;
}

static void count(struct short_word *s, const char *meaning, bool name, size_t trial)
{
    size_t i = 0;
    while (i < s->n && strcmp(s->meanings[i].text, meaning) != 0)
        i++;
    if (i == MEANINGS_KEPT)
        return;
    if (i == s->n)
        memcpy(s->meanings[s->n++].text, meaning, strlen(meaning) + 1);
    s->meanings[i].name = s->meanings[i].name || name;
    if (s->meanings[i].last == trial)
        return;
    s->meanings[i].last = trial;
    s->meanings[i].trials++;
    s->meanings[i].both += s->last == trial;
}

/* Two and three letters as a place in by_initials; INITIALS if one is not a small letter. */
static size_t initials_place(const char *letters, size_t n)
{
    size_t place = n == 3 ? 26 * 26 : 0, number = 0;
    for (size_t i = 0; i < n; i++) {
        if (letters[i] < 'a' || letters[i] > 'z')
            return INITIALS;
        number = number * 26 + (size_t)(letters[i] - 'a');
    }
    return place + number;
}

/* Learns from two and three plain words in a row, or from the parts of one name: weight_decay. */
static void learn_run(struct lineage_ideas *ideas, const char *const words[LONGEST_RUN], size_t n, size_t n_name, size_t trial)
{
    char initials[LONGEST_RUN], meaning[MEANING_MAX];
    for (size_t length = 2; length <= n; length++) {
        for (size_t i = 0; i < length; i++)
            initials[i] = words[n - length + i][0];
        size_t place = initials_place(initials, length);
        struct short_word *s = place < INITIALS ? ideas->by_initials[place] : NULL;
        if (!s)
            continue;
        meaning[0] = '\0';
        for (size_t i = 0; i < length; i++) {
            if (i)
                strcat(meaning, " ");
            strcat(meaning, words[n - length + i]);
        }
        count(s, meaning, length <= n_name, trial);
    }
}

/* Finds the abbreviations among the parts of a word, once for each word. */
static struct word *known_word(struct lineage_ideas *ideas, uint32_t number)
{
    struct word *word = word_book_split(&ideas->book, number);
    if (!word || word->shorts || !word->n_parts)
        return word;
    word->shorts = arena_alloc(&ideas->book.arena, word->n_parts + 1, sizeof *word->shorts);
    if (!word->shorts)
        return NULL;
    for (size_t k = 0; k < word->n_parts; k++) {
        size_t length = strlen(word->parts[k]);
        word->shorts[k] = length <= SHORT_MAX ? find(ideas, word->parts[k], length) : NULL;
    }
    return word;
}

/* Counts the trial for the abbreviations that its texts contain. */
static bool meet(struct lineage_ideas *ideas, const uint32_t *words, size_t n, size_t trial)
{
    for (size_t i = 0; i < n; i++) {
        const struct word *word = words[i] ? known_word(ideas, words[i]) : NULL;
        if (words[i] && !word)
            return false;
        for (size_t k = 0; word && k < word->n_parts; k++) {
            struct short_word *s = word->shorts[k];
            if (s && s->last != trial) {
                s->last = trial;
                s->trials++;
            }
        }
    }
    return true;
}

static void learn(struct lineage_ideas *ideas, const uint32_t *words, size_t n_words, bool name, size_t trial)
{
    const char *run[3];
    size_t n = 0;
    for (size_t i = 0; i < n_words; i++) {
        const struct word *word = &ideas->book.words[words[i]];
        if (!words[i] || !word->n_parts)
            n = 0;
        for (size_t k = 0; words[i] && k < word->n_parts; k++) {
            if (strlen(word->parts[k]) < 4) {
                n = 0;
                continue;
            }
            if (n == 3)
                run[0] = run[1], run[1] = run[2], n = 2;
            run[n++] = word->parts[k];
            learn_run(ideas, run, n, name ? n : k + 1, trial);
        }
    }
}

bool short_words_begin(struct lineage_ideas *ideas)
{
    if (!ideas->short_words)
        return true;
    ideas->by_initials = calloc(INITIALS, sizeof(struct short_word *));
    for (struct short_word *s = ideas->by_initials ? ideas->short_words : NULL; s; s = s->hh.next) {
        size_t length = strlen(s->word);
        if (length <= LONGEST_RUN)
            ideas->by_initials[initials_place(s->word, length)] = s;
    }
    return ideas->by_initials != NULL;
}

bool short_words_learn(struct lineage_ideas *ideas, const struct reading *r, size_t trial)
{
    /* The abbreviations of the whole trial are counted before their meanings. */
    if (!meet(ideas, r->words, r->n_notes, trial))
        return false;
    for (size_t i = r->n_notes; i < r->n_words; i++)
        if (r->words[i] && !word_book_split(&ideas->book, r->words[i]))
            return false;
    learn(ideas, r->words, r->n_hypothesis, false, trial);
    learn(ideas, r->words + r->n_hypothesis, r->n_notes - r->n_hypothesis, false, trial);
    learn(ideas, r->words + r->n_notes, r->n_words - r->n_notes, true, trial);
    return true;
}

void short_words_choose(struct lineage_ideas *ideas)
{
    for (struct short_word *s = ideas->short_words; s; s = s->hh.next) {
        uint32_t most = 0;
        for (size_t i = 0; i < s->n; i++) {
            double expected = (double)s->meanings[i].trials * (double)s->trials / (double)ideas->n;
            if (s->meanings[i].name && s->meanings[i].trials >= 2 && s->meanings[i].both > most &&
                (double)s->meanings[i].both >= TOGETHER * expected) {
                most = s->meanings[i].both;
                s->chosen = s->meanings[i].text;
            }
        }
    }
}

const char *short_word_meaning(const struct lineage_ideas *ideas, const char *word)
{
    struct short_word *s = find(ideas, word, strlen(word));
    return s ? s->chosen : NULL;
}

void short_words_release(struct lineage_ideas *ideas)
{
    HASH_CLEAR(hh, ideas->short_words);
    free(ideas->by_initials);
}
