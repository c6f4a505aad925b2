/*
 * The file belongs to the judge (cli/judge/cache.h), and its texts were written by policies, tools and models. A line that is
 * incomplete or lacks a member is passed over, as the cache does. Only the end of a long file is read: a page shows a few
 * answers, and a file of many nights would take longer to parse than everything else in the page.
 */
#include "report/picture.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "report/html_escape.h"

enum { SHOWN = 12, END_BYTES = 4 << 20, TEXT_MAX = 600 };

/* Reads the last END_BYTES of a regular file (free); a link or a pipe is not followed. */
static char *read_end(const char *dir, size_t *length)
{
    char path[4096];
    struct stat info;
    char *text = NULL;
    size_t got = 0;
    int fd = snprintf(path, sizeof path, "%s/judge-cache.jsonl", dir) < (int)sizeof path
                 ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                 : -1;
    if (fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
        off_t from = info.st_size > END_BYTES ? info.st_size - END_BYTES : 0;
        size_t size = (size_t)(info.st_size - from);
        text = malloc(size);
        for (ssize_t n = 1; text && got < size && n > 0; got += n > 0 ? (size_t)n : 0)
            n = pread(fd, text + got, size - got, from + (off_t)got);
    }
    if (fd >= 0)
        close(fd);
    *length = text ? got : 0;
    return text;
}

/* An answer with as many flags, analyses and steps, or NULL. */
static json_t *answer_of(const char *line, size_t n)
{
    json_t *value = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
    const char *flags = json_string_value(json_object_get(value, "flags"));
    const json_t *steps = json_object_get(json_object_get(value, "shown"), "steps");
    size_t count = json_array_size(json_object_get(value, "analysis"));
    if (count > 0 && flags && strlen(flags) == count && json_array_size(steps) == count)
        return value;
    json_decref(value);
    return NULL;
}

static void cell(FILE *out, const json_t *text)
{
    fputs("<td>", out);
    html_text(out, json_string_value(text), TEXT_MAX);
    fputs("</td>", out);
}

static void print_answer(FILE *out, const json_t *answer)
{
    const json_t *shown = json_object_get(answer, "shown"), *analysis = json_object_get(answer, "analysis"), *step;
    const char *flags = json_string_value(json_object_get(answer, "flags"));
    size_t i;
    fputs("<details class=\"judged\"><summary>", out);
    html_text(out, json_string_value(json_object_get(shown, "task")), TEXT_MAX);
    fputs(" (", out);
    html_text(out, json_string_value(json_object_get(shown, "outcome")), 40);
    fputs(", judged by ", out);
    html_text(out, json_string_value(json_object_get(answer, "model")), 80);
    fputs(")</summary><table><thead><tr><th scope=\"col\" class=\"n\">step</th><th scope=\"col\">action</th>"
          "<th scope=\"col\">observation</th><th scope=\"col\">flag</th><th scope=\"col\">analysis</th></tr></thead><tbody>\n",
          out);
    json_array_foreach(json_object_get(shown, "steps"), i, step) {
        fprintf(out, "<tr><td class=\"n\">%zu</td>", i);
        cell(out, json_object_get(step, "action"));
        cell(out, json_object_get(step, "observation"));
        fprintf(out, "<td>%s</td>", flags[i] == 'G' ? "GOOD" : "BAD");
        cell(out, json_array_get(analysis, i));
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></details>\n", out);
}

/* The text is read from its end. */
size_t judged_attempts_text(FILE *out, const char *text, size_t length, size_t store)
{
    size_t n = 0, end = length;
    while (end > 0 && n < SHOWN) {
        size_t line = end - 1; /* the place of a line end */
        while (line > 0 && text[line - 1] != '\n')
            line--;
        json_t *answer = answer_of(text + line, end - line);
        if (answer && n++ == 0)
            fprintf(out,
                    "<section><h2 id=\"s%zu-judged\">Judged attempts</h2>\n<p class=\"how\">The newest answers of judges in "
                    "judge-cache.jsonl, at most %d: what each step was flagged, and why.</p>\n",
                    store, SHOWN);
        if (answer)
            print_answer(out, answer);
        json_decref(answer);
        end = line;
    }
    return n;
}

void judged_attempts_print(FILE *out, const char *dir, size_t store)
{
    size_t length;
    char *text = dir ? read_end(dir, &length) : NULL;
    if (text && judged_attempts_text(out, text, length, store) > 0)
        fputs("</section>\n", out);
    free(text);
}
