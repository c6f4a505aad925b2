/*
 * faults.c: reports faults of single rows: those that the sync noted, and those that are found by ids.
 *
 * A record that cannot be read is noted by the sync, because the mirror has no other trace of it. Faults between rows
 * can change with every new row, so they are searched for each time.
 */
#include <lineage/verify.h>

#include "../mirror/statement.h"
#include "mirror_checks.h"

/* Reports the rows of `SELECT line, exp_id, text[, kind]`. They are reported one by one and not collected, because a
 * damaged file may have a million findings. */
static enum lineage_status report_rows(struct mirror *mirror, const char *kind, const char *sql, lineage_finding_fn *report,
                                       void *context, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    while (status == LINEAGE_OK && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        const struct lineage_finding finding = {sqlite3_column_count(stmt) > 3 ? mirror_text(stmt, 3) : kind,
                                                (uint64_t)sqlite3_column_int64(stmt, 0), mirror_text(stmt, 1),
                                                mirror_text(stmt, 2)};
        if (report)
            report(context, &finding);
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

enum lineage_status mirror_findings(struct mirror *mirror, lineage_finding_fn *report, void *context, struct lineage_error *err)
{
    return report_rows(mirror, "row", "SELECT line, exp_id, text, kind FROM findings ORDER BY offset", report, context, err);
}

/* Ids are read from their index, in order and each once, because the rows of trials are wide. So the cost grows with the
 * number of rows and not with its square, even if all rows have the same id: the first row with an id is the first entry of
 * the index that has it. CROSS keeps SQLite from scanning trials instead. Parents are looked up in the table of ancestors,
 * where a parent is 0 if it exists in neither spelling. The reported line is that of the faulty row, not of the first row
 * with the id. */
static const struct {
    const char *kind, *sql;
} id_faults[] = {
    {"id", "SELECT line, '', 'exp_id is empty' FROM trials WHERE exp_id = '' ORDER BY seq"},
    {"id", "SELECT t.line, t.exp_id, 'exp_id was already used in line ' || (SELECT line FROM trials WHERE seq = f.seq)"
           " FROM (SELECT exp_id, min(seq) AS seq FROM trials WHERE exp_id > '' GROUP BY exp_id"
           " HAVING count(*) > 1) f CROSS JOIN trials t ON t.exp_id = f.exp_id AND t.seq > f.seq ORDER BY t.seq"},
    {"id", /* '`' is the character behind '_': only ids with the prefix are read */
     "SELECT t.line, t.exp_id, 'names the same trial as ''' || f.exp_id || ''' in line ' || f.line FROM trials t, trials f"
     " WHERE t.exp_id > 'exp_' AND t.exp_id < 'exp`'"
     " AND f.seq = (SELECT seq FROM trials g WHERE g.exp_id = substr(t.exp_id, 5) ORDER BY seq LIMIT 1) ORDER BY t.seq"},
    {"parent",
     "SELECT t.line, t.exp_id, 'parent_exp ''' || t.parent_exp || ''' is not in the store' FROM ancestors a CROSS JOIN trials t"
     " ON t.seq = a.seq WHERE a.parent = 0 AND a.kind = 0 AND t.parent_exp <> '' ORDER BY a.seq"},
    {LINEAGE_NOTE,
     "SELECT line, exp_id, 'timestamp ''' || substr(timestamp, 1, 60) || ''' is not a date; --since and --until do not find"
     " the trial' FROM trials WHERE timestamp <> '' AND moment(timestamp) IS NULL ORDER BY seq"},
};

enum lineage_status mirror_cycles(struct mirror *mirror, lineage_finding_fn *report, void *context, struct lineage_error *err)
{
    return report_rows(mirror, "cycle",
                       "SELECT t.line, t.exp_id, 'is its own ancestor, or descends from one' FROM ancestors a CROSS JOIN trials t"
                       " ON t.seq = a.seq WHERE a.kind = 1 ORDER BY a.seq",
                       report, context, err);
}

enum lineage_status mirror_id_faults(struct mirror *mirror, lineage_finding_fn *report, void *context, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; status == LINEAGE_OK && i < sizeof id_faults / sizeof *id_faults; i++)
        status = report_rows(mirror, id_faults[i].kind, id_faults[i].sql, report, context, err);
    return status;
}
