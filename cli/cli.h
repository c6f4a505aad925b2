/*
 * cli.h: what all commands of `lineage` share: options, errors, the store, output.
 *
 * Each command is one file, commands/cmd_NAME.c, with one `const struct cli_command`. commands.def lists the commands
 * with their summaries and says which of the two programs each belongs to. A command parses its options from a table
 * (the help text is made from the same table), opens the store, does its work through public functions only, and
 * returns an exit status. Results go to stdout, everything else to stderr.
 */
#pragma once

/* The headers of C that nearly every file needs, once for all of them. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <popt.h>

#include <lineage/front.h>
#include <lineage/hypothesis.h>
#include <lineage/query.h>
#include <lineage/verify.h>

enum cli_exit {
    CLI_OK = 0,
    CLI_NO = 1,     /* the answer is no: nothing matched, or verify found faults */
    CLI_USAGE = 2,  /* wrong usage or bad input */
    CLI_SYSTEM = 3, /* I/O, lock, database or memory failed */
    CLI_GO_ON = -1  /* not an exit status: cli_parse and its callers return it if nothing went wrong */
};

/* Returns from the function with the status of the call, unless that is CLI_GO_ON; only where nothing has to be released. */
#define CLI_TRY(call)                                                                                                            \
    do {                                                                                                                         \
        const int try_status = (call);                                                                                           \
        if (try_status != CLI_GO_ON)                                                                                             \
            return try_status;                                                                                                   \
    } while (0)

struct cli_args;
struct cli_session;
/* The work of a command, with its arguments or on its open store; returns an exit status. */
typedef int cli_args_fn(const struct cli_args *args, void *context);
typedef int cli_work_fn(struct cli_session *session, void *context);

struct cli_command {
    const char *name;
    const char *arguments;   /* what the usage line shows after the options, e.g. "[ID]" */
    const char *description; /* one or two paragraphs; lines of at most 90 characters */
    const char *examples;    /* one command per line, or NULL */
    /* For shell completion (optional): writes the words that an option or argument (`svg`, `FAMILY`) accepts and that
     * only this command knows, separated by blanks or commas. Returns NULL if it knows no words for that name. */
    const char *(*choices)(const char *name, char *out, size_t size);
    int (*run)(const struct cli_command *command, int argc, const char **argv);
    struct { /* of a command with one of the two lines below, in the order of cli_on_store. A process runs one command, once. */
        struct cli_session *session;
        struct poptOption *options;
        size_t min, max;
        cli_work_fn *work;
        cli_args_fn *args_work;
        void *context;
    } call;
};
/*
 * The last line of a command. Its file names what it works with alike:
 *     static struct cli_session asked;     the store's options, and the store while `work` runs
 *     static struct NAME_options chosen;   the command's own options, which `work` gets as its context; a single option has its name
 *     static struct poptOption table[] = {CLI_SESSION_OPTIONS(&asked), CLI_FLAG("digest", &chosen.digest, "..."), POPT_TABLEEND};
 * CLI_ON_STORE(asked, table, 0, 1, work, &chosen) parses the table with at most one positional argument, opens the store and calls
 * work(&asked, &chosen). CLI_ON_ARGS is for commands without a store.
 */
#define CLI_ON_STORE(session, options, min, max, work, context)                                                                  \
    .run = cli_run, .call = {&(session), options, min, max, work, NULL, context}
#define CLI_ON_ARGS(options, min, max, work, context) .run = cli_run, .call = {NULL, options, min, max, NULL, work, context}
int cli_run(const struct cli_command *command, int argc, const char **argv);

/* Rows of an option table: a flag (int), a text (char *), and a text that may be repeated (char **). value is its name
 * in the help. */
#define CLI_FLAG(name, flag, help) {name, 0, POPT_ARG_NONE, flag, 0, help, NULL}
#define CLI_OPTION(name, text, value, help) {name, 0, POPT_ARG_STRING, text, 0, help, value}
#define CLI_REPEATED(name, texts, value, help) {name, 0, POPT_ARG_ARGV, texts, 0, help, value}

/* ---- the terminal -------------------------------------------------------------------------------- */

/*
 * The screen that results go to. On a terminal, results are fitted to its width, and longer results than its height go
 * through a pager. If stdout is not a terminal, the output depends only on `color` (--color=always). A zeroed struct
 * means no terminal and no colour.
 */
struct cli_screen {
    char *color_text;   /* value of --color */
    int wide, no_pager; /* --wide: do not shorten or omit anything; --no-pager */
    bool terminal, color;
    size_t width, height; /* columns and lines of the terminal */
    double noise;         /* of a score of the store; 0: unknown */
    FILE *pager;          /* the pager that reads stdout now, or NULL */
    int terminal_fd;      /* the original stdout while a pager runs */
};

#define CLI_SCREEN_OPTIONS(s)                                                                                                    \
    CLI_OPTION("color", &(s)->color_text, "auto|always|never", "colour by outcome (default: auto, only on a terminal)"),         \
        CLI_FLAG("wide", &(s)->wide, "print every column and every text in full"),                                               \
        CLI_FLAG("no-pager", &(s)->no_pager, "do not open a pager, however long the result is")

/* Sets up *screen from its options, stdout and the environment (NO_COLOR, CLICOLOR_FORCE, TERM, COLUMNS, LINES). Prints
 * a message and returns false on failure. */
bool cli_screen_open(struct cli_screen *screen);

/* Announces how many lines will be printed; opens a pager if the terminal cannot show them at once. */
void cli_screen_expect(struct cli_screen *screen, size_t lines);

/* Waits until the pager, if any, exits, and restores stdout. */
void cli_screen_close(struct cli_screen *screen);

/* Styles of outcomes. The label is always printed too, so colour is never the only sign. Kept trials are cyan, limits
 * yellow and failures red, because people with colour blindness can tell cyan from red and yellow. */
enum cli_style { CLI_PLAIN, CLI_STRONG, CLI_QUIET, CLI_KEPT, CLI_BEST, CLI_LIMIT, CLI_FAILED };
enum cli_style cli_label_style(enum lineage_label label);
const char *cli_style_on(const struct cli_screen *screen, enum cli_style style);  /* returns "" without colour */
const char *cli_style_off(const struct cli_screen *screen, enum cli_style style);

/* ---- options ------------------------------------------------------------------------------------- */

enum cli_format { CLI_TABLE, CLI_TSV, CLI_JSON, CLI_CSV };

/* Whether the result is one line of cells for each row. */
static inline bool cli_format_is_rows(enum cli_format format)
{
    return format == CLI_TSV || format == CLI_CSV;
}

/* The options of every command that opens a store. Zero the struct and put CLI_STORE_OPTIONS(&store) into the table. */
struct cli_store_options {
    char *dir;
    char *direction;
    char *metric;
    struct lineage_sql_limits sql; /* set by `sql` only */
};

#define CLI_STORE_OPTIONS(o)                                                                                                     \
    {"directory", 'C', POPT_ARG_STRING,                                                                                          \
     &(o)->dir,   0,   "the store: a directory or postgres://.. (default: the current directory or a parent)",                   \
     "DIR"},                                                                                                                     \
        CLI_OPTION("direction", &(o)->direction, "lower|higher", "which score is better (default: the store's setting)"),        \
        CLI_OPTION("metric", &(o)->metric, "COLUMN", "the score column (default: the store's setting)")

/* The directory of commands without the other two. */
#define CLI_DIR_OPTION(dir)                                                                                                      \
    {"directory", 'C', POPT_ARG_STRING, dir, 0, "the store (default: the current directory or a parent)", "DIR"}

#define CLI_FORMAT_OPTION(text) CLI_OPTION("format", text, "table|tsv|csv|json", "how to print the result (default: table)")

/* A parsed command line. The positional arguments and the option strings belong to it; release it when done. */
struct cli_args {
    poptContext context;
    struct poptOption *options;
    const char **argv;
    const char **positional; /* NULL-terminated */
    size_t n_positional;
};

/*
 * Parses argv (argv[0] is the command's name) with the table of options, to which it adds --help. There must be at
 * least min and at most max positional arguments. Returns CLI_GO_ON, or the exit status after printing help or an
 * error. The manual page and the shell completion of the command come from the same table (support/manual.h,
 * support/complete.h).
 */
int cli_parse(struct cli_args *args, const struct cli_command *command, struct poptOption *options, size_t min, size_t max,
              int argc, const char **argv);
void cli_args_release(struct cli_args *args);

/* Sets *command to the words after --, which belong to another command and are not read as options. Returns the number of words before
 * them. */
int cli_words_before(const char *const **command, int argc, const char **argv);

bool cli_format_parse(enum cli_format *format, const char *text); /* NULL gives CLI_TABLE; prints on failure */

/*
 * Loads a library of the system with flags of dlopen besides RTLD_NOW; close it with dlclose. Returns NULL with the reason in why
 * [size].
 */
void *cli_load_library(const char *name, int flags, char *why, size_t size);

/* Sets the function pointer of `size` bytes at `function` to a function of the library; false if it has none of that name. */
bool cli_find_function(void *function, size_t size, void *library, const char *name);

/* Accepts "lower" and "higher"; NULL gives the store's default. Prints a message and returns false on other texts. */
bool cli_direction_parse(enum lineage_direction *direction, const char *text);

/* Reads NAME:lower or NAME:higher into the second score of the settings. Returns false after printing an error that begins
 * with `what`. */
bool cli_second_parse(struct lineage_config *config, const char *what, const char *text);

/* Parses a number that is the whole text. Prints a message and returns false on failure. */
bool cli_number_parse(double *value, const char *option, const char *text);
bool cli_amount_parse(double *value, const char *option, const char *text); /* finite, at least 0 */
/* A time or a size with an optional unit (30m, 500M); without one it is in seconds, hours or bytes, and so is *value. */
enum cli_measure { CLI_SECONDS, CLI_HOURS, CLI_BYTES };
bool cli_measure_parse(double *value, enum cli_measure measure, const char *option, const char *text);
bool cli_count_parse(size_t *value, const char *option, const char *text);

/* Parses a comma-separated list of labels into a bit set. Prints a message and returns false on an unknown label. */
bool cli_labels_parse(unsigned *labels, const char *text);

/* Splits NAME=VALUE at the first `=` and copies the name. Prints a message and returns false without a `=`. */
bool cli_assignment_parse(char name[LINEAGE_NAME_MAX], const char **value, const char *option, const char *text);

/* Storage for the texts of conditions and parameters; the storage must outlive them. */
struct cli_texts {
    char bytes[8192];
    const char *at[128];
    size_t used, n;
};

/* Parses texts such as adam,sgd or 'a b' into the condition. Returns false, without a message, if the text is
 * malformed. */
bool cli_texts_parse(struct lineage_condition *condition, struct cli_texts *texts, const char *text);

/* Parses a RANGE or texts (adam,sgd). Prints a message and returns false if it is neither. */
bool cli_condition_parse(struct lineage_condition *condition, struct cli_texts *texts, const char *name, const char *text);

/* Parses a number or one text. Prints a message and returns false if it is neither. Leaves param->name unchanged. */
bool cli_value_parse(struct lineage_param *param, struct cli_texts *texts, const char *name, const char *text);

/* ---- errors -------------------------------------------------------------------------------------- */

/* Prints one line on standard error with control characters escaped. For messages that are not errors. */
void cli_say(const char *message);
void cli_tell(const char *format, ...) __attribute__((format(printf, 1, 2))); /* the same with a format */
void cli_say_notice(void *context, const struct lineage_notice *notice); /* for lineage_open_options */

/* Writes all of bytes[0..n), in as many pieces as the descriptor takes. Returns false, with errno set, if it takes no more. */
bool cli_write_all(int fd, const char *bytes, size_t n);

/* A text that is written piece by piece. Zeroed before it is opened, which returns NULL when out of memory. cli_writer_close returns
 * the text (free it), or NULL if it was not opened or memory ran out. */
struct cli_writer {
    FILE *out;
    char *text;
    size_t length;
};
FILE *cli_writer_open(struct cli_writer *writer);
char *cli_writer_close(struct cli_writer *writer);

/* Makes or empties a file that only its owner may read; it is not opened through a link. NULL with errno on failure. */
FILE *cli_private_file(const char *path);

/* Makes the directories above a file of the user, which nobody else may enter. Failures show when the file is made. */
void cli_make_parents(const char *path);

/* Closes a descriptor, unless it is negative: none. cli_shut sets it to -1, too. */
void cli_close(int fd);
void cli_shut(int *fd);

/* Joins a directory and a name. Returns false if the path is too long. */
bool cli_path_in(char out[PATH_MAX], const char *dir, const char *name);
/* Makes a directory NAME-XXXXXX in TMPDIR or /tmp. Returns false with errno; dir is then "". */
bool cli_temporary_dir(char *dir, size_t size, const char *name);

/* For qsort: doubles, smallest first, and texts by their bytes. */
int cli_by_number(const void *a, const void *b);
int cli_by_text(const void *a, const void *b);

bool cli_ends_with(const char *text, const char *end);

/* The number of texts of a list that ends with NULL; 0 without a list. */
static inline size_t cli_texts_length(const char *const *list)
{
    size_t n = 0;
    while (list && list[n])
        n++;
    return n;
}

/* Prints "lineage: text" on standard error and returns status. */
int cli_error(enum cli_exit status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints it like cli_error and returns false. */
bool cli_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Copies a message to out, and returns that. Its commands to type, as `lineage verify`, get the -C DIR of this command line. What is printed
 * on standard error has it already. */
char *cli_with_store(char *out, size_t size, const char *message);
void cli_say_store(const char *dir); /* the DIR */

/* Both report that memory ran out: the first prints a message and returns CLI_SYSTEM, the second fills *err and returns
 * LINEAGE_ENOMEM. */
int cli_no_memory(void);
enum lineage_status cli_no_memory_error(struct lineage_error *err);

/* Makes room for an item behind the n of an array that has room for `capacity`. Returns false when out of memory, which leaves the
 * array unchanged. The function takes the address of the pointer to the array. */
#define CLI_ROOM(items, n, capacity) cli_room(&(items), n, &(capacity), sizeof *(items))
bool cli_room(void *items, size_t n, size_t *capacity, size_t size);

/* Prints the library's message and returns the exit status that belongs to it. */
int cli_fail(const struct lineage_error *err);

/* Returns the known word with the smallest edit distance to word, or NULL if none is close. */
const char *cli_nearest(const char *word, const char *const *known);

/* What to do instead of a command, or of an option of it (`--name` or `--name=VALUE`), that earlier versions had. NULL: it is none
 * of them. option: NULL or "" asks about the command. */
const char *cli_instead(const char *command, const char *option);

/* ---- store --------------------------------------------------------------------------------------- */

/* The state of one command that works on a store. The command's run function zeroes it and puts CLI_SESSION_OPTIONS
 * into its option table. */
struct cli_session {
    int (*before_open)(struct cli_session *session, void *context); /* optional; returns CLI_GO_ON or an exit status */
    bool before_store; /* the command works before there is a store (`append --create`); every other command refuses a
                           * directory without a store */
    bool appends; /* --direction must be the store's, because rows are kept by it */
    bool may_create; /* the command has the option --create, which the refusal then names */
    bool wait_for_server; /* wait while the store's server is away, instead of going on without it; before_open may set it */
    bool (*cancelled)(void *cancel_context); /* optional; see lineage_open_options */
    void *cancel_context;
    struct cli_store_options where;
    char *format_text;
    enum cli_format format;
    struct cli_screen screen; /* for commands that have CLI_SCREEN_OPTIONS(&session.screen) */
    struct cli_args args;
    struct lineage_store *store;
};

#define CLI_SESSION_OPTIONS(s) CLI_STORE_OPTIONS(&(s)->where), CLI_FORMAT_OPTION(&(s)->format_text)

/*
 * Parses the command line, opens the store (notices go to stderr), calls work, and cleans up. There must be at least
 * min and at most max positional arguments. Returns the exit status.
 */
int cli_on_store(struct cli_session *session, const struct cli_command *command, struct poptOption *options, size_t min,
                 size_t max, int argc, const char **argv, cli_work_fn *work, void *context);

/*
 * Makes the metric that has the name of the store's score the score of a measured trial without one. Returns false with
 * LINEAGE_EINVAL in *err if the trial has both and they differ.
 */
bool cli_take_score(struct lineage_trial *trial, bool auto_status, const struct lineage_store *store, struct lineage_error *err);

/* Delivers the trials that wait for the log's server. Each command that is about to append calls it; commands that read never
 * do, because a directory that is only looked at must not send anything. The command goes on even if that fails. */
void cli_deliver_waiting(struct lineage_store *store);

/* Call it before an error about the settings of a store: while its server is away they are those seen last, or the defaults. Returns
 * CLI_GO_ON if the settings are the store's, else an exit status after a message. */
int cli_server_answers(struct lineage_store *store);

/* Returns false, with an error message, for a directory without a store: an empty answer would be misread as "nobody
 * tried this". */
bool cli_has_store(const char *dir, bool may_create);

/* Writes the path of the nearest parent of the current directory that holds a store; path is "" if the current directory is a store or
 * there is none. */
void cli_store_above(char path[PATH_MAX]);

/* Where people keep stores below dir: writes "; there is one in runs/mine", or nothing. */
void cli_store_below(char out[PATH_MAX + 32], const char *dir);

/* Whether the directory holds a store: it has settings or trials. */
bool cli_is_store(const char *dir);
bool cli_store_has(const char *dir, const char *name); /* a file of that name */

/* Creates a store and its missing parent directories; config NULL: makes one again whose rows are known (lineage_store_restore). On failure the new directories are removed again. Returns an exit
 * status. */
int cli_store_create(const char *dir, const struct lineage_config *config);

/* Makes a directory, with its missing parents, whose lineage.json says that its log is on a server. On failure the new
 * directories are removed again. Returns an exit status. */
int cli_store_attach(const char *dir, const char *server);

/* Seconds of a monotonic clock. Timeouts and progress never use the time of day, because it can be set at any
 * moment. */
double cli_now(void);

/* Formats a duration for people: "7:05", "1:02:03". Shows at most 1000 hours, because a forecast from one slow first
 * step may be a year. */
void cli_duration_format(char text[32], double seconds);

/*
 * Returns one of two signs of the same width: the second one if the environment asks for plain ASCII, that is if the first
 * of LC_ALL, LC_CTYPE and LANG that is set is C or POSIX. Files have the same bytes everywhere and do not use it.
 */
const char *cli_sign(const char *unicode, const char *ascii);

/* ---- output -------------------------------------------------------------------------------------- */

/* Prints JSON with the shortest form of each number and a final newline, on several indented lines if indent is
 * true. */
void cli_json_print(FILE *out, const json_t *value, bool indent);
/* Prints the value to standard output on several lines, and releases it. Returns CLI_OK, or that of cli_no_memory for NULL. */
int cli_json_answer(json_t *value);
/* Prints an element of an array to standard output and releases it. Prints `,` and a line end before each element but the first; the
 * caller prints the brackets. */
void cli_json_element(json_t *value, bool first);
/* Sets members: pairs of a name and a new value, whose reference it takes over, ended by NULL. A value
 * that is NULL leaves its member out. */
void cli_json_set(json_t *object, ...) __attribute__((sentinel));
char *cli_json_compact(const json_t *value, size_t *length); /* one line without blanks (free it); NULL: out of
                                                              * memory */
const char *cli_json_member(const json_t *object, const char *name); /* the member's text; "" if it has none */
const char *cli_json_string(const json_t *object, const char *name); /* NULL if it has none */
uint64_t cli_json_count(const json_t *object, const char *name); /* 0 unless it is a positive integer */
json_t *cli_json_number(double value); /* nan and infinities become the strings that the store writes */
json_t *cli_json_setting(double value); /* of a parameter */
bool cli_json_is_wide(const json_t *value); /* an integer that as a parameter is a text (lineage_param_is_text) */
json_t *cli_json_spelled(const json_t *value); /* the text of a parameter that is a list, wide, true, false or null: none */
json_t *cli_json_digits(const char *number); /* of a number as the store writes it; without a point it is an integer */
json_t *cli_json_text(const char *text);
json_t *cli_json_own(char *text); /* the same of a text that it frees; NULL for NULL */
/* A missing number becomes null, not 0: a trial with score 0 would win every comparison where lower is better. */
json_t *cli_json_figure(struct lineage_number number);
json_t *cli_json_column(const struct lineage_trial *trial, size_t i); /* a number, a label or a text; i as in
                                                                       * lineage_column */
json_t *cli_json_params(const struct lineage_param *params, size_t n); /* an object: numbers and texts by name */
json_t *cli_json_metrics(const struct lineage_param *metrics, size_t n); /* what was measured keeps its point */

/* A copy of the text (free), of *length bytes, in which integers of more than 64 bits are quoted, or the bare words NaN, Infinity and
 * -Infinity, as Python's json writes them, or both; NULL if out of memory. For integers, the text ends with NUL. */
enum { CLI_QUOTE_INTEGERS = 1, CLI_QUOTE_WORDS = 2 };
char *cli_json_quoted(const char *text, size_t *length, unsigned what);

/* Reads a JSON file, or stdin for `-`. Prints a message and returns NULL on failure. */
json_t *cli_json_load(const char *path);

/* The largest input, in MiB, that the program accepts from a file or from standard input. It is global, because
 * standard input is shared by all readers too. */
#define CLI_MAX_INPUT 256
extern long cli_max_input;
#define CLI_INPUT_OPTION                                                                                                         \
    {"max-input", 0, POPT_ARG_LONG, &cli_max_input, 0, "largest input accepted from a file or stdin, in MiB (default: 256)",     \
     "MIB"}

/* Reads a whole regular file, or stdin for `-`, as text; free it. Prints a message and returns NULL on failure. */
char *cli_read_all(const char *path, size_t *length);

/* Returns the trial as an object: its 17 columns, score, params, clip scale, turns, extra columns, line number. */
json_t *cli_trial_json(const struct lineage_trial *trial);

/* Sets the member "margin" of a trial: half of the 95 % interval of its score. Without known noise there is no such
 * member. */
void cli_json_set_margin(json_t *object, const struct lineage_config *config, const struct lineage_trial *trial);

/* The trials of a front as [{exp_id, score, second}]. */
json_t *cli_front_json(const struct lineage_front *front);

/* The verdict on a prediction as {verdict, expected, happened, margin, covered}; the last two are null if the noise is
 * unknown. */
json_t *cli_verdict_json(const struct lineage_hypothesis *hypothesis);

/* Returns text as one line for a terminal, with control characters escaped and at most max code points (0: no limit);
 * free it. */
char *cli_text_line(const char *text, size_t max);
/* Prints like printf, in one write, but `%.60s` prints the text as cli_text_line(text, 60) returns it; `%.0s`, unlike printf, prints all
 * of it. Other kinds: c d u zu lu llu f g and %%. No flags, no widths. */
void cli_print(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same with the function that prints each text; max: -1 without a precision. */
typedef void cli_put_fn(FILE *out, const char *text, int max);
void cli_print_with(FILE *out, cli_put_fn *put, const char *format, va_list args) __attribute__((format(printf, 3, 0)));

/*
 * A list that is printed as a table (aligned, with a head line), as TSV (canonical quoting, with a header) or as JSON
 * (an array of objects). The function that adds a cell decides its alignment and its JSON type.
 */
struct cli_list;
struct cli_list *cli_list_new(enum cli_format format, size_t n, const char *const *columns); /* never NULL */
void cli_list_text(struct cli_list *list, const char *text);
void cli_list_number(struct cli_list *list, double value, bool present); /* not present: an empty cell, null in JSON */
/* Writes a number (LINEAGE_NUMBER_MAX bytes) with two digits below the noise of the scores, or six decimals if it is
 * unknown; with every digit if the screen is wide or NULL. Returns out. */
const char *cli_number_text(char *out, const struct cli_screen *screen, double value);
void cli_list_digits(struct cli_list *list, const char *number); /* a number as the store writes it; "": an empty cell */
void cli_list_count(struct cli_list *list, size_t value);
void cli_list_head(struct cli_list *list); /* names the columns of a table without rows, which prints nothing otherwise */
/* Adds a statistic. A table shows four significant digits, or n/a if it is not present. TSV and JSON contain all
 * digits, or an empty cell and null. */
void cli_list_figure(struct cli_list *list, double value, bool present);

/* Writes how many trials have each label, "1 crash, 2 keep", and returns out. */
enum { CLI_LABELS_MAX = 300 };
const char *cli_labels_text(char out[CLI_LABELS_MAX], const size_t labels[LINEAGE_N_LABELS]);
/* Writes the value of a parameter as notes have it: a number, or a text in quotes if it has a comma. Returns out. */
const char *cli_value_text(char *out, double value, const char *text); /* out [LINEAGE_PARAM_QUOTED_MAX] */

/* Adds several cells: cli_list_add(list, CLI_TEXT(name), CLI_COUNT(n)). */
struct cli_cell {
    enum { CLI_CELL_END, CLI_CELL_TEXT, CLI_CELL_NUMBER, CLI_CELL_DIGITS, CLI_CELL_COUNT, CLI_CELL_FIGURE, CLI_CELL_MEAN } kind;
    const char *text;
    double value, margin;
    size_t count;
    bool present;
};
#define CLI_TEXT(t) {.kind = CLI_CELL_TEXT, .text = (t)}
#define CLI_DIGITS(t) {.kind = CLI_CELL_DIGITS, .text = (t)}
#define CLI_COUNT(n) {.kind = CLI_CELL_COUNT, .count = (n)}
#define CLI_NUMBER(v, p) {.kind = CLI_CELL_NUMBER, .value = (v), .present = (p)}
#define CLI_FIGURE(v, p) {.kind = CLI_CELL_FIGURE, .value = (v), .present = (p)}
#define CLI_MEAN(v, m) {.kind = CLI_CELL_MEAN, .value = (v), .margin = (m)} /* in a table lineage_mean_text, else all digits */
#define cli_list_add(list, ...) cli_list_cells(list, (const struct cli_cell[]){__VA_ARGS__, {.kind = CLI_CELL_END}})
#define cli_list_row(list, ...) (cli_list_add(list, __VA_ARGS__), cli_list_end_row(list)) /* the last cells of a row */
void cli_list_cells(struct cli_list *list, const struct cli_cell *cells);

/* Colours the cell that was added last, except its first `lead` bytes (which hold a drawing before the text). */
void cli_list_style(struct cli_list *list, enum cli_style style, size_t lead);

/*
 * Makes a list of at most 24 columns, which are separated by commas. A table is fitted to the screen, unless that is NULL. Signs behind
 * the name of a column say how a terminal shows it: "id:1/12,passed over=passed:6,params:6/12w,hypothesis:4/12%".
 *   =passed  A terminal shows the shorter title `passed` above the column. TSV, CSV, JSON and a pipe have the name.
 *   :6       The rank of the column is 6. Rank 1 is most important: on a terminal that is too narrow, the columns with the highest rank
 *            are left out first, and of equal ones the last.
 *   /12      Texts of the column may be shortened to 12 terminal columns. Without this sign they are never shortened.
 *   /12%     They may be shortened to 12 terminal columns or to three tenths of the screen, whichever is more.
 *   /12w     They may be shortened to 12 terminal columns, and consist of pairs NAME=VALUE. The pairs that all rows share are printed
 *            once, below the table.
 */
struct cli_list *cli_list_of(enum cli_format format, struct cli_screen *screen, const char *columns);
/* Fits a list of cli_list_new to the screen, with as many columns, whose names may be missing. Call it before the first row. */
void cli_list_fit(struct cli_list *list, struct cli_screen *screen, const char *columns);

/* Returns false if memory runs out, or if the user left the pager and so will not see further rows. */
bool cli_list_end_row(struct cli_list *list);
size_t cli_list_rows(const struct cli_list *list);
int cli_list_finish(struct cli_list *list); /* prints the remaining rows, frees the list, returns an exit
                                                     * status */

/* A list of trials with the usual columns. A table also has the margins of the scores if the noise in config is known; TSV
 * keeps its columns. Pass the same config to all three; NULL: no margins. */
struct cli_list *cli_trial_list_new(enum cli_format format, const struct lineage_config *config);
bool cli_trial_list_add(struct cli_list *list, const struct lineage_trial *trial, const struct lineage_config *config);
/* Prints all trials of a cursor and closes it; *n is set to their number. settings, or NULL, are those of the question
 * (lineage_store_settings), shown beside the parameters of each trial and explained on standard error if there is
 * no trial. Returns an exit status. */
struct lineage_settings;
int cli_print_cursor(struct lineage_cursor *cursor, const struct lineage_settings *settings, enum cli_format format,
                     struct cli_screen *screen, size_t *n);
