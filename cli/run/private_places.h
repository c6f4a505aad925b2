/*
 * private_places.h: where this user keeps keys and passwords, which a sandbox hides from a trial.
 *
 * The places are those of ssh, gpg, the clients of clouds and code hosts, package registries and PostgreSQL, the key of
 * `lineage` itself, and what containers mount for secrets. Root's list has the password hashes of the machine, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct private_places {
    char **paths; /* absolute and resolved, ended by NULL; freed by private_places_release */
    size_t n;
};

/*
 * Finds the places that exist, except for those that contain one of `needed` (absolute paths, ended by NULL), or are one of
 * `readable` or below one of them. Returns false if there is no memory. Call private_places_release in either case.
 */
bool private_places_find(struct private_places *found, const char *const *needed, const char *const *readable);

/* Returns the place that contains the path (absolute and resolved), or NULL. */
const char *private_places_cover(const struct private_places *found, const char *path);

void private_places_release(struct private_places *found);
