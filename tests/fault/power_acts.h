/* power_acts.h: what the commands of the enumerator of power failures need: files, and acts without a command. */
#pragma once

/* Writes the files that commands read: a log to import, rows as JSON, telemetry, a work directory. */
void power_files_make(const char *dir);

/*
 * empty    does nothing: the store does not exist yet
 * torn     appends a record without a line end to results.tsv, as another tool may
 * cut      appends b1 and b2 at once, and is killed before the first byte is in the log
 * note     appends a line to KNOWLEDGE.md and syncs it, as an editor may
 * outbox   puts three requests into an outbox, delivers the second one, and replaces it by a fourth
 * queue    claims two trials of a night, renews one, gives one up and finishes the other
 */
int power_act(const char *name, const char *store);

/* What POWER_TORN appends, and what `note` writes. */
#define POWER_TORN "torn\tT\ts\t000\t\t\tsaved without a line end\t\tdiscard\t2.5\t\t\t\t\t\t\tn"
#define POWER_NOTE "What a person wrote.\n"
