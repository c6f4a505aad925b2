/*
 * file_fault.h: injects a fault into one file operation of a process: it fails, writes only half,
 * or is the last one.
 */
#ifndef SUPPORT_FILE_FAULT_H
#define SUPPORT_FILE_FAULT_H

#include <string.h>

#include "files/fs.h"
#include "support/last_words.h"

struct file_fault {
    unsigned countdown; /* number of the call that gets the fault; 0: none */
    int what;           /* an errno; FS_FAULT_SHORT for writes; 0: the process is killed */
    bool hit;
};

/* For fs_set_fault; context is the struct file_fault. */
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

#endif
