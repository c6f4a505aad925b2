/* common.c: errors with exit statuses, the nearest known word, opening a store. */
#include <stdarg.h>
#include <string.h>

#include "cli.h"

int cli_error(enum cli_exit status, const char *format, ...)
{
    char text[2048];
    va_list args;
    fflush(stdout);
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c; c++) /* what a user or a file put in must not act on the terminal */
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    fprintf(stderr, "lineage: %s\n", text);
    return (int)status;
}

int cli_fail(const struct lineage_error *err)
{
    switch (err->status) {
    case LINEAGE_EINVAL:
    case LINEAGE_ECORRUPT:
    case LINEAGE_EEXIST:
    case LINEAGE_ENOTFOUND:
    case LINEAGE_ELIMIT: return cli_error(CLI_USAGE, "%s", err->text);
    default: return cli_error(CLI_SYSTEM, "%s", err->text);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Levenshtein distance of words shorter than 64; longer ones are far from everything. */
static size_t distance(const char *a, const char *b)
{
    size_t row[64], n = strlen(b);
    if (n >= 64)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(change, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

const char *cli_nearest(const char *word, const char *const *known)
{
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2;
    for (; *known; known++) {
        size_t d = distance(word, *known);
        if (d < best_distance) {
            best_distance = d;
            best = *known;
        }
    }
    return best;
}

static void print_notice(void *context, const struct lineage_notice *notice)
{
    (void)context;
    fprintf(stderr, "lineage: %s\n", notice->text);
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
        cli_error(CLI_USAGE, "--direction '%s': known are lower, higher", text);
    return *direction != LINEAGE_DIRECTION_DEFAULT;
}

static int open_store(struct lineage_store **store, const struct cli_store_options *options)
{
    struct lineage_open_options open = {.metric = options->metric, .notice = print_notice};
    struct lineage_error err;
    *store = NULL;
    if (!cli_direction_parse(&open.direction, options->direction))
        return CLI_USAGE;
    if (lineage_store_open(store, options->dir ? options->dir : ".", &open, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return CLI_GO_ON;
}

int cli_on_store(struct cli_session *session, const struct cli_command *command, struct poptOption *options,
                 size_t min, size_t max, int argc, const char **argv, cli_work_fn *work, void *context)
{
    int status = cli_parse(&session->args, command, options, min, max, argc, argv);
    if (status == CLI_GO_ON && !cli_format_parse(&session->format, session->format_text))
        status = CLI_USAGE;
    if (status == CLI_GO_ON && session->before_open)
        status = session->before_open(session, context);
    if (status == CLI_GO_ON)
        status = open_store(&session->store, &session->where);
    if (status == CLI_GO_ON)
        status = work(session, context);
    lineage_store_close(session->store);
    cli_args_release(&session->args);
    return status;
}
