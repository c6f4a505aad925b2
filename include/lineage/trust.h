/*
 * trust.h: which directories may name the server of their log.
 *
 * The lineage.json of a directory may be {"log": "postgres://.."}. A directory from somebody else could so lead this user's
 * passwords to a server of that person, and other rows into the answers. So lineage_store_open obeys the name only if a record in
 * this user's state directory (${XDG_STATE_HOME:-~/.local/state}/lineage) names the directory, by device, inode and time of
 * birth, together with that server. The directories that this library itself makes for stores on servers have such records.
 */
#ifndef LINEAGE_TRUST_H
#define LINEAGE_TRUST_H

#include <stdbool.h>

#include <lineage/status.h>

/* Trusts the directory with the server that its lineage.json names now. *server receives that name; the caller frees it with
 * lineage_free. Returns LINEAGE_ENOTFOUND if the directory cannot be opened, LINEAGE_EINVAL if its log is a file. Nothing is sent to
 * the server. */
LINEAGE_API enum lineage_status lineage_trust(const char *dir, char **server, struct lineage_error *err);

/* Withdraws the trust. *was tells whether there was any. The directory need not exist any more. */
LINEAGE_API enum lineage_status lineage_trust_withdraw(const char *dir, bool *was, struct lineage_error *err);

/* Calls visit for each trusted directory, in the order of the paths, until it returns false. */
typedef bool lineage_trust_fn(void *context, const char *dir, const char *server);
LINEAGE_API enum lineage_status lineage_trust_each(lineage_trust_fn *visit, void *context, struct lineage_error *err);

#endif
