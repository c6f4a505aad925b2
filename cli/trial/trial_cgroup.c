/*
 * trial_cgroup.c: see trial_process.h. The file names are defined in the kernel's documentation of cgroup v2.
 *
 * Functions that the guardian calls between fork and exec use no stdio.
 */
#include "trial/trial_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CLEAR_ROUNDS = 200, ROUND_MS = 10, NAMES = 100 };

static bool put(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool ok = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return ok;
}

/* Reads the beginning of a file, which is enough for every file that is read here; writes "" if it cannot be read. */
static void get(int dir, const char *name, char text[4096])
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, 4095);
    text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

/* Returns the number after the key in the line that begins with it, or the only number of the file if key is "". */
static double number_in(int dir, const char *name, const char *key)
{
    char text[4096];
    size_t n = strlen(key);
    get(dir, name, text);
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (!n)
            return strtod(line, NULL);
        if (strncmp(line, key, n) == 0 && line[n] == ' ')
            return strtod(line + n, NULL);
    }
    return 0;
}

static bool lists(int dir, const char *name, const char *word)
{
    char text[4096], *save;
    get(dir, name, text);
    for (char *at = strtok_r(text, " \n", &save); at; at = strtok_r(NULL, " \n", &save))
        if (strcmp(at, word) == 0)
            return true;
    return false;
}

static FILE *open_proc(const char *root, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/proc/self/%s", root, name);
    return n < PATH_MAX ? fopen(path, "re") : NULL;
}

/* Reads the cgroup v2 line of /proc/self/cgroup. Lines of version 1 differ because they name their controllers. */
static bool read_own(char own[PATH_MAX], const char *root)
{
    char line[PATH_MAX + 3];
    bool found = false;
    FILE *in = open_proc(root, "cgroup");
    while (in && !found && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = '\0';
        found = strncmp(line, "0::/", 4) == 0;
    }
    if (in)
        fclose(in);
    if (found)
        snprintf(own, PATH_MAX, "%s", line + 3);
    return found && !strstr(own, "/.."); /* a path with /.. is outside of this process's namespace */
}

/* Returns the part of the path that is below the mounted directory; NULL if the path is not below that directory. */
static const char *below(const char *own, const char *mounted)
{
    size_t n = strcmp(mounted, "/") == 0 ? 0 : strlen(mounted);
    return strncmp(own, mounted, n) == 0 && (own[n] == '/' || !own[n]) ? own + n : NULL;
}

/* See proc(5) for the fields. A mount point whose name has blanks is escaped in octal, and is skipped. */
bool trial_cgroup_find(char path[PATH_MAX], const char *root)
{
    char own[PATH_MAX], mounted[PATH_MAX], at[PATH_MAX], line[2 * PATH_MAX + 512];
    FILE *in = read_own(own, root) ? open_proc(root, "mountinfo") : NULL;
    bool found = false;
    while (in && !found && fgets(line, sizeof line, in)) {
        const char *rest =
            strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %4095s %4095s", mounted, at) == 2 && !strchr(at, '\\')
                ? below(own, mounted)
                : NULL;
        int n = rest ? snprintf(path, PATH_MAX, "%s%s%s", root, at, rest) : -1;
        found = n > 0 && n < PATH_MAX;
    }
    if (in)
        fclose(in);
    return found;
}

static bool is_alone(int base)
{
    char procs[4096], self[24];
    get(base, "cgroup.procs", procs);
    snprintf(self, sizeof self, "%ld\n", (long)getpid());
    return strcmp(procs, self) == 0;
}

static bool step_aside(struct trial_cgroup *group)
{
    char name[sizeof group->aside], procs[80];
    snprintf(name, sizeof name, "lineage-%ld-aside", (long)getpid());
    if (!is_alone(group->base) || mkdirat(group->base, name, 0777) != 0)
        return false;
    memcpy(group->aside, name, sizeof name);
    snprintf(procs, sizeof procs, "%s/cgroup.procs", name);
    return put(group->base, procs, "0") && put(group->base, "cgroup.subtree_control", "+memory");
}

/*
 * Moves this process back into its group, after disabling the controllers, because a process may only enter a group
 * that gives its children no controller.
 */
static void step_back(struct trial_cgroup *group)
{
    if (!group->aside[0])
        return;
    put(group->base, "cgroup.subtree_control", "-memory");
    put(group->base, "cgroup.procs", "0");
    unlinkat(group->base, group->aside, AT_REMOVEDIR);
}

static bool gives_memory(struct trial_cgroup *group)
{
    return lists(group->base, "cgroup.controllers", "memory") &&
           (lists(group->base, "cgroup.subtree_control", "memory") || put(group->base, "cgroup.subtree_control", "+memory") ||
            step_aside(group));
}

/* If the name exists, it was left by a killed process that had the same pid. */
static bool make_in(struct trial_cgroup *group)
{
    char name[sizeof group->name];
    int error = EEXIST;
    for (int i = 0; i < NAMES && error == EEXIST; i++) {
        snprintf(name, sizeof name, "lineage-%ld-%d", (long)getpid(), i);
        error = mkdirat(group->base, name, 0777) == 0 ? 0 : errno;
    }
    if (error)
        return false;
    memcpy(group->name, name, sizeof name);
    group->dir = openat(group->base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return group->dir >= 0;
}

bool trial_cgroup_make(struct trial_cgroup *group, const char *root)
{
    char path[PATH_MAX];
    *group = (struct trial_cgroup){.dir = -1, .base = -1};
    if (trial_cgroup_find(path, root))
        group->base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (group->base >= 0 && gives_memory(group) && make_in(group)) {
        put(group->dir, "memory.oom.group", "1"); /* kill all processes of the trial, since half a trial is useless */
        return true;
    }
    trial_cgroup_remove(group);
    return false;
}

bool trial_cgroup_limit(const struct trial_cgroup *group, double bytes)
{
    char text[64];
    snprintf(text, sizeof text, "%.0f", bytes);
    put(group->dir, "memory.swap.max", "0"); /* fails without swap */
    return put(group->dir, "memory.max", text);
}

bool trial_cgroup_enter(int dir)
{
    return put(dir, "cgroup.procs", "0");
}

void trial_cgroup_kill(int dir)
{
    put(dir, "cgroup.kill", "1");
}

double trial_cgroup_memory(const struct trial_cgroup *group)
{
    return number_in(group->dir, "memory.current", "");
}

double trial_cgroup_cpu(const struct trial_cgroup *group)
{
    return 1e-6 * number_in(group->dir, "cpu.stat", "usage_usec");
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* Checks first whether the group is empty, as it usually is, before it kills anything. */
int trial_cgroup_clear(const struct trial_cgroup *group)
{
    char procs[4096];
    for (int i = 0; i < CLEAR_ROUNDS && number_in(group->dir, "cgroup.events", "populated") > 0; i++) {
        trial_cgroup_kill(group->dir);
        poll(NULL, 0, ROUND_MS);
    }
    get(group->dir, "cgroup.procs", procs);
    return count_lines(procs);
}

void trial_cgroup_read(const struct trial_cgroup *group, struct trial_cgroup_usage *usage)
{
    usage->peak = number_in(group->dir, "memory.peak", "");
    usage->oom_kills = (long)number_in(group->dir, "memory.events", "oom_kill");
}

/* The kernel removes a group's files together with the group; only nested groups must be removed first. */
static void remove_group(int at, const char *name)
{
    struct dirent *entry;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    while (dir && (entry = readdir(dir)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            remove_group(dirfd(dir), entry->d_name);
    if (dir)
        closedir(dir);
    else if (fd >= 0)
        close(fd);
    unlinkat(at, name, AT_REMOVEDIR);
}

void trial_cgroup_remove(struct trial_cgroup *group)
{
    if (group->dir >= 0)
        close(group->dir);
    if (group->name[0])
        remove_group(group->base, group->name);
    step_back(group);
    if (group->base >= 0)
        close(group->base);
    *group = (struct trial_cgroup){.dir = -1, .base = -1};
}
