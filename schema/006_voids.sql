-- lineage.db, version 6: trials that a later row voids (lineage/voids.h). In `trials` such a trial has status harness_abort
-- and no score, so that no question counts it; its own label and score are here. Rows of version 5 are read again for it.
CREATE TABLE voided (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    void_seq INTEGER NOT NULL,    -- the row that voids it
    status TEXT NOT NULL,         -- label and score as in its own row
    score REAL,
    special INTEGER NOT NULL
);
-- Trials whose sums must be computed again; empty between two syncs.
CREATE TABLE void_changes (seq INTEGER PRIMARY KEY);

DELETE FROM night_rows;
DELETE FROM param_rows;
DELETE FROM param_values;
DELETE FROM param_values_before;
DELETE FROM turn_stats;
DELETE FROM step_metrics;
DELETE FROM extras;
DELETE FROM findings;
DELETE FROM label_counts;
DELETE FROM label_counts_before;
DELETE FROM calibration;
DELETE FROM calibration_before;
DELETE FROM trials;
DELETE FROM meta;
