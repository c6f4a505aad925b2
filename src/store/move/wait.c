/* wait.c: waits until a log has changed. */
#include <lineage/move.h>

#include <math.h>

#include "../internal.h"
#include "../log/log.h"

#define LONGEST_MS (1 << 30) /* twelve days; a longer wait makes no difference */

enum lineage_status lineage_store_wait(struct lineage_store *store, double seconds, bool *news, struct lineage_error *err)
{
    double milliseconds = seconds < 0 ? -1 : ceil(seconds * 1000);
    *news = false;
    enum lineage_status status = store_check_owner(store, err);
    return status == LINEAGE_OK ? log_wait(store->log, milliseconds < LONGEST_MS ? (int)milliseconds : LONGEST_MS, news, err)
                                : status;
}
