/*
 * import_log.c: imports a log that was kept by hand: rewrites it in memory as a file with the columns that a store needs,
 * which import.c then imports.
 *
 * The rules follow the loop that writes such logs (karpathy/autoresearch): each trial starts from the last one that was
 * kept, and a trial that is not kept is reset.
 */
#include <lineage/verify.h>

#include <fcntl.h>
#include <math.h>

#include <lineage/text.h>

#include "../files/fs.h"
#include "../format/row.h"
#include "id_set.h"
#include "import.h"
#include "verdict.h"

enum { COLUMNS_MAX = 512 };

struct converting {
    const struct lineage_store *store;
    const struct lineage_convert_options *options;
    struct tsv_reader *reader;
    struct arena arena; /* of the whole log, because parents are remembered */
    struct buf out;
    const char *names[COLUMNS_MAX]; /* [n] of the header, renamed; NULL until the header was read */
    size_t n;
    int id, status, parent, score; /* cells of these columns; -1: the log has none */
    struct id_set ids;
    size_t rows;
    const char *kept; /* the last kept row */
    bool has_best;
    double best;
};

/* Words that other logs use for a label. */
static const struct {
    const char *word;
    enum lineage_label label;
} words[] = {{"kept", LINEAGE_KEEP},         {"accept", LINEAGE_KEEP},
             {"accepted", LINEAGE_KEEP},     {"improved", LINEAGE_KEEP},
             {"discarded", LINEAGE_DISCARD}, {"reject", LINEAGE_DISCARD},
             {"rejected", LINEAGE_DISCARD},  {"revert", LINEAGE_DISCARD},
             {"reverted", LINEAGE_DISCARD},  {"reset", LINEAGE_DISCARD},
             {"crashed", LINEAGE_CRASH},     {"fail", LINEAGE_CRASH},
             {"failed", LINEAGE_CRASH},      {"error", LINEAGE_CRASH},
             {"oom", LINEAGE_CRASH},         {"timeout", LINEAGE_TRAIN_BUDGET_OVERRUN}};

static bool read_label(enum lineage_label *label, const struct tsv_cell *cell)
{
    char text[LINEAGE_NAME_MAX];
    size_t n = 0;
    for (size_t i = 0; i < cell->length && n < sizeof text - 1; i++)
        if (cell->text[i] != ' ' || (n && i + 1 < cell->length))
            text[n++] = cell->text[i] >= 'A' && cell->text[i] <= 'Z' ? (char)(cell->text[i] + 32) : cell->text[i];
    text[n] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].word, text) == 0) {
            *label = words[i].label;
            return true;
        }
    return lineage_label_parse(label, text);
}

static int find(const struct converting *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->names[i], name) == 0)
            return (int)i;
    return -1;
}

/* A name that the caller gives has precedence over the known names. A known name is used only if its column is still
 * free. */
static enum lineage_status rename_columns(struct converting *c, struct lineage_error *err)
{
    static const struct lineage_column_name known[] = {{"commit", "exp_id"}, {"description", "hypothesis"}};
    for (size_t i = 0; i < c->options->n_columns; i++) {
        const struct lineage_column_name *given = &c->options->columns[i];
        int at = find(c, given->theirs), taken = find(c, given->ours);
        if (lineage_column_find(given->ours) < 0)
            return store_fail(err, LINEAGE_EINVAL, "column '%.60s=%.60s': a store has no column '%.60s'", given->theirs,
                              given->ours, given->ours);
        if (at < 0)
            return store_fail(err, LINEAGE_EINVAL, "column '%.60s=%.60s': the log has no column '%.60s'", given->theirs,
                              given->ours, given->theirs);
        if (taken >= 0 && taken != at)
            return store_fail(err, LINEAGE_EINVAL, "column '%.60s=%.60s': the log has a column '%.60s' already", given->theirs,
                              given->ours, given->ours);
        c->names[at] = given->ours;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int at = find(c, known[i].theirs);
        if (at >= 0 && find(c, known[i].ours) < 0)
            c->names[at] = known[i].ours;
    }
    return LINEAGE_OK;
}

static enum lineage_status no_score(const struct converting *c, struct lineage_error *err)
{
    SCOPED_BUF list = {0};
    for (size_t i = 0; i < c->n && list.length < 300; i++)
        buf_printf(&list, "%s%.40s", i ? ", " : "", c->names[i]);
    enum lineage_status status =
        list.failed ? store_no_memory(err)
                    : store_fail(err, LINEAGE_EINVAL, "name the score column of the log; its columns are: %s", list.data);
    return status;
}

static enum lineage_status take_header(struct converting *c, const struct tsv_cell *cells, size_t n, struct lineage_error *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (n > COLUMNS_MAX)
        return store_fail(err, LINEAGE_EINVAL, "the header has %zu columns, more than %d", n, COLUMNS_MAX);
    for (c->n = 0; c->n < n; c->n++) {
        const char *text = cells[c->n].text;
        if (c->n == 0 && strncmp(text, mark, 3) == 0)
            text += 3;
        text += strspn(text, " ");
        size_t length = strlen(text);
        while (length && text[length - 1] == ' ')
            length--;
        if (!(c->names[c->n] = arena_text(&c->arena, text, length)))
            return store_no_memory(err);
    }
    TRY(rename_columns(c, err));
    const char *metric = c->options->metric;
    c->id = find(c, "exp_id");
    c->status = find(c, "status");
    c->parent = find(c, "parent_exp");
    c->score = metric ? find(c, metric) : find(c, "core_metric");
    if (c->score < 0 && !metric)
        c->score = find(c, "val_bpb");
    if (c->score < 0)
        return no_score(c, err);
    if (c->id < 0)
        buf_puts(&c->out, "exp_id\t");
    for (size_t i = 0; i < c->n; i++) {
        buf_puts(&c->out, i ? "\t" : "");
        tsv_write_cell(&c->out, c->names[i], strlen(c->names[i]));
    }
    buf_puts(&c->out, c->status < 0 ? "\tstatus" : "");
    buf_puts(&c->out, c->parent < 0 ? "\tparent_exp\n" : "\n");
    return LINEAGE_OK;
}

static const char *format_id(struct converting *c, const char *prefix, const char *id, size_t n)
{
    SCOPED_BUF text = {0};
    buf_printf(&text, "%s%s", prefix, id);
    if (n)
        buf_printf(&text, "-%zu", n);
    const char *out = text.failed ? NULL : arena_text(&c->arena, text.data, text.length);
    return out;
}

struct alternative {
    struct converting *c;
    const char *prefix, *id;
    bool failed;
};

static bool is_alternative_taken(void *context, size_t n)
{
    struct alternative *a = context;
    const char *text = a->failed ? NULL : format_id(a->c, a->prefix, a->id, n);
    a->failed = !text;
    return text && id_set_has(&a->c->ids, text);
}

/* Returns a new id, or NULL when out of memory. */
static const char *give_id(struct converting *c, const struct tsv_cell *cells, size_t n)
{
    char number[32];
    struct alternative a = {.c = c, .prefix = "", .id = number};
    snprintf(number, sizeof number, "%03zu", c->rows);
    if (c->id >= 0 && (size_t)c->id < n && cells[c->id].length) {
        a.id = cells[c->id].text;
        a.prefix = strspn(a.id, "0123456789") == strlen(a.id) && strlen(a.id) >= 7 ? "g" : "";
    }
    const char *free_id = format_id(c, a.prefix, a.id, 0);
    if (free_id && id_set_has(&c->ids, free_id)) {
        size_t again = id_find_free_number(is_alternative_taken, &a);
        free_id = a.failed ? NULL : format_id(c, a.prefix, a.id, again);
    }
    return free_id && id_set_add(&c->ids, free_id) ? free_id : NULL;
}

/* A log without a status column has kept what was better than everything before it. */
static enum lineage_label decide(struct converting *c, const struct tsv_cell *cells, size_t n, bool measured, double score)
{
    enum lineage_label label = LINEAGE_CRASH;
    if (c->status >= 0) {
        if ((size_t)c->status >= n || !read_label(&label, &cells[c->status]))
            label = LINEAGE_N_LABELS; /* import.c reports the cell */
    } else if (measured) {
        bool better =
            !c->has_best || verdict_is_keep(verdict_difference(score, c->best), 0, c->store->config.direction == LINEAGE_HIGHER);
        label = better ? LINEAGE_KEEP : LINEAGE_DISCARD;
        c->best = better ? score : c->best;
        c->has_best = true;
    }
    return label;
}

/* import.c leaves out a row with such cells, and a row that is left out must not become a parent. */
static bool is_sound(const struct converting *c, const struct tsv_cell *cells, size_t n)
{
    bool sound = n >= c->n;
    for (size_t i = 0; sound && i < n; i++)
        sound = cells[i].length <= LINEAGE_CELL_MAX && lineage_text_is_utf8(cells[i].text, cells[i].length) &&
                !memchr(cells[i].text, '\0', cells[i].length);
    return sound;
}

/* Cells beyond the header belong to a description that was written with a delimiter in it. */
static void write_last(struct converting *c, const struct tsv_cell *cells, size_t n)
{
    SCOPED_BUF joined = {0};
    for (size_t i = 0; i < n; i++) {
        buf_puts(&joined, i ? " " : "");
        buf_add(&joined, cells[i].text, cells[i].length);
    }
    tsv_write_cell(&c->out, joined.data ? joined.data : "", joined.length);
    c->out.failed = c->out.failed || joined.failed;
}

static enum lineage_status take_row(struct converting *c, const struct tsv_cell *cells, size_t n, struct lineage_error *err)
{
    double score = 0;
    const struct tsv_cell *score_cell = (size_t)c->score < n ? &cells[c->score] : NULL;
    bool measured = score_cell && lineage_number_parse(&score, score_cell->text, score_cell->length) && isfinite(score);
    enum lineage_label label = decide(c, cells, n, measured, score);
    const char *name = lineage_label_name(label), *id = give_id(c, cells, n);
    if (!id)
        return store_no_memory(err);
    bool placeholder = (!measured || score == 0) && label < LINEAGE_N_LABELS && !lineage_label_is_measured(label);
    if (c->id < 0)
        buf_printf(&c->out, "%s\t", id);
    for (size_t i = 0; i < c->n; i++) {
        buf_puts(&c->out, i ? "\t" : "");
        if ((int)i == c->id)
            tsv_write_cell(&c->out, id, strlen(id));
        else if ((int)i == c->status && name)
            buf_puts(&c->out, name);
        else if (i >= n || ((int)i == c->score && placeholder))
            continue;
        else if (i + 1 == c->n)
            write_last(c, cells + i, n - i);
        else
            tsv_write_cell(&c->out, cells[i].text, cells[i].length);
    }
    if (c->status < 0)
        buf_printf(&c->out, "\t%s", name);
    if (c->parent < 0)
        buf_printf(&c->out, "\t%s", c->kept ? c->kept : "");
    buf_puts(&c->out, "\n");
    if (measured && label < LINEAGE_N_LABELS && lineage_label_is_kept(label) && is_sound(c, cells, n))
        c->kept = id;
    c->rows++;
    return LINEAGE_OK;
}

static char delimiter_of(const struct buf *bytes)
{
    const char *end = bytes->data + bytes->length, *stop = memchr(bytes->data, '\n', bytes->length);
    size_t length = (size_t)((stop ? stop : end) - bytes->data);
    return memchr(bytes->data, '\t', length) ? '\t' : memchr(bytes->data, ',', length) ? ',' : ';';
}

/* Each record of the log becomes one line, with empty lines in between, so that import.c reports the lines of the log. */
static enum lineage_status convert(struct converting *c, const struct buf *bytes, struct lineage_error *err)
{
    struct tsv_scanner scanner;
    struct tsv_record record;
    const struct tsv_cell *cells;
    size_t n, line = 1, counted = 0;
    enum lineage_status status = LINEAGE_OK;
    if (!bytes->length)
        return store_fail(err, LINEAGE_EINVAL, "the log is empty: it has no header");
    tsv_scanner_init(&scanner, bytes->data, bytes->length, 0, 1);
    scanner.delimiter = delimiter_of(bytes);
    tsv_reader_set_delimiter(c->reader, scanner.delimiter);
    while (status == LINEAGE_OK && tsv_scan(&scanner, &record)) {
        if (!record.content)
            continue;
        for (size_t missing = line; missing < record.line; missing++)
            buf_puts(&c->out, "\n");
        status = tsv_parse(c->reader, &record, &cells, &n, err);
        if (status == LINEAGE_OK)
            status = c->n ? take_row(c, cells, n, err) : take_header(c, cells, n, err);
        for (; counted < c->out.length; counted++)
            line += c->out.data[counted] == '\n';
    }
    if (status == LINEAGE_OK && !c->n)
        status = store_fail(err, LINEAGE_EINVAL, "the log is empty: it has no header");
    return status == LINEAGE_OK && c->out.failed ? store_no_memory(err) : status;
}

static void release(struct converting *c)
{
    tsv_reader_free(c->reader);
    id_set_clear(&c->ids);
    arena_release(&c->arena);
    buf_release(&c->out);
}

enum lineage_status lineage_import_log(struct lineage_store *store, const char *path,
                                       const struct lineage_convert_options *options, struct lineage_import_stats *stats,
                                       lineage_finding_fn *report, void *context, struct lineage_error *err)
{
    static const struct lineage_convert_options defaults = {0};
    RELEASED_BY(release)
    struct converting c = {.store = store, .options = options ? options : &defaults, .reader = tsv_reader_new()};
    SCOPED_BUF bytes = {0};
    *stats = (struct lineage_import_stats){0};
    TRY(store_check_owner(store, err));
    if (!c.reader)
        return store_no_memory(err);
    TRY(fs_read_stream(AT_FDCWD, path, &bytes, err));
    TRY(convert(&c, &bytes, err));
    return import_bytes(store, &c.out, c.options->metric, stats, report, context, err);
}
