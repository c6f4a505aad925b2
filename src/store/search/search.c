/* search.c: lineage_search: parses the words, asks the index, and selects the trials that count. */
#include <lineage/search.h>

#include <utf8proc.h>

#include <lineage/ideas.h>
#include <lineage/remarks.h>

#include "../format/arena.h"
#include "../format/ascii.h"
#include "../internal.h"
#include "../mirror/mirror.h"
#include "../mirror/statement.h"
#include "../questions/questions.h"
#include "../settings/ask_settings.h"

/* ---- what people type as an expression of FTS5, and texts for FTS5's tokenizer ----
 *
 * FTS5's own tokenizer (unicode61) splits at everything but letters and digits, which finds the parts of snake_case. A
 * tokenizer of our own would also have to split camelCase and Chinese, but then no other SQLite client could open the
 * table; so texts are prepared instead, and the tokenizer stays FTS5's.
 *
 * The search is parsed here, not handed to FTS5: `lr 0.125` or `grad-clip` are errors in FTS5's language, and its
 * messages do not give a position.
 */

/* The places where a search can look, in the order of the index's columns. */
enum search_place { SEARCH_EXP_ID, SEARCH_SPECIALIST, SEARCH_HYPOTHESIS, SEARCH_NOTES, SEARCH_REMARKS, SEARCH_PLACES };

/* A word to look for in a text, in lower case and without accents. */
struct search_word {
    char *text;
    bool prefix; /* words that begin so */
};

struct search_words {
    struct buf expression;      /* in the language of FTS5 */
    struct search_word *wanted; /* [n_wanted] words that a match may contain, for highlighting */
    size_t n_wanted;
};

static const char *const search_places[SEARCH_PLACES] = {"exp_id", "specialist", "hypothesis", "notes", "remarks"};

/* Limit on nested parentheses; far more than a person types, and it bounds the stack. */
enum { DEPTH_MAX = 100 };

/* The next character and its bytes. A byte that is not UTF-8 counts as a separator. */
static int32_t next_char(const char *text, size_t length, size_t *bytes)
{
    utf8proc_int32_t code;
    utf8proc_ssize_t n = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)(length < 4 ? length : 4), &code);
    *bytes = n > 0 ? (size_t)n : 1;
    return n > 0 ? code : ' ';
}

/* The same classes as unicode61: letters, digits, and characters of private use. Marks belong to the letter before
 * them. */
static bool is_word(int32_t code)
{
    if (code < 128)
        return code > 0 && ascii_is_word((char)code);
    utf8proc_category_t category = utf8proc_category(code);
    return (category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_NO) || category == UTF8PROC_CATEGORY_CO;
}

/* Scripts without blanks between words: Thai to Khmer, kana, Han, and their supplements. */
static bool stands_alone(int32_t code)
{
    return (code >= 0x0e00 && code < 0x0f00) || (code >= 0x1000 && code < 0x10a0) || (code >= 0x1780 && code < 0x1800) ||
           (code >= 0x3040 && code < 0x3100) || (code >= 0x3400 && code < 0xa000) || (code >= 0xf900 && code < 0xfb00) ||
           (code >= 0x20000 && code < 0x32000);
}

static void add_char(struct buf *out, const char *text, size_t bytes, int32_t code)
{
    if (code >= 0x0e00 && stands_alone(code)) {
        buf_put(out, ' ');
        buf_add(out, text, bytes);
        buf_put(out, ' ');
    } else {
        buf_add(out, text, bytes);
    }
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

/* An upper-case letter after a lower-case one or a digit begins a part, and so does the last of several upper-case
 * letters before a lower-case one: grad|Clip, HTTP|Server. */
static bool begins_part(char before, char at, char after)
{
    return is_upper(at) && ((ascii_is_word(before) && !is_upper(before)) || (is_upper(before) && is_lower(after)));
}

/*
 * Appends the text in the form in which it is indexed: with blanks around each character of a script that has none
 * between words, and followed by the parts of its camelCase identifiers. Takes time in proportion to the length; any
 * bytes are accepted.
 */
static void search_text(struct buf *out, const char *text)
{
    size_t length = strlen(text), bytes;
    for (size_t at = 0; at < length; at += bytes) {
        int32_t code = next_char(text + at, length - at, &bytes);
        add_char(out, text + at, bytes, code);
    }
    /* The parts are added after the text, so that phrases of the text stay adjacent. */
    for (size_t at = 0; at < length;) {
        size_t end = at;
        bool split = false;
        while (end < length && ascii_is_word(text[end])) {
            split = split || (end > at && begins_part(text[end - 1], text[end], text[end + 1]));
            end++;
        }
        for (size_t i = at; split && i < end; i++) {
            if (i == at || begins_part(text[i - 1], text[i], text[i + 1]))
                buf_put(out, ' ');
            buf_put(out, text[i]);
        }
        at = end > at ? end : at + 1;
    }
}

struct parser {
    struct search_words *words;
    const char *text, *at;
    size_t room; /* of words->wanted */
    int depth;
    bool negated; /* the word follows NOT, so it is not highlighted */
    struct lineage_error *err;
};

static enum lineage_status mistake(struct parser *p, const char *at, const char *what)
{
    size_t position = 1;
    for (const char *c = p->text; c < at; c++)
        position += ((unsigned char)*c & 0xc0) != 0x80;
    return store_fail(p->err, LINEAGE_EINVAL, "the search '%.200s' has a mistake at character %zu: %s", p->text, position, what);
}

static void skip_blanks(struct parser *p)
{
    while (*p->at && strchr(" \t\r\n", *p->at))
        p->at++;
}

/* Returns the text in lower case and without accents (free it). NULL when out of memory or if it has no letter or
 * digit. */
static char *folded(const char *text, size_t length)
{
    utf8proc_uint8_t *out = NULL;
    utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &out,
                 UTF8PROC_CASEFOLD | UTF8PROC_DECOMPOSE | UTF8PROC_STRIPMARK | UTF8PROC_COMPAT);
    return (char *)out;
}

static enum lineage_status want(struct parser *p, const char *word, size_t length, bool prefix)
{
    struct search_words *words = p->words;
    if (p->negated)
        return LINEAGE_OK;
    if (!LIST_ROOM(words->wanted, words->n_wanted, p->room))
        return store_no_memory(p->err);
    char *text = folded(word, length);
    if (text)
        words->wanted[words->n_wanted++] = (struct search_word){text, prefix};
    return LINEAGE_OK;
}

/* Writes the words of text[0..length) as a phrase of FTS5. A word ends at anything but a letter or digit. */
static enum lineage_status put_phrase(struct parser *p, const char *text, size_t length, bool prefix)
{
    struct buf *out = &p->words->expression;
    enum lineage_status status = LINEAGE_OK;
    size_t bytes, start = length;
    buf_put(out, '"');
    for (size_t at = 0; at < length && status == LINEAGE_OK; at += bytes) {
        int32_t code = next_char(text + at, length - at, &bytes);
        bool word = is_word(code), alone = word && stands_alone(code);
        if (start < length && (!word || alone)) {
            status = want(p, text + start, at - start, false);
            start = length;
        }
        if (alone)
            status = want(p, text + at, bytes, false);
        else if (word && start == length)
            start = at;
        if (word)
            add_char(out, text + at, bytes, code);
        else
            buf_put(out, ' ');
    }
    if (status == LINEAGE_OK && start < length)
        status = want(p, text + start, length - start, prefix);
    buf_puts(out, prefix ? "\"*" : "\"");
    return status;
}

static bool has_word(const char *text, size_t length)
{
    size_t bytes;
    for (size_t at = 0; at < length; at += bytes)
        if (is_word(next_char(text + at, length - at, &bytes)))
            return true;
    return false;
}

static size_t word_length(const char *text)
{
    return strcspn(text, " \t\r\n()\"");
}

static bool at_operator(const struct parser *p, const char *name)
{
    size_t n = strlen(name);
    return strncmp(p->at, name, n) == 0 && word_length(p->at) == n;
}

static enum lineage_status parse_or(struct parser *p);

/* `"phrase"`, `word`, `word*`, `( .. )`, `place:word`. *found becomes true if there was one; a word without letters or
 * digits is skipped. */
static enum lineage_status parse_unit(struct parser *p, bool *found)
{
    struct buf *out = &p->words->expression;
    const char *start = p->at;
    size_t length = word_length(p->at);
    *found = true;
    for (size_t i = 0; i < SEARCH_PLACES; i++) {
        size_t n = strlen(search_places[i]);
        if (strncmp(p->at, search_places[i], n) != 0 || p->at[n] != ':')
            continue;
        p->at += n + 1;
        skip_blanks(p);
        if (!*p->at || *p->at == ')')
            return mistake(p, p->at, "a word is missing behind the colon");
        buf_printf(out, "{%s} : ", search_places[i]);
        enum lineage_status status = parse_unit(p, found);
        return status == LINEAGE_OK && !*found ? mistake(p, start, "a word is missing behind the colon") : status;
    }
    if (*p->at == '(') {
        if (++p->depth > DEPTH_MAX)
            return mistake(p, p->at, "too many parentheses inside each other");
        p->at++;
        buf_put(out, '(');
        TRY(parse_or(p));
        if (*p->at != ')')
            return mistake(p, start, "this parenthesis is not closed");
        p->at++;
        p->depth--;
        buf_put(out, ')');
        return LINEAGE_OK;
    }
    if (*p->at == '"') {
        const char *end = strchr(p->at + 1, '"');
        if (!end)
            return mistake(p, start, "this quote is not closed");
        p->at = end + 1 + (end[1] == '*');
        *found = has_word(start + 1, (size_t)(end - start - 1));
        return *found ? put_phrase(p, start + 1, (size_t)(end - start - 1), end[1] == '*') : LINEAGE_OK;
    }
    p->at += length;
    bool prefix = length > 0 && start[length - 1] == '*';
    *found = has_word(start, length);
    return *found ? put_phrase(p, start, length - prefix, prefix) : LINEAGE_OK;
}

/* Units side by side, with AND, NOT or nothing between them: all units must match, except that units after NOT must
 * not. NOT binds tighter than AND in FTS5, which finds the same trials. */
static enum lineage_status parse_and(struct parser *p)
{
    struct buf *out = &p->words->expression;
    bool any = false, pending = false, was_negated = p->negated;
    const char *operator= NULL;
    buf_put(out, '(');
    for (skip_blanks(p); *p->at && *p->at != ')' && !at_operator(p, "OR"); skip_blanks(p)) {
        const char *start = p->at;
        bool is_not = at_operator(p, "NOT");
        if (is_not || at_operator(p, "AND")) {
            if (!any || pending)
                return mistake(p, start, "a word is missing before this operator");
            p->at += 3;
            operator= start;
            pending = true;
            p->negated = was_negated || is_not;
            continue;
        }
        size_t before = out->length;
        bool found, negate = operator&& * operator== 'N';
        if (any)
            buf_puts(out, negate ? " NOT " : " AND ");
        TRY(parse_unit(p, &found));
        if (!found) {
            buf_truncate(out, before);
            continue;
        }
        any = true;
        pending = false;
        operator= NULL;
        p->negated = was_negated;
    }
    if (pending)
        return mistake(p, operator, "a word is missing behind this operator");
    if (!any)
        return mistake(p, p->at, "a word is missing here");
    buf_put(out, ')');
    return LINEAGE_OK;
}

static enum lineage_status parse_or(struct parser *p)
{
    TRY(parse_and(p));
    while (at_operator(p, "OR")) {
        p->at += 2;
        buf_puts(&p->words->expression, " OR ");
        TRY(parse_and(p));
    }
    return LINEAGE_OK;
}

/* Reads a search. Release *words also after a failure. LINEAGE_EINVAL with the position of the mistake. */
static enum lineage_status search_words_parse(struct search_words *words, const char *search, struct lineage_error *err)
{
    struct parser p = {.words = words, .text = search, .at = search, .err = err};
    *words = (struct search_words){0};
    enum lineage_status status = parse_or(&p);
    if (status == LINEAGE_OK && *p.at)
        return mistake(&p, p.at, "this parenthesis was never opened");
    return status == LINEAGE_OK && words->expression.failed ? store_no_memory(err) : status;
}

static void search_words_release(struct search_words *words)
{
    for (size_t i = 0; i < words->n_wanted; i++)
        free(words->wanted[i].text);
    free(words->wanted);
    buf_release(&words->expression);
    *words = (struct search_words){0};
}

static bool is_wanted(const struct search_words *words, const char *text, size_t length)
{
    SCOPED_FREE char *word = folded(text, length);
    bool wanted = false;
    for (size_t i = 0; word && i < words->n_wanted && !wanted; i++)
        wanted = words->wanted[i].prefix ? strncmp(word, words->wanted[i].text, strlen(words->wanted[i].text)) == 0
                                         : strcmp(word, words->wanted[i].text) == 0;
    return wanted;
}

size_t lineage_search_spans(struct lineage_span *spans, size_t capacity, const char *search, const char *text)
{
    struct search_words words;
    size_t n = 0, length = strlen(text), bytes;
    bool ok = search_words_parse(&words, search, NULL) == LINEAGE_OK && words.n_wanted;
    for (size_t at = 0; ok && at < length && n < capacity;) {
        int32_t code = next_char(text + at, length - at, &bytes);
        size_t end = at + bytes;
        if (!is_word(code)) {
            at = end;
            continue;
        }
        while (!stands_alone(code) && end < length) {
            int32_t next = next_char(text + end, length - end, &bytes);
            utf8proc_category_t category = next < 128 ? UTF8PROC_CATEGORY_CN : utf8proc_category(next);
            bool mark = category >= UTF8PROC_CATEGORY_MN && category <= UTF8PROC_CATEGORY_ME;
            if (!mark && (!is_word(next) || stands_alone(next)))
                break;
            end += bytes;
        }
        /* Tests the whole word, or the parts of a camelCase word. */
        if (is_wanted(&words, text + at, end - at)) {
            spans[n++] = (struct lineage_span){at, end};
        } else {
            for (size_t from = at, to; from < end && n < capacity; from = to) {
                for (to = from + 1; to < end && !begins_part(text[to - 1], text[to], text[to + 1]); to++)
                    ;
                if ((from > at || to < end) && is_wanted(&words, text + from, to - from))
                    spans[n++] = (struct lineage_span){from, to};
            }
        }
        at = end;
    }
    search_words_release(&words);
    return n;
}

/* ---- the full-text index of the mirror, an FTS5 table with a row for each row of trials ---- */

/* the table `search` in lineage.db.
 *
 * The table has no content of its own (content=''): it holds words and the numbers of rows, and the texts stay in
 * trials. Its largest rowid shows which rows are indexed, so separate bookkeeping, which could disagree, is not needed.
 *
 * An append never pays for the index; the next search does. The provisional row (a last record without a line end) may
 * change, and a table without content cannot forget a row: so that row, the trials with remarks, and everything if
 * lineage.db cannot be written, are indexed in a temporary table of this connection, which is dropped after the search. */

/*
 * Finds the seqs of the rows that match an expression of FTS5: if `ranked`, best match first and at most limit (0: all), else
 * all of them in any order. Only rows of `among` are found, which gets sorted; NULL: every row. With a limit, only the newest
 * SEARCH_RANKED matches are ranked, or as many as the limit, so the time does not grow with the log. Indexes rows that came
 * since the last search before it looks: about 50,000 a second. Call mirror_sync first.
 */
enum { SEARCH_RANKED = 4000 };

#define COLUMNS                                                                                                                  \
    "(exp_id, specialist, hypothesis, notes, remarks, content='', tokenize='unicode61 "                                          \
    "remove_diacritics 2')"

static const char table_sql[] = "CREATE VIRTUAL TABLE search USING fts5" COLUMNS;
#define ROWS "SELECT seq, exp_id, specialist, hypothesis, notes FROM trials WHERE seq > ?1 AND seq <= ?2"

static const char temp_sql[] = "CREATE VIRTUAL TABLE temp.search_now USING fts5" COLUMNS;

struct indexing {
    struct mirror *mirror;
    sqlite3_stmt *insert;
    struct buf text;
};

static enum lineage_status add_text(struct indexing *in, int column, const char *text, struct lineage_error *err)
{
    buf_reset(&in->text);
    search_text(&in->text, text);
    if (in->text.failed)
        return store_no_memory(err);
    sqlite3_bind_text(in->insert, column, in->text.length ? in->text.data : "", (int)in->text.length, SQLITE_TRANSIENT);
    return LINEAGE_OK;
}

/* Adds the current row of `SELECT seq, exp_id, specialist, hypothesis, notes`. */
static enum lineage_status add_row(struct indexing *in, sqlite3_stmt *row, const char *remarks, struct lineage_error *err)
{
    sqlite3_bind_int64(in->insert, 1, sqlite3_column_int64(row, 0));
    for (int i = SEARCH_EXP_ID; i <= SEARCH_NOTES; i++)
        TRY(add_text(in, i + 2, mirror_text(row, i + 1), err));
    TRY(add_text(in, SEARCH_REMARKS + 2, remarks, err));
    return mirror_run(in->mirror, in->insert, err);
}

/* Adds the rows that `select` finds with from < seq <= to to the table that `insert` names, with these remarks. */
static enum lineage_status add_rows(struct mirror *mirror, const char *insert, const char *select, int64_t from, int64_t to,
                                    const char *remarks, struct lineage_error *err)
{
    struct indexing in = {.mirror = mirror};
    sqlite3_stmt *rows = NULL;
    enum lineage_status status = mirror_prepare(mirror, &in.insert, insert, err);
    if (status == LINEAGE_OK)
        status = mirror_rows(mirror, &rows, err, select, "ii", from, to);
    while (mirror_next(&status, mirror, rows, err))
        status = add_row(&in, rows, remarks, err);
    sqlite3_reset(in.insert);
    buf_release(&in.text);
    return status;
}

/* Creates the table if it is missing. Anything else with that name was made by another or an older program. */
static enum lineage_status make_table(struct mirror *mirror, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    bool there = false, ours = false;
    enum lineage_status status =
        mirror_rows(mirror, &stmt, err, "SELECT sql = ? FROM main.sqlite_schema WHERE name = 'search'", "s", table_sql);
    while (mirror_next(&status, mirror, stmt, err)) {
        there = true;
        ours = sqlite3_column_int(stmt, 0);
    }
    if (status == LINEAGE_OK && there && !ours)
        status = mirror_exec(mirror, "DROP TABLE main.search", err);
    return status == LINEAGE_OK && !ours ? mirror_exec(mirror, table_sql, err) : status;
}

/* Whether the last statement failed because lineage.db cannot be written now, rather than because it is damaged. */
static bool cannot_write(struct mirror *mirror)
{
    switch (sqlite3_errcode(mirror_db(mirror)) & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN: return true;
    default: return false;
    }
}

/* Sets *indexed to the number of rows in the table; -1 if there is none. */
static enum lineage_status count_indexed(struct mirror *mirror, int64_t *indexed, struct lineage_error *err)
{
    int64_t there = 0;
    *indexed = -1;
    enum lineage_status status =
        mirror_integer(mirror, &there, err, "SELECT count(*) FROM main.sqlite_schema WHERE name = 'search_docsize'", "");
    return status == LINEAGE_OK && there ? mirror_integer(mirror, indexed, err, "SELECT max(id) FROM search_docsize", "")
                                         : status;
}

/* Opens lineage.db for writing if rows have to be indexed. Call it after mirror_sync, before a temporary table is made. */
static enum lineage_status search_index_make_ready(struct mirror *mirror, struct lineage_error *err)
{
    int64_t indexed;
    TRY(count_indexed(mirror, &indexed, err));
    return indexed != (int64_t)mirror_position(mirror)->rows ? mirror_open_to_write(mirror, err) : LINEAGE_OK;
}

/* Brings the table up to date with the terminated rows. *unwritable becomes true if this failed because lineage.db
 * cannot be written. */
static enum lineage_status catch_up(struct mirror *mirror, int64_t rows, bool *unwritable, struct lineage_error *err)
{
    int64_t indexed;
    TRY(count_indexed(mirror, &indexed, err));
    if (indexed == rows)
        return LINEAGE_OK;
    enum lineage_status status = mirror_exec(mirror, "BEGIN IMMEDIATE", err);
    *unwritable = status != LINEAGE_OK && cannot_write(mirror);
    TRY(status);
    status = make_table(mirror, err);
    if (status == LINEAGE_OK) /* another process may have been first */
        status = mirror_integer(mirror, &indexed, err, "SELECT max(id) FROM search_docsize", "");
    if (status == LINEAGE_OK && indexed > rows) { /* rows were removed from the log */
        status = mirror_exec(mirror, "DROP TABLE main.search", err);
        if (status == LINEAGE_OK)
            status = mirror_exec(mirror, table_sql, err);
        indexed = 0;
    }
    if (status == LINEAGE_OK)
        status = add_rows(mirror,
                          "INSERT INTO main.search(rowid, exp_id, specialist, hypothesis, notes, remarks)"
                          " VALUES (?,?,?,?,?,?)",
                          ROWS " ORDER BY seq", indexed, rows, "", err);
    if (status == LINEAGE_OK)
        status = mirror_exec(mirror, "COMMIT", err);
    *unwritable = status != LINEAGE_OK && cannot_write(mirror);
    if (status != LINEAGE_OK)
        sqlite3_exec(mirror_db(mirror), "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* ---- trials with remarks ---- */

struct remarked {
    struct remarked_trial {
        int64_t seq;
        struct buf text;
    } *trials;
    size_t n, room;
    struct mirror *mirror;
    enum lineage_status status;
    struct lineage_error *err;
};

static bool take_remark(void *context, const struct lineage_remark *remark)
{
    struct remarked *r = context;
    int64_t seq = 0;
    size_t i = 0;
    enum lineage_status status = mirror_find(r->mirror, remark->exp_id, &seq, r->err);
    if (status == LINEAGE_ENOTFOUND) /* a remark on a trial of another log */
        return true;
    r->status = status;
    while (i < r->n && r->trials[i].seq != seq)
        i++;
    if (status == LINEAGE_OK && i == r->n) {
        if (!LIST_ROOM(r->trials, r->n, r->room)) {
            r->status = store_no_memory(r->err);
            return false;
        }
        r->trials[r->n++] = (struct remarked_trial){.seq = seq};
    }
    if (r->status == LINEAGE_OK) {
        buf_puts(&r->trials[i].text, remark->text);
        buf_put(&r->trials[i].text, '\n');
    }
    return r->status == LINEAGE_OK;
}

static void remarked_release(struct remarked *r)
{
    for (size_t i = 0; i < r->n; i++)
        buf_release(&r->trials[i].text);
    free(r->trials);
}

/* Fills the temporary table, or leaves it out if it would be empty. Trials with remarks come first, because the rows added
 * after them skip what the table has. indexed: rows that the table of lineage.db has. */
static enum lineage_status make_temp(struct mirror *mirror, struct lineage_store *store, int64_t indexed, bool *made,
                                     struct lineage_error *err)
{
    static const char insert[] = "INSERT INTO temp.search_now(rowid, exp_id, specialist, hypothesis, notes, remarks)"
                                 " VALUES (?,?,?,?,?,?)";
    RELEASED_BY(remarked_release) struct remarked r = {.mirror = mirror, .status = LINEAGE_OK, .err = err};
    int64_t last = 0;
    enum lineage_status status = lineage_remarks_read(store, NULL, take_remark, &r, err);
    TRY(r.status);
    TRY(status);
    TRY(mirror_integer(mirror, &last, err, "SELECT max(seq) FROM trials", ""));
    *made = r.n > 0 || last > indexed;
    if (!*made)
        return LINEAGE_OK;
    TRY(mirror_exec(mirror, "DROP TABLE IF EXISTS temp.search_now", err));
    TRY(mirror_exec(mirror, temp_sql, err));
    for (size_t i = 0; i < r.n; i++)
        TRY(r.trials[i].text.failed
                ? store_no_memory(err)
                : add_rows(mirror, insert, ROWS, r.trials[i].seq - 1, r.trials[i].seq, r.trials[i].text.data, err));
    return add_rows(mirror, insert, ROWS " AND seq NOT IN (SELECT id FROM temp.search_now_docsize) ORDER BY seq", indexed, last,
                    "", err);
}

/* ---- looking ---- */

/* The SQL function `counted`: whether a row is in the sorted list of rows that count; a NULL list contains all rows. */
static void counted(sqlite3_context *context, int n_values, sqlite3_value **values)
{
    const struct mirror_seqs *among = sqlite3_user_data(context);
    (void)n_values;
    sqlite3_result_int(context, !among || mirror_seqs_has(among, sqlite3_value_int64(values[0])));
}

static enum lineage_status collect(struct mirror *mirror, const char *sql, const char *expression, size_t limit,
                                   struct mirror_seqs *found, struct lineage_error *err)
{
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    if (status == LINEAGE_OK) {
        const bool limited = limit && limit < INT64_MAX;
        sqlite3_bind_text(stmt, 1, expression, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, limited ? (int64_t)limit : -1);
        sqlite3_bind_int64(stmt, 3, !limited ? -1 : limit > SEARCH_RANKED ? (int64_t)limit : SEARCH_RANKED);
        status = mirror_list_seqs(found, mirror, stmt, err);
    }
    sqlite3_reset(stmt);
    return status;
}

/* Weights of the columns: a word of the hypothesis says more than one of the notes, which hold what machines wrote.
 * Ranking a row takes a microsecond and more, walking past it a tenth of that: so only the newest matches are ranked. */
#define MATCHES(schema, table, rank)                                                                                             \
    "SELECT rowid AS seq, " rank " AS rank FROM " schema "." table " WHERE " table " MATCH ?1 AND counted(rowid)"
#define RANKED(schema, table)                                                                                                    \
    "SELECT seq, rank FROM (" MATCHES(schema, table, "bm25(" table ", 1, 1, 4, 1, 2)") " ORDER BY seq DESC LIMIT ?3)"

/* Asks the table of lineage.db, the temporary one, or both: a trial with a remark is in both. */
static const char *question(bool on_file, bool in_temp, bool ranked)
{
    if (!on_file)
        return ranked ? "SELECT seq FROM (" RANKED("temp", "search_now") ") ORDER BY rank, seq LIMIT ?2"
                      : MATCHES("temp", "search_now", "0");
    if (!in_temp)
        return ranked ? "SELECT seq FROM (" RANKED("main", "search") ") ORDER BY rank, seq LIMIT ?2"
                      : MATCHES("main", "search", "0");
    return ranked ? "SELECT seq FROM (SELECT * FROM (" RANKED("main", "search") ") UNION ALL SELECT * FROM (" RANKED(
                        "temp", "search_now") ")) GROUP BY "
                                              "seq ORDER BY "
                                              "min(rank), "
                                              "seq LIMIT ?2"
                  : "SELECT seq FROM (" MATCHES("main", "search", "0") " UNION ALL " MATCHES("temp", "search_now",
                                                                                             "0") ") GROUP BY seq";
}

/* Brings the table up to date with the rows of the log. *on_file: whether the table of lineage.db can be asked. */
static enum lineage_status bring_up(struct mirror *mirror, int64_t rows, bool *on_file, struct lineage_error *err)
{
    struct lineage_error why = {0};
    int64_t indexed;
    bool unwritable = false;
    *on_file = false;
    enum lineage_status status = count_indexed(mirror, &indexed, &why);
    if (status == LINEAGE_OK)
        *on_file = indexed == rows || sqlite3_db_readonly(mirror_db(mirror), "main") == 0;
    if (status == LINEAGE_OK && *on_file)
        status = catch_up(mirror, rows, &unwritable, &why);
    *on_file = *on_file && !unwritable;
    return status != LINEAGE_OK && !unwritable ? store_give(err, &why) : LINEAGE_OK;
}

static enum lineage_status search_index_find(struct mirror *mirror, struct lineage_store *store, const char *expression,
                                             struct mirror_seqs *among, bool ranked, size_t limit, struct mirror_seqs *found,
                                             struct lineage_error *err)
{
    int64_t rows = (int64_t)mirror_position(mirror)->rows;
    bool on_file, in_temp = false;
    TRY(bring_up(mirror, rows, &on_file, err));
    if (among)
        mirror_seqs_sort(among);
    if (sqlite3_create_function(mirror_db(mirror), "counted", 1, SQLITE_UTF8 | SQLITE_DIRECTONLY, among, counted, NULL, NULL) !=
        SQLITE_OK)
        return mirror_fail(mirror, "cannot search", err);
    enum lineage_status status = make_temp(mirror, store, on_file ? rows : 0, &in_temp, err);
    if (status == LINEAGE_OK && (on_file || in_temp))
        status = collect(mirror, question(on_file, in_temp, ranked), expression, limit, found, err);
    if (in_temp)
        sqlite3_exec(mirror_db(mirror), "DROP TABLE IF EXISTS temp.search_now", NULL, NULL, NULL);
    sqlite3_create_function(mirror_db(mirror), "counted", 1, SQLITE_UTF8, NULL, NULL, NULL, NULL);
    return status;
}

/* ---- alike ---- */

enum { ALIKE_WORDS = 64, ALIKE_COMMON = 1000, ALIKE_WORD_MAX = 40 };

struct alike_word {
    char text[ALIKE_WORD_MAX];
    int64_t rows; /* rows that have it, ALIKE_COMMON for more */
};

/* Lists the words of a text that has the form of the index, each once; one and two letters say too little. */
static size_t list_words(struct alike_word words[ALIKE_WORDS], const char *text)
{
    size_t n = 0;
    for (size_t length; *text && n < ALIKE_WORDS; text += length ? length : 1) {
        bool known = false;
        for (length = 0; ascii_is_word(text[length]) || text[length] & 0x80;)
            length++;
        if (length < 3 || length >= ALIKE_WORD_MAX)
            continue;
        memcpy(words[n].text, text, length);
        words[n].text[length] = '\0';
        words[n].rows = 0;
        for (size_t i = 0; i < n && !known; i++)
            known = sqlite3_stricmp(words[i].text, words[n].text) == 0;
        n += !known;
    }
    return n;
}

/* Counts the rows that have each word. Walking past a row takes a tenth of a microsecond, so a common word is not counted to
 * its end. */
static enum lineage_status count_rows(struct mirror *mirror, struct alike_word *words, size_t n, struct lineage_error *err)
{
    static const char sql[] = "SELECT count(*) FROM (SELECT 1 FROM main.search WHERE search MATCH '\"' || ?1 || '\"' LIMIT ?2)";
    sqlite3_stmt *stmt;
    enum lineage_status status = mirror_prepare(mirror, &stmt, sql, err);
    for (size_t i = 0; i < n && status == LINEAGE_OK; i++) {
        sqlite3_bind_text(stmt, 1, words[i].text, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, ALIKE_COMMON);
        status = mirror_step(mirror, stmt, err);
        words[i].rows = status == LINEAGE_OK ? sqlite3_column_int64(stmt, 0) : 0;
        sqlite3_reset(stmt);
    }
    sqlite3_reset(stmt);
    return status;
}

static int by_rows(const void *a, const void *b)
{
    const struct alike_word *x = a, *y = b;
    return x->rows != y->rows ? (x->rows > y->rows ? 1 : -1) : strcmp(x->text, y->text);
}

/* Finds the rows that share the rarest words of a text, at most limit, best first: the time does not grow with the log. Call
 * search_index_make_ready first. */
static enum lineage_status search_index_alike(struct mirror *mirror, struct lineage_store *store, const char *text, size_t limit,
                                              struct mirror_seqs *found, struct lineage_error *err)
{
    struct alike_word words[ALIKE_WORDS];
    SCOPED_BUF expression = {0};
    bool on_file = false;
    search_text(&expression, text);
    if (expression.failed)
        return store_no_memory(err);
    const size_t n = expression.data ? list_words(words, expression.data) : 0;
    TRY(bring_up(mirror, (int64_t)mirror_position(mirror)->rows, &on_file, err));
    if (on_file)
        TRY(count_rows(mirror, words, n, err));
    if (n)
        qsort(words, n, sizeof *words, by_rows);
    buf_reset(&expression);
    int64_t rows = 0;
    for (size_t i = 0; i < n && (i == 0 || rows + words[i].rows <= SEARCH_RANKED); i++) {
        buf_printf(&expression, "%s\"%s\"", i ? " OR " : "", words[i].text);
        rows += words[i].rows;
    }
    if (expression.failed)
        return store_no_memory(err);
    return n ? search_index_find(mirror, store, expression.data, NULL, true, limit, found, err) : LINEAGE_OK;
}

/* ---- lineage_search: parses the words, asks the index, and selects the trials that count ---- */

static bool selects_all(const struct lineage_query *q)
{
    return !q->labels && !q->specialist && !q->since && !q->until && !q->n_conditions && !q->sort && !q->after;
}

struct search_question {
    struct lineage_store *store;
    const char *expression; /* of FTS5 */
    const struct lineage_query *filter;
    struct mirror_seqs found;
};

/* Keeps the seqs of `list` that are in `sorted`, in the order of the list. */
static void keep_common(struct mirror_seqs *list, const struct mirror_seqs *sorted)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++)
        if (mirror_seqs_has(sorted, list->items[i]))
            list->items[n++] = list->items[i];
    list->n = n;
}

/* Asks the filter without its limit, which applies to the trials that also match the words. */
static enum lineage_status find(void *question, struct lineage_error *err)
{
    struct search_question *q = question;
    struct mirror *mirror = q->store->mirror;
    struct lineage_query query = *q->filter;
    struct mirror_seqs counted = {0}, matches = {0};
    const bool all = selects_all(q->filter);
    query.limit = 0;
    free(q->found.items);
    q->found = (struct mirror_seqs){0};
    enum lineage_status status = mirror_sync(mirror, err);
    if (status == LINEAGE_OK && !q->store->settings_on)
        status = search_index_make_ready(mirror, err);
    if (status == LINEAGE_OK && !all)
        status = mirror_query(mirror, &query, &counted, err);
    if (status == LINEAGE_OK && !q->filter->sort) {
        status =
            search_index_find(mirror, q->store, q->expression, all ? NULL : &counted, true, q->filter->limit, &q->found, err);
    } else if (status == LINEAGE_OK) {
        status = search_index_find(mirror, q->store, q->expression, NULL, false, 0, &matches, err);
        mirror_seqs_sort(&matches);
        keep_common(&counted, &matches);
        q->found = counted;
        counted = (struct mirror_seqs){0};
    }
    free(matches.items);
    free(counted.items);
    if (q->filter->limit && q->found.n > q->filter->limit)
        q->found.n = q->filter->limit;
    return status;
}

enum lineage_status lineage_search(struct lineage_cursor **cursor, struct lineage_store *store, const char *words,
                                   const struct lineage_query *filter, struct lineage_error *err)
{
    static const struct lineage_query all = {0};
    struct search_words parsed;
    *cursor = NULL;
    enum lineage_status status = search_words_parse(&parsed, words, err);
    struct search_question q = {.store = store, .expression = parsed.expression.data, .filter = filter ? filter : &all};
    if (status == LINEAGE_OK)
        status = ask_settings_of_query(store, q.filter, find, &q, err);
    search_words_release(&parsed);
    if (status == LINEAGE_OK)
        return mirror_cursor_new(cursor, store->mirror, &q.found, err);
    free(q.found.items);
    return status;
}

struct alike_question {
    struct lineage_store *store;
    const char *text;
    size_t limit;
    struct mirror_seqs found;
};

static enum lineage_status find_alike(void *question, struct lineage_error *err)
{
    struct alike_question *q = question;
    q->found.n = 0;
    TRY(mirror_sync(q->store->mirror, err));
    TRY(search_index_make_ready(q->store->mirror, err));
    return search_index_alike(q->store->mirror, q->store, q->text, q->limit, &q->found, err);
}

/* The words of an id are those of its trial's hypothesis. */
static enum lineage_status add_alike(struct lineage_ideas *ideas, struct lineage_store *store, const char *what,
                                     struct lineage_error *err)
{
    SCOPED_TRIAL trial = {0};
    uint64_t seqs[LINEAGE_IDEAS_NEAR_ALIKE];
    enum lineage_status status = lineage_find(store, what, &trial, err);
    const char *id = status == LINEAGE_OK ? what : NULL;
    struct alike_question q = {.store = store, .text = id ? trial.hypothesis : what, .limit = LINEAGE_IDEAS_NEAR_ALIKE};
    if (status == LINEAGE_OK || status == LINEAGE_ENOTFOUND)
        status = mirror_ask(store->mirror, find_alike, &q, err);
    for (size_t i = 0; i < q.found.n; i++)
        seqs[i] = (uint64_t)q.found.items[i];
    if (status == LINEAGE_OK)
        status = lineage_ideas_add_near(ideas, store, id, seqs, q.found.n, err);
    free(q.found.items);
    return status;
}

enum lineage_status lineage_search_ideas(struct lineage_ideas *ideas, struct lineage_store *store, const char *what,
                                         struct lineage_error *err)
{
    const struct lineage_query some = {.limit = LINEAGE_IDEAS_NEAR_WHOLE};
    size_t rows;
    TRY(lineage_query_count(&rows, store, &some, err));
    return rows < LINEAGE_IDEAS_NEAR_WHOLE ? lineage_ideas_add_store(ideas, store, err) : add_alike(ideas, store, what, err);
}
