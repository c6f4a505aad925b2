/*
 * cli.h: what the commands of `lineage` share.
 *
 * Each command is one file commands/cmd_NAME.c with one `const struct cli_command`, listed
 * with its summary in commands.def, which says in which of the two programs it is. A command
 * parses its options from a table (help is made from the same table), opens the store, does its work with
 * public functions only, and returns an exit status. Results go to stdout, everything else to stderr.
 */
#ifndef CLI_H
#define CLI_H

#include <jansson.h>
#include <popt.h>
#include <stdbool.h>
#include <stdio.h>

#include <lineage/query.h>
#include <lineage/store.h>
#include <lineage/verify.h>

enum cli_exit {
    CLI_OK = 0,
    CLI_NO = 1,     /* the answer is no: nothing matched, verify found faults */
    CLI_USAGE = 2,  /* usage or bad input */
    CLI_SYSTEM = 3, /* I/O, lock, database, memory */
    CLI_GO_ON = -1  /* from cli_parse: nothing to report, carry on */
};

struct cli_command {
    const char *name;
    const char *arguments;   /* "[ID]", as the usage line shows them after the options */
    const char *description; /* a paragraph or two, lines at most 80 wide */
    const char *examples;    /* one per line, or NULL */
    /* For completion, or NULL: the words that an option or argument (`svg`, `FAMILY`) can have and that only this
     * command knows, between blanks or commas. NULL if it is none of those. */
    const char *(*choices)(const char *name, char *out, size_t size);
    int (*run)(const struct cli_command *command, int argc, const char **argv);
};

/* ---- the terminal -------------------------------------------------------------------------------- */

/*
 * Where results go. On a terminal they are fitted to its width, and to a pager where they are longer than it; anywhere
 * else the bytes depend on nothing here but `color`, which was asked for then. Zero is no terminal and no colour.
 */
struct cli_screen {
    char *color_text;   /* --color */
    int wide, no_pager; /* --wide: nothing is cut or left out; --no-pager */
    bool terminal, color;
    size_t width, height; /* columns and lines of the terminal */
    FILE *pager;          /* while one shows what stdout gets */
    int terminal_fd;      /* and the stdout of before */
};

#define CLI_SCREEN_OPTIONS(s)                                                                                     \
    {"color", 0, POPT_ARG_STRING, &(s)->color_text, 0, "colour by outcome (default: auto, on a terminal)",        \
     "auto|always|never"},                                                                                        \
        {"wide", 0, POPT_ARG_NONE, &(s)->wide, 0, "cut nothing, leave no column out", NULL},                      \
    {                                                                                                             \
        "no-pager", 0, POPT_ARG_NONE, &(s)->no_pager, 0, "on a terminal: no pager, however long the result", NULL \
    }

/* Ask stdout and the environment (NO_COLOR, CLICOLOR_FORCE, TERM, COLUMNS, LINES); options are set. Prints on failure. */
bool cli_screen_open(struct cli_screen *screen);

/* That many lines will be printed: a pager gets them if they are more than the terminal shows at once. */
void cli_screen_expect(struct cli_screen *screen, size_t lines);

/* Wait for the pager, if there is one, and give stdout back. */
void cli_screen_close(struct cli_screen *screen);

/* Outcomes by colour, never by colour alone: the label stands beside it. Cyan against red and yellow, as everybody tells
 * them apart. */
enum cli_style { CLI_PLAIN, CLI_STRONG, CLI_QUIET, CLI_KEPT, CLI_BEST, CLI_LIMIT, CLI_FAILED };
enum cli_style cli_label_style(enum lineage_label label);
const char *cli_style_on(const struct cli_screen *screen, enum cli_style style);  /* "" without colour */
const char *cli_style_off(const struct cli_screen *screen, enum cli_style style);

/* ---- options ------------------------------------------------------------------------------------- */

enum cli_format { CLI_TABLE, CLI_TSV, CLI_JSON };

/* Options that every command on a store takes. Zero it, put CLI_STORE_OPTIONS(&store) into the table. */
struct cli_store_options {
    char *dir;
    char *direction;
    char *metric;
    struct lineage_sql_limits sql; /* filled in by `sql` */
};

#define CLI_STORE_OPTIONS(o)                                                                            \
    {"directory", 'C', POPT_ARG_STRING, &(o)->dir, 0, "the store: a directory (default: the current one), or postgres://..", "DIR"}, \
        {"direction", 0, POPT_ARG_STRING, &(o)->direction, 0,                                           \
         "which score is better, over the store's own setting", "lower|higher"},                        \
    {                                                                                                   \
        "metric", 0, POPT_ARG_STRING, &(o)->metric, 0, "score column, over the store's own setting",     \
            "COLUMN"                                                                                    \
    }

#define CLI_FORMAT_OPTION(text)                                                          \
    {                                                                                    \
        "format", 0, POPT_ARG_STRING, (text), 0, "how to print the result", "table|tsv|json" \
    }

/* A parsed command line. positional points into it; release when done (option strings go with it). */
struct cli_args {
    poptContext context;
    struct poptOption *options;
    const char **argv;
    const char **positional; /* NULL-terminated */
    size_t n_positional;
};

/*
 * Parse argv (argv[0] is the command's name) by the table. CLI_GO_ON, or the exit status after help or an
 * error was printed. --help is added to every table. min and max bound the positional arguments. The table is also
 * what the manual page and the completion of the command are made from (support/manual.h, support/complete.h).
 */
int cli_parse(struct cli_args *args, const struct cli_command *command, struct poptOption *options,
              size_t min, size_t max, int argc, const char **argv);
void cli_args_release(struct cli_args *args);

/* Whether the line asks cli_parse for the table instead of a parse; such a line is to come to it whole. */
bool cli_asks_table(int argc, const char **argv);

bool cli_format_parse(enum cli_format *format, const char *text); /* NULL gives table; prints on failure */

/* lower or higher; NULL gives the default. Prints on failure. */
bool cli_direction_parse(enum lineage_direction *direction, const char *text);

/* A number that must be all of text; prints and returns false otherwise. */
bool cli_number_parse(double *value, const char *option, const char *text);
bool cli_amount_parse(double *value, const char *option, const char *text); /* finite, not negative */
bool cli_count_parse(size_t *value, const char *option, const char *text);

/* A comma-separated list of labels as bit set; prints and returns false on an unknown one. */
bool cli_labels_parse(unsigned *labels, const char *text);

/* NAME=VALUE split at the first `=`; prints and returns false if there is none. name is copied. */
bool cli_assignment_parse(char name[LINEAGE_NAME_MAX], const char **value, const char *option,
                          const char *text);

/* Texts of conditions and parameters, kept for as long as those. */
struct cli_texts {
    char bytes[8192];
    const char *at[128];
    size_t used, n;
};

/* Whether text, given where a range or a number may be as well, is meant as text: it begins with a letter or a quote. */
bool cli_may_be_text(const char *text);

/* adam,sgd or 'a b': the condition's texts; false, without a message, if it is none. */
bool cli_texts_parse(struct lineage_condition *condition, struct cli_texts *texts, const char *text);

/* A RANGE, or texts (adam,sgd); prints and returns false if it is neither. */
bool cli_condition_parse(struct lineage_condition *condition, struct cli_texts *texts, const char *name,
                         const char *text);

/* A number, or one text; prints and returns false if it is neither. param->name is left alone. */
bool cli_value_parse(struct lineage_param *param, struct cli_texts *texts, const char *name, const char *text);

/* ---- errors -------------------------------------------------------------------------------------- */

/* One line on standard error, made harmless for a terminal: for messages that are no failure. */
void cli_say(const char *message);

/* Print "lineage: text" to stderr; returns status. */
int cli_error(enum cli_exit status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* For lack of memory: print it and return CLI_SYSTEM; or fill *err and return LINEAGE_ENOMEM. */
int cli_no_memory(void);
enum lineage_status cli_no_memory_error(struct lineage_error *err);

/* Print the library's message; returns the exit status that belongs to it. */
int cli_fail(const struct lineage_error *err);

/* The known word nearest to word by edit distance, NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *known);

/* ---- store --------------------------------------------------------------------------------------- */

/* One command at work on a store. A run function zeroes it and puts CLI_SESSION_OPTIONS into its table. */
struct cli_session {
    int (*before_open)(struct cli_session *session, void *context); /* optional; CLI_GO_ON or a status */
    bool delivers_itself; /* what waits in the outbox is left to the command (`sync`) */
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

/* What a command does with its open store and its own context; returns an exit status. */
typedef int cli_work_fn(struct cli_session *session, void *context);

/*
 * Parse the command line, open the store (notices go to stderr), do the work, clean up. min and max bound
 * the positional arguments. Returns the exit status.
 */
int cli_on_store(struct cli_session *session, const struct cli_command *command, struct poptOption *options,
                 size_t min, size_t max, int argc, const char **argv, cli_work_fn *work, void *context);

/* Whether the directory holds a store: its settings or its trials. */
bool cli_is_store(const char *dir);

/* Make a store, with its parent directories; those are taken back if it cannot be made. An exit status. */
int cli_store_create(const char *dir, const struct lineage_config *config);

/* Seconds of a monotonic clock. Nothing waits, ends or shows progress by the time of day, which may be set at any moment. */
double cli_now(void);

/* A length of time for people: "7:05", "1:02:03"; 1000 hours at most, as a first step that took a minute may promise a year. */
void cli_duration_format(char text[32], double seconds);

/* ---- output -------------------------------------------------------------------------------------- */

/* JSON with shortest numbers on out, indented if indent is true, with a newline. */
void cli_json_print(FILE *out, const json_t *value, bool indent);
char *cli_json_compact(const json_t *value, size_t *length); /* one line without blanks (free); NULL: no memory */
json_t *cli_json_number(double value); /* nan and infinities as the strings the store writes */
json_t *cli_json_text(const char *text);
/* null and not 0 for what is missing: a trial without a score would win every comparison where lower is better. */
json_t *cli_json_figure(struct lineage_number number);
json_t *cli_json_column(const struct lineage_trial *trial, size_t i); /* a number, a label or a text; i as in lineage_column */
json_t *cli_json_params(const struct lineage_param *params, size_t n); /* by name: numbers, texts */

/* Read a JSON file, `-` is stdin. NULL after printing why. */
json_t *cli_json_load(const char *path);

/* MiB that a command takes from a file or from standard input: of the whole program, like its standard input. */
#define CLI_MAX_INPUT 256
extern long cli_max_input;
#define CLI_INPUT_OPTION                                                                                       \
    {                                                                                                          \
        "max-input", 0, POPT_ARG_LONG, &cli_max_input, 0, "take no more from a file or stdin (default: 256)", "MIB" \
    }

/* A whole regular file, or stdin for `-`, as text (free). NULL after printing why. */
char *cli_read_all(const char *path, size_t *length);

/* The trial as an object: its 17 columns, score, params, clip scale, turns, extra columns, line. */
json_t *cli_trial_json(const struct lineage_trial *trial);

/* One line of text on a terminal: control characters shown, at most max code points (0 = all). free. */
char *cli_text_line(const char *text, size_t max);

/*
 * A list printed as table (aligned, head line), TSV (canonical quoting, header) or JSON (array of objects).
 * Cells given as text; kind says which are numbers for alignment and JSON.
 */
struct cli_list;
struct cli_list *cli_list_new(enum cli_format format, FILE *out, size_t n, const char *const *columns);
void cli_list_text(struct cli_list *list, const char *text);
void cli_list_number(struct cli_list *list, double value, bool present); /* absent: empty, null in JSON */
void cli_list_count(struct cli_list *list, size_t value);
/* A statistic: four significant digits and n/a in a table, in full (empty, null) elsewhere. */
void cli_list_figure(struct cli_list *list, double value, bool present);

/* Colour for the cell that was added last; its first `lead` bytes, a drawing before the text, stay quiet. */
void cli_list_style(struct cli_list *list, enum cli_style style, size_t lead);

/* How a column behaves on a terminal that has no room for all. */
struct cli_column_fit {
    const char *title; /* shorter than the column's name; NULL: that name */
    unsigned rank;     /* 1 comes first; those with high ranks are left out first */
    size_t least;      /* a text may be cut to so many columns of the terminal; 0: it is never cut */
    bool words;        /* NAME=VALUE ...: those that all rows have are said once, below */
};
/* A table for this screen; columns[n] as in cli_list_new. TSV and JSON stay as they are. Before the first row. */
void cli_list_fit(struct cli_list *list, struct cli_screen *screen, const struct cli_column_fit *columns);

/* False when out of memory, and when a pager was left: nobody reads what would follow. */
bool cli_list_end_row(struct cli_list *list);
size_t cli_list_rows(const struct cli_list *list);
int cli_list_finish(struct cli_list *list);         /* prints what is left, frees; an exit status */

/* Trials as a list with the usual columns. */
struct cli_list *cli_trial_list_new(enum cli_format format, FILE *out);
void cli_trial_list_fit(struct cli_list *list, struct cli_screen *screen);
bool cli_trial_list_add(struct cli_list *list, const struct lineage_trial *trial);
/* All trials of a cursor, which is closed; *n counts them. An exit status. */
int cli_print_cursor(struct lineage_cursor *cursor, enum cli_format format, struct cli_screen *screen, size_t *n);

#endif
