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

enum { SHORT_MAX = 4, MEANING_MAX = 3 * KNOB_WORD_MAX, MEANINGS_KEPT = 8 };

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

/* Learns from two and three plain words in a row, or from the parts of one name: weight_decay. */
static void learn_run(struct lineage_ideas *ideas, char words[3][KNOB_WORD_MAX], size_t n, size_t n_name,
                      size_t trial)
{
    char initials[4], meaning[MEANING_MAX];
    for (size_t length = 2; length <= n; length++) {
        meaning[0] = '\0';
        for (size_t i = 0; i < length; i++) {
            initials[i] = words[n - length + i][0];
            if (i)
                strcat(meaning, " ");
            strcat(meaning, words[n - length + i]);
        }
        struct short_word *s = find(ideas, initials, length);
        if (s)
            count(s, meaning, length <= n_name, trial);
    }
}

void short_words_meet(struct lineage_ideas *ideas, const struct tokens *t, size_t trial)
{
    struct knob_words words;
    for (size_t i = 0; ideas->short_words && i < t->n; i++) {
        if (t->items[i].kind != TOKEN_WORD)
            continue;
        knob_words_split(&words, t->text + t->items[i].at, t->items[i].length);
        for (size_t k = 0; k < words.n; k++) {
            size_t length = strlen(words.words[k]);
            struct short_word *s = length <= SHORT_MAX ? find(ideas, words.words[k], length) : NULL;
            if (s && s->last != trial) {
                s->last = trial;
                s->trials++;
            }
        }
    }
}

bool short_words_learn(struct lineage_ideas *ideas, const struct tokens *t, bool name, size_t trial)
{
    char run[3][KNOB_WORD_MAX];
    size_t n = 0;
    if (!ideas->short_words)
        return true;
    for (size_t i = 0; i < t->n; i++) {
        struct knob_words words;
        words.n = 0;
        if (t->items[i].kind == TOKEN_WORD)
            knob_words_split(&words, t->text + t->items[i].at, t->items[i].length);
        if (!words.n)
            n = 0;
        for (size_t k = 0; k < words.n; k++) {
            if (strlen(words.words[k]) < 4) {
                n = 0;
                continue;
            }
            if (n == 3)
                memmove(run[0], run[1], 2 * KNOB_WORD_MAX), n = 2;
            memcpy(run[n++], words.words[k], KNOB_WORD_MAX);
            learn_run(ideas, run, n, name ? n : k + 1, trial);
        }
    }
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
}
