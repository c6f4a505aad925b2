/* metric_scan.c: scans a line in one pass. At each word boundary it tries the names; the longest match wins. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "metrics/metric_scan.h"

#include <pcre2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <lineage/text.h>

static const char keyword[] = "METRIC";

/*
 * Limit of the backtracking steps of one pattern on one line. A pattern such as (a+)+b would need years for a line of a
 * few dozen letters; a useful pattern needs a few hundred steps.
 */
enum { MATCH_LIMIT = 100000 };

struct metric_pattern {
    char *name;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Bytes above 0x7f count as separators: they mostly draw progress bars. */
static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/*
 * Whether the character joins a name to its neighbour: `eval/loss`, `model.loss` and `--loss` are not the name `loss`.
 */
static bool joins(char c)
{
    return is_word(c) || c == '/' || c == '.' || c == '-';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Maps characters that count as equal in a name to one character. */
static char folded(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c - 'A' + 'a');
    return c == '_' || c == '-' ? ' ' : c;
}

static size_t skip_blanks(const char *line, size_t at, size_t length)
{
    while (at < length && is_blank(line[at]))
        at++;
    return at;
}

/* Returns the length in bytes of the number at text; 0 if there is no number. */
static size_t number_length(const char *text, size_t length)
{
    static const char *const words[] = {"infinity", "inf", "nan"};
    size_t n = length && (*text == '-' || *text == '+'), digits = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t k = strlen(words[i]), same = 0;
        while (same < k && n + same < length && folded(text[n + same]) == words[i][same])
            same++;
        if (same == k)
            return n + k;
    }
    for (; n < length && is_digit(text[n]); n++)
        digits++;
    if (n < length && text[n] == '.')
        for (n++; n < length && is_digit(text[n]); n++)
            digits++;
    if (!digits)
        return 0;
    const bool single = n < length && text[n] == 'f' && memchr(text, '.', n); /* 2.5f-1, as Julia prints single precision */
    if (n < length && (text[n] == 'e' || text[n] == 'E' || single)) {
        size_t e = n + 1;
        e += e < length && (text[e] == '-' || text[e] == '+');
        if (e < length && is_digit(text[e]))
            for (n = e; n < length && is_digit(text[n]); n++)
                ;
    }
    return n;
}

static bool begins_with(const char *line, size_t at, size_t length, const char *word)
{
    size_t n = strlen(word);
    return at <= length && length - at >= n && memcmp(line + at, word, n) == 0;
}

size_t metric_scan_border(const char *text, size_t length)
{
    static const char *const borders[] = {"|", "│", "┃", "║", "┆"};
    for (size_t i = 0; i < sizeof borders / sizeof *borders; i++)
        if (begins_with(text, 0, length, borders[i]))
            return strlen(borders[i]);
    return 0;
}

/* Whether the text goes on with digits: n of them, and then neither another digit nor a letter. */
static bool is_group(const char *line, size_t at, size_t length, size_t n)
{
    size_t digits = 0;
    while (at + digits < length && is_digit(line[at + digits]))
        digits++;
    char next = at + digits < length ? line[at + digits] : ' ';
    return digits == n && !is_word(next) && next != '%' && next != '/' && next != ':' && next != '|';
}

/* Whether a blank or a mark at `end` separates thousands: 1 234.5, 1'234.5, or with a blank of Unicode. */
static bool is_grouped(const char *line, size_t at, size_t end, size_t length)
{
    static const char *const marks[] = {" ", "'", "’", "\u00a0", "\u2009", "\u202f"};
    size_t digits = end - at - (line[at] == '-' || line[at] == '+');
    for (size_t i = 0; digits <= 3 && i < sizeof marks / sizeof *marks; i++)
        if (begins_with(line, end, length, marks[i]) && is_group(line, end + strlen(marks[i]), length, 3))
            return !memchr(line + at, '.', end - at);
    return false;
}

/* Whether the number ends a fraction's numerator: 45/60, 45 / 60, 45 of 60, 45 out of 60. */
static bool is_fraction(const char *line, size_t end, size_t length)
{
    static const char *const words[] = {"/", "of ", "out of "};
    size_t at = skip_blanks(line, end, length);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (begins_with(line, at, length, words[i]) && (i == 0 || at > end)) {
            at = skip_blanks(line, at + strlen(words[i]), length);
            return at < length && is_digit(line[at]);
        }
    return false;
}

/* Whether the name that ends here, in front of `: 50%` or `: 3`, is one that progress bars have. */
static bool is_of_bar(const char *line, size_t end)
{
    static const char *const names[] = {"train", "training", "val",   "validation", "validating", "test",    "testing", "eval",
                                        "it",    "progress", "epoch", "step",       "eta",        "elapsed", "time",    "done"};
    while (end > 0 && (is_blank(line[end - 1]) || line[end - 1] == ':' || line[end - 1] == '='))
        end--;
    size_t begin = end;
    while (begin > 0 && is_word(line[begin - 1]))
        begin--;
    bool is = begin == end;
    for (size_t i = 0; !is && i < sizeof names / sizeof *names; i++)
        is = strlen(names[i]) == end - begin && strncasecmp(line + begin, names[i], end - begin) == 0;
    return is;
}

/*
 * Whether the percentage between `at` and `end` belongs to a progress bar: a border or a character that draws follows. In
 * `acc: 91% | loss: 0.3` and at the edge of a box, the border has blanks around it, and another number with its name, or
 * nothing, behind it.
 */
static bool is_bar(const char *line, size_t at, size_t end, size_t length)
{
    const size_t mark = skip_blanks(line, end, length), border = metric_scan_border(line + mark, length - mark);
    if (border && mark > end && !is_of_bar(line, at)) {
        size_t name = skip_blanks(line, mark + border, length);
        const bool edge = name == length, apart = !edge && name > mark + border && !is_digit(line[name]);
        while (name < length && (is_word(line[name]) || is_blank(line[name])))
            name++;
        const size_t first = edge ? skip_blanks(line, 0, length) : 0, value = skip_blanks(line, name + 1, length);
        if (edge ? metric_scan_border(line + first, length - first) > 0
                 : apart && value < length && memchr(":=", line[name], 2) && number_length(line + value, length - value) &&
                       !is_of_bar(line, name))
            return false;
    }
    return border || begins_with(line, mark, length, "\xe2\x94") || begins_with(line, mark, length, "\xe2\x95") ||
           begins_with(line, mark, length, "\xe2\x96"); /* U+2500 to U+25BF */
}

/*
 * Finds the unit behind a number, and moves *end behind it. After a blank, only the units that measured times have, because
 * `min` may be a statistic.
 */
static const char *find_unit(const char *line, size_t *end, size_t length)
{
    static const struct {
        const char *text, *unit;
        bool apart; /* also after a blank */
    } units[] = {{"ns", "ns", true}, {"us", "us", true}, {"µs", "us", true},    {"μs", "us", true}, {"ms", "ms", true},
                 {"s", "s", true},   {"sec", "s", true}, {"min", "min", false}, {"h", "h", false}};
    size_t blanks = skip_blanks(line, *end, length) - *end;
    if (begins_with(line, *end, length, "%"))
        return ++*end, "%";
    for (size_t i = 0; blanks <= 1 && i < sizeof units / sizeof *units; i++) {
        size_t after = *end + blanks + strlen(units[i].text);
        if ((units[i].apart || !blanks) && begins_with(line, *end + blanks, length, units[i].text) &&
            (after == length || !is_word(line[after]))) {
            *end = after;
            return units[i].unit;
        }
    }
    return "";
}

static bool parse(double *value, const char *text, size_t n)
{
    const char *single = memchr(text, 'f', n);
    char copy[64];
    if (!single || n >= sizeof copy || memchr("nN", single[-1 + (single == text)], 2))
        return lineage_number_parse(value, text, n);
    memcpy(copy, text, n);
    copy[single - text] = 'e';
    return lineage_number_parse(value, copy, n);
}

/*
 * Reads the number at line[at]. Returns false if there is none, or if the number is only the beginning of something
 * else, such as a version (3.2.1), a size (12GB) or a date (2026-11-22). *end is where the number and its unit end.
 */
static bool read_number(struct metric_found *found, const char *line, size_t at, size_t length, size_t *end)
{
    size_t n = number_length(line + at, length - at);
    if (n == 0)
        return false;
    *end = at + n;
    found->at = at;
    found->length = n;
    found->problem = METRIC_READ;
    found->unit = find_unit(line, end, length);
    if (*found->unit == '%' && (is_bar(line, at, *end, length) || metric_scan_is_level(line, at, length)))
        return false;
    if (!*found->unit && *end < length &&
        (is_word(line[*end]) ||
         (*end + 1 < length && is_digit(line[*end + 1]) && (line[*end] == '.' || line[*end] == '-' || line[*end] == ':'))))
        return false;
    if (*end + 1 < length && line[*end] == ',' && is_digit(line[*end + 1]) && !memchr(line + at, '.', n)) {
        while (*end < length && (is_digit(line[*end]) || line[*end] == ',' || line[*end] == '.'))
            ++*end;
        found->length = *end - at;
        found->problem = METRIC_COMMA;
        return true;
    }
    if (is_fraction(line, *end, length))
        found->problem = METRIC_FRACTION;
    else if (is_grouped(line, at, at + n, length))
        found->problem = METRIC_GROUPED;
    return parse(&found->value, line + at, n); /* of a fraction, too: the step of `step 20/100` is 20 */
}

size_t metric_scan_call(const char *line, size_t at, size_t length)
{
    size_t call = at;
    while (call < length && (is_word(line[call]) || line[call] == '.'))
        call++;
    if (call == at || call == length || line[call] != '(' || is_digit(line[at]))
        return at;
    size_t count = ++call; /* Float32Array(1) [ 0.25 ] of JavaScript: the number of elements, and then these */
    while (count < length && is_digit(line[count]))
        count++;
    if (count > call && count < length && line[count] == ')') {
        count = skip_blanks(line, count + 1, length);
        return count < length && line[count] == '[' ? count : call;
    }
    return call;
}

/*
 * Reads the list whose '[' or '(' is at line[at]. A list of one number is that number. Three numbers with units are an
 * interval around the one in the middle, as criterion prints it. Any other list of numbers is a problem.
 */
static bool read_list(struct metric_found *found, const char *line, size_t at, size_t length, size_t *end)
{
    struct metric_found number = *found, middle = *found;
    size_t n = 0, with_unit = 0;
    double last = 0;
    char close = line[at] == '[' ? ']' : ')';
    for (*end = skip_blanks(line, at + 1, length); *end < length && line[*end] != close;) {
        const size_t value = metric_scan_call(line, *end, length);
        const bool called = value > *end && line[value - 1] == '(';
        if (!read_number(&number, line, value, length, end) || (called && (*end == length || line[(*end)++] != ')')))
            return false;
        if (++n <= 2)
            middle = number;
        if (n == 1)
            *found = number;
        last = number.value;
        with_unit += *number.unit != '\0';
        while (*end < length && (is_blank(line[*end]) || line[*end] == ','))
            ++*end;
    }
    if (n == 0 || *end == length)
        return false;
    ++*end;
    if (n == 3 && with_unit == 3)
        *found = middle;
    else if (n > 1)
        found->problem = METRIC_SEVERAL, found->value = last;
    return true;
}

/* The place behind the rest of a fraction, where its quotient may be: digits, points, blanks and a slash. */
static size_t skip_denominator(const char *line, size_t at, size_t length)
{
    while (at < length && (is_digit(line[at]) || is_blank(line[at]) || line[at] == '/' || line[at] == '.'))
        at++;
    return at;
}

/*
 * Whether the number is the quotient of the fraction whose numerator ends at `end`, as precisely as it is written. *quotient is then
 * the fraction. A whole number without % is none: 45/60 (1) may count anything.
 */
static bool is_quotient(double *quotient, const struct metric_found *number, double numerator, const char *line, size_t end,
                        size_t length)
{
    struct metric_found below = {.unit = ""};
    const char *slash = memchr(line + end, '/', length - end);
    size_t at = slash ? skip_blanks(line, (size_t)(slash - line) + 1, length) : length;
    if (at == length || !read_number(&below, line, at, length, &at) || below.problem || !(below.value > 0))
        return false;
    double unit = 1;
    const char *point = memchr(line + number->at, '.', number->length);
    for (const char *c = point ? point + 1 : NULL; c && c < line + number->at + number->length; c++)
        unit /= 10;
    if (*number->unit != '%' && (*number->unit || unit == 1))
        return false;
    *quotient = numerator / below.value;
    const double shown = *quotient * (*number->unit == '%' ? 100 : 1);
    return number->value - shown < 1.001 * unit && shown - number->value < 1.001 * unit;
}

/*
 * Reads a fraction whose quotient is behind it, which must say the same: `2590/10042 = 0.2579` as it is written, and a rounded one,
 * `3 / 4 (75.0%)` or `3/4 = 75%`, as 0.75.
 */
static void read_quotient(struct metric_found *found, const char *line, size_t end, size_t length)
{
    struct metric_found quotient = *found;
    const double numerator = found->value;
    double exact = 0;
    const size_t sign = skip_denominator(line, end, length);
    size_t after;
    if (sign == length || (line[sign] != '=' && line[sign] != '(') ||
        !read_number(&quotient, line, skip_blanks(line, sign + 1, length), length, &after) || quotient.problem)
        return;
    const bool equals = line[sign] == '=';
    if ((!equals && (after == length || line[after] != ')')) || !is_quotient(&exact, &quotient, numerator, line, end, length))
        return;
    if (equals && !*quotient.unit) {
        *found = quotient;
        return;
    }
    found->value = exact;
    found->problem = METRIC_READ;
    found->length = after - found->at;
}

/* Whether a second number with the same claim follows: in brackets, or in the next cell of a table. */
static bool is_doubtful(const char *line, size_t end, size_t length)
{
    size_t at = skip_blanks(line, end, length), border = metric_scan_border(line + at, length - at), n;
    if (at == end && !border)
        return false;
    if (border)
        at = skip_blanks(line, at + border, length);
    else if (at == length || line[at++] != '(')
        return false;
    at = skip_blanks(line, at, length); /* `75.000 ( 71.200)` of timm */
    n = number_length(line + at, length - at);
    at = skip_blanks(line, at + n, length);
    return n && at < length && (border ? metric_scan_border(line + at, length - at) > 0 : line[at] == ')');
}

/*
 * Moves over the `[1]` in front of a value that R prints: `acc: [1] 0.25`. More than one value is a list. Returns false if a word
 * follows, which is the value then: `[1] TRUE`.
 */
static bool skip_index(struct metric_found *found, const char *line, size_t *at, size_t length)
{
    size_t value = skip_blanks(line, *at + 3, length), end;
    if (!begins_with(line, *at, length, "[1]") || value == *at + 3 || value == length)
        return true;
    if (!read_number(found, line, value, length, &end))
        return !is_word(line[value]) && line[value] != '"';
    *at = value;
    end = skip_blanks(line, end, length);
    if (end < length && number_length(line + end, length - end) > 0)
        found->problem = METRIC_SEVERAL;
    return true;
}

/*
 * Looks at a comma and digits behind the number, which may belong to it: 1.234,5 is 1234.5 in half of the world, and 0.5,0.4,0.3 is a
 * list. `0.512,12.3s` and `0.9,1 of 3` have another value behind the comma.
 */
static void check_comma(struct metric_found *found, const char *line, size_t end, size_t length)
{
    struct metric_found next = {.unit = ""};
    size_t after;
    if (*found->unit || end + 1 >= length || line[end] != ',' || !is_digit(line[end + 1]) ||
        !read_number(&next, line, end + 1, length, &after) || *next.unit || next.problem == METRIC_FRACTION ||
        (after < length && line[after] == '/'))
        return;
    const char *point = memchr(line + found->at, '.', found->length);
    const bool thousands = point && line + end - point == 4 && !memchr(line + next.at, '.', next.length);
    const bool goes_on = next.problem == METRIC_COMMA || (after + 1 < length && line[after] == ',' && is_digit(line[after + 1]));
    if (thousands || goes_on)
        found->problem = METRIC_COMMA;
    else
        found->doubtful = true;
}

bool metric_scan_is_level(const char *line, size_t at, size_t length)
{
    static const char *const levels[] = {"90%", "95%", "99%"}, *const words[] = {" CI", " confidence interval",
                                                                                 " confidence level"};
    size_t before = at;
    while (before > 0 && is_blank(line[before - 1]))
        before--;
    if (before > 0 && strchr(":=", line[before - 1])) /* `acc: 95% CI 94-96` */
        return false;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            const size_t word = at + strlen(levels[i]), end = word + strlen(words[k]);
            if (begins_with(line, at, length, levels[i]) && begins_with(line, word, length, words[k]) &&
                (end == length || !is_word(line[end])))
                return true;
        }
    return false;
}

bool metric_scan_is_real(const char *number, size_t n)
{
    return memchr(number, '.', n) || memchr(number, 'e', n) || memchr(number, 'E', n);
}

bool metric_scan_value(struct metric_found *found, const char *line, size_t at, size_t length)
{
    size_t end;
    if (!skip_index(found, line, &at, length))
        return false;
    const enum metric_problem several = found->problem;
    char quote = at < length && (line[at] == '\'' || line[at] == '"') ? line[at] : '\0';
    if (quote)
        return read_number(found, line, at + 1, length, &end) && end < length && line[end] == quote;
    if (at < length && (line[at] == '[' || line[at] == '('))
        return read_list(found, line, at, length, &end);
    if (!read_number(found, line, at, length, &end))
        return false;
    if (end + 1 < length && line[end] == '=' && is_digit(line[end + 1])) /* a name of the next: `lat (msec) : 10=0.1%` of fio */
        return false;
    if (found->problem == METRIC_FRACTION)
        read_quotient(found, line, end, length);
    found->problem = several == METRIC_SEVERAL ? several : found->problem;
    found->doubtful = is_doubtful(line, end, length);
    check_comma(found, line, end, length);
    return true;
}

/* ---- names ---- */

enum { CUT_BYTES = 8 }; /* of a name that was cut off, at least this much must be left */

size_t metric_scan_match(const char *name, const char *text, size_t length, bool *cut)
{
    size_t n = 0;
    *cut = false;
    for (; *name && n < length && folded(text[n]) == folded(*name); name++, n++)
        while (*name == ' ' && n + 1 < length && text[n] == ' ' && text[n + 1] == ' ') /* `final  value` of R is `final value` */
            n++;
    if (!*name)
        return n;
    if (n < CUT_BYTES)
        return 0;
    *cut = begins_with(text, n, length, "…") || begins_with(text, n, length, "...");
    return *cut ? n + 3 : 0; /* both marks have three bytes */
}

/* Returns the length in bytes of the name at line[at]; 0 if the name is not there or a joining character follows it. */
static size_t match_name(const char *name, const char *line, size_t at, size_t length, bool *cut)
{
    size_t n = metric_scan_match(name, line + at, length - at, cut);
    return n && !*cut && at + n < length && joins(line[at + n]) ? 0 : n;
}

/* Returns the index of the longest name that occurs at line[at], or n_names. */
static size_t longest_name(const struct metric_query *query, const char *line, size_t at, size_t length, size_t *bytes, bool *cut)
{
    size_t best = query->n_names;
    *bytes = 0;
    *cut = false;
    for (size_t i = 0; i < query->n_names; i++) {
        bool is_cut;
        size_t n = match_name(query->names[i], line, at, length, &is_cut);
        if (n > *bytes) {
            *bytes = n;
            *cut = is_cut;
            best = i;
        }
    }
    return best;
}

/* What is between a name and its number is shorter. Each place of a line is searched so far, and the whole line would be too much. */
enum { REMARK_BYTES = 200, PHRASE_BYTES = 80 };

/*
 * Moves over `(mean ± σ)`, over `+- std dev` of pyperf, over `[4]` values or `[96-100]`, and over the condition that COCO's tools
 * write, `(AP) @[ IoU=0.50:0.95 ]`, between a name and its separator; a remark without a separator behind it stays.
 */
static size_t skip_remark(struct metric_found *found, const char *line, size_t at, size_t length)
{
    const bool counts = at < length && line[at] == '[', remark = at < length && line[at] == '(';
    const size_t most = length - at > REMARK_BYTES ? at + REMARK_BYTES : length;
    const bool spread = begins_with(line, at, most, "+- ") && at + 3 < most && (line[at + 3] | 32) >= 'a';
    size_t end = at + (spread ? 3 : counts);
    while ((counts || remark) && end < most && (counts ? is_word(line[end]) || line[end] == '-' : line[end] != ')'))
        end++;
    const bool remarks = end < most && (counts ? line[end] == ']' : remark);
    while (spread && end < most && (line[end] == ' ' || ((line[end] | 32) >= 'a' && (line[end] | 32) <= 'z')))
        end++;
    size_t after = skip_blanks(line, remarks ? end + 1 : spread ? end : at, length);
    if (begins_with(line, after, length, "@[")) {
        const char *close = memchr(line + after, ']', length - after);
        found->condition = line + after;
        found->condition_length = close ? (size_t)(close - line) - after : 0;
        after = close ? skip_blanks(line, (size_t)(close - line) + 1, length) : after;
    }
    return after < length && (line[after] == ':' || line[after] == '=') ? after : at;
}

/* Whether a name with its number follows: `acc: 0.9`, `top 5 = 0.9`, `acc is 0.9` in the end or before another one. */
static bool names_another(const char *line, size_t at, size_t length)
{
    const size_t from = at = skip_blanks(line, at, length);
    bool verb = false;
    while (at < length && (joins(line[at]) || is_blank(line[at])) && !verb)
        verb = at++ > from && (begins_with(line, at, length, "is ") || begins_with(line, at, length, "was ")) &&
               is_blank(line[at - 1]);
    if (at == from || (!verb && (at == length || (line[at] != ':' && line[at] != '='))))
        return false;
    at = skip_blanks(line, at + (!verb ? 1 : line[at] == 'i' ? 2 : 3), length);
    const size_t n = number_length(line + at, length - at), next = skip_blanks(line, at + n, length);
    return n && (!verb || next == length || strchr(",;.)", line[next]) || begins_with(line, next, length, "and "));
}

/* Whether the sentence says no more about the number that ends here: `loss is 0.5 lower` and `loss was 0.4% worse` do. */
static bool ends_clause(const char *line, size_t end, size_t length)
{
    while (end + 1 < length && line[end] == ',' && is_digit(line[end + 1])) /* which metric_scan_value refuses */
        for (end++; end < length && (is_digit(line[end]) || line[end] == '.'); end++)
            ;
    const bool percent = end < length && line[end] == '%';
    size_t after = end + percent;
    if (!percent)
        find_unit(line, &after, length);
    const size_t next = skip_blanks(line, after, length);
    if (next == length || (line[after] == '.' && skip_blanks(line, after + 1, length) == length))
        return true;
    return !percent && (strchr(")]}\"'|", line[next]) ||
                        ((line[next] == ',' || line[next] == ';') && names_another(line, next + 1, length)) ||
                        (next > after && begins_with(line, next, length, "and ") && names_another(line, next + 4, length)));
}

/* Moves over the first word at line[at] that is one of those, and the blanks behind it; line[at] if there is none. */
static size_t skip_word(const char *line, size_t at, size_t length, const char *const *words)
{
    for (; *words; words++) {
        const size_t after = at + strlen(*words);
        if (begins_with(line, at, length, *words) && after < length && is_blank(line[after]))
            return skip_blanks(line, after, length);
    }
    return at;
}

/* Moves over Lightning's `improved by 0.1 >= min_delta = 0.0. New best score: `, of which the numbers may be missing. */
static size_t skip_best(const char *line, size_t at, size_t length)
{
    static const char *const parts[] = {"improved", " by ", " >= min_delta = ", ". New best score: "};
    size_t end = at;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (i == 1 && !begins_with(line, end, length, parts[i]))
            i = 3;
        if (!begins_with(line, end, length, parts[i]))
            return at;
        end += strlen(parts[i]);
        if (i == 1 || i == 2)
            end += number_length(line + end, length - end);
        end -= i == 2 && line[end - 1] == '.'; /* `= 0. New` */
    }
    return end;
}

/*
 * Moves over the words of a sentence between a name and its number, if the number ends its clause or if `any` number will do:
 *
 *     loss is 0.5                             or was; behind `is:` whatever follows
 *     'val_loss' reached 0.5 (best 0.4)       of Lightning
 *     val_loss improved from 0.6 to 0.5       of Keras; also `improved to 0.5`
 *     val_loss improved by 0.1 >= min_delta = 0.0. New best score: 0.5
 */
static size_t skip_verb(struct metric_found *found, const char *line, size_t at, size_t length, bool any)
{
    static const char *const to_be[] = {"is", "was", NULL}, *const is_so[] = {"is:", "was:", NULL},
                             *const reach[] = {"reached", NULL}, *const improve[] = {"improved", NULL},
                             *const to[] = {"to", NULL}, *const from[] = {"from", NULL};
    size_t number = skip_word(line, at, length, is_so), begin = number;
    const bool colon = number > at;
    bool certain = colon;
    if (!colon && (number = skip_word(line, at, length, to_be)) == at && (number = skip_word(line, at, length, reach)) == at) {
        begin = skip_word(line, at, length, improve);
        number = begin > at ? skip_word(line, begin, length, to) : at;
        if (number == begin && begin > at && (begin = skip_word(line, begin, length, from)) > number) {
            while (begin < length && !is_blank(line[begin])) /* what it was before, which may be `None` */
                begin++;
            begin = skip_blanks(line, begin, length);
            number = skip_word(line, begin, length, to);
            certain = number > begin;
            number = certain ? number : at;
        } else if (number == begin || number == at) {
            number = skip_best(line, at, length);
            certain = number > at;
        }
    }
    const size_t n = number_length(line + number, length - number), next = skip_blanks(line, number + n, length);
    if (number == at || !n ||
        !(any || certain || ends_clause(line, number + n, length) || begins_with(line, next, length, "(best ")))
        return at;
    found->by_verb = !colon;
    return number;
}

/*
 * Whether a phrase may have this word: nothing but the network, the data of the evaluation and the step, because of `accuracy of the
 * baseline: 0.5` and `loss of precision: 0.5` the number is another one. A number may be in front of what it counts, or behind the name
 * of the step; *open: what it counts must follow. *number: it may come next.
 */
static bool is_of_phrase(const char *word, size_t n, bool *number, bool *open)
{
    static const struct {
        const char *text;
        bool number, ends; /* a number may follow, and may be the last word */
    } words[] = {{"of", false, false},         {"on", true, false},       {"after", true, false},   {"at", false, false},
                 {"in", false, false},         {"for", false, false},     {"the", true, false},     {"epoch", true, true},
                 {"step", true, true},         {"iteration", true, true}, {"epochs", false, false}, {"steps", false, false},
                 {"iterations", false, false}, {"network", false, false}, {"model", false, false},  {"test", false, false},
                 {"validation", false, false}, {"set", false, false},     {"data", false, false},   {"images", false, false},
                 {"samples", false, false},    {"examples", false, false}};
    size_t digits = 0, i = 0;
    while (digits < n && is_digit(word[digits]))
        digits++;
    if (digits == n) {
        const bool may = *number;
        *number = false;
        return may;
    }
    while (i < sizeof words / sizeof *words && (strlen(words[i].text) != n || strncasecmp(words[i].text, word, n) != 0))
        i++;
    if (i == sizeof words / sizeof *words)
        return false;
    *number = words[i].number;
    *open = words[i].number && !words[i].ends;
    return true;
}

/*
 * Moves over what a name is of, up to a colon, a `=` between blanks or a verb: `Accuracy of the network on the 10000 test images: 97.5 %`,
 * `KL divergence after 300 iterations: 0.91`, `Score at iteration 10 is 0.25`. The number has a point or a per cent sign and ends
 * its clause, because `best loss on epoch: 3` has no loss; behind `at` and the like only a verb will do (`accuracy at threshold: 0.5`).
 * If `any` number will do, so will any words.
 */
static size_t skip_phrase(struct metric_found *found, const char *line, size_t at, size_t length, bool any)
{
    static const char *const of[] = {"of", "on", "after", "over", NULL}, *const others[] = {"at", "in", "for", NULL};
    static const char *const verbs[] = {"is", "was", NULL};
    const bool by_colon = skip_word(line, at, length, of) > at;
    const size_t most = any ? REMARK_BYTES : PHRASE_BYTES, limit = length - at > most ? at + most : length;
    bool number_next = false, open = false;
    if (!by_colon && skip_word(line, at, length, others) == at)
        return at;
    for (size_t word = at, end; word < limit; word = skip_blanks(line, end, limit)) {
        size_t number = skip_word(line, word, length, verbs);
        const bool verb = number > word;
        for (end = word; end < limit && !is_blank(line[end]) && !strchr(":=,;.|()[]{}<>", line[end]);)
            end++;
        if (!verb && !any && end > word && !is_of_phrase(line + word, end - word, &number_next, &open))
            return at;
        if (!verb && end < limit && is_blank(line[end]))
            continue;
        const bool sign = end + 1 < length && is_blank(line[end + 1]) && (line[end] == ':' || (line[end] == '=' && end == word));
        if (!verb && !(sign && by_colon))
            return at;
        number = verb ? number : skip_blanks(line, end + 1, length);
        const size_t n = number_length(line + number, length - number), next = skip_blanks(line, number + n, length);
        if (any && verb && !n)
            continue;
        const bool percent = next < length && line[next] == '%';
        if (!n || (!any && (open || (!percent && !metric_scan_is_real(line + number, n)) ||
                            !ends_clause(line, percent ? next + 1 : number + n, length))))
            return at;
        found->by_verb = found->by_phrase = true;
        return number;
    }
    return at;
}

/* Moves over the cells of a table that hold only a symbol, for example an arrow. A dash stands for a missing number. */
static size_t skip_symbols(const char *line, size_t at, size_t length)
{
    for (;;) {
        size_t end = skip_blanks(line, at, length), from = end;
        while (end < length && (unsigned char)line[end] >= 0x80 && !metric_scan_border(line + end, length - end))
            end++;
        size_t border = skip_blanks(line, end, length), n = metric_scan_border(line + border, length - border);
        if (end == from || !n || begins_with(line, from, length, "–") || begins_with(line, from, length, "—"))
            return at;
        at = border + n;
    }
}

/* Moves over the signature that sacreBLEU puts behind a name: `BLEU|nrefs:1|tok:13a = 42.0`. */
static size_t skip_signature(const char *line, size_t at, size_t length)
{
    size_t end = at;
    while (end < length && end < at + REMARK_BYTES && !is_blank(line[end]))
        end++;
    return at < length && line[at] == '|' && memchr(line + at, ':', end - at) && begins_with(line, end, length, " = ") ? end : at;
}

/*
 * Moves from the end of a name to its value. A quote, a remark, a separator and the name of a constructor may be between
 * them. A phrase may be only if the name `begins` its sentence: of `expected accuracy of the model: 0.5` it does not.
 */
static size_t skip_separator(struct metric_found *found, const char *line, size_t at, size_t length, bool sentences, bool begins)
{
    static const char *const separators[] = {":=", "->", "=>", ":", "=", "→", NULL};
    if (at < length && strchr("\"'`", line[at]))
        at++;
    at = skip_signature(line, at, length);
    if (at < length && line[at] == ')' &&
        begins_with(line, at, length, ") @[")) /* the short name: `Average Precision  (AP) @[` */
        at++;
    const size_t blanks = skip_blanks(line, at, length);
    const bool apart = blanks > at;
    if (apart || (at + 1 < length && line[at] == '(' && is_digit(line[at + 1]))) { /* `loss(x)` is another name */
        const size_t after = skip_remark(found, line, blanks, length);
        if (!apart && after > at) { /* `mAP(0.50, 11point)`, of which there may be several */
            found->condition = line + at;
            found->condition_length = after - at;
        }
        at = after;
    }
    if (apart) {
        const size_t clause = at;
        at = skip_verb(found, line, clause, length, sentences);
        if (at == clause && (sentences || begins))
            at = skip_phrase(found, line, clause, length, sentences);
    }
    size_t border = metric_scan_border(line + at, length - at);
    for (const char *const *s = separators; !border && *s; s++)
        if (begins_with(line, at, length, *s)) {
            at += strlen(*s);
            break;
        }
    if (border)
        at = skip_symbols(line, at + border, length);
    at = skip_blanks(line, at, length);
    if (begins_with(line, at, length, "<tf.Tensor:")) { /* <tf.Tensor: shape=(), dtype=float32, numpy=0.25> */
        const char *number = memmem(line + at, length - at, "numpy=", 6);
        return number ? (size_t)(number - line) + 6 : at;
    }
    return metric_scan_call(line, at, length);
}

/* Whether nothing is in front of the name but what a log puts there, which ends with such a sign. */
static bool begins_sentence(const char *line, size_t at)
{
    while (at > 0 && is_blank(line[at - 1]))
        at--;
    return at == 0 || strchr("]:|>-", line[at - 1]);
}

/* Sets the word that is one blank in front of the name. Numbers, the levels of logs and words of a sentence are none. */
static void find_before(struct metric_found *found, const char *line, size_t at, size_t length)
{
    static const char *const others[] = {"INFO", "DEBUG", "WARNING", "WARN", "ERROR", "CRITICAL", "NOTICE",
                                         "the",  "a",     "an",      "and",  "with",  "has"};
    size_t end = at > 1 && line[at - 1] == ' ' ? at - 1 : 0, from = end - (end > 1 && line[end - 1] == '.');
    while (from > 0 && (is_word(line[from - 1]) || line[from - 1] == '-'))
        from--;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (end - from == strlen(others[i]) && begins_with(line, from, length, others[i]))
            return;
    if (from < end && !is_digit(line[from]) && is_word(line[from])) {
        found->before = line + from;
        found->before_length = end - from;
    }
}

/*
 * Reads the number of `0.913 = accuracy`, which begins its line, if the name ends it: `1 - 0.9 = loss` is the end of a sum, and `1 = loss`
 * explains a setting, unless `any` number will do. AutoGluon has a remark behind the name.
 */
static bool read_before(struct metric_found *found, const char *line, size_t at, size_t end, size_t length, bool any)
{
    size_t sign = at, close;
    while (sign > 0 && is_blank(line[sign - 1]))
        sign--;
    if (sign < 2 || line[--sign] != '=' || !is_blank(line[sign - 1]))
        return false;
    size_t number = sign, next = skip_blanks(line, end, length);
    while (number > 0 && is_blank(line[number - 1]))
        number--;
    while (number > 0 && !is_blank(line[number - 1]))
        number--;
    size_t before = number;
    while (before > 0 && is_blank(line[before - 1]))
        before--;
    if (next < length && line[next] == '(') {
        const char *bracket = memchr(line + next, ')', length - next);
        next = bracket ? skip_blanks(line, (size_t)(bracket - line) + 1, length) : next;
    }
    const bool begins = before == 0 || strchr(any ? ",;|:]" : "|]", line[before - 1]),
               ends = next == length || strchr(any ? ",;|." : "|", line[next]);
    found->by_verb = found->number_first = true;
    return begins && ends && read_number(found, line, number, length, &close) && skip_blanks(line, close, length) == sign &&
           (any || *found->unit == '%' || metric_scan_is_real(line + found->at, found->length));
}

/* ---- numbers in front of their names ---- */

static size_t skip_field(const char *line, size_t at, size_t length)
{
    while (at < length && !is_blank(line[at]) && line[at] != '\r')
        at++;
    return at;
}

/*
 * Returns where the first number with its unit begins if the whole line is a result of `go test -bench`, `BenchmarkA-2   500   2920 ns/op
 * 0.25 loss`: the benchmark, how often it ran, and numbers, each with its unit. Returns 0 if it is not. In lines of another form a number in
 * front of a name may be that of the name before it, `step   100 loss   0.25`.
 */
static size_t go_counts(const char *line, size_t length)
{
    const size_t label = skip_blanks(line, 0, length), times = skip_blanks(line, skip_field(line, label, length), length),
                 first = skip_field(line, times, length);
    if (!begins_with(line, label, length, "Benchmark") || first == times || first == length ||
        (line[label + 9] >= 'a' && line[label + 9] <= 'z')) /* `Benchmarking` */
        return 0;
    for (size_t at = times; at < first; at++)
        if (!is_digit(line[at]))
            return 0;
    size_t at = skip_blanks(line, first, length), n_pairs = 0;
    for (; at < length && line[at] != '\r'; n_pairs++) {
        const size_t end = skip_field(line, at, length), unit = skip_blanks(line, end, length);
        if (number_length(line + at, length - at) != end - at || unit == length || line[unit] == '\r' || is_digit(line[unit]))
            return 0;
        at = skip_blanks(line, skip_field(line, unit, length), length);
    }
    return n_pairs ? first : 0;
}

/* Reads the number in front of the unit at line[at..end). The benchmark in the first cell says what was measured. */
static bool read_counted(struct metric_found *found, const char *line, size_t at, size_t end, size_t length)
{
    size_t number = at, close;
    while (number > 0 && is_blank(line[number - 1]))
        number--;
    const bool apart = number < at;
    while (number > 0 && !is_blank(line[number - 1]))
        number--;
    if (!apart || skip_field(line, at, length) != end || !read_number(found, line, number, at, &close))
        return false;
    found->counted = true;
    found->condition = line + skip_blanks(line, 0, length);
    found->condition_length = skip_field(line, (size_t)(found->condition - line), length) - (size_t)(found->condition - line);
    return true;
}

size_t metric_scan_names(const struct metric_query *query, const char *line, size_t length, metric_found_fn *report,
                         void *context)
{
    size_t reported = 0;
    const size_t counts = query->n_names ? go_counts(line, length) : 0;
    /* In front of the counts is the benchmark, whose name may have a setting: BenchmarkA/loss=0.5-2. */
    for (size_t at = counts; at < length; at++) {
        size_t bytes;
        bool cut;
        if (at > 0 && joins(line[at - 1]))
            continue;
        size_t i = longest_name(query, line, at, length, &bytes, &cut);
        if (i == query->n_names)
            continue;
        struct metric_found found = {
            .name = query->names[i], .name_length = strlen(query->names[i]), .source = METRIC_BY_NAME, .unit = "", .cut = cut};
        size_t end = at + bytes;
        if (at > 1 && line[at - 2] == '(' && memchr("'\"", line[at - 1], 2) &&
            begins_with(line, end, length, (char[3]){line[at - 1], ','}))
            end += 2; /* ('average_loss', 0.2), as Python prints the items of a dictionary */
        if (counts) {
            if (read_counted(&found, line, at, end, length)) {
                report(context, &found);
                reported++;
            }
            at = end - 1;
            continue;
        }
        size_t number = skip_separator(&found, line, end, length, query->sentences, begins_sentence(line, at));
        find_before(&found, line, at, length);
        if (number > at + bytes && metric_scan_value(&found, line, number, length)) {
            report(context, &found);
            reported++;
            at = found.at + found.length - 1;
        } else if (read_before(&found, line, at, at + bytes, length, query->sentences)) {
            report(context, &found);
            reported++;
            at += bytes - 1;
        } else {
            at += bytes - 1; /* a shorter name inside this name would be misread */
        }
    }
    return reported;
}

/* Returns where the pairs after the keyword METRIC begin; length if the line lacks the keyword. */
static size_t find_keyword(const char *line, size_t length)
{
    const size_t n = sizeof keyword - 1;
    const char *at = line, *end = line + length;
    while ((at = memmem(at, (size_t)(end - at), keyword, n))) {
        if ((at == line || !joins(at[-1])) && at + n < end && is_blank(at[n]))
            return (size_t)(at - line) + n;
        at += n;
    }
    return length;
}

/* Reads pairs NAME=NUMBER, separated by blanks or commas. A word of another form is skipped. */
static size_t scan_keyword(const char *line, size_t at, size_t length, metric_found_fn *report, void *context)
{
    size_t reported = 0, behind;
    while (at < length) {
        size_t end = at, equals;
        while (end < length && !is_blank(line[end]) && (line[end] != ',' || (end + 1 < length && is_digit(line[end + 1]))))
            end++;
        for (equals = at; equals < end && line[equals] != '='; equals++)
            ;
        struct metric_found found = {.name = line + at, .name_length = equals - at, .source = METRIC_BY_KEYWORD, .unit = ""};
        if (equals > at && equals < end && read_number(&found, line, equals + 1, length, &behind)) {
            if (found.problem == METRIC_FRACTION)
                read_quotient(&found, line, behind, length);
            report(context, &found);
            reported++;
        }
        at = end + 1;
    }
    return reported;
}

/*
 * Whether a comma and exactly three digits follow: the pattern `loss: ([\d.]+)` stops in the middle of 1,234.5. A
 * pattern that matches the comma itself, for example in a list of numbers, is meant to read it.
 */
static bool is_thousand(const char *line, size_t at, size_t length)
{
    size_t digits = 0;
    if (at == 0 || at >= length || line[at] != ',' || !is_digit(line[at - 1]))
        return false;
    while (at + 1 + digits < length && is_digit(line[at + 1 + digits]))
        digits++;
    return digits == 3;
}

static void scan_pattern(const struct metric_pattern *pattern, const char *line, size_t length, metric_found_fn *report,
                         void *context)
{
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(pattern->match);
    size_t from = 0;
    while (from <= length) {
        int n = pcre2_match(pattern->code, (PCRE2_SPTR)line, length, from, 0, pattern->match, pattern->limits);
        struct metric_found found = {
            .name = pattern->name, .name_length = strlen(pattern->name), .source = METRIC_BY_PATTERN, .unit = ""};
        if (n == PCRE2_ERROR_NOMATCH)
            return;
        if (n < 0) {
            found.problem = METRIC_TOO_HARD;
            report(context, &found);
            return;
        }
        size_t group = n > 1 && bounds[2] != PCRE2_UNSET ? 2 : 0;
        found.at = bounds[group];
        found.length = bounds[group + 1] - bounds[group];
        if (memchr(line + found.at, ',', found.length) ||
            (bounds[1] == bounds[group + 1] && is_thousand(line, bounds[1], length)))
            found.problem = METRIC_COMMA;
        else if (!lineage_number_parse(&found.value, line + found.at, found.length))
            found.problem = METRIC_NOT_A_NUMBER;
        report(context, &found);
        from = bounds[1] > from ? bounds[1] : from + 1; /* a match with \K or look-ahead may consume no text */
    }
}

size_t metric_scan_line(const struct metric_query *query, const char *line, size_t length, metric_found_fn *found, void *context)
{
    size_t pairs = find_keyword(line, length);
    size_t n = pairs < length ? scan_keyword(line, pairs, length, found, context)
                              : metric_scan_names(query, line, length, found, context);
    for (size_t i = 0; i < query->n_patterns; i++)
        scan_pattern(query->patterns[i], line, length, found, context);
    return n;
}

/* Whether the text at this place begins with the name's first word, which may be above the others or a section. */
static bool begins_name(const char *name, const char *text, size_t length)
{
    size_t n = 0;
    while (name[n] && name[n] != '/' && n < length && folded(text[n]) == folded(name[n]) && folded(name[n]) != ' ')
        n++;
    return n > 0 && (!name[n] || name[n] == '/' || folded(name[n]) == ' ' || n >= CUT_BYTES);
}

bool metric_scan_may_find(const struct metric_query *query, const char *text, size_t length)
{
    bool begins[256] = {false};
    if (query->n_patterns || memmem(text, length, keyword, sizeof keyword - 1))
        return length > 0;
    static const char *const others[] = {"\033", "Traceback", "Warning", "\"name\":", "value",  "Value",
                                         "mean", "Mean",      "Min",     ".metric",   "measure"};
    for (size_t i = 0; query->n_names && i < sizeof others / sizeof *others; i++)
        if (memmem(text, length, others[i], strlen(others[i])))
            return true;
    for (size_t i = 0; i < query->n_names; i++)
        for (int c = 0; c < 256; c++)
            begins[c] = begins[c] || folded((char)c) == folded(query->names[i][0]);
    for (size_t at = 0; at < length; at++)
        for (size_t i = 0; i < query->n_names && begins[(unsigned char)text[at]] && (at == 0 || !joins(text[at - 1])); i++)
            if (begins_name(query->names[i], text + at, length - at))
                return true;
    return false;
}

/* Returns the length in bytes (at least 1) of the escape sequence at text, which begins with ESC. */
static size_t escape_length(const char *text, size_t length)
{
    size_t n = 2;
    if (length < 2)
        return 1;
    if (text[1] == '[') { /* parameters, then one final byte */
        while (n < length && !(text[n] >= 0x40 && text[n] <= 0x7e))
            n++;
        return n < length ? n + 1 : n;
    }
    if (text[1] == ']') { /* a title or a link, up to BEL or ESC \ */
        while (n < length && text[n] != '\a' && !(text[n] == '\033' && n + 1 < length && text[n + 1] == '\\'))
            n++;
        return n == length ? n : text[n] == '\a' ? n + 1 : n + 2;
    }
    return n;
}

size_t metric_scan_move(const char *text, size_t length)
{
    const size_t n = escape_length(text, length);
    if (n < 3 || text[1] != '[' || !strchr("ABEFGHJKdf", text[n - 1]))
        return 0;
    return text[n - 1] == 'K' && text[2] != '1' && text[2] != '2' ? 0 : n; /* what is left of the line goes on */
}

static bool goes_on(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Returns the length in bytes of the character of UTF-8 at text. */
static size_t character_length(const char *text, size_t length)
{
    size_t n = 1;
    while (n < 4 && n < length && goes_on(text[n]))
        n++;
    return n;
}

size_t metric_scan_strip(char *out, const char *line, size_t length)
{
    size_t n = 0, cursor = 0;
    for (size_t at = 0; at < length;) {
        const size_t bytes = character_length(line + at, length - at);
        if (line[at] == '\033') {
            at += escape_length(line + at, length - at);
        } else if (line[at] == '\b') {
            at++;
            while (cursor > 0 && goes_on(out[--cursor]))
                ;
        } else {
            if (cursor < n && character_length(out + cursor, n - cursor) != bytes)
                n = cursor; /* moving the rest for each such character would take the square of the length */
            memmove(out + cursor, line + at, bytes);
            cursor += bytes;
            at += bytes;
            n = cursor > n ? cursor : n;
        }
    }
    return n;
}

struct metric_pattern *metric_pattern_new(const char *spec, char *error, size_t size)
{
    const char *equals = strchr(spec, '=');
    struct metric_pattern *pattern = NULL;
    PCRE2_SIZE at;
    int code;
    if (!equals || equals == spec || !equals[1])
        return snprintf(error, size, "'%.200s' is not NAME=REGEX", spec), NULL;
    if (!(pattern = calloc(1, sizeof *pattern)) || !(pattern->name = strndup(spec, (size_t)(equals - spec))))
        goto no_memory;
    pattern->code = pcre2_compile((PCRE2_SPTR)(equals + 1), PCRE2_ZERO_TERMINATED, 0, &code, &at, NULL);
    if (!pattern->code) {
        PCRE2_UCHAR why[200];
        pcre2_get_error_message(code, why, sizeof why);
        snprintf(error, size, "%s at character %zu of the pattern '%.200s'", (const char *)why, (size_t)at + 1, equals + 1);
        metric_pattern_free(pattern);
        return NULL;
    }
    pattern->match = pcre2_match_data_create_from_pattern(pattern->code, NULL);
    pattern->limits = pcre2_match_context_create(NULL);
    if (!pattern->match || !pattern->limits)
        goto no_memory;
    pcre2_set_match_limit(pattern->limits, MATCH_LIMIT);
    pcre2_set_heap_limit(pattern->limits, 1 << 14); /* KiB */
    return pattern;

no_memory:
    snprintf(error, size, "out of memory");
    metric_pattern_free(pattern);
    return NULL;
}

const char *metric_pattern_name(const struct metric_pattern *pattern)
{
    return pattern->name;
}

void metric_pattern_free(struct metric_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_match_context_free(pattern->limits);
    pcre2_match_data_free(pattern->match);
    pcre2_code_free(pattern->code);
    free(pattern->name);
    free(pattern);
}
