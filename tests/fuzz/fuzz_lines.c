/*
 * fuzz_lines.c: reads arbitrary bytes as the output of a trial: events as JSON, lines with metrics, and their colour
 * sequences. A score that is reported is finite.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "metrics/event_lines.h"
#include "run/run_parts.h"
#include "metrics/metric_lines.h"
#include "metrics/step_file.h"

static void check_event(const struct trial_event *event)
{
    fuzz_assert(!event->has_score || isfinite(event->score));
    fuzz_assert(event->failure <= TRIAL_FAILURE_SIZE && trial_failure_name(event->failure));
}

static void read_events(const char *line, size_t length)
{
    struct trial_event event;
    const char *key;
    json_t *value, *object = event_line_read(&event, line, length, "loss");
    if (!object)
        return;
    fuzz_assert(json_is_object(object));
    check_event(&event);
    json_object_foreach(object, key, value)
        event_is_metric(&event, key, value, NULL);
    json_decref(object);
}

static void read_metrics(struct metric_lines *lines, const char *line, size_t length)
{
    struct trial_event event;
    if (!metric_lines_read(lines, &event, line, length))
        return;
    fuzz_assert(json_is_object(event.line));
    check_event(&event);
}

static void take_number(void *context, const char *name, double value)
{
    size_t *n = context;
    (void)value;
    *n += strlen(name);
}

/* The same bytes as each kind of file that a training leaves behind. */
static void read_steps(const uint8_t *data, size_t size)
{
    static const char *const paths[] = {"a.csv", "a.npz", "a.json"};
    char why[64];
    size_t n = 0;
    for (size_t i = 0; i < 3; i++)
        if (!step_file_read(paths[i], (const char *)data, size, take_number, &n, why, sizeof why))
            fuzz_assert(memchr(why, 0, sizeof why) != NULL);
}

/* What is accepted can be read again from what is kept, and is compared with itself without a difference. */
static void read_examples(const char *data, size_t size, bool npy)
{
    struct examples given, kept;
    struct examples_difference difference;
    char why[EXAMPLES_WHY_MAX];
    if (!examples_parse(&given, data, size, npy, NULL, why)) {
        fuzz_assert(*why && !given.at);
        return;
    }
    fuzz_assert(examples_parse(&kept, given.text, given.length, false, NULL, why));
    fuzz_assert(kept.n == given.n && strcmp(kept.digest, given.digest) == 0 && isfinite(kept.mean));
    fuzz_assert(examples_compare(&difference, &given, &kept, &(struct lineage_config){0}, why));
    fuzz_assert(difference.mean == 0 && difference.verdict == 0);
    examples_release(&given);
    examples_release(&kept);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"loss", "val loss", "acc"};
    const struct metric_query query = {.names = names, .n_names = 3};
    struct metric_lines named, any;
    char text[300], *stripped = malloc(size + 1);
    metric_lines_init(&named, &query, "loss");
    metric_lines_init(&any, &(struct metric_query){0}, NULL);
    fuzz_assert(stripped && metric_scan_strip(stripped, (const char *)data, size) <= size);
    for (size_t at = 0; at <= size;) {
        const char *line = (const char *)data + at, *end = at < size ? memchr(line, '\n', size - at) : NULL;
        size_t length = end ? (size_t)(end - line) : size - at;
        read_events(line, length);
        read_metrics(&named, line, length);
        read_metrics(&any, line, length);
        at += length + 1;
    }
    read_steps(data, size);
    read_examples((const char *)data, size, false);
    read_examples((const char *)data, size, true);
    metric_lines_describe(&named, text, sizeof text);
    fuzz_assert(memchr(text, 0, sizeof text) != NULL);
    metric_lines_release(&named);
    metric_lines_release(&any);
    free(stripped);
    return 0;
}
