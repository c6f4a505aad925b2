/*
 * sandbox_seccomp.c: the layer that refuses system calls.
 *
 * The filter names what is refused, because a list of what is allowed would have to know every program and every later kernel.
 * Refused calls return an error, with which programs usually go on. Calls of other architectures are unknown calls.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "trial/sandbox_layers.h"

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

bool sandbox_filter_calls(bool without_network)
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
