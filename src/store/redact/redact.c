/*
 * redact.c: takes a secret out of a store (lineage/redact.h).
 *
 * Rows come first, because they can be refused. The mirror is removed and not rebuilt: SQLite keeps old bytes in free pages.
 * At the end everything is read once more, so that a success means that the secret is not found any more.
 */
#include <lineage/redact.h>
#include <lineage/status.h>
#include <lineage/text.h>

#include <fcntl.h>
#include <inttypes.h>
#include <sha2.h>
#include <sys/stat.h>
#include <jansson.h>

#include "../append/acknowledged.h"
#include "../files/fs.h"
#include "../files/places.h"
#include "../format/tsv.h"
#include "../internal.h"
#include "../log/log.h"
#include "../log/digest_chain.h"
#include "../log/redactions.h"
#include "../format/arena.h"
#include "../fail.h"

enum { FORMS_MAX = 16 };

/* A zeroed struct is empty. */
struct forms {
    struct buf at[FORMS_MAX]; /* different texts, the longest first */
    size_t n, longest;
};

/* Spellings beside the secret itself. Each may also be in a cell; so there are twice as many texts, and two of the secret. */
enum form { FORM_JSON, FORM_JSON_ASCII, FORM_JSON_LOWER, FORM_QUOTED, FORM_URL, FORM_URL_LOWER, FORM_HTML, N_FORMS };
_Static_assert(2 * (N_FORMS + 1) <= FORMS_MAX, "struct forms has room for all");

/* Adds a text unless it is there already. */
static void add(struct forms *forms, const struct buf *text)
{
    for (size_t i = 0; i < forms->n; i++)
        if (forms->at[i].length == text->length && memcmp(forms->at[i].data, text->data, text->length) == 0)
            return;
    if (forms->n < FORMS_MAX && text->length)
        buf_add(&forms->at[forms->n++], text->data, text->length);
}

static void put_doubled(struct buf *out, const struct buf *text, char quote)
{
    for (size_t i = 0; i < text->length; i++) {
        buf_put(out, text->data[i]);
        if (text->data[i] == quote)
            buf_put(out, quote);
    }
}

/* Jansson writes \\u00E9; Python and JavaScript write \\u00e9. */
static void lower_escapes(char *text)
{
    for (char *at = text; (at = strchr(at, '\\')) && at[1]; at += 2)
        for (size_t i = 2; at[1] == 'u' && i < 6 && at[i]; i++)
            if (at[i] >= 'A' && at[i] <= 'F')
                at[i] = (char)(at[i] - 'A' + 'a');
}

static void put_json(struct buf *out, const struct buf *text, size_t flags, bool lower)
{
    json_auto_t *string = json_stringn(text->data, text->length);
    SCOPED_FREE char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY | flags) : NULL;
    if (quoted && lower)
        lower_escapes(quoted);
    if (quoted)
        buf_add(out, quoted + 1, strlen(quoted) - 2);
    else
        out->failed = true;
}

static void put_percent(struct buf *out, const struct buf *text, const char *digits)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
    for (size_t i = 0; i < text->length; i++) {
        unsigned char c = (unsigned char)text->data[i];
        if (c && strchr(plain, c)) {
            buf_put(out, (char)c);
        } else {
            buf_put(out, '%');
            buf_put(out, digits[c >> 4]);
            buf_put(out, digits[c & 15]);
        }
    }
}

static void put_html(struct buf *out, const struct buf *text)
{
    static const struct {
        char c;
        const char *entity;
    } entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    for (size_t i = 0; i < text->length; i++) {
        const char *entity = NULL;
        for (size_t k = 0; k < sizeof entities / sizeof *entities; k++)
            if (entities[k].c == text->data[i])
                entity = entities[k].entity;
        if (entity)
            buf_puts(out, entity);
        else
            buf_put(out, text->data[i]);
    }
}

/* Adds a spelling and how it is written into a cell of results.tsv. */
static void add_with_cell(struct forms *forms, struct buf *text)
{
    SCOPED_BUF cell = {0};
    add(forms, text);
    put_doubled(&cell, text, '"');
    add(forms, &cell);
    if (cell.failed)
        text->failed = true;
}

static int longest_first(const void *a, const void *b)
{
    const struct buf *x = a, *y = b;
    return (x->length < y->length) - (x->length > y->length);
}

static void forms_release(struct forms *forms)
{
    for (size_t i = 0; i < forms->n; i++)
        buf_release(&forms->at[i]);
    *forms = (struct forms){.n = 0};
}

static enum lineage_status forms_make(struct forms *forms, const char *secret, size_t length, struct lineage_error *err)
{
    static const char upper[] = "0123456789ABCDEF", lower[] = "0123456789abcdef";
    SCOPED_BUF raw = {0}, made = {0};
    bool failed = false;
    *forms = (struct forms){.n = 0};
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)secret[i] < 0x20 || secret[i] == 0x7f)
            return store_fail(err, LINEAGE_EINVAL, "the secret contains a control character");
    if (length < LINEAGE_SECRET_MIN || length > LINEAGE_SECRET_MAX || !lineage_text_is_utf8(secret, length))
        return store_fail(err, LINEAGE_EINVAL, "a secret has %d to %d bytes of UTF-8; shorter texts are found in other words",
                          LINEAGE_SECRET_MIN, LINEAGE_SECRET_MAX);
    buf_add(&raw, secret, length);
    add_with_cell(forms, &raw);
    for (enum form way = 0; way < N_FORMS; way++) {
        buf_reset(&made);
        switch (way) {
        case FORM_JSON: put_json(&made, &raw, 0, false); break;
        case FORM_JSON_ASCII: put_json(&made, &raw, JSON_ENSURE_ASCII, false); break;
        case FORM_JSON_LOWER: put_json(&made, &raw, JSON_ENSURE_ASCII, true); break;
        case FORM_QUOTED: put_doubled(&made, &raw, '\''); break;
        case FORM_URL: put_percent(&made, &raw, upper); break;
        case FORM_URL_LOWER: put_percent(&made, &raw, lower); break;
        case FORM_HTML: put_html(&made, &raw); break;
        case N_FORMS: break;
        }
        failed = failed || made.failed;
        add_with_cell(forms, &made);
        failed = failed || made.failed;
    }
    for (size_t i = 0; i < forms->n; i++)
        failed = failed || forms->at[i].failed;
    qsort(forms->at, forms->n, sizeof *forms->at, longest_first);
    forms->longest = forms->n ? forms->at[0].length : 0;
    failed = failed || raw.failed;
    if (failed)
        forms_release(forms);
    return failed ? store_no_memory(err) : LINEAGE_OK;
}

/* Length of the form that begins at text, of which `length` bytes are known; 0: none does. */
static size_t forms_match(const struct forms *forms, const char *text, size_t length)
{
    for (size_t i = 0; i < forms->n; i++)
        if (forms->at[i].length <= length && memcmp(forms->at[i].data, text, forms->at[i].length) == 0)
            return forms->at[i].length;
    return 0;
}

/* ---- takes a secret out of results.tsv ---- */

/* The order makes an interrupted redaction harmless: the lines of .results.tsv.redacted are durable before the first byte of the
 * log changes. A record has then either its original bytes or the redacted ones, and both match; only a record of which a part
 * was overwritten does not, until the recorded ranges are overwritten by the next call, which needs no secret for that. */

struct redacting {
    struct lineage_store *store;
    const struct forms *forms;
    struct redactions before;
    struct digest_chain chain;
    struct buf lines, record; /* lines to be recorded; the redacted bytes of one record */
    struct tsv_reader *cells, *cells_after;
    struct lineage_error *err;
    char names[64][24]; /* of the header's columns; the others count as extra columns */
    size_t n_names;
    struct lineage_redaction *done;
};

static void overwrite_range(struct buf *record, size_t from, size_t length)
{
    memset(record->data + from, REDACTED, length);
}

/* ---- completing what was interrupted ---- */

static enum lineage_status finish_record(struct lineage_store *store, const struct redaction *r, size_t *rows,
                                         struct lineage_error *err)
{
    SCOPED_BUF now = {0};
    const char *rest = r->ranges;
    size_t from, length;
    bool differs = false;
    enum lineage_status status = log_read(store->log, r->offset, (size_t)r->length, &now, err);
    if (status == LINEAGE_OK && now.length == r->length) {
        while (redaction_range(&from, &length, &rest)) {
            for (size_t i = 0; i < length; i++)
                differs = differs || now.data[from + i] != REDACTED;
            overwrite_range(&now, from, length);
        }
        if (differs)
            status = log_overwrite(store->log, r->offset, now.data, now.length, err);
        *rows += differs;
    }
    return status;
}

/* A line whose record is elsewhere now, because somebody edited the log, must not overwrite anything: the recorded length and
 * place must be those of a record. */
static enum lineage_status finish_all(struct lineage_store *store, const struct redactions *r, size_t *rows,
                                      struct lineage_error *err)
{
    RELEASED_BY(record_walk_release) struct record_walk walk = {0};
    struct tsv_record record;
    struct log_state end;
    uint64_t number = 0;
    bool there;
    enum lineage_status status = log_look(store->log, &end, err);
    record_walk_start(&walk, store->log, 0, 1, end.size);
    for (size_t i = 0; status == LINEAGE_OK && i < r->n;) {
        status = record_walk_next(&walk, &record, &there, err);
        if (status != LINEAGE_OK || !there)
            break;
        number++;
        for (; i < r->n && r->at[i].record <= number && status == LINEAGE_OK; i++)
            if (r->at[i].record == number && r->at[i].offset == record.offset && r->at[i].length == record.length)
                status = finish_record(store, &r->at[i], rows, err);
    }
    return status;
}

/* Completes redactions that were interrupted, under a claim of its own. */
static enum lineage_status redact_rows_finish(struct lineage_store *store, size_t *rows, struct lineage_error *err)
{
    RELEASED_BY(redactions_release) struct redactions r = {.n = 0};
    struct log_state state;
    *rows = 0;
    enum lineage_status status = redactions_read(&r, store->dir_fd, err);
    if (status == LINEAGE_OK && r.n) {
        status = log_claim(store->log, &state, err);
        if (status == LINEAGE_OK) {
            status = finish_all(store, &r, rows, err);
            acknowledged_renew(store);
            log_release(store->log);
        }
    }
    return status;
}

/* ---- what may be redacted ---- */

/* Other rows, files and programs refer to these cells. */
static bool is_fixed(const char *name)
{
    static const char *const names[] = {"exp_id",  "commit",        "timestamp",   "parent_exp", "baseline_exp",
                                        "status",  "snapshot_path", "core_metric", "val_bpb",    "delta_vs_best",
                                        "train_s", "total_s",       "memory_gb",   NULL};
    for (size_t i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static enum lineage_status read_names(struct redacting *r, const struct tsv_record *header)
{
    const struct tsv_cell *cells;
    size_t n;
    enum lineage_status status = tsv_parse(r->cells, header, &cells, &n, r->err);
    for (size_t i = 0; status == LINEAGE_OK && i < n && i < sizeof r->names / sizeof *r->names; i++) {
        snprintf(r->names[i], sizeof *r->names, "%s", cells[i].text);
        r->n_names = i + 1;
    }
    return status;
}

/* Compares the cells before and after. */
static enum lineage_status check_cells(struct redacting *r, const struct tsv_record *before)
{
    const struct tsv_record after = {.bytes = r->record.data,
                                     .length = before->length,
                                     .content = before->content,
                                     .offset = before->offset,
                                     .line = before->line,
                                     .terminated = before->terminated};
    const struct tsv_cell *a, *b;
    size_t n_a, n_b;
    enum lineage_status status = tsv_parse(r->cells, before, &a, &n_a, r->err);
    if (status == LINEAGE_OK)
        status = tsv_parse(r->cells_after, &after, &b, &n_b, r->err);
    if (status == LINEAGE_OK && n_a != n_b)
        return store_fail(r->err, LINEAGE_EINVAL, "results.tsv:%" PRIu64 ": without the secret the row would have other cells",
                          before->line);
    for (size_t i = 0; status == LINEAGE_OK && i < n_a; i++)
        if (i < r->n_names && is_fixed(r->names[i]) &&
            (a[i].length != b[i].length || memcmp(a[i].text, b[i].text, a[i].length) != 0))
            return store_fail(r->err, LINEAGE_EINVAL,
                              "results.tsv:%" PRIu64 ": the secret is in the column %s, which cannot be "
                              "redacted, because rows, files and programs refer to it",
                              before->line, r->names[i]);
    return status;
}

/* ---- redacting ---- */

/* Overwrites the secret in r->record, and appends the ranges to the lines. Returns the number of places. */
static size_t find_ranges(struct redacting *r, struct buf *ranges)
{
    size_t places = 0, n;
    for (size_t i = 0; i < r->record.length; i += n ? n : 1) {
        n = forms_match(r->forms, r->record.data + i, r->record.length - i);
        if (!n)
            continue;
        buf_printf(ranges, "%s%zu:%zu", places++ ? "," : "", i, n);
        overwrite_range(&r->record, i, n);
    }
    return places;
}

static enum lineage_status examine(struct redacting *r, const struct tsv_record *record)
{
    SCOPED_BUF ranges = {0};
    struct digest_chain after = r->chain;
    enum lineage_status status = LINEAGE_OK;
    buf_reset(&r->record);
    buf_add(&r->record, record->bytes, record->length);
    size_t places = r->record.failed ? 0 : find_ranges(r, &ranges);
    if (places && r->chain.records == 0)
        status = store_fail(r->err, LINEAGE_EINVAL, "the secret is in the header of results.tsv");
    if (places && status == LINEAGE_OK)
        status = check_cells(r, record);
    digest_chain_add(&r->chain, record);
    redactions_apply(&r->before, &r->chain);
    if (places && status == LINEAGE_OK) {
        digest_chain_add(&after, &(struct tsv_record){.bytes = r->record.data, .length = record->length});
        buf_printf(&r->lines, "row %" PRIu64 " %" PRIu64 " %zu ", r->chain.records, record->offset, record->length);
        buf_add_hex(&r->lines, r->chain.digest, DIGEST_BYTES);
        buf_put(&r->lines, ' ');
        buf_add_hex(&r->lines, after.digest, DIGEST_BYTES);
        buf_printf(&r->lines, " %s\n", ranges.data);
        r->done->rows++;
        r->done->places += places;
    }
    bool failed = ranges.failed || r->lines.failed || r->record.failed;
    return failed ? store_no_memory(r->err) : status;
}

static enum lineage_status examine_all(struct redacting *r, uint64_t end)
{
    RELEASED_BY(record_walk_release) struct record_walk walk = {0};
    struct tsv_record record;
    bool there;
    enum lineage_status status;
    record_walk_start(&walk, r->store->log, 0, 1, end);
    while ((status = record_walk_next(&walk, &record, &there, r->err)) == LINEAGE_OK && there) {
        if (r->chain.records == 0)
            status = read_names(r, &record);
        if (status == LINEAGE_OK)
            status = examine(r, &record);
        if (status != LINEAGE_OK)
            break;
    }
    return status;
}

/* Call it under the claim. */
static enum lineage_status redact_claimed(struct redacting *r, const struct log_state *end)
{
    struct log_digests digests = {.broken = NULL};
    RELEASED_BY(redactions_release) struct redactions now = {.n = 0};
    size_t rows;
    /* Digests are completed first, so that they cover the original bytes of every row. */
    TRY(log_check_digests(r->store->log, &digests, r->err));
    if (digests.is_broken)
        return store_fail(r->err, LINEAGE_ECORRUPT, "rows of %s do not match their digests; see 'lineage verify'",
                          r->store->log->place);
    TRY(log_rebuild_digests(r->store->log, &digests, r->err));
    TRY(redactions_read(&r->before, r->store->dir_fd, r->err));
    TRY(examine_all(r, end->size));
    if (!r->lines.length)
        return LINEAGE_OK;
    TRY(redactions_add(r->store->dir_fd, r->lines.data, r->lines.length, r->err));
    TRY(redactions_read(&now, r->store->dir_fd, r->err));
    return finish_all(r->store, &now, &rows, r->err);
}

/* Overwrites the secret in every row. All rows are examined before the first byte is changed. */
static enum lineage_status redact_rows(struct lineage_store *store, const struct forms *forms, struct lineage_redaction *done,
                                       struct lineage_error *err)
{
    struct log_state end;
    struct redacting r = {.store = store, .forms = forms, .err = err, .done = done};
    enum lineage_status status = log_look(store->log, &end, err);
    if (status != LINEAGE_OK || !end.exists)
        return status;
    r.cells = tsv_reader_new();
    r.cells_after = tsv_reader_new();
    if (!r.cells || !r.cells_after)
        status = store_no_memory(err);
    if (status == LINEAGE_OK)
        status = log_claim(store->log, &end, err);
    if (status == LINEAGE_OK) {
        status = redact_claimed(&r, &end);
        acknowledged_renew(store);
        log_release(store->log);
    }
    if (status != LINEAGE_OK)
        done->rows = done->places = 0;
    redactions_release(&r.before);
    buf_release(&r.lines);
    buf_release(&r.record);
    tsv_reader_free(r.cells);
    tsv_reader_free(r.cells_after);
    return status;
}

/* ---- takes a secret out of the files beside results.tsv ---- */

enum { DEPTH = 64, PATH_BYTES = 4096, PIECE = 1 << 20 };

struct cleaning {
    struct lineage_store *store;
    const struct forms *forms;
    bool only_look;
    struct lineage_redaction *done;
    lineage_redact_fn *report;
    void *context;
    struct lineage_error *err;
    struct buf piece;
    char path[PATH_BYTES]; /* of the current directory or file, relative to the store */
};

static void tell(struct cleaning *c, size_t places, const char *why)
{
    if (why)
        c->done->left += places;
    if (c->report)
        c->report(c->context, c->path, places, why);
}

/* The rows have an order of their own (redact.c), and the mirror is removed. */
static bool is_left_to_others(const struct cleaning *c, const char *name, unsigned depth)
{
    static const char *const names[] = {PLACE_MIRROR,   PLACE_MIRROR "-wal", PLACE_MIRROR "-shm",
                                        PLACE_REDACTED, PLACE_DIGESTS,       NULL};
    for (size_t i = 0; names[i]; i++)
        if (depth == 0 && strcmp(names[i], name) == 0)
            return true;
    return depth == 0 && !c->only_look && strcmp(name, PLACE_RESULTS) == 0;
}

/* ---- one file ---- */

/* Counts the places in the file and, with a descriptor for writing, overwrites them. A form that is split between two pieces is
 * found because the pieces overlap. Returns -1 with errno if the file cannot be read or written. */
static ssize_t clean_bytes(struct cleaning *c, int from, int to)
{
    const size_t overlap = c->forms->longest - 1;
    ssize_t places = 0, n;
    uint64_t at = 0;
    char mask[64];
    memset(mask, REDACTED, sizeof mask);
    buf_reset(&c->piece);
    if (!buf_reserve(&c->piece, PIECE))
        return errno = ENOMEM, -1;
    while ((n = fs_read_at(from, c->piece.data, PIECE, at)) > 0) {
        const size_t length = (size_t)n, end = length == PIECE ? length - overlap : length;
        size_t i = 0, match;
        for (; i < end; i += match ? match : 1) {
            const char *first = c->piece.data + i;
            match = forms_match(c->forms, first, length - i);
            places += match > 0;
            for (size_t k = 0; to >= 0 && k < match; k += sizeof mask)
                if (fs_write_at(to, mask, match - k < sizeof mask ? match - k : sizeof mask, at + i + k) != 0)
                    return -1;
        }
        at += i;
        if (length < PIECE)
            break;
    }
    return n < 0 ? -1 : places;
}

/* Opens a file for writing that its owner made read-only, as copies in provenance/ are. */
static int open_writable(int dir, const char *name, int fd, const struct stat *st)
{
    struct stat again;
    int to = fs_open(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (to < 0 && errno == EACCES && fs_chmod(fd, (st->st_mode & 07777) | 0200) == 0) {
        to = fs_open(dir, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
        int saved = errno;
        fs_chmod(fd, st->st_mode & 07777);
        errno = saved;
    }
    if (to >= 0 && (fs_stat_open(to, &again) != 0 || again.st_ino != st->st_ino || again.st_dev != st->st_dev)) {
        fs_close(to);
        return errno = EAGAIN, -1;
    }
    return to;
}

/* An object of lineage_code/ is named after its bytes. Its new digest is recorded before they change; until they have changed,
 * the old one matches. */
static bool note_code(struct cleaning *c, int fd, const char *name)
{
    SCOPED_BUF bytes = {0}, line = {0};
    struct stat st;
    char digest[SHA256_DIGEST_STRING_LENGTH];
    bool ok = fs_stat_open(fd, &st) == 0 && buf_reserve(&bytes, (size_t)st.st_size + 1);
    ssize_t n = ok ? fs_read_at(fd, bytes.data, (size_t)st.st_size, 0) : -1;
    for (size_t i = 0, match; n > 0 && i < (size_t)n; i += match ? match : 1)
        if ((match = forms_match(c->forms, bytes.data + i, (size_t)n - i)) > 0)
            memset(bytes.data + i, REDACTED, match);
    if (n >= 0) {
        SHA256Data((const uint8_t *)bytes.data, (size_t)n, digest);
        buf_printf(&line, "code %s %s\n", name, digest);
    }
    ok = n >= 0 && !line.failed &&
         (redactions_have_code(c->store->dir_fd, name, digest) ||
          redactions_add(c->store->dir_fd, line.data, line.length, NULL) == LINEAGE_OK);
    return ok;
}

static bool is_code(const struct cleaning *c)
{
    return strncmp(c->path, PLACE_CODE "/", sizeof PLACE_CODE) == 0;
}

static void clean_file(struct cleaning *c, int dir, const char *name)
{
    struct stat st;
    SCOPED_FD to = -1;
    SCOPED_FD fd = fs_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (fd < 0) {
        if (errno != ENOENT)
            tell(c, 1, strerror(errno));
        return;
    }
    bool regular = fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode);
    ssize_t found = regular ? clean_bytes(c, fd, -1) : 0;
    bool ok = found >= 0;
    if (found > 0 && !c->only_look) {
        ok = !is_code(c) || note_code(c, fd, name);
        ok = ok && (to = open_writable(dir, name, fd, &st)) >= 0 && clean_bytes(c, fd, to) >= 0 && fs_sync(to) == 0;
    }
    if (!ok) {
        tell(c, found > 0 ? (size_t)found : 1, strerror(errno));
    } else if (found > 0 && c->only_look) {
        tell(c, (size_t)found, "it is still there");
    } else if (found > 0) {
        c->done->files++;
        c->done->places += (size_t)found;
        tell(c, (size_t)found, NULL);
    }
}

/* ---- the directory ---- */

static void clean_dir(struct cleaning *c, int dir_fd, const char *dir, unsigned depth);

static void clean_entry(struct cleaning *c, int dir, const char *name, unsigned depth)
{
    struct stat st;
    const size_t before = strlen(c->path);
    int n = snprintf(c->path + before, sizeof c->path - before, "%s%s", before ? "/" : "", name);
    size_t length = strlen(name);
    if (n > 0 && (size_t)n < sizeof c->path - before && !is_left_to_others(c, name, depth)) {
        for (size_t i = 0; c->only_look && i < length; i++)
            if (forms_match(c->forms, name + i, length - i))
                tell(c, 1, "it is in the name of the file, which is not changed");
        if (fs_stat(dir, name, AT_SYMLINK_NOFOLLOW, &st) != 0 || S_ISREG(st.st_mode))
            clean_file(c, dir, name);
        else if (S_ISDIR(st.st_mode) && depth < DEPTH)
            clean_dir(c, dir, name, depth + 1);
        else if (S_ISDIR(st.st_mode))
            tell(c, 1, "it is nested too deeply");
    }
    c->path[before] = '\0';
}

static void clean_dir(struct cleaning *c, int dir_fd, const char *dir, unsigned depth)
{
    const char *name;
    SCOPED_LIST list = fs_list_at(dir_fd, dir, O_NOFOLLOW);
    if (!list && c->only_look)
        tell(c, 1, strerror(errno));
    while ((name = fs_next(list)))
        clean_entry(c, dirfd(list), name, depth);
}

/* The rows come last, because they tell that this is a copy of the store. */
static void clean_moved(void *context, int place, uint64_t size)
{
    struct cleaning *c = context;
    (void)size;
    clean_dir(c, place, ".", 0);
    snprintf(c->path, sizeof c->path, "%s", PLACE_RESULTS);
    clean_file(c, place, PLACE_RESULTS);
    c->path[0] = '\0';
}

/* Overwrites the secret in what this user's state directory repeats of the store, also under its former paths; acknowledged_renew
 * repeats the rows. Only what is left is reported. */
static void redact_repeated(struct lineage_store *store, const struct forms *forms, bool only_look,
                            struct lineage_redaction *done, lineage_redact_fn *report, void *context)
{
    struct lineage_redaction uncounted = {.rows = 0};
    struct cleaning c = {.store = store,
                         .forms = forms,
                         .only_look = only_look,
                         .done = only_look ? done : &uncounted,
                         .report = only_look ? report : NULL,
                         .context = context};
    SCOPED_BUF path = {0};
    int place = acknowledged_open(store, &path);
    if (!only_look)
        acknowledged_each_moved(store, clean_moved, &c);
    if (place >= 0 && path.length < sizeof c.path / 2) {
        snprintf(c.path, sizeof c.path, "%.*s", only_look ? (int)path.length - 1 : 0, path.data);
        clean_dir(&c, place, ".", only_look);
    }
    fs_close(place);
    buf_release(&c.piece);
}

/* Overwrites the secret in every regular file below the store's directory, in place, because files of provenance/ share their
 * bytes by hard links, and because the length stays. Links are not followed. Names that contain the secret are reported as left.
 * With only_look, nothing is changed, and every place that is found counts as left; then results.tsv is searched, too. */
static enum lineage_status redact_files(struct lineage_store *store, const struct forms *forms, bool only_look,
                                        struct lineage_redaction *done, lineage_redact_fn *report, void *context,
                                        struct lineage_error *err)
{
    struct cleaning c = {
        .store = store, .forms = forms, .only_look = only_look, .done = done, .report = report, .context = context, .err = err};
    clean_dir(&c, store->dir_fd, ".", 0);
    bool failed = c.piece.failed;
    buf_release(&c.piece);
    return failed ? store_no_memory(err) : LINEAGE_OK;
}

/* ---- takes a secret out of a store (lineage/redact.h) ---- */

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
    RELEASED_BY(forms_release) struct forms forms = {.n = 0};
    *done = (struct lineage_redaction){.rows = 0};
    TRY(store_check_owner(store, err));
    if (!log_can_overwrite(store->log))
        return store_fail(err, LINEAGE_EREFUSED,
                          "the log is on a server, where nobody can change a row; revoke the secret, and export the rows into "
                          "a directory to redact them there");
    if (secret)
        TRY(forms_make(&forms, secret, length, err));
    TRY(redact_rows_finish(store, &done->rows, err));
    const size_t finished = done->rows;
    if (!secret)
        return finished ? remove_mirror(store, err) : LINEAGE_OK;
    redact_repeated(store, &forms, false, done, report, context);
    enum lineage_status status = redact_rows(store, &forms, done, err);
    if (status != LINEAGE_OK) {
        done->rows = finished;
        return status;
    }
    TRY(redact_files(store, &forms, false, done, report, context, err));
    TRY(remove_mirror(store, err));
    TRY(redact_files(store, &forms, true, done, report, context, err));
    redact_repeated(store, &forms, true, done, report, context);
    return LINEAGE_OK;
}
