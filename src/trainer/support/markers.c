#include "support/markers.h"

#include <stdio.h>
#include <string.h>

bool markers_read(struct markers *markers, const char *text)
{
    *markers = (struct markers){.n = 0};
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, ",");
        if (n == 0 || n >= MARKER_WORD || markers->n == MARKERS_MAX)
            return false;
        snprintf(markers->word[markers->n++], MARKER_WORD + 2, " %.*s ", (int)n, at);
        at += n;
        if (!*at)
            return true;
    }
}

static bool is_token(const char *word, const struct trainer_world *world)
{
    char text[MARKER_WORD], token[MARKER_WORD + 2];
    for (int32_t i = 0; i < trainer_world_tokens(world); i++) {
        trainer_token_text(world, i, text);
        snprintf(token, sizeof token, " %s ", text);
        if (strcmp(token, word) == 0)
            return true;
    }
    return false;
}

const char *markers_unknown(const struct markers *markers, const struct trainer_world *world)
{
    for (size_t i = 0; i < markers->n; i++)
        if (!is_token(markers->word[i], world))
            return markers->word[i];
    return NULL;
}
