#include "trial/sandbox.h"

#include <errno.h>
#include <string.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

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
