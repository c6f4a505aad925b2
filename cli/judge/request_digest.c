#include "judge/request_digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

bool judge_digest(char digest[JUDGE_DIGEST_MAX], json_t *object)
{
    char *text = object ? json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (text) {
        XXH128_hash_t hash = XXH3_128bits(text, strlen(text));
        snprintf(digest, JUDGE_DIGEST_MAX, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
    }
    free(text);
    json_decref(object);
    return text != NULL;
}
