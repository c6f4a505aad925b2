/* request_digest.h: the digest of a request, under which its answer is kept. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

enum { JUDGE_DIGEST_MAX = 33 };

/* Writes the XXH3 128 of the object's compact JSON with sorted keys, and takes over the reference to the object. Returns false if
 * the object is NULL or memory runs out. */
bool judge_digest(char digest[JUDGE_DIGEST_MAX], json_t *object);
