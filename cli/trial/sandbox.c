#include "trial/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the layer that refuses system calls.
 *
 * The filter names what is refused, because a list of what is allowed would have to know every program and every later kernel.
 * Refused calls return an error, with which programs usually go on. Calls of other architectures are unknown calls.
 */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#endif

#define NAMESPACES (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET)

#ifdef ARCHITECTURE

/* Calls that fail with EPERM. Those that an architecture lacks are left out. */
static const int refused[] = {
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_setns,
    SYS_ptrace,
    SYS_pidfd_getfd,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_open_by_handle_at,
    SYS_syslog,
    SYS_vhangup,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
};

/* Calls that fail with ENOSYS, so that programs use older ones, which can be filtered by their arguments. */
static const int unknown[] = {SYS_clone3, SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register};

enum { PROGRAM_MAX = 256 };

struct program {
    struct sock_filter code[PROGRAM_MAX];
    unsigned short n;
};

#define LOW_ARGUMENT(i) (offsetof(struct seccomp_data, args) + 8 * (i)) /* little-endian: the low half comes first */

static void put(struct program *p, struct sock_filter instruction)
{
    if (p->n < PROGRAM_MAX)
        p->code[p->n++] = instruction;
}

static void put_load(struct program *p, size_t offset)
{
    put(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

static void put_return(struct program *p, uint32_t what)
{
    put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, what));
}

/* Returns `what` if the accumulator compares with the value in this way. */
static void put_case(struct program *p, unsigned short how, uint32_t value, uint32_t what)
{
    put(p, (struct sock_filter)BPF_JUMP((unsigned short)(BPF_JMP | how | BPF_K), value, 0, 1));
    put_return(p, what);
}

/* Begins the instructions for one call: `length` of them are skipped if it is another one. */
static void put_call(struct program *p, int call, unsigned char length)
{
    put_load(p, offsetof(struct seccomp_data, nr));
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, length));
}

/* Only the families that are listed. Sockets of virtual machines, for example, are in no network namespace. */
static void put_sockets(struct program *p, bool without_network)
{
    const uint32_t allowed[] = {AF_UNIX, AF_NETLINK, AF_INET, AF_INET6};
    unsigned char n = without_network ? 2 : 4;
    put_call(p, SYS_socket, (unsigned char)(2 + 2 * n));
    put_load(p, LOW_ARGUMENT(0));
    for (unsigned char i = 0; i < n; i++)
        put_case(p, BPF_JEQ, allowed[i], SECCOMP_RET_ALLOW);
    put_return(p, SECCOMP_RET_ERRNO | EACCES);
}

static void write_program(struct program *p, bool without_network)
{
    const uint32_t no = SECCOMP_RET_ERRNO | EPERM, none = SECCOMP_RET_ERRNO | ENOSYS;
    put_load(p, offsetof(struct seccomp_data, arch));
    put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    put_return(p, none);
    put_load(p, offsetof(struct seccomp_data, nr));
#ifdef __x86_64__
    put_case(p, BPF_JGE, 0x40000000, none); /* the calls of x32 */
#endif
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        put_case(p, BPF_JEQ, (uint32_t)refused[i], no);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        put_case(p, BPF_JEQ, (uint32_t)unknown[i], none);
    const int clones[] = {SYS_clone, SYS_unshare};
    for (size_t i = 0; i < 2; i++) {
        put_call(p, clones[i], 3);
        put_load(p, LOW_ARGUMENT(0));
        put_case(p, BPF_JSET, NAMESPACES, no);
    }
    put_call(p, SYS_ioctl, 5); /* both put characters into the input of a terminal */
    put_load(p, LOW_ARGUMENT(1));
    put_case(p, BPF_JEQ, TIOCSTI, no);
    put_case(p, BPF_JEQ, TIOCLINUX, no);
    put_sockets(p, without_network);
    put_return(p, SECCOMP_RET_ALLOW);
}

/* Returns false, with errno set, if the kernel refuses it. without_network refuses sockets of the internet. */
static bool sandbox_filter_calls(bool without_network)
{
    struct program program = {.n = 0};
    write_program(&program, without_network);
    struct sock_fprog filter = {program.n, program.code};
    if (program.n == PROGRAM_MAX)
        return errno = E2BIG, false;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

#else

bool sandbox_filter_calls(bool without_network)
{
    (void)without_network;
    return errno = ENOSYS, false; /* the numbers of this architecture's calls are not known here */
}

#endif

/* ---- the namespaces of a sandbox, its mounts and its privileges.
 *
 * With privileges, the namespaces of mounts and of the network are made directly. Without them, they belong to a new user
 * namespace in which the same user has all privileges, which are dropped before the command is executed.
 */

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

/*
 * Makes the namespaces of both layers, with a user namespace if this process has no privileges. A process that is in a user
 * namespace has the privileges that the next layers need, until sandbox_drop_privileges. Returns the layers whose namespace
 * there is; *error is the errno of those that are missing.
 */
static unsigned sandbox_make_namespaces(unsigned wanted, int *error)
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

/* Clones the mount of each writable path, before everything becomes read-only. It is -1 if the path does not exist. */
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

/* In a mount namespace of its own: mounts everything read-only except for the writable paths, puts an empty directory or file
 * over each hidden one, and covers bound sockets.
 * The working directory is entered again, because it is on the mount that has become read-only.
 * writable and hidden are lists of absolute paths, ended by NULL. Returns false, with errno set, if the kernel refuses it. */
static bool sandbox_mount_read_only(const char *const *writable, const char *const *hidden)
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

/* A capability that is not in the bounding set is not gained by executing a program. Returns false, with errno set, if the kernel
 * refuses it. */
static bool sandbox_drop_privileges(void)
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

/* ---- the layer that lets a process write below the writable paths only.
 *
 * The system calls have no functions in the C library, and the headers may be older than the kernel, so the later parts of the
 * interface are written here. A right that is not handled is not restricted: reading and executing stay free.
 */

#define RIGHT_TRUNCATE ((uint64_t)1 << 14) /* from version 3 on */
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

/* Needs sandbox_drop_privileges, or privileges. writable is a list of absolute paths, ended by NULL. Returns false, with errno set, if
 * the kernel refuses it. */
static bool sandbox_restrict_files(const char *const *writable)
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

enum { LAYERS = SANDBOX_LAYERS };

static const struct {
    unsigned bit;
    const char *name;
} layers[LAYERS] = {{SANDBOX_LANDLOCK, "landlock"},
                    {SANDBOX_MOUNTS, "mounts"},
                    {SANDBOX_NETWORK, "network"},
                    {SANDBOX_SECCOMP, "seccomp"},
                    {SANDBOX_PRIVILEGES, "privileges"}};

const char *sandbox_layer_at(size_t i, unsigned *layer)
{
    if (i >= LAYERS)
        return NULL;
    *layer = layers[i].bit;
    return layers[i].name;
}

const char *sandbox_names(char text[SANDBOX_TEXT_MAX], unsigned set)
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < LAYERS; i++)
        if (set & layers[i].bit)
            n += (size_t)snprintf(text + n, SANDBOX_TEXT_MAX - n, "%s%s", n ? ", " : "", layers[i].name);
    return text;
}

/* What a child process reports about its attempt. */
struct attempt {
    unsigned entered;
    int errors[LAYERS];
};

/* errno is that of the attempt. */
static void note(struct attempt *attempt, unsigned layer, bool entered)
{
    for (size_t i = 0; i < LAYERS; i++)
        if (layers[i].bit == layer)
            attempt->errors[i] = entered ? 0 : errno;
    if (entered)
        attempt->entered |= layer;
}

/* Tries every layer of the sandbox. Those that follow a missing one do without it. */
static struct attempt enter(const struct sandbox *sandbox)
{
    struct attempt attempt = {.entered = 0};
    int error = 0;
    unsigned wanted = sandbox->layers, made = sandbox_make_namespaces(wanted, &error);
    errno = error;
    if (wanted & SANDBOX_NETWORK)
        note(&attempt, SANDBOX_NETWORK, made & SANDBOX_NETWORK);
    if (wanted & SANDBOX_MOUNTS) {
        errno = error;
        note(&attempt, SANDBOX_MOUNTS, made & SANDBOX_MOUNTS && sandbox_mount_read_only(sandbox->writable, sandbox->hidden));
    }
    if (wanted & SANDBOX_PRIVILEGES)
        note(&attempt, SANDBOX_PRIVILEGES, sandbox_drop_privileges());
    if (wanted & SANDBOX_LANDLOCK)
        note(&attempt, SANDBOX_LANDLOCK, sandbox_restrict_files(sandbox->writable));
    if (wanted & SANDBOX_SECCOMP)
        note(&attempt, SANDBOX_SECCOMP, sandbox_filter_calls(!(attempt.entered & SANDBOX_NETWORK)));
    return attempt;
}

bool sandbox_enter(const struct sandbox *sandbox)
{
    struct attempt attempt = enter(sandbox);
    for (size_t i = 0; i < LAYERS; i++)
        if (attempt.errors[i])
            errno = attempt.errors[i];
    return attempt.entered == sandbox->layers;
}

unsigned sandbox_probe(const struct sandbox *sandbox, int errors[SANDBOX_LAYERS])
{
    struct attempt attempt = {.entered = 0};
    struct sandbox all = *sandbox;
    int ends[2] = {-1, -1};
    all.layers = SANDBOX_ALL;
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child == 0) {
        attempt = enter(&all);
        _exit(write(ends[1], &attempt, sizeof attempt) == sizeof attempt ? 0 : 1);
    }
    int error = errno;
    if (ends[1] >= 0)
        close(ends[1]);
    if (child < 0 || read(ends[0], &attempt, sizeof attempt) != sizeof attempt) {
        attempt.entered = 0;
        for (size_t i = 0; i < LAYERS; i++)
            attempt.errors[i] = child < 0 ? error : ECHILD;
    }
    if (ends[0] >= 0)
        close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    memcpy(errors, attempt.errors, sizeof attempt.errors);
    return attempt.entered;
}
