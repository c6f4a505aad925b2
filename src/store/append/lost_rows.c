/* lost_rows.c: a store whose rows are gone, and comes back from what this user acknowledged (acknowledged.h). */
#include <lineage/store.h>

#include "../fail.h"
#include "../files/fs.h"
#include "../files/places.h"
#include "../files/store_dir.h"
#include "acknowledged.h"

enum lineage_status lineage_store_restore(const char *dir, struct lineage_error *err)
{
    struct acknowledged_lost lost;
    int dir_fd = -1;
    acknowledged_find(&lost, dir);
    enum lineage_status status = lost.rows ? store_dir_make(dir, err)
                                           : store_fail(err, LINEAGE_ENOTFOUND,
                                                        "no store in %s, and no acknowledged rows of one that was "
                                                        "there are known to this user",
                                                        dir);
    if (status == LINEAGE_OK)
        status = store_dir_open(&dir_fd, dir, err);
    if (status == LINEAGE_OK)
        status = store_dir_ignore(dir_fd, store_dir_in_repository(dir_fd), err);
    if (status == LINEAGE_OK && lost.settings.length)
        status = fs_replace(dir_fd, PLACE_CONFIG, lost.settings.data, lost.settings.length, true, err);
    if (status == LINEAGE_OK)
        status = fs_create(dir_fd, PLACE_RESULTS, lost.results.data, lost.results.length, NULL, err);
    fs_close(dir_fd);
    acknowledged_lost_release(&lost);
    return status;
}

void lineage_store_forget(const char *dir)
{
    acknowledged_set_aside(dir);
}

size_t lineage_store_lost(const char *dir)
{
    struct acknowledged_lost lost;
    acknowledged_find(&lost, dir);
    acknowledged_lost_release(&lost);
    return lost.rows;
}
