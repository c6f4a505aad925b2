/* config.h: struct lineage_config as the text of lineage.json. */
#ifndef FORMAT_CONFIG_H
#define FORMAT_CONFIG_H

#include <lineage/store.h>

#include "arena.h"

/* config_write leaves out members that are zero. config_parse returns LINEAGE_ECORRUPT for malformed JSON, unknown keys
 * and wrong types. *log, if not NULL, becomes the name of the server that has the log and the settings (the caller
 * frees it), or NULL if the log is results.tsv. */
enum lineage_status config_parse(struct lineage_config *config, char **log, const char *text, size_t length,
                                 struct lineage_error *err);
void config_write(struct buf *out, const struct lineage_config *config);

/* Whether the settings, once written, can be parsed again. */
enum lineage_status config_check(const struct lineage_config *config, struct lineage_error *err);

#endif
