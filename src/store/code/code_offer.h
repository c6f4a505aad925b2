/* code_offer.h: sends the code of a trial to the server that holds the log. */
#pragma once

#include "../internal.h"

/* Sends what the notes of a row name: the list, its files, and the trial's own diff; the diffs before it were sent with
 * their rows. Does nothing for a log that is a file. A failure is a notice, because the row must not wait for it. */
void code_offer(struct lineage_store *store, const char *notes);
