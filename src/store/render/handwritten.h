/*
 * handwritten.h: which bytes of a file that is about to be rendered again were written by a person.
 *
 * A rendered file ends, where a person may begin, with a line that holds the digest of all bytes above it. If the
 * digest is right nobody touched those bytes, and all that follows is a person's. Headings prove nothing: a fence
 * that does not close hides one, and a cell of a style whose bytes are given can forge one.
 *
 *     what the former file is                             kept                     put aside whole
 *     ends as rendered, or goes on behind the line        all behind the line      no
 *     was changed above the line                          all behind the line      yes
 *     of a style without the line, its bytes as noted     all behind those bytes   no
 *     rendered, without the line (an older version)       from Key Insights on     yes
 *     another tool's (fieldkit, blackboard)               nothing                  yes
 *     anything else                                       all of it                no
 */
#ifndef RENDER_HANDWRITTEN_H
#define RENDER_HANDWRITTEN_H

#include "../format/arena.h"

struct keep {
    size_t start; /* what is a person's: from here to the end */
    bool aside;   /* the whole file is put aside, for what may be a person's elsewhere */
    bool foreign; /* no rendered file at all */
};

/* note: what keep_note said when the file was written last, "" if nothing is known. */
struct keep keep_find(const char *old, size_t length, const char *note);

/* The line behind a rendered text, to be added to it. */
void keep_add_line(struct buf *text);

/* Bytes that keep_add_line adds. */
#define KEEP_LINE_LENGTH 67

/* What stands in the note about a rendered text of a style that has no line. */
void keep_note(struct buf *note, const char *text, size_t length);

#endif
