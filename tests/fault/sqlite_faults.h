/* sqlite_faults.h: an SQLite VFS in which the n-th write, sync, truncate, lock or open fails. */
#pragma once

#include <stdbool.h>

/* Makes this VFS the default of the process. */
void sqlite_faults_install(void);

/*
 * The n-th call from now on (0: none) fails with SQLITE_IOERR, or with SQLITE_BUSY if it is a lock. With `full`,
 * writes fail with SQLITE_FULL; with `kill`, the process is killed at that call.
 */
void sqlite_faults_arm(unsigned n, bool full, bool kill);

/* `call`, if not NULL, hears of each call that could fail. */
void sqlite_faults_watch(void (*call)(void));

/* Returns true if the armed call was reached. */
bool sqlite_faults_hit(void);
