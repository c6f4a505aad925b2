/* outbox_request.h: one append to a log on a server, as it is written down in the outbox (outbox.h). */
#ifndef APPEND_OUTBOX_REQUEST_H
#define APPEND_OUTBOX_REQUEST_H

#include <stdbool.h>

#include <jansson.h>

#include "outbox_file.h"

enum { OUTBOX_ID_MAX = 48 };

struct outbox_request {
    unsigned char number[16];
    char id[OUTBOX_ID_MAX]; /* outbox-NUMBER */
    json_t *about;          /* what its file says */
    struct outbox_file *file;
    unsigned tries;
    bool delivered;         /* later, by another command than the one that made it */
};

#endif
