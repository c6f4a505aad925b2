/*
 * manual.h: manual pages in the man macros, made from what --help is made from.
 *
 * The pages are made while the project is built, by the programs themselves (cli/man), so that they know no option
 * that is not there and lack none that is. @DATE@ stands where the build puts the date.
 */
#ifndef SUPPORT_MANUAL_H
#define SUPPORT_MANUAL_H

#include "cli.h"

/* As first argument of a command, with its summary behind it: the command is described, not carried out. */
#define CLI_MANUAL "--manual-page"

/* The title line and the section NAME of a page of section 1: name, then what it does. */
void manual_begin(FILE *out, const char *name, const char *summary);

/* A section, in capitals. */
void manual_section(FILE *out, const char *title);

/* A subsection of the section before it. */
void manual_subsection(FILE *out, const char *title);

/* Text as paragraphs; one that has a line with blanks in front is printed as it is laid out. */
void manual_text(FILE *out, const char *text);

/* Lines as they are laid out. */
void manual_literal(FILE *out, const char *lines);

/* Characters that mean something to troff, made to mean themselves. */
void manual_words(FILE *out, const char *text, size_t length);

/* A tagged paragraph: term in bold, text beside it. */
void manual_item(FILE *out, const char *term, const char *text);

/* lineage-COMMAND(1). */
void manual_of_command(FILE *out, const struct cli_command *command, const char *summary, const struct poptOption *options);

#endif
