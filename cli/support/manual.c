/*
 * manual.c: writes troff from texts and option tables.
 *
 * It uses the man macros, not mdoc, because groff and mandoc agree on their few requests. Only requests that both
 * support are used.
 */
#include "support/manual.h"

#include <ctype.h>

/* Plain hyphens and quotes would be typeset as typographic ones, which a shell does not understand when they are
 * pasted. */
static const char *spelling(char c)
{
    switch (c) {
    case '\\': return "\\e";
    case '-': return "\\-";
    case '\'': return "\\(aq";
    case '`': return "\\(ga";
    case '^': return "\\(ha";
    case '~': return "\\(ti";
    case '"': return "\\(dq";
    default: return NULL;
    }
}

/* Escapes characters that are special to troff. A dot at the beginning of a line would be a request; \& in front of it has no width and prevents that. */
static void manual_words(FILE *out, const char *text, size_t length)
{
    bool begins = true;
    for (size_t i = 0; i < length; i++) {
        const char *spelt = spelling(text[i]);
        if (begins && text[i] == '.')
            fputs("\\&", out);
        if (spelt)
            fputs(spelt, out);
        else
            fputc(text[i], out);
        begins = text[i] == '\n';
    }
}

static void put(FILE *out, const char *text)
{
    manual_words(out, text, strlen(text));
}

void manual_section(FILE *out, const char *title)
{
    fprintf(out, ".SH %s\n", title);
}

void manual_subsection(FILE *out, const char *title)
{
    fprintf(out, ".SS %s\n", title);
}

/* Hyphenation is off, because a label or a name that is split at the end of a line reads as another one. */
void manual_begin(FILE *out, const char *name, const char *summary)
{
    fputs(".TH ", out);
    for (const char *c = name; *c; c++)
        fputc(toupper((unsigned char)*c), out);
    fputs(" 1 @DATE@ \"lineage " LINEAGE_VERSION "\" \"User Commands\"\n.nh\n.SH NAME\n", out);
    put(out, name);
    fputs(" \\- ", out);
    put(out, summary);
    fputc('\n', out);
}

void manual_literal(FILE *out, const char *lines)
{
    fputs(".nf\n", out);
    put(out, lines);
    fputs("\n.fi\n", out);
}

static size_t paragraph_length(const char *text)
{
    const char *end = strstr(text, "\n\n");
    return end ? (size_t)(end - text) : strlen(text);
}

static bool is_laid_out(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == ' ' && (i == 0 || text[i - 1] == '\n'))
            return true;
    return false;
}

void manual_text(FILE *out, const char *text)
{
    bool first = true; /* a section begins with a paragraph of its own */
    for (size_t length; *text; text += length + strspn(text + length, "\n"), first = false) {
        length = paragraph_length(text);
        bool laid_out = is_laid_out(text, length);
        fprintf(out, "%s%s", first ? "" : ".PP\n", laid_out ? ".nf\n" : "");
        manual_words(out, text, length);
        fputs(laid_out ? "\n.fi\n" : "\n", out);
    }
}

void manual_item(FILE *out, const char *term, const char *text)
{
    fputs(".TP\n\\fB", out);
    put(out, term);
    fputs("\\fR\n", out);
    put(out, text);
    fputc('\n', out);
}

/* Prints -C, --directory=DIR. An option that may be repeated has a blank before its value, as in popt's help. */
static void put_option(FILE *out, const struct poptOption *option)
{
    fputs(".TP\n", out);
    if (option->shortName)
        fprintf(out, "\\fB\\-%c\\fR, ", option->shortName);
    fputs("\\fB\\-\\-", out);
    put(out, option->longName);
    fputs("\\fR", out);
    if (option->argDescrip) {
        fputs((option->argInfo & POPT_ARG_MASK) == POPT_ARG_ARGV ? " \\fI" : "=\\fI", out);
        put(out, option->argDescrip);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put(out, option->descrip);
    fputc('\n', out);
}

static void put_synopsis(FILE *out, const struct cli_command *command)
{
    manual_section(out, "SYNOPSIS");
    fputs("\\fBlineage ", out);
    put(out, command->name);
    fputs("\\fR [\\fIOPTION\\fR...]", out);
    if (command->arguments[0])
        fputc(' ', out);
    put(out, command->arguments);
    fputc('\n', out);
}

void manual_of_command(FILE *out, const struct cli_command *command, const char *summary, const struct poptOption *options)
{
    char name[LINEAGE_NAME_MAX];
    snprintf(name, sizeof name, "lineage-%s", command->name);
    manual_begin(out, name, summary);
    put_synopsis(out, command);
    manual_section(out, "DESCRIPTION");
    manual_text(out, command->description);
    manual_section(out, "OPTIONS");
    for (const struct poptOption *option = options; option->longName; option++)
        if (!(option->argInfo & POPT_ARGFLAG_DOC_HIDDEN))
            put_option(out, option);
    manual_item(out, "-h, --help", "print this text on standard output");
    if (command->examples) {
        manual_section(out, "EXAMPLES");
        manual_literal(out, command->examples);
    }
    manual_section(out, "SEE ALSO");
    fputs("\\fBlineage\\fR(1) for exit statuses, \\fBlineage\\fR(7) for the rules, \\fBresults.tsv\\fR(5)\n", out);
}
