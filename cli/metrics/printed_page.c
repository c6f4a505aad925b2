/* printed_page.c: see metric_lines.h. The separators are tried in the order of the enumeration. */
#include "metrics/metric_lines.h"

#include <string.h>
#include <strings.h>

#include <lineage/text.h>

enum separator { BY_BORDER, BY_TAB, BY_SEMICOLON, BY_COMMA, BY_WIDE_BLANK, BY_BLANK, N_SEPARATORS };

enum { CELLS_MAX = 64, NOT_HERE = -1, TWICE = -2 };

/* A warning's message may have several lines, before the source line. */
enum { WARNING_LINES = 16 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool begins_with(const char *line, size_t length, const char *word)
{
    return length >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

static size_t indentation(const char *line, size_t length)
{
    size_t n = 0;
    while (n < length && is_blank(line[n]))
        n++;
    return n;
}

/* ---- source code ---- */

/* The prefix that torchrun puts before each line of a rank: `[rank0]:`. */
static size_t rank_prefix(const char *line, size_t length)
{
    const char *end = length > 3 && line[0] == '[' && line[1] >= 'a' && line[1] <= 'z' ? memchr(line, ']', length) : NULL;
    return end && end - line < 24 && is_digit(end[-1]) && end + 1 < line + length && end[1] == ':' ? (size_t)(end - line) + 2 : 0;
}

/* `train.py:12: UserWarning: message`, whose source line follows. */
static bool is_warning(const char *line, size_t length)
{
    const char *at = memmem(line, length, "Warning: ", 9), *from = at;
    while (from && from > line && from[-1] != ' ')
        from--;
    return from && from > line + 3 && from[-2] == ':' && is_digit(from[-3]);
}

static bool goes_on(struct printed_page *page, const char *line, size_t length)
{
    size_t indent = indentation(line, length);
    switch (page->quotes) {
    case PAGE_PLAIN: return false;
    case PAGE_WARNING:
        page->quoted++;
        bool is_source = indent == 2 && length > 2 && (page->quoted == 1 || memchr(line, '(', length));
        if (is_source || page->quoted == WARNING_LINES)
            page->quotes = PAGE_PLAIN;
        return is_source;
    case PAGE_TRACEBACK: /* ends with the line of the exception, whose message may hold a number, too */
        if (indent == 0 && length > 0 && line[0] != '>' && line[0] != '|' && line[0] != '+')
            page->quotes = PAGE_PLAIN;
        return true;
    case PAGE_BOXED_TRACEBACK:
        if (begins_with(line + indent, length - indent, "╰") || begins_with(line + indent, length - indent, "+--"))
            page->quotes = PAGE_TRACEBACK;
        return true;
    }
    return false;
}

bool printed_page_is_source(struct printed_page *page, const char *line, size_t length)
{
    size_t prefix = rank_prefix(line, length);
    line += prefix;
    length -= prefix;
    if (memmem(line, length, "Traceback (most recent call last)", 33)) {
        size_t indent = indentation(line, length);
        bool boxed = begins_with(line + indent, length - indent, "╭") || begins_with(line + indent, length - indent, "+--");
        page->quotes = boxed ? PAGE_BOXED_TRACEBACK : PAGE_TRACEBACK;
        return true;
    }
    if (goes_on(page, line, length))
        return true;
    if (is_warning(line, length)) {
        page->quotes = PAGE_WARNING;
        page->quoted = 0;
    }
    return false;
}

/* ---- cells ---- */

struct cells {
    size_t n;
    struct {
        size_t at, length;   /* bytes of the line, without blanks around them */
        size_t from, to;     /* characters of the line */
    } cell[CELLS_MAX];
};

/* Returns the length in bytes of the separator at line[at]; 0 if there is none. */
static size_t separator_length(enum separator by, const char *line, size_t at, size_t length)
{
    size_t n = 0;
    switch (by) {
    case BY_BORDER: return metric_scan_border(line + at, length - at);
    case BY_TAB: return line[at] == '\t';
    case BY_SEMICOLON: return line[at] == ';';
    case BY_COMMA: return line[at] == ',';
    default: n = indentation(line + at, length - at); return n >= 2 || by == BY_BLANK || line[at] == '\t' ? n : 0;
    }
}

static void add_cell(struct cells *cells, const char *line, size_t from, size_t to)
{
    size_t characters = 0;
    from += indentation(line + from, to - from);
    while (to > from && is_blank(line[to - 1]))
        to--;
    if (cells->n == CELLS_MAX)
        return;
    for (size_t i = 0; i < from; i++)
        characters += (line[i] & 0xc0) != 0x80;
    cells->cell[cells->n].at = from;
    cells->cell[cells->n].length = to - from;
    cells->cell[cells->n].from = characters;
    for (size_t i = from; i < to; i++)
        characters += (line[i] & 0xc0) != 0x80;
    cells->cell[cells->n++].to = characters;
}

/* Whether the cell of a line with these separators is in quotes, as in a CSV; blanks around it make it a list in a sentence. */
static bool is_quoted(enum separator by, const char *line, size_t from, size_t to)
{
    return (by == BY_COMMA || by == BY_TAB) && *line == '"' && to - from > 1 && line[from] == '"' && line[to - 1] == '"';
}

/* Splits the line. Ignores blanks and vertical lines around the whole line. */
static void split(struct cells *cells, enum separator by, const char *line, size_t length)
{
    size_t from = 0, border;
    cells->n = 0;
    while (from < length && (is_blank(line[from]) || metric_scan_border(line + from, length - from)))
        from += is_blank(line[from]) ? 1 : metric_scan_border(line + from, length - from);
    for (bool more = true; more;) {
        more = false;
        while (length > from && is_blank(line[length - 1]))
            length--;
        for (border = 1; border <= 3 && border <= length - from; border += 2)
            if (metric_scan_border(line + length - border, border) == border) {
                length -= border;
                more = true;
                break;
            }
    }
    for (size_t at = from; from < length; at++) {
        size_t n = at < length ? separator_length(by, line, at, length) : 1;
        if (!n)
            continue;
        const size_t end = at < length ? at : length, quoted = is_quoted(by, line, from, end);
        add_cell(cells, line, from + quoted, end - quoted);
        from = at + n;
        at = from - 1;
    }
}

static bool looks_like_number(const char *cell, size_t length)
{
    struct metric_found found = {.unit = ""};
    return !metric_scan_is_level(cell, 0, length) &&
           (metric_scan_value(&found, cell, 0, length) ||
            (length > 0 && is_digit(cell[length > 1 && (*cell == '-' || *cell == '+')])));
}

static size_t count_numbers(const struct cells *cells, const char *line)
{
    size_t n = 0;
    for (size_t i = 0; i < cells->n; i++)
        n += looks_like_number(line + cells->cell[i].at, cells->cell[i].length);
    return n;
}

/* ---- tables ---- */

/* Whether the cell is this name. A unit, a colon or an arrow may follow: `loss (nats)`, `mAP50-95): 100% ━━`, `acc ↑`. */
static bool is_named(const char *name, const char *cell, size_t length)
{
    bool cut;
    size_t n = metric_scan_match(name, cell, length, &cut);
    if (!n)
        return false;
    size_t blanks = indentation(cell + n, length - n);
    return n == length || strchr(")(:[", cell[n + blanks]) || (blanks && (unsigned char)cell[n + blanks] >= 0x80);
}

/* Whether the cells from the k-th on are numbers of classes, as R's randomForest names columns: `ntree  OOB  1  2`. */
static bool are_classes(const struct cells *cells, size_t k, const char *line)
{
    const size_t first = k;
    for (; k < cells->n; k++)
        if (cells->cell[k].length > 2 || !is_digit(line[cells->cell[k].at]) ||
            !is_digit(line[cells->cell[k].at + cells->cell[k].length - 1]))
            return false;
    return first >= 2 && k > first + 1;
}

static bool may_end_with_classes(const char *line, size_t length)
{
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    size_t digits = 0;
    while (digits < length && is_digit(line[length - digits - 1]))
        digits++;
    return digits > 0 && digits <= 2 && length > digits + 2 && is_blank(line[length - digits - 1]) &&
           is_blank(line[length - digits - 2]);
}

/*
 * Whether the numbers among the names are quantiles, as samplers and R name columns: `mean  std  median  5.0%  95.0%  n_eff`. They are
 * at least two, side by side, and count up.
 */
static bool are_quantiles(const struct cells *cells, size_t numbers, const char *line)
{
    struct metric_found found = {.unit = ""};
    double before = -1;
    size_t n = 0, last = 0;
    for (size_t i = 0; i < cells->n; i++) {
        const char *cell = line + cells->cell[i].at;
        const size_t length = cells->cell[i].length;
        if (length < 2 || cell[length - 1] != '%')
            continue;
        if (!metric_scan_value(&found, cell, 0, length) || found.length + 1 != length || found.value <= before ||
            found.value > 100 || (n && i != last + 1))
            return false;
        before = found.value;
        last = i;
        n++;
    }
    return n >= 2 && n == numbers && cells->n >= n + 2;
}

static bool may_name_quantiles(const char *line, size_t length)
{
    const char *first = memchr(line, '%', length), *last = first ? memrchr(first, '%', length - (size_t)(first - line)) : NULL;
    return first != last;
}

static bool are_names(enum separator by, const struct cells *cells, const char *line)
{
    const size_t numbers = count_numbers(cells, line);
    return !numbers || (by == BY_WIDE_BLANK && are_classes(cells, cells->n - numbers, line)) ||
           are_quantiles(cells, numbers, line);
}

static bool names_any(const struct metric_query *query, const struct cells *cells, const char *line)
{
    for (size_t i = 0; i < query->n_names; i++)
        for (size_t k = 0; k < cells->n && strcmp(query->names[i], "step") != 0; k++)
            if (is_named(query->names[i], line + cells->cell[k].at, cells->cell[k].length))
                return true;
    return false;
}

static void place_names(struct printed_page *page, const struct metric_query *query, const struct cells *cells, const char *line)
{
    for (size_t i = 0; i < query->n_names && i < PAGE_NAMES_MAX; i++) {
        page->places[i].column = NOT_HERE;
        for (size_t k = 0; k < cells->n; k++) {
            if (!is_named(query->names[i], line + cells->cell[k].at, cells->cell[k].length))
                continue;
            page->places[i].column = page->places[i].column == NOT_HERE ? (int)k : TWICE;
            page->places[i].from = cells->cell[k].from;
            page->places[i].to = cells->cell[k].to;
        }
    }
}

/* The length of the line without a progress bar behind its names: `mAP50-95: 100%|███| 4/4 [00:03<00:00]` of YOLOv5. */
static size_t without_bar(const char *line, size_t length)
{
    for (size_t i = 1; i + 2 < length; i++) {
        if (line[i] != ':')
            continue;
        size_t at = i + 1 + indentation(line + i + 1, length - i - 1), digits = 0;
        while (at + digits < length && is_digit(line[at + digits]))
            digits++;
        if (digits && at + digits + 1 < length && line[at + digits] == '%' && metric_scan_border(line + at + digits + 1, 1))
            return i;
    }
    return length;
}

/* Whether what is in front of the first name has an empty cell: `|    | loss |`, or a tab. A single `|` may be the edge of the table. */
static bool is_corner(enum separator by, const char *line, size_t first)
{
    size_t separators = 0;
    for (size_t i = 0, n; i < first; i += n ? n : 1) {
        n = separator_length(by, line, i, first);
        separators += n > 0;
    }
    return (by == BY_TAB && separators) || (by == BY_BORDER && separators > 1);
}

static bool is_word_of(const char *const *words, const char *label, size_t length)
{
    bool is = false;
    for (; *words; words++)
        is = is || (strlen(*words) == length && strncasecmp(label, *words, length) == 0);
    return is;
}

/* What rows count that repeat one measurement. */
static const char *const repeated[] = {"fold", "split", "seed", "run", NULL};

/* Begins a table if the line names columns and has no numbers. */
static bool name_columns(struct printed_page *page, const struct metric_query *query, const char *line, size_t length)
{
    struct cells cells;
    length = without_bar(line, length);
    for (int by = 0; by < N_SEPARATORS; by++) {
        split(&cells, (enum separator)by, line, length);
        if (cells.n < 2 || !are_names((enum separator)by, &cells, line) || !names_any(query, &cells, line))
            continue;
        place_names(page, query, &cells, line);
        page->separator = by;
        page->n_columns = cells.n;
        page->first_from = cells.cell[0].from;
        page->has_corner = is_corner((enum separator)by, line, cells.cell[0].at);
        page->numbers_rows = cells.cell[0].length == 0 && *line == '"';
        page->joined = page->closed = false;
        page->repeats = is_word_of(repeated, line + cells.cell[0].at, cells.cell[0].length);
        page->label[0] = '\0';
        return true;
    }
    return false;
}

/* A line of names in two halves: `average  since` above `loss  last` are `average loss` and `since last`. */
static bool name_columns_below(struct printed_page *page, const struct metric_query *query, const char *line, size_t length)
{
    struct cells upper, lower;
    char joined[2 * PAGE_TEXT_BYTES];
    size_t n = 0;
    split(&upper, BY_BLANK, page->above, page->above_length);
    split(&lower, BY_BLANK, line, length);
    if (length > PAGE_TEXT_BYTES - CELLS_MAX || upper.n < 2 || upper.n != lower.n)
        return false;
    for (size_t i = 0; i < upper.n; i++) {
        memcpy(joined + n, page->above + upper.cell[i].at, upper.cell[i].length);
        n += upper.cell[i].length;
        joined[n++] = ' ';
        memcpy(joined + n, line + lower.cell[i].at, lower.cell[i].length);
        n += lower.cell[i].length;
        joined[n++] = '\t';
    }
    if (!name_columns(page, query, joined, n))
        return false;
    page->separator = BY_BLANK;
    page->joined = true;
    return true;
}

static bool begin_table(struct printed_page *page, const struct metric_query *query, const char *line, size_t length)
{
    return name_columns(page, query, line, length) || (page->above_length && name_columns_below(page, query, line, length));
}

/* Whether the line looks like the names of another table, none of which was asked for, or ends with a colon, as the title of one. */
static bool names_other_columns(const char *line, size_t length)
{
    struct cells cells;
    struct metric_found found = {.unit = ""};
    bool digits = false;
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    for (size_t i = 0; i < length; i++)
        digits = digits || is_digit(line[i]);
    split(&cells, BY_WIDE_BLANK, line, length);
    for (size_t i = 0; i < cells.n; i++) /* `1Q` is a name */
        if (metric_scan_value(&found, line + cells.cell[i].at, 0, cells.cell[i].length))
            return false;
    return cells.n > 2 || (!digits && length > 0 && line[length - 1] == ':');
}

/* Finds the one word that is below or above the name; n if there is none. */
static size_t below(const struct cells *cells, size_t from, size_t to)
{
    size_t found = cells->n;
    for (size_t i = 0; i < cells->n; i++)
        if (cells->cell[i].from < to && cells->cell[i].to > from) {
            if (found < cells->n)
                return cells->n;
            found = i;
        }
    return found;
}

/* Whether the cell is a name, and not a value or a sign that there is none. */
static bool is_label(const char *cell, size_t length)
{
    static const char *const none[] = {"nan", "inf", "none", "null", "n/a", "na"};
    bool is = false;
    for (size_t i = 0; i < length; i++)
        is = is || (cell[i] | 32) >= 'a';
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        is = is && (length != strlen(none[i]) || strncasecmp(cell, none[i], length) != 0);
    return is && !looks_like_number(cell, length);
}

/*
 * Whether a table with borders or tabs has one more column in front, whose name is empty: a data frame's to_markdown(), Cornac. Without
 * an empty cell in front of the names, a number is the value of the first name, and what is one more is behind the last:
 * `0.5 | 0.4 | saved`.
 */
static bool names_rows(const struct printed_page *page, const struct cells *cells, const char *line)
{
    return (page->separator == BY_BORDER || page->separator == BY_TAB) && cells->n == page->n_columns + 1 &&
           cells->cell[0].to <= page->first_from &&
           (page->has_corner || is_label(line + cells->cell[0].at, cells->cell[0].length));
}

/*
 * Splits a row as its line of names. Returns false if it is not a row. *by_position: its cells do not correspond one by one,
 * because some are empty or a progress bar follows.
 */
static bool split_row(const struct printed_page *page, struct cells *cells, const char *line, size_t length, bool *by_position)
{
    split(cells, (enum separator)page->separator, line, length);
    *by_position = false;
    if (page->separator < BY_WIDE_BLANK) /* one more: their names or numbers, in a column without a name */
        return cells->n == page->n_columns || names_rows(page, cells, line);
    bool same = cells->n == page->n_columns;
    for (size_t i = 0; i < cells->n && same; i++) { /* `1.0 0.5` is two cells, however wide the other gaps are */
        size_t n = 0, digits = 0;
        for (size_t k = 0; k < cells->cell[i].length; k++) {
            n += line[cells->cell[i].at + k] == ' ';
            digits += line[cells->cell[i].at + k] >= 'A';
        }
        same = n == 0 || digits > 0;
    }
    if (!same)
        split(cells, BY_BLANK, line, length);
    /* A letter behind the last column is a mark: Vowpal Wabbit's `h` says that the loss is that of held-out examples. */
    if (page->joined && cells->n == page->n_columns + 1 && cells->cell[cells->n - 1].length == 1 &&
        !is_digit(line[cells->cell[cells->n - 1].at]))
        cells->n--;
    *by_position = cells->n != page->n_columns;
    for (size_t i = 1; i < cells->n; i++) { /* a sentence: `incumbent solution: [0.1, 0.2]` */
        const char *cell = line + cells->cell[i].at;
        if (cells->cell[i].length && strchr(":,", cell[cells->cell[i].length - 1]))
            return false;
    }
    /* R numbers or names its rows in a column without a name. */
    const bool has_row_names = page->separator == BY_BLANK && cells->n == page->n_columns + 1 && page->n_columns > 1;
    return 2 * count_numbers(cells, line) + (cells->n > 2) > cells->n &&
           (!*by_position || page->separator == BY_WIDE_BLANK || has_row_names);
}

/* The labels of rows that sum up the others, of which nobody asks then. */
static const char *const totals[] = {"all", "overall", "total", "mean", "average", NULL};
static const char numbered[] = "0"; /* stands for the label of rows that begin with a number */

/* The row that closes those of folds and that of pandas' describe with their number. */
static const char *const closing[] = {"mean", "average", "avg", NULL};

static bool is_index(const char *cell, size_t length)
{
    size_t digits = 0;
    while (digits < length && is_digit(cell[digits]))
        digits++;
    return digits > 0 && digits == length;
}

static size_t letters_of(const char *label, size_t length)
{
    size_t n = 0;
    while (n < length && (label[n] | 32) >= 'a' && (label[n] | 32) <= 'z')
        n++;
    return n;
}

/* Whether the label is one word with a number, `ep2` or `ckpt-200`, and the word is that of the other label and the number greater. */
static bool counts_on(const char *before, const char *label, size_t length)
{
    const size_t word = letters_of(label, length);
    double from, to;
    const size_t digits = word + (word < length && memchr("-_=# ", label[word], 5));
    if (word == 0 || strncasecmp(before, label, digits) != 0 || !is_index(label + digits, length - digits) ||
        !is_index(before + digits, strlen(before) - digits))
        return false;
    return lineage_number_parse(&from, before + digits, strlen(before) - digits) &&
           lineage_number_parse(&to, label + digits, length - digits) && to > from;
}

/* Whether the label is that of one of several repetitions: `Fold 2`, or a number below `fold`. */
static bool is_repetition(const struct printed_page *page, const char *label, size_t length)
{
    const size_t word = letters_of(label, length), digits = word + (word < length && memchr("-_=# ", label[word], 5));
    return (word ? is_word_of(repeated, label, word) : page->repeats) && is_index(label + digits, length - digits);
}

/* Whether the row belongs to another thing than the row that was read: its label, a word, is another one, and does not count on. */
static bool is_other_row(struct printed_page *page, const char *label, size_t length, bool *later)
{
    struct metric_found found = {.unit = ""};
    bool letters = false;
    if (page->closed && !is_repetition(page, label, length))
        return true;
    if (page->closed)
        page->label[0] = '\0';
    page->closed = false;
    for (size_t i = 0; i < length; i++)
        letters = letters || (label[i] | 32) >= 'a';
    if (!letters || metric_scan_value(&found, label, 0, length)) {
        if (!page->label[0])
            strcpy(page->label, numbered);
        return false;
    }
    if (is_word_of(closing, label, length) &&
        (strcasecmp(page->label, "count") == 0 || is_repetition(page, page->label, strlen(page->label)))) {
        strcpy(page->label, totals[0]); /* nobody asks for the deviation and the quantiles, which follow */
        *later = page->closed = true;
        return false;
    }
    if (strcmp(page->label, numbered) == 0 && length == 5 && strncasecmp(label, "final", 5) == 0) { /* of the last step */
        *later = true;
        return false;
    }
    size_t n = length < PAGE_LABEL_BYTES ? length : PAGE_LABEL_BYTES - 1;
    *later = page->label[0] && n == length && counts_on(page->label, label, n);
    if (page->label[0] && !*later)
        return strlen(page->label) != n || memcmp(page->label, label, n) != 0;
    memcpy(page->label, label, n);
    page->label[n] = '\0';
    return false;
}

static bool read_row(struct printed_page *page, const struct metric_query *query, const char *line, size_t length,
                     metric_found_fn *report, void *context)
{
    struct cells cells;
    bool by_position, first = false, later = false;
    if (!split_row(page, &cells, line, length, &by_position))
        return false;
    for (int pass = 0; pass < 2; pass++) { /* a row's label counts only if one of its numbers is read */
        /* Behind the index of a data frame, a column without a name, the label is in the second cell. */
        const size_t label = cells.n > 2 && is_index(line + cells.cell[0].at, cells.cell[0].length) &&
                             (cells.n == page->n_columns + 1 || cells.cell[0].to <= page->first_from || page->numbers_rows);
        bool other = pass && first && is_other_row(page, line + cells.cell[label].at, cells.cell[label].length, &later);
        for (size_t i = 0;
             i < query->n_names && i < PAGE_NAMES_MAX && !(other && is_word_of(totals, page->label, strlen(page->label))); i++) {
            struct metric_found found = {
                .name = query->names[i], .name_length = strlen(query->names[i]), .source = METRIC_BY_NAME, .unit = ""};
            int column = page->places[i].column;
            size_t k = by_position ? below(&cells, page->places[i].from, page->places[i].to) : column >= 0 ? (size_t)column : 0;
            k += !by_position && names_rows(page, &cells, line);
            if (column == NOT_HERE || k == cells.n)
                continue;
            const size_t quoted = cells.cell[k].length > 1 && strchr("'\"", line[cells.cell[k].at]); /* of console.table */
            if (!metric_scan_value(&found, line, cells.cell[k].at + quoted, cells.cell[k].at + cells.cell[k].length - quoted))
                continue;
            found.problem = column == TWICE ? METRIC_SEVERAL : found.problem;
            found.doubtful = false;
            found.other_row = other;
            found.later_row = later;
            first = true;
            if (pass)
                report(context, &found);
        }
    }
    return first;
}

/* Whether the line separates a line of names from its rows, for example `-----  -----`, or is empty. */
static bool is_rule(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_blank(line[i]) && !strchr("-=+|:", line[i]) && (unsigned char)line[i] < 0x80)
            return false;
    return true;
}

/* Whether the line has the type of each column, as polars, DuckDB and R's tibbles print it below the names. */
static bool names_types(const struct printed_page *page, const char *line, size_t length)
{
    static const char *const types[] = {
        "---",  "f32", "f64",    "i8",      "i16",     "i32",     "i64",     "u8",      "u16",      "u32",       "u64", "str",
        "bool", "cat", "enum",   "list",    "int32",   "int64",   "float",   "double",  "real",     "dbl",       "int", "chr",
        "lgl",  "fct", "bigint", "integer", "hugeint", "varchar", "boolean", "decimal", "datetime", "timestamp", "date"};
    struct cells cells;
    split(&cells, page->separator < BY_WIDE_BLANK ? (enum separator)page->separator : BY_BLANK, line, length);
    size_t n_types = 0;
    for (size_t i = 0; i < cells.n; i++) {
        const char *cell = line + cells.cell[i].at;
        size_t n = cells.cell[i].length;
        if (n > 2 && cell[0] == '<' && cell[n - 1] == '>')
            cell++, n -= 2;
        for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
            const size_t known = strlen(types[k]);
            if (n >= known && memcmp(cell, types[k], known) == 0 && (n == known || strchr("[(", cell[known]))) {
                n_types++;
                break;
            }
        }
    }
    return n_types > 0 && n_types == cells.n;
}

/* Whether the line has only the name of pandas' index, below that of the columns and padded to their width: `epoch            `. */
static bool names_index(const struct printed_page *page, const char *line, size_t length)
{
    size_t word = 0;
    while (word < length && !is_blank(line[word]))
        word++;
    return word > 0 && word <= page->first_from && length > page->first_from && !page->label[0] &&
           page->separator >= BY_WIDE_BLANK && word + indentation(line + word, length - word) == length;
}

static bool must_follow(const struct printed_page *page)
{
    return page->n_columns == 2 || page->separator == BY_BLANK || page->separator == BY_COMMA || page->separator == BY_SEMICOLON;
}

static void look_for_table(struct printed_page *page, const struct metric_query *query, const char *line, size_t length,
                           metric_found_fn *report, void *context)
{
    const bool index = page->n_columns && names_index(page, line, length);
    const bool rule = index || is_rule(line, length) || (page->n_columns && names_types(page, line, length));
    if (index)
        page->repeats = is_word_of(repeated, line, letters_of(line, length));
    if (page->n_columns && read_row(page, query, line, length, report, context))
        return;
    if (page->n_columns && !rule && must_follow(page))
        page->n_columns = 0;
    if (!rule && !begin_table(page, query, line, length) && names_other_columns(line, length))
        page->n_columns = 0;
    page->above_length = 0;
    for (size_t i = 0; !rule && length <= PAGE_TEXT_BYTES - CELLS_MAX && i < length; i++)
        if (is_digit(line[i]))
            return;
    if (!rule && length <= PAGE_TEXT_BYTES - CELLS_MAX) {
        memcpy(page->above, line, length);
        page->above_length = length;
    }
}

/* ---- sections ---- */

/* Copies the line with the section before its text. Returns the length of the copy; 0 if the line is in no section. */
static size_t with_section(struct printed_page *page, char out[PAGE_TEXT_BYTES], const char *line, size_t length)
{
    size_t border = metric_scan_border(line, length), indent = border + indentation(line + border, length - border);
    if (!page->section[0] || indent == length)
        return 0;
    if (indent <= page->indent || indent == border) {
        page->section[0] = '\0';
        return 0;
    }
    size_t n = strlen(page->section), rest = length - indent;
    if (n + rest > PAGE_TEXT_BYTES)
        return 0;
    memcpy(out, page->section, n);
    memcpy(out + n, line + indent, rest);
    return n + rest;
}

/* Begins a section if the line, or its only cell, is a word that ends with '/' or ':'. */
static void look_for_section(struct printed_page *page, const char *line, size_t length)
{
    struct cells cells;
    size_t border = metric_scan_border(line, length), indent = border + indentation(line + border, length - border);
    if (indent < length && line[indent] == '-') /* a rule ends the block */
        page->section[0] = '\0';
    split(&cells, BY_BORDER, line, length);
    while (cells.n > 1 && cells.cell[cells.n - 1].length == 0)
        cells.n--;
    if (cells.n != 1 || cells.cell[0].length < 2 || cells.cell[0].length >= PAGE_LABEL_BYTES)
        return;
    const char *text = line + cells.cell[0].at, end = text[cells.cell[0].length - 1];
    if ((end != '/' && end != ':') || memchr(text, ' ', cells.cell[0].length) || memchr(text, '(', cells.cell[0].length))
        return;
    memcpy(page->section, text, cells.cell[0].length);
    page->section[cells.cell[0].length - 1] = '/';
    page->section[cells.cell[0].length] = '\0';
    page->indent = indent;
}

/* ---- broken lines ---- */

/* Reads the number that the end of the previous line has announced. */
static bool read_broken(struct printed_page *page, const struct metric_query *query, const char *line, size_t length,
                        metric_found_fn *report, void *context)
{
    size_t broken = page->broken, at = indentation(line, length), end = at;
    page->broken = 0;
    if (!broken)
        return false;
    const char *name = query->names[broken - 1];
    struct metric_found found = {
        .name = name, .name_length = strlen(name), .source = METRIC_BY_NAME, .unit = "", .cut = page->broken_by_cut};
    while (end < length && !is_blank(line[end]))
        end++;
    if (end - at == 3 && memcmp(line + at, "[1]", 3) == 0) /* of R */
        end = length;
    if (!page->broken_by_cut && end + indentation(line + end, length - end) < length)
        return false; /* another sentence, which begins with a number */
    if (page->broken_to && (page->broken_to != end || end == length))
        return false;
    if (!metric_scan_value(&found, line, at, end) || found.at + found.length + strlen(found.unit) < end)
        return false;
    if (page->broken_to && !metric_scan_is_real(line + found.at, found.length))
        return false;
    report(context, &found);
    return true;
}

/* Whether the line ends with a name that was asked for and with `:`, `=` or the mark of a name that was cut off. */
static void look_for_break(struct printed_page *page, const struct metric_query *query, const char *line, size_t length)
{
    const size_t whole = length;
    page->broken_to = 0;
    while (length > 0 && is_blank(line[length - 1]))
        length--;
    size_t end = length;
    const bool padded = whole == length + 1 && line[length] == ' ';
    for (size_t i = 0; i < query->n_names && length > 1 && line[0] == '$'; i++) /* of a list of R */
        if (strlen(query->names[i]) == length - 1 && memcmp(line + 1, query->names[i], length - 1) == 0) {
            page->broken = i + 1;
            page->broken_by_cut = false;
        }
    const size_t begin = indentation(line, length);
    for (size_t i = 0; i < query->n_names && padded; i++) /* R puts a blank behind each name and each value of a vector */
        if (strlen(query->names[i]) == length - begin && strncasecmp(line + begin, query->names[i], length - begin) == 0) {
            page->broken = i + 1;
            page->broken_by_cut = false;
            page->broken_to = length;
        }
    bool sign = end > 0 && (line[end - 1] == ':' || line[end - 1] == '=');
    while (sign && end > 0 && (is_blank(line[end - 1]) || end == length))
        end--;
    for (size_t i = 0; i < query->n_names; i++)
        for (size_t at = 0; at < end; at++) {
            bool cut;
            size_t n = at == 0 || is_blank(line[at - 1]) ? metric_scan_match(query->names[i], line + at, end - at, &cut) : 0;
            if (n && at + n == end && cut != sign) {
                page->broken = i + 1;
                page->broken_by_cut = cut;
            }
        }
}

/* ---- rows with their name in front ---- */

static const char *const value_words[] = {"min", "max", "value", "mean", ".estimate", "measurement"};
static const char *const name_words[] = {".metric", "measure"};
enum { N_VALUE_WORDS = sizeof value_words / sizeof *value_words, N_NAME_WORDS = sizeof name_words / sizeof *name_words };

/* Whether such a word is anywhere in the line. Most lines have none, and splitting them into cells takes longer. */
static bool has_value_word(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        for (size_t k = 0; ((line[i] | 32) == 'm' || (line[i] | 32) == 'v' || line[i] == '.') && k < N_VALUE_WORDS; k++)
            if (length - i >= strlen(value_words[k]) && strncasecmp(line + i, value_words[k], strlen(value_words[k])) == 0)
                return true;
    return false;
}

/* Remembers where a line of names has `value` or `mean`; with `min` and `max` nothing says which is meant. A later line of other names
 * ends that. */
static void look_for_values(struct printed_page *page, const char *line, size_t length)
{
    struct cells cells;
    if (is_rule(line, length) || (!page->values.n && !has_value_word(line, length)) ||
        line[indentation(line, length)] == '<') /* the types below the names of a tibble */
        return;
    static const enum separator separators[] = {BY_BORDER, BY_WIDE_BLANK, BY_BLANK};
    const bool tibble =
        memmem(line, length, ".metric", 7) != NULL; /* the gaps between its names are single blanks and wider ones */
    for (size_t s = 0; s < sizeof separators / sizeof *separators; s++) {
        split(&cells, separators[s], line, length);
        if (cells.n < 3 || count_numbers(&cells, line) > 0 ||
            (separators[s] != BY_BORDER && (separators[s] == BY_BLANK) != tibble))
            continue;
        size_t places[N_VALUE_WORDS] = {0}, name = 0;
        for (size_t i = 0; i < cells.n; i++) {
            for (size_t k = 0; i > 0 && k < N_VALUE_WORDS; k++) {
                const size_t n = strlen(value_words[k]), rest = cells.cell[i].length - n;
                if (cells.cell[i].length >= n && strncasecmp(line + cells.cell[i].at, value_words[k], n) == 0 &&
                    (rest == 0 || (rest == 1 && line[cells.cell[i].at + n] == '.')))
                    places[k] = i;
            }
            for (size_t k = 0; k < N_NAME_WORDS; k++)
                if (cells.cell[i].length == strlen(name_words[k]) &&
                    strncasecmp(line + cells.cell[i].at, name_words[k], cells.cell[i].length) == 0)
                    name = i + 1;
        }
        page->values.column = places[2] ? places[2] : places[4] ? places[4] : places[5] ? places[5] : places[3];
        page->values.n = page->values.column || (places[0] && places[1]) ? cells.n : 0;
        page->values.separator = (int)separators[s];
        page->values.name = page->values.column ? name : 0;
        return;
    }
}

/* Reads the value of a row whose name is in the column `.metric` or `measure`; R puts the number of the row in front. */
static bool read_named_row(const struct printed_page *page, const struct metric_query *query, const char *line, size_t length,
                           metric_found_fn *report, void *context)
{
    struct cells cells;
    bool any = false;
    if (!page->values.name || !page->values.n)
        return false;
    split(&cells, (enum separator)page->values.separator, line, length);
    const size_t index = cells.n == page->values.n + 1, name = page->values.name - 1 + index, value = page->values.column + index;
    if (cells.n - index != page->values.n)
        return false;
    for (size_t i = 0; i < query->n_names; i++) {
        struct metric_found found = {
            .name = query->names[i], .name_length = strlen(query->names[i]), .source = METRIC_BY_NAME, .unit = ""};
        if (!is_named(query->names[i], line + cells.cell[name].at, cells.cell[name].length) ||
            !metric_scan_value(&found, line, cells.cell[value].at, cells.cell[value].at + cells.cell[value].length))
            continue;
        found.doubtful = false;
        report(context, &found);
        any = true;
    }
    return any;
}

/* ---- rows of the tasks of lm-eval and lighteval ---- */

static bool is_cell(const struct cells *cells, size_t i, const char *line, const char *text)
{
    return cells->cell[i].length == strlen(text) && memcmp(line + cells->cell[i].at, text, strlen(text)) == 0;
}

/* Splits a row with borders, whose cells may be empty, the first one, too. */
static void split_bordered(struct cells *cells, const char *line, size_t length)
{
    size_t from = metric_scan_border(line, length), n;
    cells->n = 0;
    for (size_t at = from; at < length; at += n ? n : 1)
        if ((n = metric_scan_border(line + at, length - at)) > 0) {
            add_cell(cells, line, from, at);
            from = at + n;
        }
}

/* Begins such a table at exactly its names. lighteval's lack Filter and n-shot, and names of arrows and signs are empty. */
static void look_for_tasks(struct printed_page *page, const struct cells *cells, const char *line)
{
    static const char *const names[] = {"Version", "Filter", "n-shot", "Metric", "Value", "Stderr"};
    enum { N_NAMES = sizeof names / sizeof *names, FILTER = 1, METRIC = 3, VALUE = 4 };
    size_t next = 0, places[N_NAMES] = {0};
    if (!cells->n || !(is_cell(cells, 0, line, "Tasks") || is_cell(cells, 0, line, "Task") || is_cell(cells, 0, line, "Groups")))
        return;
    for (size_t i = 1; i < cells->n; i++) {
        if (cells->cell[i].length == 0)
            continue;
        if (next == FILTER && is_cell(cells, i, line, names[METRIC]))
            next = METRIC;
        if (next == N_NAMES || !is_cell(cells, i, line, names[next]))
            return;
        places[next++] = i;
    }
    page->tasks.n = next == N_NAMES ? cells->n : 0;
    page->tasks.name = places[METRIC];
    page->tasks.value = places[VALUE];
    page->tasks.task[0] = '\0';
}

/*
 * Reads the value of a metric under the condition that the cells in front of it name: task, filter and others. An empty first cell
 * has the text of the row above. If a task is asked for, nothing says which of its metrics is meant.
 */
static bool read_task_row(struct printed_page *page, const struct metric_query *query, const char *line, size_t length,
                          metric_found_fn *report, void *context)
{
    struct cells cells;
    char label[PAGE_TEXT_BYTES];
    bool any = false;
    if (!page->tasks.n && !metric_scan_border(line, length))
        return false;
    split_bordered(&cells, line, length);
    if (!page->tasks.n || cells.n != page->tasks.n || length >= sizeof label) {
        page->tasks.n = 0;
        look_for_tasks(page, &cells, line);
        return false;
    }
    if (cells.cell[0].length) {
        memcpy(page->tasks.task, line + cells.cell[0].at, cells.cell[0].length);
        page->tasks.task[cells.cell[0].length] = '\0';
    }
    size_t n = strlen(page->tasks.task);
    memcpy(label, page->tasks.task, n);
    for (size_t i = 1; i < page->tasks.name && n + cells.cell[i].length < sizeof label; i++) {
        memcpy(label + n, line + cells.cell[i].at, cells.cell[i].length);
        n += cells.cell[i].length;
    }
    for (size_t i = 0; i < query->n_names; i++) {
        const char *name = query->names[i];
        const size_t metric = page->tasks.name, value = page->tasks.value;
        struct metric_found found = {.name = name,
                                     .name_length = strlen(name),
                                     .source = METRIC_BY_NAME,
                                     .unit = "",
                                     .condition = label,
                                     .condition_length = n};
        const bool whole = is_named(name, line + cells.cell[0].at, cells.cell[0].length);
        if ((!whole && !is_named(name, line + cells.cell[metric].at, cells.cell[metric].length)) ||
            !metric_scan_value(&found, line, cells.cell[value].at, cells.cell[value].at + cells.cell[value].length))
            continue;
        found.doubtful = false;
        found.problem = whole ? METRIC_SEVERAL : found.problem;
        report(context, &found);
        any = true;
    }
    return any;
}

struct row_reading {
    const struct printed_page *page;
    const char *line;
    size_t length;
    metric_found_fn *report;
    void *context;
};

/* A number behind a name at the beginning of a row of numbers may not be the one that is meant. */
static void check_row(void *context, const struct metric_found *found)
{
    const struct row_reading *r = context;
    struct metric_found other = *found;
    struct cells cells;
    const bool bordered = r->page->values.n && r->page->values.separator == BY_BORDER;
    if (found->source != METRIC_BY_NAME || found->problem || found->counted || found->at < 2)
        goto done;
    if (r->page->object[0] && (strcmp(found->name, "score") == 0 || strcmp(found->name, "value") == 0)) {
        other.before = r->page->object;
        other.before_length = strlen(r->page->object);
    }
    if (!bordered && (!is_blank(r->line[found->at - 1]) || !is_blank(r->line[found->at - 2])))
        goto done;
    split(&cells, bordered ? BY_BORDER : BY_WIDE_BLANK, r->line, r->length);
    size_t first = 1;
    while (first < cells.n && cells.cell[first].at != found->at)
        first++;
    if (first + 1 >= cells.n || count_numbers(&cells, r->line) < cells.n - first)
        goto done;
    const bool named = r->page->values.n && (cells.n == r->page->values.n || cells.n == r->page->values.n + 1);
    const size_t k = r->page->values.column + (cells.n == r->page->values.n + 1);
    if (named && !r->page->values.column) {
        other.problem = METRIC_SEVERAL;
    } else if (named && k >= first) {
        metric_scan_value(&other, r->line, cells.cell[k].at, cells.cell[k].at + cells.cell[k].length);
        other.doubtful = false;
    } else if (memchr(r->line + cells.cell[first + 1].at, '.', cells.cell[first + 1].length)) {
        other.doubtful = true;
    }
done:
    r->report(r->context, &other);
}

/* ---- JSON objects over several lines ---- */

/* The text behind `"KEY":`, without blanks; NULL if the line lacks the key. */
static const char *member(const char *line, size_t length, const char *key, size_t *rest)
{
    const char *at = memmem(line, length, key, strlen(key)), *end = line + length;
    for (at = at ? at + strlen(key) : end; at < end && is_blank(*at); at++)
        ;
    *rest = (size_t)(end - at);
    return *rest ? at : NULL;
}

/* Reads `"score": 42.0` of the object whose name was asked for, and remembers the name of an object. */
static bool read_object(struct printed_page *page, const struct metric_query *query, const char *line, size_t length,
                        metric_found_fn *report, void *context)
{
    size_t rest, n = 0;
    if (!page->object[0] && !memchr(line, '"', length)) /* as most lines */
        return false;
    const char *name = member(line, length, "\"name\":", &rest);
    if (name && *name == '"') {
        const char *end = memchr(name + 1, '"', rest - 1);
        n = end && end - name <= PAGE_LABEL_BYTES ? (size_t)(end - name - 1) : 0;
        memcpy(page->object, name + 1, n);
        page->object[n] = '\0';
    }
    const char *value = page->object[0] ? member(line, length, "\"score\":", &rest) : NULL;
    value = value || !page->object[0] ? value : member(line, length, "\"value\":", &rest);
    bool found = false;
    for (size_t i = 0; value && i < query->n_names; i++) {
        struct metric_found number = {
            .name = query->names[i], .name_length = strlen(query->names[i]), .source = METRIC_BY_NAME, .unit = ""};
        if (strcasecmp(page->object, query->names[i]) == 0 && metric_scan_value(&number, line, (size_t)(value - line), length)) {
            report(context, &number);
            found = true;
        }
    }
    if (memchr(line, '}', length))
        page->object[0] = '\0';
    return found;
}

/* ---- all of them ---- */

void printed_page_scan(struct printed_page *page, const struct metric_query *query, const char *line, size_t length,
                       metric_found_fn *report, void *context)
{
    struct metric_query others = *query;
    char whole[PAGE_TEXT_BYTES];
    struct row_reading row = {page, line, length, report, context};
    bool found =
        read_broken(page, query, line, length, report, context) || read_object(page, query, line, length, report, context);
    found = printed_object_scan(&page->objects, query, line, length, report, context) || found;
    if (query->n_names && (may_end_with_classes(line, length) || may_name_quantiles(line, length)) &&
        name_columns(page, query, line, length))
        return;
    if (read_task_row(page, query, line, length, report, context))
        return;
    size_t n = with_section(page, whole, line, length);
    if (n && metric_scan_names(query, whole, n, report, context)) {
        found = true;
        others.n_names = 0; /* the same number again, by a shorter name */
    }
    if (metric_scan_line(&others, line, length, check_row, &row) || found || !query->n_names) {
        page->above_length = 0;
        look_for_break(page, query, line, length);
        return;
    }
    if (read_named_row(page, query, line, length, report, context))
        return;
    look_for_section(page, line, length);
    look_for_values(page, line, length);
    look_for_table(page, query, line, length, report, context);
    look_for_break(page, query, line, length);
}

bool printed_page_expects(const struct printed_page *page)
{
    return page->quotes != PAGE_PLAIN || page->n_columns || page->object[0] || page->objects.depth || page->values.name ||
           page->tasks.n || page->above_length || page->section[0] || page->broken;
}
