/* session.c: opens and closes the store of a command line, and creates stores. */
#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/queue.h>
#include <lineage/text.h>

#include "cli.h"

/* Notices go to stderr, so that a piped result stays clean. Repairs and rebuilt mirrors do not change the exit
 * status. */
void cli_say_notice(void *context, const struct lineage_notice *notice)
{
    (void)context;
    cli_say(notice->text);
}

/* Makes the name of a new directory durable. A parent that this user must not read cannot be synced. */
static bool sync_parent(const char *path)
{
    char parent[PATH_MAX + 4];
    snprintf(parent, sizeof parent, "%s/..", path);
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 ? fsync(fd) == 0 : errno == EACCES;
    cli_close(fd);
    return synced;
}

/* Creates the missing directories of path up to its last slash. *made is set to where the first new directory ends in
 * path, or 0. EEXIST counts as success, as in mkdir -p, because another process may create the same directory. A
 * leading slash is skipped, because nothing precedes it. */
static bool make_parents(char *path, size_t *made)
{
    *made = 0;
    for (char *slash = path; (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        int result = mkdir(path, 0777);
        if (result == 0 && !*made)
            *made = (size_t)(slash - path);
        bool fails = result == 0 ? !sync_parent(path) : errno != EEXIST;
        *slash = '/';
        if (fails)
            return false;
    }
    return true;
}

/* Removes what make_parents created, deepest first. A directory that is not empty is kept, because another process uses
 * it by now. */
static void remove_parents(char *path, size_t made)
{
    for (char *slash; made && strlen(path) > made && (slash = strrchr(path, '/'));) {
        *slash = '\0';
        rmdir(path);
    }
}

/* Leaves it to the store to create the directory, because lineage_store_create promises what is left after a
 * failure. */
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
    if ((config ? lineage_store_create(dir, config, &err) : lineage_store_restore(dir, &err)) == LINEAGE_OK)
        return CLI_OK;
    remove_parents(path, made);
    return cli_fail(&err);
}

/* Written aside and renamed, so that nobody reads half of it. */
static bool write_settings(const char *dir, const char *text)
{
    char aside[PATH_MAX + 32], file[PATH_MAX + 32];
    snprintf(aside, sizeof aside, "%s/.lineage.json.new", dir);
    snprintf(file, sizeof file, "%s/lineage.json", dir);
    int fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    bool written = fd >= 0 && cli_write_all(fd, text, strlen(text)) && fsync(fd) == 0;
    if (fd >= 0)
        written = close(fd) == 0 && written;
    written = written && rename(aside, file) == 0;
    if (!written)
        unlink(aside);
    return written;
}

int cli_store_attach(const char *dir, const char *server)
{
    char path[PATH_MAX];
    size_t made = 0;
    json_t *settings = json_pack("{s:s}", "log", server);
    char *text = settings ? json_dumps(settings, JSON_INDENT(2)) : NULL;
    json_decref(settings);
    if (!text)
        return cli_no_memory();
    int status = CLI_OK;
    if (snprintf(path, sizeof path, "%s", dir) >= PATH_MAX)
        status = cli_error(CLI_USAGE, "the path of the store is too long");
    else if (!make_parents(path, &made) || (mkdir(path, 0777) != 0 && errno != EEXIST) || !write_settings(path, text)) {
        status = cli_error(CLI_SYSTEM, "cannot write %s/lineage.json: %s", dir, strerror(errno));
        rmdir(path); /* unless something is in it */
        remove_parents(path, made);
    }
    free(text);
    return status;
}

void cli_store_below(char out[PATH_MAX + 32], const char *dir)
{
    static const char *const places[] = {"*/lineage.json", "runs/*/lineage.json"};
    char pattern[PATH_MAX];
    glob_t found = {0};
    out[0] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places && !out[0]; i++) {
        if (snprintf(pattern, sizeof pattern, "%s/%s", dir, places[i]) < PATH_MAX && glob(pattern, 0, NULL, &found) == 0) {
            const char *path = found.gl_pathv[0];
            path += strncmp(path, "./", 2) == 0 ? 2 : 0;
            snprintf(out, PATH_MAX + 32, "; there is one in %.*s", (int)(strlen(path) - strlen("/lineage.json")), path);
        }
        globfree(&found);
    }
}

/* A path that does not lead to a directory passes: opening it fails and says why. */
bool cli_has_store(const char *dir, bool may_create)
{
    struct stat st;
    char below[PATH_MAX + 32];
    size_t lost = cli_is_store(dir) ? 0 : lineage_store_lost(dir);
    if (lost)
        return cli_refuse("%s was a store of %zu trial%s, gone from it now; `lineage restore` brings them back", dir, lost,
                          lost == 1 ? "" : "s");
    if (cli_is_store(dir) || stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return true;
    cli_store_below(below, dir);
    return cli_refuse(
        "no store in %s (no results.tsv, no lineage.json)%s%s; give its directory with -C, or make one with `lineage init`%s",
        dir, strcmp(dir, ".") == 0 ? " or the directories above it" : "", below, may_create ? " or --create" : "");
}

static bool look_at_none(void *context, const struct lineage_claim *claim)
{
    (void)context, (void)claim;
    return false;
}

/* Asks for the claims, because they are on the server only. Any other failure is reported by the work itself. */
static bool is_away(struct lineage_store *store, struct lineage_error *err)
{
    struct lineage_queue *queue = NULL;
    enum lineage_status status = lineage_queue_open(&queue, store, err);
    if (status == LINEAGE_OK)
        status = lineage_queue_each(queue, look_at_none, NULL, err);
    lineage_queue_close(queue);
    return status == LINEAGE_EAWAY;
}

int cli_server_answers(struct lineage_store *store)
{
    struct lineage_error err;
    return is_away(store, &err) ? cli_fail(&err) : CLI_GO_ON;
}

/* Rows are kept by the direction of the store, so one that says otherwise is refused. A directory with rows of another tool and without
 * settings has no direction of its own. */
static int check_direction(struct cli_session *session, enum lineage_direction wanted)
{
    const struct lineage_config *config = lineage_store_config(session->store);
    if (wanted == LINEAGE_DIRECTION_DEFAULT || wanted == config->direction)
        return CLI_GO_ON;
    CLI_TRY(cli_server_answers(session->store));
    return cli_error(
        CLI_USAGE, "--direction %s: in %s a %s score is better (lineage.json); leave the option out, or use another store",
        session->where.direction, lineage_store_dir(session->store), config->direction == LINEAGE_HIGHER ? "higher" : "lower");
}

bool cli_take_score(struct lineage_trial *trial, bool auto_status, const struct lineage_store *store, struct lineage_error *err)
{
    const char *name = lineage_store_score_name(store);
    const struct lineage_param *metric = NULL;
    char score[LINEAGE_NUMBER_MAX], other[LINEAGE_NUMBER_MAX];
    for (size_t i = 0; name && i < trial->n_metrics; i++)
        metric = strcmp(trial->metrics[i].name, name) == 0 ? &trial->metrics[i] : metric;
    if (metric && !trial->core_metric.present && (auto_status || lineage_label_is_measured(trial->status)))
        trial->core_metric = (struct lineage_number){true, metric->value};
    if (!metric || !trial->core_metric.present || trial->core_metric.value == metric->value)
        return true;
    *err = (struct lineage_error){.status = LINEAGE_EINVAL};
    snprintf(err->text, sizeof err->text,
             "the score of this store is `%s` (lineage.json): core_metric %s and the metric %s=%s cannot both be right; give one "
             "of them",
             name, lineage_number_format(score, trial->core_metric.value), name, lineage_number_format(other, metric->value));
    return false;
}

/* A command that works before there is a store opens it without a mirror, so that it leaves no files behind. */
static int open_store(struct cli_session *session)
{
    const char *dir = session->where.dir ? session->where.dir : ".";
    const struct cli_store_options *options = &session->where;
    struct lineage_open_options open = {.cancelled = session->cancelled,
                                        .context = session->cancel_context,
                                        .metric = options->metric,
                                        .notice = cli_say_notice,
                                        .sql = options->sql,
                                        .no_mirror = !cli_is_store(dir)};
    struct lineage_error err;
    if (!cli_direction_parse(&open.direction, options->direction))
        return CLI_USAGE;
    if ((!session->before_store || (!lineage_is_server(dir) && access(dir, F_OK) != 0)) &&
        !cli_has_store(dir, session->may_create))
        return CLI_USAGE;
    const enum lineage_direction wanted = session->appends && (lineage_is_server(dir) || cli_store_has(dir, "lineage.json"))
                                              ? open.direction
                                              : LINEAGE_DIRECTION_DEFAULT;
    if (wanted != LINEAGE_DIRECTION_DEFAULT)
        open.direction = LINEAGE_DIRECTION_DEFAULT;
    if (lineage_store_open(&session->store, dir, &open, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return check_direction(session, wanted);
}

enum { SECONDS_BETWEEN_TRIES = 2 };

/* The store is opened again for each try, because its settings are the server's. */
static int open_patiently(struct cli_session *session)
{
    struct lineage_error err;
    for (bool told = false;; told = true) {
        int status = open_store(session);
        if (status != CLI_GO_ON || !session->wait_for_server || !is_away(session->store, &err))
            return status;
        if (!told)
            cli_tell("%s; this worker begins when the server answers", err.text);
        lineage_store_close(session->store);
        session->store = NULL;
        sleep(SECONDS_BETWEEN_TRIES);
    }
}

void cli_deliver_waiting(struct lineage_store *store)
{
    (void)!lineage_sync(store, NULL, NULL);
}

/* As if -C had named it: the option's text is released like every other. */
static bool use_store_above(struct cli_session *session)
{
    char path[PATH_MAX];
    cli_store_above(path);
    return !*path || (session->where.dir = strdup(path));
}

/* Everything that can be wrong in the command line is checked before the store is opened, because opening takes locks
 * and builds a mirror. The arguments are released last, because positional arguments and option strings belong to
 * them. */
int cli_on_store(struct cli_session *session, const struct cli_command *command, struct poptOption *options, size_t min,
                 size_t max, int argc, const char **argv, cli_work_fn *work, void *context)
{
    int status = cli_parse(&session->args, command, options, min, max, argc, argv);
    if (status != CLI_GO_ON)
        goto done;
    status = CLI_USAGE;
    if (!cli_format_parse(&session->format, session->format_text) || !cli_screen_open(&session->screen))
        goto done;
    if (!session->where.dir && !use_store_above(session)) {
        status = cli_no_memory();
        goto done;
    }
    if (session->before_open && (status = session->before_open(session, context)) != CLI_GO_ON)
        goto done;
    status = open_patiently(session);
    if (status == CLI_GO_ON)
        session->screen.noise = lineage_store_config(session->store)->noise_std;
    if (status == CLI_GO_ON)
        status = work(session, context);
done:
    cli_screen_close(&session->screen);
    lineage_store_close(session->store);
    cli_args_release(&session->args);
    return status;
}

int cli_run(const struct cli_command *c, int argc, const char **argv)
{
    struct cli_args args;
    if (c->call.session)
        return cli_on_store(c->call.session, c, c->call.options, c->call.min, c->call.max, argc, argv, c->call.work,
                            c->call.context);
    int status = cli_parse(&args, c, c->call.options, c->call.min, c->call.max, argc, argv);
    if (status == CLI_GO_ON)
        status = c->call.args_work(&args, c->call.context);
    cli_args_release(&args);
    return status;
}
