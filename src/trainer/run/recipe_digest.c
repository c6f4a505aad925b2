#include "run/recipe_digest.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

uint64_t recipe_digest(const struct trainer_recipe *recipe)
{
    struct trainer_recipe plain = *recipe;
    plain.threads = 0;
    plain.budget = (struct trainer_budget){0};
    plain.micro_batch.activation_bytes = 0;
    strcpy(plain.name, "trial");
    plain.domain[0] = plain.hypothesis[0] = plain.expected_delta[0] = '\0';
    char *text = trainer_recipe_text(&plain);
    uint64_t digest = text ? XXH64(text, strlen(text), 0) : 0;
    free(text);
    return digest;
}
