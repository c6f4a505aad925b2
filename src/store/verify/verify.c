/*
 * verify.c: checks everything that can be wrong with a store, and reports each fault as one finding.
 *
 * It takes no lock and changes nothing, so it can run while a night appends. The check continues after a finding. Only
 * a failure that prevents checking (memory, I/O) ends the check with an error, because the user would otherwise believe
 * that nothing was found.
 */
#include <lineage/verify.h>

#include <fcntl.h>
#include <jansson.h>

#include "../append/acknowledged.h"
#include "../append/outbox_file.h"
#include "../append/receipts.h"
#include "../blobs/blobs.h"
#include "../code/code_offer.h"
#include "../files/fs.h"
#include "../files/places.h"
#include "../files/snapshot.h"
#include "../files/telemetry.h"
#include "../format/json_text.h"
#include "../log/digest_chain.h"
#include "../questions/questions.h"
#include "mirror_checks.h"
#include "../mirror/statement.h"

/* ---- reports faults of single rows: those that the sync noted, and those that are found by ids.
 *
 * A record that cannot be read is noted by the sync, because the mirror has no other trace of it. Faults between rows
 * can change with every new row, so they are searched for each time.
 */

/* Reports the rows of `SELECT line, exp_id, text[, kind]`. They are reported one by one and not collected, because a
 * damaged file may have a million findings. */
static enum lineage_status report_rows(struct mirror *mirror, const char *kind, const char *sql, lineage_finding_fn *report,
                                       void *context, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    while (mirror_next(&status, mirror, stmt, err)) {
        const struct lineage_finding finding = {sqlite3_column_count(stmt) > 3 ? mirror_text(stmt, 3) : kind,
                                                (uint64_t)sqlite3_column_int64(stmt, 0), mirror_text(stmt, 1),
                                                mirror_text(stmt, 2)};
        if (report)
            report(context, &finding);
    }
    return status;
}

/* Reports the faults that the sync found in records, in the order of the log. */
static enum lineage_status mirror_findings(struct mirror *mirror, lineage_finding_fn *report, void *context,
                                           struct lineage_error *err)
{
    return report_rows(mirror, "row", "SELECT line, exp_id, text, kind FROM findings ORDER BY offset", report, context, err);
}

/* Ids are read from their index, in order and each once, because the rows of trials are wide. So the cost grows with the
 * number of rows and not with its square, even if all rows have the same id: the first row with an id is the first entry of
 * the index that has it. CROSS keeps SQLite from scanning trials instead. Parents are looked up in the table of ancestors,
 * where a parent is 0 if it exists in neither spelling. The reported line is that of the faulty row, not of the first row
 * with the id. */
static const struct {
    const char *kind, *sql;
} id_faults[] = {
    {"id", "SELECT line, '', 'exp_id is empty' FROM trials WHERE exp_id = '' ORDER BY seq"},
    {"id", "SELECT t.line, t.exp_id, 'exp_id was already used in line ' || (SELECT line FROM trials WHERE seq = f.seq)"
           " FROM (SELECT exp_id, min(seq) AS seq FROM trials WHERE exp_id > '' GROUP BY exp_id"
           " HAVING count(*) > 1) f CROSS JOIN trials t ON t.exp_id = f.exp_id AND t.seq > f.seq ORDER BY t.seq"},
    {"id", /* '`' is the character behind '_': only ids with the prefix are read */
     "SELECT t.line, t.exp_id, 'names the same trial as ''' || f.exp_id || ''' in line ' || f.line FROM trials t, trials f"
     " WHERE t.exp_id > 'exp_' AND t.exp_id < 'exp`'"
     " AND f.seq = (SELECT seq FROM trials g WHERE g.exp_id = substr(t.exp_id, 5) ORDER BY seq LIMIT 1) ORDER BY t.seq"},
    {"parent",
     "SELECT t.line, t.exp_id, 'parent_exp ''' || t.parent_exp || ''' is not in the store' FROM ancestors a CROSS JOIN trials t"
     " ON t.seq = a.seq WHERE a.parent = 0 AND a.kind = 0 AND t.parent_exp <> '' ORDER BY a.seq"},
    {LINEAGE_NOTE,
     "SELECT line, exp_id, 'timestamp ''' || substr(timestamp, 1, 60) || ''' is not a date; --since and --until do not find"
     " the trial' FROM trials WHERE timestamp <> '' AND moment(timestamp) IS NULL ORDER BY seq"},
};

/* Reports the trials whose parents lead into a cycle. */
static enum lineage_status mirror_cycles(struct mirror *mirror, lineage_finding_fn *report, void *context,
                                         struct lineage_error *err)
{
    return report_rows(mirror, "cycle",
                       "SELECT t.line, t.exp_id, 'is its own ancestor, or descends from one' FROM ancestors a CROSS JOIN trials t"
                       " ON t.seq = a.seq WHERE a.kind = 1 ORDER BY a.seq",
                       report, context, err);
}

/* Reports ids that are empty or used twice, parents that do not exist, and times that cannot be read. */
static enum lineage_status mirror_id_faults(struct mirror *mirror, lineage_finding_fn *report, void *context,
                                            struct lineage_error *err)
{
    for (size_t i = 0; i < sizeof id_faults / sizeof *id_faults; i++)
        TRY(report_rows(mirror, id_faults[i].kind, id_faults[i].sql, report, context, err));
    return LINEAGE_OK;
}

struct verifying {
    struct lineage_store *store;
    lineage_finding_fn *report;
    void *context;
    struct lineage_verification *all;
};

static void found(struct verifying *v, const char *kind, uint64_t line, const char *exp_id, const char *text)
{
    struct lineage_finding finding = {kind, line, exp_id, text};
    v->all->n_findings += strcmp(kind, LINEAGE_NOTE) != 0;
    if (v->report)
        v->report(v->context, &finding);
}

/* Reports a last record without a line end. It is not a fault yet, because editors save such files and a writer may be
 * in the middle of an append. But the next append may move the record aside, and the user should know that before. */
static void check_tail(struct verifying *v)
{
    char text[192];
    const struct mirror_position *at = mirror_position(v->store->mirror);
    if (at->log.size > at->watermark) {
        snprintf(text, sizeof text,
                 "the last record has no line end (%llu bytes); the next append ends it if a digest shows that it is whole, and "
                 "else moves it to " PLACE_RESULTS ".torn-N",
                 (unsigned long long)(at->log.size - at->watermark));
        found(v, "torn", at->line, "", text);
    }
}

static void pass_on(void *context, const struct lineage_finding *finding)
{
    found(context, finding->kind, finding->line, finding->exp_id, finding->text);
}

/* A mirror that cannot even be read is a finding, not a failure of the check. If this handle fell back to memory
 * earlier, it has reported the reason, and there is no mirror on disk to compare. */
static enum lineage_status check_index(struct verifying *v, struct mirror *on_disk, struct lineage_error *err)
{
    struct lineage_error why = {0};
    const struct lineage_error *fallback = mirror_fallback(on_disk);
    if (fallback)
        found(v, "mirror", fallback->line, "", fallback->text);
    if (fallback || !mirror_on_disk(on_disk))
        return LINEAGE_OK;
    enum lineage_status status = mirror_check(on_disk, v->store->mirror, pass_on, v, &why);
    if (status == LINEAGE_EDB || status == LINEAGE_ENOMEM) { /* on a full disk SQLite calls it a lack of memory */
        found(v, "mirror", 0, "", why.text);
        return LINEAGE_OK;
    }
    return status == LINEAGE_OK ? status : store_give(err, &why);
}

/* The path comes from the row, which another tool may have written: `/etc` and `../..` are existing directories, but
 * not snapshots of this store. */
static void check_snapshot(void *context, const struct lineage_trial *trial)
{
    struct verifying *v = context;
    v->all->checked.snapshots++;
    if (!fs_is_dir_below(v->store->dir_fd, trial->snapshot_path) && !blobs_has(v->store, trial->snapshot_path))
        found(v, "snapshot", trial->line, trial->exp_id, "snapshot_path is not there, or leads out of the store");
}

/* Checks that a file of telemetry/ is named after a row and readable. The name must be the exact id, because readers
 * look for that name: exp_014.json does not belong to 014. The contents were checked when the file was written. */
static enum lineage_status check_telemetry_file(struct verifying *v, const char *name, struct lineage_error *err)
{
    char id[PLACE_MAX];
    SCOPED_BUF text = {0};
    struct lineage_error why;
    json_auto_t *root = NULL;
    int64_t seq;
    if (!place_telemetry_id(id, name))
        return LINEAGE_OK; /* a file of another program */
    v->all->checked.telemetry++;
    enum lineage_status status = mirror_find_exact(v->store->mirror, id, &seq, err);
    if (status == LINEAGE_ENOTFOUND)
        found(v, LINEAGE_NOTE, 0, id, "telemetry without a row, as a kill before the row leaves it; no other trial gets this id");
    else if (status != LINEAGE_OK)
        return status;
    bool read = (status = telemetry_read(v->store->dir_fd, id, &text, &why)) == LINEAGE_OK;
    if (read)
        status = json_text_parse(&root, name, LINEAGE_ECORRUPT, text.data, text.length, 0, &why);
    if (status == LINEAGE_ENOMEM)
        store_give(err, &why);
    else if (!read)
        found(v, "telemetry", 0, id, "telemetry cannot be read");
    else if (!json_is_object(root))
        found(v, "telemetry", 0, id, "telemetry is not a JSON object");
    return status == LINEAGE_ENOMEM ? status : LINEAGE_OK;
}

static enum lineage_status check_telemetry(struct verifying *v, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    const char *name;
    SCOPED_LIST list = fs_list_at(v->store->dir_fd, PLACE_TELEMETRY, 0);
    while (status == LINEAGE_OK && (name = fs_next(list)))
        status = check_telemetry_file(v, name, err);
    return status;
}

static void report_broken(void *context, uint64_t line, const char *text)
{
    found(context, "digest", line, "", text);
}

static void give_digests(struct lineage_digests *out, const struct log_digests *digests)
{
    *out = (struct lineage_digests){.records = digests->head.records, .kept = digests->kept};
    if (!digests->is_broken)
        digest_write(out->head, digests->head.digest);
}

static void note_passed(void *context, const struct digest_chain *chain)
{
    struct lineage_verification *all = ((struct verifying *)context)->all;
    char digest[DIGEST_TEXT];
    if (!all->n_known)
        return;
    digest_write(digest, chain->digest);
    for (size_t i = 0; i < all->n_known; i++)
        if (!all->known[i].found && strcmp(all->known[i].digest, digest) == 0) {
            all->known[i].found = true;
            all->known[i].record = chain->records;
        }
}

static enum lineage_status check_known(struct lineage_verification *all, struct lineage_error *err)
{
    unsigned char digest[DIGEST_BYTES];
    for (size_t i = 0; i < all->n_known; i++) {
        all->known[i].found = false;
        if (!digest_read(digest, all->known[i].digest))
            return store_fail(err, LINEAGE_EINVAL, "'%.80s' is not a digest, which has 64 digits 0 to 9 and a to f",
                              all->known[i].digest);
    }
    return LINEAGE_OK;
}

/* What an editor or a spreadsheet does to a file when it saves it. */
enum { MARK = 1, RETURNS = 2, BLANKS = 4, FIRST_LINE = 8 };

static const struct {
    unsigned what;
    const char *said, *back;
} reformattings[] = {{MARK, "it begins with a byte order mark, as a spreadsheet writes it", "1s/^\\xef\\xbb\\xbf//"},
                     {RETURNS, "lines end in CR LF, as an editor writes them", "s/\\r$//"},
                     {MARK | RETURNS, "it begins with a byte order mark, and lines end in CR LF, as a spreadsheet writes them",
                      "1s/^\\xef\\xbb\\xbf//; s/\\r$//"},
                     {BLANKS, "lines end in blanks, as an editor may leave them", "s/ *$//"},
                     {BLANKS | FIRST_LINE, "its first line ends in blanks, as an editor may leave them", "1s/ *$//"}};

/* Writes the bytes that the log had before. */
static void take_back(struct buf *out, const struct buf *log, unsigned what)
{
    size_t from = what & MARK && log->length > 3 && memcmp(log->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    out->length = 0;
    for (bool first = true; from < log->length; first = false) {
        const char *end = memchr(log->data + from, '\n', log->length - from);
        const size_t next = end ? (size_t)(end - log->data) : log->length;
        size_t to = next;
        if (what & RETURNS && to > from && log->data[to - 1] == '\r')
            to--;
        while (what & BLANKS && (first || !(what & FIRST_LINE)) && to > from && log->data[to - 1] == ' ')
            to--;
        buf_add(out, log->data + from, to - from);
        if (end)
            buf_add(out, "\n", 1);
        from = next + (end != NULL);
    }
}

/* Names what takes back what an editor or a spreadsheet did to the file, if the bytes are then those whose digest was written: any other
 * log may have had such bytes before. */
static void note_reformatting(struct verifying *v)
{
    SCOPED_BUF log = {0}, before = {0};
    char text[240];
    if (fs_read_file(v->store->dir_fd, PLACE_RESULTS, &log, NULL) == LINEAGE_OK && log.length) {
        const char *end = memchr(log.data, '\n', log.length);
        for (size_t i = 0; i < sizeof reformattings / sizeof *reformattings; i++) {
            take_back(&before, &log, reformattings[i].what);
            if (before.failed || before.length == log.length || !log_knows(v->store->log, before.data, before.length))
                continue;
            snprintf(text, sizeof text, "%s: sed -i '%s' " PLACE_RESULTS " takes that back", reformattings[i].said,
                     reformattings[i].back);
            found(v, LINEAGE_NOTE, 1, "", text);
            break;
        }
        if (*log.data == '"' && end && end - log.data > 2 && end[-1 - (end[-1] == '\r')] == '"')
            found(v, LINEAGE_NOTE, 1, "",
                  "all its cells are in quotes, as a spreadsheet saves them; the rows can be read, but the bytes are others");
    }
}

/* The digests are checked last, because this reads the whole log once more. */
static enum lineage_status check_digests(struct verifying *v, struct lineage_error *err)
{
    char text[160];
    struct log_digests digests = {.broken = report_broken, .passed = note_passed, .context = v};
    TRY(check_known(v->all, err));
    TRY(log_check_digests(v->store->log, &digests, err));
    for (size_t i = 0; i < v->all->n_known; i++) {
        const struct lineage_known_digest *known = &v->all->known[i];
        snprintf(text, sizeof text, "no record ends in the digest %.64s: rows that it covers were changed or removed",
                 known->digest);
        if (!known->found)
            found(v, "digest", 0, "", known->text ? known->text : text);
    }
    if (digests.is_broken) {
        note_reformatting(v);
        found(v, LINEAGE_NOTE, 0, "",
              "put back the file of then from a backup, or, if you know the change and want it, accept it: 'lineage rebuild "
              "--digests'");
    }
    give_digests(&v->all->digests, &digests);
    v->all->checked.redacted = digests.redacted;
    return LINEAGE_OK;
}

/* If somebody removed records from a log on a server, it cannot be read to its end. Checks the digests, which show
 * where the records are missing. */
static bool is_explained(struct verifying *v)
{
    const size_t before = v->all->n_findings;
    return check_digests(v, NULL) == LINEAGE_OK && v->all->n_findings > before;
}

/* Whether a trial began in this directory, and no process holds its lock any more. */
static bool is_killed_trial(int store_fd, const char *name)
{
    struct stat st;
    if (strncmp(name, PLACE_TRIAL, sizeof PLACE_TRIAL - 1) != 0)
        return false;
    SCOPED_FD fd = fs_open(store_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
    return fd >= 0 && fs_stat(fd, PLACE_TRIAL_PLAN, AT_SYMLINK_NOFOLLOW, &st) == 0 && fs_try_lock(fd) == 0;
}

/* A killed trial has no row yet: the next trial in this store writes it. */
static void check_killed_trials(struct verifying *v)
{
    char text[PLACE_MAX + 160];
    const char *name;
    SCOPED_LIST list = fs_list_at(v->store->dir_fd, ".", 0);
    while ((name = fs_next(list)))
        if (is_killed_trial(dirfd(list), name)) {
            snprintf(text, sizeof text,
                     "%.300s: a trial was killed and has no row yet; 'lineage run', 'night', 'train' or opening the"
                     " store from Python writes it",
                     name);
            found(v, "trial", 0, "", text);
        }
}

/* Reports what a kill left, which the next append removes, and what an earlier version left. The copy of a running append is
 * locked and is not reported. */
static void check_leftovers(struct verifying *v)
{
    struct stat st;
    char text[PLACE_MAX + 80];
    const char *name;
    if (fs_stat(v->store->dir_fd, PLACE_IMPORT, AT_SYMLINK_NOFOLLOW, &st) == 0)
        found(v, "import", 0, "", "an append is under way or was cut off; the next one takes back what there is of it");
    if (fs_stat(v->store->dir_fd, PLACE_SIGNED, AT_SYMLINK_NOFOLLOW, &st) == 0)
        found(v, "signature", 0, "",
              PLACE_SIGNED ": this version checks no signature of rows; give the 'head' of its last line to 'lineage verify"
                           " --head', and remove the file");
    SCOPED_LIST list = fs_list_at(v->store->dir_fd, PLACE_SNAPSHOTS, O_NOFOLLOW);
    while ((name = fs_next(list)))
        if (snapshot_is_abandoned(dirfd(list), name)) {
            snprintf(text, sizeof text, PLACE_SNAPSHOTS "/%s: a copy that was cut off; the next append removes it", name);
            found(v, "snapshot", 0, "", text);
        }
}

static size_t find_cell(const struct tsv_cell *cells, size_t n, const char *name)
{
    size_t i = 0;
    while (i < n && strcmp(cells[i].text, name) != 0)
        i++;
    return i;
}

/* How many rows of another log are not in this one: none has their id and time. 0 for any other file. */
static size_t count_missing(struct verifying *v, const char *name)
{
    SCOPED_BUF bytes = {0};
    SCOPED_READER reader = tsv_reader_new();
    struct tsv_scanner scanner;
    struct tsv_record record;
    const struct tsv_cell *cells;
    size_t n, id = 0, time = 0, missing = 0;
    bool found = true, header = true;
    if (reader && fs_read_file(v->store->dir_fd, name, &bytes, NULL) == LINEAGE_OK) {
        tsv_scanner_init(&scanner, bytes.data ? bytes.data : "", bytes.length, 0, 1);
        while (tsv_scan(&scanner, &record) && tsv_parse(reader, &record, &cells, &n, NULL) == LINEAGE_OK) {
            if (header) {
                id = find_cell(cells, n, "exp_id");
                time = find_cell(cells, n, "timestamp");
                if (id == n || time == n || find_cell(cells, n, "status") == n)
                    break;
            } else if (id < n && time < n &&
                       mirror_has(v->store->mirror, &found, NULL, "SELECT 1 FROM trials WHERE exp_id = ? AND timestamp = ?", "ss",
                                  cells[id].text, cells[time].text) == LINEAGE_OK) {
                missing += !found;
            }
            header = false;
        }
    }
    return missing;
}

/* A program that synchronises folders keeps the rows of the other machine in a file of its own, where nobody reads them. */
static void check_copies(struct verifying *v)
{
    char text[PLACE_MAX + 200];
    const char *name;
    SCOPED_LIST list = fs_list_at(v->store->dir_fd, ".", 0);
    while ((name = fs_next(list))) {
        const size_t n = strlen(name);
        if (n < 12 || strncmp(name, "results", 7) != 0 || strcmp(name + n - 4, ".tsv") != 0)
            continue;
        const size_t missing = count_missing(v, name);
        if (!missing)
            continue;
        snprintf(text, sizeof text,
                 "%.300s: a second log, as a program that synchronises folders leaves it; %zu of its rows %s not in this store: "
                 "compare it with " PLACE_RESULTS ", and append what is missing",
                 name, missing, missing == 1 ? "is" : "are");
        found(v, LINEAGE_NOTE, 0, "", text);
    }
}

static void report_outbox(void *context, const char *name)
{
    char text[PLACE_MAX + 80];
    ((struct verifying *)context)->all->checked.damaged++;
    snprintf(text, sizeof text, "%s is damaged; it holds a trial that was acknowledged", name);
    found(context, "outbox", 0, "", text);
}

/*
 * The queue is checked only for what a stranger could put there: a claim is a file that a process locks, so anything else
 * with its name is a finding. Whether a claim is held changes every moment.
 */
static void check_claims(struct verifying *v)
{
    struct stat st;
    char text[PLACE_MAX + 80];
    const char *name;
    SCOPED_LIST list = fs_list_at(v->store->dir_fd, PLACE_CHECKPOINTS, O_NOFOLLOW);
    while ((name = fs_next(list))) {
        size_t n = strlen(name), end = sizeof PLACE_CLAIM_END - 1;
        bool is_claim = n > end && strcmp(name + n - end, PLACE_CLAIM_END) == 0;
        if (!is_claim && strcmp(name, PLACE_CLAIMS_LOCK) != 0)
            continue;
        v->all->checked.claims += is_claim;
        if (fs_stat(dirfd(list), name, AT_SYMLINK_NOFOLLOW, &st) == 0 && S_ISREG(st.st_mode))
            continue;
        snprintf(text, sizeof text, PLACE_CHECKPOINTS "/%.200s: a claim is a regular file, and this is not one", name);
        found(v, "queue", 0, "", text);
    }
}

enum lineage_status lineage_findings(struct lineage_store *store, lineage_finding_fn *report, void *context,
                                     struct lineage_error *err)
{
    TRY(mirror_sync(store->mirror, err));
    return mirror_findings(store->mirror, report, context, err);
}

/* Rows that were acknowledged to this user on this machine, and that the log or the server no longer has. While the server is away nothing is known. */
static enum lineage_status check_receipts(struct verifying *v, struct lineage_error *err)
{
    size_t n_missing = 0;
    SCOPED_BUF ids = {0}, gone = {0};
    char text[160];
    enum lineage_status status = receipts_check(v->store, &n_missing, err);
    size_t n_gone = acknowledged_missing(v->store, NULL, &ids);
    if (n_gone) {
        buf_printf(&gone, "%zu acknowledged row%s gone: %s; 'lineage restore' brings them back", n_gone,
                   n_gone == 1 ? " is" : "s are", ids.data);
        found(v, "gone", 0, "", gone.data ? gone.data : "acknowledged rows are gone");
    }
    if (status == LINEAGE_OK && n_missing) {
        snprintf(text, sizeof text,
                 "the server acknowledged %zu appends of this machine and no longer has them; 'lineage sync' "
                 "delivers them again",
                 n_missing);
        found(v, "receipts", 0, "", text);
    }
    return status == LINEAGE_EAWAY ? LINEAGE_OK : status;
}

/*
 * on_disk is the mirror to be checked, and v->store has one that is built from the log.
 *
 * The checks begin with the log: rows, their ids, the end of the file, then parents. The mirror is compared once the
 * contents of the log are known. The files beside the log come last, because they are found through the rows.
 */
static enum lineage_status check_store(struct verifying *v, struct mirror *on_disk, struct lineage_error *err)
{
    struct mirror *mirror = v->store->mirror;
    enum lineage_status status = mirror_sync(mirror, err);
    if (status != LINEAGE_OK)
        return status == LINEAGE_EIO && is_explained(v) ? LINEAGE_OK : status;
    TRY(mirror_findings(mirror, pass_on, v, err));
    TRY(mirror_id_faults(mirror, pass_on, v, err));
    check_tail(v);
    check_leftovers(v);
    check_copies(v);
    check_killed_trials(v);
    TRY(mirror_cycles(mirror, pass_on, v, err));
    TRY(check_index(v, on_disk, err));
    TRY(mirror_each_snapshot(mirror, check_snapshot, v, err));
    TRY(check_telemetry(v, err));
    TRY(outbox_check(v->store->dir_fd, report_outbox, v, &v->all->checked.waiting, err));
    TRY(check_receipts(v, err));
    check_claims(v);
    TRY(code_check(v->store, pass_on, v, err));
    return check_digests(v, err);
}

/* A second mirror is built from the log, so that lineage.db is checked instead of being repaired. */
enum lineage_status lineage_verify_all(struct lineage_store *store, struct lineage_verification *all, lineage_finding_fn *report,
                                       void *context, struct lineage_error *err)
{
    struct verifying v = {.report = report, .context = context, .all = all};
    struct lineage_open_options options = {.direction = store->config.direction, .no_mirror = true};
    all->n_findings = 0;
    all->digests = (struct lineage_digests){0};
    all->checked = (struct lineage_checked){.mirror = mirror_on_disk(store->mirror)};
    /* The settings of the handle are used instead of those of the file, so that a caller that opened the store with
     * another score column gets an answer about that column. */
    options.metric = store->config.metric[0] ? store->config.metric : NULL;
    enum lineage_status status = lineage_store_open(&v.store, store->dir, &options, err);
    if (status == LINEAGE_OK)
        status = mirror_use_file(v.store->mirror, err);
    if (status == LINEAGE_OK)
        status = check_store(&v, store->mirror, err);
    if (status == LINEAGE_OK)
        all->checked.rows = (size_t)mirror_position(v.store->mirror)->rows;
    lineage_store_close(v.store);
    return status;
}

enum lineage_status lineage_verify(struct lineage_store *store, size_t *n_findings, lineage_finding_fn *report, void *context,
                                   struct lineage_error *err)
{
    struct lineage_verification all = {.n_known = 0};
    enum lineage_status status = lineage_verify_all(store, &all, report, context, err);
    *n_findings = all.n_findings;
    return status;
}

enum lineage_status lineage_store_digests(struct lineage_store *store, struct lineage_digests *digests, struct lineage_error *err)
{
    struct log_digests now = {.broken = NULL};
    enum lineage_status status = log_check_digests(store->log, &now, err);
    give_digests(digests, &now);
    return status;
}

/* This runs under the claim, so that the log contains no part of an unfinished append. */
enum lineage_status lineage_rebuild_digests(struct lineage_store *store, struct lineage_digests *digests, size_t *n_findings,
                                            lineage_finding_fn *report, void *context, struct lineage_error *err)
{
    struct lineage_verification all = {.n_known = 0};
    struct verifying v = {.store = store, .report = report, .context = context, .all = &all};
    struct log_digests old = {.broken = report_broken, .context = &v}, now = {.broken = NULL};
    struct log_state end;
    *n_findings = 0;
    *digests = (struct lineage_digests){0};
    TRY(store_check_owner(store, err));
    TRY(log_look(store->log, &end, err));
    if (!end.exists) {
        acknowledged_renew(store);
        return LINEAGE_OK;
    }
    TRY(log_claim(store->log, &end, err));
    enum lineage_status status = log_rebuild_digests(store->log, &old, err);
    if (status == LINEAGE_OK)
        status = log_check_digests(store->log, &now, err);
    if (status == LINEAGE_OK)
        acknowledged_renew(store);
    log_release(store->log);
    give_digests(digests, &now);
    *n_findings = all.n_findings;
    return status;
}

enum lineage_status lineage_rebuild(struct lineage_store *store, struct lineage_error *err)
{
    return mirror_replace(store->mirror, err);
}
