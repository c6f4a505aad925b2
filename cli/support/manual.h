/*
 * manual.h: manual pages in the man macros, made from the same data as --help.
 *
 * The programs themselves write the pages during the build (cli/man), so that a page lists exactly the options of its
 * command. The build replaces @DATE@ by the date.
 */
#pragma once

#include "cli.h"

/* As the first argument of a command, followed by its summary: print the manual page instead of running the command. */
#define CLI_MANUAL "--manual-page"

/* Writes the title line and the section NAME of a page of section 1. */
void manual_begin(FILE *out, const char *name, const char *summary);

/* Begins a section; titles are in capitals. */
void manual_section(FILE *out, const char *title);

/* Begins a subsection of the section before it. */
void manual_subsection(FILE *out, const char *title);

/* Writes text as paragraphs. A paragraph that has an indented line is printed without reformatting. */
void manual_text(FILE *out, const char *text);

/* Writes lines without reformatting. */
void manual_literal(FILE *out, const char *lines);

/* Writes a tagged paragraph: term in bold, text beside it. */
void manual_item(FILE *out, const char *term, const char *text);

/* Writes the page lineage-COMMAND(1). */
void manual_of_command(FILE *out, const struct cli_command *command, const char *summary, const struct poptOption *options);
