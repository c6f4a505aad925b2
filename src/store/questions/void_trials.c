/* void_trials.c: which trials are void. */
#include <string.h>

#include "../mirror/statement.h"
#include "questions.h"

enum lineage_status mirror_each_void(struct mirror *mirror, int64_t seq, int64_t *after,
                                     bool (*visit)(void *context, const struct lineage_void *entry), void *context,
                                     struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    bool more = true;
    enum lineage_status status = mirror_rows(mirror, &stmt, err,
                                             "SELECT v.status, v.exp_id, b.exp_id, b.timestamp, b.hypothesis, v.score, v.seq "
                                             "FROM voided v JOIN trials b ON b.seq = v.void_seq"
                                             " WHERE ?1 IN (0, v.seq) AND v.seq > ?2 ORDER BY v.seq",
                                             "ii", seq, *after);
    if (status != LINEAGE_OK)
        return status;
    while (more && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        struct lineage_void entry = {.exp_id = mirror_text(stmt, 1),
                                     .by = mirror_text(stmt, 2),
                                     .timestamp = mirror_text(stmt, 3),
                                     .reason = mirror_text(stmt, 4),
                                     .score = {sqlite3_column_type(stmt, 5) != SQLITE_NULL, sqlite3_column_double(stmt, 5)}};
        status = mirror_label(mirror, stmt, 0, &entry.label, err);
        if (status != LINEAGE_OK)
            break;
        *after = sqlite3_column_int64(stmt, 6);
        more = visit(context, &entry);
    }
    return mirror_end_rows(stmt, status);
}
