/*
 * sandbox_landlock.c: the layer that lets a process write below the writable paths only.
 *
 * The system calls have no functions in the C library, and the headers may be older than the kernel, so the later parts of the
 * interface are written here. A right that is not handled is not restricted: reading and executing stay free.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trial/sandbox_layers.h"

#define RIGHT_TRUNCATE ((uint64_t)1 << 14)        /* from version 3 on */
#define SCOPE_ABSTRACT_SOCKETS ((uint64_t)1 << 0) /* from version 6 on */
#define SCOPE_SIGNALS ((uint64_t)1 << 1)

/* struct landlock_ruleset_attr of version 6; older kernels accept it if what they do not know is zero. */
struct ruleset {
    uint64_t files, network, scopes;
};

#define FILE_RIGHTS (LANDLOCK_ACCESS_FS_WRITE_FILE)
#define DIRECTORY_RIGHTS                                                                                                         \
    (LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                             \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

static uint64_t file_rights(long version)
{
    return FILE_RIGHTS | (version >= 3 ? RIGHT_TRUNCATE : 0);
}

/* Renaming between directories can only be allowed from version 2 on; before that it is always refused. */
static uint64_t directory_rights(long version)
{
    return DIRECTORY_RIGHTS | (version >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0);
}

/* A path that is missing is skipped, because nothing can be written to it. */
static bool allow(int ruleset, const char *path, long version)
{
    struct stat st;
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return true;
    struct landlock_path_beneath_attr rule = {.parent_fd = fd, .allowed_access = file_rights(version)};
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
        rule.allowed_access |= directory_rights(version);
    bool good = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
    int error = errno;
    close(fd);
    return errno = error, good;
}

/* Devices that any program may write, and those of accelerators. Disks and the terminals of others are not among them. */
static bool allow_devices(int ruleset, long version)
{
    static const char *const patterns[] = {"/dev/null",   "/dev/zero",    "/dev/full",       "/dev/random",  "/dev/urandom",
                                           "/dev/tty",    "/dev/nvidia*", "/dev/dri",        "/dev/kfd",     "/dev/dxg",
                                           "/dev/accel*", "/dev/neuron*", "/dev/infiniband", "/dev/davinci*"};
    bool good = true;
    for (size_t i = 0; good && i < sizeof patterns / sizeof *patterns; i++) {
        glob_t found = {0};
        if (glob(patterns[i], GLOB_NOSORT, NULL, &found) == 0)
            for (size_t k = 0; good && k < found.gl_pathc; k++)
                good = allow(ruleset, found.gl_pathv[k], version);
        globfree(&found);
    }
    return good;
}

static int make_ruleset(long version)
{
    struct ruleset attr = {.files = file_rights(version) | directory_rights(version)};
    size_t size = version >= 6 ? sizeof attr : version >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
    if (version >= 6)
        attr.scopes = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
    return (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
}

bool sandbox_restrict_files(const char *const *writable)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    int ruleset = version > 0 ? make_ruleset(version) : -1;
    if (ruleset < 0)
        return false;
    bool good = allow_devices(ruleset, version);
    for (size_t i = 0; good && writable[i]; i++)
        good = allow(ruleset, writable[i], version);
    good = good && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
    int error = errno;
    close(ruleset);
    return errno = error, good;
}
