/* finding.c: findings as lines. */
#include "finding.h"

#include <inttypes.h>
#include <stdlib.h>

/* File and line first, as compilers have it: editors jump there. What a row holds is made harmless before it
 * reaches a terminal. */
void finding_print(const struct lineage_finding *finding)
{
    char *text = cli_text_line(finding->text, 0), *id = cli_text_line(finding->exp_id, 60);
    if (finding->line)
        printf("results.tsv:%llu: ", (unsigned long long)finding->line);
    printf("%s: %s%s%s\n", finding->kind, id ? id : "", id && *id ? ": " : "", text ? text : "");
    free(text);
    free(id);
}

/* The digest first, so that `cut -d' ' -f1` takes it. */
void finding_print_digest(const struct lineage_digests *digests)
{
    if (digests->head[0])
        printf("%s  %" PRIu64 " records, %" PRIu64 " of them compared\n", digests->head, digests->records, digests->kept);
}
