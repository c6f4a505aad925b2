/*
 * notes.c: settings and metrics in the notes cell (grammar in lineage/notes.h).
 *
 * Only the beginning of a `;`-separated piece can set anything, and only before the first piece of prose. The
 * characters after a number decide whether it is a value at all: `0.9→0.95` and `0.3%` are prose.
 *
 * People, agents and other tools share the cell and write prose into it, and every existing row was written before some
 * part of this grammar. So the grammar may only grow by forms that prose hardly ever has, and a doubtful piece counts
 * as prose: a missed setting can be added by hand, but queries find a setting that nobody meant for ever. The mirror,
 * the rendered block, queries and `compare` all use this parser.
 */
#include <lineage/code.h>
#include <lineage/notes.h>

#include <math.h>

#include <lineage/text.h>

#include "../fail.h"
#include "mean_note.h"
#include "number.h"
#include "row.h"

/* Other names of parameters, such as α for alpha. lineage_param_canonical (lineage/notes.h) resolves them. */

/* The first N_GREEK aliases are Greek letters of GREEK bytes of UTF-8 each; longer aliases follow them. */
enum { N_GREEK = 8, GREEK = 2 };

static const struct {
    const char *alias, *name;
} aliases[] = {
    {"α", "alpha"}, {"β", "beta"},    {"γ", "gamma"},
    {"δ", "delta"}, {"ε", "epsilon"}, {"λ", "lambda"},
    {"η", "eta"},   {"τ", "tau"},     {"adv_rescale_alpha", "alpha"},
};

/* Only canonical names are stored; otherwise a query for alpha would miss the rows of an agent that wrote α. */
const char *lineage_param_canonical(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (aliases[i].alias[0] == name[0] && strcmp(aliases[i].alias, name) == 0)
            return aliases[i].name;
    return name;
}

/* Bytes of the Greek letter that text begins with, if that letter is an alias and more text follows; else 0. */
static size_t param_alias_greek(const char *text, size_t length)
{
    if (length <= GREEK || !(text[0] & 0x80))
        return 0;
    for (size_t i = 0; i < N_GREEK; i++)
        if (memcmp(text, aliases[i].alias, GREEK) == 0)
            return GREEK;
    return 0;
}

bool lineage_param_is_seed(const char *name, const char *const *seeds)
{
    while (seeds && *seeds && strcmp(*seeds, name) != 0)
        seeds++;
    return (seeds && *seeds) || strcmp(name, "seed") == 0 || strcmp(name, "random_seed") == 0;
}

/* ---- settings and metrics in the notes cell (grammar in lineage/notes.h) ---- */

/* A stretch of text. */
struct span {
    const char *text;
    size_t length;
};

/* The parameters that were found, in order; the last value of a key wins. They are collected first and sorted at the
 * end: looking up each name among the earlier ones would take quadratic time, and a notes cell may hold ten thousand
 * parameters. */
struct found_param {
    struct lineage_param param;
    size_t order;
};
struct found_turn {
    struct lineage_turn_stat stat;
    size_t order;
};

struct notes_builder {
    struct lineage_trial *trial;
    struct arena *arena;
    struct found_param *params, *metrics;
    struct found_turn *turns;
    size_t n_params, n_metrics, n_turns;
    bool prose; /* a piece of prose was found: settings after it count as prose */
    bool failed;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name_char(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* An alias need not satisfy the grammar for names, because aliases are never written. */
bool lineage_param_name_ok(const char *name)
{
    size_t length = strlen(name);
    if (lineage_param_canonical(name) != name)
        return true;
    if (!is_letter(name[0]) || length >= LINEAGE_NAME_MAX)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!is_name_char(name[i]))
            return false;
    return true;
}

bool lineage_param_is_inherited(const char *name, const char *const *seeds)
{
    return !lineage_param_is_seed(name, seeds) && strcmp(name, "proposer") != 0;
}

/* A semicolon would end the piece, and a control character could break the line that shows it. Neither can be escaped
 * in a cell that other tools read as prose. */
bool lineage_param_text_ok(const char *text)
{
    size_t length = strlen(text);
    bool ok = length >= 1 && length <= LINEAGE_PARAM_TEXT_MAX && lineage_text_is_utf8(text, length);
    for (size_t i = 0; ok && i < length; i++)
        ok = (unsigned char)text[i] >= ' ' && text[i] != 0x7f && text[i] != ';';
    return ok;
}

static struct span skip_blanks(struct span s)
{
    while (s.length && is_blank(s.text[0]))
        s = (struct span){s.text + 1, s.length - 1};
    return s;
}

static struct span trim(struct span s)
{
    s = skip_blanks(s);
    while (s.length && is_blank(s.text[s.length - 1]))
        s.length--;
    return s;
}

static struct span skip(struct span s, size_t n)
{
    return (struct span){s.text + n, s.length - n};
}

/* Length of the parameter name at the start, 0 if there is none. A name of LINEAGE_NAME_MAX bytes or more does not
 * count, because it would not fit where names are stored. */
static size_t name_length(struct span s)
{
    size_t n = 0;
    size_t greek = param_alias_greek(s.text, s.length);
    if (greek)
        return greek;
    if (!s.length || !is_letter(s.text[0]))
        return 0;
    while (n < s.length && is_name_char(s.text[n]))
        n++;
    return n < LINEAGE_NAME_MAX ? n : 0;
}

/* Whether a value may end here: at the end, a blank, a comma, a parenthesis, or a full stop before one of them. */
static bool ends_value(struct span s)
{
    if (s.length && s.text[0] == '.')
        s = skip(s, 1);
    return !s.length || is_blank(s.text[0]) || strchr(",()", s.text[0]);
}

/* Reads NAME=NUMBER at the start of *s and moves *s past it. The number must be followed by an end of value: `lr=1e-4x`
 * and `acc=0.93→0.95` are remarks about values, not settings. */
static bool take_any_setting(struct span *s, struct span *name, double *value)
{
    size_t n = name_length(*s);
    if (!n || n >= s->length || s->text[n] != '=')
        return false;
    struct span number = skip(*s, n + 1);
    size_t digits = number_length(number.text, number.length);
    if (!digits || !ends_value(skip(number, digits)))
        return false;
    *name = (struct span){s->text, n};
    *s = skip(number, digits);
    return lineage_number_parse(value, number.text, digits);
}

/* 1e999 is a valid decimal, but no trial can have run with it. Read as infinity, it would match every range without an
 * upper bound. */
static bool take_setting(struct span *s, struct span *name, double *value)
{
    struct span from = *s;
    if (take_any_setting(s, name, value) && isfinite(*value))
        return true;
    *s = from;
    return false;
}

static bool is(struct span s, const char *word)
{
    return strlen(word) == s.length && memcmp(s.text, word, s.length) == 0;
}

/* For `WORD key=number key=number ...`: if the piece begins with WORD, moves *s to the text after it. */
static bool begins_with(struct span *s, const char *word)
{
    if (!s->length || s->text[0] != word[0])
        return false;
    size_t n = strlen(word);
    if (s->length <= n || memcmp(s->text, word, n) != 0 || !is_blank(s->text[n]))
        return false;
    *s = skip_blanks(skip(*s, n));
    return true;
}

/* Stops at the first word that is not a setting, because words may follow the statistics. */
static void parse_clip_scale(struct notes_builder *b, struct span s)
{
    struct span name;
    double value;
    while (take_setting(&s, &name, &value)) {
        if (is(name, "mean"))
            b->trial->ig_clip_scale_mean = (struct lineage_number){true, value};
        else if (is(name, "std"))
            b->trial->ig_clip_scale_std = (struct lineage_number){true, value};
        else
            return;
        s = skip_blanks(s);
    }
}

static void put_turn(struct notes_builder *b, const struct lineage_turn_stat *stat)
{
    b->turns[b->n_turns] = (struct found_turn){*stat, b->n_turns};
    b->n_turns++;
}

/* A turn, its mean and its spread belong together. A piece that lacks one of the three is prose, because gaps in a
 * table of turns would be read as zeros. */
static void parse_turn(struct notes_builder *b, struct span s)
{
    struct lineage_turn_stat turn = {.mean = (double)NAN, .std = (double)NAN};
    struct span name;
    double value;
    bool has_turn = false;
    while (take_setting(&s, &name, &value)) {
        bool count = value >= 0 && value <= 4294967295.0 && value == floor(value);
        if (is(name, "turn") && count) {
            turn.turn = (uint32_t)value;
            has_turn = true;
        } else if (is(name, "mean")) {
            turn.mean = value;
        } else if (is(name, "std")) {
            turn.std = value;
        } else if (is(name, "n") && count) {
            turn.count = (uint64_t)value;
        } else {
            break;
        }
        s = skip_blanks(s);
    }
    if (has_turn && !isnan(turn.mean) && !isnan(turn.std))
        put_turn(b, &turn);
}

/* Two keys are statistics and have their own members in the trial. They are stored there however they are written, so
 * that they are not parameters in one row and statistics in the next. */
static void put_param(struct notes_builder *b, struct span name, double value, const char *text)
{
    struct lineage_trial *trial = b->trial;
    char *copy = arena_text(b->arena, name.text, name.length);
    if (!copy) {
        b->failed = true;
        return;
    }
    const char *canonical = lineage_param_canonical(copy);
    if (strcmp(canonical, "ig_clip_scale_mean") == 0) {
        trial->ig_clip_scale_mean = (struct lineage_number){true, value};
        return;
    }
    if (strcmp(canonical, "ig_clip_scale_std") == 0) {
        trial->ig_clip_scale_std = (struct lineage_number){true, value};
        return;
    }
    b->params[b->n_params] = (struct found_param){{canonical, value, text}, b->n_params};
    b->n_params++;
}

/* Whether the piece, behind the word `metrics`, is a list of numbers with names to its end. Anything else is prose. */
static bool is_metrics(struct span s)
{
    struct span name;
    double value;
    while (take_setting(&s, &name, &value)) {
        s = skip_blanks(s);
        if (!s.length)
            return true;
        if (s.text[0] != ',')
            return false;
        s = skip_blanks(skip(s, 1));
    }
    return false;
}

static void parse_metrics(struct notes_builder *b, struct span s)
{
    struct span name;
    double value;
    while (!b->failed && take_setting(&s, &name, &value)) {
        const char *copy = arena_text(b->arena, name.text, name.length);
        b->failed = !copy;
        b->metrics[b->n_metrics] = (struct found_param){{copy, value, NULL}, b->n_metrics};
        b->n_metrics += copy != NULL;
        s = skip_blanks(s);
        if (s.length)
            s = skip_blanks(skip(s, 1));
    }
}

/* ---- texts ---- */

/* Characters of a word other than letters and digits. Characters that are symbols in prose (an arrow, a question mark)
 * are not allowed. */
static bool is_word_char(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || memchr("_.-+/:@", c, 7);
}

/* Bytes of the word at the start, 0 if there is none. A sentence or a range may end with characters that cannot end a
 * word. */
static size_t word_length(struct span s)
{
    double number;
    size_t n = 0;
    if (!s.length || !is_letter(s.text[0]))
        return 0;
    while (n < s.length && is_word_char(s.text[n]))
        n++;
    bool ends = strchr(".-+/:", s.text[n - 1]) == NULL;
    return ends && n <= LINEAGE_PARAM_TEXT_MAX && !lineage_number_parse(&number, s.text, n) ? n : 0;
}

/* Bytes of the quoted text at the start with its quotes, 0 if there is none; *value is the text without them. */
static size_t quoted_length(struct span s, char value[LINEAGE_PARAM_TEXT_MAX + 1])
{
    size_t n = 0, i = 1;
    if (s.length < 2 || s.text[0] != '\'')
        return 0;
    for (; i < s.length && n <= LINEAGE_PARAM_TEXT_MAX; i++) {
        bool quote = s.text[i] == '\'';
        if (quote && (i + 1 == s.length || s.text[i + 1] != '\''))
            break;
        i += quote;
        if (n < LINEAGE_PARAM_TEXT_MAX)
            value[n] = s.text[i];
        n++;
    }
    if (i >= s.length || n > LINEAGE_PARAM_TEXT_MAX)
        return 0;
    value[n] = '\0';
    return lineage_param_text_ok(value) ? i + 1 : 0;
}

/* A word or a quoted text; returns the number of bytes read. */
static size_t text_length(struct span s, char value[LINEAGE_PARAM_TEXT_MAX + 1])
{
    size_t n = word_length(s);
    if (!n)
        return quoted_length(s, value);
    memcpy(value, s.text, n);
    value[n] = '\0';
    return n;
}

/* Reads NAME=TEXT with the separator or end after it, and moves *s past both. The rules are stricter than for numbers,
 * because prose consists of words: a comma must separate a text from the next one, and nothing may follow the last
 * text. */
static bool take_text(struct span *s, struct span *name, char value[LINEAGE_PARAM_TEXT_MAX + 1])
{
    size_t n = name_length(*s);
    if (!n || n >= s->length || s->text[n] != '=')
        return false;
    struct span rest = skip(*s, n + 1);
    size_t length = text_length(rest, value);
    if (!length)
        return false;
    rest = skip_blanks(skip(rest, length));
    if (rest.length) {
        if (rest.text[0] != ',')
            return false;
        rest = skip_blanks(skip(rest, 1));
        if (!rest.length)
            return false;
    }
    *name = (struct span){s->text, n};
    *s = rest;
    return !(is(*name, "ig_clip_scale_mean") || is(*name, "ig_clip_scale_std"));
}

/* Whether the rest consists of texts only; otherwise none of them counts. */
static bool is_all_text(struct span s)
{
    char value[LINEAGE_PARAM_TEXT_MAX + 1];
    struct span name;
    if (!s.length)
        return false;
    while (s.length)
        if (!take_text(&s, &name, value))
            return false;
    return true;
}

static void parse_texts(struct notes_builder *b, struct span s)
{
    char value[LINEAGE_PARAM_TEXT_MAX + 1];
    struct span name;
    while (!b->failed && s.length && take_text(&s, &name, value)) {
        const char *text = arena_text(b->arena, value, strlen(value));
        if (text)
            put_param(b, name, (double)NAN, text);
        b->failed = b->failed || !text;
    }
}

/* Numbers come first. The rest is read as texts only if all of it is texts: `lr=1e-4, a note: x=y is odd` keeps its
 * first setting and sets nothing else. */
static void parse_settings(struct notes_builder *b, struct span s)
{
    struct span name;
    double value;
    while (!b->failed && take_setting(&s, &name, &value)) {
        put_param(b, name, value, NULL);
        s = skip_blanks(s);
        if (!s.length || s.text[0] != ',')
            return;
        s = skip_blanks(skip(s, 1));
    }
    if (is_all_text(s))
        parse_texts(b, s);
}

/* Statistics, metrics and links count wherever they are in the notes. Settings count only before the first piece of prose: in
 * `reverted: lr=5 was silly; batch=9` a person says what was tried once, not what this trial ran with. */
static void parse_piece(struct notes_builder *b, struct span s)
{
    s = trim(s);
    struct span measured = s;
    if (begins_with(&measured, "metrics") && is_metrics(measured)) {
        parse_metrics(b, measured);
    } else if (begins_with(&s, "ig_clip_scale")) {
        parse_clip_scale(b, s);
    } else if (begins_with(&s, "info_gain")) {
        parse_turn(b, s);
    } else if (!b->prose && !begins_with(&s, "night")) {
        size_t name = name_length(s);
        b->prose = s.length && !(name && name < s.length && s.text[name] == '=');
        parse_settings(b, s);
    }
}

/* A number wins over a text, so that a tool that does not know texts sees the same value. */
static int by_name(const void *a, const void *b)
{
    const struct found_param *x = a, *y = b;
    int order = strcmp(x->param.name, y->param.name);
    if (!order) /* a number wins over a text, even if the text comes last */
        order = (y->param.text != NULL) - (x->param.text != NULL);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

static int by_turn(const void *a, const void *b)
{
    const struct found_turn *x = a, *y = b;
    int order = (x->stat.turn > y->stat.turn) - (x->stat.turn < y->stat.turn);
    return order ? order : (x->order > y->order) - (x->order < y->order);
}

/* Keeps the last parameter, or metric, of each name, sorted by name. */
static bool keep_last(struct notes_builder *b, struct found_param *found, size_t n_found, const struct lineage_param **params,
                      size_t *n_params)
{
    struct lineage_param *kept = arena_alloc(b->arena, n_found, sizeof *kept);
    size_t n = 0;
    size_t sorted = 1; /* a writer of this program sorts them */
    while (sorted < n_found && by_name(&found[sorted - 1], &found[sorted]) < 0)
        sorted++;
    if (sorted < n_found)
        qsort(found, n_found, sizeof *found, by_name);
    for (size_t i = 0; kept && i < n_found; i++)
        if (i + 1 == n_found || strcmp(found[i].param.name, found[i + 1].param.name) != 0)
            kept[n++] = found[i].param;
    *params = kept;
    *n_params = n;
    return kept != NULL;
}

static bool keep_turns(struct notes_builder *b)
{
    struct lineage_turn_stat *turns = arena_alloc(b->arena, b->n_turns, sizeof *turns);
    size_t n = 0;
    qsort(b->turns, b->n_turns, sizeof *b->turns, by_turn);
    for (size_t i = 0; turns && i < b->n_turns; i++)
        if (i + 1 == b->n_turns || b->turns[i].stat.turn != b->turns[i + 1].stat.turn)
            turns[n++] = b->turns[i].stat;
    b->trial->turns = turns;
    b->trial->n_turns = n;
    return turns != NULL;
}

static size_t count(const char *text, char c)
{
    size_t n = 0;
    while ((text = strchr(text, c))) {
        n++;
        text++;
    }
    return n;
}

/* Looks for an infinite number among a piece's settings, with blanks or commas between them. */
static bool has_infinity(struct span s, struct span *name)
{
    double value = 0;
    s = trim(s);
    if (!begins_with(&s, "ig_clip_scale"))
        begins_with(&s, "info_gain");
    while (isfinite(value) && take_any_setting(&s, name, &value)) {
        s = skip_blanks(s);
        if (s.length && s.text[0] == ',')
            s = skip_blanks(skip(s, 1));
    }
    return !isfinite(value);
}

bool notes_have_infinity(const char *notes, char name[LINEAGE_NAME_MAX])
{
    struct span found;
    for (; notes; notes = *notes ? notes + 1 : NULL) {
        size_t length = strcspn(notes, ";");
        if (has_infinity((struct span){notes, length}, &found)) {
            memcpy(name, found.text, found.length);
            name[found.length] = '\0';
            return true;
        }
        notes += length;
    }
    return false;
}

/* Counting `=` and `;` gives upper bounds for both arrays, so each is allocated once. Most rows of other tools contain
 * neither character and cost only the search. */
enum lineage_status notes_parse(struct lineage_trial *trial, const char *notes, struct arena *arena, struct lineage_error *err)
{
    trial->ig_clip_scale_mean = trial->ig_clip_scale_std = (struct lineage_number){0};
    trial->n_params = trial->n_turns = trial->n_metrics = 0;
    trial->params = trial->metrics = NULL;
    trial->turns = NULL;
    size_t most = notes ? count(notes, '=') : 0; /* a setting needs a `=` */
    if (!most)
        return LINEAGE_OK;
    struct notes_builder b = {.trial = trial, .arena = arena};
    b.params = arena_alloc(arena, most, sizeof *b.params);
    b.turns = arena_alloc(arena, count(notes, ';') + 1, sizeof *b.turns);
    bool measured = strstr(notes, "metrics") != NULL; /* most notes have none, and cost no array for it */
    b.metrics = measured ? arena_alloc(arena, most, sizeof *b.metrics) : b.params;
    b.failed = !b.params || !b.turns || !b.metrics;
    for (const char *piece = notes; !b.failed; piece++) {
        size_t length = strcspn(piece, ";");
        parse_piece(&b, (struct span){piece, length});
        piece += length;
        if (!*piece)
            break;
    }
    if (b.failed || !keep_last(&b, b.params, b.n_params, &trial->params, &trial->n_params) ||
        (measured && !keep_last(&b, b.metrics, b.n_metrics, &trial->metrics, &trial->n_metrics)) || !keep_turns(&b))
        return store_no_memory(err);
    return LINEAGE_OK;
}

/* Whether a piece consists entirely of settings or statistics. A piece that is half settings, half words is shown
 * whole, because cutting it would leave half a sentence. */
static bool is_parsed_whole(struct span s)
{
    struct span name, measured = s;
    double value;
    if (begins_with(&measured, "metrics") && is_metrics(measured))
        return true;
    bool any = false, listed = !begins_with(&s, "ig_clip_scale") && !begins_with(&s, "info_gain");
    while (take_setting(&s, &name, &value)) {
        any = true;
        s = skip_blanks(s);
        if (listed && s.length && s.text[0] == ',')
            s = skip_blanks(skip(s, 1));
    }
    return (any && !s.length) || (listed && is_all_text(s));
}

/* Whether the piece is a key of what ran, which means nothing to a person. */
static bool is_key(struct span s, const char *word)
{
    const size_t n = strlen(word);
    return s.length == n + 16 && memcmp(s.text, word, n) == 0 && strspn(s.text + n, "0123456789abcdef") >= 16;
}

/* A piece as text that ends with NUL, for the parsers of whole notes. False if it is longer than any piece of theirs. */
static bool copy_piece(char *out, size_t size, struct span s)
{
    if (s.length >= size)
        return false;
    memcpy(out, s.text, s.length);
    out[s.length] = '\0';
    return true;
}

/* Whether the piece names the code of the trial, which printers show as a change. */
static bool is_code(struct span s)
{
    struct lineage_code_note note;
    struct lineage_commit_note commit;
    char piece[LINEAGE_CODE_NOTE_MAX];
    return copy_piece(piece, sizeof piece, s) &&
           (lineage_code_note_parse(&note, piece) || lineage_commit_note_parse(&commit, piece));
}

/* Whether the piece is what a night or `append --status auto` writes in every row: the trial's name and key, the reason of
 * a discard (which the delta states as well), and what a parent without a snapshot passes on. */
static bool is_routine(struct span s)
{
    static const char *const parents[] = {
        "the parent was not kept, it has no snapshot to go on from",
        "the parent was not kept, it has no snapshot to go on from, but its files",
    };
    struct lineage_night_link link;
    char piece[LINEAGE_NIGHT_LINK_MAX + 64];
    if (!copy_piece(piece, sizeof piece, s))
        return false;
    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++)
        if (strcmp(piece, parents[i]) == 0)
            return true;
    if ((s.length && shortfall_note_length(piece) == s.length) || lineage_notes_cause(piece) ||
        strncmp(piece, LINEAGE_SAME_SETTING, strlen(LINEAGE_SAME_SETTING)) == 0)
        return true;
    return strncmp(piece, "night ", 6) == 0 && lineage_night_link_parse(&link, piece);
}

/* `score by METRIC lines, peak memory 14 MB`: the words about the score are the same in all rows, but the rest is not. */
static struct span without_channel(struct span s)
{
    static const char *const channels[] = {"score by the only METRIC name", "score by a name that was asked for",
                                           "score by METRIC lines", "score by a pattern", "score by events"};
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        size_t n = strlen(channels[i]);
        if (s.length == n && memcmp(s.text, channels[i], n) == 0)
            return skip(s, n);
        if (s.length > n + 1 && memcmp(s.text, channels[i], n) == 0 && s.text[n] == ',')
            return skip_blanks(skip(s, n + 1));
    }
    return s;
}

/* Printers show parameters in columns and the remark beside them, without repeating them. */
const char *notes_remark(const char *notes, struct arena *arena)
{
    SCOPED_BUF out = {0};
    for (const char *piece = notes ? notes : ""; *piece;) {
        size_t length = strcspn(piece, ";");
        struct span s = without_channel(trim((struct span){piece, length}));
        if (s.length && !is_parsed_whole(s) && !is_code(s) && !is_key(s, "program ") && !is_key(s, LINEAGE_RAN) &&
            !is_routine(s)) {
            buf_puts(&out, out.length ? "; " : "");
            buf_add(&out, s.text, s.length);
        }
        piece += length + (piece[length] == ';');
    }
    const char *remark = out.failed ? NULL : arena_text(arena, out.data ? out.data : "", out.length);
    return remark;
}

enum lineage_status lineage_notes_parse(struct lineage_trial *trial, const char *notes, struct lineage_error *err)
{
    struct arena *arena = trial_memory(trial);
    if (!arena)
        return store_no_memory(err);
    return notes_parse(trial, notes, arena, err);
}

const char *lineage_param_text_format(char out[LINEAGE_PARAM_QUOTED_MAX], const char *text)
{
    size_t length = strlen(text), n = 0;
    if (word_length((struct span){text, length}) == length) {
        memcpy(out, text, length + 1);
        return out;
    }
    out[n++] = '\'';
    for (size_t i = 0; i < length && i < LINEAGE_PARAM_TEXT_MAX; i++) {
        if (text[i] == '\'')
            out[n++] = '\'';
        out[n++] = text[i];
    }
    out[n++] = '\'';
    out[n] = '\0';
    return out;
}

static bool begins_number(const char *text)
{
    return strchr("0123456789+-:", *text) || (*text == '.' && text[1] && strchr("0123456789:", text[1]));
}

/* Length of an integer in the range where a double does not hold each of them, with the blanks around it, up to the end or a comma; 0 if
 * there is none. *digits becomes its digits without zeros in front. Two such seeds would be one number. One that a double holds is a text
 * there, too, because a column of seeds is of one kind. */
static size_t wide_length(const char *text, struct span *digits)
{
    struct span s = skip_blanks((struct span){text, strlen(text)});
    s = skip(s, s.length && strchr("+-", *s.text));
    s = skip(s, strspn(s.text, "0"));
    *digits = (struct span){s.text, strspn(s.text, "0123456789")};
    bool wide = digits->length > 16 || (digits->length == 16 && memcmp(s.text, "9007199254740992", 16) >= 0);
    s = skip_blanks(skip(s, digits->length));
    return wide && (!s.length || *s.text == ',') ? (size_t)(s.text - text) : 0;
}

/* One integer has one text: without a plus, blanks and zeros in front. Returns its length, 0 if it has none or is too long. */
static size_t take_wide(char out[LINEAGE_PARAM_TEXT_MAX + 1], const char *text)
{
    struct span digits;
    size_t n = wide_length(text, &digits);
    bool negative = n && memchr(text, '-', (size_t)(digits.text - text));
    if (!n || digits.length + negative > LINEAGE_PARAM_TEXT_MAX)
        return 0;
    snprintf(out, LINEAGE_PARAM_TEXT_MAX + 1, "%s%.*s", negative ? "-" : "", (int)digits.length, digits.text);
    return n;
}

/* A word that begins like a number but is not one is a typing error, not a text. */
bool lineage_param_is_text(const char *text)
{
    double number;
    struct span digits;
    return wide_length(text, &digits) ||
           (!begins_number(text) && *text != ' ' && !lineage_number_parse(&number, text, strcspn(text, ",")));
}

/* The bytes of a list or an object at the start, up to the bracket that closes it; 0 if none is closed there. */
static size_t bracketed_length(struct span s)
{
    size_t depth = 0;
    char quote = '\0';
    for (size_t n = 0; n < s.length; n++) {
        const char c = s.text[n];
        if (quote || c == '"' || c == '\'')
            quote = !quote ? c : quote == c ? '\0' : quote;
        else
            depth += strchr("[({", c) ? 1 : 0, depth -= strchr("])}", c) ? 1 : 0;
        if (!depth) { /* (q|v)_proj is a word */
            const struct span rest = skip_blanks(skip(s, n + 1));
            return !n || (rest.length && rest.text[0] != ',') ? 0 : n + 1;
        }
    }
    return 0;
}

/* A list that a user types is not prose: between its commas, any text counts that does not begin like a number. */
bool lineage_param_text_next(char out[LINEAGE_PARAM_TEXT_MAX + 1], const char **text)
{
    struct span s = skip_blanks((struct span){*text, strlen(*text)});
    size_t n = quoted_length(s, out);
    if (!n)
        n = take_wide(out, s.text);
    if (!n && s.length && s.text[0] != '\'' && !begins_number(s.text)) {
        const size_t list = bracketed_length(s), word = strcspn(s.text, ",");
        n = list > word ? list : word;
        if (n > LINEAGE_PARAM_TEXT_MAX)
            return false;
        memcpy(out, s.text, n);
        out[n] = '\0';
    }
    if (!n || !lineage_param_text_ok(out))
        return false;
    s = skip_blanks(skip(s, n));
    if (s.length && (s.text[0] != ',' || s.length == 1))
        return false;
    *text = s.length ? s.text + 1 : s.text;
    return true;
}
