/* guides.h: the guides that `lineage help GUIDE` opens. Their texts are in cli/man, which also makes manual pages of
 * them. */
#pragma once

struct guide {
    const char *name, *page, *section; /* e.g. tutorial, lineage-tutorial and 7 */
    const char *summary;
    const char *text; /* Markdown */
};

/* All guides in the order of cli/man/guides.def; the last entry has a NULL name. */
extern const struct guide guides[];

/* Returns the guide of that name, or NULL. A page's name (lineage-tutorial) works as well. */
const struct guide *guide_find(const char *name);

/* On a terminal, opens the guide's manual page if `man` finds it installed. Otherwise prints the guide's text, through the
 * pager if it is longer than the screen. Returns an exit status. */
int guide_open(const struct guide *guide);
