/*
 * search_words.c: converts what people type into an expression of FTS5, and prepares texts for FTS5's tokenizer.
 *
 * FTS5's own tokenizer (unicode61) splits at everything but letters and digits, which finds the parts of snake_case. A
 * tokenizer of our own would also have to split camelCase and Chinese, but then no other SQLite client could open the
 * table; so texts are prepared instead, and the tokenizer stays FTS5's.
 *
 * The search is parsed here, not handed to FTS5: `lr 0.125` or `grad-clip` are errors in FTS5's language, and its
 * messages do not give a position.
 */
#include "search_words.h"

#include <utf8proc.h>

#include <lineage/search.h>

#include "../format/arena.h"
#include "../format/ascii.h"

const char *const search_places[SEARCH_PLACES] = {"exp_id", "specialist", "hypothesis", "notes", "remarks"};

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

void search_text(struct buf *out, const char *text)
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

enum lineage_status search_words_parse(struct search_words *words, const char *search, struct lineage_error *err)
{
    struct parser p = {.words = words, .text = search, .at = search, .err = err};
    *words = (struct search_words){0};
    enum lineage_status status = parse_or(&p);
    if (status == LINEAGE_OK && *p.at)
        return mistake(&p, p.at, "this parenthesis was never opened");
    return status == LINEAGE_OK && words->expression.failed ? store_no_memory(err) : status;
}

void search_words_release(struct search_words *words)
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
