/* log_postgres.h: a log in PostgreSQL (schema/postgresql/001_log.sql). */
#ifndef POSTGRES_LOG_POSTGRES_H
#define POSTGRES_LOG_POSTGRES_H

#include "../log/log.h"

struct pg;

/*
 * The log of the store that `name` names (server_name.h). The server is not asked yet: every call connects if it must, and
 * answers LINEAGE_EAWAY while it cannot be reached. dir_fd is the directory for what is moved aside; the caller's, and must
 * stay open.
 */
enum lineage_status log_postgres_open(struct log **log, int dir_fd, const char *name, struct lineage_error *err);

/*
 * Make schema and store where they are missing (`lineage init`): migrations, grants, a row in lineage.store with these
 * settings. A store that is there keeps its own. *there (freed by the caller) are those in force.
 */
enum lineage_status log_postgres_create(const char *name, const char *settings, char **there, struct lineage_error *err);

/* Settings of the store, as the text of a lineage.json (add to out). LINEAGE_EREFUSED: no such store on the server. */
enum lineage_status log_postgres_settings(struct log *log, struct buf *out, struct lineage_error *err);

/* Replace them if they are `before`; LINEAGE_EEXIST if somebody else was faster. */
enum lineage_status log_postgres_set_settings(struct log *log, const char *before, const char *after, struct lineage_error *err);

/* The connection of a log; NULL for a log that is a file. */
struct pg *log_postgres_pg(struct log *log);

/* The number of its store there, as a parameter of statements; the server is asked if it was not yet. */
#define LOG_POSTGRES_STORE 24
enum lineage_status log_postgres_store(struct log *log, char number[LOG_POSTGRES_STORE], struct lineage_error *err);

#endif
