/* config.h: struct lineage_config as the text of lineage.json. */
#pragma once

#include <lineage/ideas.h>
#include <lineage/store.h>

#include "arena.h"

/* Settings that struct lineage_config has no place for. A zeroed struct is empty. */
struct config_more {
    char *log; /* name of the server that has the log and the settings; NULL if the log is results.tsv */
    const struct lineage_knob_rule *rules; /* [n_rules] what a person decided about names of knobs */
    size_t n_rules;
    const char *score; /* name of the metric that is the score (lineage_store_score_name); NULL: not known yet */
    const char *const *secret_files;   /* patterns, ended by NULL; NULL: none (lineage_store_secret_files) */
    const char *const *harmless_names; /* names of parameters, likewise */
    const char *const *seeds;          /* names of parameters, likewise (lineage_store_seeds) */
    struct arena arena; /* owns all of it */
};
enum { CONFIG_TEXTS_MAX = 256 };
void config_more_release(struct config_more *more);

/* config_write leaves out members that are zero. config_parse returns LINEAGE_ECORRUPT for malformed JSON, unknown keys
 * and wrong types. *more, which may be NULL, is filled in anew and released by the caller, also after a failure. */
enum lineage_status config_parse(struct lineage_config *config, struct config_more *more, const char *text, size_t length,
                                 struct lineage_error *err);
void config_write(struct buf *out, const struct lineage_config *config, const struct config_more *more);

/* Whether the settings, once written, can be parsed again. */
enum lineage_status config_check(const struct lineage_config *config, struct lineage_error *err);
