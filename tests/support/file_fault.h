/*
 * file_fault.h: injects a fault into one file operation of a process: the operation fails, writes only half of its
 * data, or is where the process is killed.
 */
#pragma once

#include <string.h>

#include "files/fs.h"
#include "support/last_words.h"

struct file_fault {
    unsigned countdown; /* counts down to the call that gets the fault; 0: none */
    int what;           /* an errno; FS_FAULT_SHORT: write only half; 0: kill the process */
    bool hit;
};

/* A callback for fs_set_fault; its context is the struct file_fault. */
static inline int file_fault_strike(void *context, const char *call)
{
    struct file_fault *fault = context;
    if (fault->what == FS_FAULT_SHORT && strcmp(call, "write") != 0)
        return 0;
    if (!fault->countdown || --fault->countdown)
        return 0;
    fault->hit = true;
    if (!fault->what)
        kill_myself();
    return fault->what;
}
