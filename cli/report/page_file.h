/* page_file.h: a page as a file that is there whole or not at all. */
#ifndef REPORT_PAGE_FILE_H
#define REPORT_PAGE_FILE_H

#include "report/html_page.h"

typedef void page_printer(FILE *out, const void *context);

/*
 * Write what the printer prints to path, by a temporary file beside it that takes its place and its mode; a link stays one,
 * a device or a pipe is written to. own_only: a file that is there and is no report of ours is left alone and refused.
 * Returns an exit status, CLI_GO_ON if all is well.
 */
int page_file_write(const char *path, page_printer *print, const void *context, bool own_only);

/* The report of one open store, beside its KNOWLEDGE.md, as `lineage night --report` keeps it. An exit status or
 * CLI_GO_ON. */
int page_file_beside(struct lineage_store *store);

#endif
