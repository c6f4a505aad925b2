/* setting_digest.h: a digest of what a row says of its setting, by which the seeds of one setting are found. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct lineage_trial;

struct setting_digest {
    uint64_t alone;     /* parameters but the seed, specialist, hypothesis, and the code that ran */
    uint64_t with_seed;
};

/*
 * What a row says of its setting, and (*seeds) of its seeds; 0: it has none. *named becomes false if it says nothing: no parameter but a
 * seed, hypothesis, program or code. Of the name of an imported run the seed at its end says nothing.
 */
uint64_t setting_digest_of(bool *named, uint64_t *seeds, const struct lineage_trial *row, const char *const *names);

/* A digest of the setting with these seeds. */
uint64_t setting_digest_seeded(uint64_t setting, uint64_t seeds);

/* names as seeds of lineage_param_is_seed. Returns false if the row declares no seed, or says nothing else: no other parameter, hypothesis, program or code. */
bool setting_digest(struct setting_digest *digest, const struct lineage_trial *row, const char *const *names);

/* Whether a setting of this name is a seed, of which a program may have several: seed, data.seed, eval_seed_2, rngSeed, and those that
 * the owner names (seeds, as for lineage_param_is_seed). */
bool setting_names_seed(const char *name, const char *const *seeds);

/* A digest of the text, and of what has the digest. */
uint64_t setting_digest_mix(uint64_t digest, const char *text);
