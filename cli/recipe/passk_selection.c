#include "recipe/passk_selection.h"

#include <csv.h>

#include <rlcore/passk.h>

#include "propose/propose_math.h"
#include "cli.h"

/* A policy of a million questions has about 30 MB. */
enum { FILE_BYTES = 1 << 28, SAMPLES_MAX = 1 << 30, N_COLUMNS = 4, NO_COLUMN = -1 };
enum column { POLICY, QUESTION, SAMPLES, CORRECT };
static const char *const column_names[N_COLUMNS] = {"policy", "question", "samples", "correct"};

struct line {
    size_t number, policy;
    const char *question;
    int64_t asked, right;
};

struct reading {
    const char *path;
    struct passk_table *table;
    size_t used; /* bytes of table->text */
    size_t n_lines, room, line, column;
    struct line *lines, now;
    int place[N_COLUMNS]; /* of a column in the file */
    unsigned seen;        /* columns of the line, one bit each */
    bool failed;
};

static void fail(struct reading *r, const char *what, const char *text)
{
    if (!r->failed)
        cli_error(CLI_USAGE, "%s:%zu: %s%s", r->path, r->line, what, text);
    r->failed = true;
}

/* ---- cells ---- */

/* Texts lie one after another in table->text, which has room for the whole file and never moves. */
static char *keep(struct reading *r, const char *text, size_t length)
{
    char *to = r->table->text + r->used;
    memcpy(to, text, length);
    to[length] = '\0';
    r->used += length + 1;
    return to;
}

static size_t policy_of(struct reading *r, const char *name, size_t length)
{
    struct passk_table *t = r->table;
    for (size_t i = t->n; i-- > 0;)
        if (strlen(t->names[i]) == length && memcmp(t->names[i], name, length) == 0)
            return i;
    if (!CLI_ROOM(t->names, t->n, t->room)) {
        fail(r, "out of memory", "");
        return 0;
    }
    t->names[t->n] = keep(r, name, length);
    return t->n++;
}

static int64_t count_of(struct reading *r, const char *text)
{
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || errno || value < 0 || value > SAMPLES_MAX)
        fail(r, "samples and correct must be whole numbers from 0, at most 2^30, but one is ", *text ? text : "empty");
    return value;
}

static void take_cell(struct reading *r, enum column column, const char *text, size_t length)
{
    r->seen |= 1u << column;
    if (strlen(text) != length)
        fail(r, "a cell contains a NUL byte", "");
    else if (column == POLICY)
        r->now.policy = policy_of(r, text, length);
    else if (column == QUESTION)
        r->now.question = keep(r, text, length);
    else if (column == SAMPLES)
        r->now.asked = count_of(r, text);
    else
        r->now.right = count_of(r, text);
}

/* libcsv ends a cell with NUL, because the parser is opened with CSV_APPEND_NULL. */
static void on_cell(void *cell, size_t length, void *context)
{
    struct reading *r = context;
    const char *text = cell ? cell : "";
    for (int i = 0; i < N_COLUMNS && !r->failed; i++)
        if (r->line == 1 && strcmp(text, column_names[i]) == 0)
            r->place[i] = (int)r->column;
        else if (r->line > 1 && r->place[i] == (int)r->column)
            take_cell(r, (enum column)i, text, length);
    r->column++;
}

static void end_header(struct reading *r)
{
    for (int i = 0; i < N_COLUMNS; i++)
        if (r->place[i] == NO_COLUMN)
            fail(r, "the first line must name the columns policy, question, samples and correct; it lacks ", column_names[i]);
}

static void on_line(int end, void *context)
{
    struct reading *r = context;
    (void)end;
    if (r->line == 1) {
        end_header(r);
    } else if (!r->failed) {
        if (r->seen != (1u << N_COLUMNS) - 1)
            fail(r, "the line has fewer cells than the first one", "");
        else if (r->now.asked < 1 || r->now.right > r->now.asked)
            fail(r, "samples must be at least 1, and correct at most samples", "");
        if (!CLI_ROOM(r->lines, r->n_lines, r->room))
            fail(r, "out of memory", "");
        r->now.number = r->line;
        if (!r->failed)
            r->lines[r->n_lines++] = r->now;
    }
    r->line++;
    r->column = 0;
    r->seen = 0;
}

/* ---- questions ---- */

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    int by = strcmp(a->question, b->question);
    return by ? by : (a->policy > b->policy) - (a->policy < b->policy);
}

/* Every question must have the policies 0 .. n-1, once each. */
static bool fill(struct reading *r)
{
    struct passk_table *t = r->table;
    qsort(r->lines, r->n_lines, sizeof *r->lines, compare_lines);
    for (size_t i = 0; i < r->n_lines; i++) {
        const struct line *line = &r->lines[i], *first = &r->lines[i - i % t->n];
        bool of_same = strcmp(line->question, first->question) == 0;
        if (!of_same || line->policy != i % t->n) {
            const struct line *wrong = of_same ? line : first;
            return cli_error(CLI_USAGE,
                             "%s:%zu: question '%.100s' has not exactly one line for each of the %zu policies, which are "
                             "compared question by question",
                             r->path, wrong->number, wrong->question, t->n) == CLI_GO_ON;
        }
    }
    t->n_questions = r->n_lines / t->n;
    t->asked = malloc(r->n_lines * sizeof *t->asked);
    t->right = malloc(r->n_lines * sizeof *t->right);
    t->questions = malloc(t->n_questions * sizeof *t->questions);
    if (!t->asked || !t->right || !t->questions)
        return cli_no_memory() == CLI_GO_ON;
    for (size_t i = 0; i < r->n_lines; i++) {
        size_t at = r->lines[i].policy * t->n_questions + i / t->n;
        t->asked[at] = r->lines[i].asked;
        t->right[at] = r->lines[i].right;
        t->questions[i / t->n] = r->lines[i].question;
    }
    return true;
}

static bool parse(struct reading *r, FILE *file, size_t bytes)
{
    struct csv_parser parser;
    char block[16384];
    size_t n, left = bytes;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0)
        return cli_no_memory() == CLI_GO_ON;
    while (!r->failed && left > 0 && (n = fread(block, 1, left < sizeof block ? left : sizeof block, file)) > 0) {
        left -= n;
        if (csv_parse(&parser, block, n, on_cell, on_line, r) != n)
            fail(r, csv_strerror(csv_error(&parser)), "");
    }
    if (!r->failed && csv_fini(&parser, on_cell, on_line, r) != 0)
        fail(r, csv_strerror(csv_error(&parser)), "");
    csv_free(&parser);
    if (!r->failed && r->n_lines == 0)
        fail(r, "the table has no line behind the first one", "");
    if (!r->failed && r->n_lines % r->table->n != 0)
        fail(r, "not every policy has a line for every question", "");
    return !r->failed && fill(r);
}

/* A pipe would need a growing text; a file's size says how much its cells can need. */
int passk_table_read(struct passk_table *table, const char *path)
{
    struct reading r = {.path = path, .table = table, .line = 1, .place = {NO_COLUMN, NO_COLUMN, NO_COLUMN, NO_COLUMN}};
    *table = (struct passk_table){0};
    FILE *file = fopen(path, "rbe");
    if (!file)
        return cli_error(CLI_USAGE, "cannot read %s: %s", path, strerror(errno));
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    bool done = false;
    if (size < 0 || size > FILE_BYTES || fseek(file, 0, SEEK_SET) != 0)
        cli_error(CLI_USAGE, "%s is not a file of at most %d MB", path, FILE_BYTES >> 20);
    else if (!(table->text = malloc(2 * (size_t)size + 16)))
        cli_no_memory();
    else
        done = parse(&r, file, (size_t)size);
    fclose(file);
    free(r.lines);
    return done ? CLI_GO_ON : CLI_USAGE;
}

void passk_table_release(struct passk_table *table)
{
    free(table->names);
    free(table->questions);
    free(table->asked);
    free(table->right);
    free(table->text);
    *table = (struct passk_table){0};
}

/* Counts of a policy's questions, in the order of these counts. Equal counts are adjacent, which makes a fit cheap. */
struct ordered {
    size_t *question;       /* [n_questions] */
    int64_t *asked, *right; /* [n_questions] of a resample */
};

struct choosing {
    const struct passk_selection *s;
    struct ordered *policy;  /* [n] */
    size_t *times;           /* [n_questions] how often a question is in the resample */
    double *estimate;        /* [n_k][n] of all questions */
    double *resampled;       /* [n_k][n][resamples] */
    double *best;            /* [n_k][n] resamples in which the policy is first; among equals divided */
    struct rl_error err;
};

static const int64_t *asked_of(const struct passk_selection *s, size_t policy)
{
    return s->asked + policy * s->n_questions;
}

static const int64_t *right_of(const struct passk_selection *s, size_t policy)
{
    return s->right + policy * s->n_questions;
}

/* ---- estimates ---- */

/*
 * The limits of the Beta-binomial likelihood where it has no maximum. If every question was answered always or never,
 * alpha and beta go to 0, and pass@k is the share of the former for every k; otherwise they go to infinity, and all
 * questions have the same rate.
 */
static enum rl_status estimate_limit(size_t n, const int64_t *asked, const int64_t *right, size_t n_k, const int64_t *k,
                                     double *out, struct rl_error *err)
{
    int64_t all_asked = 0, all_right = 0;
    size_t always = 0, never = 0, several = 0;
    for (size_t i = 0; i < n; i++) {
        all_asked += asked[i];
        all_right += right[i];
        always += right[i] == asked[i];
        never += right[i] == 0;
        several += asked[i] > 1;
    }
    if (always + never < n || !several)
        return rl_passk(RL_PASSK_BERNOULLI, 1, &all_asked, &all_right, n_k, k, NULL, out, err);
    for (size_t j = 0; j < n_k; j++)
        out[j] = (double)always / (double)n;
    return RL_OK;
}

static enum rl_status estimate(enum passk_estimate how, size_t n, const int64_t *asked, const int64_t *right, size_t n_k,
                               const int64_t *k, double *out, struct rl_error *err)
{
    struct rl_beta_fit fit;
    if (how == PASSK_BERNOULLI)
        return rl_passk(RL_PASSK_BERNOULLI, n, asked, right, n_k, k, NULL, out, err);
    enum rl_status status = rl_passk_beta_fit(n, asked, right, &fit, err);
    if (status == RL_ENOMAX)
        return estimate_limit(n, asked, right, n_k, k, out, err);
    return status == RL_OK ? rl_passk_beta(fit.alpha, fit.beta, n_k, k, out, err) : status;
}

/* ---- resamples ---- */

struct counted {
    int64_t asked, right;
    size_t question;
};

static int compare_counts(const void *left, const void *right)
{
    const struct counted *a = left, *b = right;
    int by = (a->asked > b->asked) - (a->asked < b->asked);
    by = by ? by : (a->right > b->right) - (a->right < b->right);
    return by ? by : (a->question > b->question) - (a->question < b->question);
}

static bool order_questions(const struct passk_selection *s, size_t policy, struct ordered *ordered)
{
    struct counted *all = malloc(s->n_questions * sizeof *all);
    ordered->question = malloc(s->n_questions * sizeof *ordered->question);
    ordered->asked = malloc(s->n_questions * sizeof *ordered->asked);
    ordered->right = malloc(s->n_questions * sizeof *ordered->right);
    bool done = all && ordered->question && ordered->asked && ordered->right;
    if (done) {
        for (size_t q = 0; q < s->n_questions; q++)
            all[q] = (struct counted){asked_of(s, policy)[q], right_of(s, policy)[q], q};
        qsort(all, s->n_questions, sizeof *all, compare_counts);
        for (size_t q = 0; q < s->n_questions; q++)
            ordered->question[q] = all[q].question;
    }
    free(all);
    return done;
}

/* Estimates a policy's pass@k on the questions of the resample; out [n_k]. */
static enum rl_status estimate_resample(struct choosing *c, size_t policy, double *out)
{
    const struct passk_selection *s = c->s;
    struct ordered *ordered = &c->policy[policy];
    size_t n = 0;
    for (size_t i = 0; i < s->n_questions; i++) {
        size_t question = ordered->question[i];
        for (size_t t = 0; t < c->times[question]; t++, n++) {
            ordered->asked[n] = asked_of(s, policy)[question];
            ordered->right[n] = right_of(s, policy)[question];
        }
    }
    return estimate(s->estimate, n, ordered->asked, ordered->right, s->n_k, s->k, out, &c->err);
}

/* Adds 1 to the count of the first policy for a k, or a share of 1 to each of several that are equal. */
static void add_best(const struct choosing *c, size_t k, const double *estimates)
{
    size_t n = c->s->n, n_k = c->s->n_k, equal = 0;
    double most = estimates[k];
    for (size_t p = 1; p < n; p++)
        most = fmax(most, estimates[p * n_k + k]);
    for (size_t p = 0; p < n; p++)
        equal += !(estimates[p * n_k + k] < most);
    for (size_t p = 0; p < n; p++)
        if (!(estimates[p * n_k + k] < most))
            c->best[k * n + p] += 1 / (double)equal;
}

static enum rl_status resample(struct choosing *c, double *estimates)
{
    const struct passk_selection *s = c->s;
    for (size_t r = 0; r < s->resamples; r++) {
        struct propose_stream stream = propose_stream_of(s->seed, 'k', r);
        memset(c->times, 0, s->n_questions * sizeof *c->times);
        for (size_t q = 0; q < s->n_questions; q++)
            c->times[(size_t)(propose_uniform(&stream) * (double)s->n_questions)]++;
        for (size_t p = 0; p < s->n; p++) {
            enum rl_status status = estimate_resample(c, p, estimates + p * s->n_k);
            if (status != RL_OK)
                return status;
            for (size_t k = 0; k < s->n_k; k++)
                c->resampled[(k * s->n + p) * s->resamples + r] = estimates[p * s->n_k + k];
        }
        for (size_t k = 0; k < s->n_k; k++)
            add_best(c, k, estimates);
    }
    return RL_OK;
}

static enum rl_status measure(struct choosing *c, double *estimates)
{
    const struct passk_selection *s = c->s;
    enum rl_status status = RL_OK;
    for (size_t p = 0; p < s->n && status == RL_OK; p++) {
        status = estimate(s->estimate, s->n_questions, asked_of(s, p), right_of(s, p), s->n_k, s->k, estimates, &c->err);
        for (size_t k = 0; k < s->n_k && status == RL_OK; k++)
            c->estimate[k * s->n + p] = estimates[k];
    }
    return status == RL_OK ? resample(c, estimates) : status;
}

/* ---- the list ---- */

/* Ties keep the order of the command line. */
static void sort_policies(const struct choosing *c, size_t k, size_t *order)
{
    const double *estimates = c->estimate + k * c->s->n;
    for (size_t i = 0; i < c->s->n; i++) {
        size_t at = i;
        for (; at > 0 && estimates[order[at - 1]] < estimates[i]; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
}

static void print_row(struct cli_list *list, struct choosing *c, size_t k, size_t place, size_t policy)
{
    const struct passk_selection *s = c->s;
    double *all = c->resampled + (k * s->n + policy) * s->resamples;
    size_t cut = (size_t)(0.025 * (double)s->resamples);
    qsort(all, s->resamples, sizeof *all, cli_by_number);
    cli_list_row(list, CLI_COUNT((size_t)s->k[k]), CLI_COUNT(place + 1), CLI_TEXT(s->names[policy]),
                 CLI_FIGURE(c->estimate[k * s->n + policy], true), CLI_FIGURE(all[cut], true),
                 CLI_FIGURE(all[s->resamples - 1 - cut], true),
                 CLI_FIGURE(c->best[k * s->n + policy] / (double)s->resamples, true));
}

static int print_list(struct choosing *c, enum cli_format format)
{
    static const char *const columns[] = {"k", "rank", "policy", "passk", "low", "high", "best"};
    struct cli_list *list = cli_list_new(format, stdout, sizeof columns / sizeof *columns, columns);
    size_t *order = malloc(c->s->n * sizeof *order);
    if (!list || !order) {
        free(order);
        return cli_no_memory();
    }
    for (size_t k = 0; k < c->s->n_k; k++) {
        sort_policies(c, k, order);
        for (size_t place = 0; place < c->s->n; place++)
            print_row(list, c, k, place, order[place]);
    }
    free(order);
    return cli_list_finish(list);
}

int passk_selection_print(const struct passk_selection *s, enum cli_format format)
{
    struct choosing c = {.s = s,
                         .policy = calloc(s->n, sizeof *c.policy),
                         .times = malloc(s->n_questions * sizeof *c.times),
                         .estimate = malloc(s->n * s->n_k * sizeof *c.estimate),
                         .resampled = malloc(s->n * s->n_k * s->resamples * sizeof *c.resampled),
                         .best = calloc(s->n * s->n_k, sizeof *c.best)};
    double *estimates = malloc(s->n * s->n_k * sizeof *estimates);
    bool ready = c.policy && c.times && c.estimate && c.resampled && c.best && estimates;
    for (size_t p = 0; p < s->n && ready; p++)
        ready = order_questions(s, p, &c.policy[p]);
    int status = ready ? CLI_OK : cli_no_memory();
    if (ready)
        status = measure(&c, estimates) == RL_OK ? print_list(&c, format) : cli_error(CLI_USAGE, "%s", c.err.text);
    for (size_t p = 0; c.policy && p < s->n; p++) {
        free(c.policy[p].question);
        free(c.policy[p].asked);
        free(c.policy[p].right);
    }
    free(c.policy);
    free(c.times);
    free(c.estimate);
    free(c.resampled);
    free(c.best);
    free(estimates);
    return status;
}

int passk_rates_print(const struct passk_selection *s, FILE *out, enum cli_format format)
{
    static const char *const columns[] = {"question", "policy", "samples", "correct", "rate", "fitted"};
    struct cli_list *list = cli_list_new(format, out, sizeof columns / sizeof *columns, columns);
    struct rl_beta_fit *fit = calloc(s->n, sizeof *fit); /* alpha 0: no fit */
    struct rl_error err;
    if (!list || !fit) {
        free(fit);
        return cli_no_memory();
    }
    for (size_t p = 0; p < s->n; p++)
        if (rl_passk_beta_fit(s->n_questions, asked_of(s, p), right_of(s, p), &fit[p], &err) != RL_OK)
            fit[p].alpha = 0;
    for (size_t q = 0; q < s->n_questions; q++)
        for (size_t p = 0; p < s->n; p++) {
            double asked = (double)asked_of(s, p)[q], right = (double)right_of(s, p)[q];
            if (s->questions)
                cli_list_text(list, s->questions[q]);
            else
                cli_list_count(list, q);
            cli_list_row(list, CLI_TEXT(s->names[p]), CLI_COUNT((size_t)asked), CLI_COUNT((size_t)right),
                         CLI_FIGURE(right / asked, true),
                         CLI_FIGURE((right + fit[p].alpha) / (asked + fit[p].alpha + fit[p].beta), fit[p].alpha > 0));
        }
    free(fit);
    return cli_list_finish(list);
}
