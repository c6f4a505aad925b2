/* id.h: exp_014 and 014 name the same trial. */
#pragma once

#include <string.h>

/* Returns the id without exp_ in front. */
static inline const char *id_bare(const char *id)
{
    return strncmp(id, "exp_", 4) == 0 ? id + 4 : id;
}
