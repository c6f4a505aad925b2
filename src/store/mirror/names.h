/* names.h: what a name in a query stands for. */
#ifndef MIRROR_NAMES_H
#define MIRROR_NAMES_H

#include "mirror_internal.h"

enum name_kind { NAME_NUMBER_COLUMN, NAME_TEXT_COLUMN, NAME_PARAM, NAME_EXTRA, NAME_UNKNOWN };

struct named {
    enum name_kind kind;
    const char *name; /* of the column; the canonical parameter; the extra column */
};

/* LINEAGE_EINVAL with the known names if it is none. out->name is borrowed from name or constant. */
enum lineage_status name_resolve(struct index *mirror, const char *name, struct named *out,
                                 struct lineage_error *err);

/* Whether a statement (a constant) that takes the name gives a row; false as well after a failure, see *status. */
bool name_exists(struct index *mirror, const char *sql, const char *name, enum lineage_status *status,
                 struct lineage_error *err);

#endif
