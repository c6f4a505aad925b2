/*
 * sandbox_namespaces.c: the namespaces of a sandbox, its mounts and its privileges.
 *
 * With privileges, the namespaces of mounts and of the network are made directly. Without them, they belong to a new user
 * namespace in which the same user has all privileges, which are dropped before the command is executed.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trial/sandbox_layers.h"

/* ---- namespaces ---- */

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool good = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    int error = errno;
    if (fd >= 0)
        close(fd);
    return errno = error, good;
}

/* Makes a user namespace in which this user and group keep their numbers. Other users and groups become `nobody`. */
static bool make_user_namespace(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/uid_map", users) && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/gid_map", groups);
}

/* Programs such as those of several ranks talk to themselves over the loopback device, which is down at first. */
static void start_loopback(void)
{
    struct ifreq request = {.ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "lo");
    if (fd < 0)
        return;
    (void)ioctl(fd, SIOCSIFFLAGS, &request);
    close(fd);
}

unsigned sandbox_make_namespaces(unsigned wanted, int *error)
{
    static const struct {
        unsigned layer;
        int flag;
    } spaces[] = {{SANDBOX_NETWORK, CLONE_NEWNET}, {SANDBOX_MOUNTS, CLONE_NEWNS}};
    unsigned made = 0;
    bool tried = false;
    *error = 0;
    for (size_t i = 0; i < 2; i++) {
        if (!(wanted & spaces[i].layer))
            continue;
        bool good = unshare(spaces[i].flag) == 0;
        if (!good && errno == EPERM && !tried) {
            tried = true;
            good = make_user_namespace() && unshare(spaces[i].flag) == 0;
        }
        *error = good ? *error : errno;
        made |= good ? spaces[i].layer : 0;
    }
    if (made & SANDBOX_NETWORK)
        start_loopback();
    return made;
}

/* ---- mounts ---- */

/* Programs take commands on such sockets, and a read-only mount does not stop a connection to them. */
static void cover_socket(const char *path)
{
    struct stat st;
    if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
        (void)mount("/dev/null", path, NULL, MS_BIND, NULL);
}

/* Covers the sockets that programs of this machine have bound to a path, and those of container engines on other machines. */
static void cover_sockets(FILE *bound)
{
    static const char *const engines[] = {"/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock",
                                          "/run/crio/crio.sock", NULL};
    char line[PATH_MAX + 128];
    for (size_t i = 0; engines[i]; i++)
        cover_socket(engines[i]);
    while (bound && fgets(line, sizeof line, bound)) {
        char *path = strchr(line, '/');
        if (!path)
            continue;
        path[strcspn(path, "\n")] = '\0';
        cover_socket(path);
    }
}

/* A path that has gone since it was found needs no cover. */
static bool hide(const char *const *hidden)
{
    bool good = true;
    for (size_t i = 0; good && hidden[i]; i++) {
        struct stat st;
        if (lstat(hidden[i], &st) != 0)
            continue;
        good = S_ISDIR(st.st_mode) ? mount("none", hidden[i], "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=0755,size=4k") == 0
                                   : mount("/dev/null", hidden[i], NULL, MS_BIND, NULL) == 0;
    }
    return good;
}

/* Clones the mount of each writable path, before everything becomes read-only; -1: there is no such directory or file. */
static bool clone_writable(const char *const *writable, int *clones, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        bool wanted = stat(writable[i], &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
        clones[i] = wanted ? open_tree(AT_FDCWD, writable[i], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE) : -1;
        if (wanted && clones[i] < 0)
            return false;
    }
    return true;
}

static bool attach_writable(const char *const *writable, const int *clones, size_t n)
{
    bool good = true;
    for (size_t i = 0; good && i < n; i++)
        good = clones[i] < 0 || move_mount(clones[i], "", AT_FDCWD, writable[i], MOVE_MOUNT_F_EMPTY_PATH) == 0;
    return good;
}

/* The working directory is entered again, because it is on the mount that has become read-only. */
bool sandbox_mount_read_only(const char *const *writable, const char *const *hidden)
{
    struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
    char here[PATH_MAX];
    size_t n = 0;
    while (writable[n])
        n++;
    int *clones = calloc(n + 1, sizeof *clones);
    snprintf(here, sizeof here, "/proc/%d/net/unix", (int)getppid()); /* the parent is in the namespace of the machine */
    FILE *bound = fopen(here, "re");
    bool good = clones && getcwd(here, sizeof here) && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                clone_writable(writable, clones, n) &&
                mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &read_only, sizeof read_only) == 0;
    if (good)
        cover_sockets(bound);
    good = good && hide(hidden) && attach_writable(writable, clones, n) && chdir(here) == 0;
    int error = errno;
    if (bound)
        fclose(bound);
    free(clones); /* the descriptors are closed when the command is executed */
    return errno = error, good;
}

/* ---- privileges ---- */

/* What root keeps: a trial of root that writes files of other users goes on to do so, where the other layers allow it. */
static bool is_kept(unsigned long capability)
{
    static const unsigned char kept[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE,     CAP_FOWNER,   CAP_FSETID,   CAP_SETGID,
                                         CAP_SETUID, CAP_NET_BIND_SERVICE, CAP_IPC_LOCK, CAP_SYS_NICE, CAP_SYS_RESOURCE};
    return geteuid() == 0 && memchr(kept, (int)capability, sizeof kept);
}

/* A capability that is not in the bounding set is not gained by executing a program. */
bool sandbox_drop_privileges(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || syscall(SYS_capget, &header, data) != 0)
        return false;
    const bool may_bound = data[0].effective >> CAP_SETPCAP & 1;
    for (unsigned long c = 0; c < 64 && prctl(PR_CAPBSET_READ, c, 0, 0, 0) >= 0; c++) {
        if (is_kept(c))
            continue;
        if (may_bound && prctl(PR_CAPBSET_DROP, c, 0, 0, 0) != 0)
            return false;
        unsigned keep = ~(1u << (c % 32));
        data[c / 32].permitted &= keep;
        data[c / 32].effective &= keep;
        data[c / 32].inheritable &= keep;
    }
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 && syscall(SYS_capset, &header, data) == 0;
}
