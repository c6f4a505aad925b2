/*
 * absent.c: replaces the other files of this folder in a build without PostgreSQL (LINEAGE_POSTGRES=OFF) and reports
 * that.
 */
#include "log_postgres.h"
#include "pg.h"
#include "server_name.h"

static enum lineage_status absent(struct lineage_error *err)
{
    return store_fail(err, LINEAGE_EINVAL, "this lineage was built without PostgreSQL (LINEAGE_POSTGRES=OFF)");
}

bool server_name_is(const char *text)
{
    return strncmp(text, "postgres://", 11) == 0 || strncmp(text, "postgresql://", 13) == 0;
}

enum lineage_status server_name_make_dir(char **dir, const char *text, struct lineage_error *err)
{
    (void)text;
    *dir = NULL;
    return absent(err);
}

enum lineage_status log_postgres_open(struct log **log, int dir_fd, const char *name, struct lineage_error *err)
{
    (void)dir_fd;
    (void)name;
    *log = NULL;
    return absent(err);
}

enum lineage_status log_postgres_create(const char *name, const char *settings, char **there, struct lineage_error *err)
{
    (void)name;
    (void)settings;
    *there = NULL;
    return absent(err);
}

enum lineage_status log_postgres_settings(struct log *log, struct buf *out, struct lineage_error *err)
{
    (void)log;
    (void)out;
    return absent(err);
}

enum lineage_status log_postgres_set_settings(struct log *log, const char *before, const char *after, struct lineage_error *err)
{
    (void)log;
    (void)before;
    (void)after;
    return absent(err);
}

struct pg *log_postgres_pg(struct log *log)
{
    (void)log;
    return NULL;
}

enum lineage_status log_postgres_store(struct log *log, char number[LOG_POSTGRES_STORE], struct lineage_error *err)
{
    (void)log;
    (void)number;
    return absent(err);
}
