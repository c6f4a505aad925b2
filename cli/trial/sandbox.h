/*
 * sandbox.h: runs a command without network, and with everything read-only except for the paths that are named (--sandbox).
 *
 * The sandbox has layers, which the kernel may have or not. Two layers protect files and two keep the network away, so that a
 * gap in one of them does not open the sandbox. Reading is limited only by the paths that are hidden, and devices of GPUs are
 * free.
 *
 *   landlock     no file is written, made, removed or renamed outside of the writable paths; no process outside of the
 *                sandbox is traced or, from Linux 6.12 on, signalled
 *   mounts       every file system is mounted read-only except for the writable paths, which also stops chmod, chown and
 *                extended attributes; hidden paths are empty; sockets that programs have bound to a path are covered
 *   network      a network namespace that has a loopback device only
 *   seccomp      system calls that mount, trace, load modules, make namespaces or set the clock fail; so do sockets of other
 *                families than those of UNIX and the internet, and without `network` those of the internet too
 *   privileges   no program gains privileges; of those of root, only those over files, nice values and limits are left
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum sandbox_layer {
    SANDBOX_NETWORK = 1 << 0,
    SANDBOX_MOUNTS = 1 << 1,
    SANDBOX_PRIVILEGES = 1 << 2,
    SANDBOX_LANDLOCK = 1 << 3,
    SANDBOX_SECCOMP = 1 << 4,
    SANDBOX_LAYERS = 5,
    SANDBOX_ALL = (1 << SANDBOX_LAYERS) - 1
};

struct sandbox {
    const char *const *writable; /* absolute paths of directories and files, ended by NULL; missing ones are skipped */
    const char *const *hidden; /* the same, empty for the command; none contains a writable path */
    unsigned layers; /* the layers that sandbox_enter sets up */
};

enum { SANDBOX_TEXT_MAX = 128 };

/* Writes the names of the layers, separated by a comma and a blank, and returns text. */
const char *sandbox_names(char text[SANDBOX_TEXT_MAX], unsigned layers);

/* Returns the name of the i-th layer and writes its bit to *layer; NULL after the last one. */
const char *sandbox_layer_at(size_t i, unsigned *layer);

/*
 * Returns the layers that this kernel grants this process, by trying them in a child process with the same writable paths.
 * errors, in the order of sandbox_layer_at, receives the errno of each layer that is missing.
 */
unsigned sandbox_probe(const struct sandbox *sandbox, int errors[SANDBOX_LAYERS]);

/*
 * Puts this process, which is single-threaded and about to execute a command, into the sandbox. Returns false, with errno set,
 * if one of sandbox->layers cannot be set up; the process must exit then.
 */
bool sandbox_enter(const struct sandbox *sandbox);
