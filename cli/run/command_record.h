/* command_record.h: a command's trial read back from its provenance, to be run again. */
#ifndef CLI_COMMAND_RECORD_H
#define CLI_COMMAND_RECORD_H

#include "run/command_trial.h"

/* What a struct command_trial made of run.json borrows, besides the object itself. */
struct command_record {
    struct command_trial trial;
    const char **lists[5]; /* command, metrics, protect, version_of, environment */
    char **owned;
    size_t n_owned;
    struct lineage_param *params;
    struct command_artifact *artifacts;
};

/*
 * Read run.json; dir is where its commands shall work (absolute), and its relative files are looked for. A variable whose
 * value was not recorded is taken from this process, if it has it. run must live as long as *record. False after printing
 * what is wrong with it; release it in any case.
 */
bool command_record_read(struct command_record *record, const json_t *run, const char *dir);
void command_record_release(struct command_record *record);

#endif
