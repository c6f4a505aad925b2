-- lineage.db, version 4: settings count only in front of the first piece of prose in the notes, so that a remark about
-- another trial's settings is not taken for this one's. Rows of version 3 are read again for it.
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
