/* stored_code.c: see stored_code.h. */
#include "run/stored_code.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "trial/workdir.h"

bool stored_code_is_named(const struct lineage_trial *trial)
{
    struct lineage_code_note note;
    return lineage_code_note_parse(&note, trial->notes);
}

/* The directory is not in the store, because the store may be readable only. */
int stored_code_directory(char dir[PATH_MAX], struct lineage_store *store, const struct lineage_trial *trial)
{
    const char *place = getenv("TMPDIR");
    struct lineage_code code;
    struct lineage_error err;
    dir[0] = '\0';
    if (lineage_code_load(&code, store, trial, &err) != LINEAGE_OK)
        return cli_fail(&err);
    int status = CLI_GO_ON;
    int n = snprintf(dir, PATH_MAX, "%s/lineage-code-XXXXXX", place && *place ? place : "/tmp");
    if (n < 0 || n >= PATH_MAX || !mkdtemp(dir)) {
        status = cli_error(CLI_SYSTEM, "cannot make a temporary directory: %s", strerror(errno));
        dir[0] = '\0';
    } else if (lineage_code_write(store, &code, dir, &err) != LINEAGE_OK) {
        status = cli_fail(&err);
        workdir_remove_tree(AT_FDCWD, dir);
        dir[0] = '\0';
    }
    lineage_code_release(&code);
    return status;
}
