/* mean_note.c: the runs behind a score (mean_note.h). */
#include "mean_note.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <lineage/evidence.h>

#include "id.h"

void mean_note_parse(size_t *seeds, double *std, const char *notes)
{
    const char *mean = notes ? strstr(notes, "mean of ") : NULL;
    unsigned long n;
    double s;
    *seeds = 1;
    *std = 0;
    if (mean && sscanf(mean, "mean of %lu seeds, std %lf", &n, &s) == 2 && n > 1 && n <= 100000 && isfinite(s)) {
        *seeds = (size_t)n;
        *std = s;
    }
}

size_t lineage_score_runs(const char *notes)
{
    size_t seeds;
    double std;
    mean_note_parse(&seeds, &std, notes);
    return seeds;
}

const char *rerun_note_find(const char *notes)
{
    static const char piece[] = "rerun of ";
    const char *at = strstr(notes, piece);
    while (at && at != notes && strncmp(at - 2, "; ", 2) != 0)
        at = strstr(at + 1, piece);
    return at ? id_bare(at + strlen(piece)) : NULL;
}

size_t shortfall_note_length(const char *text)
{
    double difference, limit;
    int end = 0;
    return sscanf(text, "discarded: %lf, needs %*4s than %lf%n", &difference, &limit, &end) == 2 ? (size_t)end : 0;
}

bool shortfall_is_noted(const char *notes)
{
    static const char start[] = "discarded: "; /* a person may write that, too */
    while (notes && (notes = strstr(notes, start)) && !shortfall_note_length(notes))
        notes += strlen(start);
    return notes != NULL;
}
