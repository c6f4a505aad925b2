/*
 * trust_record.h: records of the directories whose remote log this user trusts. lineage.json may name a server, and libpq sends
 * passwords to it and rows come from it. So the name is obeyed only in a directory that this user's commands made, or that the
 * user has trusted with `lineage trust`. A record names directory and server: a lineage.json that names another server later is
 * not trusted.
 */
#pragma once

#include <stdbool.h>

#include "../fail.h"

enum trust {
    TRUST_YES,
    TRUST_NO,
    TRUST_OTHER, /* the directory is trusted with another server */
};

/* Whether the directory is trusted with this server. *other receives the trusted server for TRUST_OTHER and is otherwise NULL;
 * the caller frees it. Returns LINEAGE_EINVAL without a state directory, LINEAGE_EIO if the record cannot be read. */
enum lineage_status trust_record_check(int dir_fd, const char *server, enum trust *trust, char **other,
                                       struct lineage_error *err);

/* Trusts the directory, under this path, with this server. A record of the directory is replaced. */
enum lineage_status trust_record_write(int dir_fd, const char *path, const char *server, struct lineage_error *err);
