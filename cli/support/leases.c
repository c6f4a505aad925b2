#include "support/leases.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEASES "/telemetry/leases"
#define NEW "/.new"

enum { LOCK_TRIES = 600, LOCK_PAUSE_NS = 50000000 };

static double wall_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool path_of(char path[PATH_MAX], const char *store, const char *id)
{
    int n = snprintf(path, PATH_MAX, "%s" LEASES "/%s.json", store, id);
    return n > 0 && n < PATH_MAX;
}

static bool is_lease(const char *name)
{
    return strspn(name, "0123456789abcdef") == LEASE_ID_BYTES - 1 && strcmp(name + LEASE_ID_BYTES - 1, ".json") == 0;
}

/* The file may be anybody's: links are not followed, pipes are not waited for. Returns whether the lease counts; release its object. */
static bool read_lease(struct lease *lease, int dir, const char *name)
{
    *lease = (struct lease){.left = NAN};
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    json_t *object = fd >= 0 ? json_loadfd(fd, JSON_REJECT_DUPLICATES, NULL) : NULL;
    snprintf(lease->id, sizeof lease->id, "%.*s", LEASE_ID_BYTES - 1, name);
    lease->object = object;
    lease->agent = cli_json_member(object, "agent");
    lease->runs = json_is_true(json_object_get(object, "runs"));
    if (!lease->runs)
        lease->left = json_number_value(json_object_get(object, "until")) - wall_clock();
    bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) != 0;
    cli_close(fd);
    return json_is_object(object) && (lease->runs ? locked : lease->left > 0);
}

static int only_leases(const struct dirent *entry)
{
    return is_lease(entry->d_name);
}

/* Visits all that are there, also those that do not count. */
static void each(const char *store, void (*visit)(void *context, const struct lease *lease, bool counts), void *context)
{
    char path[PATH_MAX];
    struct dirent **names = NULL;
    snprintf(path, sizeof path, "%s" LEASES, store);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int n = dir >= 0 ? scandir(path, &names, only_leases, alphasort) : 0;
    for (int i = 0; i < n; i++) {
        struct lease lease;
        bool counts = read_lease(&lease, dir, names[i]->d_name);
        visit(context, &lease, counts);
        json_decref((json_t *)(uintptr_t)lease.object);
        free(names[i]);
    }
    free(names);
    cli_close(dir);
}

struct counting {
    lease_visit *visit;
    void *context;
};

static void visit_counting(void *context, const struct lease *lease, bool counts)
{
    const struct counting *c = context;
    if (counts)
        c->visit(c->context, lease);
}

bool leases_are_used(const char *store)
{
    char path[PATH_MAX];
    return !lineage_is_server(store) && snprintf(path, sizeof path, "%s" LEASES, store) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

void leases_each(const char *store, lease_visit *visit, void *context)
{
    struct counting c = {visit, context};
    if (!lineage_is_server(store))
        each(store, visit_counting, &c);
}

static void remove_dead(void *store, const struct lease *lease, bool counts)
{
    if (!counts)
        lease_remove(store, lease->id);
}

int leases_lock(const char *store)
{
    char path[PATH_MAX];
    const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};
    if (lineage_is_server(store))
        return cli_error(CLI_USAGE, "leases are for a store in a directory; %s is on a server, where `night` shares its trials",
                         store),
               -1;
    int n = snprintf(path, sizeof path, "%s" LEASES, store);
    if (n >= (int)sizeof path - 16)
        return cli_error(CLI_SYSTEM, "%s: the path is too long", store), -1;
    path[n - (int)strlen("/leases")] = '\0';
    mkdir(path, 0777);
    path[n - (int)strlen("/leases")] = '/';
    mkdir(path, 0777);
    memcpy(path + n, "/.lock", sizeof "/.lock");
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return cli_error(CLI_SYSTEM, "cannot make %s: %s", path, strerror(errno)), -1;
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            each(store, remove_dead, (void *)(uintptr_t)store);
            return fd;
        }
        nanosleep(&pause, NULL);
    }
    close(fd);
    return cli_error(CLI_SYSTEM, "the leases of %s are locked by a process that does not go on", store), -1;
}

/* The file is locked and written under another name first, so that a lease is held from the moment its file exists. */
bool lease_write(char id[LEASE_ID_BYTES], const char *store, const json_t *object, int *hold)
{
    char path[PATH_MAX], made[PATH_MAX];
    struct timespec now;
    struct stat st;
    do {
        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(id, LEASE_ID_BYTES, "%06lx", ((unsigned long)now.tv_nsec / 1000 * 7919 + (unsigned long)getpid()) & 0xffffff);
        if (!path_of(path, store, id) || snprintf(made, sizeof made, "%s" LEASES NEW, store) >= (int)sizeof made)
            return cli_refuse("%s: the path is too long", store);
    } while (lstat(path, &st) == 0);
    unlink(made); /* left by a process that was killed here */
    int fd = open(made, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    bool good =
        fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && json_dumpfd(object, fd, JSON_COMPACT) == 0 && rename(made, path) == 0;
    if (!good)
        cli_error(CLI_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    if (fd >= 0 && (!good || !hold))
        close(fd);
    if (good && hold)
        *hold = fd;
    return good;
}

bool lease_remove(const char *store, const char *id)
{
    char path[PATH_MAX];
    return strspn(id, "0123456789abcdef") == LEASE_ID_BYTES - 1 && strlen(id) == LEASE_ID_BYTES - 1 && path_of(path, store, id) &&
           unlink(path) == 0;
}
