/* meta.h: loads and saves the record in lineage.db of how far the mirror has read. */
#pragma once

#include "mirror.h"

struct mirror_meta;

/* The meta of a mirror that has read nothing. */
struct mirror_meta mirror_meta_start(void);

/* Reads mirror->meta and the header from the database. metric receives the score column for which the database was
 * made. */
enum lineage_status mirror_load_meta(struct mirror *mirror, char metric[LINEAGE_NAME_MAX], struct lineage_error *err);
enum lineage_status mirror_save_meta(struct mirror *mirror, struct lineage_error *err);

/* mirror_set_header copies and parses the header record of the log; mirror_forget_header forgets it. */
enum lineage_status mirror_set_header(struct mirror *mirror, const char *bytes, size_t length, struct lineage_error *err);
void mirror_forget_header(struct mirror *mirror);
