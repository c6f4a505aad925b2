/*
 * errors.c: errors with exit statuses, the nearest known word.
 *
 * One line per message, beginning with "lineage: ", on standard error: scripts and tests look for
 * that, and an agent that reads a terminal's log tells messages from results by it.
 */
#include <stdarg.h>
#include <string.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "cli.h"

/* What a user or a file put in must not act on the terminal, nor look like another text than it
 * is. A fixed buffer: "out of memory" must be printable. Line breaks become ?, or a file's text
 * could write a second message of its own. */
void cli_say(const char *message)
{
    char text[2048];
    snprintf(text, sizeof text, "%s", message);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    char *visible = lineage_text_visible(text, strlen(text));
    fprintf(stderr, "lineage: %s\n", visible ? visible : "out of memory");
    lineage_free(visible);
}

/* What went to standard output so far comes first: the message belongs behind it where both are one stream. */
int cli_error(enum cli_exit status, const char *format, ...)
{
    char text[2048];
    va_list args;
    fflush(stdout);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_say(text);
    return (int)status;
}

int cli_no_memory(void)
{
    return cli_error(CLI_SYSTEM, "out of memory");
}

enum lineage_status cli_no_memory_error(struct lineage_error *err)
{
    *err = (struct lineage_error){.status = LINEAGE_ENOMEM, .text = "out of memory"};
    return err->status;
}

/* 2 for what the caller can mend by asking for something else, 3 for what only the machine's
 * owner can. A damaged file counts as bad input: it will be the same the next time. Scripts may
 * try again after 3, not after 2. */
int cli_fail(const struct lineage_error *err)
{
    switch (err->status) {
    case LINEAGE_EINVAL:
    case LINEAGE_ECORRUPT:
    case LINEAGE_EEXIST:
    case LINEAGE_ENOTFOUND:
    case LINEAGE_EREFUSED:
    case LINEAGE_ELIMIT: return cli_error(CLI_USAGE, "%s", err->text);
    default: return cli_error(CLI_SYSTEM, "%s", err->text);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein distance of words shorter than 64; longer ones are far from everything. One row
 * of the table is enough, since a cell looks at its neighbours in this row and the one before.
 * It is not the core's distance (rl_name_distance): the store's command must not load the core. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(change, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

const char *cli_nearest(const char *word, const char *const *known)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2; /* a third of a word mistyped is another word */
    for (; *known; known++) {
        size_t d = distance(word, *known);
        if (d < best_distance) {
            best_distance = d;
            best = *known;
        }
    }
    return best;
}
