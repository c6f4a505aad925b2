#include "run/run_parts.h"

#include <fcntl.h>
#include <unistd.h>

#include <lineage/text.h>

#include "metrics/line_reader.h"

enum { SHOWN_BYTES = 200 };

/* Where a value came from. Stream 0: a line of LINEAGE_EVENTS; 1: a printed line; 2: a file. */
struct place {
    int stream;
    uint64_t line;
    char text[SHOWN_BYTES];
};

struct dry_metrics {
    const struct trial_plan *plan;
    struct trial_results results;         /* finds the score as a real trial does */
    struct metric_values values;          /* of all metrics */
    struct place places[METRIC_VALUES_MAX]; /* of the value that counts of each of them */
    struct place score;
    uint64_t n_lines[3];                  /* per stream */
    struct place now;                     /* the line whose events arrive */
    uint64_t most;                        /* printed lines; 0: all */
    bool is_log;
    struct metric_lines lines;            /* of a saved log; a command's lines are read by its watcher */
    struct trial_job inner;               /* the job's own callbacks */
};

struct dry_metrics *dry_metrics_new(const struct trial_plan *plan, size_t lines)
{
    struct dry_metrics *dry = calloc(1, sizeof *dry);
    if (!dry)
        return NULL;
    dry->plan = plan;
    dry->most = lines;
    dry->values = (struct metric_values){.rules = plan->settings.takes, .n_rules = plan->settings.n_takes};
    trial_results_init(&dry->results, plan);
    return dry;
}

void dry_metrics_free(struct dry_metrics *dry)
{
    if (!dry)
        return;
    metric_values_reset(&dry->values);
    trial_results_release(&dry->results);
    metric_lines_release(&dry->lines);
    free(dry);
}

static void set_place(struct dry_metrics *dry, int stream, const char *text, size_t length)
{
    size_t n = length < SHOWN_BYTES - 1 ? length : SHOWN_BYTES - 1;
    dry->now.stream = stream;
    dry->now.line = ++dry->n_lines[stream];
    memcpy(dry->now.text, text, n);
    dry->now.text[n] = '\0';
    size_t shown = metric_scan_strip(dry->now.text, dry->now.text, n);
    dry->now.text[shown] = '\0';
}

static void take_value(struct dry_metrics *dry, const char *name, double value)
{
    bool decides;
    const struct metric_value *metric = metric_values_add(&dry->values, name, (struct metric_place){0, 0}, value, &decides);
    if (metric && decides)
        dry->places[metric - dry->values.metrics] = dry->now;
}

void dry_metrics_event(struct dry_metrics *dry, const struct trial_event *event)
{
    const char *name;
    json_t *value;
    if (event->channel == TRIAL_CHANNEL_EVENTS) {
        char *text = json_dumps(event->line, JSON_COMPACT);
        set_place(dry, 0, text ? text : "", text ? strlen(text) : 0);
        free(text);
    }
    if (event->file) {
        set_place(dry, 2, event->file, strlen(event->file));
        json_object_foreach((json_t *)(uintptr_t)event->line, name, value)
            metric_values_forget(&dry->values, name);
    }
    trial_results_event(&dry->results, event);
    if (dry->results.score_decided)
        dry->score = dry->now;
    json_object_foreach((json_t *)(uintptr_t)event->line, name, value)
        if (event_is_metric(event, name, value, &dry->plan->settings.metrics) || strcmp(name, "score") == 0)
            take_value(dry, name, json_number_value(value));
    if (event->not_finite)
        take_value(dry, event->not_finite, (double)NAN);
}

static bool on_line(void *context, const char *text, size_t length)
{
    struct dry_metrics *dry = context;
    set_place(dry, 1, text, length);
    return dry->most == 0 || dry->n_lines[1] < dry->most;
}

static void on_event(void *context, const struct trial_event *event)
{
    struct dry_metrics *dry = context;
    dry_metrics_event(dry, event);
    dry->inner.event(dry->inner.context, event);
}

static void on_output(void *context, const char *bytes, size_t n)
{
    const struct dry_metrics *dry = context;
    dry->inner.output(dry->inner.context, bytes, n);
}

static void on_turn(void *context)
{
    const struct dry_metrics *dry = context;
    if (dry->inner.turn)
        dry->inner.turn(dry->inner.context);
}

void dry_metrics_attach(struct dry_metrics *dry, struct trial_job *job)
{
    dry->inner = *job;
    job->line = on_line;
    job->event = on_event;
    job->output = on_output;
    job->turn = on_turn;
    job->context = dry;
}

static void take_log_line(void *context, const char *text, size_t length)
{
    struct dry_metrics *dry = context;
    struct trial_event event;
    set_place(dry, 1, text, length);
    if (!metric_lines_read(&dry->lines, &event, text, length))
        return;
    dry_metrics_event(dry, &event);
    if (dry->inner.event)
        dry->inner.event(dry->inner.context, &event);
}

int dry_metrics_read_log(struct dry_metrics *dry, const char *path)
{
    struct line_reader reader = {0};
    bool is_stdin = strcmp(path, "-") == 0;
    if (is_stdin && isatty(STDIN_FILENO))
        return cli_error(CLI_USAGE, "run: --dry-metrics reads a log: give its FILE, or a command after --");
    int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return cli_error(CLI_USAGE, "cannot read %s: %s", path, strerror(errno));
    dry->is_log = true;
    metric_lines_init(&dry->lines, &dry->plan->settings.metrics, dry->plan->settings.score);
    errno = 0;
    while (fd >= 0) {
        size_t n = line_reader_read(&reader, &fd);
        if (!n && fd >= 0 && errno != EINTR)
            break;
        metric_lines_may_be_in(&dry->lines, reader.bytes, reader.length); /* remembers the nearest line */
        line_reader_each_printed(&reader, take_log_line, dry);
    }
    int wrong = fd >= 0 ? errno : 0;
    cli_close(fd);
    line_reader_last(&reader, take_log_line, dry);
    line_reader_release(&reader);
    return wrong ? cli_error(CLI_USAGE, "cannot read %s: %s", path, strerror(wrong)) : CLI_GO_ON;
}

void dry_metrics_describe(const struct dry_metrics *dry, struct trial_outcome *outcome)
{
    metric_lines_describe(&dry->lines, outcome->looked, sizeof outcome->looked);
    metric_lines_say(&dry->lines);
    outcome->doubt = metric_lines_doubt(&dry->lines);
}

/* Writes why the metric is the score. */
static void explain(const struct dry_metrics *dry, char *text, size_t size)
{
    static const char *const channels[] = {
        [TRIAL_CHANNEL_NONE] = "",
        [TRIAL_CHANNEL_ONLY] = "a METRIC line",
        [TRIAL_CHANNEL_NAMED] = "its name",
        [TRIAL_CHANNEL_METRIC] = "a METRIC line",
        [TRIAL_CHANNEL_PATTERN] = "its pattern",
        [TRIAL_CHANNEL_EVENTS] = "LINEAGE_EVENTS",
        [TRIAL_CHANNEL_FILE] = "its file",
    };
    const struct trial_settings *settings = &dry->plan->settings;
    const struct metric_query *query = &settings->metrics;
    const char *why = "it is called score";
    if (dry->results.score_channel == TRIAL_CHANNEL_FILE)
        why = "--metric-file names it";
    else if (dry->results.score_channel == TRIAL_CHANNEL_ONLY)
        why = "it is the only metric after METRIC";
    else if (settings->score && query->n_names && strcmp(query->names[0], settings->score) == 0)
        why = "it is the first --metric";
    else if (settings->score && query->n_patterns && strcmp(metric_pattern_name(query->patterns[0]), settings->score) == 0)
        why = "it is the first --metric-regex";
    else if (settings->score)
        why = "--score names it";
    snprintf(text, size, "%s; found by %s", why, channels[dry->results.score_channel]);
}

static const char *score_name(const struct dry_metrics *dry)
{
    const char *name = trial_results_score_name(&dry->results);
    return name ? name : "score";
}

static void place_text(const struct dry_metrics *dry, const struct place *place, char *out, size_t size)
{
    static const char *const streams[] = {"LINEAGE_EVENTS", "output", "file"};
    if (place->stream == 2)
        snprintf(out, size, "file");
    else if (dry->is_log)
        snprintf(out, size, "%llu", (unsigned long long)place->line);
    else
        snprintf(out, size, "%s:%llu", streams[place->stream], (unsigned long long)place->line);
}

static int print_json(const struct dry_metrics *dry, const char *missing, bool finished)
{
    char where[64], how[64], why[160];
    json_t *root = json_object(), *metrics = json_array();
    for (size_t i = 0; i < dry->values.n; i++) {
        const struct metric_value *metric = &dry->values.metrics[i];
        place_text(dry, &dry->places[i], where, sizeof where);
        json_array_append_new(metrics,
                              json_pack("{s:o, s:o, s:s, s:I, s:s, s:o}", "name", cli_json_text(metric->rule.name), "value",
                                        cli_json_number(metric->value), "takes", metric_rule_text(how, &metric->rule), "values",
                                        (json_int_t)metric->count, "line", where, "text", cli_json_text(dry->places[i].text)));
    }
    json_object_set_new(root, "metrics", metrics);
    if (dry->results.score.present) {
        explain(dry, why, sizeof why);
        place_text(dry, &dry->score, where, sizeof where);
        json_object_set_new(root, "score",
                            json_pack("{s:o, s:o, s:s, s:s, s:o}", "name", cli_json_text(score_name(dry)), "value",
                                      cli_json_number(dry->results.score.value), "why", why, "line", where, "text",
                                      cli_json_text(dry->score.text)));
    } else {
        cli_json_set(root, "score", json_null(), "missing", cli_json_text(missing), NULL);
    }
    cli_json_answer(root);
    return dry->results.score.present && finished ? CLI_OK : CLI_NO;
}

int dry_metrics_print(const struct dry_metrics *dry, const struct trial_outcome *outcome, enum cli_format format)
{
    char where[64], how[64], why[160], missing[TRIAL_TEXT_MAX], number[LINEAGE_NUMBER_MAX];
    if (outcome)
        snprintf(missing, sizeof missing, "%s", outcome->looked);
    else
        metric_lines_describe(&dry->lines, missing, sizeof missing), metric_lines_say(&dry->lines);
    for (size_t i = 0; i < dry->plan->settings.n_takes; i++)
        if (!metric_values_find(&dry->values, dry->plan->settings.takes[i].name))
            cli_error(CLI_NO, "--metric-take %s: no value of that name was read", dry->plan->settings.takes[i].name);
    bool finished = !outcome || outcome->end == TRIAL_FINISHED || (outcome->end == TRIAL_PRUNED && dry->most > 0);
    if (!finished)
        cli_error(CLI_NO, "the command did not finish%s%s", outcome->text[0] ? ": " : "", outcome->text);
    if (format == CLI_JSON)
        return print_json(dry, missing, finished);
    struct cli_list *list = cli_list_of(format, NULL, "metric,value,takes,values,line,text");
    for (size_t i = 0; i < dry->values.n; i++) {
        const struct metric_value *metric = &dry->values.metrics[i];
        place_text(dry, &dry->places[i], where, sizeof where);
        cli_list_row(list, CLI_TEXT(metric->rule.name), CLI_NUMBER(metric->value, true),
                     CLI_TEXT(metric_rule_text(how, &metric->rule)), CLI_COUNT(metric->count), CLI_TEXT(where),
                     CLI_TEXT(dry->places[i].text));
    }
    int status = cli_list_finish(list);
    if (status != CLI_OK)
        return status;
    if (!dry->results.score.present)
        return cli_error(CLI_NO, "no score: %s", dry->results.lost_score ? "its value is not a finite number" : missing);
    explain(dry, why, sizeof why);
    place_text(dry, &dry->score, where, sizeof where);
    if (format == CLI_TABLE)
        printf("score: %s %s from line %s, because %s\n", score_name(dry),
               lineage_number_format(number, dry->results.score.value), where, why);
    return finished ? CLI_OK : CLI_NO;
}
