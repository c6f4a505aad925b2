/*
 * reading_cache.c: keeps readings in the tables readings, reading_words, change_rows and citation_rows of lineage.db.
 *
 * A reading belongs to the texts of its row and not to the row's place in the log: its digest (row_digest) is taken from the
 * texts, the columns of the log and READING_VERSION. So a reading that another process saved, or that was saved for a row that
 * has changed since, is either right or not used. Nothing has to be kept in step with the log.
 *
 * Texts are read before the lock of lineage.db is taken, and saved in short transactions, so that other processes hardly
 * wait for it. This process does not wait for them at all: what cannot be saved now is saved by a later question.
 */
#include "ideas_internal.h"

#include "../mirror/connection.h"
#include "../mirror/statement.h"

enum { ROWS_PER_SAVE = 2000, NUMBERS_IN_FRONT = 9 };

struct cache {
    struct lineage_ideas *ideas;
    struct mirror *mirror;
    size_t first;
    uint64_t seed;      /* ideas_seed */
    uint32_t *numbers;  /* [n_words + 1] by id in lineage.db: the number in the book of the set */
    size_t n_words, capacity;
    struct arena scratch; /* of the reading that is loaded */
};

/* ---- words ---- */

static bool know_word(struct cache *c, uint32_t number)
{
    if (c->n_words + 1 >= c->capacity) {
        size_t capacity = c->capacity ? 2 * c->capacity : 4096;
        uint32_t *numbers = realloc(c->numbers, capacity * sizeof *numbers);
        if (!numbers)
            return false;
        c->numbers = numbers;
        c->capacity = capacity;
    }
    c->numbers[++c->n_words] = number;
    c->ideas->book.words[number].saved = (uint32_t)c->n_words;
    return true;
}

/* Reads the words that are not known yet. Ids have no gaps; words behind a gap, which nobody saved here, do not count. */
static enum lineage_status load_words(struct cache *c, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status =
        mirror_prepare(c->mirror, &stmt, "SELECT id, word FROM reading_words WHERE id > ? ORDER BY id", err);
    if (status == LINEAGE_OK)
        sqlite3_bind_int64(stmt, 1, (int64_t)c->n_words);
    while (status == LINEAGE_OK && (status = mirror_step(c->mirror, stmt, err)) == LINEAGE_OK) {
        if (sqlite3_column_int64(stmt, 0) != (int64_t)c->n_words + 1)
            break;
        const char *text = mirror_text(stmt, 1);
        uint32_t number = word_book_number(&c->ideas->book, text, (size_t)sqlite3_column_bytes(stmt, 1));
        if (!number || !know_word(c, number))
            status = store_no_memory(err);
    }
    sqlite3_reset(stmt);
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Forgets the ids behind `n`, which were given in a transaction that failed. */
static void forget_words(struct cache *c, size_t n)
{
    for (; c->n_words > n; c->n_words--)
        c->ideas->book.words[c->numbers[c->n_words]].saved = 0;
}

/* ---- loading ---- */

struct numbers_in {
    const unsigned char *at, *end;
    bool bad;
};

static uint32_t take_number(struct numbers_in *in)
{
    uint32_t value = 0;
    for (unsigned shift = 0; in->at < in->end && shift < 32; shift += 7) {
        unsigned char byte = *in->at++;
        value |= (uint32_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return value;
    }
    in->bad = true;
    return 0;
}

/* Unpacks what pack_words packed. Returns false when out of memory; *usable is false if the bytes make no sense. */
static bool unpack_words(struct reading *r, bool *usable, struct cache *c, const void *bytes, size_t length)
{
    struct numbers_in in = {bytes, (const unsigned char *)bytes + length, !bytes};
    uint32_t front[NUMBERS_IN_FRONT] = {0};
    *usable = false;
    for (size_t i = 0; !in.bad && i < NUMBERS_IN_FRONT; i++)
        front[i] = take_number(&in);
    *r = (struct reading){.n_head = front[0],
                          .n_hypothesis = front[1],
                          .n_searched = front[2],
                          .n_notes = front[3],
                          .n_words = front[4],
                          .n_changes = front[5],
                          .n_cites = front[6],
                          .n_cites_hypothesis = front[7],
                          .again = front[8] != 0};
    if (in.bad || r->n_head > r->n_hypothesis || r->n_hypothesis > r->n_searched || r->n_searched > r->n_notes ||
        r->n_notes > r->n_words || r->n_words > (size_t)(in.end - in.at) || r->n_changes > LINEAGE_IDEAS_CHANGES ||
        r->n_cites > LINEAGE_IDEAS_CITES || r->n_cites_hypothesis > r->n_cites)
        return true;
    uint32_t *words = arena_alloc(&c->scratch, r->n_words + 1, sizeof *words);
    if (!words)
        return false;
    for (size_t i = 0; !in.bad && i < r->n_words; i++) {
        uint32_t id = take_number(&in);
        in.bad = in.bad || id > c->n_words;
        words[i] = id && !in.bad ? c->numbers[id] : 0;
    }
    r->words = words;
    *usable = !in.bad && in.at == in.end;
    return true;
}

static const char *text_at(sqlite3_stmt *stmt, int column, struct arena *arena, bool *ok)
{
    if (sqlite3_column_type(stmt, column) == SQLITE_NULL)
        return NULL;
    const char *text = mirror_text(stmt, column);
    const char *copy = arena_text(arena, text, (size_t)sqlite3_column_bytes(stmt, column));
    *ok = *ok && copy;
    return copy;
}

static struct lineage_number number_at(sqlite3_stmt *stmt, int column)
{
    bool there = sqlite3_column_type(stmt, column) != SQLITE_NULL;
    return (struct lineage_number){there, there ? sqlite3_column_double(stmt, column) : 0};
}

/* A statement that lists rows of a table by seq, merged with the rows of the set. */
struct listing {
    sqlite3_stmt *stmt;
    bool ended;
};

static enum lineage_status list(struct cache *c, struct listing *l, const char *sql, struct lineage_error *err)
{
    const struct lineage_ideas *ideas = c->ideas;
    enum lineage_status status = mirror_prepare(c->mirror, &l->stmt, sql, err);
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(l->stmt, 1, (int64_t)ideas->rows[c->first].idea.seq);
    sqlite3_bind_int64(l->stmt, 2, (int64_t)ideas->rows[ideas->n - 1].idea.seq);
    status = mirror_step(c->mirror, l->stmt, err);
    l->ended = status != LINEAGE_OK;
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

static enum lineage_status next(struct cache *c, struct listing *l, struct lineage_error *err)
{
    enum lineage_status status = mirror_step(c->mirror, l->stmt, err);
    l->ended = status != LINEAGE_OK;
    return status == LINEAGE_ENOTFOUND ? LINEAGE_OK : status;
}

/* Skips the rows before seq. *there: whether the current row has that seq. */
static enum lineage_status go_to(struct cache *c, struct listing *l, uint64_t seq, bool *there, struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    while (status == LINEAGE_OK && !l->ended && (uint64_t)sqlite3_column_int64(l->stmt, 0) < seq)
        status = next(c, l, err);
    *there = status == LINEAGE_OK && !l->ended && (uint64_t)sqlite3_column_int64(l->stmt, 0) == seq;
    return status;
}

/* Takes the changes of a reading. *usable becomes false if their number is another than the reading says. */
static enum lineage_status take_changes(struct cache *c, struct listing *l, uint64_t seq, struct reading *r, bool *usable,
                                        struct lineage_error *err)
{
    struct arena *arena = &c->scratch;
    struct read_change *changes = r->n_changes ? arena_alloc(arena, r->n_changes, sizeof *changes) : NULL;
    bool there, ok = changes || !r->n_changes;
    uint32_t n = 0;
    enum lineage_status status = go_to(c, l, seq, &there, err);
    while (ok && status == LINEAGE_OK && there) {
        if (n < r->n_changes) {
            changes[n] = (struct read_change){.name = text_at(l->stmt, 1, arena, &ok),
                                              .from = text_at(l->stmt, 2, arena, &ok),
                                              .to = text_at(l->stmt, 3, arena, &ok),
                                              .from_value = number_at(l->stmt, 4),
                                              .to_value = number_at(l->stmt, 5),
                                              .budget = sqlite3_column_int(l->stmt, 6) != 0};
            *usable = *usable && changes[n].name && changes[n].to;
        }
        n++;
        status = next(c, l, err);
        if (status == LINEAGE_OK)
            status = go_to(c, l, seq, &there, err);
    }
    *usable = *usable && n == r->n_changes;
    r->changes = changes;
    return ok ? status : store_no_memory(err);
}

static enum lineage_status take_cites(struct cache *c, struct listing *l, uint64_t seq, struct reading *r, bool *usable,
                                      struct lineage_error *err)
{
    uint32_t *cites = arena_alloc(&c->scratch, (size_t)r->n_cites + 1, sizeof *cites), n = 0;
    bool there, ok = cites != NULL;
    enum lineage_status status = go_to(c, l, seq, &there, err);
    while (ok && status == LINEAGE_OK && there) {
        char text[LINEAGE_NAME_MAX + 2] = "^";
        const char *mention = mirror_text(l->stmt, 1);
        size_t length = strlen(mention);
        if (n < r->n_cites && length < LINEAGE_NAME_MAX) {
            memcpy(text + 1, mention, length);
            cites[n] = word_book_number(&c->ideas->book, text, length + 1);
            ok = cites[n] != 0;
        }
        n++;
        status = next(c, l, err);
        if (status == LINEAGE_OK)
            status = go_to(c, l, seq, &there, err);
    }
    *usable = *usable && n == r->n_cites;
    r->cites = cites;
    return ok ? status : store_no_memory(err);
}

static enum lineage_status load_rows(struct cache *c, struct listing lists[3], struct lineage_error *err)
{
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = c->first; i < c->ideas->n && status == LINEAGE_OK; i++) {
        struct idea_row *row = &c->ideas->rows[i];
        struct reading reading;
        bool there, usable = false;
        status = go_to(c, &lists[0], row->idea.seq, &there, err);
        if (status != LINEAGE_OK || !there || (uint64_t)sqlite3_column_int64(lists[0].stmt, 1) != row_digest(c->ideas, row))
            continue;
        arena_reset(&c->scratch);
        const void *bytes = sqlite3_column_blob(lists[0].stmt, 2);
        if (!unpack_words(&reading, &usable, c, bytes, (size_t)sqlite3_column_bytes(lists[0].stmt, 2)))
            status = store_no_memory(err);
        if (status == LINEAGE_OK && usable)
            status = take_changes(c, &lists[1], row->idea.seq, &reading, &usable, err);
        if (status == LINEAGE_OK && usable)
            status = take_cites(c, &lists[2], row->idea.seq, &reading, &usable, err);
        if (status == LINEAGE_OK && usable &&
            !(row_keep_stated(c->ideas, row, &reading) && row_keep_reading(row, &reading, &c->ideas->arena)))
            status = store_no_memory(err);
    }
    return status;
}

/* A question of mirror_ask: takes the readings that lineage.db has. It is asked again if lineage.db was damaged. */
static enum lineage_status load(void *question, struct lineage_error *err)
{
    struct cache *c = question;
    struct listing lists[3] = {{0}};
    static const char *const statements[3] = {
        "SELECT seq, digest, words FROM readings WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq",
        ("SELECT seq, name, old, new, old_value, new_value, budget FROM change_rows"
         " WHERE seq BETWEEN ?1 AND ?2 AND source = 'stated' ORDER BY seq, place"),
        "SELECT seq, mention FROM citation_rows WHERE seq BETWEEN ?1 AND ?2 ORDER BY seq, place"};
    forget_words(c, 0);
    for (size_t i = c->first; i < c->ideas->n; i++)
        c->ideas->rows[i].reading = NULL;
    /* One transaction, so that the tables agree with each other. */
    enum lineage_status status = mirror_exec(c->mirror, "BEGIN", err);
    if (status != LINEAGE_OK)
        return status;
    for (size_t i = 0; i < 3 && status == LINEAGE_OK; i++)
        status = list(c, &lists[i], statements[i], err);
    if (status == LINEAGE_OK && !lists[0].ended)
        status = load_words(c, err);
    if (status == LINEAGE_OK && !lists[0].ended)
        status = load_rows(c, lists, err);
    for (size_t i = 0; i < 3; i++)
        sqlite3_reset(lists[i].stmt);
    sqlite3_exec(mirror_db(c->mirror), "COMMIT", NULL, NULL, NULL);
    return status;
}

/* ---- saving ---- */

struct saving {
    sqlite3_stmt *reading, *word, *forget_changes, *change, *forget_cites, *cite;
    struct buf bytes;
};

static void put_number(struct buf *out, uint32_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_put(out, (char)(value | 0x80));
    buf_put(out, (char)value);
}

/* Packs the numbers of a reading and its words, as ids of lineage.db. New words are inserted. */
static enum lineage_status pack_words(struct cache *c, struct saving *s, const struct reading *r, struct lineage_error *err)
{
    const uint32_t front[NUMBERS_IN_FRONT] = {r->n_head,    r->n_hypothesis, r->n_searched,         r->n_notes, r->n_words,
                                              r->n_changes, r->n_cites,      r->n_cites_hypothesis, r->again};
    enum lineage_status status = LINEAGE_OK;
    buf_reset(&s->bytes);
    for (size_t i = 0; i < NUMBERS_IN_FRONT; i++)
        put_number(&s->bytes, front[i]);
    for (size_t i = 0; i < r->n_words && status == LINEAGE_OK; i++) {
        const struct word *word = &c->ideas->book.words[r->words[i]];
        if (r->words[i] && !word->saved) {
            sqlite3_bind_int64(s->word, 1, (int64_t)c->n_words + 1);
            const struct text_entry *text = word_book_text(&c->ideas->book, r->words[i]);
            sqlite3_bind_text(s->word, 2, text->text, (int)text->length, SQLITE_STATIC);
            status = mirror_run(c->mirror, s->word, err);
            if (status == LINEAGE_OK && !know_word(c, r->words[i]))
                status = store_no_memory(err);
        }
        put_number(&s->bytes, r->words[i] ? word->saved : 0);
    }
    return status == LINEAGE_OK && s->bytes.failed ? store_no_memory(err) : status;
}

static enum lineage_status save_row(struct cache *c, struct saving *s, const struct idea_row *row, struct lineage_error *err)
{
    struct reading reading = *row->reading, *r = &reading;
    const int64_t seq = (int64_t)row->idea.seq;
    r->n_changes = (uint32_t)row->idea.n_changes;
    enum lineage_status status = pack_words(c, s, r, err);
    sqlite3_bind_int64(s->forget_changes, 1, seq);
    sqlite3_bind_int64(s->forget_cites, 1, seq);
    if (status == LINEAGE_OK)
        status = mirror_run(c->mirror, s->forget_changes, err);
    if (status == LINEAGE_OK)
        status = mirror_run(c->mirror, s->forget_cites, err);
    for (uint32_t i = 0; i < r->n_changes && status == LINEAGE_OK; i++) {
        const struct lineage_change read = change_of(c->ideas, &row->own[i]), *change = &read;
        sqlite3_bind_int64(s->change, 1, seq);
        sqlite3_bind_int64(s->change, 2, i);
        mirror_bind_text(s->change, 3, change->name);
        mirror_bind_text(s->change, 4, change->from);
        mirror_bind_text(s->change, 5, change->to);
        mirror_bind_number(s->change, 6, change->from_value);
        mirror_bind_number(s->change, 7, change->to_value);
        sqlite3_bind_int(s->change, 8, row->own[i].budget);
        status = mirror_run(c->mirror, s->change, err);
    }
    for (uint32_t i = 0; i < r->n_cites && status == LINEAGE_OK; i++) {
        sqlite3_bind_int64(s->cite, 1, seq);
        sqlite3_bind_int64(s->cite, 2, i);
        mirror_bind_text(s->cite, 3, word_book_text(&c->ideas->book, r->cites[i])->text + 1);
        sqlite3_bind_int(s->cite, 4, i >= r->n_cites_hypothesis);
        status = mirror_run(c->mirror, s->cite, err);
    }
    if (status != LINEAGE_OK)
        return status;
    sqlite3_bind_int64(s->reading, 1, seq);
    sqlite3_bind_int64(s->reading, 2, (int64_t)row_digest(c->ideas, row));
    sqlite3_bind_int64(s->reading, 3, (int64_t)c->seed);
    sqlite3_bind_blob(s->reading, 4, s->bytes.data, (int)s->bytes.length, SQLITE_STATIC);
    return mirror_run(c->mirror, s->reading, err);
}

/* Saves the next rows of `unsaved`[from..n) in one transaction. */
static enum lineage_status save_some(struct cache *c, struct saving *s, const size_t *unsaved, size_t n,
                                     struct lineage_error *err)
{
    size_t known = c->n_words;
    enum lineage_status status = mirror_exec(c->mirror, "BEGIN IMMEDIATE", err);
    if (status != LINEAGE_OK)
        return status;
    status = load_words(c, err); /* those that other processes added */
    if (status == LINEAGE_OK)
        known = c->n_words;
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++)
        status = save_row(c, s, &c->ideas->rows[unsaved[i]], err);
    if (status == LINEAGE_OK)
        status = mirror_exec(c->mirror, "COMMIT", err);
    if (status != LINEAGE_OK) {
        sqlite3_exec(mirror_db(c->mirror), "ROLLBACK", NULL, NULL, NULL);
        forget_words(c, known);
    }
    return status;
}

static enum lineage_status save(struct cache *c, const size_t *unsaved, size_t n, struct lineage_error *err)
{
    struct saving s = {0};
    const struct {
        sqlite3_stmt **stmt;
        const char *sql;
    } statements[] = {
        {&s.reading, "REPLACE INTO readings (seq, digest, reader, words) VALUES (?,?,?,?)"},
        {&s.word, "INSERT INTO reading_words (id, word) VALUES (?,?)"},
        {&s.forget_changes, "DELETE FROM change_rows WHERE seq = ? AND source = 'stated'"},
        {&s.change, "INSERT INTO change_rows (seq, source, place, name, old, new, old_value, new_value, budget)"
                    " VALUES (?,'stated',?,?,?,?,?,?,?)"},
        {&s.forget_cites, "DELETE FROM citation_rows WHERE seq = ?"},
        {&s.cite, "INSERT INTO citation_rows (seq, place, mention, in_notes) VALUES (?,?,?,?)"},
    };
    enum lineage_status status = LINEAGE_OK;
    for (size_t i = 0; i < sizeof statements / sizeof *statements && status == LINEAGE_OK; i++)
        status = mirror_prepare(c->mirror, statements[i].stmt, statements[i].sql, err);
    for (size_t at = 0; at < n && status == LINEAGE_OK; at += ROWS_PER_SAVE)
        status = save_some(c, &s, unsaved + at, n - at < ROWS_PER_SAVE ? n - at : ROWS_PER_SAVE, err);
    buf_release(&s.bytes);
    return status;
}

struct completeness {
    struct lineage_store *store;
    uint64_t seed;
    bool complete;
};

static enum lineage_status count_readings(void *question, struct lineage_error *err)
{
    struct completeness *q = question;
    struct cache c = {.mirror = q->store->mirror};
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(c.mirror, &stmt,
                                                "SELECT (SELECT count(*) FROM readings WHERE reader = ?)"
                                                " = (SELECT count(*) FROM trials)",
                                                err);
    if (status == LINEAGE_OK) {
        sqlite3_bind_int64(stmt, 1, (int64_t)q->seed);
        status = mirror_step(c.mirror, stmt, err);
    }
    q->complete = status == LINEAGE_OK && sqlite3_column_int(stmt, 0);
    sqlite3_reset(stmt);
    return status;
}

enum lineage_status reading_cache_is_complete(bool *complete, const struct lineage_ideas *ideas, struct lineage_store *store,
                                              struct lineage_error *err)
{
    struct completeness q = {store, ideas_seed(ideas), false};
    enum lineage_status status = mirror_ask(store->mirror, count_readings, &q, err);
    *complete = q.complete;
    return status;
}

enum lineage_status reading_cache_read(struct lineage_ideas *ideas, struct lineage_store *store, size_t first,
                                       struct lineage_error *err)
{
    struct cache c = {.ideas = ideas, .mirror = store->mirror, .first = first, .seed = ideas_seed(ideas)};
    struct lineage_error ignored = {0};
    size_t *unsaved = NULL, n = 0;
    if (first >= ideas->n)
        return LINEAGE_OK;
    enum lineage_status status = mirror_ask(store->mirror, load, &c, err);
    unsaved = status == LINEAGE_OK ? malloc((ideas->n - first) * sizeof *unsaved) : NULL;
    if (status == LINEAGE_OK && !unsaved)
        status = store_no_memory(err);
    for (size_t i = first; i < ideas->n && status == LINEAGE_OK; i++)
        if (!ideas->rows[i].reading) {
            unsaved[n++] = i;
            status = row_make_reading(ideas, &ideas->rows[i]) ? LINEAGE_OK : store_no_memory(err);
        }
    if (status == LINEAGE_OK && n && mirror_may_write(store->mirror)) {
        mirror_wait_no_more(store->mirror, true);
        (void)save(&c, unsaved, n, &ignored);
        mirror_wait_no_more(store->mirror, false);
    }
    for (size_t i = 1; i <= c.n_words; i++)
        ideas->book.words[c.numbers[i]].saved = 0;
    free(unsaved);
    free(c.numbers);
    arena_release(&c.scratch);
    return status;
}
