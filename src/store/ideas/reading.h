/*
 * reading.h: what one trial's texts say, read once and without regard to other trials.
 *
 * A reading depends on the two texts and on the names of the log's columns alone, so it stays valid for ever: lineage.db
 * keeps it (reading_cache.c). What other trials decide, such as the meaning of abbreviations, is found from the readings
 * of all trials when a set is settled.
 */
#pragma once

#include <lineage/ideas.h>

#include "stated.h"
#include "word_book.h"

/* Raise it whenever the same texts may give another reading: after a change of idea_tokens.c, stated*.c, citations.c,
 * quantity.c, reading.c or row_is_metric. A test of lineage_ideas fails if that was forgotten. */
#define READING_VERSION 7

/* A change that the hypothesis states. */
struct read_change {
    const char *name, *from, *to; /* from: NULL if the text does not state it */
    struct lineage_number from_value, to_value;
    bool budget; /* made only to stay within a limit, so not part of the idea */
};

struct reading {
    /* Numbers of words in the book of the set, 0 where a number, a mark or an arrow separates them: first those of the
     * hypothesis, then those of the notes, then those of the names of its changes. */
    const uint32_t *words;
    const uint32_t *cites;             /* [n_cites] mentioned trials as words of the book, first those of the hypothesis */
    const struct read_change *changes; /* [n_changes] */
    uint32_t n_head;                   /* the first words, which are the headline */
    uint32_t n_hypothesis;             /* end of the hypothesis */
    uint32_t n_searched;               /* end of the part of the notes that a search looks at */
    uint32_t n_notes;                  /* end of the notes */
    uint32_t n_words;
    uint32_t n_changes;
    uint32_t n_cites, n_cites_hypothesis;
    bool again; /* the text says that it repeats a trial: retry, resubmit, fix */
};

/* Scratch memory for reading many texts. A zeroed reader is ready; release it at the end. */
struct reader {
    struct word_book *book;
    stated_is_metric *is_metric; /* see stated.h */
    void *context;
    struct stated *found; /* [STATED_MAX] */
    uint32_t *words, *cites;
    size_t n_words, words_capacity, n_cites;
    bool failed;
};

/* Reads a trial's texts. The arena owns the reading. Returns false when out of memory. */
bool reading_make(struct reading *reading, struct reader *reader, const char *hypothesis, const char *notes, struct arena *arena);
void reader_release(struct reader *reader);
