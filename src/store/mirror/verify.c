/* verify.c: everything that can be wrong with a store, one finding each. */
#include <lineage/verify.h>

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/query.h>

#include "../log/fs.h"
#include "../log/telemetry.h"
#include "internal.h"
#include "verify_mirror.h"

struct verifying {
    struct lineage_store *store;
    lineage_finding_fn *report;
    void *context;
    size_t n;
};

static void found(struct verifying *v, const char *kind, uint64_t line, const char *exp_id,
                  const char *text)
{
    struct lineage_finding finding = {kind, line, exp_id, text};
    v->n++;
    if (v->report)
        v->report(v->context, &finding);
}

/* Rows of `SELECT line, exp_id, text`, each a finding. */
static enum lineage_status report_rows(struct verifying *v, const char *kind, const char *sql,
                                       struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    struct mirror *mirror = v->store->mirror;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    while (status == LINEAGE_OK && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK)
        found(v, sqlite3_column_count(stmt) > 3 ? (const char *)sqlite3_column_text(stmt, 3) : kind,
              (uint64_t)sqlite3_column_int64(stmt, 0), (const char *)sqlite3_column_text(stmt, 1),
              (const char *)sqlite3_column_text(stmt, 2));
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static const char findings_sql[] = "SELECT line, exp_id, text, kind FROM findings ORDER BY offset";

static const struct {
    const char *kind, *sql;
} checks[] = {
    {"id", "SELECT line, '', 'exp_id is empty' FROM trials WHERE exp_id = '' ORDER BY seq"},
    {"id",
     "SELECT t.line, t.exp_id, 'exp_id was already used in line ' || (SELECT min(line) FROM trials f"
     " WHERE f.exp_id = t.exp_id) FROM trials t WHERE t.exp_id <> '' AND EXISTS (SELECT 1"
     " FROM trials f WHERE f.exp_id = t.exp_id AND f.seq < t.seq) ORDER BY t.seq"},
    {"parent",
     "SELECT line, exp_id, 'parent_exp ''' || parent_exp || ''' is not in the store' FROM trials t"
     " WHERE parent_exp <> '' AND NOT EXISTS (SELECT 1 FROM trials p WHERE p.exp_id = t.parent_exp)"
     " AND NOT EXISTS (SELECT 1 FROM trials p WHERE p.exp_id = 'exp_' || t.parent_exp)"
     " AND NOT (substr(parent_exp, 1, 4) = 'exp_' AND EXISTS (SELECT 1 FROM trials p WHERE"
     " p.exp_id = substr(t.parent_exp, 5))) ORDER BY seq"},
};

static enum lineage_status check_tail(struct verifying *v)
{
    char text[128];
    const struct mirror_position *at = mirror_position(v->store->mirror);
    if (at->size > at->watermark) {
        snprintf(text, sizeof text, "the last record has no line end (%llu bytes)",
                 (unsigned long long)(at->size - at->watermark));
        found(v, "torn", at->line, "", text);
    }
    return LINEAGE_OK;
}

static bool report_cycle(void *context, const struct lineage_tree_node *node)
{
    if (node->in_cycle)
        found(context, "cycle", node->trial->line, node->trial->exp_id,
              "is its own ancestor, or descends from one");
    return true;
}

static void count_finding(void *context, const struct lineage_finding *finding)
{
    found(context, finding->kind, finding->line, finding->exp_id, finding->text);
}

static enum lineage_status check_integrity(struct verifying *v, struct mirror *mirror,
                                           struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, "PRAGMA quick_check(5)", err);
    while (status == LINEAGE_OK && (status = mirror_step(mirror, stmt, err)) == LINEAGE_OK) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        if (text && strcmp(text, "ok") != 0)
            found(v, "mirror", 0, "", text);
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* A mirror that cannot even be read through is a finding, not a failure of the check. */
static enum lineage_status check_mirror(struct verifying *v, struct mirror *mirror,
                                        struct lineage_error *err)
{
    struct lineage_error why = {0};
    const struct lineage_error *fallback = mirror_fallback(mirror);
    if (fallback)
        found(v, "mirror", fallback->line, "", fallback->text);
    if (fallback || !mirror_on_disk(mirror))
        return LINEAGE_OK;
    enum lineage_status status = check_integrity(v, mirror, &why);
    if (status == LINEAGE_OK)
        status = verify_mirror(mirror, v->store->mirror, count_finding, v, &why);
    if (status == LINEAGE_EDB) {
        found(v, "mirror", 0, "", why.text);
        return LINEAGE_OK;
    }
    if (status != LINEAGE_OK && err)
        *err = why;
    return status;
}

static enum lineage_status check_snapshots(struct verifying *v, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    struct stat st;
    enum lineage_status status = mirror_prepare(
        v->store->mirror, &stmt,
        "SELECT line, exp_id, snapshot_path FROM trials WHERE snapshot_path <> '' ORDER BY seq",
        err);
    while (status == LINEAGE_OK &&
           (status = mirror_step(v->store->mirror, stmt, err)) == LINEAGE_OK) {
        const char *path = (const char *)sqlite3_column_text(stmt, 2);
        if (fstatat(v->store->dir_fd, path, &st, 0) != 0 || !S_ISDIR(st.st_mode))
            found(v, "snapshot", (uint64_t)sqlite3_column_int64(stmt, 0),
                  (const char *)sqlite3_column_text(stmt, 1), "snapshot_path is not there");
    }
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* One file of telemetry/: named after a row, and readable. */
static enum lineage_status check_telemetry_file(struct verifying *v, const char *name,
                                                struct lineage_error *err)
{
    char id[256], path[TELEMETRY_PATH_MAX];
    struct buf text = {0};
    int64_t seq;
    size_t length = strlen(name);
    if (length <= 5 || length >= sizeof id || strcmp(name + length - 5, ".json") != 0 ||
        name[0] == '.')
        return LINEAGE_OK; /* a stranger's file */
    snprintf(id, sizeof id, "%.*s", (int)(length - 5), name);
    enum lineage_status status = mirror_find_exact(v->store->mirror, id, &seq, err);
    if (status == LINEAGE_ENOTFOUND)
        found(v, "telemetry", 0, id, "telemetry without a row");
    else if (status != LINEAGE_OK)
        return status;
    if (!telemetry_path(path, id) ||
        fs_read_file(v->store->dir_fd, path, &text, NULL) != LINEAGE_OK) {
        found(v, "telemetry", 0, id, "telemetry cannot be read");
    } else {
        json_t *root = json_loadb(text.data ? text.data : "", text.length, 0, NULL);
        if (!json_is_object(root))
            found(v, "telemetry", 0, id, "telemetry is not a JSON object");
        json_decref(root);
    }
    buf_release(&text);
    return LINEAGE_OK;
}

static enum lineage_status check_telemetry(struct verifying *v, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    struct dirent *entry;
    int fd = openat(v->store->dir_fd, "telemetry", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    while (dir && status == LINEAGE_OK && (entry = readdir(dir)))
        status = check_telemetry_file(v, entry->d_name, err);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    return status;
}

enum lineage_status lineage_findings(struct lineage_store *store, lineage_finding_fn *report,
                                     void *context, struct lineage_error *err)
{
    struct verifying v = {.store = store, .report = report, .context = context};
    enum lineage_status status = mirror_sync(store->mirror, err);
    return status == LINEAGE_OK ? report_rows(&v, "row", findings_sql, err) : status;
}

static enum lineage_status check_store(struct verifying *v, struct mirror *mirror,
                                       struct lineage_error *err)
{
    enum lineage_status status = mirror_sync(v->store->mirror, err);
    if (status == LINEAGE_OK)
        status = report_rows(v, "row", findings_sql, err);
    for (size_t i = 0; status == LINEAGE_OK && i < sizeof checks / sizeof *checks; i++)
        status = report_rows(v, checks[i].kind, checks[i].sql, err);
    if (status == LINEAGE_OK)
        status = check_tail(v);
    if (status == LINEAGE_OK)
        status = lineage_tree_walk(v->store, report_cycle, v, err);
    if (status == LINEAGE_OK)
        status = check_mirror(v, mirror, err);
    if (status == LINEAGE_OK)
        status = check_snapshots(v, err);
    return status == LINEAGE_OK ? check_telemetry(v, err) : status;
}

/* Rows are checked in a mirror made in memory for the purpose, so that lineage.db is judged and not
 * mended. */
enum lineage_status lineage_verify(struct lineage_store *store, size_t *n_findings,
                                   lineage_finding_fn *report, void *context,
                                   struct lineage_error *err)
{
    struct verifying v = {.report = report, .context = context};
    struct lineage_open_options options = {.direction = store->config.direction, .no_mirror = true};
    *n_findings = 0;
    options.metric = store->config.metric[0] ? store->config.metric : NULL;
    enum lineage_status status = lineage_store_open(&v.store, store->dir, &options, err);
    if (status == LINEAGE_OK)
        status = check_store(&v, store->mirror, err);
    *n_findings = v.n;
    lineage_store_close(v.store);
    return status;
}

enum lineage_status lineage_rebuild(struct lineage_store *store, struct lineage_error *err)
{
    return mirror_rebuild(store->mirror, err);
}
