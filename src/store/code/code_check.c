#include "code_offer.h"

#include <fcntl.h>

#include "../blobs/blobs.h"
#include "../files/fs.h"
#include "../files/places.h"
#include "../questions/questions.h"
#include "code_objects.h"

/* Without this macro uthash calls exit when memory runs out, which a library must not do. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct checked {
    UT_hash_handle hh;
    bool is_list;
    char digest[LINEAGE_CODE_DIGEST_MAX];
};

struct checking {
    struct lineage_store *store;
    lineage_finding_fn *report;
    void *context;
    struct arena arena;
    struct checked *done; /* objects and lists that were checked; a chain of diffs is named by every later row */
    struct lineage_error *err;
    enum lineage_status status; /* LINEAGE_ENOMEM ends the check */
};

static void found(struct checking *c, const struct lineage_trial *row, const char *text)
{
    const struct lineage_finding finding = {"code", row ? row->line : 0, row ? row->exp_id : "", text};
    c->report(c->context, &finding);
}

/* Returns false if the digest was checked before, as an object or as a list. */
static bool is_new(struct checking *c, const char *digest, bool is_list)
{
    struct checked *known;
    HASH_FIND_STR(c->done, digest, known);
    if (known && (known->is_list || !is_list))
        return false;
    if (!known && (known = arena_alloc(&c->arena, 1, sizeof *known))) {
        snprintf(known->digest, sizeof known->digest, "%.32s", digest);
        HASH_ADD_STR(c->done, digest, known);
    }
    if (known)
        known->is_list = known->is_list || is_list;
    else
        c->status = store_no_memory(c->err);
    return true;
}

/* Reports what is wrong with an object. One that is missing here may be on the server. Returns whether it was read. */
static bool check_object(struct checking *c, const struct lineage_trial *row, const char *digest, struct buf *bytes)
{
    char name[PLACE_MAX];
    struct lineage_error why = {0};
    enum lineage_status status = code_object_here(bytes, c->store, digest, &why);
    snprintf(name, sizeof name, PLACE_CODE "/%.32s", digest);
    if (status == LINEAGE_ENOMEM)
        c->status = store_give(c->err, &why);
    else if (status != LINEAGE_OK && !(status == LINEAGE_ENOTFOUND && blobs_has(c->store, name)))
        found(c, row, why.text);
    return status == LINEAGE_OK;
}

static void check_named(struct checking *c, const struct lineage_trial *row, const char *digest)
{
    SCOPED_BUF bytes = {0};
    if (is_new(c, digest, false))
        check_object(c, row, digest, &bytes);
}

static void check_row(void *context, const struct lineage_trial *row)
{
    struct checking *c = context;
    struct lineage_code_note note;
    struct lineage_code code = {0};
    struct lineage_error why = {0};
    SCOPED_ARENA arena = {0};
    SCOPED_BUF text = {0};
    if (c->status != LINEAGE_OK || !lineage_code_note_parse(&note, row->notes) || !is_new(c, note.digest, true))
        return;
    memcpy(code.digest, note.digest, sizeof code.digest);
    if (check_object(c, row, note.digest, &text)) {
        enum lineage_status status = strlen(text.data) == text.length
                                         ? code_list_parse(&code, &arena, text.data, &why)
                                         : store_fail(&why, LINEAGE_ECORRUPT, "the list of code %s contains a NUL", code.digest);
        if (status == LINEAGE_ENOMEM)
            c->status = store_give(c->err, &why);
        else if (status != LINEAGE_OK)
            found(c, row, why.text);
        for (size_t i = 0; status == LINEAGE_OK && i < code.n_files; i++)
            check_named(c, row, code.files[i].digest);
        for (size_t i = 0; status == LINEAGE_OK && i < code.n_diffs; i++)
            check_named(c, row, code.diffs[i]);
    }
}

/* Reports entries that the store did not make. A name with a leading dot is a temporary file of fs_replace. */
static void check_entry(struct checking *c, const char *name)
{
    char text[PLACE_MAX + 80];
    if (name[0] == '.')
        return;
    if (code_is_digest(name)) {
        check_named(c, NULL, name);
        return;
    }
    snprintf(text, sizeof text, PLACE_CODE "/%.200s is not of this store: its name is not a digest", name);
    found(c, NULL, text);
}

static void check_place(struct checking *c)
{
    const char *name;
    SCOPED_LIST list = fs_list_at(c->store->dir_fd, PLACE_CODE, O_NOFOLLOW);
    if (!list && errno != ENOENT)
        found(c, NULL,
              errno == ENOTDIR || errno == ELOOP ? PLACE_CODE " is not a directory of this store" : PLACE_CODE " cannot be read");
    while (c->status == LINEAGE_OK && (name = fs_next(list)))
        check_entry(c, name);
}

/* Rows come first, so that a damaged object is reported with the first trial that needs it. */
enum lineage_status code_check(struct lineage_store *store, lineage_finding_fn *report, void *context, struct lineage_error *err)
{
    struct checking c = {.store = store, .report = report, .context = context, .err = err};
    enum lineage_status status = mirror_each_note(store->mirror, "code ", check_row, &c, err);
    if (status == LINEAGE_OK && c.status == LINEAGE_OK)
        check_place(&c);
    HASH_CLEAR(hh, c.done);
    arena_release(&c.arena);
    return status == LINEAGE_OK ? c.status : status;
}
