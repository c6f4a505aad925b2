/* statement_faults.h: every statement that the mirror prepares, steps or executes, made to fail, one further each time.
 * Linked with --wrap of those calls; what SQLite says of the failure follows. */
#ifndef FAULT_STATEMENT_FAULTS_H
#define FAULT_STATEMENT_FAULTS_H

#include <stdbool.h>

/* The n-th call from now on fails with that code of SQLite; 0 disarms. With `starts` the steps of a statement that is under
 * way do not count. */
void statement_faults_arm(unsigned n, int code, bool starts);
bool statement_faults_hit(void);

/* Another client's write transaction on a database, out of reach of the faults; let it go. */
struct sqlite3 *other_client_begin(const char *path);
void other_client_end(struct sqlite3 *client);

#endif
