/* param_aliases.c: the aliases of parameters. */
#include "param_aliases.h"

#include <string.h>

#include <lineage/notes.h>

/* The first N_GREEK aliases are Greek letters of GREEK bytes of UTF-8 each; longer aliases follow them. */
enum { N_GREEK = 8, GREEK = 2 };

static const struct {
    const char *alias, *name;
} aliases[] = {
    {"α", "alpha"}, {"β", "beta"},    {"γ", "gamma"},
    {"δ", "delta"}, {"ε", "epsilon"}, {"λ", "lambda"},
    {"η", "eta"},   {"τ", "tau"},     {"adv_rescale_alpha", "alpha"},
};

/* Only canonical names are stored; otherwise a query for alpha would miss the rows of an agent that wrote α. */
const char *lineage_param_canonical(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (aliases[i].alias[0] == name[0] && strcmp(aliases[i].alias, name) == 0)
            return aliases[i].name;
    return name;
}

size_t param_alias_greek(const char *text, size_t length)
{
    for (size_t i = 0; i < N_GREEK; i++)
        if (length > GREEK && memcmp(text, aliases[i].alias, GREEK) == 0)
            return GREEK;
    return 0;
}

bool lineage_param_is_seed(const char *name)
{
    return strcmp(name, "seed") == 0 || strcmp(name, "random_seed") == 0;
}
