/*
 * name_distance.c: the edit distance of two names.
 *
 * Optimal string alignment: insertions, deletions, replacements, and swaps of neighbours, which are
 * more common typing errors than two replacements. A name that is the beginning or the last word of
 * a known one has distance 1: people shorten turn-group-v1d to "turn" and "v1d".
 */
#include <rlcore/algorithm.h>

#include <string.h>

#define WORD_MAX 63u

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

/* Returns true if a is the last word of b, such as "v1d" of "turn-group-v1d". */
static bool is_last_word(const char *a, size_t n, const char *b, size_t m)
{
    return strchr("-_.", b[m - n - 1]) && strncmp(a, b + m - n, n) == 0;
}

/*
 * Three rows of the distance table suffice, because a swap looks two rows back. Words are cut at 63
 * characters, so that a very long name costs nothing; known names are shorter.
 */
unsigned rl_name_distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1], *before = rows[0], *above = rows[1], *row = rows[2];
    size_t n = strnlen(a, WORD_MAX), m = strnlen(b, WORD_MAX);
    if (n > 0 && n < m && (strncmp(a, b, n) == 0 || is_last_word(a, n, b, m)))
        return 1;
    for (size_t j = 0; j <= m; j++)
        above[j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        unsigned *oldest = before;
        before = above;
        above = row;
        row = oldest;
    }
    return above[m];
}
