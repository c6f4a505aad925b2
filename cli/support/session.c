/* session.c: from a command line to an open store and back; stores that are not there yet. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* To stderr, so that a result that is piped on stays a result. Repairs and rebuilt mirrors are
 * worth a line, not an exit status. */
static void print_notice(void *context, const struct lineage_notice *notice)
{
    (void)context;
    cli_say(notice->text);
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

static bool has(const char *dir, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n < PATH_MAX && access(path, F_OK) == 0;
}

/* results.tsv alone is enough: stores of other tools have no lineage.json. */
bool cli_is_store(const char *dir)
{
    return lineage_is_server(dir) || has(dir, "lineage.json") || has(dir, "results.tsv");
}

/* Make what is missing of path up to its last slash; *made is where the first directory made
 * ends, 0 for none. Somebody else may make the same directory at the same time: EEXIST is
 * success, as for mkdir -p. A path's leading slash is passed over, there is nothing to make in
 * front of it. */
static bool make_parents(char *path, size_t *made)
{
    *made = 0;
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        int result = mkdir(path, 0777);
        bool fails = result != 0 && errno != EEXIST;
        if (result == 0 && !*made)
            *made = (size_t)(slash - path);
        *slash = '/';
        if (fails)
            return false;
    }
    return true;
}

/* Take back what make_parents made, deepest first; what is not empty by now is somebody's. */
static void remove_parents(char *path, size_t made)
{
    for (char *slash; made && strlen(path) > made && (slash = strrchr(path, '/'));) {
        *slash = '\0';
        rmdir(path);
    }
}

/* The directory itself is the store's to make, so that a failure there leaves what the library
 * says it leaves. */
int cli_store_create(const char *dir, const struct lineage_config *config)
{
    char path[PATH_MAX];
    struct lineage_error err;
    size_t made = 0;
    if (snprintf(path, sizeof path, "%s", dir) >= PATH_MAX)
        return cli_error(CLI_USAGE, "the path of the store is too long");
    if (!lineage_is_server(dir) && !make_parents(path, &made)) {
        int status = cli_error(CLI_SYSTEM, "cannot make the parent directories of %s: %s", dir, strerror(errno));
        remove_parents(path, made);
        return status;
    }
    if (lineage_store_create(dir, config, &err) == LINEAGE_OK)
        return CLI_OK;
    remove_parents(path, made);
    return cli_fail(&err);
}

/* Where no store is there is nothing to mirror yet: a command that fails, or only asks, leaves nothing behind. */
static int open_store(struct cli_session *session)
{
    const char *dir = session->where.dir ? session->where.dir : ".";
    const struct cli_store_options *options = &session->where;
    struct lineage_open_options open = {.cancelled = session->cancelled, .context = session->cancel_context,
                                        .metric = options->metric, .notice = print_notice, .sql = options->sql,
                                        .no_mirror = !cli_is_store(dir)};
    struct lineage_error err;
    if (!cli_direction_parse(&open.direction, options->direction))
        return CLI_USAGE;
    if (lineage_store_open(&session->store, dir, &open, &err) != LINEAGE_OK)
        return cli_fail(&err);
    if (!session->delivers_itself) /* trials that waited for the server; whatever becomes of them, the command goes on */
        (void)!lineage_sync(session->store, NULL, NULL);
    return CLI_GO_ON;
}

/* Everything that the command line alone can get wrong is found before the store is opened, because opening takes
 * locks and makes a mirror. The arguments go last: positional ones and option strings point into them. */
int cli_on_store(struct cli_session *session, const struct cli_command *command, struct poptOption *options,
                 size_t min, size_t max, int argc, const char **argv, cli_work_fn *work, void *context)
{
    int status = cli_parse(&session->args, command, options, min, max, argc, argv);
    if (status == CLI_GO_ON && !cli_format_parse(&session->format, session->format_text))
        status = CLI_USAGE;
    if (status == CLI_GO_ON && !cli_screen_open(&session->screen))
        status = CLI_USAGE;
    if (status == CLI_GO_ON && session->before_open)
        status = session->before_open(session, context);
    if (status == CLI_GO_ON)
        status = open_store(session);
    if (status == CLI_GO_ON)
        status = work(session, context);
    cli_screen_close(&session->screen);
    lineage_store_close(session->store);
    cli_args_release(&session->args);
    return status;
}
