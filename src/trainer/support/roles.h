/* roles.h: parses a recipe's algorithm.echo.roles, the weights of messages by role. */
#pragma once

#include <stdbool.h>

/*
 * Reads "tool=0.1" and sets *tool. Returns NULL, or what is wrong: a word that is not ROLE=WEIGHT with a weight from 0 on, a
 * role that is listed twice, or a role whose messages are never trained on.
 */
const char *roles_read(const char *text, double *tool);
