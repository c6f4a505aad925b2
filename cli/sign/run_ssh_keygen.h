/* run_ssh_keygen.h: runs ssh-keygen, which makes and checks signatures. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Runs argv[0] (searched in PATH) with the file `input` as its standard input; NULL: /dev/null. With may_ask it can ask for a
 * passphrase on the terminal; otherwise it has no terminal, and fails if it would have to ask. What it prints goes to out[size],
 * of which the first line is kept. Returns whether it exited with 0 within a minute.
 */
bool run_ssh_keygen(const char *const *argv, const char *input, bool may_ask, char *out, size_t size);
