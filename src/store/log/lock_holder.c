/*
 * lock_holder.c: parses /proc/locks; see proc_locks(5): "1: FLOCK ADVISORY WRITE 1234 08:01:1311234 0 EOF"; `->`
 * marks a process that waits.
 *
 * Only Linux reports which process holds a flock, and only in this file. Without /proc the message does not name the
 * process. The file is read only after a second of waiting, because it lists every lock of the machine.
 */
#include "lock_holder.h"

#include <fcntl.h>
#include <sys/sysmacros.h>

#include "../files/fs.h"

/* Returns the process that a line names as holder of that file's lock, or 0. The file is identified by device and
 * inode, because its name may refer to another file by now. */
static long holder_in(const char *line, dev_t device, ino_t inode)
{
    unsigned major_number, minor_number;
    unsigned long file;
    long pid;
    if (sscanf(line, "%*d: FLOCK %*s WRITE %ld %x:%x:%lu", &pid, &major_number, &minor_number, &file) != 4)
        return 0;
    return major_number == major(device) && minor_number == minor(device) && file == inode ? pid : 0;
}

static long find_holder(char *text, dev_t device, ino_t inode)
{
    char *save = NULL;
    long pid = 0;
    for (char *line = strtok_r(text, "\n", &save); line && !pid; line = strtok_r(NULL, "\n", &save))
        pid = holder_in(line, device, inode);
    return pid;
}

void lock_holder(char out[LOCK_HOLDER_MAX], dev_t device, ino_t inode)
{
    SCOPED_BUF locks = {0}, name = {0};
    char path[40];
    out[0] = '\0';
    long pid = fs_read_file(AT_FDCWD, "/proc/locks", &locks, NULL) == LINEAGE_OK && locks.data
                   ? find_holder(locks.data, device, inode)
                   : 0;
    snprintf(path, sizeof path, "/proc/%ld/comm", pid);
    if (pid > 0 && fs_read_file(AT_FDCWD, path, &name, NULL) == LINEAGE_OK && name.data)
        snprintf(out, LOCK_HOLDER_MAX, ", held by process %ld (%.*s)", pid, (int)strcspn(name.data, "\n"), name.data);
    else if (pid > 0)
        snprintf(out, LOCK_HOLDER_MAX, ", held by process %ld", pid);
}
