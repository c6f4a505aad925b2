/*
 * html_page.h: a report as one HTML file: pictures, tables, the trials in full, and the script that adds hover, brushing
 * and filters. It names no address outside itself, and its content-security policy allows its own style and script by
 * their digests and nothing else. Without a script it reads the same, but for what needs one.
 */
#ifndef REPORT_HTML_PAGE_H
#define REPORT_HTML_PAGE_H

#include <stdio.h>

#include "report/report_model.h"

struct page_options {
    bool live;       /* served: connects to its own server for news */
    bool no_diffs;   /* do not compare snapshots */
};

/* Stores one after another, with a picture of all of them first if there are several. */
void page_print(FILE *out, const struct model *models, size_t n, const struct page_options *options);

/* One trial in full, as a page has it. */
void page_card(FILE *out, const struct model *model, size_t i);

/* One picture as an SVG file of its own. False if there is none of that name; out NULL: nothing is printed, but said. */
bool page_picture(FILE *out, const struct model *model, const char *name);
/* Names of the pictures, "morning, history, ...". */
const char *page_picture_names(char *out, size_t size);

#endif
