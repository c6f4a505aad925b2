/*
 * Tests the control group of a trial. Most tests use a directory that stands in for /proc and the cgroup2 file system,
 * because a delegated memory controller is rare. What needs no memory controller is also tested on the real cgroup2
 * file system if this process may write to it.
 */
#include "support/unit.h"

#include <dirent.h>
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
#include "support/last_words.h"
#include "trial/trial_process.h"
#include "trial/one_trial.h"

#define MOUNTS                                                                                                                   \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"                                                                          \
    "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime shared:9 - cgroup cgroup rw,name=systemd\n"                                 \
    "41 31 0:38 / /cg rw,relatime shared:10 master:2 - cgroup2 cgroup2 rw,nsdelegate\n"

struct machine {
    char *root;
};

/* ---- what the kernel does ---- */

/* The machine in which watched trials find their groups; NULL: this one. */
static const struct machine *of_trials;
static const char *const (*group_files)[2]; /* files of a new group, ended by {NULL}; NULL: no files */
static bool no_memory; /* reading a directory fails with ENOMEM */

bool __real_trial_cgroup_make(struct trial_cgroup *group, const char *root);
bool __wrap_trial_cgroup_make(struct trial_cgroup *group, const char *root);
int __real_mkdirat(int dir, const char *name, mode_t mode);
int __wrap_mkdirat(int dir, const char *name, mode_t mode);
DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);

bool __wrap_trial_cgroup_make(struct trial_cgroup *group, const char *root)
{
    return __real_trial_cgroup_make(group, of_trials && !*root ? of_trials->root : root);
}

static void put_at(int dir, const char *name, const char *text)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

/* A new group gets its files at once. A group without processes can enable the memory controller for its children. */
int __wrap_mkdirat(int dir, const char *name, mode_t mode)
{
    int failed = __real_mkdirat(dir, name, mode);
    int made = failed ? -1 : openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; made >= 0 && group_files && group_files[i][0]; i++)
        put_at(made, group_files[i][0], group_files[i][1]);
    if (made >= 0 && group_files && strstr(name, "-aside") && unlinkat(dir, "cgroup.subtree_control", AT_REMOVEDIR) == 0)
        put_at(dir, "cgroup.subtree_control", "cpu");
    if (made >= 0)
        close(made);
    return failed;
}

DIR *__wrap_fdopendir(int fd)
{
    errno = ENOMEM;
    return no_memory ? NULL : __real_fdopendir(fd);
}

/* ---- what stands in for it ---- */

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

/* This process is alone in the group /user/own of a tree mounted at /cg, and memory can be delegated. */
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

/* A failed attempt leaves nothing behind. */
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
    put(&m, "proc/self/mountinfo", "41 31 0:38 /user /cg rw - cgroup2 none rw\n"); /* only /user is mounted */
    must_find(&m, "/cg/own");
    put(&m, "proc/self/mountinfo", "41 31 0:38 /us /cg rw - cgroup2 none rw\n");
    must_find(&m, NULL);
    put(&m, "proc/self/mountinfo", "40 31 0:38 /other /x rw - cgroup2 none rw\n41 31 0:38 /user/own /cg rw - cgroup2 none rw\n");
    must_find(&m, "/cg");
    put(&m, "proc/self/mountinfo", "41 31 0:38 / /c\\040g rw - cgroup2 none rw\n");
    must_find(&m, NULL);
    put(&m, "proc/self/mountinfo", "41 31 0:38 / /cg rw - cgroup cgroup2 rw\nnonsense\n\n - cgroup2 \n");
    must_find(&m, NULL);
    end(&m);
}

static void paths_that_are_too_long_lead_nowhere(void **state)
{
    (void)state;
    struct machine m;
    char path[PATH_MAX], name[PATH_MAX], line[2 * PATH_MAX];
    memset(name, 'x', sizeof name - 1);
    name[0] = '/';
    name[sizeof name - 1] = '\0';
    assert_false(trial_cgroup_find(path, name));
    begin(&m);
    name[PATH_MAX - 100] = '\0';
    snprintf(line, sizeof line, "0::%.200s\n", name);
    put(&m, "proc/self/cgroup", line);
    snprintf(line, sizeof line, "41 31 0:38 / %s rw - cgroup2 none rw\n", name);
    put(&m, "proc/self/mountinfo", line);
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

/* The kernel refuses to delegate memory while the group holds processes. A directory in the place of the file makes
 * the write fail in the same way. */
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
    /* Alone in the group: this process moves aside, is refused there too, and moves back. */
    snprintf(self, sizeof self, "%ld\n", (long)getpid());
    put(&m, "cg/user/own/cgroup.procs", self);
    must_refuse(&m);
    /* Moving back wrote "0", the kernel's name for the calling process, over the first byte. */
    self[0] = '0';
    must_hold(&m, "cg/user/own/cgroup.procs", self);
    free(control);
    end(&m);
}

static void who_is_alone_steps_aside_and_comes_back(void **state)
{
    static const char *const files[][2] = {{"cgroup.procs", ""}, {NULL, NULL}};
    (void)state;
    struct machine m;
    struct trial_cgroup group;
    char text[80], *control, *aside;
    begin(&m);
    control = join(m.root, "cg/user/own/cgroup.subtree_control");
    assert_int_equal(unlink(control), 0);
    make(&m, "cg/user/own/cgroup.subtree_control");
    snprintf(text, sizeof text, "%ld\n", (long)getpid());
    put(&m, "cg/user/own/cgroup.procs", text);
    group_files = files;
    assert_true(trial_cgroup_make(&group, m.root));
    group_files = NULL;
    must_hold(&m, "cg/user/own/cgroup.subtree_control", "+memory");
    snprintf(text, sizeof text, "cg/user/own/%s/cgroup.procs", group.aside);
    must_hold(&m, text, "0");
    aside = join(m.root, text);
    assert_int_equal(unlink(aside), 0); /* the kernel would remove the file with its group */
    assert_int_equal(unlinkat(group.dir, "cgroup.procs", 0), 0);
    trial_cgroup_remove(&group);
    must_hold(&m, "cg/user/own/cgroup.subtree_control", "-memory");
    free(aside);
    free(control);
    end(&m);
}

/* A killed process that had this process id left its group, or a hundred groups. */
static void names_that_are_taken_are_left_alone(void **state)
{
    (void)state;
    struct machine m;
    struct trial_cgroup group;
    char text[80], *control;
    begin(&m);
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "cg/user/own/lineage-%ld-%d", (long)getpid(), i);
        make(&m, text);
    }
    assert_false(trial_cgroup_make(&group, m.root));
    end(&m);
    begin(&m);
    control = join(m.root, "cg/user/own/cgroup.subtree_control");
    assert_int_equal(unlink(control), 0);
    make(&m, "cg/user/own/cgroup.subtree_control");
    snprintf(text, sizeof text, "%ld\n", (long)getpid());
    put(&m, "cg/user/own/cgroup.procs", text);
    snprintf(text, sizeof text, "cg/user/own/lineage-%ld-aside", (long)getpid());
    make(&m, text);
    assert_false(trial_cgroup_make(&group, m.root));
    free(control);
    control = join(m.root, text);
    assert_true(file_exists(control));
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
    make(&m, name); /* left by an earlier process with this process id */
    put(&m, "cg/user/own/cgroup.subtree_control", "cpu   \n");
    taken = join(m.root, name);
    assert_true(trial_cgroup_make(&group, m.root));
    must_hold(&m, "cg/user/own/cgroup.subtree_control", "+memory");
    assert_int_equal(group.aside[0], '\0');
    snprintf(name, sizeof name, "lineage-%ld-1", (long)getpid());
    assert_string_equal(group.name, name);

    assert_false(trial_cgroup_limit(&group, 3e7)); /* the group has no memory.max yet */
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
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) /* the kernel would remove the files with the group */
        assert_int_equal(unlinkat(group.dir, files[i][0], 0), 0);
    assert_int_equal(mkdirat(group.dir, "inner", 0777), 0);
    struct trial_cgroup again = {.dir = -1, .base = dup(group.base)};
    memcpy(again.name, group.name, sizeof again.name);
    no_memory = true;
    snprintf(path, sizeof path, "%s/cg/user/own/%s", m.root, name);
    trial_cgroup_remove(&group); /* fails, because the groups inside cannot be listed */
    assert_true(file_exists(path));
    no_memory = false;
    trial_cgroup_remove(&again);
    assert_false(file_exists(path));
    again = (struct trial_cgroup){.dir = -1, .base = -1};
    memcpy(again.name, "gone", sizeof "gone");
    trial_cgroup_remove(&again); /* without a notice callback */
    assert_true(file_exists(taken));
    free(taken);
    end(&m);
}

/* ---- a trial in one ---- */

static bool scored;

static void on_event(void *context, const struct trial_event *event)
{
    (void)context;
    scored = scored || event->has_score;
}

static void on_output(void *context, const char *bytes, size_t n)
{
    (void)context, (void)bytes, (void)n;
}

/* Watches a guarded trial in a group with these files. */
static void watch(struct trial_outcome *outcome, const struct machine *m, const char *const files[][2], double bytes,
                  const char *words)
{
    const char *const argv[] = {"sh", "-c", words, NULL};
    struct interrupts interrupts = {.fd = -1};
    struct trial_job job = {.argv = argv,
                            .interrupts = &interrupts,
                            .guarded = true,
                            .hold = -1,
                            .output = on_output,
                            .event = on_event,
                            .settings.memory_bytes = bytes,
                            .settings.train_seconds = 3};
    of_trials = m;
    group_files = files;
    assert_true(trial_watch(outcome, &job));
    of_trials = NULL;
    group_files = NULL;
}

static void what_the_kernel_ended_for_memory_is_said_so(void **state)
{
    static const char *const files[][2] = {{"memory.max", "max\n"},
                                           {"memory.current", "4096\n"},
                                           {"memory.peak", "123456789\n"},
                                           {"memory.events", "oom 1\noom_kill 1\n"},
                                           {"cgroup.procs", ""},
                                           {"cgroup.kill", ""},
                                           {NULL, NULL}};
    (void)state;
    struct machine m;
    struct trial_outcome outcome;
    begin(&m);
    watch(&outcome, &m, files, 1e12, "kill -9 $$");
    assert_int_equal(outcome.end, TRIAL_MEMORY_OVERRUN);
    assert_true(outcome.out_of_memory && outcome.peak_bytes == 123456789);
    assert_string_equal(outcome.text, "out of memory: cgroup limit 1000000000000 bytes, peak 123456789");
    watch(&outcome, &m, files, 0, "exit 3"); /* the kernel killed a part of the trial */
    assert_int_equal(outcome.end, TRIAL_MEMORY_OVERRUN);
    assert_string_equal(outcome.text, "out of memory: the kernel ended it, peak 123456789 bytes");
    /* The trial survives this kill. */
    watch(&outcome, &m, files, 0, "(exec setsid sleep 600) & sleep 1.2; echo '{\"score\": 1}' >&3");
    assert_true(outcome.end == TRIAL_FINISHED && !outcome.out_of_memory && scored && outcome.unseen == 0);
    watch(&outcome, &m, files, 0, "sleep 600"); /* the time limit stays the reason */
    assert_int_equal(outcome.end, TRIAL_TRAIN_OVERRUN);
    end(&m);
}

/* If the group does not enforce the limit, or the command cannot enter the group, memory is sampled as on other
 * machines. */
static void a_group_of_no_use_is_done_without(void **state)
{
    static const char *const no_limit[][2] = {
        {"memory.current", "4096\n"}, {"memory.peak", "77\n"}, {"cgroup.procs", ""}, {NULL, NULL}};
    static const char *const no_entry[][2] = {
        {"memory.max", "max\n"}, {"memory.peak", "77\n"}, {"memory.events", "oom_kill 1\n"}, {NULL, NULL}};
    (void)state;
    struct machine m;
    struct trial_outcome outcome;
    begin(&m);
    watch(&outcome, &m, no_limit, 1e12, "sleep 0.5; kill -9 $$");
    assert_int_equal(outcome.end, TRIAL_SIGNALLED);
    if (access("/proc/self/stat", R_OK) == 0)
        assert_true(outcome.peak_bytes > 4096);
    watch(&outcome, &m, no_entry, 1e12, "sleep 0.5; kill -9 $$");
    assert_int_equal(outcome.end, TRIAL_SIGNALLED);
    assert_true(outcome.peak_bytes != 77);
    end(&m);
}

/* Processes that cannot be killed stay in the group and are counted. The kernel may report late that the group is
 * empty. */
static void what_stays_in_the_group_is_counted(void **state)
{
    static const char *const stuck[][2] = {{"memory.max", "max\n"},
                                           {"cgroup.procs", "123\n456\n"},
                                           {"cgroup.events", "populated 0\n"},
                                           {"cgroup.kill", ""},
                                           {NULL, NULL}};
    static const char *const late[][2] = {
        {"memory.max", "max\n"}, {"cgroup.procs", ""}, {"cgroup.events", "populated 1\n"}, {"cgroup.kill", ""}, {NULL, NULL}};
    (void)state;
    struct machine m;
    struct trial_outcome outcome;
    begin(&m);
    watch(&outcome, &m, stuck, 0, "echo '{\"score\": 1}' >&3");
    assert_true(outcome.end == TRIAL_FINISHED);
    assert_int_equal(outcome.unseen, 2);
    watch(&outcome, &m, late, 0, "echo '{\"score\": 1}' >&3"); /* the watcher waits up to 2 s for an empty group */
    assert_true(outcome.end == TRIAL_FINISHED && outcome.total_s < 2);
    assert_int_equal(outcome.unseen, 0);
    struct trial_cgroup group = {.base = -1, .dir = openat(AT_FDCWD, m.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    put(&m, "cgroup.events", "populated 1\n");
    put(&m, "cgroup.kill", "");
    pid_t kernel = fork();
    if (kernel == 0) {
        struct stat st;
        while (fstatat(group.dir, "cgroup.kill", &st, 0) == 0 && st.st_size == 0)
            usleep(1000);
        put_at(group.dir, "cgroup.events", "populated 0\n");
        leave(0);
    }
    assert_int_equal(trial_cgroup_clear(&group), 0);
    must_hold(&m, "cgroup.kill", "1");
    must_hold(&m, "cgroup.events", "populated 0\n");
    assert_int_equal(waitpid(kernel, NULL, 0), kernel);
    close(group.dir);
    end(&m);
}

/* A child enters the group and leaves a grandchild there in a session of its own; both wait. */
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
        cmocka_unit_test(paths_that_are_too_long_lead_nowhere),
        cmocka_unit_test(nothing_to_be_had_leaves_nothing),
        cmocka_unit_test(a_group_with_processes_is_left_alone),
        cmocka_unit_test(who_is_alone_steps_aside_and_comes_back),
        cmocka_unit_test(names_that_are_taken_are_left_alone),
        cmocka_unit_test(a_group_limits_counts_and_goes),
        cmocka_unit_test(what_the_kernel_ended_for_memory_is_said_so),
        cmocka_unit_test(a_group_of_no_use_is_done_without),
        cmocka_unit_test(what_stays_in_the_group_is_counted),
        cmocka_unit_test(a_real_group_is_ended_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
