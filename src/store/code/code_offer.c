#include "code_offer.h"

#include <lineage/blobs.h>
#include <lineage/code.h>

#include "../files/places.h"
#include "../log/log.h"

static enum lineage_status send(struct lineage_store *store, const char *digest, struct lineage_error *err)
{
    char name[PLACE_MAX];
    snprintf(name, sizeof name, PLACE_CODE "/%.32s", digest);
    return lineage_blob_put(store, name, err);
}

void code_offer(struct lineage_store *store, const char *notes)
{
    struct lineage_code_note note;
    struct lineage_code code;
    struct lineage_error err;
    const struct lineage_trial trial = {.exp_id = "", .notes = notes};
    if (!log_has_requests(store->log) || !lineage_code_note_parse(&note, notes))
        return;
    enum lineage_status status = lineage_code_load(&code, store, &trial, &err);
    for (size_t i = 0; status == LINEAGE_OK && i < code.n_files; i++)
        status = send(store, code.files[i].digest, &err);
    if (status == LINEAGE_OK && code.changed)
        status = send(store, code.diffs[code.n_diffs - 1], &err);
    if (status == LINEAGE_OK) /* last, so that whoever finds the list finds what it names */
        status = send(store, code.digest, &err);
    if (status != LINEAGE_OK && status != LINEAGE_EAWAY)
        store_notice(store, 0, "the code of a trial cannot be sent to the server: %s", err.text);
    lineage_code_release(&code);
}
