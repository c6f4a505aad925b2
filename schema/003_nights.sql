-- lineage.db, version 3: which row records which trial of a night, so that a second row of one can be refused at the same
-- cost for any size of the store. Rows of version 2 are read again to fill it.
CREATE TABLE night_rows (
    seq INTEGER PRIMARY KEY REFERENCES trials(seq),
    exp_id TEXT NOT NULL,
    sweep TEXT NOT NULL,
    key INTEGER NOT NULL          -- the 64 bits of the link in notes, as a signed number
);

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
