/*
 * redact.c: takes a secret out of a store (lineage/redact.h).
 *
 * Rows come first, because they can be refused. The mirror is removed and not rebuilt: SQLite keeps old bytes in free pages.
 * At the end everything is read once more, so that a success means that the secret is not found any more.
 */
#include <lineage/redact.h>

#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <string.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "../internal.h"
#include "../log/log.h"
#include "../log/redactions.h"
#include "redact_files.h"
#include "redact_rows.h"

static enum lineage_status remove_mirror(struct lineage_store *store, struct lineage_error *err)
{
    static const char *const names[] = {PLACE_MIRROR, PLACE_MIRROR "-wal", PLACE_MIRROR "-shm"};
    struct stat st;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (fs_stat(store->dir_fd, names[i], AT_SYMLINK_NOFOLLOW, &st) == 0 && fs_unlink(store->dir_fd, names[i]) != 0)
            return store_fail_errno(err, LINEAGE_EIO, "cannot remove %s", names[i]);
    return LINEAGE_OK;
}

enum lineage_status lineage_redact(struct lineage_store *store, const char *secret, size_t length, struct lineage_redaction *done,
                                   lineage_redact_fn *report, void *context, struct lineage_error *err)
{
    struct forms forms = {.n = 0};
    size_t finished = 0;
    *done = (struct lineage_redaction){.rows = 0};
    enum lineage_status status = store_check_owner(store, err);
    if (status == LINEAGE_OK && !log_can_overwrite(store->log))
        status = store_fail(err, LINEAGE_EREFUSED,
                            "the log is on a server, where nobody can change a row; revoke the secret, and export the rows into "
                            "a directory to redact them there");
    if (status == LINEAGE_OK && secret)
        status = forms_make(&forms, secret, length, err);
    if (status == LINEAGE_OK)
        status = redact_rows_finish(store, &finished, err);
    if (status == LINEAGE_OK && secret)
        status = redact_rows(store, &forms, done, err);
    if (status == LINEAGE_OK && secret)
        status = redact_files(store, &forms, false, done, report, context, err);
    if (status == LINEAGE_OK && (secret || finished))
        status = remove_mirror(store, err);
    if (status == LINEAGE_OK && secret)
        status = redact_files(store, &forms, true, done, report, context, err);
    done->rows += finished;
    forms_release(&forms);
    return status;
}

enum lineage_status lineage_redactions_read(const struct lineage_store *store, uint64_t at_most, struct lineage_redactions *out,
                                            struct lineage_error *err)
{
    struct redactions r = {.n = 0};
    *out = (struct lineage_redactions){.rows = 0};
    enum lineage_status status = redactions_read(&r, store->dir_fd, err);
    for (size_t i = 0; i < r.n; i++)
        out->rows += i == 0 || r.at[i].record != r.at[i - 1].record;
    out->bytes = at_most && at_most < r.bytes ? at_most : r.bytes;
    for (size_t i = 0; status == LINEAGE_OK && i < r.bytes; i++)
        if (!r.text.data[i]) /* line ends, which reading has replaced */
            r.text.data[i] = '\n';
    if (status == LINEAGE_OK && out->bytes)
        SHA256Data((const uint8_t *)r.text.data, (size_t)out->bytes, out->digest);
    redactions_release(&r);
    return status;
}
