/*
 * complete.h: what can stand for a word of a command line; asked for by shells while one types.
 *
 * An answer is a line: the whole word, a tab, a few words about it. The lines ":file" and ":directory" say that
 * names of files stand there as well, which shells list themselves. A word that ends in `=` is to be typed on.
 * All of it comes from the option tables, so that no shell knows an option of which the command does not.
 */
#ifndef SUPPORT_COMPLETE_H
#define SUPPORT_COMPLETE_H

#include "cli.h"

/* As first argument of a command: the words behind it are not carried out, the last of them is completed. */
#define CLI_COMPLETE "--complete-words"

/* A word under the cursor and what is known of the rest of its line. */
struct completion {
    const struct cli_command *command;
    const struct poptOption *options;
    const char *dir;  /* the store */
    const char *word; /* the part that is completed: all of it, or what stands behind `=` or a comma */
    const char *kept; /* what stands in front of that, kept_length bytes */
    size_t kept_length;
};

/* Print value, followed by suffix, if it begins like the word. about may be NULL. */
void complete_offer(const struct completion *c, const char *value, const char *suffix, const char *about);

/* Complete the last of n words of a command line behind the command's name. Returns CLI_OK. */
int complete_words(const struct cli_command *command, const struct poptOption *options, size_t n, const char **words);

/* What only the store knows; nothing at all where there is none, or it cannot be read. */
void complete_ids(const struct completion *c);
void complete_params(const struct completion *c, const char *suffix);
void complete_param_values(const struct completion *c, const char *param, size_t length);
void complete_specialists(const struct completion *c);

#endif
