/*
 * sync.c: keeping the mirror in step with the log, and falling back to memory if the disk cannot be used.
 *
 * Nothing that goes wrong with lineage.db may change an answer: it is a cache, and the log is the truth. So after a failure the
 * ways of `enum mirror_way` are tried in their order (next_way, answer): the file once more, a new file, a mirror in memory for this
 * handle. If bytes of the log changed, it is built in memory with a notice that names the line, because only the owner can say
 * whether the log or lineage.db is right.
 */

#include <lineage/time.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "connection.h"
#include "mirror_place.h"
#include "statement.h"

bool mirror_on_disk(const struct mirror *mirror)
{
    return mirror->on_disk;
}

const struct lineage_store *mirror_store(const struct mirror *mirror)
{
    return mirror->store;
}

void mirror_forget_damage(struct mirror *mirror)
{
    mirror->damaged = mirror->unusable = false;
}

const struct mirror_position *mirror_position(const struct mirror *mirror)
{
    return &mirror->meta.at;
}

const struct row_layout *mirror_layout(const struct mirror *mirror)
{
    return mirror->has_layout ? &mirror->layout : NULL;
}

/* This also works for a mirror whose opening failed half-way. */
void mirror_close(struct mirror *mirror)
{
    if (!mirror)
        return;
    mirror_disconnect(mirror);
    mirror_place_release(mirror);
    tsv_reader_free(mirror->reader);
    row_layout_release(&mirror->layout);
    buf_release(&mirror->header);
    arena_release(&mirror->notes_arena);
    free(mirror);
}

const struct lineage_error *mirror_fallback(const struct mirror *mirror)
{
    return mirror->fallback.status == LINEAGE_OK ? NULL : &mirror->fallback;
}

/* Whether every byte of the log has been read and the log has not changed since: same file, same length, same time of
 * change. A file system with a coarse clock can hide an edit in place within the tick of the last sync; `verify` finds
 * it. Verdicts that were given again depend on the settings, too. */
static bool is_current(struct mirror *mirror, const struct log_state *log)
{
    struct mirror_meta *meta = &mirror->meta;
    bool current = log->size == meta->at.log.size && log_is_same(log, &meta->at.log) && log->revision == meta->at.log.revision &&
                   (!meta->judged || meta->judged == void_rows_settings(mirror));
    if (current)
        meta->at.log.session = log->session;
    return current;
}

/* A mirror of another score column or of other seeds is reported as LINEAGE_ECORRUPT, because its tables would give wrong answers. */
static enum lineage_status load_meta(struct mirror *mirror, struct lineage_error *err)
{
    bool same = true;
    enum lineage_status status = mirror_load_meta(mirror, &same, err);
    mirror->other_settings = status == LINEAGE_OK && !same;
    if (mirror->other_settings)
        status = store_fail(err, LINEAGE_ECORRUPT, "lineage.db was made for another score column or other names of seeds");
    return status;
}

/* The change is not repaired automatically, because only the owner knows whether the mirror or the edited file is
 * right. The edit may have been intended, or rows may have been lost by accident. */
static enum lineage_status report_change(struct mirror *mirror, struct lineage_error *err)
{
    uint64_t line = 0;
    struct lineage_error why;
    TRY(mirror_first_change(mirror, &line, err));
    store_fail(&why, LINEAGE_ECORRUPT, "results.tsv:%llu: changed since lineage.db was made; run 'lineage rebuild'",
               (unsigned long long)line);
    why.line = line;
    return store_give(err, &why);
}

/* Checks whether the server has lost rows, for example in a crash. Such a loss is not an edit, so the mirror is rebuilt
 * from the log. */
static enum lineage_status check_past(struct mirror *mirror, const struct log_state *log, struct lineage_error *err)
{
    bool was;
    enum lineage_status status = log_was(mirror->store->log, &mirror->meta.at.log, &was, err);
    mirror->set_back = status == LINEAGE_OK && !was;
    if (!mirror->set_back)
        return status;
    /* Reserves the ids of the lost rows. The server refuses this to a user without the right to append; then the command of
     * another user does it. */
    if (log_is_same(log, &mirror->meta.at.log))
        (void)log_skip_ids(mirror->store->log, mirror->meta.at.next_id, NULL);
    return store_fail(err, LINEAGE_ECORRUPT, "%s has lost rows that lineage.db has read", mirror->store->log->place);
}

/* This runs inside the transaction, because another process may have brought the mirror up to date meanwhile. The log's
 * state is looked up again, because the log may have grown while this process waited for the lock. */
static enum lineage_status check_and_ingest(struct mirror *mirror, struct lineage_error *err)
{
    struct log_state log;
    bool same = true;
    TRY(load_meta(mirror, err));
    TRY(log_look(mirror->store->log, &log, err));
    if (is_current(mirror, &log))
        return LINEAGE_OK;
    TRY(check_past(mirror, &log, err));
    TRY(mirror_check_ends(mirror, &log, &same, err));
    return same ? mirror_ingest(mirror, &log, err) : report_change(mirror, err);
}

/* The transaction is IMMEDIATE, because two processes that both begin by reading would each hold the lock that the
 * other needs for writing. After a failure ROLLBACK restores the tables, and `meta` in memory is reset too. */
static enum lineage_status catch_up(struct mirror *mirror, bool anew, struct lineage_error *err)
{
    TRY(mirror_exec(mirror, "BEGIN IMMEDIATE", err));
    enum lineage_status status = anew ? mirror_start_anew(mirror, err) : LINEAGE_OK;
    if (status == LINEAGE_OK)
        status = check_and_ingest(mirror, err);
    if (status == LINEAGE_OK)
        status = mirror_exec(mirror, "COMMIT", err);
    mirror->loaded = status == LINEAGE_OK;
    if (status == LINEAGE_OK) {
        mirror_share(mirror);
        return LINEAGE_OK;
    }
    sqlite3_exec(mirror->db, "ROLLBACK", NULL, NULL, NULL);
    mirror->meta = mirror_meta_start();
    return status;
}

enum { STEPS_PER_LOOK = 100000 }; /* of SQLite's virtual machine: a few milliseconds */

static int is_cancelled(void *context)
{
    const struct lineage_open_options *options = context;
    return options->cancelled(options->context);
}

/* Questions can be cancelled but syncs cannot, because a cancelled sync would leave its work to be repeated by the next
 * process. The handler is set for each call, because a connection has only one and sql() uses it too. */
static void allow_cancelling(struct mirror *mirror, bool allow)
{
    const bool may = allow && mirror->store->options.cancelled;
    if (mirror->db)
        sqlite3_progress_handler(mirror->db, may ? STEPS_PER_LOOK : 0, may ? is_cancelled : NULL, &mirror->store->options);
}

/* The common case is that nothing is new; it costs one stat and one row. It opens no transaction and takes no lock, so
 * that readers do not wait for each other. */
static enum lineage_status sync_once(struct mirror *mirror, struct lineage_error *err)
{
    struct log_state log;
    TRY(mirror_recover(mirror, err));
    allow_cancelling(mirror, false);
    enum lineage_status status = log_look(mirror->store->log, &log, err);
    if (status == LINEAGE_OK && !mirror->loaded) {
        status = load_meta(mirror, err);
        mirror->loaded = status == LINEAGE_OK;
    }
    if (status != LINEAGE_OK || is_current(mirror, &log))
        return status;
    if (mirror->frozen)
        return store_fail(err, LINEAGE_EDB, "lineage.db is behind results.tsv, and may not be written");
    return catch_up(mirror, false, err);
}

/* A header that cannot be used is the file's fault, not the mirror's, so memory would not help. Such a fault is
 * recognised by its message, because a damaged mirror returns the same status. */
static bool memory_would_help(const struct mirror *mirror, const struct lineage_error *why)
{
    return mirror->on_disk && (why->status == LINEAGE_EDB || why->status == LINEAGE_ELOCKED ||
                               (why->status == LINEAGE_ECORRUPT && strncmp(why->text, "results.tsv:1: no", 17) != 0));
}

/* All tables of a mirror of other settings, or with rows that a server has lost, are made again. */
static enum mirror_way make_again(struct mirror *mirror, const struct lineage_error *why)
{
    mirror->other_settings = mirror->set_back = false;
    store_notice(mirror->store, 0, "%s; making it anew", why->text);
    return mirror->on_disk ? MIRROR_REWRITE : MIRROR_MEMORY;
}

/* The user is not told of a file that another process has replaced, or that was written before the machine was started. */
static enum mirror_way replace(struct mirror *mirror, bool replaced, const struct lineage_error *why)
{
    if (!replaced && !mirror_file_is_of_earlier_boot(mirror))
        store_notice(mirror->store, 0, "%s; making it anew", mirror->db ? "lineage.db is damaged" : why->text);
    return MIRROR_ANEW;
}

/* The state of the failing file is recorded, so that this handle tries the file again only when it has changed, and not
 * at every question. */
static enum mirror_way use_memory(struct mirror *mirror, const struct lineage_error *why)
{
    mirror->fallback = *why;
    mirror->file = mirror_file_state(mirror);
    store_notice(mirror->store, why->line, "%s; answering from results.tsv itself", why->text);
    return MIRROR_MEMORY;
}

/* A mirror in memory is built again after an edit of the log, with a notice each time. */
static enum mirror_way read_again(struct mirror *mirror, const struct lineage_error *why)
{
    store_notice(mirror->store, why->line, "results.tsv:%llu: changed since it was read; reading it again",
                 (unsigned long long)why->line);
    return MIRROR_MEMORY;
}

enum { TIMES_MENDED = 3 };

/*
 * What to try after a failure of `was`, at most `last`; MIRROR_AS_IS: nothing. After a few repairs memory is used, because a disk that
 * keeps damaging its data will do so again, and at once if a file could not be opened, read or written, because a new file would meet
 * the same obstacle. A file that is read without locks also fails if it is behind the log, or when another process has written to it.
 */
static enum mirror_way next_way(struct mirror *mirror, enum mirror_way was, enum mirror_way last, const struct lineage_error *why)
{
    const bool faulty = mirror->damaged || mirror->unusable, replaced = faulty && mirror_file_is_gone(mirror);
    if (why->status == LINEAGE_EAWAY || why->status == LINEAGE_ENOMEM || was == last)
        return MIRROR_AS_IS;
    if (mirror_can_thaw(mirror) && was < MIRROR_WRITE)
        return MIRROR_WRITE;
    if (mirror->frozen && faulty && !mirror_file_is_same(mirror) && mirror->mended++ < TIMES_MENDED)
        return MIRROR_READ;
    if ((mirror->other_settings || mirror->set_back) && was < MIRROR_REWRITE && last > MIRROR_WRITE)
        return make_again(mirror, why);
    if (mirror->on_disk && !mirror->frozen && last >= MIRROR_ANEW && (mirror->damaged || replaced) &&
        mirror->mended++ < TIMES_MENDED)
        return replace(mirror, replaced, why);
    if (was == MIRROR_REWRITE && why->status != LINEAGE_ELOCKED && last >= MIRROR_ANEW)
        return MIRROR_ANEW;
    if (last == MIRROR_MEMORY && !mirror->on_disk && was == MIRROR_AS_IS && why->status == LINEAGE_ECORRUPT && why->line)
        return read_again(mirror, why);
    return last == MIRROR_MEMORY && memory_would_help(mirror, why) ? use_memory(mirror, why) : MIRROR_AS_IS;
}

static enum lineage_status connect_and_sync(struct mirror *mirror, enum mirror_way way, bool sync, struct lineage_error *err)
{
    if (way != MIRROR_AS_IS)
        TRY(mirror_connect(mirror, way, err));
    if (way == MIRROR_REWRITE && mirror->frozen)
        return store_fail(err, LINEAGE_EDB, "%s/lineage.db may not be written", mirror->place.path.data);
    if (!sync)
        return LINEAGE_OK;
    return way == MIRROR_REWRITE ? catch_up(mirror, true, err) : sync_once(mirror, err);
}

/* Connects in that way and brings the mirror up to date, and after a failure in the next ones, at most `last`. A writer goes on with a
 * mirror that another process holds; meta is then loaded again, because the failed transaction reset it. */
static enum lineage_status answer(struct mirror *mirror, enum mirror_way way, enum mirror_way last, bool sync,
                                  struct lineage_error *err)
{
    for (;;) {
        struct lineage_error why = {0};
        enum lineage_status status = connect_and_sync(mirror, way, sync, &why);
        if (status == LINEAGE_ELOCKED && mirror->in_a_hurry && mirror->on_disk && mirror->db &&
            load_meta(mirror, NULL) == LINEAGE_OK)
            status = LINEAGE_OK;
        if (status == LINEAGE_OK && mirror->on_disk)
            mirror->fallback = (struct lineage_error){0};
        if (status == LINEAGE_OK)
            return status;
        way = next_way(mirror, way, last, &why);
        if (way == MIRROR_AS_IS)
            return store_give(err, &why);
    }
}

/* This does not sync yet, because a command that fails because of its arguments should not read a million rows
 * first. */
enum lineage_status mirror_open(struct mirror **out, struct lineage_store *store, mirror_judge_fn *judge,
                                struct lineage_error *err)
{
    struct mirror *mirror = calloc(1, sizeof *mirror);
    *out = NULL;
    if (mirror)
        mirror->place.fd = mirror->hold = -1;
    if (!mirror || !(mirror->reader = tsv_reader_new())) {
        mirror_close(mirror);
        return store_no_memory(err);
    }
    mirror->store = store;
    mirror->judge = judge;
    enum lineage_status status =
        answer(mirror, store->options.no_mirror ? MIRROR_MEMORY : MIRROR_READ, MIRROR_MEMORY, false, err);
    if (status != LINEAGE_OK)
        mirror_close(mirror);
    else
        *out = mirror;
    return status;
}

/* A long-lived handle tries an unusable file again when the file has changed, because the reason (a rebuild by another
 * process, another client's lock) may be gone. A file that is read without locks is opened again after another process
 * has written to it. */
static enum lineage_status sync_anywhere(struct mirror *mirror, struct lineage_error *err)
{
    bool waiting = !mirror->on_disk && mirror->fallback.status != LINEAGE_OK;
    bool changed = (waiting || mirror->frozen) && !mirror_file_is_same(mirror);
    return answer(mirror, changed ? MIRROR_READ : MIRROR_AS_IS, MIRROR_MEMORY, true, err);
}

/* The flags are cleared after the repair, because a mirror in memory has no such faults. */
bool mirror_mended(struct mirror *mirror)
{
    struct lineage_error why = {LINEAGE_EDB, 0, 0, "lineage.db is damaged"};
    if (!mirror->damaged && !mirror->unusable)
        return false;
    if (!mirror->damaged)
        store_fail(&why, LINEAGE_EDB, "lineage.db cannot be used: %s", sqlite3_errmsg(mirror->db));
    enum mirror_way way = next_way(mirror, MIRROR_AS_IS, MIRROR_MEMORY, &why);
    enum lineage_status status = way == MIRROR_AS_IS ? LINEAGE_EDB : answer(mirror, way, MIRROR_MEMORY, true, NULL);
    mirror_forget_damage(mirror);
    allow_cancelling(mirror, status == LINEAGE_OK);
    return status == LINEAGE_OK;
}

enum lineage_status mirror_open_to_write(struct mirror *mirror, struct lineage_error *err)
{
    if (!mirror_can_thaw(mirror))
        return LINEAGE_OK;
    enum lineage_status status = answer(mirror, MIRROR_WRITE, MIRROR_MEMORY, true, err);
    allow_cancelling(mirror, status == LINEAGE_OK);
    return status;
}

bool mirror_may_write(struct mirror *mirror)
{
    return mirror_open_to_write(mirror, NULL) == LINEAGE_OK && sqlite3_db_readonly(mirror->db, "main") == 0;
}

enum lineage_status mirror_ask(struct mirror *mirror, mirror_question_fn *ask, void *question, struct lineage_error *err)
{
    enum lineage_status status;
    mirror->asking++;
    do
        status = ask(question, err);
    while (status != LINEAGE_OK && mirror_mended(mirror));
    mirror->asking--;
    return status;
}

/* If the server cannot be reached, a mirror on disk still answers as of its last sync, with one notice that
 * states the age of the answers. The age is known because the file with the server's settings is touched whenever the
 * mirror is up to date. */
static bool answer_from_before(struct mirror *mirror, const struct lineage_error *why)
{
    struct stat seen;
    char when[LINEAGE_TIME_MAX] = "an unknown time";
    if (!mirror->on_disk || (!mirror->loaded && load_meta(mirror, NULL) != LINEAGE_OK) || !mirror->meta.at.watermark)
        return false;
    mirror->loaded = true;
    if (fs_stat(mirror->store->dir_fd, PLACE_SERVER, 0, &seen) == 0)
        lineage_time_format(when, seen.st_mtime);
    if (!mirror->said_away)
        store_notice(mirror->store, 0, "%s; this is the lineage as of %s", why->text, when);
    mirror->said_away = true;
    return true;
}

static enum lineage_status sync_with_server(struct mirror *mirror, struct lineage_error *err)
{
    struct lineage_error why = {0};
    enum lineage_status status = sync_anywhere(mirror, &why);
    if (status == LINEAGE_OK) {
        fs_touch(mirror->store->dir_fd, PLACE_SERVER);
        mirror->said_away = false;
    } else if (status == LINEAGE_EAWAY && answer_from_before(mirror, &why)) {
        status = LINEAGE_OK;
    } else if (err) {
        *err = why;
    }
    return status;
}

/* A caller that does not ask again needs a connection that reads one state of the file, whatever others write. If the file cannot
 * be opened, the sync that follows finds out and uses memory. */
static void thaw_for_caller(struct mirror *mirror)
{
    if (!mirror->asking && mirror_can_thaw(mirror))
        (void)!mirror_connect(mirror, MIRROR_WRITE, NULL);
}

/* Questions about an id that two rows have are answered about the later one, so a user must know of it. In tables of other tools, where a
 * commit is the id, several rows of one commit are usual. */
static void tell_twice(struct mirror *mirror)
{
    const struct mirror_position *at = &mirror->meta.at;
    int64_t line = 0, before = 0;
    const int64_t seq = at->twice;
    if (!seq || !mirror->has_layout || !mirror->layout.identical ||
        mirror_integer(mirror, &line, NULL, "SELECT line FROM trials WHERE seq = ?1", "i", seq) != LINEAGE_OK ||
        mirror_integer(mirror, &before, NULL,
                       "SELECT f.line FROM trials t, trials f WHERE t.seq = ?1 AND f.exp_id IN (t.exp_id, 'exp_' || t.exp_id) "
                       "AND f.seq < t.seq ORDER BY f.seq"
                       " LIMIT 1",
                       "i", seq) != LINEAGE_OK)
        return;
    store_notice(mirror->store, (uint64_t)line,
                 "%s:%lld: its exp_id is also that of line %lld, as after a merge of two branches: both rows count, and the "
                 "id means one of them; give this row another one (%0*llu is free), then `lineage rebuild` and `lineage rebuild "
                 "--digests`; "
                 "`lineage verify` lists all",
                 mirror->store->log->name, (long long)line, (long long)before, (int)at->id_width,
                 (unsigned long long)at->next_id);
}

/* A log that git tracks may be merged by hand and left with git's markers, which are records that no question answers about. */
static void tell_conflict(struct mirror *mirror)
{
    int64_t line = 0;
    if (mirror->looked_for_conflict || log_has_requests(mirror->store->log))
        return;
    mirror->looked_for_conflict = true;
    if (mirror_integer(mirror, &line, NULL, "SELECT line FROM findings WHERE exp_id GLOB '<<<<<<< *' ORDER BY offset LIMIT 1",
                       "") == LINEAGE_OK)
        store_notice(mirror->store, (uint64_t)line,
                     "%s:%lld: a conflict of a merge is not resolved: remove the three lines of git, keep the rows of both "
                     "sides, and give "
                     "rows with one id different ones; `lineage verify` lists what is left",
                     mirror->store->log->name, (long long)line);
    tell_twice(mirror);
}

/* The check of the owner prevents use after a fork: the child does not have the locks that SQLite's connection believes
 * it holds, and could write without them. */
enum lineage_status mirror_sync(struct mirror *mirror, struct lineage_error *err)
{
    TRY(store_check_owner(mirror->store, err));
    thaw_for_caller(mirror);
    enum lineage_status status =
        log_has_requests(mirror->store->log) ? sync_with_server(mirror, err) : sync_anywhere(mirror, err);
    allow_cancelling(mirror, status == LINEAGE_OK);
    if (status == LINEAGE_OK)
        tell_conflict(mirror);
    return status;
}

enum lineage_status mirror_catch_up(struct mirror *mirror, struct lineage_error *err)
{
    TRY(store_check_owner(mirror->store, err));
    thaw_for_caller(mirror);
    mirror_hurry(mirror, true);
    enum lineage_status status = sync_anywhere(mirror, err);
    mirror_hurry(mirror, false);
    allow_cancelling(mirror, false);
    return status;
}

static bool lags_little(const struct mirror *mirror, const struct log_state *log)
{
    const struct mirror_position *at = &mirror->meta.at;
    return !log_has_requests(mirror->store->log) && at->log.size == at->watermark && at->watermark <= log->size &&
           log->size - at->watermark <= MIRROR_LAG && (log_is_same(&at->log, log) || !at->watermark);
}

/* A measured noise floor depends on the scores of all rows. Only a file that is read without locks is sure to be as meta says. */
enum lineage_status mirror_meet(struct mirror *mirror, const struct log_state *log, struct lineage_error *err)
{
    const bool near = mirror->frozen && !mirror->store->config.noise_freedom &&
                      (mirror->loaded || load_meta(mirror, NULL) == LINEAGE_OK) && mirror->meta.at.watermark &&
                      lags_little(mirror, log);
    mirror->loaded = mirror->loaded || near;
    TRY(near ? LINEAGE_OK : mirror_catch_up(mirror, err));
    tell_conflict(mirror);
    return LINEAGE_OK;
}

void mirror_follow_far(struct mirror *mirror)
{
    struct log_state log;
    if (log_look(mirror->store->log, &log, NULL) != LINEAGE_OK || !lags_little(mirror, &log))
        mirror_follow(mirror);
}

/* This reports no error, because the row is in the log already and a caller that got an error would append the row
 * again. */
void mirror_follow(struct mirror *mirror)
{
    struct lineage_error why = {0};
    thaw_for_caller(mirror);
    mirror_hurry(mirror, true);
    enum lineage_status status = answer(mirror, MIRROR_AS_IS, MIRROR_WRITE, true, &why);
    mirror_hurry(mirror, false);
    if (status != LINEAGE_OK && status != LINEAGE_ELOCKED)
        store_notice(mirror->store, why.line, "the row is safe in results.tsv, but not yet in the mirror: %s", why.text);
}

/* After a failure the handle answers from memory, and tries the file again when the file has changed. */
enum lineage_status mirror_rebuild(struct mirror *mirror, struct lineage_error *err)
{
    struct lineage_error why = {0};
    enum lineage_status status = answer(mirror, MIRROR_REWRITE, MIRROR_ANEW, true, &why);
    if (status == LINEAGE_OK) {
        tell_conflict(mirror);
        return status;
    }
    store_give(err, &why);
    if (status != LINEAGE_ELOCKED) {
        mirror->fallback = why;
        mirror->file = mirror_file_state(mirror);
        mirror_connect(mirror, MIRROR_MEMORY, NULL);
    }
    return status;
}

enum lineage_status mirror_replace(struct mirror *mirror, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    if (!mirror->store->options.no_mirror) {
        mirror_disconnect(mirror);
        status = mirror_place_take_over(mirror, err);
    }
    return status == LINEAGE_OK || status == LINEAGE_EDB ? mirror_rebuild(mirror, err) : status;
}
