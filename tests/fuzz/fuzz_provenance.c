/*
 * fuzz_provenance.c: reads arbitrary bytes as the provenance of a trial (run.json), as `show` and `rerun` do.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "run/run_parts.h"
#include "support/files.h"

static struct lineage_store *make_store(const char *dir, const uint8_t *data, size_t size)
{
    struct lineage_store *store;
    char *provenance = join(dir, "provenance"), *trial = join(provenance, "000"), *run = join(trial, "run.json");
    fuzz_assert(mkdir(provenance, 0755) == 0 && mkdir(trial, 0755) == 0);
    write_file(run, data, size);
    fuzz_assert(lineage_store_open(&store, dir, &(struct lineage_open_options){.no_mirror = true}, NULL) == LINEAGE_OK);
    free(run);
    free(trial);
    free(provenance);
    return store;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *dir = make_dir(), id[LINEAGE_NAME_MAX] = "000";
    struct lineage_store *store = make_store(dir, data, size);
    struct cli_screen screen = {0};
    json_t *run = provenance_load(store, "000");
    fuzz_assert(cli_screen_open(&screen));
    if (run) {
        provenance_print(run, &screen);
        provenance_origin(&run, id, store);
        fuzz_assert(memchr(id, 0, sizeof id) != NULL);
    }
    json_decref(run);
    lineage_store_close(store);
    remove_dir(dir);
    return 0;
}
