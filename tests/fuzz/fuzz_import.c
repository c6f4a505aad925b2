/*
 * fuzz_import.c: reads arbitrary bytes as a log of another tool, in the three ways in which a store takes one: `import`,
 * `init --from` and `import --exact`. An import adds all the rows that it reports or none, and the store then has no
 * finding that it did not have before.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lineage/move.h>
#include <lineage/query.h>
#include <lineage/verify.h>

#include "fuzz.h"
#include "support/files.h"

static size_t count_rows(struct lineage_store *store)
{
    size_t n = 0;
    fuzz_assert(lineage_query_count(&n, store, &(struct lineage_query){0}, NULL) == LINEAGE_OK);
    return n;
}

static void next_finding(void *context, const struct lineage_finding *finding)
{
    (void)context;
    fuzz_assert(finding->kind && finding->text && !strchr(finding->text, '\n'));
}

/* Parents, ids and labels of a foreign log may be wrong; its records are written anew, so they are not. */
static void no_damage(void *context, const struct lineage_finding *finding)
{
    static const char *const damage[] = {"short", "long", "status", "number", "utf8", "header", "torn", "digest", "mirror"};
    next_finding(context, finding);
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++)
        fuzz_assert(strcmp(finding->kind, damage[i]) != 0);
}

static void import(const char *path, bool convert, bool has_rows)
{
    struct lineage_store *store;
    struct lineage_error err = {0};
    struct lineage_import_stats stats = {0};
    char *dir = make_dir();
    size_t n;
    fuzz_assert(lineage_store_open(&store, dir, NULL, &err) == LINEAGE_OK);
    if (has_rows)
        fuzz_assert(lineage_store_append(store, &(struct lineage_trial){.status = LINEAGE_CRASH}, NULL, NULL, &err) ==
                    LINEAGE_OK);
    enum lineage_status status = convert ? lineage_import_log(store, path, NULL, &stats, next_finding, NULL, &err)
                                         : lineage_import(store, path, NULL, &stats, next_finding, NULL, &err);
    fuzz_assert(status == LINEAGE_OK || (err.text[0] && !strchr(err.text, '\n')));
    fuzz_assert(count_rows(store) == (has_rows ? 1 : 0) + (status == LINEAGE_OK ? stats.n_rows : 0));
    fuzz_assert(lineage_verify(store, &n, no_damage, NULL, &err) == LINEAGE_OK);
    lineage_store_close(store);
    remove_dir(dir);
}

/* The log has the same bytes afterwards, or none. */
static void import_exactly(const char *path, const uint8_t *data, size_t size)
{
    struct lineage_store *store;
    struct lineage_error err = {0};
    size_t n = 0, length = 0;
    char *dir = make_dir(), *log = join(dir, "results.tsv"), *bytes;
    fuzz_assert(lineage_store_open(&store, dir, NULL, &err) == LINEAGE_OK);
    enum lineage_status status = lineage_import_exact(store, path, &n, &err);
    fuzz_assert(status == LINEAGE_OK || (err.text[0] && !strchr(err.text, '\n')));
    if (status == LINEAGE_OK && file_exists(log)) {
        bytes = read_file(log, &length);
        fuzz_assert(length == size && memcmp(bytes, data, size) == 0);
        free(bytes);
    }
    lineage_store_close(store);
    free(log);
    remove_dir(dir);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *dir = make_dir(), *path = join(dir, "other.tsv");
    write_file(path, data, size);
    import(path, false, false);
    import(path, false, true);
    import(path, true, false);
    import_exactly(path, data, size);
    free(path);
    remove_dir(dir);
    return 0;
}
