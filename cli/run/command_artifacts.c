#include "run/command_trial.h"

#include <fts.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/*
 * Returns the size of a file, or of all files below a directory. A link that the pattern itself matches is followed;
 * links below a directory are not.
 */
static double bytes_of(char *path)
{
    char *const paths[] = {path, NULL};
    double bytes = 0;
    FTS *tree = fts_open(paths, FTS_COMFOLLOW | FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F)
            bytes += (double)entry->fts_statp->st_size;
    if (tree)
        fts_close(tree);
    return bytes;
}

static void judge(struct trial_outcome *outcome, const struct command_artifact *artifact, const struct command_values *values)
{
    char *pattern = placeholders_replace(artifact->glob, values);
    glob_t found = {0};
    if (!pattern || glob(pattern, 0, NULL, &found) != 0) {
        outcome->end = TRIAL_FAILED;
        snprintf(outcome->text, sizeof outcome->text, "it did not leave %.400s behind", artifact->glob);
    }
    for (size_t i = 0; i < found.gl_pathc && outcome->end == TRIAL_FINISHED && artifact->max_bytes > 0; i++) {
        double bytes = bytes_of(found.gl_pathv[i]);
        if (bytes <= artifact->max_bytes)
            continue;
        outcome->end = TRIAL_ARTIFACT_OVERRUN;
        snprintf(outcome->text, sizeof outcome->text, "%.400s has %.0f bytes, %.0f are allowed", found.gl_pathv[i], bytes,
                 artifact->max_bytes);
    }
    globfree(&found);
    free(pattern);
}

void command_artifacts_judge(struct trial_outcome *outcome, const struct command_trial *trial,
                             const struct command_values *values)
{
    for (size_t i = 0; i < trial->n_artifacts && outcome->end == TRIAL_FINISHED; i++)
        judge(outcome, &trial->artifacts[i], values);
}
