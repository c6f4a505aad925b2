/* void_row.c: which rows void a trial. */
#include <lineage/voids.h>

#include <string.h>

/* The label is checked too, so that a row which another tool gave this job_name still counts as a trial. */
bool lineage_is_void_row(const struct lineage_trial *trial, bool *back)
{
    const char *job = trial->job_name;
    if (trial->status != LINEAGE_HARNESS_ABORT || !job || !trial->parent_exp || !*trial->parent_exp)
        return false;
    bool takes_back = strcmp(job, LINEAGE_UNVOID_JOB) == 0;
    if (back)
        *back = takes_back;
    return takes_back || strcmp(job, LINEAGE_VOID_JOB) == 0;
}
