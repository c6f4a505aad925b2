/* environment.h: failures for which a machine is to blame, and not what was tried on it. */
#ifndef CLI_ENVIRONMENT_H
#define CLI_ENVIRONMENT_H

#include <stdbool.h>

/* Whether a message or notes (NULL: none) say that the machine lacks something, such as a module or room on its disk. */
bool cli_blames_environment(const char *text);

#endif
