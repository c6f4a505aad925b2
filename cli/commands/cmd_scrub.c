/* cmd_scrub.c: `lineage scrub`: takes a secret out of a store. */
#include <unistd.h>

#include <lineage/redact.h>

#include "cli.h"
#include "support/running_files.h"

struct scrub_options {
    char *file;  /* --file: the file that holds the secret; NULL: standard input */
    bool any_left, any_running;
};

/* Only one line is a secret; its line end does not belong to it. */
static char *read_secret(const struct scrub_options *o, size_t *length)
{
    if (!o->file && isatty(STDIN_FILENO))
        cli_say("type the secret and a line end; it is not an argument, because other users can see those");
    char *text = cli_read_all(o->file ? o->file : "-", length);
    while (text && *length && (text[*length - 1] == '\n' || text[*length - 1] == '\r'))
        text[--*length] = '\0';
    if (text && memchr(text, '\n', *length)) {
        cli_error(CLI_USAGE, "scrub: the input has several lines; give one secret at a time");
        free(text);
        return NULL;
    }
    return text;
}

static void print_file(void *context, const char *path, size_t places, const char *why)
{
    struct scrub_options *o = context;
    if (!why)
        cli_print(stdout, "%.0s: %zu\n", path, places);
    else
        cli_print(stderr, "lineage: %.0s: the secret may be left: %s\n", path, why);
    o->any_left = o->any_left || why;
}

static void note_running(void *context, const char *name, int dir, bool held)
{
    (void)name, (void)dir;
    ((struct scrub_options *)context)->any_running |= held;
}

static int work(struct cli_session *session, void *context)
{
    struct scrub_options *o = context;
    struct lineage_redaction done;
    struct lineage_error err;
    size_t length;
    char *secret = read_secret(o, &length);
    if (!secret)
        return CLI_USAGE;
    running_each_dir(lineage_store_dir(session->store), note_running, o);
    enum lineage_status status = lineage_redact(session->store, secret, length, &done, print_file, o, &err);
    memset(secret, 0, length);
    free(secret);
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    printf("%zu row%s and %zu file%s redacted, %zu place%s in all\n", done.rows, done.rows == 1 ? "" : "s", done.files,
           done.files == 1 ? "" : "s", done.places, done.places == 1 ? "" : "s");
    if (o->any_running)
        cli_say("a trial is running and may write the secret again; repeat this when it has ended");
    if (done.rows || done.files)
        cli_say(
            "copies elsewhere are not changed: backups, git (lineage refs), exported files, other machines; revoke the secret");
    return o->any_left ? CLI_NO : CLI_OK;
}

static struct cli_session asked;
static struct scrub_options chosen;
static struct poptOption table[] = {
    CLI_OPTION("file", &chosen.file, "FILE", "read the secret from FILE instead of standard input"),
    CLI_STORE_OPTIONS(&asked.where), POPT_TABLEEND};

const struct cli_command cmd_scrub = {
    .name = "scrub",
    .arguments = "",
    .description = "Overwrites a secret, read from standard input, with letters X: in rows, logs, provenance,\n"
                   "telemetry, snapshots, code and all other files of the store. It is also found where it is\n"
                   "spelled as in JSON, in a cell, in a URL or in HTML, but not compressed or encrypted. The\n"
                   "redaction of rows is recorded, so that `verify` accepts these rows, with exactly these\n"
                   "bytes, and noted digests stay valid. If it is interrupted, run it again. Prints\n"
                   "each file with the number of places. Exit status 1 if the secret is left somewhere. Ids,\n"
                   "numbers and paths in rows, and rows on a server, cannot be redacted (status 2).",
    .examples = "  lineage scrub <secret.txt\n  lineage scrub --file secret.txt -C runs/mine",
    CLI_ON_STORE(asked, table, 0, 0, work, &chosen),
};
