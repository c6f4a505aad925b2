/* marathon_check.c: checks all promises on the store after a round. */
#include "marathon.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/notes.h>
#include <lineage/query.h>
#include <lineage/verify.h>

#include "support/files.h"

/* A row that was acknowledged or announced. */
struct ack {
    /*
     * A: appended; F: another program's; U: another program's, without a line end; J: import announced; I: import
     * acknowledged
     */
    char what;
    uint64_t tag;
    uint64_t length; /* length of the text, or number of rows of an import */
    char id[64];
};

/* A row as the store reads it. */
struct seen {
    uint64_t tag;
    bool exact;
    char id[64];
    uint64_t line;
};

struct check {
    const struct arena_of_war *war;
    struct ack *acks;
    size_t n_acks;
    struct seen *rows; /* the rows that have a tag, sorted by tag */
    size_t n_rows;
    char **ids; /* the sorted ids of all rows */
    size_t n_ids;
    uint64_t night_keys[NIGHT_TRIALS];
    size_t n_nights;
    uint64_t lines_reported[4096]; /* line numbers of records that the store reports as bad */
    size_t n_reported;
    unsigned failures;
};

static void broken(struct check *c, const char *what, const char *detail)
{
    printf("FAIL %s: %s\n", what, detail);
    c->failures++;
}

static void *grown(void *list, size_t n, size_t size)
{
    if (n & (n - 1)) /* the capacity is a power of two */
        return list;
    list = realloc(list, (n ? 2 * n : 1) * size);
    if (!list)
        abort();
    return list;
}

/*
 * Reads the acknowledgements. A line is incomplete if its writer was killed; such a line promised nothing and is
 * ignored.
 */
static void read_acks(struct check *c)
{
    size_t length;
    char *text = file_exists(c->war->acks) ? read_file(c->war->acks, &length) : NULL, *save = NULL;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        struct ack ack;
        unsigned long long tag, n;
        char end;
        if (sscanf(line, "%c %llx %llu %63s %c", &ack.what, &tag, &n, ack.id, &end) != 5)
            continue;
        ack.tag = tag;
        ack.length = n;
        c->acks = grown(c->acks, c->n_acks, sizeof *c->acks);
        c->acks[c->n_acks++] = ack;
    }
    free(text);
}

static void hear_row_finding(void *context, const struct lineage_finding *finding)
{
    struct check *c = context;
    if (c->n_reported < sizeof c->lines_reported / sizeof *c->lines_reported)
        c->lines_reported[c->n_reported++] = finding->line;
}

static bool is_reported(const struct check *c, uint64_t line)
{
    for (size_t i = 0; i < c->n_reported; i++)
        if (c->lines_reported[i] == line)
            return true;
    return false;
}

static int by_tag(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Returns true if the notes are those that were given, possibly followed by the reason of a discard. */
static bool are_notes(const char *notes, uint64_t tag, size_t length)
{
    char *given = tagged_text('N', tag, length);
    size_t n = strlen(given);
    bool same = strncmp(notes, given, n) == 0 &&
                (!notes[n] || (strncmp(notes + n, "; discarded: ", 13) == 0 && strstr(notes + n, " than ")));
    free(given);
    return same;
}

/* Checks that a trial of a night has only one row, even if the night was killed repeatedly. */
static void see_night(struct check *c, const struct lineage_trial *trial)
{
    struct lineage_night_link link;
    if (trial->status == LINEAGE_HARNESS_ABORT || !lineage_night_link_parse(&link, trial->notes))
        return;
    for (size_t i = 0; i < c->n_nights; i++)
        if (c->night_keys[i] == link.key)
            broken(c, "a trial of the night was run twice", trial->notes);
    if (c->n_nights < NIGHT_TRIALS)
        c->night_keys[c->n_nights++] = link.key;
    else
        broken(c, "a trial that the sweep does not have", trial->notes);
}

static void see(struct check *c, const struct lineage_trial *trial)
{
    struct seen seen = {.line = trial->line};
    size_t length;
    c->ids = grown(c->ids, c->n_ids, sizeof *c->ids);
    c->ids[c->n_ids++] = strdup(trial->exp_id);
    snprintf(seen.id, sizeof seen.id, "%s", trial->exp_id);
    see_night(c, trial);
    if (trial->hypothesis[0] != 'R')
        return;
    seen.exact = is_tagged_text('R', trial->hypothesis, &seen.tag, &length) && are_notes(trial->notes, seen.tag, length);
    if (!seen.exact && !is_reported(c, trial->line)) {
        char detail[300];
        snprintf(detail, sizeof detail, "line %llu, exp_id %.40s, hypothesis of %zu bytes, notes '%.60s' of %zu bytes",
                 (unsigned long long)trial->line, trial->exp_id, strlen(trial->hypothesis), trial->notes, strlen(trial->notes));
        broken(c, "a row that is not what was written is read as the truth", detail);
    }
    c->rows = grown(c->rows, c->n_rows, sizeof *c->rows);
    c->rows[c->n_rows++] = seen;
}

static struct lineage_store *open_view(struct check *c, bool no_mirror)
{
    struct lineage_open_options options = {.no_mirror = no_mirror};
    struct lineage_store *store;
    struct lineage_error err;
    if (lineage_store_open(&store, c->war->dir, &options, &err) == LINEAGE_OK)
        return store;
    broken(c, "open", err.text);
    return NULL;
}

static void see_all(struct check *c, struct lineage_store *store)
{
    struct lineage_cursor *cursor;
    struct lineage_trial trial;
    struct lineage_error err;
    const struct lineage_query all = {0};
    if (lineage_findings(store, hear_row_finding, c, &err) != LINEAGE_OK ||
        lineage_query_open(&cursor, store, &all, &err) != LINEAGE_OK) {
        broken(c, "query", err.text);
        return;
    }
    enum lineage_status status;
    while ((status = lineage_cursor_next(cursor, &trial, &err)) == LINEAGE_OK)
        see(c, &trial);
    if (status != LINEAGE_ENOTFOUND)
        broken(c, "query", err.text);
    lineage_cursor_close(cursor);
    if (c->n_rows)
        qsort(c->rows, c->n_rows, sizeof *c->rows, by_tag);
    if (c->n_ids)
        qsort(c->ids, c->n_ids, sizeof *c->ids, by_text);
}

static size_t first_from(const struct check *c, uint64_t tag)
{
    size_t low = 0, high = c->n_rows;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (c->rows[middle].tag < tag)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t count_exact(const struct check *c, uint64_t from, uint64_t to, const struct seen **one)
{
    size_t n = 0;
    for (size_t i = first_from(c, from); i < c->n_rows && c->rows[i].tag <= to; i++)
        if (c->rows[i].exact) {
            *one = &c->rows[i];
            n++;
        }
    return n;
}

static void check_row(struct check *c, const struct ack *ack)
{
    char detail[200];
    const struct seen *row = NULL;
    size_t n = count_exact(c, ack->tag, ack->tag, &row);
    snprintf(detail, sizeof detail, "%c %016llx, exp_id %s: %zu times", ack->what, (unsigned long long)ack->tag, ack->id, n);
    if (n != 1)
        broken(c, "an acknowledged row is not there once", detail);
    else if (ack->what == 'A' && strcmp(row->id, ack->id) != 0)
        broken(c, "an acknowledged row has another id", detail);
}

static void check_import(struct check *c, const struct ack *ack)
{
    char detail[200];
    const struct seen *row = NULL;
    size_t n = count_exact(c, ack->tag, ack->tag | 0xfffff, &row);
    snprintf(detail, sizeof detail, "%zu of %llu rows", n, (unsigned long long)ack->length);
    if (n != ack->length && (n || ack->what == 'I'))
        broken(c, ack->what == 'I' ? "an acknowledged import is not whole" : "half an import", detail);
}

/* Returns as one text the bytes of results.tsv and of every file to which bytes of it were moved. */
static char *all_bytes(const struct check *c, size_t *length)
{
    char **names = list_dir(c->war->dir, "results.tsv"), *all = NULL;
    *length = 0;
    for (size_t i = 0; names && names[i]; i++) {
        size_t n;
        char *path = join(c->war->dir, names[i]), *text = read_file(path, &n);
        all = realloc(all, *length + n + 1);
        memcpy(all + *length, text, n + 1);
        *length += n;
        free(text);
        free(path);
    }
    free_list(names);
    return all;
}

/* Checks that a record that another program left unfinished is in the file or was moved aside. */
static void check_unended(struct check *c, const struct ack *ack, const char *all, size_t length)
{
    char *text = tagged_text('R', ack->tag, ack->length), *cell = csv_cell(text), detail[64];
    snprintf(detail, sizeof detail, "%016llx", (unsigned long long)ack->tag);
    if (!all || !memmem(all, length, cell, strlen(cell)))
        broken(c, "a record without line end was dropped", detail);
    free(text);
    free(cell);
}

static void check_acks(struct check *c)
{
    size_t length;
    char *all = all_bytes(c, &length);
    for (size_t i = 0; i < c->n_acks; i++)
        switch (c->acks[i].what) {
        case 'A':
        case 'F': check_row(c, &c->acks[i]); break;
        case 'I':
        case 'J': check_import(c, &c->acks[i]); break;
        case 'U': check_unended(c, &c->acks[i], all, length); break;
        default: break;
        }
    free(all);
}

static void check_ids(struct check *c)
{
    for (size_t i = 1; i < c->n_ids; i++)
        if (strcmp(c->ids[i], c->ids[i - 1]) == 0)
            broken(c, "an exp_id is there twice", c->ids[i]);
}

static void check_next_append(struct check *c)
{
    struct lineage_trial trial = {.hypothesis = "the next", .status = LINEAGE_DISCARD};
    struct lineage_error err;
    struct lineage_store *store = open_view(c, false);
    if (store && lineage_store_append(store, &trial, NULL, NULL, &err) != LINEAGE_OK)
        broken(c, "the next append", err.text);
    lineage_store_close(store);
}

/*
 * Checks that a killed night can be resumed: runs it once without a kill, after which each of its trials must have
 * its row.
 */
static void finish_night(struct check *c)
{
    char command[1000];
    int n =
        snprintf(command, sizeof command, "'%s' night '%s' -C '%s' -q >/dev/null", c->war->command, c->war->sweep, c->war->dir);
    if (n < 0 || (size_t)n >= sizeof command || system(command) != 0)
        broken(c, "the night does not end", command);
}

/* If other programs wrote nothing wrong, verify may report only what a killed writer leaves behind. */
static void hear_finding(void *context, const struct lineage_finding *finding)
{
    struct check *c = context;
    char detail[400];
    snprintf(detail, sizeof detail, "%s: line %llu: %.60s: %.200s", finding->kind, (unsigned long long)finding->line,
             finding->exp_id, finding->text);
    bool beside = finding->line == 0 && strcmp(finding->kind, "mirror") != 0;
    if (!beside && (!c->war->dirty || strcmp(finding->kind, "mirror") == 0))
        broken(c, "verify", detail);
}

static void check_findings(struct check *c, struct lineage_store *store)
{
    struct lineage_error err;
    size_t n;
    if (lineage_verify(store, &n, hear_finding, c, &err) != LINEAGE_OK)
        broken(c, "verify", err.text);
}

/* Checks that the section that a person wrote is still there. */
static void check_insights(struct check *c)
{
    char *path = join(c->war->dir, "KNOWLEDGE.md");
    size_t length;
    char *text = read_file(path, &length);
    if (!strstr(text, "what a person wrote"))
        broken(c, "render", "a person's Key Insights are gone");
    free(text);
    free(path);
}

unsigned check_store(const struct arena_of_war *war)
{
    struct check *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    c->war = war;
    read_acks(c);
    check_next_append(c);
    if (war->sweep)
        finish_night(c);
    struct lineage_store *store = open_view(c, true);
    if (store) {
        see_all(c, store);
        check_acks(c);
        check_ids(c);
        if (war->sweep && c->n_nights != NIGHT_TRIALS)
            broken(c, "the night", "not every trial has its row");
    }
    lineage_store_close(store);
    store = open_view(c, false);
    if (store)
        check_findings(c, store);
    lineage_store_close(store);
    check_insights(c);
    unsigned failures = c->failures;
    for (size_t i = 0; i < c->n_ids; i++)
        free(c->ids[i]);
    free(c->ids);
    free(c->rows);
    free(c->acks);
    free(c);
    return failures;
}
