/*
 * prime-rl selects tokens of messages behind the policy's first token. In the trainer's environments system and user speak
 * before it only, so a weight for them would change nothing, and it is refused.
 */
#include "support/roles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_role(const char *word, size_t n, const char *role)
{
    return n == strlen(role) && strncmp(word, role, n) == 0;
}

const char *roles_read(const char *text, double *tool)
{
    bool found = false;
    for (const char *at = text;; at++) {
        size_t n = strcspn(at, "=,");
        char *end;
        if (at[n] != '=')
            return "write ROLE=WEIGHT, separated by commas";
        if (is_role(at, n, "system") || is_role(at, n, "user") || is_role(at, n, "assistant"))
            return "only tool can have a weight: the other roles have no message after the policy's first token, or are the "
                   "policy itself";
        if (!is_role(at, n, "tool"))
            return "the role tool is the only one with a weight";
        if (found)
            return "a role is listed twice";
        *tool = strtod(at + n + 1, &end);
        if (end == at + n + 1 || !(*tool >= 0) || isinf(*tool) || (*end && *end != ','))
            return "a weight is a number from 0 on";
        found = true;
        at = end;
        if (!*at)
            return NULL;
    }
}
