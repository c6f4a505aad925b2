/* cmd_init.c: `lineage init`: creates a store. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/trust.h>

#include "git/git.h"
#include "output/show.h"
#include "run/run_parts.h"

/* ---- makes a store from a log that was kept by hand (lineage_import_log) ---- */

/* An agent may append a row to its log while the log is converted. So the log is compared with the state in which it was
 * read immediately before it is replaced. */

struct store_from_log {
    const char *file; /* the log */
    const char *dir;  /* the new store; it may be the directory that holds the log as its results.tsv */
    struct lineage_config config;
    struct lineage_convert_options convert;
    lineage_finding_fn *report; /* of a row that is left out; the context is `file` */
};

#define LOG "results.tsv"
#define ORIGINAL "results.tsv.original"
#define DIGESTS_NOTE "user.lineage.digests" /* schema/FORMAT.md */

/* The new store while it is being made. The files of the store are renamed in this order: a log without digests gets new
 * ones, but digests without their log look like rows that were removed. */
static const char *const parts[] = {"lineage.json", LOG, ".results.tsv.digests"};
enum { PARTS = sizeof parts / sizeof *parts };

static int failed(const char *what, const char *path)
{
    return cli_error(CLI_SYSTEM, "cannot %s %s: %s", what, path, strerror(errno));
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* A store that has rows of its own is refused, because its log would be lost. */
static int check_place(const struct store_from_log *from, const struct stat *log, bool *replaced)
{
    char path[PATH_MAX];
    struct stat st;
    *replaced = false;
    if (!cli_path_in(path, from->dir, LOG))
        return cli_error(CLI_USAGE, "the path of the store is too long");
    if (stat(path, &st) != 0)
        return CLI_GO_ON;
    *replaced = is_same_file(&st, log);
    return *replaced || st.st_size == 0
               ? CLI_GO_ON
               : cli_error(CLI_USAGE, "%s is there already; `lineage import` adds the rows of %s to a store", path, from->file);
}

static int import(const struct store_from_log *from, const char *made, struct lineage_import_stats *stats)
{
    const struct lineage_open_options options = {.no_mirror = true};
    struct lineage_store *store;
    struct lineage_error err;
    enum lineage_status status = lineage_store_create(made, &from->config, &err);
    if (status == LINEAGE_OK)
        status = lineage_store_open(&store, made, &options, &err);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    status = lineage_import_log(store, from->file, &from->convert, stats, from->report, (void *)(uintptr_t)from->file, &err);
    lineage_store_close(store);
    return status == LINEAGE_OK ? CLI_GO_ON : cli_fail(&err);
}

/* A link instead of a rename, because results.tsv must not be missing at any moment. An original that an earlier attempt
 * left is the same file. */
static int keep_original(const struct store_from_log *from, const struct stat *log)
{
    char old[PATH_MAX], kept[PATH_MAX];
    struct stat st;
    if (!cli_path_in(old, from->dir, LOG) || !cli_path_in(kept, from->dir, ORIGINAL))
        return cli_error(CLI_USAGE, "the path of the store is too long");
    if (stat(old, &st) != 0 || st.st_size != log->st_size || st.st_mtim.tv_sec != log->st_mtim.tv_sec ||
        st.st_mtim.tv_nsec != log->st_mtim.tv_nsec)
        return cli_error(CLI_USAGE, "%s was changed while it was read; try again", old);
    if (link(old, kept) == 0 || (errno == EEXIST && lstat(kept, &st) == 0 && is_same_file(&st, log)))
        return CLI_GO_ON;
    return errno == EEXIST ? cli_error(CLI_USAGE, "%s is there already, and is another file; move it away", kept)
                           : failed("keep the original as", kept);
}

static const char *const mirror[] = {"lineage.db", "lineage.db-wal", "lineage.db-shm"};
enum { MIRROR = sizeof mirror / sizeof *mirror };

static bool sync_path(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | flags);
    bool synced = fd >= 0 ? fsync(fd) == 0 : errno == ENOENT;
    cli_close(fd);
    return synced;
}

/*
 * Makes the earlier renames durable before the next one. The attribute by which a log remembers that it has digests is
 * removed, because a kill or a power failure may leave the log without them; the next append sets it again.
 */
static bool settle(const char *dir, const char *path)
{
    (void)removexattr(path, DIGESTS_NOTE);
    return sync_path(dir, O_DIRECTORY) && sync_path(path, 0);
}

/* The mirror of the old log is removed; the next command makes that of the new one. */
static int put_in_place(const struct store_from_log *from, const char *made)
{
    char path[PATH_MAX], to[PATH_MAX];
    for (size_t i = 0; i < MIRROR; i++)
        if (cli_path_in(to, from->dir, mirror[i]))
            unlink(to);
    for (size_t i = 0; i < PARTS; i++) {
        if (!cli_path_in(path, made, parts[i]) || !cli_path_in(to, from->dir, parts[i]))
            return cli_error(CLI_USAGE, "the path of the store is too long");
        if (!settle(from->dir, path))
            return failed("sync", from->dir);
        if (rename(path, to) == 0)
            continue;
        /* A log without rows becomes a store without results.tsv, which the first append creates. */
        if (errno != ENOENT || (unlink(to) != 0 && errno != ENOENT))
            return failed("make", to);
    }
    return sync_path(from->dir, O_DIRECTORY) ? CLI_GO_ON : failed("sync", from->dir);
}

/* The directory is empty after a success; after a failure it holds files of the new store only. */
static void remove_made(const char *made)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < PARTS + MIRROR; i++)
        if (cli_path_in(path, made, i < PARTS ? parts[i] : mirror[i - PARTS]))
            unlink(path);
    rmdir(made);
}

/* Makes the store. Its files are complete in a directory of their own before the first of them gets its final name, and
 * results.tsv gets its name last, so that a kill leaves either the old log or the store. If the log is results.tsv of
 * the store's directory itself, it stays there as results.tsv.original. Writes the numbers of rows to stats. Returns CLI_GO_ON, or an exit status after printing the error; then nothing was changed. */
static int store_from_log(const struct store_from_log *from, struct lineage_import_stats *stats, bool *replaced)
{
    char made[PATH_MAX];
    struct stat log;
    struct lineage_config config = from->config;
    *stats = (struct lineage_import_stats){0};
    if (lineage_is_server(from->dir))
        return cli_error(CLI_USAGE, "--from makes a store in a directory; import the log into a store on a server");
    if (stat(from->file, &log) != 0)
        return cli_error(CLI_USAGE, "--from %s: %s", from->file, strerror(errno));
    int status = check_place(from, &log, replaced);
    if (status != CLI_GO_ON)
        return status;
    if (!cli_path_in(made, from->dir, ".init-XXXXXX"))
        return cli_error(CLI_USAGE, "the path of the store is too long");
    bool had_dir = access(from->dir, F_OK) == 0;
    if (!had_dir && cli_store_create(from->dir, &config) != CLI_OK) /* makes its parents, too */
        return CLI_SYSTEM;
    if (!mkdtemp(made)) {
        status = failed("make a directory in", from->dir);
    } else {
        status = import(from, made, stats);
        if (status == CLI_GO_ON && *replaced)
            status = keep_original(from, &log);
        if (status == CLI_GO_ON)
            status = put_in_place(from, made);
        remove_made(made);
    }
    if (status != CLI_GO_ON && !had_dir && cli_path_in(made, from->dir, "lineage.json")) {
        unlink(made);
        rmdir(from->dir);
    }
    return status;
}

/* ---- the code of trials that were recorded by a log of commits, such as that of karpathy/autoresearch ---- */

enum { ABBREVIATED = 7, WHOLE = 64 }; /* digits of a commit's name in such a log */

/* An id is a commit, perhaps with the prefix or the ending that makes it an id (lineage_import_log): g1234567, a1b2c3d-2. */
static bool read_commit(char commit[WHOLE + 1], const char *id)
{
    id += id[0] == 'g';
    size_t n = strspn(id, "0123456789abcdef");
    if (n < ABBREVIATED || n > WHOLE || (id[n] && id[n] != '-'))
        return false;
    memcpy(commit, id, n);
    commit[n] = '\0';
    return true;
}

/* The trial was not run here, so the command is not known. */
static bool write_run(const char *provenance, const char *exp_id, const struct repository *r, const char *commit)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/%s", provenance, exp_id);
    if (n < 0 || (size_t)n >= sizeof path - 16 || (mkdir(provenance, 0700) != 0 && errno != EEXIST) || mkdir(path, 0700) != 0)
        return false;
    strcat(path, "/run.json");
    json_t *run = json_pack("{s:[], s:s, s:{}, s:{s:s, s:s, s:s}}", "command", "directory", r->top, "params", "git", "commit",
                            commit, "top", r->top, "code", commit);
    FILE *out = cli_private_file(path);
    if (out)
        cli_json_print(out, run, true);
    json_decref(run);
    return out && fclose(out) == 0;
}

static bool keep(struct lineage_store *store, const char *provenance, const char *exp_id, const struct repository *r)
{
    char name[WHOLE + 1], commit[REPOSITORY_COMMIT_MAX];
    if (strchr(exp_id, '/') || !read_commit(name, exp_id) || !repository_commit(commit, r, name) ||
        strncmp(commit, name, strlen(name)) != 0 || !write_run(provenance, exp_id, r, commit))
        return false;
    if (repository_flag(r, "lineage.refs", true))
        code_ref_add(store, exp_id);
    return true;
}

/* Gives each trial whose id names a commit of the repository around dir a provenance with that commit, and a ref that keeps it:
 * most of these commits were reset, so git would remove them. Returns the number of trials that have one; 0 outside of a
 * repository. */
static size_t imported_code_keep(struct lineage_store *store, const char *dir)
{
    const struct lineage_query every = {0};
    struct repository *r = calloc(1, sizeof *r);
    struct lineage_cursor *cursor = NULL;
    struct lineage_error err;
    char *provenance = NULL;
    size_t n = 0;
    if (r && repository_find(r, dir) && lineage_store_path(&provenance, store, LINEAGE_PLACE_PROVENANCE, &err) == LINEAGE_OK &&
        lineage_query_open(&cursor, store, &every, &err) == LINEAGE_OK) {
        struct lineage_trial trial = {0};
        for (; lineage_cursor_next(cursor, &trial, &err) == LINEAGE_OK; lineage_trial_release(&trial))
            n += keep(store, provenance, trial.exp_id, r);
        lineage_cursor_close(cursor);
    }
    lineage_free(provenance);
    free(r);
    return n;
}

/* ---- `lineage init`: creates a store ---- */

struct init_options {
    struct cli_store_options where;
    char *label, *min_delta, *noise_std, *noise_seeds, *night_trials, *second, *second_noise;
    char *from, *log, **columns;
    int json_columns, tracked, anew;
};

/* Refuses a name that is too long, because the shortened name could be that of another column. */
static bool copy_name(char out[LINEAGE_NAME_MAX], const char *option, const char *text)
{
    if (!text)
        return true;
    if (strlen(text) >= LINEAGE_NAME_MAX)
        return cli_refuse("--%s is longer than %d bytes", option, LINEAGE_NAME_MAX - 1);
    strcpy(out, text);
    return true;
}

static bool read_second(struct lineage_config *config, const struct init_options *o)
{
    if (!o->second && o->second_noise)
        return cli_refuse("--second-noise-std belongs to --second");
    return (!o->second || cli_second_parse(config, "--second", o->second)) &&
           (!o->second_noise || cli_amount_parse(&config->second_noise_std, "second-noise-std", o->second_noise));
}

static bool fill_config(struct lineage_config *config, const struct init_options *o)
{
    size_t seeds = 0, trials = 0;
    bool ok = cli_direction_parse(&config->direction, o->where.direction) &&
              copy_name(config->metric, "metric", o->where.metric) && copy_name(config->metric_label, "metric-label", o->label) &&
              (!o->min_delta || cli_amount_parse(&config->min_delta, "min-delta", o->min_delta)) &&
              (!o->noise_std || cli_amount_parse(&config->noise_std, "noise-std", o->noise_std)) &&
              (!o->noise_seeds || cli_count_parse(&seeds, "noise-seeds", o->noise_seeds)) &&
              (!o->night_trials || cli_count_parse(&trials, "night-trials", o->night_trials)) && read_second(config, o);
    config->night_trials = (unsigned)trials;
    config->noise_seeds = (unsigned)seeds;
    return ok;
}

/* An existing log may have a form to which no trial can be added. The settings are written anyway, because reading it
 * needs them. */
static void report_unusable_log(const char *dir)
{
    const struct lineage_trial any = {.status = LINEAGE_CRASH};
    const struct lineage_open_options options = {.no_mirror = true};
    struct lineage_store *store;
    struct lineage_error err;
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/results.tsv", dir);
    if (lineage_is_server(dir) || n < 0 || n >= PATH_MAX || access(path, F_OK) != 0)
        return;
    enum lineage_status status = lineage_store_open(&store, dir, &options, &err);
    if (status == LINEAGE_OK)
        status = lineage_store_append_check(store, &any, NULL, &err);
    if (status != LINEAGE_OK)
        cli_say(err.text);
    lineage_store_close(store);
}

/* The commits that the rows name are looked up in the repository of the log. */
static int keep_commits(const char *file, const char *dir)
{
    struct lineage_store *store;
    struct lineage_error err;
    char place[PATH_MAX];
    snprintf(place, sizeof place, "%s", file);
    char *slash = strrchr(place, '/');
    if (slash)
        slash[slash == place] = '\0';
    if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
        return cli_fail(&err);
    size_t kept = imported_code_keep(store, slash ? place : ".");
    lineage_store_close(store);
    if (kept)
        printf("%zu of them name a commit of the repository, whose code is kept (lineage refs)\n", kept);
    return CLI_OK;
}

/* Writes a header with two more columns into a store that has no log yet. Its rows then repeat their settings and metrics
 * as JSON. */
static int write_header(const char *dir)
{
    char path[PATH_MAX];
    if (lineage_is_server(dir))
        return cli_error(CLI_USAGE, "--json-columns: a log on a server has the 17 columns only");
    int n = snprintf(path, sizeof path, "%s/results.tsv", dir);
    FILE *out = n > 0 && n < PATH_MAX ? fopen(path, "wxe") : NULL;
    if (!out)
        return cli_error(errno == EEXIST ? CLI_USAGE : CLI_SYSTEM, "--json-columns: cannot create %s: %s", path,
                         errno == EEXIST ? "it exists, and the header of a log never changes" : strerror(errno));
    for (size_t i = 0; i < LINEAGE_N_COLUMNS; i++)
        fprintf(out, "%s\t", lineage_column(i)->name);
    fputs("params\tmetrics\n", out);
    bool written = fflush(out) == 0 && fsync(fileno(out)) == 0;
    if (fclose(out) == 0 && written)
        return CLI_OK;
    int status = cli_error(CLI_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    unlink(path);
    return status;
}

static int name_score(const char *dir, const char *name)
{
    struct lineage_store *store = NULL;
    struct lineage_error err;
    enum lineage_status status = lineage_store_open(&store, dir, NULL, &err);
    if (status == LINEAGE_OK)
        status = lineage_store_name_score(store, name, &err);
    lineage_store_close(store);
    return status == LINEAGE_OK ? CLI_OK : cli_fail(&err);
}

/* With --from, --metric names a column of the log; the score column of the store is always core_metric. */
static int make_from_log(const struct init_options *o, const struct lineage_config *config, const char *dir)
{
    struct store_from_log from = {
        .file = o->from, .dir = dir, .config = *config, .convert.metric = o->where.metric, .report = finding_print_import};
    struct lineage_column_name columns[LINEAGE_N_COLUMNS];
    char names[LINEAGE_N_COLUMNS][LINEAGE_NAME_MAX];
    struct lineage_import_stats stats;
    bool replaced = false;
    from.config.metric[0] = '\0';
    for (size_t i = 0; o->columns && o->columns[i]; i++) {
        if (i == LINEAGE_N_COLUMNS)
            return cli_error(CLI_USAGE, "--column is given more than %d times", LINEAGE_N_COLUMNS);
        if (!cli_assignment_parse(names[i], &columns[i].ours, "column", o->columns[i]))
            return CLI_USAGE;
        columns[i].theirs = names[i];
        from.convert.n_columns = i + 1;
        if (!o->where.metric && strcmp(columns[i].ours, "core_metric") == 0)
            from.convert.metric = "core_metric";
    }
    from.convert.columns = columns;
    if (from.convert.metric && strcmp(from.convert.metric, "val_bpb") != 0 && !o->where.direction)
        return cli_error(CLI_USAGE, "--from: say which score is better: --direction lower|higher");
    CLI_TRY(store_from_log(&from, &stats, &replaced));
    printf("%zu rows converted, %zu left out%s\n", stats.n_rows, stats.n_left_out,
           replaced ? "; the original is results.tsv.original" : "");
    return stats.n_rows ? keep_commits(o->from, dir) : CLI_OK;
}

static bool has_settings(const struct init_options *o)
{
    const char *const given[] = {o->where.direction, o->where.metric, o->label,  o->min_delta,   o->noise_std,
                                 o->noise_seeds,     o->night_trials, o->second, o->second_noise};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++)
        if (given[i])
            return true;
    return false;
}

/*
 * Makes the store on the server, then a directory that names it, and trusts the directory, because its user has just typed the
 * name. A store that exists is joined if no settings are given; settings that differ from its own are refused.
 */
static int make_on_server(const struct init_options *o, const struct lineage_config *config, const char *dir)
{
    struct lineage_error err;
    char *server;
    if (!lineage_is_server(o->log) || lineage_is_server(dir))
        return cli_error(CLI_USAGE, "--log takes the name of a log on a server (postgres://HOST/DATABASE/STORE) and a directory "
                                    "for this machine's files");
    if (o->from || o->json_columns)
        return cli_error(CLI_USAGE, "--log does not work with %s", o->from ? "--from; use `lineage import`" : "--json-columns");
    if (cli_is_store(dir))
        return cli_error(CLI_USAGE, "%s is a store already; `lineage help machines` says how to move its rows", dir);
    enum lineage_status status = lineage_store_create(o->log, config, &err);
    if (status != LINEAGE_OK && !(status == LINEAGE_EEXIST && !has_settings(o)))
        return cli_fail(&err);
    int written = cli_store_attach(dir, o->log);
    if (written != CLI_OK)
        return written;
    if (lineage_trust(dir, &server, &err) != LINEAGE_OK)
        return cli_fail(&err);
    printf("the log of %s is %s\n", dir, server);
    lineage_free(server);
    return CLI_OK;
}

/* What must not be in a commit, even if the rows are: the mirror and directories of trials that run. The .gitignore that was made for a new
 * directory ignores all of it, and is replaced; one of the user gets more lines. */
static int keep_tracked(const char *dir)
{
    char path[PATH_MAX], line[64];
    int n = snprintf(path, sizeof path, "%s/.gitignore", dir);
    FILE *in = n > 0 && n < PATH_MAX ? fopen(path, "re") : NULL;
    bool made = !in, has = false;
    for (size_t i = 0; in && fgets(line, sizeof line, in); i++) {
        made = made || (i == 0 && strncmp(line, "# made by lineage", 17) == 0);
        has = has || (!made && strcmp(line, "lineage.db*\n") == 0);
    }
    if (in)
        fclose(in);
    FILE *out = n > 0 && n < PATH_MAX ? fopen(path, made ? "we" : "ae") : NULL;
    bool written = out && fputs(made || has ? "" : "\n", out) >= 0 &&
                   fputs(has ? "" : "lineage.db*\n.trial-*\n.rerun-*\n.claim*\ncheckpoints/\noutbox/\n", out) >= 0;
    if (!out || (fclose(out) == 0) + written != 2)
        return cli_error(CLI_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    cli_say("git tracks the rows of this store: a reset, checkout or stash takes rows back; they are then named as gone, their "
            "ids are not given again, and `lineage restore` brings them back");
    return CLI_OK;
}

/* A new log has no column of the user's own name for the score, so that is the name of the score, as by `run --metric`. */
static bool is_name_of_score(const struct lineage_config *config, const char *dir)
{
    const struct lineage_open_options options = {.no_mirror = true};
    struct lineage_store *store = NULL;
    struct lineage_error err;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/results.tsv", dir);
    if (!config->metric[0] || lineage_column_find(config->metric) >= 0)
        return false;
    bool is_name = access(path, F_OK) != 0;
    if (!is_name && lineage_store_open(&store, dir, &options, &err) == LINEAGE_OK) { /* the same command once more */
        const char *name = lineage_store_score_name(store);
        is_name = name && strcmp(name, config->metric) == 0;
    }
    lineage_store_close(store);
    return is_name;
}

static int make_here(const struct init_options *o, const struct lineage_config *given, const char *dir)
{
    struct lineage_config own = *given, *config = &own;
    const bool names_score = is_name_of_score(given, dir);
    if (names_score)
        own.metric[0] = '\0';
    if (o->anew)
        lineage_store_forget(dir);
    struct lineage_store *store = NULL;
    char config_path[PATH_MAX];
    snprintf(config_path, sizeof config_path, "%s/lineage.json", dir);
    if (!has_settings(o) && !o->json_columns && access(config_path, F_OK) == 0) {
        struct lineage_error err;
        if (lineage_store_open(&store, dir, NULL, &err) != LINEAGE_OK)
            return cli_fail(&err);
        lineage_store_close(store);
        return cli_say("this is a store already; its settings in lineage.json stay"), CLI_OK;
    }
    int status = cli_store_create(dir, config);
    if (status != CLI_OK)
        return status;
    if (o->tracked)
        status = keep_tracked(dir);
    else if (!work_tree_exclude_store(dir))
        cli_say("the store is in a git repository whose info/exclude cannot be written; ignore its files, or a reset takes rows "
                "back");
    if (status == CLI_OK && names_score)
        status = name_score(dir, given->metric);
    if (status == CLI_OK && o->json_columns)
        status = write_header(dir);
    report_unusable_log(dir);
    return status;
}

static int work(const struct cli_args *args, void *context)
{
    struct init_options *o = context;
    struct lineage_config config = {0};
    const char *dir = args->n_positional ? args->positional[0] : o->where.dir ? o->where.dir : ".";
    if (!fill_config(&config, o))
        return CLI_USAGE;
    if (!o->from && o->columns)
        return cli_error(CLI_USAGE, "--column belongs to --from");
    if (o->log)
        return make_on_server(o, &config, dir);
    if (o->from && o->json_columns)
        return cli_error(CLI_USAGE, "--json-columns is for a new store without rows, not for --from");
    if (o->json_columns && lineage_is_server(dir))
        return write_header(dir);
    return o->from ? make_from_log(o, &config, dir) : make_here(o, &config, dir);
}

static struct init_options chosen;
static struct poptOption table[] = {
    {"directory", 'C', POPT_ARG_STRING, &chosen.where.dir, 0, "the new store, if DIR is not given", "DIR"},
    CLI_OPTION("direction", &chosen.where.direction, "lower|higher", "which score is better (default: lower)"),
    CLI_OPTION("metric", &chosen.where.metric, "NAME",
               "the score column (default: core_metric or val_bpb) or, in a new store, your name of the score"),
    CLI_OPTION("metric-label", &chosen.label, "TEXT", "short name of the score in blackboard files"),
    CLI_OPTION("min-delta", &chosen.min_delta, "NUMBER", "smallest improvement that --status auto keeps (default: 0)"),
    CLI_OPTION("noise-std", &chosen.noise_std, "NUMBER", "standard deviation of the score between seeds (default: 0)"),
    CLI_OPTION("noise-seeds", &chosen.noise_seeds, "N", "number of seeds averaged in one score (default: 1)"),
    CLI_OPTION("night-trials", &chosen.night_trials, "N",
               "trials of a night: --status auto keeps a trial falsely in at most one of 20 such nights (default: 100)"),
    CLI_OPTION("second", &chosen.second, "NAME:lower|higher",
               "keep a trial also if no kept trial is as good in the score and in this metric or column"),
    CLI_OPTION("second-noise-std", &chosen.second_noise, "NUMBER",
               "standard deviation of the second score between seeds (default: 0)"),
    CLI_FLAG("json-columns", &chosen.json_columns,
             "add the columns params and metrics, which repeat both as JSON for tools that read tables"),
    CLI_FLAG("tracked", &chosen.tracked,
             "let git track the rows; by default a store in a repository is ignored, so that a reset takes no rows back"),
    CLI_FLAG("anew", &chosen.anew, "begin a new store where rows of an earlier one are gone (see restore)"),
    CLI_OPTION("log", &chosen.log, "postgres://..",
               "keep the log on this server, and this machine's files in DIR, which is then trusted"),
    CLI_OPTION("from", &chosen.from, "FILE", "convert the log FILE, which another tool or an agent has kept"),
    CLI_REPEATED("column", &chosen.columns, "NAME=COLUMN",
                 "with --from: the column NAME of FILE is this column of the store; may be repeated"),
    POPT_TABLEEND};

const struct cli_command cmd_init = {
    .name = "init",
    .arguments = "[DIR]",
    .description = "Creates the directory and its parents if needed and writes lineage.json: which column is\n"
                   "the score, whether lower or higher is better, and how large an improvement must be. A\n"
                   "store whose score is core_metric or val_bpb, with lower being better, needs no settings.\n"
                   "postgres://HOST/DATABASE/STORE creates a store in a database that exists (createdb\n"
                   "creates one): its schema, the roles lineage_writer and lineage_reader, its settings. It\n"
                   "also upgrades an older schema. With --log that store is the log of DIR, which keeps this\n"
                   "machine's mirror, snapshots and telemetry; DIR is trusted with the server at once. A store\n"
                   "that exists there is joined.\n\n"
                   "--from makes the store from a log, such as the five columns of karpathy/autoresearch or a\n"
                   "CSV file. --metric then names the score column of FILE. Without parents in FILE, each row\n"
                   "continues the last kept row before it. FILE is unchanged; if it is the results.tsv of DIR\n"
                   "itself, it stays there as results.tsv.original. Rows that name a commit of the repository\n"
                   "around FILE get a ref that keeps it (`lineage refs`).",
    .examples = "  lineage init runs/atpo --direction higher\n"
                "  lineage -C runs/cifar init --metric train_s --metric-label time\n  lineage init --from results.tsv\n"
                "  lineage init runs/atpo --log postgres://db.example/trials/atpo\n"
                "  lineage init runs/mine --from log.csv --metric loss --direction lower \\\n"
                "      --column run=exp_id --column note=hypothesis",
    CLI_ON_ARGS(table, 0, 1, work, &chosen),
};
