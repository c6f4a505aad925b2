/* query_names.h: what a name in a query stands for: a column, a parameter, a metric or an extra column. */
#pragma once

#include "questions.h"

/* NAME_SETTING: a setting in words, whose values are in the temporary table setting_rows (setting_rows.h). */
enum name_kind { NAME_NUMBER_COLUMN, NAME_TEXT_COLUMN, NAME_PARAM, NAME_METRIC, NAME_EXTRA, NAME_SETTING, NAME_UNKNOWN };

struct named {
    enum name_kind kind;
    const char *name; /* name of the column, metric or extra column, or canonical name of the parameter */
    bool declared;    /* a column of trials whose name trials have declared as a parameter, too */
};

/* The table with an index by name and value for this kind, and its columns; NULL for the columns of trials. */
struct named_table {
    const char *table, *name, *value;
};
const struct named_table *name_table(enum name_kind kind);

/* Writes the expression for a parameter of the row with this alias, with one `?` for its name. */
enum { PARAM_SQL_MAX = 128 };
const char *name_param_sql(struct mirror *mirror, char out[PARAM_SQL_MAX], const char *row);

/* Returns LINEAGE_EINVAL, with a list of the known names, for an unknown one. out->name points into name or at a
 * constant. */
enum lineage_status name_resolve(struct mirror *mirror, const char *name, struct named *out, struct lineage_error *err);

/* Resolves the name of an axis: a parameter, a setting in words, a metric or a numeric extra column. Returns
 * LINEAGE_EINVAL, with the known names, for any other. alpha, beta and gamma are parameters before the first trial. */
enum lineage_status name_resolve_axis(struct mirror *mirror, const char *name, struct named *out, struct lineage_error *err);

/* Resolves a name for a condition: the kind is NAME_PARAM if nothing has the name. */
enum lineage_status name_find_param(struct mirror *mirror, const char *name, struct named *out, struct lineage_error *err);

/* Whether `sql`, a constant statement that takes the name, returns a row. Returns false after a failure too; see
 * *status. */
bool name_exists(struct mirror *mirror, const char *sql, const char *name, enum lineage_status *status,
                 struct lineage_error *err);
