/*
 * digest_file.c: reads, extends and checks .results.tsv.digests.
 *
 * A line is written under the claim, after the rows that it covers are on disk. So after a crash the lines may cover
 * fewer rows than the log has, but never more. The next writer removes a line that was cut off. Lines are not synced
 * one by one, because a line that a crash destroys can be computed again from the same rows.
 *
 * If the file system has extended attributes, an attribute of the log (the note) repeats the last line. So digests that
 * were deleted are not silently computed anew, and rows that were removed together with their lines are missed. The
 * attribute stays with the log when the log is moved, but not when it is copied. It is set after the line is written, so
 * it never covers more than the file after a kill. After a crash of the machine it may, because neither is synced; then
 * the rows still have the noted digest, and the lines that are missing are computed again.
 *
 * A line that does not match is not removed, and the lines of later rows follow it, because only a person can say
 * whether a change was intended (digest_file_rebuild).
 */
#include "digest_file.h"

#include <fcntl.h>
#include <inttypes.h>

#include "../files/fs.h"
#include "../files/places.h"
#include "redactions.h"

#define NUMBERS 42 /* two numbers of 20 digits, each followed by a blank */
#define LINE_MAX_BYTES (NUMBERS + DIGEST_TEXT)

#define NOTE "user.lineage.digests"
#define MEND "see 'lineage verify', 'lineage rebuild --digests'"
#define GONE "the digests that were there are gone; see 'lineage verify', 'lineage rebuild --digests'"

/* Accepts only what line_text writes. If it accepted signs or other blanks too, different lines could state the same
 * digest. */
static bool read_number(uint64_t *number, const char **text)
{
    char *end;
    if (**text < '1' || **text > '9')
        return false;
    errno = 0;
    *number = strtoull(*text, &end, 10);
    *text = end + 1;
    return *end == ' ' && errno == 0;
}

static bool read_line(struct digest_chain *chain, const char *text)
{
    return read_number(&chain->records, &text) && read_number(&chain->position, &text) && strlen(text) == DIGEST_TEXT - 1 &&
           digest_read(chain->digest, text);
}

static bool is_met(const struct digest_chain *a, const struct digest_chain *b)
{
    return a->records == b->records && a->position == b->position && memcmp(a->digest, b->digest, DIGEST_BYTES) == 0;
}

/* ---- the note ---- */

enum noted {
    NOTE_NONE,        /* a new log, or a copy */
    NOTE_UNSUPPORTED, /* the file system has no such attributes */
    NOTE_BARE,        /* an earlier version noted only that there are digests */
    NOTE_WHOLE,
};

/* An attribute that cannot be read as a line counts as NOTE_BARE: it does say that there were digests. */
static enum noted read_note(struct digest_chain *note, int dir_fd, const char *log_name)
{
    char text[LINE_MAX_BYTES + 1];
    ssize_t n = fs_read_mark(dir_fd, log_name, NOTE, text, sizeof text - 1);
    *note = (struct digest_chain){0};
    if (n < 0)
        return errno == ENOTSUP ? NOTE_UNSUPPORTED : errno == ERANGE ? NOTE_BARE : NOTE_NONE;
    text[n] = '\0';
    if (read_line(note, text))
        return NOTE_WHOLE;
    *note = (struct digest_chain){0};
    return NOTE_BARE;
}

/* ---- adding ---- */

static void tell(struct digest_file *file, struct log *log, const char *what)
{
    char text[300];
    if (file->told || !log->tell)
        return;
    file->told = true;
    snprintf(text, sizeof text, PLACE_DIGESTS " stays unchanged: %s", what);
    log->tell(log->context, text);
}

/* Reads the last line of an open file, at most TAIL bytes long. Any bytes after it belong to a line that was cut
 * off. */
enum { TAIL = 4096 };

static bool read_last(struct digest_chain *last, int fd, uint64_t size, uint64_t *good)
{
    char tail[TAIL + 1];
    const uint64_t from = size > TAIL ? size - TAIL : 0;
    ssize_t n = fs_read_at(fd, tail, (size_t)(size - from), from), start;
    if (n < 0 || (uint64_t)n != size - from)
        return false;
    /* A line with zeros is what a power failure left of it; so it counts as cut off too. */
    for (;; n = start) {
        while (n && tail[n - 1] != '\n')
            n--;
        *good = from + (uint64_t)n;
        *last = (struct digest_chain){0};
        if (!n)
            return !from;
        for (start = n - 1; start && tail[start - 1] != '\n';)
            start--;
        if (!memchr(tail + start, 0, (size_t)(n - 1 - start)))
            break;
    }
    tail[n - 1] = '\0';
    return (start || !from) && read_line(last, tail + start);
}

/* Finds the end of the last complete line, and truncates the file there. *changed is false if the file is as this handle
 * left it. */
static bool find_last(struct digest_file *file, struct log *log, int fd, bool *changed)
{
    struct stat st;
    uint64_t good = 0;
    if (fs_stat_open(fd, &st) != 0)
        return false;
    uint64_t size = (uint64_t)st.st_size, identity[2] = {(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    *changed = !size || size != file->size || memcmp(identity, file->identity, sizeof identity) != 0;
    if (!*changed)
        return true;
    file->size = 0;
    if (!S_ISREG(st.st_mode) || !read_last(&file->last, fd, size, &good)) {
        tell(file, log, "its last line is not what was written there; " MEND);
        return false;
    }
    if (good < size && fs_truncate(fd, good) != 0)
        return false;
    memcpy(file->identity, identity, sizeof identity);
    file->size = good;
    return true;
}

static int line_text(char line[LINE_MAX_BYTES + 1], const struct digest_chain *chain)
{
    char digest[DIGEST_TEXT];
    digest_write(digest, chain->digest);
    return snprintf(line, LINE_MAX_BYTES + 1, "%" PRIu64 " %" PRIu64 " %s\n", chain->records, chain->position, digest);
}

/* The name of a new file is made durable before the note says that there are digests. */
static void write_line(struct digest_file *file, const struct log *log, int fd, const struct digest_chain *chain)
{
    char line[LINE_MAX_BYTES + 1];
    const bool is_new = !file->size;
    int length = line_text(line, chain);
    if (fs_write_once(fd, line, (size_t)length) != length) {
        file->size = 0; /* next time the file is read again and truncated */
        return;
    }
    file->last = *chain;
    file->size += (uint64_t)length;
    if (is_new && (fs_sync(fd) != 0 || fs_sync_dir(file->dir_fd) != 0))
        return;
    if (!file->cannot_note)
        file->cannot_note = fs_mark(file->dir_fd, log->name, NOTE, line, (size_t)length - 1) != 0 && errno == ENOTSUP;
}

/* Follows the records that the note covers and the file does not, after a crash or a truncation of the file. Returns false
 * if they are not the records whose digest was noted. */
static bool meets_note(struct digest_chain *chain, const struct digest_chain *note, struct log *log, uint64_t end)
{
    if (note->records <= chain->records)
        return true;
    return note->position <= end && digest_chain_follow(chain, log, note->position, NULL) == LINEAGE_OK && is_met(chain, note);
}

/* The file is read again for the next row, so that the note is compared again too. */
static void forget_and_tell(struct digest_file *file, struct log *log, const char *what)
{
    file->size = 0;
    tell(file, log, what);
}

/* Digests that are computed anew cover redacted records, too; those of an append never do. */
static enum lineage_status follow_rows(struct digest_chain *chain, struct digest_file *file, struct log *log, uint64_t end)
{
    RELEASED_BY(redactions_release) struct redactions redactions = {.n = 0};
    RELEASED_BY(record_walk_release) struct record_walk walk = {0};
    struct tsv_record record;
    struct digest_chain ahead = *chain;
    bool there;
    if (file->size && !file->renewed)
        return digest_chain_follow(chain, log, end, NULL);
    enum lineage_status status = redactions_read(&redactions, file->dir_fd, NULL);
    record_walk_start(&walk, log, chain->position, 1, end);
    while (status == LINEAGE_OK && (status = record_walk_next(&walk, &record, &there, NULL)) == LINEAGE_OK && there) {
        digest_chain_add(&ahead, &record);
        redactions_apply(&redactions, &ahead);
        if (record.bytes[record.length - 1] == '\n')
            *chain = ahead;
    }
    return status;
}

/* A record ends where the last digest does, unless the rows before are others. */
static bool ends_record(const struct digest_chain *chain, struct log *log)
{
    SCOPED_BUF last = {0};
    return !chain->position ||
           (log_read(log, chain->position - 1, 1, &last, NULL) == LINEAGE_OK && last.length == 1 && *last.data == '\n');
}

static void follow_open(struct digest_file *file, struct log *log, int fd, uint64_t end)
{
    bool changed = true;
    struct digest_chain note = {0};
    if (!find_last(file, log, fd, &changed))
        return;
    if (changed && read_note(&note, file->dir_fd, log->name) >= NOTE_BARE && !file->size) {
        tell(file, log, GONE);
        return;
    }
    struct digest_chain chain = file->last;
    if (chain.position > end)
        tell(file, log, "it speaks of rows that the log no longer has; " MEND);
    else if (changed && !ends_record(&chain, log))
        tell(file, log, "the rows are not those that it speaks of; " MEND);
    else if (!meets_note(&chain, &note, log, end))
        forget_and_tell(file, log, "the rows are not those whose digest was noted in the attribute " NOTE "; " MEND);
    else if (follow_rows(&chain, file, log, end) == LINEAGE_OK && chain.position > file->last.position)
        write_line(file, log, fd, &chain);
}

/* The file is opened for each row, because another process may have replaced it. */
void digest_file_follow(struct digest_file *file, struct log *log, uint64_t end)
{
    const int flags = O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
    int fd = fs_open(file->dir_fd, PLACE_DIGESTS, flags, 0);
    bool missing = fd < 0 && errno == ENOENT;
    struct digest_chain note;
    if (missing && read_note(&note, file->dir_fd, log->name) >= NOTE_BARE) {
        tell(file, log, GONE);
        return;
    }
    if (missing)
        fd = fs_open(file->dir_fd, PLACE_DIGESTS, flags | O_CREAT, 0666);
    if (fd < 0) {
        tell(file, log, strerror(errno));
        return;
    }
    follow_open(file, log, fd, end);
    fs_close(fd);
}

/* The last line must be the digest of the records up to the one before, of this one and a line end. */
bool digest_file_is_whole(const struct digest_file *file, struct log *log, const struct tsv_record *record)
{
    struct stat st;
    struct digest_chain last, chain;
    struct lineage_error err = {0};
    uint64_t good, before = 0;
    SCOPED_FD fd = fs_open(file->dir_fd, PLACE_DIGESTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    SCOPED_FREE char *bytes = malloc(record->length + 1);
    bool there = fd >= 0 && bytes && fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                 read_last(&last, fd, (uint64_t)st.st_size, &good) && last.position == record->offset + record->length + 1;
    if (there)
        before = good - (uint64_t)line_text((char[LINE_MAX_BYTES + 1]){0}, &last);
    there = there && read_last(&chain, fd, before, &good) && chain.position <= record->offset &&
            digest_chain_follow(&chain, log, record->offset, &err) == LINEAGE_OK;
    if (there) {
        struct tsv_record whole = *record;
        memcpy(bytes, record->bytes, record->length);
        bytes[record->length] = '\n';
        whole.bytes = bytes;
        whole.length++;
        whole.terminated = true;
        digest_chain_add(&chain, &whole);
        there = is_met(&chain, &last);
    }
    return there;
}

/* Reads the last line of the file; false if there is none. */
static bool read_last_of(struct digest_chain *last, const struct digest_file *file)
{
    struct stat st;
    uint64_t good;
    SCOPED_FD fd = fs_open(file->dir_fd, PLACE_DIGESTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    return fd >= 0 && fs_stat_open(fd, &st) == 0 && S_ISREG(st.st_mode) && read_last(last, fd, (uint64_t)st.st_size, &good) &&
           last->records;
}

bool digest_file_knows(const struct digest_file *file, const char *bytes, size_t length)
{
    struct digest_chain last, chain = {0};
    RELEASED_BY(redactions_release) struct redactions redactions = {.n = 0};
    struct tsv_scanner scanner;
    struct tsv_record record;
    bool met = false;
    tsv_scanner_init(&scanner, bytes, length, 0, 1);
    if (read_last_of(&last, file) && redactions_read(&redactions, file->dir_fd, NULL) == LINEAGE_OK)
        while (!met && chain.records < last.records && tsv_scan(&scanner, &record)) {
            digest_chain_add(&chain, &record);
            redactions_apply(&redactions, &chain);
            met = is_met(&chain, &last);
        }
    return met;
}

uint64_t digest_file_rows_beyond(const struct digest_file *file, uint64_t rows)
{
    struct digest_chain last;
    /* the header is a record, too */
    return read_last_of(&last, file) && last.records > rows + 1 ? last.records - 1 : 0;
}

/* ---- checking ---- */

/* A check that reads the lines of the file and the records of the log in parallel. */
struct checking {
    struct log *log;
    struct log_digests *digests;
    struct buf *whole;
    uint64_t end;
    int fd; /* -1: there is no file of digests */
    char data[TAIL + 1];
    size_t length, at; /* length of data, position in it */
    uint64_t offset;   /* position in the file after `data` */
    uint64_t size;     /* size of the file at open; later lines cover rows after `end` */
    uint64_t line;     /* number of the last line that was read */
    uint64_t lost_line; /* the first line with zeros after the last line that matched; 0: none */
    struct digest_chain last, next; /* the last valid line, and the line to be reached next */
    struct digest_chain note;       /* zeroed: the log has no note with a digest */
    bool note_met;                  /* some record ends in the noted digest */
    uint64_t last_line;             /* line of the log at which `last` ends */
    struct record_walk walk;
    struct redactions redactions;
};

static void broken(struct checking *c, uint64_t line, const char *text)
{
    c->digests->is_broken = true;
    if (c->digests->broken)
        c->digests->broken(c->digests->context, line, text);
}

/* Returns the next line without its line end, or NULL after the last line. */
static char *next_text(struct checking *c)
{
    char *end;
    while (!(end = memchr(c->data + c->at, '\n', c->length - c->at))) {
        memmove(c->data, c->data + c->at, c->length - c->at);
        c->length -= c->at;
        c->at = 0;
        size_t room = TAIL - c->length, left = (size_t)(c->size - c->offset);
        ssize_t n = fs_read_at(c->fd, c->data + c->length, room < left ? room : left, c->offset);
        if (n <= 0)
            return NULL;
        c->offset += (uint64_t)n;
        c->length += (size_t)n;
    }
    char *text = c->data + c->at;
    *end = '\0';
    c->at = (size_t)(end - c->data) + 1;
    c->line++;
    return text;
}

static void say_not_written(struct checking *c, uint64_t line)
{
    char why[120];
    snprintf(why, sizeof why, PLACE_DIGESTS ":%" PRIu64 ": not a line that was written there", line);
    broken(c, 0, why);
}

/*
 * Reads the next line that continues the last valid line. Other lines are reported and skipped. Lines are not synced, so
 * a power failure may keep a line and leave zeros in place of earlier ones. Such a line is reported only if no later line
 * matches, because a digest covers all rows before it.
 */
static bool next_line(struct checking *c)
{
    const char *text;
    while (c->fd >= 0 && (text = next_text(c))) {
        if (read_line(&c->next, text) && c->next.records > c->last.records && c->next.position > c->last.position)
            return true;
        if (!memchr(text, 0, (size_t)(c->data + c->at - 1 - text)))
            say_not_written(c, c->line);
        else if (!c->lost_line)
            c->lost_line = c->line;
    }
    return false;
}

static enum lineage_status count_lines(struct checking *c, uint64_t from, uint64_t to, uint64_t *lines, struct lineage_error *err)
{
    SCOPED_BUF bytes = {0};
    for (size_t n = 1; from < to && n; from += n) {
        bytes.length = 0;
        TRY(log_read(c->log, from, to - from < 1 << 20 ? (size_t)(to - from) : 1 << 20, &bytes, err));
        n = bytes.length;
        for (size_t i = 0; i < n; i++)
            *lines += bytes.data[i] == '\n';
    }
    return LINEAGE_OK;
}

/* After a changed stretch, the computation continues from the stored digest, so that each change is found
 * separately. */
static enum lineage_status go_on_behind(struct checking *c, struct digest_chain *ahead, struct lineage_error *err)
{
    char text[240], first[40] = "record ";
    if (c->last.records + 1 < c->next.records)
        snprintf(first, sizeof first, "records %" PRIu64 " to ", c->last.records + 1);
    snprintf(text, sizeof text,
             "%s%" PRIu64 " (bytes %" PRIu64 " to %" PRIu64 "): not the bytes that " PLACE_DIGESTS ":%" PRIu64
             " is the digest of",
             first, c->next.records, c->last.position, c->next.position, c->line);
    broken(c, c->last_line, text);
    enum lineage_status status = count_lines(c, c->last.position, c->next.position, &c->last_line, err);
    *ahead = c->last = c->next;
    record_walk_start(&c->walk, c->log, c->next.position, c->last_line, c->end);
    return status;
}

static void keep_whole(struct checking *c)
{
    char line[LINE_MAX_BYTES + 1];
    if (c->whole && !c->digests->is_broken)
        buf_add(c->whole, line, (size_t)line_text(line, &c->next));
    c->last = c->next;
    c->last_line = c->walk.scanner.line;
    c->lost_line = 0;
}

static void say_cut_off(struct checking *c)
{
    char text[200];
    snprintf(text, sizeof text,
             "it ends at byte %" PRIu64 ", and " PLACE_DIGESTS " speaks of %" PRIu64 " records in %" PRIu64
             " bytes: its end was cut off",
             c->end, c->next.records, c->next.position);
    broken(c, 0, text);
}

/* If the lines match the records, the note shows whether lines and records are missing together. */
static void check_note(struct checking *c, uint64_t records)
{
    char text[320];
    if (!c->note_met && records < c->note.records)
        snprintf(text, sizeof text,
                 "it has %" PRIu64 " records, and its attribute " NOTE " speaks of %" PRIu64 " in %" PRIu64
                 " bytes: its end was cut off, and that of " PLACE_DIGESTS,
                 records, c->note.records, c->note.position);
    else if (!c->note_met)
        snprintf(text, sizeof text, "records 1 to %" PRIu64 ": not the bytes that the attribute " NOTE " has the digest of",
                 c->note.records);
    else if (c->last.records < c->note.records)
        snprintf(text, sizeof text,
                 PLACE_DIGESTS ": the digests of records %" PRIu64 " to %" PRIu64 " are missing: a crash of the "
                               "machine or somebody removed them; the records themselves have the digest in the attribute " NOTE
                               ", and 'lineage rebuild --digests' completes the file",
                 c->last.records + 1, c->note.records);
    if (!c->note_met || c->last.records < c->note.records)
        broken(c, 0, text);
}

/* Computes digests record by record, and compares a line when the record at which it ends is reached. */
static enum lineage_status compare(struct checking *c, struct lineage_error *err)
{
    struct tsv_record record;
    struct log_digests *digests = c->digests;
    struct digest_chain ahead = {0};
    bool there, expected = next_line(c);
    enum lineage_status status;
    if (digests->passed)
        digests->passed(digests->context, &ahead);
    record_walk_start(&c->walk, c->log, 0, 1, c->end);
    while ((status = record_walk_next(&c->walk, &record, &there, err)) == LINEAGE_OK &&
           (there || (expected && c->next.position <= c->end))) {
        if (there) {
            digest_chain_add(&ahead, &record);
            digests->redacted += redactions_apply(&c->redactions, &ahead);
            c->note_met = c->note_met || is_met(&ahead, &c->note);
            if (digests->passed)
                digests->passed(digests->context, &ahead);
        }
        if (expected && there && is_met(&ahead, &c->next)) {
            keep_whole(c);
            expected = next_line(c);
        } else if (expected && (!there || ahead.position >= c->next.position)) {
            status = go_on_behind(c, &ahead, err);
            expected = next_line(c);
        }
        if (status != LINEAGE_OK)
            break;
        if (there && record.bytes[record.length - 1] == '\n')
            digests->head = ahead;
    }
    if (status == LINEAGE_OK && expected)
        say_cut_off(c);
    if (status == LINEAGE_OK && c->lost_line)
        say_not_written(c, c->lost_line);
    if (status == LINEAGE_OK && c->note.records && !digests->is_broken)
        check_note(c, ahead.records);
    digests->kept = c->last.records;
    return status;
}

/* Opens the file before the size of the log is looked up, so that the log contains everything that the lines cover. */
static void open_lines(struct checking *c, const struct digest_file *file)
{
    struct stat st;
    c->fd = fs_open(file->dir_fd, PLACE_DIGESTS, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
    if (c->fd < 0 && errno == ENOENT)
        return;
    c->digests->are_kept = c->fd >= 0 && fs_stat_open(c->fd, &st) == 0 && S_ISREG(st.st_mode);
    if (c->digests->are_kept) {
        c->size = (uint64_t)st.st_size;
        return;
    }
    broken(c, 0, PLACE_DIGESTS " cannot be read");
}

enum lineage_status digest_file_check(struct digest_file *file, struct log *log, struct log_digests *digests, struct buf *whole,
                                      struct lineage_error *err)
{
    struct log_state state;
    struct checking c = {.log = log, .digests = digests, .whole = whole, .last_line = 1};
    /* The note is read first, and the log last: each is written before the one that is read before it. */
    enum noted noted = read_note(&c.note, file->dir_fd, log->name);
    open_lines(&c, file);
    digests->cannot_note = noted == NOTE_UNSUPPORTED;
    if (!c.size && noted >= NOTE_BARE)
        broken(&c, 0, PLACE_DIGESTS ": the digests that were there are gone");
    struct lineage_error why = {0};
    enum lineage_status status = redactions_read(&c.redactions, file->dir_fd, &why);
    if (status == LINEAGE_ENOMEM)
        store_give(err, &why);
    else if (status != LINEAGE_OK)
        broken(&c, 0, why.text);
    if (status != LINEAGE_ENOMEM)
        status = log_look(log, &state, err);
    if (status == LINEAGE_OK) {
        c.end = state.size;
        status = compare(&c, err);
    }
    record_walk_release(&c.walk);
    redactions_release(&c.redactions);
    fs_close(c.fd);
    return status;
}

/* Matching lines before the first mismatch are kept, because they show where later changes are. */
enum lineage_status digest_file_rebuild(struct digest_file *file, struct log *log, struct log_digests *digests,
                                        struct lineage_error *err)
{
    SCOPED_BUF whole = {0};
    struct log_state state;
    enum lineage_status status = digest_file_check(file, log, digests, &whole, err);
    if (status == LINEAGE_OK && whole.failed)
        status = store_no_memory(err);
    if (status == LINEAGE_OK && digests->is_broken)
        fs_unmark(file->dir_fd, log->name, NOTE);
    if (status == LINEAGE_OK && digests->is_broken)
        status = fs_replace_alone(file->dir_fd, PLACE_DIGESTS, whole.data ? whole.data : "", whole.length, true, err);
    file->size = 0;
    file->told = false;
    if (status == LINEAGE_OK)
        status = log_look(log, &state, err);
    file->renewed = true;
    if (status == LINEAGE_OK)
        digest_file_follow(file, log, state.size);
    file->renewed = false;
    return status;
}
