-- lineage.db, version 12: rows whose only parameter is a seed are runs of one setting, too, if they say the same of a program or
-- hypothesis. So `again_rows` may lack some; all rows are read again for it.
DELETE FROM judged;
DELETE FROM judged_with;
DELETE FROM again_rows;
DELETE FROM ancestors;
DELETE FROM metric_rows;
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
