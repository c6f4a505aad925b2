/*
 * exchanges.h: every request to the model and its response, in telemetry/exchanges/DIGEST.json of the store, where DIGEST is
 * that of address and request. A night that was killed between an answer and its trial asks again, and finds the answer here.
 */
#pragma once

#include <stdbool.h>

#include <jansson.h>
#include <lineage/store.h>

enum { EXCHANGE_DIGEST_MAX = 33 };

/* Returns false when out of memory. */
bool exchange_digest(char digest[EXCHANGE_DIGEST_MAX], const char *url, const json_t *request);

/* Returns the response of an earlier exchange (a new reference), or NULL. */
json_t *exchange_find(struct lineage_store *store, const char *digest);

/* Writes an exchange, atomically. Returns false after printing a message. */
bool exchange_keep(struct lineage_store *store, const char *digest, const json_t *request, const json_t *response,
                   double seconds);
