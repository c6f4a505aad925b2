/*
 * html_page.h: prints a report as one HTML file: pictures, tables, the trials in full, and the script that adds
 * hovering, selection and filters. The page refers to no other address, and its content-security policy allows only its
 * own style and script, by their digests. Without a script the page has the same content.
 */
#pragma once

#include <stdio.h>

#include "report/report_model.h"

struct page_options {
    bool live;       /* the page is served and connects to its server for updates */
    bool held_out;   /* show the held-out scores: only for a page that a person asked for */
    bool no_diffs;   /* do not compare snapshots */
};

/* Prints the stores one after another; if there are several, an overview comes first. */
void page_print(FILE *out, const struct model *models, size_t n, const struct page_options *options);

/* Prints the card of one trial: the same HTML that page_print puts into the page for it. */
void page_card(FILE *out, const struct model *model, size_t i);

/* Prints one picture as an SVG file. Returns false if no picture has that name. With out NULL nothing is
 * printed and only the name is checked. */
bool page_picture(FILE *out, const struct model *model, const char *name);
/* Writes the names of the pictures: "morning, history, ...". Returns out. */
const char *page_picture_names(char *out, size_t size);

/* ---- page file ---- */

/* Writes a page to a file as a whole or not at all. */

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
