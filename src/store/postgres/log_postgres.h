/* log_postgres.h: a log in PostgreSQL (schema/postgresql/001_log.sql). */
#pragma once

#include "../log/log.h"

struct pg;

/* Opens the log of the store called `name` (server_name.h). The server is not contacted yet: every call connects if
 * it must, and returns LINEAGE_EAWAY while the server cannot be reached. dir_fd is the directory for torn records; it
 * belongs to the caller and must stay open. */
enum lineage_status log_postgres_open(struct log **log, int dir_fd, const char *name, struct lineage_error *err);

/* Creates schema and store if they are missing (`lineage init`): migrations, grants, a row in lineage.store with
 * these settings. An existing store keeps its settings. *there, which the caller frees, receives the settings in
 * force. */
enum lineage_status log_postgres_create(const char *name, const char *settings, char **there, struct lineage_error *err);

/* Appends the settings of the store to out, as the text of a lineage.json. LINEAGE_EREFUSED: the server has no such
 * store. */
enum lineage_status log_postgres_settings(struct log *log, struct buf *out, struct lineage_error *err);

/* Replaces the settings if they equal `before`; LINEAGE_EEXIST if somebody else was faster. */
enum lineage_status log_postgres_set_settings(struct log *log, const char *before, const char *after, struct lineage_error *err);

/* The connection of a log; NULL for a log that is a file. */
struct pg *log_postgres_pg(struct log *log);

/* The number of the log's store on the server, as a parameter of statements; the first call asks the server. */
#define LOG_POSTGRES_STORE 24
enum lineage_status log_postgres_store(struct log *log, char number[LOG_POSTGRES_STORE], struct lineage_error *err);
