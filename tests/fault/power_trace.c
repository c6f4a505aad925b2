/*
 * power_trace.c: see power_trace.h.
 *
 * A system call is looked at when it returns, with its arguments from when it began. Paths are resolved by way of the
 * traced process's directories in /proc, and a file is identified by device and inode number.
 */
#include "power_trace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

enum { TASKS_MAX = 64, ARGUMENTS = 6 };

struct task {
    pid_t id;
    uint64_t call, arguments[ARGUMENTS];
};

struct trace {
    struct disk *disk;
    struct stat output; /* identifies the file that is the command's standard output */
    struct task tasks[TASKS_MAX];
    size_t n_tasks;
};

static void must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(2);
    }
}

/* ---- paths and descriptors of a traced task ---- */

static void read_text(pid_t task, uint64_t address, char text[PATH_MAX])
{
    size_t n = 0;
    text[0] = '\0';
    while (n < PATH_MAX - 1) { /* up to the end of a page at a time, because the next one may not be mapped */
        size_t piece = 4096 - (address + n) % 4096;
        piece = piece < PATH_MAX - 1 - n ? piece : PATH_MAX - 1 - n;
        struct iovec here = {text + n, piece}, there = {(void *)(uintptr_t)(address + n), piece};
        ssize_t got = process_vm_readv(task, &here, 1, &there, 1, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
        text[n] = '\0';
        if (strlen(text) < n)
            return;
    }
    text[n] = '\0';
}

static void fd_path(char path[PATH_MAX], pid_t task, uint64_t fd)
{
    snprintf(path, PATH_MAX, "/proc/%d/fd/%d", (int)task, (int)fd);
}

/* A path that this process can use for the same file. */
static void resolve(char path[PATH_MAX], pid_t task, uint64_t dir_fd, uint64_t address)
{
    char text[PATH_MAX];
    static const char self[] = "/proc/self/";
    read_text(task, address, text);
    if (strncmp(text, self, sizeof self - 1) == 0)
        snprintf(path, PATH_MAX, "/proc/%d/%.3000s", (int)task, text + sizeof self - 1);
    else if (text[0] == '/')
        snprintf(path, PATH_MAX, "%s", text);
    else if ((int)dir_fd == AT_FDCWD)
        snprintf(path, PATH_MAX, "/proc/%d/cwd/%.3000s", (int)task, text);
    else
        snprintf(path, PATH_MAX, "/proc/%d/fd/%d/%.3000s", (int)task, (int)dir_fd, text);
}

/* Splits a path. Returns the inode of the directory, or SIZE_MAX if it is not on the disk. */
static size_t split(const struct trace *trace, const char *path, char dir[PATH_MAX], const char **name)
{
    struct stat st;
    snprintf(dir, PATH_MAX, "%s", path);
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        dir[--n] = '\0';
    char *slash = strrchr(dir, '/');
    if (!slash)
        return SIZE_MAX;
    *slash = '\0';
    *name = slash + 1;
    return stat(dir, &st) == 0 ? disk_find(trace->disk, &st) : SIZE_MAX;
}

static size_t inode_of_fd(const struct trace *trace, pid_t task, uint64_t fd, struct stat *st)
{
    char path[PATH_MAX];
    fd_path(path, task, fd);
    return stat(path, st) == 0 ? disk_find(trace->disk, st) : SIZE_MAX;
}

/* The position behind the last read or write of a descriptor. */
static uint64_t position_of(pid_t task, uint64_t fd)
{
    char path[64];
    unsigned long long position = 0;
    snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)task, (int)fd);
    FILE *in = fopen(path, "r");
    must(in && fscanf(in, "pos: %llu", &position) == 1, path);
    fclose(in);
    return position;
}

/* ---- changes ---- */

static void record_name(struct trace *trace, const char *path)
{
    char dir[PATH_MAX];
    const char *name;
    struct stat st;
    size_t in = split(trace, path, dir, &name);
    if (in == SIZE_MAX || lstat(path, &st) != 0)
        return;
    size_t inode = disk_find(trace->disk, &st);
    if (inode == SIZE_MAX)
        inode = disk_add_inode(trace->disk, path, &st);
    if (disk_look_up(trace->disk, in, name) != inode)
        disk_add(trace->disk, &(struct change){.kind = CHANGE_NAME, .inode = inode, .dir = in, .name = dir + (name - dir)});
}

static void record_removal(struct trace *trace, const char *path)
{
    char dir[PATH_MAX];
    const char *name;
    size_t in = split(trace, path, dir, &name);
    size_t inode = in == SIZE_MAX ? SIZE_MAX : disk_look_up(trace->disk, in, name);
    if (inode != SIZE_MAX)
        disk_add(trace->disk, &(struct change){.kind = CHANGE_REMOVE, .inode = inode, .dir = in, .name = dir + (name - dir)});
}

/* A file that comes from elsewhere would need its content; no command of a store moves such a file. */
static void record_move(struct trace *trace, const char *from, const char *to)
{
    char dir[PATH_MAX], to_dir[PATH_MAX];
    const char *name, *to_name;
    size_t in = split(trace, from, dir, &name), to_in = split(trace, to, to_dir, &to_name);
    size_t inode = in == SIZE_MAX ? SIZE_MAX : disk_look_up(trace->disk, in, name);
    if (inode == SIZE_MAX && to_in == SIZE_MAX)
        return;
    must(inode != SIZE_MAX && to_in != SIZE_MAX, "a file was moved into the store, or out of it");
    disk_add(trace->disk, &(struct change){.kind = CHANGE_MOVE,
                                           .inode = inode,
                                           .dir = in,
                                           .to_dir = to_in,
                                           .name = dir + (name - dir),
                                           .to_name = to_dir + (to_name - to_dir)});
}

static void record_truncation(struct trace *trace, size_t inode, uint64_t length)
{
    if (inode != SIZE_MAX)
        disk_add(trace->disk, &(struct change){.kind = CHANGE_TRUNCATE, .inode = inode, .offset = length});
}

static void record_open(struct trace *trace, pid_t task, const char *path, uint64_t flags, uint64_t fd)
{
    struct stat st;
    size_t inode;
    if (flags & O_CREAT)
        record_name(trace, path);
    if ((flags & O_TRUNC) && (inode = inode_of_fd(trace, task, fd, &st)) != SIZE_MAX)
        record_truncation(trace, inode, 0);
}

/* The bytes are read from the file, because a call may have several buffers or none. */
static void record_write(struct trace *trace, pid_t task, uint64_t fd, bool has_offset, uint64_t offset, size_t length)
{
    char path[PATH_MAX];
    struct stat st;
    size_t inode = inode_of_fd(trace, task, fd, &st);
    if (inode == SIZE_MAX && st.st_dev == trace->output.st_dev && st.st_ino == trace->output.st_ino)
        disk_add(trace->disk, &(struct change){.kind = CHANGE_ANSWER});
    if (inode == SIZE_MAX || !length)
        return;
    fd_path(path, task, fd);
    char *bytes = malloc(length);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    offset = has_offset ? offset : position_of(task, fd) - length;
    must(bytes && file >= 0 && pread(file, bytes, length, (off_t)offset) == (ssize_t)length, "read what was written");
    disk_add(trace->disk,
             &(struct change){.kind = CHANGE_WRITE, .inode = inode, .offset = offset, .length = length, .bytes = bytes});
    close(file);
    free(bytes);
}

static void record_mark(struct trace *trace, pid_t task, size_t inode, const uint64_t *arguments, bool set)
{
    char name[PATH_MAX];
    size_t length = set ? (size_t)arguments[3] : 0;
    char *value = calloc(1, length + 1);
    struct iovec here = {value, length}, there = {(void *)(uintptr_t)arguments[2], length};
    must(value && (!length || process_vm_readv(task, &here, 1, &there, 1, 0) == (ssize_t)length), "read an attribute");
    read_text(task, arguments[1], name);
    if (inode != SIZE_MAX)
        disk_add(trace->disk,
                 &(struct change){
                     .kind = set ? CHANGE_MARK : CHANGE_UNMARK, .inode = inode, .name = name, .bytes = value, .length = length});
    free(value);
}

static void record_sync(struct trace *trace, size_t inode)
{
    if (inode != SIZE_MAX)
        disk_add(trace->disk, &(struct change){.kind = CHANGE_SYNC, .inode = inode});
}

/* Calls with one path, or two. Returns false for other calls. */
static bool record_paths(struct trace *trace, const struct task *task, uint64_t result)
{
    const uint64_t *a = task->arguments;
    char path[PATH_MAX], other[PATH_MAX];
    struct stat st;
    switch (task->call) {
#ifdef SYS_open
    case SYS_open:
        resolve(path, task->id, (uint64_t)AT_FDCWD, a[0]);
        record_open(trace, task->id, path, a[1], result);
        break;
    case SYS_creat:
        resolve(path, task->id, (uint64_t)AT_FDCWD, a[0]);
        record_open(trace, task->id, path, O_CREAT | O_TRUNC, result);
        break;
    case SYS_mkdir:
        resolve(path, task->id, (uint64_t)AT_FDCWD, a[0]);
        record_name(trace, path);
        break;
    case SYS_symlink:
    case SYS_link:
        resolve(path, task->id, (uint64_t)AT_FDCWD, a[1]);
        record_name(trace, path);
        break;
    case SYS_unlink:
    case SYS_rmdir:
        resolve(path, task->id, (uint64_t)AT_FDCWD, a[0]);
        record_removal(trace, path);
        break;
    case SYS_rename:
        resolve(path, task->id, (uint64_t)AT_FDCWD, a[0]);
        resolve(other, task->id, (uint64_t)AT_FDCWD, a[1]);
        record_move(trace, path, other);
        break;
#endif
    case SYS_openat:
        resolve(path, task->id, a[0], a[1]);
        record_open(trace, task->id, path, a[2], result);
        break;
    case SYS_mkdirat:
    case SYS_mknodat:
        resolve(path, task->id, a[0], a[1]);
        record_name(trace, path);
        break;
    case SYS_symlinkat:
        resolve(path, task->id, a[1], a[2]);
        record_name(trace, path);
        break;
    case SYS_linkat:
        resolve(path, task->id, a[2], a[3]);
        record_name(trace, path);
        break;
    case SYS_unlinkat:
        resolve(path, task->id, a[0], a[1]);
        record_removal(trace, path);
        break;
#ifdef SYS_renameat
    case SYS_renameat:
#endif
    case SYS_renameat2:
        resolve(path, task->id, a[0], a[1]);
        resolve(other, task->id, a[2], a[3]);
        record_move(trace, path, other);
        break;
    case SYS_truncate:
    case SYS_setxattr:
    case SYS_removexattr:
        resolve(path, task->id, (uint64_t)AT_FDCWD, a[0]);
        if (stat(path, &st) != 0)
            break;
        if (task->call == SYS_truncate)
            record_truncation(trace, disk_find(trace->disk, &st), a[1]);
        else
            record_mark(trace, task->id, disk_find(trace->disk, &st), a, task->call == SYS_setxattr);
        break;
    default: return false;
    }
    return true;
}

static void record_descriptors(struct trace *trace, const struct task *task, uint64_t result)
{
    const uint64_t *a = task->arguments;
    struct stat st = {0};
    switch (task->call) {
    case SYS_write:
    case SYS_writev: record_write(trace, task->id, a[0], false, 0, (size_t)result); break;
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2: record_write(trace, task->id, a[0], true, a[3], (size_t)result); break;
    case SYS_sendfile: record_write(trace, task->id, a[0], false, 0, (size_t)result); break;
    case SYS_copy_file_range: record_write(trace, task->id, a[2], false, 0, (size_t)result); break;
    case SYS_ftruncate: record_truncation(trace, inode_of_fd(trace, task->id, a[0], &st), a[1]); break;
    case SYS_fallocate:
        if (inode_of_fd(trace, task->id, a[0], &st) != SIZE_MAX)
            record_truncation(trace, disk_find(trace->disk, &st), (uint64_t)st.st_size);
        break;
    case SYS_fsync:
    case SYS_fdatasync: record_sync(trace, inode_of_fd(trace, task->id, a[0], &st)); break;
    case SYS_fsetxattr:
    case SYS_fremovexattr:
        record_mark(trace, task->id, inode_of_fd(trace, task->id, a[0], &st), a, task->call == SYS_fsetxattr);
        break;
    default: break;
    }
}

/* ---- tracing ---- */

static struct task *task_of(struct trace *trace, pid_t id)
{
    for (size_t i = 0; i < trace->n_tasks; i++)
        if (trace->tasks[i].id == id)
            return &trace->tasks[i];
    must(trace->n_tasks < TASKS_MAX, "too many processes");
    trace->tasks[trace->n_tasks] = (struct task){.id = id};
    return &trace->tasks[trace->n_tasks++];
}

static void forget_task(struct trace *trace, pid_t id)
{
    for (size_t i = 0; i < trace->n_tasks; i++)
        if (trace->tasks[i].id == id)
            trace->tasks[i] = trace->tasks[--trace->n_tasks];
}

static void at_system_call(struct trace *trace, pid_t id)
{
    struct ptrace_syscall_info info;
    struct task *task = task_of(trace, id);
    if (ptrace(PTRACE_GET_SYSCALL_INFO, id, (void *)sizeof info, &info) <= 0)
        return; /* the task was killed meanwhile */
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
        task->call = info.entry.nr;
        for (int i = 0; i < ARGUMENTS; i++)
            task->arguments[i] = info.entry.args[i];
    } else if (info.op == PTRACE_SYSCALL_INFO_EXIT && !info.exit.is_error) {
        if (!record_paths(trace, task, (uint64_t)info.exit.rval))
            record_descriptors(trace, task, (uint64_t)info.exit.rval);
    }
}

/* Returns the signal to deliver to the task. */
static int at_stop(struct trace *trace, pid_t id, int state)
{
    int signal = WSTOPSIG(state);
    if (signal == (SIGTRAP | 0x80)) {
        at_system_call(trace, id);
        return 0;
    }
    task_of(trace, id);
    return state >> 16 || signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
}

static int follow(struct trace *trace, pid_t child)
{
    int status = -1;
    for (;;) {
        int state;
        pid_t id = waitpid(-1, &state, __WALL);
        if (id < 0 && errno == EINTR)
            continue;
        if (id < 0)
            return status;
        if (WIFSTOPPED(state)) {
            int signal = at_stop(trace, id, state);
            ptrace(PTRACE_SYSCALL, id, NULL, (void *)(intptr_t)signal);
            continue;
        }
        forget_task(trace, id);
        if (id == child)
            status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    }
}

static void become(char *const argv[], int output, int messages)
{
    /* The leak sanitizer traces its own process; the trap of a failed check says where it is. */
    setenv("ASAN_OPTIONS", "detect_leaks=0:handle_sigill=2", 1);
    if (dup2(output, STDOUT_FILENO) < 0 || dup2(messages, STDERR_FILENO) < 0 || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(126);
    raise(SIGSTOP);
    execvp(argv[0], argv);
    _exit(127);
}

static void show(int output)
{
    char text[4096];
    ssize_t n = pread(output, text, sizeof text, 0);
    if (n > 0)
        fwrite(text, 1, (size_t)n, stdout);
}

int power_trace(struct disk *disk, char *const argv[])
{
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                         PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    struct trace trace = {.disk = disk};
    FILE *output = tmpfile(), *messages = tmpfile();
    int state;
    must(output && messages && fstat(fileno(output), &trace.output) == 0, "tmpfile");
    fflush(stdout);
    pid_t child = fork();
    must(child >= 0, "fork");
    if (child == 0)
        become(argv, fileno(output), fileno(messages));
    must(waitpid(child, &state, 0) == child, "waitpid");
    if (!WIFSTOPPED(state) || ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)options) != 0) {
        fclose(output);
        fclose(messages);
        return 126;
    }
    ptrace(PTRACE_SYSCALL, child, NULL, NULL);
    int status = follow(&trace, child);
    disk_add(disk, &(struct change){.kind = CHANGE_ANSWER});
    if (status != 0)
        show(fileno(messages));
    fclose(output);
    fclose(messages);
    return status;
}

bool power_trace_works(void)
{
    fflush(stdout);
    pid_t child = fork();
    int state = 0;
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(1);
        raise(SIGSTOP);
        _exit(0);
    }
    bool works = child > 0 && waitpid(child, &state, 0) == child && WIFSTOPPED(state);
    if (works) {
        kill(child, SIGKILL);
        waitpid(child, &state, 0);
    }
    return works;
}
