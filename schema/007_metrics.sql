-- lineage.db, version 7: metrics of the rows beside their scores, from notes or the column `metrics`. Rows of version 6
-- are read again to fill it.
CREATE TABLE metric_rows (
    seq INTEGER NOT NULL REFERENCES trials(seq),
    name TEXT NOT NULL,
    number REAL NOT NULL,
    PRIMARY KEY (seq, name)
) WITHOUT ROWID;

CREATE VIEW metrics AS
    SELECT m.seq, t.exp_id, m.name AS key, m.number AS value FROM metric_rows m JOIN trials t ON t.seq = m.seq;

DELETE FROM voided;
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
