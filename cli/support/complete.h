/*
 * complete.h: possible words at a position of a command line, for the completion of shells.
 *
 * An answer is one line per word: the whole word, a tab, a short description. The lines ":file" and ":directory" mean
 * that file names are possible too, which the shell lists itself. A word that ends in `=` is completed without a blank,
 * because a value follows. Everything is derived from the option tables, so shells know exactly the options that the
 * command has.
 */
#pragma once

#include "cli.h"

/* As the first argument of a command: complete the last of the following words instead of running the command. */
#define CLI_COMPLETE "--complete-words"

/* The word under the cursor and what is known about the rest of its line. */
struct completion {
    const struct cli_command *command;
    const struct poptOption *options;
    const char *dir;  /* directory of the store */
    const char *word; /* the part to complete: the whole word, or the part after `=` or a comma */
    const char *kept; /* the part before it, kept_length bytes */
    size_t kept_length;
};

/* Prints value followed by suffix if value begins with the word. about may be NULL. */
void complete_offer(const struct completion *c, const char *value, const char *suffix, const char *about);

/* Completes the last of n words, which follow the command's name. Returns CLI_OK. */
int complete_words(const struct cli_command *command, const struct poptOption *options, size_t n, const char **words);
