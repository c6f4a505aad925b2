/* measure.c: the public functions that compare two things that a caller names. See lineage/measured.h. */
#include <stdlib.h>

#include "collecting.h"

enum lineage_status lineage_measure_directories(struct lineage_measured *measured, int from_fd, int to_fd,
                                                struct lineage_error *err)
{
    struct collecting c = {0};
    collect_trees(&c, from_fd, to_fd);
    return collect_finish(&c, measured, err);
}

enum lineage_status lineage_measure_diff(struct lineage_measured *measured, const char *diff, size_t length,
                                         struct lineage_error *err)
{
    struct collecting c = {0};
    *measured = (struct lineage_measured){.against = "", .command_against = ""};
    if (length > LINEAGE_MEASURED_BYTES)
        return store_fail(err, LINEAGE_ELIMIT, "a diff of %zu bytes is longer than %zu MiB", length,
                          LINEAGE_MEASURED_BYTES >> 20);
    collect_diff(&c, diff, length);
    return collect_finish(&c, measured, err);
}

void collect_commands(struct collecting *c, const char *const *from, size_t n_from, const char *const *to, size_t n_to)
{
    struct literal_set before = {0}, after = {0};
    literals_read_command(&before, from, n_from);
    literals_read_command(&after, to, n_to);
    for (size_t i = 0; i < after.n; i++)
        after.items[i].line = 0;
    collect_literals(c, "", &before, &after);
    literals_release(&before);
    literals_release(&after);
}

enum lineage_status lineage_measure_commands(struct lineage_measured *measured, const char *const *from, size_t n_from,
                                             const char *const *to, size_t n_to, struct lineage_error *err)
{
    struct collecting c = {0};
    collect_commands(&c, from, n_from, to, n_to);
    return collect_finish(&c, measured, err);
}
