/* outbox_request.h: one append to a log on a server, as written to the outbox (outbox.h). */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "outbox_file.h"

enum { OUTBOX_ID_MAX = 48 };

struct outbox_request {
    unsigned char number[16];
    char id[OUTBOX_ID_MAX]; /* outbox-NUMBER */
    json_t *about;          /* contents of its file */
    struct outbox_file *file;
    unsigned tries;
    bool delivered;         /* sent by a later command, from the outbox */
};
