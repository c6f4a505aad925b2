/* guides.c: the table of guides, made from cli/man/guides.def, and the function that shows a guide. */
#include "guides.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "guide_texts.h" /* made from the guides by cli/man/EmbedGuides.cmake */

const struct guide guides[] = {
#define CLI_GUIDE(name, page, section, path, summary) {#name, page, #section, summary, guide_##name},
#include "man/guides.def"
#undef CLI_GUIDE
    {NULL, NULL, NULL, NULL, NULL}};

const struct guide *guide_find(const char *name)
{
    for (const struct guide *guide = guides; guide->name; guide++)
        if (strcmp(guide->name, name) == 0 || strcmp(guide->page, name) == 0)
            return guide;
    return NULL;
}

/* Replaces this process by `man`. Returns only if `man` is missing or does not find the page. */
static void become_man(const struct guide *guide)
{
    char find[256];
    int n = snprintf(find, sizeof find, "man -w %s %s >/dev/null 2>&1", guide->section, guide->page);
    if (n > 0 && (size_t)n < sizeof find && system(find) == 0)
        execlp("man", "man", guide->section, guide->page, (char *)NULL);
}

int guide_open(const struct guide *guide)
{
    struct cli_screen screen = {0};
    size_t lines = 0;
    if (!cli_screen_open(&screen))
        return CLI_USAGE;
    if (screen.terminal)
        become_man(guide);
    for (const char *c = guide->text; *c; c++)
        lines += *c == '\n';
    cli_screen_expect(&screen, lines);
    fputs(guide->text, stdout);
    cli_screen_close(&screen);
    return CLI_OK;
}
