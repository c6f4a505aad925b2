/* scan.h: one reader per language; each adds what it finds to a set. See literals_read. */
#ifndef MEASURED_SCAN_H
#define MEASURED_SCAN_H

#include "literals.h"

void scan_python(struct literal_set *set, const char *scope, bool in_function, const char *text, size_t length);
void scan_c(struct literal_set *set, const char *scope, bool in_function, const char *text, size_t length);
void scan_shell(struct literal_set *set, const char *text, size_t length);
void scan_yaml(struct literal_set *set, const char *text, size_t length);
void scan_toml(struct literal_set *set, const char *text, size_t length);
void scan_json(struct literal_set *set, const char *text, size_t length);

/*
 * Reads JSON, the flow style of YAML or an inline table of TOML from text[at..length), which begins with { or [. Entries
 * are named path.key. Returns the position behind the closing bracket, or length if it is missing.
 */
size_t scan_flow(struct literal_set *set, const char *path, const char *text, size_t at, size_t length, uint32_t line);

/* Adds the entry `path`.`key` of a configuration file. */
void scan_entry(struct literal_set *set, const char *path, const char *key, size_t key_length, const char *value,
                size_t value_length, uint32_t line);

#endif
