/*
 * Follows /proc/PID/task/TID/children from the root, so the cost depends on the tree and not on what else runs on the machine.
 * A process whose parent has ended becomes a child of a thread of the subreaper and is found there. Where the kernel has no such
 * file (CONFIG_PROC_CHILDREN), reads /proc/PID/stat of all processes and builds the tree from their parents.
 */
#include "trial/process_tree.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli.h"

enum { STAT_BYTES = 1024 };

/*
 * Reads fields 2, 3, 4, 5, 14 to 17, 22 and 24 of /proc/PID/stat; see proc(5). The name in parentheses may itself contain
 * parentheses, so fields are counted from the last closing parenthesis.
 */
static bool parse(struct process *process, const char *text)
{
    char state;
    unsigned long long user, system, waited_user, waited_system;
    const char *at = strrchr(text, ')'), *name = strchr(text, '(');
    if (!at || !name || name > at ||
        sscanf(at + 1,
               " %c %d %d %*s %*s %*s %*s %*s %*s %*s %*s" /* 6 to 13 */
               " %llu %llu %llu %llu %*s %*s %*s %*s %llu %*s %ld",
               &state, &process->parent, &process->group, &user, &system, &waited_user, &waited_system, &process->started,
               &process->pages) != 9)
        return false;
    process->ticks = user + system;
    process->waited = waited_user + waited_system;
    process->ended = strchr("ZX", state) != NULL;
    process->halted = state == 'T';
    snprintf(process->name, sizeof process->name, "%.*s", (int)(at - name - 1), name + 1);
    return true;
}

/* Returns false if the process has exited. */
static bool read_process(struct process *process, int proc, const char *pid)
{
    char path[64], text[STAT_BYTES];
    snprintf(path, sizeof path, "%.20s/stat", pid);
    int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    process->pid = (pid_t)strtol(pid, NULL, 10);
    return parse(process, text);
}

static bool add(struct process_tree *all, size_t *room, const struct process *process)
{
    if (!CLI_ROOM(all->at, all->n, *room))
        return false;
    all->at[all->n++] = *process;
    return true;
}

/* Returns false if even this process is not listed, because /proc is then not mounted. */
static bool read_all(struct process_tree *all)
{
    struct dirent *entry;
    struct process process;
    size_t room = 0;
    bool ok = true;
    DIR *dir = opendir("/proc");
    *all = (struct process_tree){0};
    while (dir && ok && (entry = readdir(dir)))
        if (isdigit((unsigned char)entry->d_name[0]) && read_process(&process, dirfd(dir), entry->d_name))
            ok = add(all, &room, &process);
    if (dir)
        closedir(dir);
    if (!ok || !all->n)
        process_tree_release(all);
    return all->n;
}

struct growing {
    struct process_tree *tree;
    size_t room;
    int proc;
    bool listed; /* a list of children could be read */
    bool ok;     /* false when out of memory */
};

/* A process that moved to another parent while the lists were read may be in two of them. */
static bool is_listed(const struct process_tree *tree, pid_t pid)
{
    for (size_t i = 0; i < tree->n; i++)
        if (tree->at[i].pid == pid)
            return true;
    return false;
}

static void add_child(struct growing *growing, const char *pid)
{
    struct process process;
    if (growing->ok && !is_listed(growing->tree, (pid_t)strtol(pid, NULL, 10)) && read_process(&process, growing->proc, pid))
        growing->ok = add(growing->tree, &growing->room, &process);
}

/* Adds the children of a thread. The file has their pids, a blank behind each; a pid may be cut by the end of a read. */
static void add_children(struct growing *growing, int task, const char *tid)
{
    char path[64], text[4096];
    size_t kept = 0;
    ssize_t n;
    snprintf(path, sizeof path, "%.20s/children", tid);
    int fd = openat(task, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    while ((n = read(fd, text + kept, sizeof text - 1 - kept)) > 0) {
        char *at = text, *end;
        text[kept + (size_t)n] = '\0';
        for (; (end = strchr(at, ' ')); at = end + 1) {
            *end = '\0';
            add_child(growing, at);
        }
        kept = strlen(at);
        if (kept >= 20)
            break; /* not a list of pids */
        memmove(text, at, kept);
    }
    growing->listed = growing->listed || n == 0;
    close(fd);
}

static void add_children_of_threads(struct growing *growing, pid_t pid)
{
    char path[64];
    struct dirent *entry;
    snprintf(path, sizeof path, "%ld/task", (long)pid);
    int fd = openat(growing->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *task = fd < 0 ? NULL : fdopendir(fd);
    while (task && (entry = readdir(task)))
        if (isdigit((unsigned char)entry->d_name[0]))
            add_children(growing, fd, entry->d_name);
    if (task)
        closedir(task);
    else if (fd >= 0)
        close(fd);
}

/* Breadth first, as below. Returns false, with an empty tree, if the lists cannot be read. */
static bool follow_children(struct process_tree *tree, pid_t root)
{
    struct growing growing = {.tree = tree, .ok = true};
    *tree = (struct process_tree){0};
    growing.proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (growing.proc < 0)
        return false;
    add_children_of_threads(&growing, root);
    for (size_t i = 0; growing.ok && i < tree->n; i++)
        add_children_of_threads(&growing, tree->at[i].pid); /* a zombie may have threads that run, and those children */
    close(growing.proc);
    if (!growing.ok || !growing.listed)
        process_tree_release(tree);
    return growing.ok && growing.listed;
}

/* Moves the children of pid to positions n, n + 1, .. of the list; returns the new n. */
static size_t gather(struct process_tree *all, size_t n, pid_t pid)
{
    for (size_t i = n; i < all->n; i++)
        if (all->at[i].parent == pid) {
            struct process found = all->at[i];
            all->at[i] = all->at[n];
            all->at[n++] = found;
        }
    return n;
}

/*
 * Builds the tree in place and breadth first: processes of the tree are gathered at the front of the list, followed by
 * their children.
 */
static bool choose_from_all(struct process_tree *tree, pid_t root)
{
    if (!read_all(tree))
        return false;
    size_t n = gather(tree, 0, root);
    for (size_t i = 0; i < n; i++)
        n = gather(tree, n, tree->at[i].pid);
    tree->n = n;
    return true;
}

bool process_tree_read(struct process_tree *tree, pid_t root)
{
    return follow_children(tree, root) || choose_from_all(tree, root);
}

bool process_tree_read_group(struct process_tree *tree, pid_t group)
{
    bool seen = read_all(tree);
    size_t n = 0;
    for (size_t i = 0; i < tree->n; i++)
        if (tree->at[i].group == group)
            tree->at[n++] = tree->at[i];
    tree->n = n;
    return seen;
}

void process_tree_release(struct process_tree *tree)
{
    free(tree->at);
    *tree = (struct process_tree){0};
}

/*
 * smaps would show which pages are shared, but reading it makes the kernel walk all page tables, and this is called
 * five times a second.
 */
double process_tree_memory(const struct process_tree *tree)
{
    double pages = 0;
    for (size_t i = 0; i < tree->n; i++)
        pages += (double)tree->at[i].pages;
    return pages * (double)sysconf(_SC_PAGESIZE);
}

/*
 * A process that has ended is counted by the parent that waited for it. The guardian, which is not in its own tree,
 * waits for the command and for processes whose parents are gone.
 */
double process_tree_seconds(const struct process_tree *tree, pid_t root)
{
    char pid[24];
    struct process top;
    bool listed = false;
    double ticks = 0;
    for (size_t i = 0; i < tree->n; i++) {
        ticks += (double)(tree->at[i].ticks + tree->at[i].waited);
        listed = listed || tree->at[i].pid == root;
    }
    snprintf(pid, sizeof pid, "%ld", (long)root);
    int proc = listed ? -1 : open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc >= 0 && read_process(&top, proc, pid))
        ticks += (double)top.waited;
    cli_close(proc);
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

/*
 * A pidfd always refers to the same process, so after opening it /proc is read again to check that its process is the
 * intended one.
 */
static bool signal_one(int proc, const struct process *process, int number)
{
    char pid[24];
    struct process now;
    bool sent = false;
    snprintf(pid, sizeof pid, "%ld", (long)process->pid);
    int fd = (int)syscall(SYS_pidfd_open, process->pid, 0);
    if (read_process(&now, proc, pid) && now.started == process->started) {
        if (fd >= 0)
            sent = syscall(SYS_pidfd_send_signal, fd, number, NULL, 0) == 0;
        else
            sent = kill(process->pid, number) == 0;
    }
    cli_close(fd);
    return sent;
}

void process_tree_signal(const struct process_tree *tree, int number)
{
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0)
        return;
    for (size_t i = 0; i < tree->n; i++)
        if (!tree->at[i].ended)
            signal_one(proc, &tree->at[i], number);
    close(proc);
}

/* Reads the mask of signals with a handler, SigCgt in /proc/PID/status. */
static bool catches(pid_t pid, int number)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof line, status) && sscanf(line, "SigCgt: %llx", &caught) != 1)
        ;
    if (status)
        fclose(status);
    return caught >> (number - 1) & 1;
}

/* Sends the signal to a process that has a handler for it. GNU make has one too, which only turns its debugging output on. */
static bool pass(int proc, const struct process *process, int number)
{
    return !process->ended && strcmp(process->name, "make") != 0 && strcmp(process->name, "gmake") != 0 &&
           catches(process->pid, number) && signal_one(proc, process, number);
}

static bool is_child_of_any(const struct process *process, const struct process_tree *tree, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tree->at[i].pid == process->parent)
            return true;
    return false;
}

/* Processes that got the signal, or are below one that did, are moved to the front of the list. */
void process_tree_pass(pid_t root, int number)
{
    char pid[24];
    struct process first;
    struct process_tree tree = {0};
    size_t done = 0;
    int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(pid, sizeof pid, "%ld", (long)root);
    bool passed = proc >= 0 && read_process(&first, proc, pid) && pass(proc, &first, number);
    if (proc >= 0 && !passed)
        process_tree_read(&tree, root);
    for (size_t i = 0; i < tree.n; i++) {
        const struct process process = tree.at[i];
        if (!is_child_of_any(&process, &tree, done) && !pass(proc, &process, number))
            continue;
        tree.at[i] = tree.at[done];
        tree.at[done++] = process;
    }
    process_tree_release(&tree);
    cli_close(proc);
    if (!passed && !done)
        kill(root, number);
}
