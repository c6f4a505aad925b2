/* cmd_verify.c: `lineage verify`: checks the whole store. */

#include "output/show.h"

struct verify_options {
    char *head;  /* --head: a digest that was noted earlier */
    int digest;  /* --digest: print the digest of the present rows */
};

static void print_finding(void *context, const struct lineage_finding *finding)
{
    struct cli_list *list = context; /* TSV and JSON only */
    if (!list)
        finding_print(finding);
    else
        cli_list_row(list, CLI_TEXT(finding->kind), CLI_COUNT((size_t)finding->line), CLI_TEXT(finding->exp_id),
                     CLI_TEXT(finding->text));
}

static void print_count(size_t n, const char *one, const char *many)
{
    printf(", %zu %s", n, n == 1 ? one : many);
}

/* Says what was checked and what no check of these files can know. */
static void print_checked(const struct lineage_verification *v)
{
    const struct lineage_checked *c = &v->checked;
    const uint64_t vouched = v->n_known && v->known[0].found ? v->known[0].record : 0;
    printf("checked: %zu row%s%s", c->rows, c->rows == 1 ? "" : "s", c->mirror ? ", the mirror" : "");
    printf(", digests up to record %" PRIu64 " of %" PRIu64, v->digests.kept, v->digests.records);
    print_count(c->snapshots, "snapshot", "snapshots");
    print_count(c->telemetry, "telemetry file", "telemetry files");
    print_count(c->waiting, "trial in the outbox", "trials in the outbox");
    print_count(c->claims, "claim in the queue", "claims in the queue");
    if (c->redacted)
        print_count(c->redacted, "redacted row", "redacted rows");
    printf("; not known: whether ");
    if (v->digests.kept < v->digests.records)
        printf("records %" PRIu64 " to %" PRIu64 ", which have no digest yet, were changed; whether ", v->digests.kept + 1,
               v->digests.records);
    if (c->redacted)
        printf("redacted rows had the same cells apart from the secret; whether ");
    if (vouched && vouched >= v->digests.records)
        printf("what trials reported is true\n");
    else if (vouched)
        printf("records behind %" PRIu64 " were changed together with their digests\n", vouched);
    else
        printf("rows were changed together with their digests (verify --head)\n");
}

static int work(struct cli_session *session, void *context)
{
    const struct verify_options *o = context;
    struct cli_list *list = NULL;
    struct lineage_known_digest known = {.digest = o->head};
    struct lineage_verification v = {.known = &known, .n_known = o->head != NULL};
    struct lineage_error err;
    if (o->digest && session->format != CLI_TABLE)
        return cli_error(CLI_USAGE, "--digest prints one line and needs --format table");
    if (session->format != CLI_TABLE)
        list = cli_list_of(session->format, NULL, "kind,line,exp_id,text");
    enum lineage_status status = lineage_verify_all(session->store, &v, print_finding, list, &err);
    int result = list ? cli_list_finish(list) : CLI_OK;
    if (status != LINEAGE_OK)
        return cli_fail(&err);
    if (o->digest)
        finding_print_digest(&v.digests);
    else if (session->format == CLI_TABLE)
        print_checked(&v);
    /* The exit status is 1 instead of 2, because the command worked: its answer is that the store has faults. */
    return result == CLI_OK && v.n_findings ? CLI_NO : result;
}

static struct cli_session asked;
static struct verify_options chosen;
static struct poptOption table[] = {
    CLI_OPTION("head", &chosen.head, "DIGEST", "also check that the rows up to this digest are unchanged"),
    CLI_FLAG("digest", &chosen.digest, "print the digest of all rows, to be noted elsewhere for --head"),
    CLI_SESSION_OPTIONS(&asked), POPT_TABLEEND};

const struct cli_command cmd_verify = {
    .name = "verify",
    .arguments = "",
    .description = "Checks the format, ids, parents, cycles, statuses and numbers of results.tsv; compares the\n"
                   "mirror with it byte by byte and the rows with their digests (.results.tsv.digests); checks\n"
                   "that snapshots and telemetry exist, and outbox and queue. Prints one line per fault and, as\n"
                   "a table, a last line with what was checked and what cannot be known. Writes nothing into\n"
                   "the store. Exit status 0 if no fault was found, 1 otherwise; notes do not count.",
    .examples = "  lineage verify\n  lineage verify --format json\n  lineage verify --digest",
    CLI_ON_STORE(asked, table, 0, 0, work, &chosen),
};
