/*
 * replay_bench.c: judges released logs again, by the noise that their own replicas show.
 *
 *   replay_bench [--json] [--direction lower|higher] [--metric COLUMN] [--labels FILE] [LOG...]
 *
 * LOG is a results.tsv, or a directory that has one (raw/results.tsv in a case). Without LOG it reads every
 * ../shared/lineage-cases/run-NAME/raw/results.tsv, with the labels ../shared/ideas/labels/NAME.jsonl where there are any.
 * Nothing is written beside a log: it is copied into a temporary directory. Prints a table in Markdown, or JSON.
 *
 * Four questions for each log:
 *
 * keeps     How many of its keeps improved on the best before them by more than chance? The noise is the pooled standard
 *           deviation of replicas (lineage/replicas.h) with f degrees of freedom; the difference of two single scores must
 *           exceed t * sqrt(2) * noise, where t is the two-sided 95 % quantile of Student's distribution with f degrees of
 *           freedom, and, in the second count, the quantile for 0.05 / n with n measured trials (Bonferroni).
 *           A log without replicas that ran to the end is judged by its repeats: the same idea on two bases should gain the
 *           same. With d the difference of the two gains over the parents' scores, noise = median |d| / 2 / 0.6745 (for one
 *           parent, d of the scores and sqrt(2) instead of 2), and f = 0.37 times the pairs, the efficiency of a median
 *           absolute deviation (Rousseeuw and Croux, JASA 88, 1993). Bases matter a little, so this noise is an upper bound.
 *
 * luck      How much of the best score is luck? The best of many noisy scores is too good by the winner's curse. Let g be the
 *           gain of a trial over its parent's score (or over the best before it). With normal effects and noise, Tweedie's
 *           formula (Efron, "Tweedie's formula and selection bias", JASA 106, 2011, section 2) expects of the best trial's
 *           score the luck noise^2 / s^2 * (g - m), where m and s^2 are middle and variance of the gains of all measured
 *           trials, taken from the median and the median absolute deviation, because a few very bad trials would hide it.
 *           That is what luck adds on average; next to it is the share of the whole gain that came in keeps below the floor,
 *           which may all be luck.
 *
 * repeats   How many trials repeat an earlier one, and how many of these does `lineage similar` call the same before they
 *           run? Without labels only the second number is known.
 *
 * walls     How many trials that ended at a limit (size_blocked, both overruns) could be foreseen? An earlier trial with the
 *           same label must be called the same, or have moved one setting in the same direction at most as far. The rule
 *           is applied to measured trials as well: those are false alarms.
 */
#include <glob.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <lineage/query.h>
#include <lineage/replicas.h>

#include "statistics/student.h"

enum { LOGS_MAX = 32, NEAREST = 5, NAME_MAX_SHOWN = 48 };
static const double level = 0.05;

struct trial {
    char id[64];
    enum lineage_label status;
    struct lineage_number score; /* larger is better: negated where lower is better */
    double seconds;
};

struct answer {
    char name[NAME_MAX_SHOWN];
    size_t trials, measured, keeps;
    double noise;
    size_t freedom, replicas, pairs; /* replicas or, without any, pairs of repeats */
    double floor, floor_all;                      /* what an improvement must exceed; NAN: no replicas */
    size_t above, above_all, kept_again;          /* keeps above either floor; keeps if the log is judged anew */
    double gain, luck;                            /* of the best, against the first kept trial; NAN: unknown */
    double gain_below;                            /* part of the gain that came in keeps below the floor */
    bool labelled;
    size_t repeats, found, false_repeats, called; /* called: `same`, whether or not it is labelled */
    double hours, hours_found;
    size_t walls, foreseen, measured_flagged;
};

struct log {
    struct lineage_store *store;
    struct lineage_ideas *ideas;
    struct trial *trials; /* [n] */
    size_t n;
    bool *repeat; /* [n] by the labels; NULL: there are none */
    size_t *earlier; /* [n] the latest trial that it repeats, by the labels or as called; SIZE_MAX: none */
};

struct request {
    const char *direction, *metric, *labels;
    bool json;
};

static bool is_measured(const struct trial *t)
{
    return lineage_label_is_measured(t->status) && t->score.present && isfinite(t->score.value);
}

/* ---- reading a log ---- */

static bool copy_file(const char *from, const char *to)
{
    char buffer[1 << 16];
    size_t n;
    FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wb") : NULL;
    bool good = out != NULL;
    while (good && (n = fread(buffer, 1, sizeof buffer, in)) > 0)
        good = fwrite(buffer, 1, n, out) == n;
    good = good && !ferror(in);
    if (in)
        fclose(in);
    return (!out || fclose(out) == 0) && good;
}

/* The score column of a log without settings: the first of these that its header has. */
static const char *score_column(const char *log)
{
    static const char *const columns[] = {"core_metric", "val_bpb", "train_s"};
    char header[4096] = "";
    FILE *in = fopen(log, "rb");
    if (in && !fgets(header, sizeof header, in))
        header[0] = '\0';
    if (in)
        fclose(in);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        if (strstr(header, columns[i]))
            return columns[i];
    return NULL;
}

static enum lineage_status load_trials(struct log *log, double sign, struct lineage_error *err)
{
    struct lineage_cursor *cursor;
    struct lineage_trial row = {0};
    const struct lineage_query all = {.labels = 0};
    size_t n = lineage_ideas_count(log->ideas);
    log->trials = calloc(n + 1, sizeof *log->trials);
    log->earlier = calloc(n + 1, sizeof *log->earlier);
    if (!log->trials || !log->earlier)
        return LINEAGE_ENOMEM;
    enum lineage_status status = lineage_query_open(&cursor, log->store, &all, err);
    while (status == LINEAGE_OK && log->n < n && (status = lineage_cursor_next(cursor, &row, err)) == LINEAGE_OK) {
        struct trial *t = &log->trials[log->n++];
        snprintf(t->id, sizeof t->id, "%s", row.exp_id);
        t->status = row.status;
        t->score = row.score;
        t->score.value *= sign;
        log->earlier[log->n - 1] = SIZE_MAX;
        t->seconds = row.total_s.present && row.total_s.value > 0 ? row.total_s.value : 0;
    }
    lineage_cursor_close(cursor);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Without --direction: that of the differences of most keeps, which their harness wrote. */
static enum lineage_direction guess_direction(struct lineage_ideas *ideas)
{
    size_t rising = 0, falling = 0;
    for (size_t i = 0; i < lineage_ideas_count(ideas); i++) {
        const struct lineage_idea *idea = lineage_ideas_get(ideas, i);
        if (idea->status != LINEAGE_KEEP || !idea->delta_vs_best.present)
            continue;
        rising += idea->delta_vs_best.value > 0;
        falling += idea->delta_vs_best.value < 0;
    }
    return rising > falling ? LINEAGE_HIGHER : LINEAGE_LOWER;
}

static bool open_log(struct log *log, const char *dir, const char *file, const struct request *request, struct lineage_error *err)
{
    enum lineage_direction direction = LINEAGE_DIRECTION_DEFAULT;
    struct lineage_open_options options = {.metric = request->metric ? request->metric : score_column(file), .no_mirror = true};
    if (request->direction)
        direction = strcmp(request->direction, "higher") == 0 ? LINEAGE_HIGHER : LINEAGE_LOWER;
    if (lineage_store_open(&log->store, dir, &options, err) != LINEAGE_OK ||
        lineage_ideas_load(&log->ideas, log->store, err) != LINEAGE_OK)
        return false;
    if (direction == LINEAGE_DIRECTION_DEFAULT)
        direction = guess_direction(log->ideas);
    return load_trials(log, direction == LINEAGE_HIGHER ? 1 : -1, err) == LINEAGE_OK;
}

static void close_log(struct log *log)
{
    lineage_ideas_release(log->ideas);
    lineage_store_close(log->store);
    free(log->trials);
    free(log->repeat);
    free(log->earlier);
}

/* Reads which trials repeat an earlier one: {"exp_id": "006", "same": ["003"], ..} on each line. */
static bool read_labels(struct log *log, const char *file)
{
    FILE *in = fopen(file, "rb");
    char *line = NULL;
    size_t size = 0;
    log->repeat = in ? calloc(log->n + 1, sizeof *log->repeat) : NULL;
    while (log->repeat && getline(&line, &size, in) > 0) {
        json_t *label = json_loads(line, 0, NULL);
        size_t i;
        const char *id = json_string_value(json_object_get(label, "exp_id"));
        const json_t *same = json_object_get(label, "same");
        size_t n = json_array_size(same);
        const char *latest = n ? json_string_value(json_array_get(same, n - 1)) : NULL;
        if (id && lineage_ideas_find(&i, log->ideas, id) && i < log->n) {
            log->repeat[i] = n > 0;
            if (!latest || !lineage_ideas_find(&log->earlier[i], log->ideas, latest))
                log->earlier[i] = SIZE_MAX;
        }
        json_decref(label);
    }
    free(line);
    if (in)
        fclose(in);
    return log->repeat != NULL;
}

/* ---- keeps ---- */

/* Counts the keeps that were better than the best kept trial before them by more than `floor`. */
static size_t keeps_above(const struct log *log, double floor)
{
    struct lineage_number best = {0};
    size_t n = 0;
    for (size_t i = 0; i < log->n; i++) {
        const struct trial *t = &log->trials[i];
        if (!is_measured(t) || !lineage_label_is_kept(t->status))
            continue;
        n += t->status == LINEAGE_KEEP && (!best.present || t->score.value - best.value > floor);
        if (!best.present || t->score.value > best.value)
            best = (struct lineage_number){true, t->score.value};
    }
    return n;
}

/* Counts the keeps of the log if every measured trial had been judged by this floor. */
static size_t judge_again(const struct log *log, double floor)
{
    struct lineage_number best = {0};
    size_t n = 0;
    for (size_t i = 0; i < log->n; i++) {
        const struct trial *t = &log->trials[i];
        if (!is_measured(t) || (best.present && t->score.value - best.value <= floor))
            continue;
        n += best.present;
        best = (struct lineage_number){true, t->score.value};
    }
    return n;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, by_value);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* The measured parent of a trial; NULL if it has none. */
static const struct trial *parent_of(const struct log *log, size_t trial)
{
    size_t i;
    const char *id = lineage_ideas_get(log->ideas, trial)->parent_exp;
    bool found = id && *id && lineage_ideas_find(&i, log->ideas, id) && i < trial && is_measured(&log->trials[i]);
    return found ? &log->trials[i] : NULL;
}

/* Estimates the noise from repeats of one idea. Fewer than FEWEST_PAIRS show nothing. */
static bool estimate_from_repeats(struct answer *a, const struct log *log)
{
    enum { FEWEST_PAIRS = 5 };
    double *d = calloc(log->n + 1, sizeof *d);
    size_t n = 0;
    for (size_t i = 0; d && i < log->n; i++) {
        size_t k = log->earlier[i];
        if (k >= log->n || !is_measured(&log->trials[i]) || !is_measured(&log->trials[k]))
            continue;
        const struct trial *base = parent_of(log, i), *other = parent_of(log, k);
        double difference = log->trials[i].score.value - log->trials[k].score.value;
        if (base && base == other)
            d[n++] = fabs(difference) / sqrt(2);
        else if (base && other)
            d[n++] = fabs(difference - (base->score.value - other->score.value)) / 2;
    }
    if (n >= FEWEST_PAIRS) {
        a->pairs = n;
        a->noise = median(d, n) / 0.6745;
        a->freedom = (size_t)fmax(1, 0.37 * (double)n);
    }
    free(d);
    return d != NULL;
}

static bool answer_keeps(struct answer *a, const struct log *log, struct lineage_error *err)
{
    struct lineage_replicas replicas;
    if (lineage_replicas_find(&replicas, log->ideas, err) != LINEAGE_OK)
        return false;
    a->noise = replicas.noise;
    a->freedom = replicas.freedom;
    a->replicas = replicas.scored;
    lineage_replicas_release(&replicas);
    if (!a->freedom && !estimate_from_repeats(a, log))
        return false;
    for (size_t i = 0; i < log->n; i++) {
        a->measured += is_measured(&log->trials[i]);
        a->keeps += log->trials[i].status == LINEAGE_KEEP;
    }
    a->floor = a->floor_all = NAN;
    if (!a->freedom || !a->measured)
        return true;
    double deviation = sqrt(2) * a->noise;
    a->floor = deviation * student_quantile(level, (double)a->freedom);
    a->floor_all = deviation * student_quantile(level / (double)a->measured, (double)a->freedom);
    a->above = keeps_above(log, a->floor);
    a->above_all = keeps_above(log, a->floor_all);
    a->kept_again = judge_again(log, a->floor);
    return true;
}

/* ---- luck ---- */

static bool answer_luck(struct answer *a, const struct log *log)
{
    double *gains = calloc(a->measured + 1, sizeof *gains), first = NAN, best = NAN, gain_of_best = 0;
    size_t n = 0;
    a->gain = a->luck = NAN;
    if (!gains)
        return false;
    for (size_t i = 0; i < log->n; i++) {
        const struct trial *t = &log->trials[i], *parent = parent_of(log, i);
        if (!is_measured(t))
            continue;
        double gain = t->score.value - (parent ? parent->score.value : best);
        if (!isnan(gain))
            gains[n++] = gain;
        if (lineage_label_is_kept(t->status) && !(t->score.value <= best)) {
            a->gain_below += t->score.value - best <= a->floor ? t->score.value - best : 0;
            gain_of_best = gain;
            best = t->score.value;
            first = isnan(first) ? best : first;
        }
    }
    a->gain = best - first;
    if (n > 2 && a->freedom && a->gain > 0) {
        double middle = median(gains, n);
        for (size_t i = 0; i < n; i++)
            gains[i] = fabs(gains[i] - middle);
        double spread = 1.4826 * median(gains, n), share = spread > 0 ? a->noise * a->noise / (spread * spread) : 0;
        a->luck = fmax(0, fmin(1, share) * (gain_of_best - middle));
    }
    free(gains);
    return true;
}

/* ---- repeats and walls ---- */

static bool is_wall(enum lineage_label label)
{
    return label == LINEAGE_SIZE_BLOCKED || label == LINEAGE_TRAIN_BUDGET_OVERRUN || label == LINEAGE_EVAL_BUDGET_OVERRUN;
}

/* Whether the earlier trial moved a setting of this one in the same direction and at most as far. Without the old value
 * only an equal one counts. */
static bool went_as_far(const struct lineage_ideas *ideas, size_t earlier, size_t trial)
{
    struct lineage_change now, then;
    for (size_t i = 0; lineage_ideas_change_at(&now, ideas, trial, i); i++)
        for (size_t k = 0; lineage_ideas_change_at(&then, ideas, earlier, k); k++) {
            if (strcmp(now.knob, then.knob) != 0 || !now.to_value.present || !then.to_value.present)
                continue;
            double base = now.from_value.present    ? now.from_value.value
                          : then.from_value.present ? then.from_value.value
                                                    : now.to_value.value;
            double moved = now.to_value.value - base, before = then.to_value.value - base;
            if (lineage_quantity_equal(now.to, then.to) || (moved * before > 0 && fabs(before) <= fabs(moved)))
                return true;
        }
    return false;
}

/* Whether an earlier trial that ended at a limit says that this one will. label is that of the trial if it ended at a
 * limit; otherwise any limit counts, because a false alarm may name any. */
static bool is_foreseen(const struct log *log, const struct lineage_similar_list *similar, size_t trial, enum lineage_label label)
{
    for (size_t i = 0; i < similar->n; i++) {
        enum lineage_label then = log->trials[similar->items[i].trial].status;
        if (similar->items[i].same && (is_wall(label) ? then == label : is_wall(then)))
            return true;
    }
    for (size_t i = 0; i < trial; i++) {
        enum lineage_label then = log->trials[i].status;
        if ((is_wall(label) ? then == label : is_wall(then)) && went_as_far(log->ideas, i, trial))
            return true;
    }
    return false;
}

static void count_repeat(struct answer *a, const struct log *log, size_t i, bool called)
{
    bool repeat = log->repeat && log->repeat[i];
    a->hours += log->trials[i].seconds / 3600;
    a->called += called;
    a->repeats += repeat;
    a->found += repeat && called;
    a->false_repeats += log->repeat && called && !repeat;
    if (called && (repeat || !log->repeat))
        a->hours_found += log->trials[i].seconds / 3600;
}

static bool answer_repeats_and_walls(struct answer *a, const struct log *log, struct lineage_error *err)
{
    a->labelled = log->repeat != NULL;
    for (size_t i = 0; i < log->n; i++) {
        struct lineage_similar_list similar;
        bool called = false;
        if (lineage_ideas_similar(&similar, log->ideas, i, false, NEAREST, err) != LINEAGE_OK)
            return false;
        for (size_t k = 0; k < similar.n; k++)
            called = called || similar.items[k].same;
        for (size_t k = 0; !log->repeat && k < similar.n; k++)
            if (similar.items[k].same && (log->earlier[i] == SIZE_MAX || similar.items[k].trial > log->earlier[i]))
                log->earlier[i] = similar.items[k].trial;
        count_repeat(a, log, i, called);
        enum lineage_label label = log->trials[i].status;
        bool foreseen = (is_wall(label) || is_measured(&log->trials[i])) && is_foreseen(log, &similar, i, label);
        a->walls += is_wall(label);
        a->foreseen += is_wall(label) && foreseen;
        a->measured_flagged += !is_wall(label) && foreseen;
        lineage_similar_release(&similar);
    }
    return true;
}

/* ---- a log ---- */

static bool answer_log(struct answer *a, const char *dir, const char *file, const char *labels, const struct request *request)
{
    struct log log = {0};
    struct lineage_error err = {.text = "out of memory"};
    bool good = open_log(&log, dir, file, request, &err);
    if (good && labels && !read_labels(&log, labels) && request->labels) {
        snprintf(err.text, sizeof err.text, "cannot read the labels %.400s", labels);
        good = false;
    }
    good = good && answer_repeats_and_walls(a, &log, &err) && answer_keeps(a, &log, &err) && answer_luck(a, &log);
    a->trials = log.n;
    close_log(&log);
    if (!good)
        fprintf(stderr, "replay_bench: %s: %s\n", file, err.text);
    return good;
}

/* The name of a case (run-NAME/raw/results.tsv is NAME), or of the directory that has the log. */
static void name_of(char name[NAME_MAX_SHOWN], const char *file)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", file);
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            break;
        *slash = '\0';
        slash = strrchr(path, '/');
        if (strcmp(slash ? slash + 1 : path, "raw") != 0)
            break;
    }
    const char *last = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    snprintf(name, NAME_MAX_SHOWN, "%.47s", strncmp(last, "run-", 4) == 0 ? last + 4 : last);
}

/* Copies the log, and settings beside it, into a directory of its own, because opening a store writes into it. */
static bool replay(struct answer *a, const char *path, const struct request *request)
{
    char file[PATH_MAX], settings[PATH_MAX], labels[PATH_MAX], to[PATH_MAX], dir[] = "/tmp/replay-XXXXXX";
    struct stat st;
    bool is_dir = stat(path, &st) == 0 && S_ISDIR(st.st_mode);
    snprintf(file, sizeof file, "%.4000s%s", path, is_dir ? "/results.tsv" : "");
    if (is_dir && access(file, R_OK) != 0)
        snprintf(file, sizeof file, "%.4000s/raw/results.tsv", path);
    name_of(a->name, file);
    snprintf(settings, sizeof settings, "%.*s/lineage.json", (int)(strlen(file) - strlen("/results.tsv")), file);
    snprintf(labels, sizeof labels, "../shared/ideas/labels/%s.jsonl", a->name);
    if (!mkdtemp(dir)) {
        perror("replay_bench: /tmp");
        return false;
    }
    snprintf(to, sizeof to, "%s/results.tsv", dir);
    bool good = copy_file(file, to);
    if (!good)
        fprintf(stderr, "replay_bench: cannot read %s\n", file);
    snprintf(to, sizeof to, "%s/lineage.json", dir);
    if (good && access(settings, R_OK) == 0)
        good = copy_file(settings, to);
    const char *use = request->labels ? request->labels : access(labels, R_OK) == 0 ? labels : NULL;
    good = good && answer_log(a, dir, file, use, request);
    static const char *const left[] = {"results.tsv", "lineage.json",   ".results.tsv.digests",
                                       "lineage.db",  "lineage.db-wal", "lineage.db-shm"};
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        snprintf(to, sizeof to, "%s/%s", dir, left[i]);
        unlink(to);
    }
    rmdir(dir);
    return good;
}

/* ---- output ---- */

static void print_share(double part, double whole)
{
    if (whole > 0 && isfinite(part))
        printf(" (%.0f %%)", 100 * part / whole);
}

static void print_noise(const struct answer *a)
{
    if (a->pairs)
        printf(" at most %.2g (%zu repeats of an idea, no replicas)", a->noise, a->pairs);
    else if (a->freedom)
        printf(" %.2g (%zu replicas)", a->noise, a->replicas);
    else
        printf(" no replicas");
}

static void print_keeps(const struct answer *a)
{
    if (isnan(a->floor))
        printf(" unknown, of %zu", a->keeps);
    else
        printf(" %zu of %zu; %zu counting all %zu comparisons", a->above, a->keeps, a->above_all, a->measured);
}

static void print_luck(const struct answer *a)
{
    if (isnan(a->luck)) {
        printf(" unknown");
        return;
    }
    printf(" %.2g of %.2g", a->luck, a->gain);
    print_share(fmin(a->luck, a->gain), a->gain);
    printf("; %.0f %% came in keeps below the floor", 100 * a->gain_below / a->gain);
}

static void print_repeats(const struct answer *a)
{
    if (a->labelled)
        printf(" %zu of %zu, %zu false alarms", a->found, a->repeats, a->false_repeats);
    else
        printf(" %zu called the same, no labels", a->called);
}

static void print_hours(const struct answer *a)
{
    printf(" %.1f of %.1f h", a->hours_found, a->hours);
}

static void print_walls(const struct answer *a)
{
    printf(" %zu of %zu", a->foreseen, a->walls);
    print_share((double)a->foreseen, (double)a->walls);
    printf(", %zu of %zu measured ones called", a->measured_flagged, a->measured);
}

static void print_table(const struct answer *answers, size_t n)
{
    static const struct {
        const char *question;
        void (*print)(const struct answer *a);
    } rows[] = {{"noise between equal trials", print_noise},   {"keeps above the noise floor", print_keeps},
                {"gain of the best that is luck", print_luck}, {"repeats that a search finds", print_repeats},
                {"time of these repeats", print_hours},        {"ends at a limit that were foreseeable", print_walls}};
    printf("| |");
    for (size_t i = 0; i < n; i++)
        printf(" %s (%zu trials) |", answers[i].name, answers[i].trials);
    printf("\n|---|");
    for (size_t i = 0; i < n; i++)
        printf("---|");
    putchar('\n');
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        printf("| %s |", rows[r].question);
        for (size_t i = 0; i < n; i++) {
            rows[r].print(&answers[i]);
            printf(" |");
        }
        putchar('\n');
    }
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *answer_json(const struct answer *a)
{
    const struct {
        const char *name;
        size_t value;
    } counts[] = {{"trials", a->trials},
                  {"measured", a->measured},
                  {"keeps", a->keeps},
                  {"replicas", a->replicas},
                  {"pairs", a->pairs},
                  {"freedom", a->freedom},
                  {"keeps_above_floor", a->above},
                  {"keeps_above_floor_all", a->above_all},
                  {"keeps_judged_again", a->kept_again},
                  {"called_same", a->called},
                  {"walls", a->walls},
                  {"walls_foreseen", a->foreseen},
                  {"measured_called", a->measured_flagged}};
    json_t *object = json_pack("{s:s, s:b}", "log", a->name, "labelled", a->labelled);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_object_set_new(object, counts[i].name, json_integer((json_int_t)counts[i].value));
    json_object_set_new(object, "noise", a->freedom ? number(a->noise) : json_null());
    json_object_set_new(object, "floor", number(a->floor));
    json_object_set_new(object, "floor_all", number(a->floor_all));
    json_object_set_new(object, "gain", number(a->gain));
    json_object_set_new(object, "luck", number(a->luck));
    json_object_set_new(object, "gain_below_floor", isnan(a->floor) ? json_null() : number(a->gain_below));
    json_object_set_new(object, "hours", number(a->hours));
    json_object_set_new(object, "hours_found", number(a->hours_found));
    json_object_set_new(object, "repeats", a->labelled ? json_integer((json_int_t)a->repeats) : json_null());
    json_object_set_new(object, "repeats_found", a->labelled ? json_integer((json_int_t)a->found) : json_null());
    json_object_set_new(object, "false_repeats", a->labelled ? json_integer((json_int_t)a->false_repeats) : json_null());
    return object;
}

static int print_answers(const struct answer *answers, size_t n, bool as_json)
{
    if (!as_json) {
        print_table(answers, n);
        return 0;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, answer_json(&answers[i]));
    int failed = json_dumpf(list, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(list);
    return failed ? 3 : 0;
}

static int usage(void)
{
    fputs("usage: replay_bench [--json] [--direction lower|higher] [--metric COLUMN] [--labels FILE] [LOG...]\n", stderr);
    return 2;
}

/* Returns the index of the first LOG, or 0 for wrong options. */
static int read_options(struct request *request, int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        const char **value = strcmp(argv[i], "--direction") == 0 ? &request->direction
                             : strcmp(argv[i], "--metric") == 0  ? &request->metric
                             : strcmp(argv[i], "--labels") == 0  ? &request->labels
                                                                 : NULL;
        if (strcmp(argv[i], "--json") == 0)
            request->json = true;
        else if (value && i + 1 < argc)
            *value = argv[++i];
        else
            return 0;
    }
    bool known = !request->direction || strcmp(request->direction, "lower") == 0 || strcmp(request->direction, "higher") == 0;
    return known && (!request->labels || argc - i == 1) ? i : 0;
}

int main(int argc, char **argv)
{
    struct request request = {0};
    static struct answer answers[LOGS_MAX];
    glob_t cases = {0};
    int first = read_options(&request, argc, argv);
    if (!first)
        return usage();
    char **logs = argv + first;
    size_t n = (size_t)(argc - first);
    if (!n && glob("../shared/lineage-cases/run-*/raw/results.tsv", 0, NULL, &cases) == 0) {
        logs = cases.gl_pathv;
        n = cases.gl_pathc;
    }
    if (!n || n > LOGS_MAX) {
        fprintf(stderr, "replay_bench: %s %d\n", n ? "more than" : "there are no logs; name some, at most", LOGS_MAX);
        globfree(&cases);
        return 2;
    }
    int status = 0;
    for (size_t i = 0; i < n && !status; i++)
        status = replay(&answers[i], logs[i], &request) ? 0 : 3;
    globfree(&cases);
    return status ? status : print_answers(answers, n, request.json);
}
