#include "support/shell_word.h"

#include <stdbool.h>
#include <string.h>

/* Quotes are single, because a shell expands nothing within them, and are omitted where they are not needed, so that the line
 * looks as a person would type it. */
void shell_word_write(FILE *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:@%-";
    bool bare = *word && strspn(word, plain) == strlen(word);
    fputs(bare ? " " : " '", out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputs(bare ? "" : "'", out);
}
