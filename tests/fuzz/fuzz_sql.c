/*
 * fuzz_sql.c: runs arbitrary text as a statement of a user, with limits of a tenth of a second, 1 MiB and 100 rows. The
 * statement changes nothing, and takes at most a second of processor time: time is counted for this process, so that
 * other work on the machine does not matter.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lineage/query.h>

#include "fuzz.h"
#include "support/files.h"

enum { ROWS = 100, ROWS_IN_LOG = 50 };

static char *dir;

static double used_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static struct lineage_store *open_store(void)
{
    const struct lineage_open_options options = {.sql = {.seconds = 0.1, .bytes = 1 << 20, .rows = ROWS}};
    struct lineage_store *store;
    fuzz_assert(lineage_store_open(&store, dir, &options, NULL) == LINEAGE_OK);
    return store;
}

static void make_rows(void)
{
    dir = make_dir();
    struct lineage_store *store = open_store();
    for (int i = 0; i < ROWS_IN_LOG; i++) {
        const struct lineage_param params[] = {{.name = "alpha", .value = i}, {.name = "beta", .value = i * 0.5}};
        const struct lineage_trial trial = {.status = i % 3 ? LINEAGE_DISCARD : LINEAGE_KEEP,
                                            .core_metric = {true, i},
                                            .params = params,
                                            .n_params = 2,
                                            .hypothesis = "words of a hypothesis",
                                            .timestamp = "T"};
        fuzz_assert(lineage_store_append(store, &trial, NULL, NULL, NULL) == LINEAGE_OK);
    }
    lineage_store_close(store);
}

struct rows {
    size_t n, bytes;
};

static bool count_row(void *context, size_t n, const char *const *names, const char *const *texts)
{
    struct rows *rows = context;
    rows->n++;
    for (size_t i = 0; i < n; i++)
        rows->bytes += strlen(names[i]) + (texts[i] ? strlen(texts[i]) : 0);
    return true;
}

static void check_rows(struct lineage_store *store)
{
    size_t n;
    fuzz_assert(lineage_query_count(&n, store, &(struct lineage_query){0}, NULL) == LINEAGE_OK && n == ROWS_IN_LOG);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lineage_error err = {0};
    struct rows rows = {0};
    char *statement = malloc(size + 1);
    if (!dir)
        make_rows();
    memcpy(statement, data, size);
    statement[size] = '\0';
    struct lineage_store *store = open_store();
    double before = used_seconds();
    enum lineage_status status = lineage_sql(store, statement, count_row, &rows, &err);
    double after = used_seconds();
    fuzz_assert(status == LINEAGE_OK || (err.text[0] && !strchr(err.text, '\n')));
    fuzz_assert(after - before < FUZZ_SECOND && rows.n <= ROWS);
    check_rows(store);
    lineage_store_close(store);
    free(statement);
    return 0;
}
