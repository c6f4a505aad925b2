/*
 * The log consists of several part files instead of a ring buffer in one file, so that a reader that follows the log
 * continues in the next part, and the text is in the right order even after a kill.
 */
#include "run/run_parts.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "support/running_files.h"

enum { LINES = 3, LINE_CHARACTERS = 160, COPY_BYTES = 1 << 16 };

enum { PART_NAME_MAX = sizeof RUNNING_OUTPUT + 10 };

static const char *part_name(char out[PART_NAME_MAX], unsigned part)
{
    snprintf(out, PART_NAME_MAX, RUNNING_OUTPUT "%u", part);
    return out;
}

/* The trial may have put anything there: a link is not followed, and a pipe or a device is not waited for. */
static int open_part(int dir, unsigned part, int flags)
{
    char name[PART_NAME_MAX];
    struct stat st;
    int fd = openat(dir, part_name(name, part), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    close(fd);
    return errno = EINVAL, -1;
}

bool run_log_open(struct run_log *log, int dir)
{
    log->dir = dir;
    log->fd = open_part(dir, 0, O_WRONLY | O_CREAT | O_TRUNC);
    if (log->fd >= 0)
        return true;
    return cli_refuse("cannot write a log in the trial's directory: %s", strerror(errno));
}

/* Begins the next part, and removes all but part 0 and the last two. */
static void next_part(struct run_log *log)
{
    char name[PART_NAME_MAX];
    close(log->fd);
    log->part++;
    log->in_part = 0;
    log->fd = open_part(log->dir, log->part, O_WRONLY | O_CREAT | O_TRUNC);
    if (log->part > 2)
        unlinkat(log->dir, part_name(name, log->part - 2), 0);
}

static void remember(struct run_log *log, const char *bytes, size_t n)
{
    if (n > RUN_LOG_LAST) {
        log->total += n - RUN_LOG_LAST;
        bytes += n - RUN_LOG_LAST;
        n = RUN_LOG_LAST;
    }
    size_t at = (size_t)(log->total % RUN_LOG_LAST), first = n < RUN_LOG_LAST - at ? n : RUN_LOG_LAST - at;
    memcpy(log->last + at, bytes, first);
    memcpy(log->last, bytes + first, n - first);
    log->total += n;
}

/* If the disk is full, the log ends but the trial continues. */
void run_log_write(struct run_log *log, const char *bytes, size_t n)
{
    remember(log, bytes, n);
    while (n > 0 && log->fd >= 0) {
        size_t room = RUN_LOG_BYTES - log->in_part;
        ssize_t written = write(log->fd, bytes, n < room ? n : room);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0) {
            run_log_close(log);
            return;
        }
        bytes += written;
        n -= (size_t)written;
        log->in_part += (size_t)written;
        if (log->in_part == RUN_LOG_BYTES)
            next_part(log);
    }
}

void run_log_close(struct run_log *log)
{
    cli_close(log->fd);
    log->fd = -1;
}

/* A part has at most RUN_LOG_BYTES; what a trial has put behind them is left out. */
static bool append_part(int to, int from)
{
    char *buffer = malloc(COPY_BYTES);
    size_t left = RUN_LOG_BYTES;
    ssize_t n = 0;
    bool ok = buffer != NULL;
    while (ok && left > 0 && (n = read(from, buffer, left < COPY_BYTES ? left : COPY_BYTES)) > 0) {
        ok = cli_write_all(to, buffer, (size_t)n);
        left -= (size_t)n;
    }
    free(buffer);
    return ok && n >= 0;
}

/* Returns the number of the last part; 0 if there is only output.0. */
static unsigned last_part(int dir)
{
    static const char prefix[] = RUNNING_OUTPUT;
    unsigned last = 0, part;
    struct dirent *entry;
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* which closedir closes */
    DIR *in = fd >= 0 ? fdopendir(fd) : NULL;
    while (in && (entry = readdir(in)))
        if (strncmp(entry->d_name, prefix, sizeof prefix - 1) == 0 &&
            sscanf(entry->d_name + sizeof prefix - 1, "%u", &part) == 1 && part > last)
            last = part;
    if (in)
        closedir(in);
    else if (fd >= 0)
        close(fd);
    return last;
}

static bool join_parts(int dir, unsigned last, int to)
{
    char line[80], name[PART_NAME_MAX];
    bool ok = true;
    if (last > 2) {
        int n = snprintf(line, sizeof line, "\n[lineage: %llu bytes are left out here]\n",
                         (unsigned long long)(last - 2) * RUN_LOG_BYTES);
        ok = cli_write_all(to, line, (size_t)n);
    }
    for (unsigned part = last > 2 ? last - 1 : 1; ok && part <= last; part++) {
        int from = open_part(dir, part, O_RDONLY);
        ok = from >= 0 && append_part(to, from);
        cli_close(from);
        if (ok)
            unlinkat(dir, part_name(name, part), 0);
    }
    return ok;
}

bool run_log_join(int dir)
{
    unsigned last = last_part(dir);
    int to = open_part(dir, 0, O_WRONLY | O_APPEND);
    bool ok = to >= 0 && join_parts(dir, last, to);
    return to >= 0 && close(to) == 0 && ok;
}

size_t run_log_copy(const struct run_log *log, uint64_t since, char out[RUN_LOG_LAST])
{
    uint64_t there = log->total - since;
    size_t n = there < RUN_LOG_LAST ? (size_t)there : RUN_LOG_LAST;
    for (size_t i = 0; i < n; i++)
        out[i] = log->last[(size_t)((log->total - n + i) % RUN_LOG_LAST)];
    return n;
}

/* Returns the ring buffer as one text, with NUL bytes replaced by blanks. */
static char *last_bytes(const struct run_log *log)
{
    char *text = malloc(RUN_LOG_LAST + 1);
    size_t n = text ? run_log_copy(log, 0, text) : 0;
    for (size_t i = 0; i < n; i++)
        text[i] = text[i] ? text[i] : ' ';
    if (text)
        text[n] = '\0';
    return text;
}

/* The marks below a source line of a traceback say nothing without its columns. */
static bool is_empty(const char *line)
{
    return line[strspn(line, " \t\r^~")] == '\0';
}

/* Cuts the last non-empty line off the text and returns it; NULL if there is none. */
static char *take_last_line(char *text)
{
    while (*text) {
        char *at = strrchr(text, '\n'), *line = at ? at + 1 : text;
        bool empty = is_empty(line);
        if (at)
            *at = '\0';
        if (!empty)
            return line;
        if (!at)
            *text = '\0';
    }
    return NULL;
}

/*
 * Returns the part of the line that a terminal would show, which begins after the last carriage return. Semicolons are
 * replaced by commas, because a semicolon ends a piece of notes.
 */
static char *for_notes(char *line)
{
    size_t n = strlen(line);
    while (n > 0 && line[n - 1] == '\r')
        line[--n] = '\0';
    char *again = strrchr(line, '\r'), *shown = again ? again + 1 : line;
    char *safe = cli_text_line(shown + strspn(shown, " \t"), LINE_CHARACTERS);
    for (char *c = safe; c && *c; c++)
        if (*c == ';')
            *c = ',';
    return safe;
}

char *run_log_last_lines(const struct run_log *log)
{
    char *text = last_bytes(log), *lines[LINES] = {0}, *out = NULL;
    size_t n = 0, length;
    for (char *line; text && n < LINES && (line = take_last_line(text)) != NULL;) {
        lines[n++] = for_notes(line);
        if (line == text) /* the text had only this line */
            *text = '\0';
    }
    FILE *to = n ? open_memstream(&out, &length) : NULL;
    while (n-- > 0) {
        if (to)
            fprintf(to, "%s%s", lines[n] ? lines[n] : "", n ? " | " : "");
        free(lines[n]);
    }
    if (to)
        fclose(to);
    free(text);
    return out;
}
