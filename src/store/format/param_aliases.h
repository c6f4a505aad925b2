/* param_aliases.h: other names of parameters, such as α for alpha. lineage_param_canonical (lineage/notes.h) resolves them. */
#pragma once

#include <stddef.h>

/* Bytes of the Greek letter that text begins with, if that letter is an alias and more text follows; else 0. */
size_t param_alias_greek(const char *text, size_t length);
