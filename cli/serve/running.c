/*
 * running.c: prints the running trials, from their work directories; see running.h. The files were written by the
 * trial, an arbitrary program, and are being written now: every size is bounded, and an incomplete last line is left
 * for the next time.
 */
#include "serve/running.h"

#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "report/html_escape.h"
#include "support/running_files.h"

/* READ_MAX: only the beginning of a longer file is read, which bounds the server's work. */
enum { SHOWN = 8, READ_MAX = 4 << 20, KEYS = 6, POINTS = 4000, NAME = 64 };

struct series {
    char key[NAME];
    size_t n;
    double *value;
};

struct trial {
    char name[256], phase[NAME];
    json_int_t step, steps;
    struct series series[KEYS];
    size_t n_series;
};

/* ---- files ---- */

/* The state is made of size and inode instead of the time, because an event always makes the file longer, while the
 * time may not change within one tick of the clock. */
static void add_state(void *context, int fd)
{
    uint64_t *state = context;
    struct stat st = {0};
    if (fd >= 0 && fstat(fd, &st) != 0)
        st.st_size = 0;
    *state = *state * 1000003u + (uint64_t)st.st_size + (uint64_t)st.st_ino + 1;
}

uint64_t running_state(const char *store)
{
    uint64_t state = 0;
    running_each(store, add_state, &state);
    return state;
}

/* ---- events ---- */

/* Allocates a series when its key first occurs, because most trials report only two or three keys. */
static struct series *series_of(struct trial *trial, const char *key)
{
    for (size_t i = 0; i < trial->n_series; i++)
        if (strncmp(trial->series[i].key, key, NAME - 1) == 0)
            return &trial->series[i];
    if (trial->n_series == KEYS)
        return NULL;
    struct series *new = &trial->series[trial->n_series];
    new->value = malloc(POINTS * sizeof *new->value);
    if (!new->value)
        return NULL;
    snprintf(new->key, NAME, "%s", key);
    trial->n_series++;
    return new;
}

/* The latest event decides name, phase and step. Members with a wrong type are ignored, because trials use different
 * schemas. */
static void take_line(struct trial *trial, const json_t *line)
{
    static const char *const shown[] = {"score", "em", "reward", "loss", "entropy", "kl", "grad_norm", NULL};
    const char *text = json_string_value(json_object_get(line, "name"));
    if (text)
        snprintf(trial->name, sizeof trial->name, "%s", text);
    if ((text = json_string_value(json_object_get(line, "phase"))))
        snprintf(trial->phase, sizeof trial->phase, "%s", text);
    if (json_is_integer(json_object_get(line, "step"))) {
        trial->step = json_integer_value(json_object_get(line, "step"));
        trial->steps = json_integer_value(json_object_get(line, "steps"));
    }
    for (size_t k = 0; shown[k]; k++) {
        const json_t *value = json_object_get(line, shown[k]);
        struct series *series = json_is_number(value) ? series_of(trial, shown[k]) : NULL;
        if (series && series->n < POINTS)
            series->value[series->n++] = json_number_value(value);
    }
}

/* Reads from the beginning each time, so that no state is kept for a trial that may be gone. */
static void read_events(struct trial *trial, int fd)
{
    char *text = malloc(READ_MAX + 1);
    size_t n = 0;
    ssize_t got;
    while (text && n < READ_MAX && (got = read(fd, text + n, READ_MAX - n)) > 0)
        n += (size_t)got;
    for (size_t at = 0; text && at < n;) {
        const char *end = memchr(text + at, '\n', n - at);
        if (!end)
            break; /* a line that is still being written */
        json_t *line = json_loadb(text + at, (size_t)(end - text) - at, JSON_REJECT_DUPLICATES, NULL);
        if (json_is_object(line))
            take_line(trial, line);
        json_decref(line);
        at = (size_t)(end - text) + 1;
    }
    free(text);
}

/* ---- printing ---- */

static void print_series(FILE *out, const struct series *s)
{
    double low = INFINITY, high = -INFINITY;
    /* As many points as the picture is wide; more would only make the page larger. */
    size_t every = s->n / 150 + 1;
    for (size_t i = 0; i < s->n; i++) {
        low = fmin(low, s->value[i]);
        high = fmax(high, s->value[i]);
    }
    fputs("<svg class=\"pic\" viewBox=\"0 0 190 72\" role=\"img\"><title>", out);
    html_text(out, s->key, NAME);
    fprintf(out, " so far</title><text class=\"axis\" x=\"4\" y=\"11\">");
    html_text(out, s->key, 20);
    fprintf(out, "</text><text class=\"row end strong\" x=\"186\" y=\"11\">%.4g</text><path class=\"curve\" d=\"",
            s->value[s->n - 1]);
    for (size_t i = 0; i < s->n; i++)
        if (i % every == 0 || i + 1 == s->n)
            fprintf(out, "%c%.4g %.4g", i ? 'L' : 'M', 4 + 182.0 * (double)i / (double)(s->n > 1 ? s->n - 1 : 1),
                    66 - 46 * (high > low ? (s->value[i] - low) / (high - low) : 0.5));
    fputs("\"/></svg>\n", out);
}

struct printing {
    FILE *out;
    int n;
};

static void print_trial(void *context, int fd)
{
    struct printing *printing = context;
    struct trial *trial = calloc(1, sizeof *trial);
    FILE *out = printing->out;
    /* A night with many parallel trials would fill the page; further ones are left out. */
    if (!trial || printing->n++ >= SHOWN) {
        free(trial);
        return;
    }
    if (fd >= 0)
        read_events(trial, fd);
    fputs("<section class=\"running\"><h2>Running: ", out);
    html_text(out, trial->name[0] ? trial->name : "a trial", 120);
    fputs("</h2><p class=\"how\">", out);
    html_text(out, trial->phase[0] ? trial->phase : fd < 0 ? "it does not report its progress" : "starting", NAME);
    if (trial->steps > 0)
        fprintf(out, ", step %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT, trial->step, trial->steps);
    fputs("</p><div class=\"curves\">", out);
    for (size_t i = 0; i < trial->n_series; i++) {
        if (trial->series[i].n)
            print_series(out, &trial->series[i]);
        free(trial->series[i].value);
    }
    fputs("</div></section>\n", out);
    free(trial);
}

void running_print(FILE *out, const char *store, bool named)
{
    struct printing printing = {.out = out};
    if (named) {
        fputs("<p class=\"how\">", out);
        html_text(out, store, 300);
        fputs("</p>", out);
    }
    running_each(store, print_trial, &printing);
    if (!printing.n)
        fputs("<p class=\"how\">No trial is running in this store, according to its work directories.</p>\n", out);
}
