/* page_file.h: writes a page to a file as a whole or not at all. */
#pragma once

#include "report/html_page.h"

typedef void page_printer(FILE *out, const void *context);

/*
 * Writes the printer's output to path, through a temporary file beside it that gets its mode and replaces it. A link
 * stays a link; a device or a pipe is written to directly. own_only: an existing file that is not a report is kept, and
 * that is an error. Returns CLI_GO_ON, or an exit status on failure.
 */
int page_file_write(const char *path, page_printer *print, const void *context, bool own_only);

/* Writes the report of one open store into its directory, as `lineage night --report` does. Returns CLI_GO_ON, or an
 * exit status on failure. */
int page_file_beside(struct lineage_store *store);
