/*
 * statement_faults.h: makes the n-th statement that the mirror prepares, steps or executes fail.
 * Linked with --wrap of those calls; SQLite's message of the failure is replaced too.
 */
#ifndef FAULT_STATEMENT_FAULTS_H
#define FAULT_STATEMENT_FAULTS_H

#include <stdbool.h>

/*
 * The n-th call from now on fails with that code of SQLite; 0 disarms. With `starts` only the first
 * step of a statement counts.
 */
void statement_faults_arm(unsigned n, int code, bool starts);
bool statement_faults_hit(void);

/*
 * A write transaction of another client, which the faults do not affect; the second function ends
 * it.
 */
struct sqlite3 *other_client_begin(const char *path);
void other_client_end(struct sqlite3 *client);

#endif
