/* sqlite_faults.h: an SQLite VFS that lets the n-th write, sync, truncate, lock or open fail. */
#ifndef FAULT_SQLITE_FAULTS_H
#define FAULT_SQLITE_FAULTS_H

#include <stdbool.h>

/* Make it the default VFS of this process. */
void sqlite_faults_install(void);

/* The n-th call from now on (0 = never) fails with SQLITE_IOERR or, for a lock, SQLITE_BUSY; with `full`, writes
 * fail with SQLITE_FULL; with `kill`, the process ends there. */
void sqlite_faults_arm(unsigned n, bool full, bool kill);

/* Whether the armed call came. */
bool sqlite_faults_hit(void);

#endif
