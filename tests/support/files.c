/* files.c: see files.h. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void die(const char *what, const char *name)
{
    fprintf(stderr, "test support: cannot %s %s\n", what, name);
    exit(2);
}

/* Tests leave no records of their stores behind. ctest names a directory in the build; a test script names one of its own, which
 * a program that it starts uses too. */
static char state_dir[64];
static pid_t state_owner;

__attribute__((constructor)) static void make_state_dir(void)
{
    static const char of_build[] = "/tests/state";
    const char *given = getenv("XDG_STATE_HOME");
    size_t length = given ? strlen(given) : 0;
    if (length && (length < sizeof of_build || strcmp(given + length - (sizeof of_build - 1), of_build) != 0))
        return;
    const char *base = getenv("TMPDIR");
    snprintf(state_dir, sizeof state_dir, "%s/lineage-test-state-XXXXXX", base && strlen(base) < 32 ? base : "/tmp");
    if (!mkdtemp(state_dir))
        die("make", state_dir);
    setenv("XDG_STATE_HOME", state_dir, 1);
    state_owner = getpid();
}

static void remove_tree(const char *path);

__attribute__((destructor)) static void remove_state_dir(void)
{
    if (getpid() == state_owner) /* and not a child that this test forked */
        remove_tree(state_dir);
}

char *join(const char *a, const char *b)
{
    size_t length = strlen(a) + strlen(b) + 2;
    char *out = malloc(length);
    if (!out)
        die("allocate for", b);
    snprintf(out, length, "%s/%s", a, b);
    return out;
}

/* The name of the test is in that of the directory, which stays where an assertion fails. */
char *make_dir(void)
{
    const char *base = getenv("TMPDIR");
    char name[64];
    snprintf(name, sizeof name, "lineage-test-%.32s-XXXXXX", program_invocation_short_name);
    char *dir = join(base ? base : "/tmp", name);
    if (!mkdtemp(dir))
        die("make", dir);
    return dir;
}

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *child = join(path, entry->d_name);
        if (unlink(child) != 0)
            remove_tree(child);
        free(child);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

void remove_dir(char *dir)
{
    remove_tree(dir);
    free(dir);
}

int set_up_dir(void **state)
{
    *state = make_dir();
    return 0;
}

int tear_down_dir(void **state)
{
    remove_dir(*state);
    return 0;
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

char *read_file(const char *path, size_t *length)
{
    FILE *in = fopen(path, "rb");
    if (!in || fseek(in, 0, SEEK_END) != 0)
        die("open", path);
    long size = ftell(in);
    char *data = malloc((size_t)size + 1);
    rewind(in);
    if (!data || fread(data, 1, (size_t)size, in) != (size_t)size)
        die("read", path);
    fclose(in);
    data[size] = '\0';
    *length = (size_t)size;
    return data;
}

void write_file(const char *path, const void *data, size_t length)
{
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data, 1, length, out) != length || fclose(out) != 0)
        die("write", path);
}

void copy_file(const char *from, const char *to)
{
    size_t length;
    char *data = read_file(from, &length);
    write_file(to, data, length);
    free(data);
}

json_t *read_json(const char *path)
{
    json_error_t error;
    json_t *value = json_load_file(path, JSON_ALLOW_NUL, &error);
    if (!value)
        die("parse", path);
    return value;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

char **list_dir(const char *path, const char *prefix)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char **names = calloc(4096, sizeof *names);
    size_t n = 0;
    if (!dir || !names) {
        free(names);
        return NULL;
    }
    while ((entry = readdir(dir)) && n < 4095)
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && !(names[n++] = strdup(entry->d_name)))
            die("list", path);
    closedir(dir);
    qsort(names, n, sizeof *names, by_text);
    return names;
}

void free_list(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}
