/* run_ssh_keygen.c: see run_ssh_keygen.h. */
#define _GNU_SOURCE /* POSIX_SPAWN_SETSID */
#include "sign/run_ssh_keygen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { SECONDS = 60, VARIABLES = 4096 };

/* Without a terminal, ssh-keygen would show a window to ask for the passphrase. */
static void make_environment(const char **out, bool may_ask)
{
    size_t n = 0;
    for (size_t i = 0; environ[i] && n < VARIABLES; i++)
        if (strncmp(environ[i], "SSH_ASKPASS", 11) != 0 || may_ask)
            out[n++] = environ[i];
    if (!may_ask)
        out[n++] = "SSH_ASKPASS_REQUIRE=never";
    out[n] = NULL;
}

static pid_t start(const char *const *argv, const char *input, bool may_ask, int output)
{
    const char *environment[VARIABLES + 2];
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid = -1;
    sigemptyset(&none);
    make_environment(environment, may_ask);
    signal(SIGCHLD, SIG_DFL);
    int error = posix_spawnattr_init(&attributes);
    error |= posix_spawnattr_setsigmask(&attributes, &none);
    error |= posix_spawnattr_setflags(&attributes, (short)(POSIX_SPAWN_SETSIGMASK | (may_ask ? 0 : POSIX_SPAWN_SETSID)));
    error |= posix_spawn_file_actions_init(&actions);
    error |= posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input ? input : "/dev/null", O_RDONLY, 0);
    error |= posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    error |= posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    if (!error)
        error = posix_spawnp(&pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                             (char *const *)(uintptr_t)environment);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    errno = error;
    return error ? -1 : pid;
}

static bool wait_for(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    int state = 0;
    for (unsigned i = 0; i < SECONDS * 50; i++) {
        pid_t done = waitpid(pid, &state, WNOHANG);
        if (done == pid)
            return WIFEXITED(state) && WEXITSTATUS(state) == 0;
        if (done < 0 && errno != EINTR)
            return false;
        nanosleep(&pause, NULL);
    }
    kill(pid, SIGKILL);
    waitpid(pid, &state, 0);
    return false;
}

bool run_ssh_keygen(const char *const *argv, const char *input, bool may_ask, char *out, size_t size)
{
    FILE *printed = tmpfile();
    out[0] = '\0';
    if (!printed) {
        snprintf(out, size, "cannot make a temporary file: %s", strerror(errno));
        return false;
    }
    pid_t pid = start(argv, input, may_ask, fileno(printed));
    if (pid < 0)
        snprintf(out, size, "cannot run %s (Debian: apt-get install openssh-client): %s", argv[0], strerror(errno));
    bool done = pid >= 0 && wait_for(pid);
    rewind(printed);
    if (pid >= 0 && !fgets(out, (int)size, printed))
        out[0] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    fclose(printed);
    return done;
}
