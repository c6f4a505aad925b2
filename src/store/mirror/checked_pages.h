/* checked_pages.h: lineage.db with a digest in every page. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>

/* Bytes of a page that hold its digest; SQLite leaves them alone (SQLITE_FCNTL_RESERVE_BYTES). */
#define CHECKED_BYTES 8

/* Name of the VFS to open a mirror with; NULL if memory runs out. */
const char *checked_pages_vfs(void);

/* Whether that VFS keeps SQLite's temporary files in memory, as files of at most 2 GiB each. */
bool checked_pages_scratch_in_memory(void);

/* Makes this connection reserve space for the digest in the pages that it creates. Call it before the first write to a
 * new file. */
void checked_pages_reserve(sqlite3 *db);
