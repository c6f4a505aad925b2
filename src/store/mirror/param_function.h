/* param_function.h: defines the SQL function param(notes, key). */
#pragma once

#include "mirror.h"

/* Defines param(notes, key) on the connection: the value of one parameter, NULL if the notes do not have it. */
enum lineage_status param_function_register(struct mirror *mirror, struct lineage_error *err);
