/* cmd_init.c: `lineage init`: creates a store. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <lineage/render.h>
#include <lineage/trust.h>

#include "cli.h"
#include "git/work_tree_diff.h"
#include "output/finding.h"
#include "run/imported_code.h"
#include "support/store_from_log.h"

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
    if (strlen(text) >= LINEAGE_NAME_MAX) {
        cli_error(CLI_USAGE, "--%s is longer than %d bytes", option, LINEAGE_NAME_MAX - 1);
        return false;
    }
    strcpy(out, text);
    return true;
}

static bool read_second(struct lineage_config *config, const struct init_options *o)
{
    if (!o->second && o->second_noise)
        return cli_error(CLI_USAGE, "--second-noise-std belongs to --second"), false;
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

/* With --from, --metric names a column of the log; the score column of the store is always core_metric. */
static int make_from_log(const struct init_options *o, const struct lineage_config *config, const char *dir)
{
    struct store_from_log from = {
        .file = o->from, .dir = dir, .config = *config, .convert.metric = o->where.metric, .report = finding_print_import};
    struct lineage_column_name columns[LINEAGE_N_COLUMNS];
    char names[LINEAGE_N_COLUMNS][LINEAGE_NAME_MAX];
    struct lineage_import_stats stats;
    bool replaced;
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
    int status = store_from_log(&from, &stats, &replaced);
    if (status != CLI_GO_ON)
        return status;
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

/* What must not be in a commit, even if the rows are: the mirror and directories of trials that run. */
static int keep_tracked(const char *dir)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/.gitignore", dir);
    FILE *out = n > 0 && n < PATH_MAX ? fopen(path, "we") : NULL;
    bool written = out && fputs("lineage.db*\n.trial-*\n.rerun-*\n.claim*\ncheckpoints/\noutbox/\n", out) >= 0;
    if (!out || (fclose(out) == 0) + written != 2)
        return cli_error(CLI_SYSTEM, "cannot write %s: %s", path, strerror(errno));
    cli_say("git tracks the rows of this store: a reset, checkout or stash takes rows back; they are then named as gone, their "
            "ids are "
            "not given again, and `lineage restore` brings them back");
    return CLI_OK;
}

static int make_here(const struct init_options *o, const struct lineage_config *config, const char *dir)
{
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
    if (status == CLI_OK && o->json_columns)
        status = write_header(dir);
    report_unusable_log(dir);
    return status;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct init_options o = {0};
    struct poptOption options[] = {
        {"directory", 'C', POPT_ARG_STRING, &o.where.dir, 0, "the new store, if DIR is not given", "DIR"},
        {"direction", 0, POPT_ARG_STRING, &o.where.direction, 0, "which score is better (default: lower)", "lower|higher"},
        {"metric", 0, POPT_ARG_STRING, &o.where.metric, 0, "the score column (default: core_metric or val_bpb)", "COLUMN"},
        {"metric-label", 0, POPT_ARG_STRING, &o.label, 0, "short name of the score in blackboard files", "TEXT"},
        {"min-delta", 0, POPT_ARG_STRING, &o.min_delta, 0, "smallest improvement that --status auto keeps (default: 0)",
         "NUMBER"},
        {"noise-std", 0, POPT_ARG_STRING, &o.noise_std, 0, "standard deviation of the score between seeds (default: 0)",
         "NUMBER"},
        {"noise-seeds", 0, POPT_ARG_STRING, &o.noise_seeds, 0, "number of seeds averaged in one score (default: 1)", "N"},
        {"night-trials", 0, POPT_ARG_STRING, &o.night_trials, 0,
         "trials of a night: --status auto keeps a trial falsely in at most one of 20 such nights (default: 100)", "N"},
        {"second", 0, POPT_ARG_STRING, &o.second, 0,
         "keep a trial also if no kept trial is as good in the score and in this metric or column", "NAME:lower|higher"},
        {"second-noise-std", 0, POPT_ARG_STRING, &o.second_noise, 0,
         "standard deviation of the second score between seeds (default: 0)", "NUMBER"},
        {"json-columns", 0, POPT_ARG_NONE, &o.json_columns, 0,
         "add the columns params and metrics, which repeat both as JSON for tools that read tables", NULL},
        {"tracked", 0, POPT_ARG_NONE, &o.tracked, 0,
         "let git track the rows; by default a store in a repository is ignored, so that a reset takes no rows back", NULL},
        {"anew", 0, POPT_ARG_NONE, &o.anew, 0, "begin a new store where rows of an earlier one are gone (see restore)", NULL},
        {"log", 0, POPT_ARG_STRING, &o.log, 0,
         "keep the log on this server, and this machine's files in DIR, which is then trusted", "postgres://.."},
        {"from", 0, POPT_ARG_STRING, &o.from, 0, "convert the log FILE, which another tool or an agent has kept", "FILE"},
        {"column", 0, POPT_ARG_ARGV, &o.columns, 0,
         "with --from: the column NAME of FILE is this column of the store; may be repeated", "NAME=COLUMN"},
        POPT_TABLEEND};
    struct cli_args args;
    struct lineage_config config = {0};
    int status = cli_parse(&args, command, options, 0, 1, argc, argv);
    if (status == CLI_GO_ON) {
        const char *dir = args.n_positional ? args.positional[0] : o.where.dir;
        dir = dir ? dir : ".";
        if (!fill_config(&config, &o))
            status = CLI_USAGE;
        else if (!o.from && o.columns)
            status = cli_error(CLI_USAGE, "--column belongs to --from");
        else if (o.log)
            status = make_on_server(&o, &config, dir);
        else if (o.from && o.json_columns)
            status = cli_error(CLI_USAGE, "--json-columns is for a new store without rows, not for --from");
        else if (o.json_columns && lineage_is_server(dir))
            status = write_header(dir);
        else if (o.from)
            status = make_from_log(&o, &config, dir);
        else
            status = make_here(&o, &config, dir);
    }
    cli_args_release(&args);
    return status;
}

const struct cli_command cmd_init = {
    .name = "init",
    .arguments = "[DIR]",
    .description = "Creates the directory and its parents if needed and writes lineage.json: which column "
                   "is\n"
                   "the score, whether lower or higher is better, and how large an improvement must be. A\n"
                   "store whose score is core_metric or val_bpb, with lower being better, needs no settings.\n"
                   "postgres://HOST/DATABASE/STORE creates a store in a database that exists (createdb\n"
                   "creates one): its schema, the roles lineage_writer and lineage_reader, its settings. It\n"
                   "also upgrades an older schema. With --log that store is the log of DIR, which keeps this\n"
                   "machine's mirror, snapshots and telemetry; DIR is trusted with the server at once. A store\n"
                   "that exists there is joined.\n"
                   "\n"
                   "--from makes the store from a log, such as the five columns of karpathy/autoresearch or a\n"
                   "CSV file. --metric then names the score column of FILE. Without parents in FILE, each row\n"
                   "continues the last kept row before it. FILE is unchanged; if it is the results.tsv of DIR\n"
                   "itself, it stays there as results.tsv.original. Rows that name a commit of the repository\n"
                   "around FILE get a ref that keeps it (`lineage refs`).",
    .examples = "  lineage init runs/atpo --direction higher\n"
                "  lineage -C runs/cifar init --metric train_s --metric-label time\n"
                "  lineage init --from results.tsv\n"
                "  lineage init runs/atpo --log postgres://db.example/trials/atpo\n"
                "  lineage init runs/mine --from log.csv --metric loss --direction lower \\\n"
                "      --column run=exp_id --column note=hypothesis",
    .run = run,
};
