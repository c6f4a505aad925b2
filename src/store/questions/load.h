/* load.h: loads a row of the mirror as a trial. */
#pragma once

#include "../mirror/statement.h"
#include "questions.h"

/* The columns of `trials t` that load_trial reads; they must come first in a SELECT. */
#define TRIAL_COLUMNS                                                                                                            \
    "t.seq, t.line, t.exp_id, t.timestamp, t.specialist, t.parent_exp, t.baseline_exp, t.domain, "                               \
    "t.hypothesis, t.expected_delta, t.status, t.core_metric, t.val_bpb, t.delta_vs_best, "                                      \
    "t.train_s, t.total_s, t.job_name, t.snapshot_path, t.notes, t.score, t.special, "                                           \
    "CASE t.status WHEN 'harness_abort' THEN (SELECT v.status FROM voided v WHERE v.seq = t.seq) END"
#define N_TRIAL_COLUMNS 22

/* Fills a trial from the current row, its extra columns included. Its texts are allocated from the arena. */
enum lineage_status load_trial(struct mirror *mirror, sqlite3_stmt *stmt, struct lineage_trial *trial, struct arena *arena,
                               struct lineage_error *err);

/* Fails with LINEAGE_EDB and notes damage: param_rows or an index refers to a missing row. */
enum lineage_status load_missing_row(struct mirror *mirror, struct lineage_error *err);
