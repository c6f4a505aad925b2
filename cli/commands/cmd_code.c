/* cmd_code.c: `lineage code`: the files that a trial of a sweep ran, and the diffs that led to them. */
#include <sys/stat.h>
#include <unistd.h>

#include <lineage/code.h>
#include <lineage/render.h>

#include "cli.h"

struct code_options {
    struct cli_session session;
    char *output;
    int diff, diffs;
    struct lineage_trial trial;
    struct lineage_code code;
};

/* Prints the bytes; on a terminal without the control characters that could change it. */
static int print_object(struct code_options *o, const char *digest)
{
    struct lineage_error err;
    char *text;
    size_t length;
    if (lineage_code_read(&text, &length, o->session.store, digest, &err) != LINEAGE_OK)
        return cli_fail(&err);
    bool tame = isatty(1);
    for (size_t i = 0; i < length && tame; i++)
        if (((unsigned char)text[i] < 0x20 && text[i] != '\n' && text[i] != '\t') || text[i] == 0x7f)
            text[i] = '?';
    int status = fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0
                     ? CLI_OK
                     : cli_error(CLI_SYSTEM, "cannot write: %s", strerror(errno));
    lineage_free(text);
    return status;
}

static int print_file(struct code_options *o, const char *name)
{
    const char *known[LINEAGE_CODE_FILES_MAX + 1] = {0};
    for (size_t i = 0; i < o->code.n_files; i++) {
        known[i] = o->code.files[i].name;
        if (strcmp(known[i], name) == 0)
            return print_object(o, o->code.files[i].digest);
    }
    const char *near = cli_nearest(name, known);
    return cli_error(CLI_NO, "trial '%s' has no file '%.200s'%s%s", o->trial.exp_id, name, near ? "; the nearest is " : "",
                     near ? near : "");
}

static int print_diff(struct code_options *o)
{
    if (!o->code.changed)
        return cli_error(CLI_NO, "trial '%s' did not change its code", o->trial.exp_id);
    return print_object(o, o->code.diffs[o->code.n_diffs - 1]);
}

/* Lists the diffs that led to this code, oldest first. */
static int list_diffs(struct code_options *o)
{
    struct cli_list *list = cli_list_of(o->session.format, NULL, "digest,change");
    for (size_t i = 0; i < o->code.n_diffs; i++) {
        char change[LINEAGE_DIFFSTAT_MAX] = "it is gone or damaged";
        struct lineage_diffstat stat;
        char *text;
        size_t length;
        if (lineage_code_read(&text, &length, o->session.store, o->code.diffs[i], NULL) == LINEAGE_OK) {
            lineage_diffstat_read(&stat, text, length);
            lineage_diffstat_format(change, &stat);
        }
        lineage_free(text);
        cli_list_row(list, CLI_TEXT(o->code.diffs[i]), CLI_TEXT(change));
    }
    return cli_list_finish(list);
}

static int list_files(struct code_options *o)
{
    struct cli_list *list = cli_list_of(o->session.format, NULL, "mode,digest,file");
    for (size_t i = 0; i < o->code.n_files; i++) {
        char mode[8];
        snprintf(mode, sizeof mode, "%03o", o->code.files[i].mode & 0777);
        cli_list_row(list, CLI_TEXT(mode), CLI_TEXT(o->code.files[i].digest), CLI_TEXT(o->code.files[i].name));
    }
    return cli_list_finish(list);
}

/* The directory must be new, so that the files of the trial are all that is in it. */
static int write_files(struct code_options *o)
{
    struct lineage_error err;
    if (mkdir(o->output, 0777) != 0)
        return cli_error(errno == EEXIST ? CLI_USAGE : CLI_SYSTEM, "cannot make the directory %s: %s", o->output,
                         strerror(errno));
    if (lineage_code_write(o->session.store, &o->code, o->output, &err) == LINEAGE_OK)
        return CLI_OK;
    rmdir(o->output);
    return cli_fail(&err);
}

static int work(struct cli_session *session, void *context)
{
    struct code_options *o = context;
    struct lineage_error err;
    const char *file = session->args.n_positional > 1 ? session->args.positional[1] : NULL;
    if ((file != NULL) + (o->output != NULL) + o->diff + o->diffs > 1)
        return cli_error(CLI_USAGE, "code: give a FILE, --output, --diff or --diffs, but only one of them");
    if (lineage_find_named(session->store, session->args.positional[0], false, &o->trial, &err) != LINEAGE_OK ||
        lineage_code_load(&o->code, session->store, &o->trial, &err) != LINEAGE_OK)
        return cli_fail(&err);
    return file        ? print_file(o, file)
           : o->output ? write_files(o)
           : o->diff   ? print_diff(o)
           : o->diffs  ? list_diffs(o)
                       : list_files(o);
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct code_options o = {.output = NULL};
    struct poptOption options[] = {
        {"output", 'o', POPT_ARG_STRING, &o.output, 0, "write all files into DIR, which must not exist", "DIR"},
        CLI_FLAG("diff", &o.diff, "print the diff by which the trial changed its parent's code"),
        CLI_FLAG("diffs", &o.diffs, "list the diffs that led to this code, oldest first"),
        CLI_SESSION_OPTIONS(&o.session),
        POPT_TABLEEND};
    int status = cli_on_store(&o.session, command, options, 1, 2, argc, argv, work, &o);
    lineage_code_release(&o.code);
    lineage_trial_release(&o.trial);
    return status;
}

const struct cli_command cmd_code = {
    .name = "code",
    .arguments = "ID [FILE]",
    .description = "Lists the files that a trial of a sweep with `files` ran, or prints one of them, in the\n"
                   "state in which the trial started. They are kept for every trial, also for discarded and\n"
                   "failed ones (schema/FORMAT.md). Exit status: 0 done, 1 no such file or diff.",
    .examples = "  lineage code 014\n  lineage code 014 train.py >train.py\n  lineage code 014 --diff\n"
                "  lineage code 014 --output /tmp/014",
    .run = run,
};
