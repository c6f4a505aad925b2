/* environment.h: failures for which a machine is to blame, and not what was tried on it. */
#pragma once

#include <stdbool.h>

#include <lineage/notes.h>

/*
 * Finds the words of an error that name its cause. Returns the first character of them in the text (NULL: none), or NULL and
 * leaves the others unchanged. *lacks: the machine lacks something, such as a module or room on its disk.
 */
const char *cli_cause_words(const char *text, enum lineage_cause *cause, bool *lacks);

/* Whether a message or notes (NULL: none) say that the machine lacks something, such as a module or room on its disk. */
bool cli_blames_environment(const char *text);
