/*
 * options.c: parses command lines by an option table (popt), prints help from the same table, and checks values.
 *
 * popt is used instead of getopt because help and parsing share one table, long options may follow arguments, and it
 * copies strings. This file adds what scripts need: no exit() within a library, a one-line error that suggests the
 * nearest option, and exit status 2.
 */
#include <ctype.h>

#include <lineage/notes.h>
#include <lineage/text.h>

#include "support/complete.h"
#include "support/manual.h"

enum { HELP_VALUE = 1, MAX_OPTIONS = 96 };

/* Help that was asked for is a result: it goes to standard output with status 0 and can be piped into a pager. */
enum { HELP_WIDTH = 79 };

/* A line that begins with a blank or has several blanks inside is part of a list or a table. */
static bool is_prose(const char *line, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++)
        if (line[i] == ' ' && (i == 0 || line[i + 1] == ' '))
            return false;
    return length > 0;
}

/* Prints the words of a line behind those before it in the same paragraph, and returns the new column. */
static size_t print_words(const char *line, size_t length, size_t column)
{
    for (size_t at = 0, n; at < length; at += n + 1) {
        n = strcspn(line + at, " \n");
        if (column && column + 1 + n > HELP_WIDTH)
            column = (size_t)(putchar('\n') == EOF);
        column += (size_t)printf("%s%.*s", column ? " " : "", (int)n, line + at);
    }
    return column;
}

/* Descriptions are written in lines of any length and wrapped here, so that none is wider than a terminal. */
static void print_description(const char *text)
{
    size_t column = 0;
    for (; *text; text += strcspn(text, "\n") + (text[strcspn(text, "\n")] != '\0')) {
        size_t length = strcspn(text, "\n");
        if (is_prose(text, length)) {
            column = print_words(text, length, column);
            continue;
        }
        printf("%s%.*s\n", column ? "\n" : "", (int)length, text);
        column = 0;
    }
    putchar('\n');
}

static void print_help(poptContext context, const struct cli_command *command)
{
    poptPrintHelp(context, stdout, 0);
    putchar('\n');
    print_description(command->description);
    if (command->examples)
        printf("\nExamples:\n%s\n", command->examples);
}

/* Accepts --core_metric for --core-metric, because columns have underscores and users type what they know. Only the
 * part before `=` is changed. The copies live as long as the arguments and are one block of pointers and texts, because
 * popt keeps pointers into the arguments until its context is freed. argv[0] becomes "lineage COMMAND", which popt
 * prints in the usage line. */
static const char **with_dashes(int argc, const char **argv, const char *title)
{
    size_t bytes = 0;
    for (int i = 0; i < argc; i++)
        bytes += strlen(argv[i]) + 1;
    size_t head = ((size_t)argc + 1) * sizeof(char *), name = strlen(title) + 1;
    const char **out = malloc(head + name + bytes);
    if (!out)
        return NULL;
    char *text = (char *)out + head;
    out[0] = memcpy(text, title, name);
    text += name;
    for (int i = 1; i < argc; i++) {
        size_t length = strlen(argv[i]) + 1;
        out[i] = memcpy(text, argv[i], length);
        if (strncmp(text, "--", 2) == 0)
            for (char *c = text; *c && *c != '='; c++)
                if (*c == '_')
                    *c = '-';
        text += length;
    }
    out[argc] = NULL;
    return out;
}

/* Adds --help to the table. popt's own help is not used, because it would exit the process, and only the command may
 * decide the exit status. A table ends with an entry without name and target, like popt's own macro, whose members are
 * all zero. */
static struct poptOption *with_help(const struct poptOption *options)
{
    const struct poptOption help = {"help", 'h', POPT_ARG_NONE, NULL, HELP_VALUE, "print this text", NULL};
    size_t n = 0;
    while (options[n].longName || options[n].shortName || options[n].arg)
        n++;
    struct poptOption *out = calloc(n + 2, sizeof *out);
    if (out) {
        memcpy(out, options, n * sizeof *out);
        out[n] = help;
    }
    return out;
}

/* Short options are not compared, because every letter is near to every other letter. */
static const char *nearest_option(const struct poptOption *options, const char *bad)
{
    const char *names[MAX_OPTIONS] = {0};
    char word[LINEAGE_NAME_MAX];
    size_t n = 0;
    for (size_t i = 0; options[i].longName && n < MAX_OPTIONS - 1; i++)
        names[n++] = options[i].longName;
    while (*bad == '-')
        bad++;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(bad, "="), bad);
    return cli_nearest(word, names);
}

const char *cli_instead(const char *command, const char *option)
{
    static const char *const instead[][3] = {
        {"sign", "", "`ssh-keygen -Y sign` signs what `lineage verify --digest` prints; see `lineage help operations`"},
        {"append", "batch", "`lineage core` computes the figures for `append --json`; see `lineage help kernels`"},
        {"compare", "code", "name the trials, such as 001,012 003,013; see `lineage help agents`"},
        {"passk", "counts", "`lineage core` takes counts: passk, passk_beta_fit and passk_beta"},
        {"passk", "rates", "`lineage core` takes counts: passk, passk_beta_fit and passk_beta"},
        {"passk", "select", "run passk once for each policy, with --format json"},
        {"passk", "estimate", "`lineage core passk` takes counts, and the estimator bernoulli or unbiased"},
        {"night", "submit", "start `lineage night SWEEP --worker` in each job; see `lineage help machines`"},
        {"night", "print", "start `lineage night SWEEP --worker` in each job; see `lineage help machines`"},
        {"night", "workers", "start `lineage night SWEEP --worker` in each job; see `lineage help machines`"},
        {"night", "gpus", "start `lineage night SWEEP --worker` in each job; see `lineage help machines`"},
        {"night", "scheduler-option", "start `lineage night SWEEP --worker` in each job; see `lineage help machines`"},
        {"night", "hosts", "start `lineage night SWEEP --worker` in each job; see `lineage help machines`"},
        {"night", "image", "start `lineage night SWEEP --worker` in each job; see `lineage help machines`"},
    };
    const char *name = option ? option + strspn(option, "-") : "";
    for (size_t i = 0; i < sizeof instead / sizeof *instead; i++)
        if (strcmp(instead[i][0], command) == 0 && strcspn(name, "=") == strlen(instead[i][1]) &&
            strncmp(instead[i][1], name, strcspn(name, "=")) == 0)
            return instead[i][2];
    return NULL;
}

/* Returns the option --param, by which parameters are named that have no option of their own; NULL if the command has none. */
static const struct poptOption *param_option(const struct poptOption *options)
{
    while (options->longName && strcmp(options->longName, "param") != 0)
        options++;
    return options->longName ? options : NULL;
}

/* The value that was given to an unknown option: behind its '=', or the next argument. NULL if there is none. */
static const char *value_of_bad(const char *bad, int argc, const char **argv)
{
    const char *value = strchr(bad, '=');
    if (value)
        return value + 1;
    for (int i = 1; i + 1 < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], bad) == 0)
            return argv[i + 1][0] == '-' && strchr("0123456789.", argv[i + 1][1]) == NULL ? NULL : argv[i + 1];
    return NULL;
}

static int report_bad_option(const struct cli_args *args, const struct cli_command *command, int code, int argc,
                             const char **argv)
{
    const char *bad = poptBadOption(args->context, POPT_BADOPTION_NOALIAS);
    const char *instead = code == POPT_ERROR_BADOPT ? cli_instead(command->name, bad) : NULL;
    const char *near = code == POPT_ERROR_BADOPT ? nearest_option(args->options, bad) : NULL;
    if (instead)
        return cli_error(CLI_USAGE, "%s %.*s: this option was removed; %s", command->name, (int)strcspn(bad, "="), bad, instead);
    if (code == POPT_ERROR_BADOPT && !near && strncmp(bad, "--", 2) == 0 && param_option(args->options)) {
        const char *value = value_of_bad(bad, argc, argv);
        return cli_error(CLI_USAGE, "%s %s: unknown option; if it is a parameter, write --param %.*s=%s; see `lineage %s --help`",
                         command->name, bad, (int)strcspn(bad + 2, "="), bad + 2, value ? value : "VALUE", command->name);
    }
    const bool text = code == POPT_ERROR_BADOPT && (strstr(command->arguments, "TEXT") || strstr(command->arguments, "WORDS"));
    return cli_error(CLI_USAGE, "%s %s: %s%s%s%s%s; see `lineage %s --help`", command->name, bad, poptStrerror(code),
                     near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "",
                     text ? "; a text that begins with - belongs behind --" : "", command->name);
}

/* Whether the command takes one ID: "ID", "[ID]" or "RECIPE|CHECKPOINT|ID". */
static bool is_one_id(const char *arguments)
{
    const char *id = strstr(arguments, "ID");
    return id && (strcmp(id, "ID") == 0 || strcmp(id, "ID]") == 0);
}

/* Checks the number of arguments before anything is opened or created. Too many arguments are reported first: an extra
 * argument usually comes from a forgotten quote, and the message shows where. A command that asks takes NAME=VALUE as --param:
 * `lineage tried lr=0.1`. */
static int check_positional(struct cli_args *args, const struct cli_command *command, size_t min, size_t max)
{
    args->positional = poptGetArgs(args->context);
    while (args->positional && args->positional[args->n_positional])
        args->n_positional++;
    if (args->n_positional > max && strncmp(command->arguments, "-- ", 3) == 0)
        return cli_error(CLI_USAGE, "%s: write the command after `--`: lineage %s -- %s ..; see `lineage %s --help`",
                         command->name, command->name, args->positional[0], command->name);
    const struct poptOption *param = param_option(args->options);
    const bool asks = param && strstr(command->arguments, "NAME=");
    size_t extra = max;
    for (; asks && extra < args->n_positional && strchr(args->positional[extra], '='); extra++)
        if (poptSaveString(param->arg, POPT_ARG_ARGV, args->positional[extra]) != 0)
            return cli_no_memory();
    if (extra < args->n_positional && param && strchr(args->positional[extra], '='))
        return cli_error(CLI_USAGE, "%s: unexpected argument '%s'; a parameter is given as --param %s", command->name,
                         args->positional[extra], args->positional[extra]);
    if (extra < args->n_positional)
        return cli_error(CLI_USAGE, "%s: unexpected argument '%s'; %ssee `lineage %s --help`", command->name,
                         args->positional[extra], max == 1 && is_one_id(command->arguments) ? "run it once for each; " : "",
                         command->name);
    if (args->n_positional > max)
        args->n_positional = max;
    if (args->n_positional < min)
        return cli_error(CLI_USAGE, "%s: missing argument; usage: lineage %s [OPTION...] %s", command->name, command->name,
                         command->arguments);
    return CLI_GO_ON;
}

/* Whether the command line asks for the option table (as manual page or completion) instead of running the command. No command has
 * options with these names. They count only as the very first word, where the dispatcher puts them. */
static bool cli_asks_table(int argc, const char **argv)
{
    return argc > 1 && (strcmp(argv[1], CLI_COMPLETE) == 0 || strcmp(argv[1], CLI_MANUAL) == 0);
}

static int tell_table(const struct cli_command *command, const struct poptOption *options, int argc, const char **argv)
{
    if (strcmp(argv[1], CLI_COMPLETE) == 0)
        return complete_words(command, options, (size_t)argc - 2, argv + 2);
    manual_of_command(stdout, command, argc > 2 ? argv[2] : "", options);
    return CLI_OK;
}

/* POPT_CONTEXT_NO_EXEC prevents popt's configuration from replacing an option by another program; a command line in a
 * script must mean what it says. popt returns -1 at the end of the options and less on an error. A positive value is an
 * option with a value of its own; the only one is --help, which takes precedence over later errors and missing
 * arguments. */
int cli_parse(struct cli_args *args, const struct cli_command *command, struct poptOption *options, size_t min, size_t max,
              int argc, const char **argv)
{
    char title[LINEAGE_NAME_MAX];
    int code;
    if (cli_asks_table(argc, argv)) {
        *args = (struct cli_args){0};
        return tell_table(command, options, argc, argv);
    }
    snprintf(title, sizeof title, "lineage %s", command->name);
    *args = (struct cli_args){.options = with_help(options), .argv = with_dashes(argc, argv, title)};
    if (!args->options || !args->argv ||
        !(args->context = poptGetContext(NULL, argc, args->argv, args->options, POPT_CONTEXT_NO_EXEC)))
        return cli_no_memory();
    char usage[LINEAGE_NAME_MAX + 16];
    snprintf(usage, sizeof usage, "[OPTION...] %s", command->arguments);
    poptSetOtherOptionHelp(args->context, usage);
    while ((code = poptGetNextOpt(args->context)) > 0)
        if (code == HELP_VALUE)
            return print_help(args->context, command), CLI_OK;
    for (size_t i = 0; args->options[i].longName; i++)
        if (args->options[i].shortName == 'C' && *(char **)args->options[i].arg)
            cli_say_store(*(char **)args->options[i].arg);
    if (code < -1)
        return report_bad_option(args, command, code, argc, argv);
    return check_positional(args, command, min, max);
}

/* popt leaves the strings that it stored in the table to the caller. */
static void free_value(const struct poptOption *option)
{
    unsigned kind = option->argInfo & POPT_ARG_MASK;
    if (!option->arg)
        return;
    if (kind == POPT_ARG_STRING)
        free(*(char **)option->arg);
    if (kind == POPT_ARG_ARGV && *(char ***)option->arg) {
        for (char **item = *(char ***)option->arg; *item; item++)
            free(*item);
        free(*(char ***)option->arg);
    }
}

/* Frees the context first, because it points into the table and the arguments. This also works for a table that was
 * filled only in part: values that popt did not reach are NULL. */
void cli_args_release(struct cli_args *args)
{
    poptFreeContext(args->context);
    for (size_t i = 0; args->options && args->options[i].longName; i++)
        free_value(&args->options[i]);
    free(args->options);
    free((void *)args->argv);
    *args = (struct cli_args){0};
}

/* Called before the store is opened (see session.c), so that a misspelt format costs nothing. */
bool cli_format_parse(enum cli_format *format, const char *text)
{
    static const char *const names[] = {"table", "tsv", "json", "csv", NULL};
    *format = CLI_TABLE;
    for (int i = 0; text && names[i]; i++)
        if (strcmp(names[i], text) == 0) {
            *format = (enum cli_format)i;
            return true;
        }
    if (text)
        cli_error(CLI_USAGE, "--format '%s': use table, tsv, csv or json", text);
    return !text;
}

/* Accepts exactly the numbers that the store accepts, so that a command cannot ask for a number that a row cannot
 * hold. */
bool cli_number_parse(double *value, const char *option, const char *text)
{
    if (lineage_number_parse(value, text, strlen(text)))
        return true;
    char name[LINEAGE_NAME_MAX];
    snprintf(name, sizeof name, "%s", option);
    for (char *c = name; *c; c++) /* columns are spelled with _ */
        *c = *c == '_' ? '-' : *c;
    return cli_refuse("--%s '%s' is not a number%s", name, text, strchr(text, ',') ? "; use a point: 0.3" : "");
}

/* Used for seconds, bytes and the like. Refuses nan and inf, which the store accepts as numbers, because they are not
 * amounts. */
bool cli_amount_parse(double *value, const char *option, const char *text)
{
    double amount;
    if (!cli_number_parse(&amount, option, text))
        return false;
    if (!(amount >= 0 && isfinite(amount)))
        return cli_refuse("--%s '%s' is not a finite number of at least 0", option, text);
    *value = amount;
    return true;
}

/* `m` is minutes here: no time limit has months. As elsewhere with memory limits, M is 2^20 and MB 10^6. */
bool cli_measure_parse(double *value, enum cli_measure measure, const char *option, const char *text)
{
    static const struct {
        const char *name;
        enum cli_measure measure;
        double size;
    } units[] = {{"s", CLI_SECONDS, 1},      {"m", CLI_SECONDS, 60},     {"min", CLI_SECONDS, 60},   {"h", CLI_SECONDS, 3600},
                 {"d", CLI_SECONDS, 86400},  {"K", CLI_BYTES, 0x1p10},   {"M", CLI_BYTES, 0x1p20},   {"G", CLI_BYTES, 0x1p30},
                 {"T", CLI_BYTES, 0x1p40},   {"KiB", CLI_BYTES, 0x1p10}, {"MiB", CLI_BYTES, 0x1p20}, {"GiB", CLI_BYTES, 0x1p30},
                 {"TiB", CLI_BYTES, 0x1p40}, {"kB", CLI_BYTES, 1e3},     {"KB", CLI_BYTES, 1e3},     {"MB", CLI_BYTES, 1e6},
                 {"GB", CLI_BYTES, 1e9},     {"TB", CLI_BYTES, 1e12},    {"B", CLI_BYTES, 1}};
    const bool bytes = measure == CLI_BYTES;
    size_t n = strlen(text), digits = n;
    while (digits && isalpha((unsigned char)text[digits - 1]))
        digits--;
    double amount = 0;
    bool ok = lineage_number_parse(&amount, text, digits == n ? n : digits) && amount >= 0 && isfinite(amount);
    for (size_t i = 0; ok && digits < n; i++) {
        ok = i < sizeof units / sizeof *units;
        if (ok && (units[i].measure == CLI_BYTES) == bytes && strcmp(units[i].name, text + digits) == 0) {
            *value = amount * units[i].size / (measure == CLI_HOURS ? 3600 : 1);
            return true;
        }
    }
    if (ok)
        *value = amount;
    else
        cli_error(CLI_USAGE,
                  bytes ? "--%s '%s' is not a number of bytes of at least 0; write 500M, 2G or 2000000000"
                        : "--%s '%s' is not a time of at least 0; write 90, 90s, 30m, 8h or 2d",
                  option, text);
    return ok;
}

/* The first character is checked because strtoull accepts "-1" and " 3". The maximum is INT64_MAX, the largest integer
 * of JSON and SQLite. */
bool cli_count_parse(size_t *value, const char *option, const char *text)
{
    char *end = NULL;
    unsigned long long n = isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
    if (end && !*end && n <= INT64_MAX) {
        *value = (size_t)n;
        return true;
    }
    return cli_refuse("--%s '%s' is not a whole number of at least 0", option, text);
}

static bool label_of(enum lineage_label *label, const char *text, size_t length)
{
    for (int i = 0; i < LINEAGE_N_LABELS; i++) {
        const char *name = lineage_label_name((enum lineage_label)i);
        if (strlen(name) == length && strncmp(name, text, length) == 0) {
            *label = (enum lineage_label)i;
            return true;
        }
    }
    return false;
}

bool cli_labels_parse(unsigned *labels, const char *text)
{
    *labels = 0;
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, ",");
        enum lineage_label label;
        if (!label_of(&label, word, length))
            return cli_refuse("'%.*s' is not a status label; use keep discard crash eval_budget_overrun train_budget_overrun "
                              "size_blocked preflight_crash harness_abort disqualified baseline",
                              (int)length, word);
        *labels |= 1u << label;
        word += length + (word[length] == ',');
    }
    return true;
}

bool cli_assignment_parse(char name[LINEAGE_NAME_MAX], const char **value, const char *option, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals - text >= LINEAGE_NAME_MAX)
        return cli_refuse("--%s '%s' is not NAME=VALUE", option, text);
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    *value = equals + 1;
    return true;
}

/* ---- texts ---- */

static const char *take_text(struct cli_texts *texts, const char **text)
{
    char value[LINEAGE_PARAM_TEXT_MAX + 1];
    size_t room = sizeof texts->bytes - texts->used;
    if (!lineage_param_text_next(value, text) || strlen(value) >= room || texts->n == sizeof texts->at / sizeof *texts->at)
        return NULL;
    char *copy = strcpy(texts->bytes + texts->used, value);
    texts->used += strlen(value) + 1;
    texts->at[texts->n++] = copy;
    return copy;
}

bool cli_texts_parse(struct lineage_condition *condition, struct cli_texts *texts, const char *text)
{
    condition->texts = texts->at + texts->n;
    condition->n_texts = 0;
    while (*text && take_text(texts, &text))
        condition->n_texts++;
    return !*text && condition->n_texts;
}

bool cli_condition_parse(struct lineage_condition *condition, struct cli_texts *texts, const char *name, const char *text)
{
    struct lineage_error err;
    *condition = (struct lineage_condition){.name = condition->name};
    if (!lineage_param_is_text(text)) {
        if (lineage_range_parse(&condition->range, text, &err) == LINEAGE_OK)
            return true;
        return cli_refuse("%s: %s%s", name, err.text, *text ? ", or text in single quotes" : "");
    }
    if (cli_texts_parse(condition, texts, text))
        return true;
    return cli_refuse("%s: '%.60s' is neither a range nor texts; put a text with commas or quotes into single quotes", name,
                      text);
}

bool cli_value_parse(struct lineage_param *param, struct cli_texts *texts, const char *name, const char *text)
{
    const char *rest = text;
    param->text = NULL;
    if (!lineage_param_is_text(text)) {
        if (lineage_number_parse(&param->value, text, strlen(text)))
            return true;
        return cli_refuse("parameter %s: '%s' is not a number%s", name, text,
                          *text ? "; put a text that begins like a number into single quotes" : "");
    }
    param->value = (double)NAN;
    param->text = take_text(texts, &rest);
    if (param->text && !*rest)
        return true;
    return cli_refuse("parameter %s: '%.150s' is not a parameter's text, which has 1 to %d bytes and no semicolons; put a text "
                      "with commas or quotes into single quotes",
                      name, text, LINEAGE_PARAM_TEXT_MAX);
}

bool cli_direction_parse(enum lineage_direction *direction, const char *text)
{
    *direction = LINEAGE_DIRECTION_DEFAULT;
    if (!text)
        return true;
    if (strcmp(text, "lower") == 0)
        *direction = LINEAGE_LOWER;
    else if (strcmp(text, "higher") == 0)
        *direction = LINEAGE_HIGHER;
    else
        cli_error(CLI_USAGE, "--direction '%s': use lower or higher", text);
    return *direction != LINEAGE_DIRECTION_DEFAULT;
}

bool cli_second_parse(struct lineage_config *config, const char *what, const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t n = colon ? (size_t)(colon - text) : 0;
    bool higher = colon && strcmp(colon, ":higher") == 0, lower = colon && strcmp(colon, ":lower") == 0;
    if (!n || n >= sizeof config->second || (!higher && !lower))
        return cli_refuse("%s '%.100s': give a name of at most 63 bytes and which value is better, such as peak_vram_mb:lower",
                          what, text);
    memcpy(config->second, text, n);
    config->second[n] = '\0';
    config->second_direction = higher ? LINEAGE_HIGHER : LINEAGE_LOWER;
    return true;
}

int cli_words_before(const char *const **command, int argc, const char **argv)
{
    for (int i = 1; i < argc && !cli_asks_table(argc, argv); i++)
        if (strcmp(argv[i], "--") == 0) {
            *command = argv + i + 1;
            return i;
        }
    return argc;
}
