/*
 * group_memory.c: sums over /proc/PID/stat.
 *
 * Resident pages of every process of the group, from outside and by sampling, because the children
 * are other people's programs and cannot be asked. Pages that several of them share count for
 * each: the sum may be too high, never too low. smaps would know better, at the price of walking
 * the page tables of all of them five times a second.
 */
#include "trial/group_memory.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RSS_FIELD = 24, GROUP_FIELD = 5 };

/* Read the group and resident pages of a process; 0 pages if it is gone or of another group. The name in
 * parentheses may hold anything, parentheses too: fields are counted from behind the last one. */
static long pages_of(const char *pid, pid_t group)
{
    char path[300], text[1024];
    long pages = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *in = fopen(path, "r");
    if (!in)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[n] = '\0';
    char *save, *at = strrchr(text, ')');
    int field = 3;
    for (char *word = at ? strtok_r(at + 1, " ", &save) : NULL; word; word = strtok_r(NULL, " ", &save), field++) {
        long value = 0;
        if (field != GROUP_FIELD && field != RSS_FIELD)
            continue;
        if (sscanf(word, "%ld", &value) != 1 || (field == GROUP_FIELD && value != group))
            return 0;
        if (field == RSS_FIELD)
            pages = value;
    }
    return pages;
}

double group_memory(pid_t group)
{
    struct dirent *entry;
    double pages = 0;
    DIR *dir = opendir("/proc");
    while (dir && (entry = readdir(dir)))
        if (isdigit((unsigned char)entry->d_name[0]))
            pages += (double)pages_of(entry->d_name, group);
    if (dir)
        closedir(dir);
    return pages * (double)sysconf(_SC_PAGESIZE);
}
