/*
 * metric_scan.h: finds numbers with names in one line that a program printed.
 *
 * A name that was asked for is read anywhere in the line at word boundaries, if a value follows it:
 *
 *     line      = .. name [quote] [(remark)] [@[condition]] [separator] value ..
 *               | number = name                              the number has a point or a per cent sign and begins the line, and the name ends it
 *               | .. name words number ..                    `is`, `reached`, `of the test set:`; see skip_verb and skip_phrase
 *     separator = : = := -> => the comma of ('name', value), or the border of a table cell; cells that hold only a symbol (an arrow) are skipped
 *                 words only if the number ends its clause: `loss is 0.5 lower` has no loss
 *     value     = [constructor(] [quote] number [quote]      0.25, '0.25', tensor(0.25, device='cuda:0')
 *               | [1] number                                 as R prints it
 *               | [ number ] | [ low middle high ]           three numbers with units are an interval: the middle
 *     number    = digits [unit]                              a unit of time or %: 11.53ms, 101.4 ms, 90%
 *
 *     METRIC loss=0.25 acc=0.9             every pair after the word METRIC, whatever its name
 *
 * In a name that was asked for, the case of ASCII letters does not count, and a blank, '_' and '-' are the same
 * character: `test_loss` finds `Test loss: 2.2`. A name does not match inside a longer one (`loss` in `val_loss`,
 * `loss_scale` or `eval/loss`), and of several names that begin at one place the longest matches. A name that the
 * program has cut off (`val_mean_abs…`, `val_mean_abs...`) matches if at least eight of its bytes are left.
 *
 * These are not read: a number that letters follow (12GB, 0x1f), a version, a date, a time of day, and the percentage
 * of a progress bar (`accuracy: 100%|███|`). What may be a value, but must not be guessed, is reported as a problem and not
 * used: a comma, a blank or a mark between digits (1,234.5; 1.234,5; 1 234.5; 1'234.5), a fraction (45/60, 45 of 60), and a list.
 * A fraction with its quotient is the quotient: `2590/10042 = 0.2579`, and `45/60 (75%)` and `45/60 = 75%` are 0.75. A whole number
 * without % confirms no fraction.
 * Another value may follow a comma: `0.512,12.3s` and `0.9,1 of 3` are 0.512 and 0.9.
 *
 * A pattern (`--metric-regex`) is a Perl regular expression, matched by PCRE2; its first group, or the whole match if
 * it has none, must be a number. A pattern that backtracks more than 100,000 times on a line gives up on that line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct metric_pattern;

/* What to look for. All members are borrowed. */
struct metric_query {
    const char *const *names;
    size_t n_names;
    struct metric_pattern *const *patterns;
    size_t n_patterns;
    bool any_form; /* of an evaluation: its pattern counts most, but the score is also read from other forms */
    bool sentences; /* a number behind `is` is found however the sentence goes on; for hiding, not for reading */
};

enum metric_source {
    METRIC_BY_NAME,    /* a name that was asked for */
    METRIC_BY_KEYWORD, /* after the word METRIC */
    METRIC_BY_PATTERN
};

enum metric_problem {
    METRIC_READ,         /* no problem: value is the number */
    METRIC_COMMA,        /* a comma inside the number */
    METRIC_GROUPED,      /* a blank or a mark between its digits */
    METRIC_FRACTION,     /* 45/60 */
    METRIC_SEVERAL,      /* a list of numbers, or two columns of one name */
    METRIC_CHANGED,      /* the number has another unit than before; metric_lines.h reports it */
    METRIC_NOT_A_NUMBER, /* the text that a pattern matched is not a number */
    METRIC_TOO_HARD      /* a pattern gave up on this line: it backtracked too often */
};

/* One number of a line, or a problem at a place where a number should be. Valid during the call that reports it. */
struct metric_found {
    const char *name; /* not terminated */
    size_t name_length;
    enum metric_source source;
    enum metric_problem problem;
    double value; /* may be infinite or not a number; of several numbers the last */
    size_t at, length; /* bytes of the line that hold the number */
    const char *unit;  /* "%", a unit of time as metric_unit spells it, or "": none */
    bool doubtful;     /* another number with the same claim follows: `loss 0.5 (0.45)`, or a second cell */
    bool cut;          /* the program has cut the name off */
    bool other_row;    /* the number is in a row with another label than the row that counts */
    bool later_row;    /* the number is in a row whose label counts on, which counts from now on */
    bool by_verb;      /* the name and the number are in a sentence, or the number is first */
    bool by_phrase;    /* the sentence says what the name is of, and the words may belong to it: `loss on test set: 0.5` */
    bool number_first; /* `0.5 = loss` */
    bool counted;      /* `2920 ns/op` of a benchmark in Go */
    const char *condition; /* `@[ IoU=0.50:0.95 | area=all ]` of COCO, or `(0.50)` at the name .. */
    size_t condition_length; /* .. 0: none */
    const char *before; /* the word in front of the name, which may make it another one: `Adj.` of `Adj. R-squared` */
    size_t before_length; /* 0: none */
};

typedef void metric_found_fn(void *context, const struct metric_found *found);

/*
 * Reports every number of the line that was asked for: first those after the keyword, then those of names, then those
 * of patterns. Each group is reported from left to right. Takes time in proportion to the length of the line times the
 * number of names. Returns how many numbers of names and of the keyword were reported.
 */
size_t metric_scan_line(const struct metric_query *query, const char *line, size_t length, metric_found_fn *found, void *context);

/* As metric_scan_line, but only names. */
size_t metric_scan_names(const struct metric_query *query, const char *line, size_t length, metric_found_fn *found,
                         void *context);

/*
 * Reads the value at line[at], which is a number or a problem. Returns false if there is none. The caller sets the other
 * members of *found.
 */
bool metric_scan_value(struct metric_found *found, const char *line, size_t at, size_t length);

/*
 * Returns how many bytes of the text, from its beginning, are the name; 0 if it does not begin with the name. *cut: the
 * program has cut the name off.
 */
size_t metric_scan_match(const char *name, const char *text, size_t length, bool *cut);

/* Returns the length in bytes of the vertical line of a table (`|`, `│`, `┃`, `║`, `┆`) at the text; 0 if there is none. */
size_t metric_scan_border(const char *text, size_t length);

/*
 * Whether any line of the text, which may contain colour sequences, may hold such a number, or a part of its name or
 * `value` above it, or the beginning of a traceback; a colour may hide the beginning of a word. If not, the caller need not split the text into lines.
 */
bool metric_scan_may_find(const struct metric_query *query, const char *text, size_t length);

/* Whether the number has a point or an exponent, as a measured one has; a count has none. */
bool metric_scan_is_real(const char *number, size_t n);

/* Whether `95% CI` or `95% confidence interval` is at line[at], not behind a `:` or `=`: it holds no value. Also 90% and 99%. */
bool metric_scan_is_level(const char *line, size_t at, size_t length);

/* The start of the value in the call at line[at], as in `np.float64(0.5)`; `at` without a call. */
size_t metric_scan_call(const char *line, size_t at, size_t length);

/* The length of the escape sequence at the text, if it moves the cursor to another line or erases this one: what follows is a line. */
size_t metric_scan_move(const char *text, size_t length);

/* Copies the line without ANSI escape sequences (colours, cursor movements, titles). A backspace erases nothing: what follows it is
 * written over what is there, as on a terminal. Returns the length of the copy, at most length; out may be the line itself. */
size_t metric_scan_strip(char *out, const char *line, size_t length);

/*
 * Compiles `NAME=REGEX`. Returns NULL with a message in error[size] if the pattern is not valid, in which case the
 * message names the position, or when out of memory. metric_pattern_free accepts NULL.
 */
struct metric_pattern *metric_pattern_new(const char *spec, char *error, size_t size);
const char *metric_pattern_name(const struct metric_pattern *pattern);
void metric_pattern_free(struct metric_pattern *pattern);
