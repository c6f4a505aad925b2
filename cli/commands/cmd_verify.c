/* cmd_verify.c: `lineage verify`: checks the whole store. */
#include <inttypes.h>
#include <string.h>

#include "output/show.h"
#include "sign/signed_head.h"

static const char *const columns[] = {"kind", "line", "exp_id", "text"};

struct verify_options {
    char *head;  /* --head: a digest that was noted earlier */
    int digest;  /* --digest: print the digest of the present rows */
};

struct verify_print {
    struct cli_list *list; /* TSV and JSON only */
    size_t n_signed;       /* findings about signatures */
};

static void print_finding(void *context, const struct lineage_finding *finding)
{
    struct verify_print *print = context;
    if (!print->list) {
        finding_print(finding);
        return;
    }
    cli_list_row(print->list, CLI_TEXT(finding->kind), CLI_COUNT((size_t)finding->line), CLI_TEXT(finding->exp_id),
                 CLI_TEXT(finding->text));
}

/* ---- signed heads ---- */

enum { SIGNED_TEXT = 400 };

/* Reports a fault of the signatures themselves, and of heads that the log no longer has. */
static void report_signed(struct verify_print *print, const char *text)
{
    const struct lineage_finding finding = {"signature", 0, "", text};
    print->n_signed++;
    print_finding(print, &finding);
}

/* A signature by a key that is not trusted is a fault where the user trusts some key: a person who edits a store could sign
 * with a key of their own. */
static void check_signatures(struct verify_print *print, const struct signed_heads *heads)
{
    char text[SIGNED_TEXT];
    bool knows = heads->has_trusted || heads->is_remembered;
    if (heads->is_damaged)
        report_signed(print, ".results.tsv.signed cannot be read, or its last line is not one of `lineage sign`");
    else if (heads->is_there && heads->has_trusted && !heads->is_valid) {
        snprintf(text, sizeof text, "the signed head of record %" PRIu64 " is not signed by a key that you trust (%s)",
                 heads->records, heads->why);
        report_signed(print, text);
    } else if (heads->redactions_differ) {
        report_signed(print, "the redactions that were signed are gone or changed (.results.tsv.redacted)");
    } else if (heads->redactions_since) {
        report_signed(print, "rows or files were redacted since the last signature; if you did that: lineage sign --redacted");
    } else if (knows && heads->is_remembered && (!heads->is_there || heads->records < heads->remembered_records)) {
        snprintf(text, sizeof text, "the signature of record %" PRIu64 " from %s is gone from the store",
                 heads->remembered_records, heads->remembered_time);
        report_signed(print, text);
    }
}

/* Adds the signed heads to the digests that some record must have. */
static void add_heads(struct lineage_verification *v, const struct signed_heads *heads, char texts[2][SIGNED_TEXT])
{
    static const char *const kinds[] = {"signed", "signed earlier, and that this machine remembers"};
    const char *digests[] = {heads->is_valid ? heads->head : NULL, heads->is_remembered ? heads->remembered_head : NULL};
    const uint64_t records[] = {heads->records, heads->remembered_records};
    const char *const times[] = {heads->time, heads->remembered_time};
    for (size_t i = 0; i < 2; i++) {
        if (!digests[i] || (i && digests[0] && strcmp(digests[0], digests[1]) == 0))
            continue;
        snprintf(texts[i], SIGNED_TEXT,
                 "no record ends in the head that was %s (%s, record %" PRIu64 "): rows up to there were changed or removed",
                 kinds[i], times[i], records[i]);
        v->known[v->n_known++] = (struct lineage_known_digest){.digest = digests[i], .text = texts[i]};
    }
}

/* ---- the last line ---- */

static void print_count(size_t n, const char *one, const char *many)
{
    printf(", %zu %s", n, n == 1 ? one : many);
}

/* Says what was checked and what no check of these files can know. */
static void print_checked(const struct lineage_verification *v, const struct signed_heads *heads)
{
    const struct lineage_checked *c = &v->checked;
    uint64_t vouched = 0;
    for (size_t i = 0; i < v->n_known; i++)
        if (v->known[i].found && v->known[i].record > vouched)
            vouched = v->known[i].record;
    printf("checked: %zu row%s%s", c->rows, c->rows == 1 ? "" : "s", c->mirror ? ", the mirror" : "");
    printf(", digests up to record %" PRIu64 " of %" PRIu64, v->digests.kept, v->digests.records);
    print_count(c->snapshots, "snapshot", "snapshots");
    print_count(c->telemetry, "telemetry file", "telemetry files");
    print_count(c->waiting, "trial in the outbox", "trials in the outbox");
    print_count(c->claims, "claim in the queue", "claims in the queue");
    if (c->redacted)
        print_count(c->redacted, "redacted row", "redacted rows");
    if (heads->is_valid)
        printf(", the head of record %" PRIu64 " signed %s", heads->records, heads->time);
    else if (heads->is_there)
        printf(", a signature by a key that is not trusted here (lineage sign --trust)");
    printf("; not known: whether ");
    if (v->digests.kept < v->digests.records)
        printf("records %" PRIu64 " to %" PRIu64 ", which have no digest yet, were changed; whether ", v->digests.kept + 1,
               v->digests.records);
    if (c->redacted && !heads->is_valid)
        printf("redacted rows had the same cells apart from the secret; whether ");
    if (vouched && vouched >= v->digests.records)
        printf("what trials reported is true\n");
    else if (vouched)
        printf("records behind %" PRIu64 " were changed together with their digests (lineage sign)\n", vouched);
    else
        printf("rows were changed together with their digests (lineage sign, or verify --head)\n");
}

static int work(struct cli_session *session, void *context)
{
    const struct verify_options *o = context;
    struct verify_print print = {0};
    struct lineage_known_digest known[3] = {{.digest = o->head}};
    struct lineage_verification v = {.known = known, .n_known = o->head != NULL};
    struct signed_heads heads;
    struct lineage_error err;
    char texts[2][SIGNED_TEXT];
    if (o->digest && session->format != CLI_TABLE)
        return cli_error(CLI_USAGE, "--digest prints one line and needs --format table");
    if (session->format != CLI_TABLE)
        print.list = cli_list_new(session->format, stdout, sizeof columns / sizeof *columns, columns);
    signed_heads_read(&heads, session->store);
    add_heads(&v, &heads, texts);
    enum lineage_status status = lineage_verify_all(session->store, &v, print_finding, &print, &err);
    if (status == LINEAGE_OK)
        check_signatures(&print, &heads);
    int result = print.list ? cli_list_finish(print.list) : CLI_OK;
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    size_t n = v.n_findings + print.n_signed;
    if (!n)
        signed_heads_remember(&heads);
    if (o->digest)
        finding_print_digest(&v.digests);
    else if (session->format == CLI_TABLE)
        print_checked(&v, &heads);
    /* The exit status is 1 instead of 2, because the command worked: its answer is that the store has faults. */
    return result == CLI_OK && n ? CLI_NO : result;
}

static int run(const struct cli_command *command, int argc, const char **argv)
{
    struct cli_session session = {0};
    struct verify_options o = {0};
    struct poptOption options[] = {
        {"head", 0, POPT_ARG_STRING, &o.head, 0, "also check that the rows up to this digest are unchanged", "DIGEST"},
        {"digest", 0, POPT_ARG_NONE, &o.digest, 0, "print the digest of all rows, to be noted elsewhere for --head", NULL},
        CLI_SESSION_OPTIONS(&session),
        POPT_TABLEEND};
    return cli_on_store(&session, command, options, 0, 0, argc, argv, work, &o);
}

const struct cli_command cmd_verify = {
    .name = "verify",
    .arguments = "",
    .description = "Checks the format, ids, parents, cycles, statuses and numbers of results.tsv; compares the\n"
                   "mirror with it byte by byte and the rows with their digests (.results.tsv.digests); checks\n"
                   "that snapshots and telemetry exist, and outbox and queue. If the store has a signed head\n"
                   "(lineage sign), rows up to there must still have it. Prints one line per fault and, as a\n"
                   "table, a last line with what was checked and what cannot be known. Writes nothing into the\n"
                   "store. Exit status 0 if no fault was found, 1 otherwise; notes do not count.",
    .examples = "  lineage verify\n  lineage verify --format json\n  lineage verify --digest",
    .run = run,
};
