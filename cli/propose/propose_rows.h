/* propose_rows.h: what a row of a store says to a proposer. propose_past.h has the rules. */
#pragma once

#include <lineage/query.h>
#include <lineage/settings.h>

#include "propose/propose_ranges.h"

/* What rows are compared with, and what they show about the log. Everything is borrowed. */
struct propose_rows {
    const struct propose_space *space;
    const struct lineage_number *fallback; /* [ranges], for rows of the sweep; or NULL */
    const char *sweep;                     /* or NULL */
    const char *program;                   /* or NULL */
    const struct lineage_settings *words;  /* or NULL */
    size_t n, declared[PROPOSE_RANGES_MAX]; /* number of rows, and how many of them declare each range */
};

enum propose_row {
    PROPOSE_ROW_SILENT,    /* says nothing about its setting */
    PROPOSE_ROW_OTHER,     /* another program's */
    PROPOSE_ROW_ELSEWHERE, /* lacks a value in at least one range */
    PROPOSE_ROW_PAST       /* *trial is a trial of the past */
};

/* Reads a row and counts it; *own: it is of the sweep. */
enum propose_row propose_row_read(struct propose_trial *trial, bool *own, struct propose_rows *rows,
                                  const struct lineage_trial *row);

/* Writes the key of the program that the row names, at most `size` bytes with its NUL; "" if it names none. */
void propose_row_program(char *out, size_t size, const char *notes);
