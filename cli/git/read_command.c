/*
 * The command has a process group of its own, so that it can be killed together with all processes that it started.
 */
#include "git/git.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

extern char **environ;

enum { PIECE = 1 << 16 };

/*
 * Returns this process's environment, with the variables in `more` replacing those of the same name; a name without a value
 * removes one. Each name occurs only once, because of two entries git would use the last and getenv the first.
 */
static const char **make_environment(const char *const *more)
{
    const char *const *own = (const char *const *)environ;
    const char **list = calloc(cli_texts_length(own) + cli_texts_length(more) + 1, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; list && more && more[i]; i++)
        if (strchr(more[i], '='))
            list[n++] = more[i];
    for (size_t i = 0; list && own[i]; i++) {
        bool given = false;
        for (size_t k = 0; more && more[k]; k++)
            given = given || (strncmp(own[i], more[k], strcspn(more[k], "=")) == 0 && own[i][strcspn(more[k], "=")] == '=');
        if (!given)
            list[n++] = own[i];
    }
    return list;
}

static pid_t start(const char *const *argv, const char *const *environment, int output)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    pid_t pid = -1;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return -1;
    if (posix_spawnattr_init(&attributes) == 0) {
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        if (posix_spawnp(&pid, argv[0], &actions, &attributes, (char *const *)(uintptr_t)argv,
                         (char *const *)(uintptr_t)environment) != 0)
            pid = -1;
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return pid;
}

/* Reads to the end of the pipe. Returns false if it takes longer than `seconds` or yields more than `max` bytes. */
static bool read_all(int fd, double seconds, size_t max, char **text, size_t *length)
{
    double end = cli_now() + seconds;
    for (;;) {
        struct pollfd wait = {fd, POLLIN, 0};
        double left = end - cli_now();
        char *grown = realloc(*text, *length + PIECE + 1);
        if (!grown)
            return false;
        *text = grown;
        if (left <= 0 || poll(&wait, 1, (int)(left * 1000) + 1) == 0)
            return false;
        ssize_t n = read(fd, *text + *length, PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        *length += n > 0 ? (size_t)n : 0;
        (*text)[*length] = '\0';
        if (n <= 0 || *length > max)
            return n == 0;
    }
}

char *read_command(const char *const *argv, const char *const *environment, double seconds, size_t max, size_t *length)
{
    int ends[2], state = 0;
    char *text = NULL;
    *length = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return NULL;
    const char **list = make_environment(environment);
    pid_t pid = list ? start(argv, list, ends[1]) : -1;
    free((void *)list);
    close(ends[1]);
    bool ok = pid > 0 && read_all(ends[0], seconds, max, &text, length);
    if (pid > 0 && !ok)
        kill(-pid, SIGKILL);
    while (pid > 0 && waitpid(pid, &state, 0) < 0 && errno == EINTR)
        continue;
    close(ends[0]);
    if (ok && WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return text;
    free(text);
    return NULL;
}

bool read_first_line(char *out, size_t size, char *output)
{
    if (!output)
        return false;
    output[strcspn(output, "\n")] = '\0';
    bool fits = *output && strlen(output) < size;
    if (fits)
        strcpy(out, output);
    free(output);
    return fits;
}
