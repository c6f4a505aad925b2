/*
 * power_trace.h: runs a command under ptrace(2) and records what its system calls change on a disk.
 *
 * Every process and thread of the command is traced, so that writes of SQLite and of child processes are recorded too.
 * Writes through a shared mapping are not recorded: only SQLite's -shm file is written in that way, which is made anew
 * after a crash.
 */
#pragma once

#include "power_disk.h"

/* Whether this system lets a process trace its child. */
bool power_trace_works(void);

/*
 * Runs argv and adds its changes to the disk, and a CHANGE_ANSWER whenever it writes to standard output and when it
 * exits. Returns its exit status. Its messages are printed if it exits with another status than 0.
 */
int power_trace(struct disk *disk, char *const argv[]);
