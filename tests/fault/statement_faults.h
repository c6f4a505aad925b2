/*
 * statement_faults.h: makes the n-th statement that the mirror prepares, steps or executes fail. The program is
 * linked with --wrap of those calls and of the call that returns SQLite's error message.
 */
#pragma once

#include <stdbool.h>

/*
 * The n-th call from now on fails with the SQLite error `code`; n = 0 disarms. With `starts`, only the first step of
 * each statement is counted.
 */
void statement_faults_arm(unsigned n, int code, bool starts);
bool statement_faults_hit(void);

/* `call`, if not NULL, hears of each call that could fail. */
void statement_faults_watch(void (*call)(void));

/*
 * Begins a write transaction of another client, which the faults do not affect. The second function ends the
 * transaction.
 */
struct sqlite3 *other_client_begin(const char *path);
void other_client_end(struct sqlite3 *client);
