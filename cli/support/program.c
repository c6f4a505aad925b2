/*
 * program.c: finds the program's own path, with and without /proc, and switches from `lineage` to `lineage-train`.
 *
 * `lineage` becomes the trainer by exec instead of starting a child, so that signals from the terminal, the exit status
 * and the process that a supervisor watches need no forwarding.
 */
#include "support/program.h"

#include <sys/auxv.h>
#include <sys/resource.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/text.h>

#include "cli.h"
#include "support/blas_env.h"

#define TRAINER "lineage-train"

/* Address space that the loader needs for the trainer's libraries and OpenBLAS for its first buffer before main, rounded up;
 * measured with `ulimit -v`: 0.3.21 needs 60 MiB, and 0.3.29 spins for ever with 147 MiB. */
enum { TRAINER_NEEDS_MIB = 192 };

bool program_self(char path[PATH_MAX])
{
    static const char link[] = "/proc/self/exe";
    if (access(link, X_OK) == 0)
        return strcpy(path, link);
    /* This is the path that was passed to execve. The kernel stores it in every process, so no file system is needed. A
     * relative path stays valid because no command changes its directory. */
    const char *given = (const char *)(uintptr_t)getauxval(AT_EXECFN);
    if (given && realpath(given, path))
        return true;
    return cli_refuse("cannot find the program that runs%s%s: %s; is /proc mounted?", given ? ", " : "", given ? given : "",
                      strerror(errno));
}

/* The directory of the running program with all links resolved, because an installation may be found through a link.
 * The path is absolute after realpath and therefore contains a slash. */
static bool own_directory(char dir[PATH_MAX])
{
    char self[PATH_MAX];
    if (!program_self(self))
        return false;
    if (!realpath(self, dir))
        return cli_refuse("cannot find the directory of %s: %s", self, strerror(errno));
    *strrchr(dir, '/') = '\0';
    return true;
}

bool program_command(char path[PATH_MAX])
{
    char self[PATH_MAX], dir[PATH_MAX];
    static const char *const places[] = {"", "/" LINEAGE_BINDIR};
    if (!program_self(self) || !realpath(self, dir))
        return false;
    if (strcmp(strrchr(dir, '/') + 1, TRAINER) != 0)
        return strcpy(path, dir);
    *strrchr(dir, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int n = snprintf(path, PATH_MAX, "%s%s/lineage", dir, places[i]);
        if (n > 0 && n < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    return cli_refuse("cannot find `lineage` in %s or %s/" LINEAGE_BINDIR, dir, dir);
}

/* Prints a message and returns false if the limit on address space is too low for the trainer. This must be checked
 * before exec: with too little address space, OpenBLAS spins or the loader dies before the trainer's main can report
 * anything. */
static bool has_room(const char *command)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= (rlim_t)TRAINER_NEEDS_MIB << 20)
        return true;
    return cli_refuse("%s: out of memory: the trainer needs %d MiB of address space before it begins, and the limit is %llu MiB; "
                      "raise it (ulimit -v)",
                      command, TRAINER_NEEDS_MIB, (unsigned long long)(limit.rlim_cur >> 20));
}

/* Executes DIR/BELOW/lineage-train. Returns if it is missing or cannot be executed. */
static void try_in(const char *dir, const char *below, const char **argv)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s/" TRAINER, dir, below);
    if (n > 0 && (size_t)n < sizeof path)
        execv(path, (char *const *)(uintptr_t)argv);
}

/* Looks in this program's directory first, because in a build tree and in an unpacked archive both programs are there.
 * The search continues only if the file is missing: a file that cannot be executed is a broken installation, and its
 * error is reported. Standard output is flushed because exec would lose its buffer. */
int program_become_trainer(int argc, const char **argv)
{
    char dir[PATH_MAX];
    if (!has_room(argv[0]) || !own_directory(dir))
        return CLI_SYSTEM;
    const char **whole = calloc((size_t)argc + 2, sizeof *whole);
    if (!whole)
        return cli_no_memory();
    whole[0] = "lineage";
    memcpy(whole + 1, argv, (size_t)argc * sizeof *argv);
    fflush(stdout);
    blas_env_lend();
    try_in(dir, "", whole);
    if (errno == ENOENT)
        try_in(dir, "/" LINEAGE_LIBEXEC, whole);
    int error = errno;
    blas_env_give_back();
    free((void *)whole);
    if (error == ENOENT)
        return cli_error(CLI_SYSTEM,
                         "lineage %s%s needs the program " TRAINER
                         ", which is not installed: it is neither in %s nor in %s/" LINEAGE_LIBEXEC
                         "; the package of that name has it (apt-get install " TRAINER ")",
                         argv[0], strcmp(argv[0], "night") == 0 ? " with a sweep of recipes" : "", dir, dir);
    return cli_error(CLI_SYSTEM, "cannot run " TRAINER " in %s: %s", dir, strerror(error));
}

void shell_word_write(FILE *out, const char *word)
{
    char *quoted = lineage_text_word(word);
    fprintf(out, " %s", quoted ? quoted : word);
    lineage_free(quoted);
}
