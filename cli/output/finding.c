/* finding.c: prints findings as lines. */
#include "show.h"

#include <inttypes.h>
#include <stdlib.h>

/* File and line come first, as compilers print them, so that editors can jump there. Text from a row is escaped for the
 * terminal. */
void finding_print(const struct lineage_finding *finding)
{
    char *text = cli_text_line(finding->text, 0), *id = cli_text_line(finding->exp_id, 60);
    if (finding->line)
        printf("results.tsv:%llu: ", (unsigned long long)finding->line);
    printf("%s: %s%s%s\n", finding->kind, id ? id : "", id && *id ? ": " : "", text ? text : "");
    free(text);
    free(id);
}

void finding_print_import(void *file, const struct lineage_finding *finding)
{
    char *text = cli_text_line(finding->text, 0), *id = cli_text_line(finding->exp_id, 60);
    fprintf(stderr, "lineage: %s:%llu: %s%s%s\n", (const char *)file, (unsigned long long)finding->line, id ? id : "",
            id && *id ? ": " : "", text ? text : "");
    free(text);
    free(id);
}

/* The digest comes first, so that `cut -d' ' -f1` extracts it. */
void finding_print_digest(const struct lineage_digests *digests)
{
    if (digests->head[0])
        printf("%s  %" PRIu64 " records, %" PRIu64 " of them compared\n", digests->head, digests->records, digests->kept);
}
