/*
 * diff_lines.h: reads a unified diff line by line.
 *
 * The lines of a hunk are counted by the numbers in its head, so that a removed line `-- x`, which a diff shows as
 * `--- x`, is not taken for the name of a file. The diff may come from anybody.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum diff_line {
    DIFF_END,
    DIFF_OLD,  /* --- a/NAME: the text is NAME, without the time that diff(1) adds; "" for /dev/null */
    DIFF_NEW,  /* +++ b/NAME: the same */
    DIFF_HUNK, /* @@ -1,5 +1,6 @@ HEADING: the text is HEADING */
    DIFF_TEXT, /* a line of a hunk, without its mark */
    DIFF_OTHER /* any other line */
};

/* Zeroed, with at and end those of the diff, before the first line is read. */
struct diff_reader {
    const char *at, *end;
    const char *text; /* of the line, as above, without its end */
    size_t length;
    char mark;                 /* of DIFF_TEXT: ' ', '-' or '+' */
    size_t new_start;          /* of DIFF_HUNK: the number of its first line in the new file */
    size_t old_left, new_left; /* of the hunk: lines that are still to come */
};
enum diff_line diff_next(struct diff_reader *r);

/* The name `a/NAME` or `b/NAME`, perhaps in quotes, in text[0..*length): returns NAME, "" for /dev/null. */
const char *diff_name(const char *text, size_t *length);
