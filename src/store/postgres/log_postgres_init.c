/* log_postgres_init.c: creates and upgrades schema and store on a server; settings of a store. */
#include "log_postgres.h"
#include "log_postgres_parts.h"

#include "postgres_sql.h"

/* A migration may read every record of the database. */
#define MIGRATION_SECONDS 86400.0

#define N_MIGRATIONS ((int)(sizeof schema_migrations / sizeof *schema_migrations))

enum lineage_status postgres_check_version(struct log_postgres *p, int64_t version, struct lineage_error *err)
{
    if (version > N_MIGRATIONS)
        return store_fail(err, LINEAGE_EDB, "%s has schema version %lld, this program knows up to %d", p->name.shown,
                          (long long)version, N_MIGRATIONS);
    if (version < N_MIGRATIONS)
        return store_fail(err, LINEAGE_EDB, "%s has schema version %lld; its owner's `lineage init %s` brings it to %d",
                          p->name.shown, (long long)version, p->name.shown, N_MIGRATIONS);
    return LINEAGE_OK;
}

enum lineage_status log_postgres_settings(struct log *log, struct buf *out, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_RESULT result = {0};
    enum lineage_status status = postgres_find_store(p, err);
    if (status == LINEAGE_OK)
        status = postgres_ask(p, &result, err, "SELECT settings FROM lineage.store WHERE id = %lld", (long long)p->store);
    if (status == LINEAGE_OK && pg_rows(&result))
        buf_puts(out, pg_text(&result, 0, 0, NULL));
    return status == LINEAGE_OK && out->failed ? store_no_memory(err) : status;
}

enum lineage_status log_postgres_set_settings(struct log *log, const char *before, const char *after, struct lineage_error *err)
{
    struct log_postgres *p = postgres_of(log);
    SCOPED_RESULT result = {0};
    char store[32];
    const char *const params[] = {store, before, after};
    enum lineage_status status = postgres_find_store(p, err);
    snprintf(store, sizeof store, "%lld", (long long)p->store);
    if (status == LINEAGE_OK)
        status = pg_run(p->pg, &result, PG_PATIENCE, "SELECT lineage.set_settings($1, $2, $3)", 3, params, err);
    if (status == LINEAGE_OK && strcmp(pg_text(&result, 0, 0, NULL), "t") != 0)
        status = store_fail(err, LINEAGE_EEXIST, "%s: its settings have just been changed by somebody else", p->name.shown);
    return status;
}

/* *version becomes -1 if there is no schema. */
static enum lineage_status read_version(struct pg *pg, int *version, struct lineage_error *err)
{
    struct pg_result result = {0};
    *version = 0;
    enum lineage_status status = pg_query(pg, &result, PG_PATIENCE, "SELECT to_regclass('lineage.version') IS NOT NULL", err);
    bool there = status == LINEAGE_OK && strcmp(pg_text(&result, 0, 0, NULL), "t") == 0;
    pg_clear(&result);
    if (there)
        status = pg_query(pg, &result, PG_PATIENCE, "SELECT coalesce(max(version), 0) FROM lineage.version", err);
    if (there && status == LINEAGE_OK)
        *version = (int)pg_int(&result, 0, 0);
    pg_clear(&result);
    return status;
}

/* Applies all missing migrations in one transaction. If two processes run init at once, one waits for the other. */
static enum lineage_status migrate(struct pg *pg, struct lineage_error *err)
{
    int version = 0;
    SCOPED_BUF sql = {0};
    enum lineage_status status = pg_query(pg, NULL, PG_PATIENCE, "BEGIN; SELECT pg_advisory_xact_lock(hashtext('lineage'))", err);
    if (status == LINEAGE_OK)
        status = read_version(pg, &version, err);
    for (int i = version; status == LINEAGE_OK && i < N_MIGRATIONS; i++) {
        buf_reset(&sql);
        buf_puts(&sql, schema_migrations[i]);
        buf_printf(&sql, "\nINSERT INTO lineage.version (version) VALUES (%d)", i + 1);
        status = sql.failed ? store_no_memory(err) : pg_query(pg, NULL, MIGRATION_SECONDS, sql.data, err);
    }
    if (status == LINEAGE_OK)
        status = pg_query(pg, NULL, PG_PATIENCE, schema_grants, err);
    if (status == LINEAGE_OK)
        status = pg_query(pg, NULL, PG_PATIENCE, "COMMIT", err);
    else if (pg_is_connected(pg))
        pg_query(pg, NULL, PG_PATIENCE, "ROLLBACK", NULL);
    return status;
}

/* A user who does not own the schema can neither upgrade it nor create a store in it, but may see what exists. */
static enum lineage_status make_schema(struct pg *pg, struct lineage_error *err)
{
    SCOPED_RESULT result = {0};
    int version = 0;
    bool owner = true;
    enum lineage_status status = read_version(pg, &version, err);
    if (status == LINEAGE_OK && version)
        status = pg_query(pg, &result, PG_PATIENCE,
                          "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'lineage'", err);
    if (status == LINEAGE_OK && version)
        owner = strcmp(pg_text(&result, 0, 0, NULL), "t") == 0;
    return status == LINEAGE_OK && owner ? migrate(pg, err) : status;
}

static enum lineage_status make_store(struct pg *pg, const struct server_name *name, const char *settings, char **there,
                                      struct lineage_error *err)
{
    const char *const params[] = {name->store, settings};
    struct pg_result result = {0};
    enum lineage_status status =
        pg_run(pg, &result, PG_PATIENCE, "SELECT settings FROM lineage.store WHERE name = $1", 1, params, err);
    if (status == LINEAGE_OK && !pg_rows(&result)) {
        pg_clear(&result);
        status = pg_run(pg, &result, PG_PATIENCE,
                        "WITH made AS (INSERT INTO lineage.store (name, settings) VALUES ($1, $2) "
                        "ON CONFLICT DO NOTHING"
                        " RETURNING settings) SELECT settings FROM made UNION ALL"
                        " SELECT settings FROM lineage.store WHERE name = $1 LIMIT 1",
                        2, params, err);
    }
    if (status == LINEAGE_OK && (!pg_rows(&result) || !(*there = strdup(pg_text(&result, 0, 0, NULL)))))
        status = store_no_memory(err);
    pg_clear(&result);
    return status;
}

enum lineage_status log_postgres_create(const char *text, const char *settings, char **there, struct lineage_error *err)
{
    struct server_name name;
    struct pg *pg = NULL;
    *there = NULL;
    enum lineage_status status = server_name_parse(&name, text, err);
    if (status == LINEAGE_OK)
        status = pg_open(&pg, name.uri, name.shown, err);
    if (status == LINEAGE_OK)
        status = make_schema(pg, err);
    if (status == LINEAGE_OK)
        status = make_store(pg, &name, settings, there, err);
    pg_close(pg);
    server_name_release(&name);
    return status;
}
