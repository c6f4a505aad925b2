/*
 * id_scan.h: finds the id of a request that is too long to be kept, byte by byte and in constant memory, so that its
 * client learns which of its requests was refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MCP_ID_MAX 200 /* bytes of an id in JSON; a longer one is not reported */

struct mcp_id_scan {
    int depth;                   /* nested objects and lists at this place */
    bool in_string, escaped;     /* inside a string; behind its backslash */
    bool in_object;              /* the outermost value is an object */
    bool is_value;               /* behind a colon of the outermost object */
    bool has_method;             /* the key "method" was seen */
    char word[MCP_ID_MAX + 1];   /* the key or value of the outermost object in progress, as JSON */
    size_t length;               /* of word; MCP_ID_MAX + 1: it does not fit */
    char key[8];                 /* the key of that value, without quotes; "" if it is longer */
    char id[MCP_ID_MAX + 1];     /* "" if none was found */
};

/* Takes the next bytes of one message. Begin with a zeroed scan. Anything but valid JSON finds nothing or some text, which
 * the caller must parse. */
void mcp_id_scan_feed(struct mcp_id_scan *scan, const char *bytes, size_t length);

/* Returns the id as JSON text if the message is a request, else "". Valid while the scan is. */
const char *mcp_id_scan_result(const struct mcp_id_scan *scan);
