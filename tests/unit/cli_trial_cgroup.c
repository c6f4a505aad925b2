/*
 * A control group for a trial: against a directory that stands in for /proc and the cgroup2 file system, as a delegated
 * memory controller is seldom there; and the half that needs none on a real one, where this process may write to it.
 */
#include "support/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "trial/trial_cgroup.h"

#define MOUNTS                                                                                                         \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"                                                                \
    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime shared:9 - cgroup cgroup rw,name=systemd\n"                       \
    "41 31 0:38 / /cg rw,relatime shared:10 master:2 - cgroup2 cgroup2 rw,nsdelegate\n"

struct machine {
    char *root;
};

static void put(const struct machine *m, const char *name, const char *text)
{
    char *path = join(m->root, name);
    write_file(path, text, strlen(text));
    free(path);
}

static void make(const struct machine *m, const char *name)
{
    char *path = join(m->root, name);
    assert_int_equal(mkdir(path, 0777), 0);
    free(path);
}

static void must_hold(const struct machine *m, const char *name, const char *text)
{
    size_t length;
    char *path = join(m->root, name), *held = read_file(path, &length);
    assert_string_equal(held, text);
    free(held);
    free(path);
}

/* A process in /user/own of a tree that is mounted at /cg, alone there, with memory to give. */
static void begin(struct machine *m)
{
    m->root = make_dir();
    for (const char *const *dir = (const char *const[]){"proc", "proc/self", "cg", "cg/user", "cg/user/own", NULL}; *dir; dir++)
        make(m, *dir);
    put(m, "proc/self/cgroup", "4:memory:/elsewhere\n1:name=systemd:/\n0::/user/own\n");
    put(m, "proc/self/mountinfo", MOUNTS);
    put(m, "cg/user/own/cgroup.controllers", "cpu memory pids\n");
    put(m, "cg/user/own/cgroup.subtree_control", "cpu memory\n");
}

static void end(struct machine *m)
{
    remove_dir(m->root);
}

/* What was tried and did not work left nothing behind. */
static void must_refuse(const struct machine *m)
{
    struct trial_cgroup group;
    char *own = join(m->root, "cg/user/own");
    assert_false(trial_cgroup_make(&group, m->root));
    assert_int_equal(group.dir, -1);
    assert_int_equal(group.base, -1);
    char **names = list_dir(own, "lineage-");
    assert_true(!names || !names[0]);
    free_list(names);
    free(own);
}

static void must_find(const struct machine *m, const char *expected)
{
    char path[PATH_MAX];
    bool found = trial_cgroup_find(path, m->root);
    assert_int_equal(found, expected != NULL);
    if (expected)
        assert_string_equal(path + strlen(m->root), expected);
}

static void its_own_group_is_found(void **state)
{
    (void)state;
    struct machine m;
    begin(&m);
    must_find(&m, "/cg/user/own");
    put(&m, "proc/self/cgroup", "0::/\n");
    must_find(&m, "/cg/");
    put(&m, "proc/self/cgroup", "0::/user/own/../other\n");
    must_find(&m, NULL);
    put(&m, "proc/self/cgroup", "4:memory:/user/own\n");
    must_find(&m, NULL);
    put(&m, "proc/self/cgroup", "0::/user/own\n");
    put(&m, "proc/self/mountinfo", "41 31 0:38 /user /cg rw - cgroup2 none rw\n"); /* a part of the tree */
    must_find(&m, "/cg/own");
    put(&m, "proc/self/mountinfo", "41 31 0:38 /us /cg rw - cgroup2 none rw\n");
    must_find(&m, NULL);
    put(&m, "proc/self/mountinfo", "41 31 0:38 / /c\\040g rw - cgroup2 none rw\n");
    must_find(&m, NULL);
    put(&m, "proc/self/mountinfo", "41 31 0:38 / /cg rw - cgroup cgroup2 rw\nnonsense\n\n - cgroup2 \n");
    must_find(&m, NULL);
    end(&m);
}

static void nothing_to_be_had_leaves_nothing(void **state)
{
    (void)state;
    struct machine m;
    struct trial_cgroup group;
    assert_false(trial_cgroup_make(&group, "/nowhere"));
    begin(&m);
    put(&m, "cg/user/own/cgroup.controllers", "cpu memory_of_another pids\n");
    must_refuse(&m);
    put(&m, "cg/user/own/cgroup.controllers", "");
    must_refuse(&m);
    put(&m, "proc/self/cgroup", "0::/gone\n");
    must_refuse(&m);
    end(&m);
}

/* The kernel refuses to give memory while there are processes: a directory in the place of the file refuses, too. */
static void a_group_with_processes_is_left_alone(void **state)
{
    (void)state;
    struct machine m;
    begin(&m);
    char self[32], *control = join(m.root, "cg/user/own/cgroup.subtree_control");
    assert_int_equal(unlink(control), 0);
    make(&m, "cg/user/own/cgroup.subtree_control");
    put(&m, "cg/user/own/cgroup.procs", "1\n2\n");
    must_refuse(&m);
    must_hold(&m, "cg/user/own/cgroup.procs", "1\n2\n");
    snprintf(self, sizeof self, "%ld\n", (long)getpid()); /* alone: it steps aside, is refused there, and comes back */
    put(&m, "cg/user/own/cgroup.procs", self);
    must_refuse(&m);
    self[0] = '0'; /* over the first byte: it wrote its own number there, as the kernel calls it */
    must_hold(&m, "cg/user/own/cgroup.procs", self);
    free(control);
    end(&m);
}

static void a_group_limits_counts_and_goes(void **state)
{
    (void)state;
    struct machine m;
    struct trial_cgroup group;
    struct trial_cgroup_usage usage;
    char name[160], *taken;
    begin(&m);
    snprintf(name, sizeof name, "cg/user/own/lineage-%ld-0", (long)getpid());
    make(&m, name); /* of a process that had this number before */
    put(&m, "cg/user/own/cgroup.subtree_control", "cpu   \n");
    taken = join(m.root, name);
    assert_true(trial_cgroup_make(&group, m.root));
    must_hold(&m, "cg/user/own/cgroup.subtree_control", "+memory");
    assert_int_equal(group.aside[0], '\0');
    snprintf(name, sizeof name, "lineage-%ld-1", (long)getpid());
    assert_string_equal(group.name, name);

    assert_false(trial_cgroup_limit(&group, 3e7)); /* there is no such file */
    assert_false(trial_cgroup_enter(group.dir));
    assert_int_equal(trial_cgroup_clear(&group), 0);
    trial_cgroup_read(&group, &usage);
    assert_true(usage.peak == 0 && usage.oom_kills == 0 && trial_cgroup_memory(&group) == 0);

    static const char *const files[][2] = {{"memory.max", "max\n"},
                                           {"memory.current", "4096\n"},
                                           {"memory.peak", "123456789012\n"},
                                           {"memory.events", "low 0\noom 3\noom_kill_not 9\noom_kill 2\n"},
                                           {"cgroup.procs", ""}};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "cg/user/own/%s/%s", name, files[i][0]);
        put(&m, path, files[i][1]);
    }
    assert_true(trial_cgroup_limit(&group, 3e12));
    snprintf(path, sizeof path, "cg/user/own/%s/memory.max", name);
    must_hold(&m, path, "3000000000000");
    assert_true(trial_cgroup_enter(group.dir));
    trial_cgroup_read(&group, &usage);
    assert_true(usage.peak == 123456789012.0 && usage.oom_kills == 2 && trial_cgroup_memory(&group) == 4096);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) /* the kernel's go with the group */
        assert_int_equal(unlinkat(group.dir, files[i][0], 0), 0);
    assert_int_equal(mkdirat(group.dir, "inner", 0777), 0);
    trial_cgroup_remove(&group);
    snprintf(path, sizeof path, "%s/cg/user/own/%s", m.root, name);
    assert_false(file_exists(path));
    assert_true(file_exists(taken));
    free(taken);
    end(&m);
}

/* A child that goes into the group and leaves a grandchild there in a session of its own; both wait. */
static pid_t enter_twice(int dir)
{
    pid_t child = fork();
    if (child)
        return child;
    if (!trial_cgroup_enter(dir))
        _exit(1);
    if (fork() == 0)
        setsid();
    for (;;)
        pause();
}

static int processes_in(int dir)
{
    char text[512];
    int n = 0, fd = openat(dir, "cgroup.procs", O_RDONLY);
    ssize_t length = fd < 0 ? 0 : read(fd, text, sizeof text);
    for (ssize_t i = 0; i < length; i++)
        n += text[i] == '\n';
    if (fd >= 0)
        close(fd);
    return n;
}

static void a_real_group_is_ended_whole(void **state)
{
    (void)state;
    struct trial_cgroup group = {.dir = -1, .base = -1};
    char path[PATH_MAX];
    int status;
    if (trial_cgroup_find(path, ""))
        group.base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(group.name, sizeof group.name, "lineage-test-%ld", (long)getpid());
    if (group.base < 0 || mkdirat(group.base, group.name, 0777) != 0) {
        print_message("no cgroup2 file system to write to\n");
        if (group.base >= 0)
            close(group.base);
        skip();
    }
    group.dir = openat(group.base, group.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (faccessat(group.dir, "cgroup.kill", W_OK, 0) != 0) {
        trial_cgroup_remove(&group);
        print_message("no cgroup.kill\n");
        skip();
    }
    pid_t child = enter_twice(group.dir);
    while (processes_in(group.dir) < 2)
        if (waitpid(child, &status, WNOHANG) == 0) {
            usleep(1000);
        } else {
            trial_cgroup_remove(&group);
            print_message("a group may be made, but not entered\n");
            skip();
        }
    trial_cgroup_kill(group.dir);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(trial_cgroup_clear(&group), 0);
    assert_int_equal(mkdirat(group.dir, "inner", 0777), 0);
    char *dir = join(path, group.name);
    trial_cgroup_remove(&group);
    assert_int_equal(access(dir, F_OK), -1);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_group_is_found),
        cmocka_unit_test(nothing_to_be_had_leaves_nothing),
        cmocka_unit_test(a_group_with_processes_is_left_alone),
        cmocka_unit_test(a_group_limits_counts_and_goes),
        cmocka_unit_test(a_real_group_is_ended_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
