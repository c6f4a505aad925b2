/* scan.h: one reader per language; each adds what it finds to a set. See literals_read. */
#ifndef MEASURED_SCAN_H
#define MEASURED_SCAN_H

#include "literals.h"

void scan_python(struct literal_set *set, const char *scope, bool in_function, const char *text, size_t length);
void scan_c(struct literal_set *set, const char *scope, bool in_function, const char *text, size_t length);
void scan_shell(struct literal_set *set, const char *text, size_t length);
void scan_configuration(struct literal_set *set, enum language language, const char *text, size_t length);

#endif
