/*
 * sandbox_layers.h: the layers of a sandbox (sandbox.h), in the order in which they have to be entered. Each returns false,
 * with errno set, if the kernel refuses it. writable is a list of absolute paths, ended by NULL.
 */
#pragma once

#include <stdbool.h>

enum sandbox_layer {
    SANDBOX_NETWORK = 1 << 0,
    SANDBOX_MOUNTS = 1 << 1,
    SANDBOX_PRIVILEGES = 1 << 2,
    SANDBOX_LANDLOCK = 1 << 3,
    SANDBOX_SECCOMP = 1 << 4,
    SANDBOX_LAYERS = 5,
    SANDBOX_ALL = (1 << SANDBOX_LAYERS) - 1
};

/*
 * Makes the namespaces of both layers, with a user namespace if this process has no privileges. A process that is in a user
 * namespace has the privileges that the next layers need, until sandbox_drop_privileges. Returns the layers whose namespace
 * there is; *error is the errno of those that are missing.
 */
unsigned sandbox_make_namespaces(unsigned layers, int *error);

/*
 * In a mount namespace of its own: mounts everything read-only except for the writable paths, puts an empty directory or file
 * over each hidden one, and covers bound sockets.
 */
bool sandbox_mount_read_only(const char *const *writable, const char *const *hidden);

bool sandbox_drop_privileges(void);

/* Needs sandbox_drop_privileges, or privileges. */
bool sandbox_restrict_files(const char *const *writable);

/* The same. without_network refuses sockets of the internet. */
bool sandbox_filter_calls(bool without_network);
