/* provisional.c: runs the scripts schema/before.sql and schema/undo.sql for the row of a last record without a line
 * end. */
#include "provisional.h"

#include "mirror_internal.h"
#include "schema_sql.h"
#include "statement.h"

/* Runs a script with seq bound in each of its statements, which sqlite3_exec cannot do. The scripts are files in
 * schema/, beside the definitions of the tables that they change. */
static enum lineage_status run_script(struct mirror *mirror, const char *sql, int64_t seq, struct lineage_error *err)
{
    for (;;) {
        sqlite3_stmt *stmt = NULL;
        if (sqlite3_prepare_v2(mirror->db, sql, -1, &stmt, &sql) != SQLITE_OK)
            return mirror_fail(mirror, "cannot prepare", err);
        if (!stmt)
            return LINEAGE_OK;
        if (sqlite3_bind_parameter_count(stmt))
            sqlite3_bind_int64(stmt, 1, seq);
        int code = sqlite3_step(stmt);
        sqlite3_finalize(stmt);
        if (code != SQLITE_DONE)
            return mirror_fail(mirror, "cannot take the last record back", err);
    }
}

enum lineage_status provisional_keep_sums(struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    return run_script(mirror, schema_before, seq, err);
}

/* A new table needs a statement in schema/undo.sql that removes its rows. */
enum lineage_status provisional_undo(struct mirror *mirror, int64_t seq, struct lineage_error *err)
{
    return run_script(mirror, schema_undo, seq, err);
}
