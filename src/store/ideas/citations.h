/* citations.h: the trials that a text mentions. */
#ifndef IDEAS_CITATIONS_H
#define IDEAS_CITATIONS_H

#include "idea_tokens.h"

/* Calls visit for the ids of other trials that a text mentions, in the order of the text. */
void citations_each(const struct tokens *tokens, void (*visit)(void *context, const char *id, size_t length),
                    void *context);

#endif
