/*
 * errors.c: messages with exit statuses, and suggestions of the nearest known word.
 *
 * Every message is one line on standard error that begins with "lineage: ". Scripts and tests look for that, and an
 * agent that reads a terminal's log uses it to tell messages from results.
 */

#include <lineage/render.h>
#include <lineage/text.h>

#include "cli.h"
#include "support/program.h"

enum { STORE_OPTION_MAX = 1024 };
static char store_option[STORE_OPTION_MAX]; /* " -C DIR", if the command line has it. A process runs one command. */

void cli_say_store(const char *dir)
{
    FILE *out = fmemopen(store_option, sizeof store_option, "w");
    bool fits = out && fputs(" -C", out) >= 0;
    if (fits)
        shell_word_write(out, dir);
    if (out && (fclose(out) != 0 || !fits || strlen(store_option) == sizeof store_option - 1))
        store_option[0] = '\0';
}

/* Whether the rest of a quoted command, which begins behind the command's name, wants the option. */
static bool wants_store(const char *name, const char *rest, char quote)
{
    static const char *const without[] = {"init", "trust", "help", "core", "preflight", NULL};
    const char *option = strstr(rest, " -C "), *help = strstr(rest, "--help"), *end = strchr(rest, quote);
    bool wants = rest > name && end && !(option && option < end) && !(help && help < end);
    for (size_t i = 0; without[i]; i++)
        wants = wants && strncmp(name, without[i], (size_t)(rest - name)) != 0;
    return wants;
}

char *cli_with_store(char *out, size_t size, const char *message)
{
    static const char lineage[] = "lineage ";
    size_t n = 0;
    for (const char *from = message, *at; *store_option && n < size && (at = strstr(from, lineage)); from = at) {
        const char quote = at > message ? at[-1] : ' ', *name = at + strlen(lineage);
        at = name + strspn(name, "abcdefghijklmnopqrstuvwxyz");
        const bool wants = (quote == '`' || quote == '\'') && wants_store(name, at, quote);
        n += (size_t)snprintf(out + n, size - n, "%.*s%s", (int)(at - message), message, wants ? store_option : "");
        message = at;
    }
    if (n < size)
        snprintf(out + n, size - n, "%s", message);
    return out;
}

/* Text from users and files is escaped, so that it can neither control the terminal nor imitate another text. Line
 * breaks become `?`, because otherwise a file could forge a second message. The buffer is fixed, so that "out of
 * memory" can be printed. */
void cli_say(const char *message)
{
    char text[2048];
    cli_with_store(text, sizeof text, message);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    char *visible = lineage_text_visible(text, strlen(text), 0);
    fprintf(stderr, "lineage: %s\n", visible ? visible : "out of memory");
    lineage_free(visible);
}

/* Flushes standard output first, so that the message follows it where both are one stream. */
__attribute__((format(printf, 1, 0))) static void say(const char *format, va_list args)
{
    char text[2048];
    fflush(stdout);
    vsnprintf(text, sizeof text, format, args);
    cli_say(text);
}

void cli_tell(const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cli_say(text);
}

int cli_error(enum cli_exit status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return (int)status;
}

bool cli_refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return false;
}

bool cli_room(void *items, size_t n, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? 2 * *capacity : 64;
    void *at;
    if (n < *capacity)
        return true;
    memcpy(&at, items, sizeof at);
    if (wanted > SIZE_MAX / size || !(at = realloc(at, wanted * size)))
        return false;
    memcpy(items, &at, sizeof at);
    *capacity = wanted;
    return true;
}

int cli_by_number(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int cli_by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool cli_ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

int cli_no_memory(void)
{
    return cli_error(CLI_SYSTEM, "out of memory");
}

enum lineage_status cli_no_memory_error(struct lineage_error *err)
{
    *err = (struct lineage_error){.status = LINEAGE_ENOMEM, .text = "out of memory"};
    return err->status;
}

/* Returns 2 if the caller can fix the error by changing the request, and 3 if only the machine's owner can fix it. A
 * damaged file counts as bad input, because it will be the same next time. Scripts may retry after 3, not after 2. */
int cli_fail(const struct lineage_error *err)
{
    switch (err->status) {
    case LINEAGE_EINVAL:
    case LINEAGE_ECORRUPT:
    case LINEAGE_EEXIST:
    case LINEAGE_ENOTFOUND:
    case LINEAGE_EREFUSED:
    case LINEAGE_ELIMIT: return cli_error(CLI_USAGE, "%s", err->text);
    default: return cli_error(CLI_SYSTEM, "%s", err->text);
    }
}

const char *cli_nearest(const char *word, const char *const *known)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2; /* beyond a third of the word, it is another word */
    for (; *known; known++) {
        size_t d = lineage_name_distance(word, *known);
        if (d < best_distance) {
            best_distance = d;
            best = *known;
        }
    }
    return best;
}

char *cli_text_line(const char *text, size_t max)
{
    char *safe = lineage_text_safe(text, strlen(text), max);
    char *copy = safe ? strdup(safe) : NULL;
    lineage_free(safe);
    return copy;
}

static void put_line(FILE *out, const char *text, int max)
{
    char *line = max < 0 ? NULL : cli_text_line(text ? text : "", (size_t)max);
    fputs(line ? line : max < 0 ? text : "", out);
    free(line);
}

/* Writes the text in one piece: standard error has no buffer, and lines of two processes must not mix. */
void cli_print(FILE *out, const char *format, ...)
{
    struct cli_writer writer = {0};
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    if (cli_writer_open(&writer))
        cli_print_with(writer.out, put_line, format, args);
    char *text = cli_writer_close(&writer);
    if (text)
        fwrite(text, 1, writer.length, out);
    else
        cli_print_with(out, put_line, format, again); /* out of memory */
    free(text);
    va_end(again);
    va_end(args);
}
