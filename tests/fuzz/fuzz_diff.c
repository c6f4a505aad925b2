/*
 * fuzz_diff.c: applies arbitrary bytes as a diff of a planner, and reads them as a diff whose lines are counted. Whatever
 * the diff says, the protected file keeps its bytes and stays a regular file, and nothing outside the directory changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/text.h>

#include "fuzz.h"
#include "git/git.h"
#include "support/files.h"

static const char evaluator[] = "print('METRIC score=1')\n", program[] = "lr = 0.1\nsteps = 10\nprint(lr, steps)\n";

static bool is_protected(const void *context, const char *path)
{
    (void)context;
    return strcmp(path, "eval.py") == 0;
}

static bool is_file(const char *dir, const char *name, const char *text)
{
    char *path = join(dir, name), *bytes = NULL;
    struct stat st;
    size_t length = 0;
    bool same = lstat(path, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0644;
    if (same)
        bytes = read_file(path, &length);
    same = same && length == strlen(text) && memcmp(bytes, text, length) == 0;
    free(bytes);
    free(path);
    return same;
}

static size_t count_names(const char *dir)
{
    size_t n = 0;
    char **names = list_dir(dir, "");
    while (names && names[n])
        n++;
    free_list(names);
    return n;
}

static void make_file(const char *dir, const char *name, const char *text)
{
    char *path = join(dir, name);
    write_file(path, text, strlen(text));
    fuzz_assert(chmod(path, 0644) == 0);
    free(path);
}

static void apply(const char *diff)
{
    char why[512] = "", *outside = make_dir(), *dir = join(outside, "work"), *sub = join(dir, "conf");
    fuzz_assert(mkdir(dir, 0755) == 0 && mkdir(sub, 0755) == 0);
    make_file(outside, "canary", evaluator);
    make_file(dir, "eval.py", evaluator);
    make_file(dir, "train.py", program);
    make_file(sub, "a.json", "{}\n");
    size_t n = count_names(outside);
    bool applied = apply_diff(diff, dir, is_protected, NULL, why, sizeof why);
    fuzz_assert(memchr(why, 0, sizeof why) && (applied || why[0]));
    fuzz_assert(is_file(dir, "eval.py", evaluator) && is_file(outside, "canary", evaluator) && count_names(outside) == n);
    free(sub);
    free(dir);
    remove_dir(outside);
}

static void count_lines(const char *diff, size_t length)
{
    struct lineage_diffstat stat;
    char text[LINEAGE_DIFFSTAT_MAX];
    lineage_diffstat_read(&stat, diff, length);
    lineage_diffstat_format(text, &stat);
    fuzz_assert(memchr(text, 0, sizeof text) && !strchr(text, '\n') && !strchr(text, ';') &&
                lineage_text_is_utf8(text, strlen(text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *diff = malloc(size + 1);
    fuzz_assert(diff != NULL);
    memcpy(diff, data, size);
    diff[size] = '\0';
    count_lines(diff, size);
    apply(diff);
    free(diff);
    return 0;
}
