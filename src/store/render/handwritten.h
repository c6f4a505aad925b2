/*
 * handwritten.h: which bytes of a file that is about to be rendered again were written by a person.
 *
 * A rendered file ends with a line that holds the digest of all bytes above it; a person may write below that line.
 * If the digest is correct nobody changed the bytes above, and everything below belongs to a person. Headings prove
 * nothing: an unclosed fence hides one, and a cell of a style with unchanged cells can forge one.
 *
 *     the former file                                     kept                        set aside whole
 *     ends as rendered, or continues below the line       everything below the line   no
 *     was changed above the line                          everything below the line   yes
 *     has a style without the line, its bytes as noted    everything behind those     no
 *     rendered, without the line (an older version)       from Key Insights on        yes
 *     written by another tool (fieldkit, blackboard)      nothing                     yes
 *     anything else                                       all of it                   no
 */
#pragma once

#include "../format/arena.h"

struct handwritten {
    size_t start; /* a person's text begins here and reaches to the end */
    bool aside;   /* set the whole file aside, because a person may have written elsewhere in it */
    bool foreign; /* not a rendered file at all */
};

/* `note` is the text that handwritten_note wrote when the file was last rendered, "" if there is none. */
struct handwritten handwritten_find(const char *old, size_t length, const char *note);

/* Adds the line that follows a rendered text. */
void handwritten_add_line(struct buf *text);

/* Bytes that handwritten_add_line adds. */
#define HANDWRITTEN_LINE_LENGTH 67

/* Writes the note about a rendered text in a style that has no line. */
void handwritten_note(struct buf *note, const char *text, size_t length);
